/* fields.c: the table of the spec's fields; its rows are in fields_*.h. If the
 * base model of the paper has a field, its value there is the default. */
#include <string.h>

#include "spec/fields/fields.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define ROW(k, t, at_, also_, w, lo, hi, kinds_, p, fol, d)                   \
    { .key = k, .type = t, .at = at_, .also = also_, .words = w, .least = lo, \
      .most = hi, .kinds = kinds_, .preset = p, .follow = fol, .doc = d }
#define INT(key, member, least, most, kinds, preset, follow, doc)             \
    ROW(key, FieldInt, offsetof(Spec, member), 0, NULL, least, most, kinds,   \
        preset, follow, doc)
#define REAL(key, member, least, most, kinds, preset, follow, doc)            \
    ROW(key, FieldReal, offsetof(Spec, member), 0, NULL, least, most, kinds,  \
        preset, follow, doc)
#define REALS(key, member, least, most, kinds, doc)                           \
    ROW(key, FieldReals, offsetof(Spec, member), 0, NULL, least, most, kinds, \
        "", NULL, doc)
#define IDS(key, type, at_, also_, kinds, doc)                                \
    ROW(key, type, offsetof(Spec, at_), also_, NULL, 0, MostTokens, kinds, "", \
        NULL, doc)
#define BOOL(key, member, kinds, preset, follow, doc)                         \
    ROW(key, FieldBool, offsetof(Spec, member), 0, NULL, 0, 1, kinds, preset, \
        follow, doc)
#define ENUM(key, member, words, kinds, preset, follow, doc)                  \
    ROW(key, FieldEnum, offsetof(Spec, member), 0, words, 0, 0, kinds,        \
        preset, follow, doc)
#define MASK(key, member, kinds, preset, doc)                                 \
    ROW(key, FieldMask, offsetof(Spec, member), 0, masks, 1, MostRows, kinds, \
        preset, NULL, doc)
#define SAYS(key, member, doc)                                                \
    ROW(key, FieldText, offsetof(Spec, chat.member), 0, NULL, 0, 0, Decoder,  \
        "", NULL, doc)
#define PATH(key, member, kinds, doc)                                         \
    ROW(key, FieldPath, offsetof(Spec, member), 0, NULL, 0, 0, kinds, "",     \
        NULL, doc)
#define SPREAD(k, w, kinds_, d)                                               \
    { .key = k, .type = FieldSpread, .words = w, .kinds = kinds_,             \
      .preset = "", .doc = d }
/* The rows for a member of SpecSide: a key that sets both sides, and a key for
 * each side. */
#define SIDES(key, member, most, also, preset, encoder, decoder, what, does)  \
    SPREAD(key, WORDS(key ".encoder", key ".decoder"), Model | (also),        \
           what " " does),                                                    \
    INT(key ".encoder", side[SideEncoder].member, 1, most, Source_ | (also),  \
        preset, encoder, what " of the encoder " does),                       \
    INT(key ".decoder", side[SideDecoder].member, 1, most, Target_, preset,   \
        decoder, what " of the decoder " does)

/* The words of each enum, in the order of the enum's constants in spec.h. */
static const char *const kinds[] = { "encoder-decoder", "encoder", "decoder",
                                     "attention", NULL };
static const char *const masks[] = { "none", "causal", "prefix", NULL };
static const char *const positions[] = { "sinusoidal", "learned", "none",
                                         "rotary",     "alibi",   "relative",
                                         NULL };
static const char *const biases[] = { "none", "alibi", "relative", NULL };
static const char *const layouts[] = { "interleaved", "halves", NULL };
static const char *const exponents[] = { "paper", "tensor2tensor", NULL };
static const char *const trims[] = { "none", "turns", "texts", "all", NULL };
static const char *const scalings[] = { "none", "dynamic",  "llama3",
                                        "yarn", "longrope", NULL };
static const char *const mixes[] = { "attention", "recurrent", "convolution",
                                     NULL };
static const char *const cells[] = { "simple", "gru", "lstm", NULL };
static const char *const recurrences[] = { "tanh", "relu", NULL };
static const char *const starts[] = { "zeros", "source", NULL };
static const char *const directions[] = { "forward", "backward", "both", NULL };
static const char *const norms[] = { "layer", "rms", NULL };
static const char *const places[] = { "post", "pre", "inside", "both", NULL };
static const char *const scores[] = {
#define SCORE(name, word, ...) word,
#include "spec/fields/score_forms.h"
    NULL
};
static const char *const normalizers[] = {
#define NORMALIZER(name, word, ...) word,
#include "spec/fields/score_forms.h"
    NULL
};
static const char *const residuals[] = { "add", "none", NULL };
static const char *const learned[] = { "none", "scalar", "columns", NULL };
static const char *const qk_norms[] = { "false", "true", "width", "each",
                                        NULL };
static const char *const parallels[] = { "false", "shared", "separate", NULL };
static const char *const ffns[] = { "dense", "none", "experts", NULL };
static const char *const routings[] = { "before", "after", "sigmoid", NULL };
static const char *const group_scores[] = { "max", "pair", NULL };
static const char *const inputs[] = { "tokens", "real", NULL };
static const char *const heads[] = { "default", "rows",     "logits",
                                     "pool",    "classify", "token_classify",
                                     NULL };
static const char *const pools[] = { "none", "mean", "class", "last",
                                     "max",  "sum",  NULL };
static const char *const acts[] = {
#define ACT(name, text, ...) text,
#include "spec/fields/activations.h"
    NULL
};
static const char *const projects[] = { "none", "sum", "tokens", NULL };
static const char *const scales[] = { "none", "sqrt_d_model", NULL };
static const char *const ties[] = { "source", "target", "logits", NULL };
static const char *const rules[] = { "exact", "recorded", NULL };
static const char *const penalties[] = { "none", "gnmt", "power", NULL };
static const char *const processors[] = { "logits", "log_probabilities", NULL };
static const char *const stores[] = { "f32", "bf16", "int8", NULL };
static const char *const splits[] = { "characters", "spaces", NULL };
static const char *const arithmetics[] = { "f32",     "int8",     "int15",
                                           "bf16_dp", "bf16_amx", "bf16x3",
                                           NULL };

/* ---- defaults that follow from others ---- */
static int64_t head_share(const Spec *s, Side side)
{
    int64_t h = s->side[side].h;
    return h ? s->d_model / h : 0;
}

static void encoder_h_kv(Spec *s)
{
    s->side[SideEncoder].h_kv = s->side[SideEncoder].h;
}

static void decoder_h_kv(Spec *s)
{
    s->side[SideDecoder].h_kv = s->side[SideDecoder].h;
}

static void encoder_d_k(Spec *s)
{
    s->side[SideEncoder].d_k = head_share(s, SideEncoder);
}

static void decoder_d_k(Spec *s)
{
    s->side[SideDecoder].d_k = head_share(s, SideDecoder);
}

/* Sets the default of d_v to d_model / h. It does not follow d_k, because rows
 * B of the paper's Table 3 vary d_k alone. */
static void encoder_d_v(Spec *s)
{
    s->side[SideEncoder].d_v = head_share(s, SideEncoder);
}

static void decoder_d_v(Spec *s)
{
    s->side[SideDecoder].d_v = head_share(s, SideDecoder);
}

/* Leaves the default at 0. Other code replaces it: spec.c by the number of
 * lines of a file, build_layer.c by the scale of scores for d_k. */
static void follow_later(Spec *s)
{
    (void)s;
}

static void follow_shared(Spec *s)
{
    s->vocab_shared = s->field_pos[field_row("vocab.size")].src
                   || s->field_pos[field_row("vocab.file")].src;
}

static void follow_append_end(Spec *s)
{
    s->append_end = s->kind == KindEncoderDecoder && s->token_end >= 0;
}

static void follow_mix_width(Spec *s)
{
    s->mix_width = s->mix_direction == ScanBoth && s->d_model > 1
                     ? s->d_model / 2
                     : s->d_model;
}

static void follow_final(Spec *s)
{
    s->norm_final = s->norm_place != PlacePost;
}

static void follow_norm_bias(Spec *s)
{
    s->norm_bias = s->norm_type == NormLayer;
}

static void follow_dims(Spec *s)
{
    int64_t a = s->side[SideEncoder].d_k, b = s->side[SideDecoder].d_k;

    if (s->positions == PosRotary)
        s->pos_dims = s->latent_kv > 0 ? s->latent_rope
                    : !b || a == b     ? a
                    : !a               ? b
                                       : 0; /* each side has its own ties */
}

static void follow_width(Spec *s)
{
    s->embed_width = s->d_model;
}

static void follow_project(Spec *s)
{
    s->embed_project = s->embed_width == s->d_model ? ProjectNone : ProjectSum;
}

static void follow_pool(Spec *s)
{
    s->head_pool = s->head == HeadPool     ? PoolMean
                 : s->head == HeadClassify ? PoolClass
                                           : PoolNone;
}

static void follow_w2(Spec *s)
{
    s->bias_w2 = s->bias_ffn;
}

static void follow_q(Spec *s)
{
    s->bias_q = s->has_q;
}
static void follow_k(Spec *s)
{
    s->bias_k = s->has_k;
}
static void follow_v(Spec *s)
{
    s->bias_v = s->has_v;
}
static void follow_o(Spec *s)
{
    s->bias_o = s->has_o;
}

static void follow_groups(Spec *s)
{
    s->ffn_groups_chosen = s->ffn_groups;
}

static void follow_alpha(Spec *s)
{
    static const double alpha[] = {
        [PenaltyNone] = 0,
        [PenaltyGnmt] = 0.6,
        [PenaltyPower] = 1,
    };
    s->search_alpha = alpha[s->search_penalty];
}

static void follow_plus(Spec *s)
{
    s->max_output_plus = s->kind == KindEncoderDecoder && s->max_output < 0
                           ? 50
                           : -1;
}

/* ---- table ---- */
enum { MostWidth = 1 << 16, MostRows = 1 << 20, MostTokens = 1 << 24 };

const Field fields[] = {
#include "spec/fields/fields_shape.h"
#include "spec/fields/fields_vocab.h"
#include "spec/fields/fields_attention.h"
#include "spec/fields/fields_mix.h"
#include "spec/fields/fields_layer.h"
#include "spec/fields/fields_ffn.h"
#include "spec/fields/fields_ends.h"
#include "spec/fields/fields_search.h"
#include "spec/fields/fields_weights.h"
};
const int n_fields = sizeof fields / sizeof *fields;

/* ---- rows by keys ---- */
int field_find(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (*fields[i].key == *key && !strcmp(fields[i].key, key))
            return i;
    return -1;
}

int field_row(const char *key)
{
    int row = field_find(key);
    if (row < 0)
        die("no field is named %s", key);
    return row;
}

bool field_below(const char *key, const char *group)
{
    size_t n = strlen(group);
    return !strncmp(key, group, n) && (n == 0 || key[n] == '.');
}
