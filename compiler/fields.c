/* fields.c: every field of the spec is one row of the table below. Defaults
 * are those of the paper's base model wherever it has one.                  */
#include <string.h>

#include "fields.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define INT(key, member, least, most, kinds, preset, follow, doc)             \
    { key, FieldInt, offsetof(Spec, member), NULL, least, most, kinds,        \
      preset, follow, doc }
#define REAL(key, member, least, most, kinds, preset, follow, doc)            \
    { key, FieldReal, offsetof(Spec, member), NULL, least, most, kinds,       \
      preset, follow, doc }
#define BOOL(key, member, kinds, preset, follow, doc)                         \
    { key, FieldBool, offsetof(Spec, member), NULL, 0, 1, kinds, preset,      \
      follow, doc }
#define ENUM(key, member, words, kinds, preset, follow, doc)                  \
    { key, FieldEnum, offsetof(Spec, member), words, 0, 0, kinds, preset,     \
      follow, doc }
#define PATH(key, member, kinds, doc)                                         \
    { key, FieldPath, offsetof(Spec, member), NULL, 0, 0, kinds, "", NULL,    \
      doc }
#define SPREAD(key, words, kinds, doc)                                        \
    { key, FieldSpread, 0, words, 0, 0, kinds, "", NULL, doc }

/* The words of each enum, in the order of its C names (compiler.h). */
static const char *const kinds[] = {
    "encoder-decoder", "encoder", "decoder", "attention", NULL
};
static const char *const masks[] = { "none", "causal", NULL };
static const char *const positions[] = {
    "sinusoidal", "learned", "none", NULL
};
static const char *const layouts[] = { "interleaved", "halves", NULL };
static const char *const exponents[] = { "paper", "tensor2tensor", NULL };
static const char *const norms[] = { "layer", NULL };
static const char *const places[] = { "post", "pre", NULL };
static const char *const activations[] = { "none", "relu", NULL };
static const char *const scales[] = { "none", "sqrt_d_model", NULL };
static const char *const ties[] = { "source", "target", "logits", NULL };
static const char *const rules[] = { "exact", "recorded", NULL };
static const char *const penalties[] = { "none", "gnmt", "power", NULL };
static const char *const splits[] = { "characters", "spaces", NULL };
static const char *const dtypes[] = { "f32", NULL };

/* ------------------------------------- defaults that follow from others --- */
static void follow_d_k(Spec *s)
{
    SpecSide *side = s->side;
    side->d_k = side->h ? s->d_model / side->h : 0;
}

/* Not d_k: the paper's Table 3, rows B, varies d_k alone. */
static void follow_d_v(Spec *s)
{
    SpecSide *side = s->side;
    side->d_v = side->h ? s->d_model / side->h : 0;
}

static void follow_file(Spec *s)
{
    (void)s;                     /* spec.c counts the lines */
}

static void follow_shared(Spec *s)
{
    s->vocab_shared = s->field_pos[field_row("vocab.size")].src ||
                      s->field_pos[field_row("vocab.file")].src;
}

static void follow_append_end(Spec *s)
{
    s->append_end = s->kind == KindEncoderDecoder && s->token_end >= 0;
}

static void follow_final(Spec *s)
{
    s->norm_final = s->norm_place == PlacePre;
}

static void follow_q(Spec *s) { s->bias_q = s->has_q; }
static void follow_k(Spec *s) { s->bias_k = s->has_k; }
static void follow_v(Spec *s) { s->bias_v = s->has_v; }
static void follow_o(Spec *s) { s->bias_o = s->has_o; }

static void follow_alpha(Spec *s)
{
    static const double alpha[] = {
        [PenaltyNone] = 0, [PenaltyGnmt] = 0.6, [PenaltyPower] = 1
    };
    s->search_alpha = alpha[s->search_penalty];
}

static void follow_plus(Spec *s)
{
    s->max_output_plus =
        s->kind == KindEncoderDecoder && s->max_output < 0 ? 50 : -1;
}

/* ------------------------------------------------------------- table --- */
enum { MostWidth = 1 << 16, MostRows = 1 << 20, MostTokens = 1 << 24 };

const Field fields[] = {
    INT("attnc", version, 1, 1, AllKinds, NULL, NULL,
        "version of the format"),
    { "extends", FieldExtends, 0, NULL, 0, 0, AllKinds, "", NULL,
      "another spec, relative to this one, that this one changes" },
    { "name", FieldName, offsetof(Spec, name), NULL, 0, 0, AllKinds, NULL,
      NULL, "name of the model" },
    ENUM("kind", kind, kinds, AllKinds, NULL, NULL,
         "what is built; `attention` is one multi-head attention block with "
         "free query, key and value"),

    INT("d_model", d_model, 1, MostWidth, AllKinds, NULL, NULL,
        "width of the model"),
    INT("h", side[0].h, 1, 1024, AllKinds, NULL, NULL, "attention heads"),
    INT("d_k", side[0].d_k, 1, MostWidth, AllKinds, "d_model / h",
        follow_d_k,
        "width of a head's queries and keys"),
    INT("d_v", side[0].d_v, 1, MostWidth, AllKinds, "d_model / h",
        follow_d_v,
        "width of a head's values"),
    INT("d_ff", side[0].d_ff, 1, MostRows, Model, NULL, NULL,
        "width inside the feed-forward network"),
    SPREAD("N", WORDS("N.encoder", "N.decoder"), Model, "layers"),
    INT("N.encoder", side[0].N, 1, 1024, Source_, NULL, NULL,
        "layers of the encoder"),
    INT("N.decoder", side[1].N, 1, 1024, Target_, NULL, NULL,
        "layers of the decoder"),
    SPREAD("max_len", WORDS("max_len.source", "max_len.target",
                            "max_len.query", "max_len.key"), AllKinds,
           "longest input"),
    INT("max_len.source", side[0].max_len, 1, MostRows, Source_, NULL,
        NULL, "longest source, in tokens"),
    INT("max_len.target", side[1].max_len, 1, MostRows, Target_, NULL,
        NULL, "longest target, in tokens"),
    INT("max_len.query", side[0].max_len, 1, MostRows, Attention, NULL,
        NULL, "most rows of the query"),
    INT("max_len.key", side[1].max_len, 1, MostRows, Attention, NULL,
        NULL, "most rows of the key and value"),

    SPREAD("vocab.size", WORDS("vocab.source.size", "vocab.target.size"),
           Model, "tokens on either side"),
    SPREAD("vocab.file", WORDS("vocab.source.file", "vocab.target.file"),
           Model, "file of the tokens, UTF-8, one a line; the number of the "
           "line, from 0, is the id"),
    INT("vocab.source.size", source.size, 1, MostTokens, Source_,
        "lines of the file", follow_file, "tokens of the source"),
    PATH("vocab.source.file", source.file, Source_,
         "file of the source's tokens, relative to the spec"),
    INT("vocab.target.size", target.size, 1, MostTokens, Target_,
        "lines of the file", follow_file, "tokens of the target"),
    PATH("vocab.target.file", target.file, Target_,
         "file of the target's tokens, relative to the spec"),
    BOOL("vocab.shared", vocab_shared, Seq2seq,
         "true where vocab.size or vocab.file is given", follow_shared,
         "source and target have one vocabulary"),
    INT("vocab.tokens.start", token_start, 0, MostTokens, Target_, "", NULL,
        "id that the decoder reads first"),
    INT("vocab.tokens.end", token_end, 0, MostTokens, Model, "", NULL,
        "id that ends a text"),
    INT("vocab.tokens.pad", token_pad, 0, MostTokens, Model, "", NULL,
        "id that is never written"),
    SPREAD("vocab.tokens.unknown", WORDS("vocab.tokens.unknown.source",
                                         "vocab.tokens.unknown.target"),
           Model, "id of text that is no token; without one such text is an "
           "error"),
    INT("vocab.tokens.unknown.source", token_unknown, 0, MostTokens, Source_,
        "", NULL, "the same, of the source"),
    INT("vocab.tokens.unknown.target", token_unknown_target, 0, MostTokens,
        Target_, "", NULL, "the same, of the target"),
    SPREAD("vocab.split", WORDS("vocab.split.source", "vocab.split.target"),
           Model, "how text is cut into tokens and joined again"),
    ENUM("vocab.split.source", split_source, splits, Source_, "spaces", NULL,
         "the same, of the source"),
    ENUM("vocab.split.target", split_target, splits, Target_, "spaces", NULL,
         "the same, of the target"),
    BOOL("vocab.append_end", append_end, Source_,
         "true for an encoder-decoder with vocab.tokens.end",
         follow_append_end, "the end token is added to the source"),

    SPREAD("masking", WORDS("masking.encoder", "masking.decoder"), AllKinds,
           "what a position may attend to; kind attention: its only mask"),
    ENUM("masking.encoder", side[0].mask, masks, Source_ | Attention,
         "none", NULL, "self-attention of the encoder"),
    ENUM("masking.decoder", side[1].mask, masks, Target_, "causal",
         NULL, "self-attention of the decoder"),

    SPREAD("positions", WORDS("positions.type"), Model,
           "how the order of tokens enters"),
    ENUM("positions.type", positions, positions, Model, "sinusoidal", NULL,
         "what is added to the embeddings"),
    REAL("positions.base", pos_base, 1.0, 1.0e9, Model, "10000", NULL,
         "sinusoidal: the longest wavelength is 2 pi times this"),
    INT("positions.first", pos_first, 0, MostRows, Model, "0", NULL,
        "sinusoidal: position of the first token"),
    ENUM("positions.layout", pos_layout, layouts, Model, "interleaved", NULL,
         "sinusoidal: sine and cosine in turn, or all sines first"),
    ENUM("positions.exponent", pos_exponent, exponents, Model, "paper", NULL,
         "sinusoidal: wavelength i is base^(2i/d_model), or "
         "base^(i/(d_model/2 - 1))"),

    SPREAD("norm", WORDS("norm.type"), Model, "normalisation"),
    ENUM("norm.type", norm_type, norms, Model, "layer", NULL, "its formula"),
    ENUM("norm.place", norm_place, places, Model, "post", NULL,
         "norm(x + f(x)), or x + f(norm(x))"),
    REAL("norm.eps", norm_eps, 1.0e-12, 1.0, Model, "1.0e-6", NULL,
         "added to the variance"),
    BOOL("norm.final", norm_final, Model, "true for place pre", follow_final,
         "one more norm after the last layer of a stack"),
    ENUM("activation", activation, activations, Model, "relu", NULL,
         "between the two products of the feed-forward network"),
    /* before the biases, whose defaults follow from these */
    SPREAD("projections", WORDS("projections.q", "projections.k",
                                "projections.v", "projections.o"), Attention,
           "false: the identity stands in its place"),
    BOOL("projections.q", has_q, Attention, "true", NULL, "the query's"),
    BOOL("projections.k", has_k, Attention, "true", NULL, "the key's"),
    BOOL("projections.v", has_v, Attention, "true", NULL, "the value's"),
    BOOL("projections.o", has_o, Attention, "true", NULL, "the output's"),
    SPREAD("bias", WORDS("bias.q", "bias.k", "bias.v", "bias.o", "bias.ffn"),
           AllKinds, "biases, all but that of the logits"),
    BOOL("bias.q", bias_q, AllKinds, "projections.q", follow_q,
         "of the query projection"),
    BOOL("bias.k", bias_k, AllKinds, "projections.k", follow_k,
         "of the key projection"),
    BOOL("bias.v", bias_v, AllKinds, "projections.v", follow_v,
         "of the value projection"),
    BOOL("bias.o", bias_o, AllKinds, "projections.o", follow_o,
         "of the output projection"),
    BOOL("bias.ffn", bias_ffn, Model, "true", NULL,
         "of both products of the feed-forward network"),
    BOOL("bias.logits", bias_logits, Target_, "false", NULL,
         "of the product that gives the logits"),

    ENUM("embedding.scale", embed_scale, scales, Model, "sqrt_d_model", NULL,
         "factor of the embeddings, before positions are added"),
    { "embedding.tie", FieldFlags, offsetof(Spec, embed_tie), ties, 0, 0,
      Model, "", NULL, "matrices that are one tensor" },

    ENUM("search.rule", search_rule, rules, Target_, "exact", NULL,
         "exact: stop when no open hypothesis can win any more; recorded: "
         "stop when as many have ended as the beam is wide"),
    INT("search.beam", search_beam, 1, 1024, Target_, "4", NULL,
        "hypotheses that are followed; 1 is greedy"),
    ENUM("search.penalty", search_penalty, penalties, Target_, "gnmt", NULL,
         "score is log P, / ((5 + L) / 6)^alpha, or / L^alpha"),
    REAL("search.alpha", search_alpha, 0.0, 10.0, Target_,
         "0.6 for gnmt, 1.0 for power", follow_alpha,
         "exponent of the penalty"),
    SPREAD("search.max_output", WORDS("search.max_output.tokens"), Target_,
           "longest output, in tokens; the smaller of the limits that are "
           "set, and of max_len.target, holds"),
    INT("search.max_output.tokens", max_output, 1, MostRows, Target_, "",
        NULL, "so many"),
    INT("search.max_output.plus", max_output_plus, 0, MostRows, Target_,
        "50 for an encoder-decoder without a limit", follow_plus,
        "so many more than the source has"),

    ENUM("dtype", dtype, dtypes, AllKinds, "f32", NULL,
         "number format of the weights"),
    PATH("weights", weights, AllKinds,
         "the .safetensors file, relative to the spec; seeded random weights "
         "without one"),
    { "names", FieldNames, 0, NULL, 0, 0, AllKinds, "", NULL,
      "names of the weights in the file: canonical prefix to its prefix" },
};
const int n_fields = sizeof fields / sizeof *fields;

/* ------------------------------------------------------------- keys --- */
int field_find(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (!strcmp(fields[i].key, key))
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

bool field_group(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (field_below(fields[i].key, key))
            return true;
    return false;
}
