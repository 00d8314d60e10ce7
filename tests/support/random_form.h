/* random_form.h: valid specs of any form by number; the same seed gives the
 * same text. Every field that affects a model's results or the contents of its
 * C takes all its words (tests/passes/forms_test.c). Each group of fields has a
 * function. */
#ifndef ATTNC_RANDOM_FORM_H
#define ATTNC_RANDOM_FORM_H

#include "support/random_spec.h"

typedef struct { /* a file that the spec names */
    const char *name, *text;
} FormFile;

typedef struct {
    RandomSpec r;     /* text: the spec */
    FormFile file[4]; /* files to write next to the spec */
    int nfiles;
    int64_t N[2], h[2], h_kv[2], d_k[2], d_v[2], max_len[2]; /* by Side */
    bool real, rms, qk, norm1, sourced;
    bool scoreless;    /* no layer attends */
    bool shaped;       /* layers have weights of other shapes */
    int64_t rope;      /* latent attention's rope_dims; -1: no latent
                          attention */
    bool one_vocab;    /* of an encoder-decoder */
    const char *head;  /* type of the head; NULL: not given */
    int64_t embedding; /* width of the token tables */
    int64_t rows;      /* width of the rows for logits */
} RandomForm;

/* Formats text like printf(), with the spec's lifetime. */
#define TEXT(f, ...) arena_printf((f)->r.arena, __VA_ARGS__)

static inline bool one_in(RandomForm *f, int64_t n)
{
    return pick(&f->r, n) == 0;
}

static inline bool both_sides(const RandomForm *f)
{
    return f->r.kind == KindEncoderDecoder;
}

/* Returns the side of a model with one side. */
static inline Side only_side(const RandomForm *f)
{
    return f->r.kind == KindDecoder ? SideDecoder : SideEncoder;
}

static inline const char *add_file(RandomForm *f, const char *name,
                                   const char *text)
{
    f->file[f->nfiles++] = (FormFile){ name, text };
    return name;
}

/* Writes one number, or one for each side. */
static inline void say_sides(RandomForm *f, const char *key, const int64_t v[2])
{
    if (both_sides(f) && v[0] != v[1])
        say(&f->r, key,
            TEXT(f, "{encoder: %lld, decoder: %lld}", (long long)v[0],
                 (long long)v[1]));
    else
        say_int(&f->r, key, v[only_side(f)]);
}

#include "support/random_sublayers.h"

/* ---- sizes ---- */
static inline void form_side(RandomForm *f, Side side)
{
    f->h_kv[side] = AMONG(&f->r, 1, 2, 3);
    f->h[side] = f->h_kv[side] * AMONG(&f->r, 1, 2, 4);
    f->d_k[side] = AMONG(&f->r, 1, 2, 4, 6, 8, 13, 16);
    f->d_v[side] = AMONG(&f->r, 1, 3, 8, 16, 17);
}

/* Sets all widths, or leaves those of the heads to h, as in the paper. */
static inline void form_width(RandomForm *f)
{
    RandomSpec *r = &f->r;
    bool given = !one_in(f, 3);

    /* layer norm of 2 columns always gives +-1, which hides errors */
    r->d_model = AMONG(r, 10, 4, 6, 8, 14, 16, 24, 34);
    form_side(f, SideEncoder);
    form_side(f, SideDecoder);
    form_latent(f, given);
    for (int i = 0; !given && i < 2; i++) {
        f->h[i] = AMONG(r, 1, 2);
        f->h_kv[i] = f->h[i];
        f->d_k[i] = f->d_v[i] = r->d_model / f->h[i];
    }
    say_int(r, "d_model", r->d_model);
    if (f->scoreless && !both_sides(f))
        return;
    if (f->scoreless) { /* only for the decoder's cross-attention */
        say(r, "h", WORD(r, "{decoder: 1}", "{decoder: 2}"));
        return;
    }
    say_sides(f, "h", f->h);
    if (!given)
        return;
    say_sides(f, "h_kv", f->h_kv);
    say_sides(f, "d_k", f->d_k);
    say_sides(f, "d_v", f->d_v);
}

static inline void form_depth(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const bool attention = r->kind == KindAttention;

    for (int i = 0; i < 2; i++)
        f->max_len[i] = AMONG(r, 1, 17, 64, 65, 130);
    if (attention || (both_sides(f) && f->max_len[0] != f->max_len[1]))
        say(r, "max_len",
            TEXT(f, "{%s: %lld, %s: %lld}", attention ? "query" : "source",
                 (long long)f->max_len[0], attention ? "key" : "target",
                 (long long)f->max_len[1]));
    else
        say_int(r, "max_len", f->max_len[only_side(f)]);
    if (attention)
        return;
    f->N[0] = AMONG(r, 1, 2, 2, 3);
    f->N[1] = AMONG(r, 1, 2, 2, 3);
    say_sides(f, "N", f->N);
}

/* ---- masks ---- */

/* Allows most cells; some rows see nothing. */
static inline const char *mask_file(RandomForm *f, Side side)
{
    int64_t rows = f->max_len[side];
    int64_t columns = f->r.kind == KindAttention ? f->max_len[1] : rows;
    char *text = arena_alloc(f->r.arena, (size_t)(rows * (columns + 1) + 1));
    char *at = text;

    for (int64_t i = 0; i < rows; i++, *at++ = '\n') {
        bool none = one_in(f, 16);
        for (int64_t j = 0; j < columns; j++)
            *at++ = i + j == 0 || (!none && pick(&f->r, 4) > 0) ? '1' : '0';
    }
    return add_file(f, side == SideEncoder ? "encoder.mask" : "decoder.mask",
                    text);
}

static inline const char *form_mask(RandomForm *f, Side side, bool causal)
{
    RandomSpec *r = &f->r;
    bool prefix = causal && one_in(f, 3);
    const char *part = WORD(r, "", "{window: 1}", "{window: 3}", "{block: 2}",
                            "{block: 5}", "{window: 4}, {block: 7}");
    const char *lead = prefix ? "causal, prefix" : causal ? "causal" : "";

    if (!prefix && one_in(f, 3))
        part = TEXT(f, "%s%s{file: %s}", part, *part ? ", " : "",
                    mask_file(f, side));
    if (!*part)
        return prefix ? TEXT(f, "[%s]", lead) : causal ? lead : "none";
    return TEXT(f, "[%s%s%s]", lead, *lead ? ", " : "", part);
}

static inline void form_masking(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *encoder = r->kind == KindDecoder
                            ? NULL
                            : form_mask(f, SideEncoder, coin(r));
    const char *decoder = !has_target(r) ? NULL
                                         : form_mask(f, SideDecoder, true);

    if (encoder && decoder)
        say(r, "masking",
            TEXT(f, "{encoder: %s, decoder: %s}", encoder, decoder));
    else if (r->kind == KindAttention)
        say(r, "masking", encoder);
    else
        say(r, "masking",
            encoder ? TEXT(f, "{encoder: %s}", encoder)
                    : TEXT(f, "{decoder: %s}", decoder));
}

/* ---- positions ---- */
static inline const char *form_sinusoids(RandomForm *f)
{
    RandomSpec *r = &f->r;
    return TEXT(f,
                "{type: sinusoidal, base: %s, first: %s, layout: %s, "
                "exponent: %s}",
                WORD(r, "10000", "500.5"), WORD(r, "0", "1", "9"),
                WORD(r, "interleaved", "halves"),
                WORD(r, "paper", "tensor2tensor"));
}

/* dims: rotated columns; original_max_len is often below max_len. */
static inline const char *form_scaling(RandomForm *f, int64_t dims)
{
    RandomSpec *r = &f->r;
    const int64_t pairs = (dims + 1) / 2;
    const char *list = "1.25";
    const char *type = WORD(r, "step", "dynamic", "llama3", "yarn", "longrope");

    if (!strcmp(type, "step") || (!strcmp(type, "dynamic") && dims < 3))
        return WORD(r, "1", "0.25");
    RandomSpec of = *r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;
    for (int64_t i = 1; i < pairs; i++)
        list = TEXT(f, "%s, %s", list, WORD(r, "1", "3.5"));
    return TEXT(f, "{type: %s, factor: %s, original_max_len: %s%s%s}", type,
                WORD(r, "4", "1.5"), WORD(r, "2", "7", "4096"),
                WORD(&of, "", "", ", query_log: 0.3"),
                !strcmp(type, "llama3")
                    ? ", low_freq_factor: 0.5, high_freq_factor: 3"
                : !strcmp(type, "yarn")
                    ? WORD(r, "", ", mscale: 1, mscale_all_dim: 0.5",
                           ", truncate: false",
                           ", beta_fast: 9, beta_slow: 0.25")
                : !strcmp(type, "longrope")
                    ? TEXT(f, ", short_factor: [%s], long_factor: [%s]%s", list,
                           list, WORD(r, "", ", attention_factor: 2"))
                    : "");
}

/* "": no head has two columns to rotate. */
static inline const char *form_rotary(RandomForm *f)
{
    RandomSpec *r = &f->r;
    int64_t a = f->d_k[SideEncoder], b = f->d_k[SideDecoder];
    int64_t d_k = !both_sides(f) ? f->d_k[only_side(f)] : a < b ? a : b;
    d_k = f->rope >= 0 ? f->rope : d_k;
    int64_t dims = d_k - d_k % 2;
    const bool odd = d_k != dims || (both_sides(f) && (a | b) % 2);

    if (dims < 2)
        return "";
    if (!odd && one_in(f, 4)) /* all columns of each side */
        return "rotary";
    dims = coin(r) ? dims : 2;
    dims -= dims > 2 && coin(r); /* odd: one more turns */
    return TEXT(f,
                "{type: rotary, base: %s, layout: %s, scaling: %s, "
                "dims: %lld}",
                WORD(r, "10000", "500.5"), WORD(r, "halves", "interleaved"),
                form_scaling(f, dims), (long long)dims);
}

/* Adds the positions, and for one spec in four others for the scores. */
static inline const char *form_scores(RandomForm *f, const char *type)
{
    const char *scores = WORD(&f->r, "none", "alibi", "relative",
                              "relative, buckets: 6, max_distance: 9");

    if (f->scoreless || !strcmp(type, "alibi") || strstr(type, "relative")
        || !one_in(f, 4))
        return type;
    if (*type == '{') /* without its brace */
        return TEXT(f, "%.*s, scores: %s}", (int)strlen(type) - 1, type,
                    scores);
    return TEXT(f, "{type: %s, scores: %s}", type, scores);
}

static inline void form_positions(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *type = WORD(r, "sinusoidal", "learned", "none", "rotary",
                            "alibi", "relative");

    if (f->scoreless)
        type = WORD(r, "sinusoidal", "learned", "none");
    if (!strcmp(type, "sinusoidal"))
        type = one_in(f, 4) ? type : form_sinusoids(f);
    if (!strcmp(type, "learned"))
        type = WORD(r, "learned", "{type: learned, first: 2}");
    if (!strcmp(type, "relative"))
        type = WORD(r, "relative",
                    "{type: relative, buckets: 8, max_distance: 20}");
    if (!strcmp(type, "rotary"))
        type = form_rotary(f);
    say(r, "positions", form_scores(f, *type ? type : "alibi"));
}

/* ---- layers ---- */
static inline void form_norm(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *place = WORD(r, "post", "pre", "pre", "inside", "both");
    const bool in_front = !strcmp(place, "pre") || !strcmp(place, "both");
    /* the mean of many rows is small, so its norm would amplify rounding */
    const char *least = !strcmp(place, "both") || !strcmp(place, "inside")
                          ? "1.0e-3"
                          : "1.0e-6";
    const char *parallel = "false";
    int64_t d_k = f->d_k[only_side(f)];
    RandomSpec of = *r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;

    if (both_sides(f) && f->d_k[1] < d_k)
        d_k = f->d_k[1];
    if (in_front && !both_sides(f))
        parallel = WORD(r, "false", "shared", "separate");
    f->norm1 = !strcmp(parallel, "shared") || !one_in(f, 6);
    f->rms = coin(r);
    f->qk = d_k >= 4 && f->rope < 0
         && coin(r); /* like d_model: 1 or 2 columns always give +-1 */
    say(r, "norm",
        TEXT(f,
             "{type: %s, place: %s, eps: %s, bias: %s, "
             "final: %s, embedding: %s, qk: %s%s%s, attention: %s, ffn: %s}",
             f->rms ? "rms" : "layer", place, WORD(r, least, "1.0e-3"),
             f->rms ? "false" : yes_no(r), yes_no(r), yes_no(r),
             !f->qk    ? "false"
             : coin(r) ? WORD(&of, "true", "each")
                       : "width",
             f->qk && coin(&of) ? ", qk_rotated: true" : "",
             r->kind == KindEncoder && !strcmp(place, "post") && coin(&of)
                 ? ", again: true"
                 : "",
             f->norm1 ? "true" : "false", one_in(f, 6) ? "false" : "true"));
    if (in_front && !both_sides(f))
        say(r, "parallel", parallel);
    if (f->scoreless && !strcmp(parallel, "false") && !has_target(r))
        say(r, "residual", WORD(r, "add", "none"));
    else
        say(r, "residual",
            WORD(r, "add", "{scale: 0.5}", "{learned: scalar}",
                 "{learned: columns}", "{learned: columns, scale: 0.3}"));
}

static inline const char *form_activation(RandomForm *f)
{
    static const char *const words[][2] = {
#define ACT(name, text, gated, other, formula) { text, gated },
#include "spec/fields/activations.h"
    };
    const char *const *row = words[pick(&f->r, sizeof words / sizeof *words)];
    return row[1] && coin(&f->r) ? row[1] : row[0];
}

static inline void form_ffn(RandomForm *f)
{
    RandomSpec *r = &f->r;

    say_sides(f, "d_ff",
              (int64_t[]){ AMONG(r, 1, 8, 17, 32), AMONG(r, 3, 16, 17, 33) });
}

static inline void form_layer(RandomForm *f)
{
    RandomSpec *r = &f->r;

    form_norm(f);
    say(r, "activation", form_activation(f));
    say(r, "bias",
        TEXT(f,
             "{q: %s, k: %s, v: %s, o: %s, ffn: %s, "
             "logits: %s, mix: %s}",
             yes_no(r), yes_no(r), yes_no(r), yes_no(r), yes_no(r), yes_no(r),
             yes_no(r)));
    if (one_in(f, 6))
        say(r, "ffn", "none");
    else if (one_in(f, 3))
        form_experts(f);
    else
        form_ffn(f);
}

/* Kind attention: drops projections if the widths allow it. */
static inline void form_projections(RandomForm *f)
{
    RandomSpec *r = &f->r;
    bool fits = f->h[0] * f->d_k[0] == r->d_model
             && f->h_kv[0] * f->d_k[0] == r->d_model
             && f->h_kv[0] * f->d_v[0] == r->d_model;

    if (fits && !one_in(f, 3)) /* biases follow the projections */
        say(r, "projections",
            TEXT(f, "{q: %s, k: %s, v: %s, o: %s}", yes_no(r), yes_no(r),
                 yes_no(r), yes_no(r)));
    else
        say(r, "bias",
            TEXT(f, "{q: %s, k: %s, v: %s, o: %s}", yes_no(r), yes_no(r),
                 yes_no(r), yes_no(r)));
}

static inline void form_attention(RandomForm *f)
{
    if (f->sourced && coin(&f->r)) {
        say(&f->r, "attention", "{cross: false}");
        return;
    }
    const char *weights = one_in(f, 4)               ? ", normalizer: sigmoid"
                        : f->r.kind == KindAttention ? ""
                        : one_in(f, 3)               ? ", sinks: true"
                                                     : ", sinks: false";
    const char *score = one_in(f, 4) ? ", score: additive" : "";
    RandomSpec of = f->r; /* a stream of its own: later draws stay unchanged */
    of.state *= 0x9e3779b97f4a7c15u;
    if (f->r.kind != KindAttention && coin(&of))
        score = TEXT(f, "%s, clip_norms: true", score);

    say(&f->r, "attention",
        TEXT(f, "{%s%s%s%s}",
             WORD(&f->r, "scale: 1", "softcap: 5", "scale: 0.3, softcap: 20",
                  "clip: 0.5", "clip: 2, softcap: 5", "scale: 0.4"),
             weights, score, form_latent_keys(f)));
}

/* ---- in and out ---- */
static inline const char *form_vocab_size(RandomForm *f, const char *file,
                                          int64_t size)
{
    char *lines = arena_alloc(f->r.arena, (size_t)size * 8 + 1), *at = lines;

    if (!one_in(f, 4))
        return TEXT(f, "size: %lld", (long long)size);
    for (int64_t i = 0; i < size; i++)
        at += snprintf(at, 8, "t%lld\n", (long long)i);
    return TEXT(f, "file: %s", add_file(f, file, lines));
}

static inline void form_vocab(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *split = WORD(r, "characters", "spaces");
    int64_t size = AMONG(r, 5, 16, 17, 31, 48, 67);
    bool two = both_sides(f) && !f->real && coin(r);

    f->one_vocab = both_sides(f) && !f->real && !two;
    r->text = TEXT(f, "%svocab:\n", r->text);
    if (f->real && both_sides(f))
        say(r, "  target", TEXT(f, "{%s}", form_vocab_size(f, "tokens", size)));
    else if (two)
        say(r, "  target",
            TEXT(f, "{%s}\n  source: {%s}\n  shared: false",
                 form_vocab_size(f, "target.tokens", size),
                 form_vocab_size(f, "source.tokens", AMONG(r, 6, 15, 33))));
    else
        r->text = TEXT(f, "%s  %s\n", r->text,
                       form_vocab_size(f, "tokens", size));
    if (both_sides(f) || coin(r))
        say(r, "  tokens",
            TEXT(f, "{%send: %s, pad: 0, unknown: 3}",
                 has_target(r) ? "start: 1, " : "",
                 WORD(r, "2", "2", "[2, 4]")));
    say(r, "  split", f->real ? TEXT(f, "{target: %s}", split) : split);
    if (f->one_vocab)
        say(r, "  append_end", yes_no(r));
}

/* Chooses tables of another width than d_model, or an unnecessary product. */
static inline const char *form_narrow(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *project = WORD(r, "sum", "tokens");

    if (f->embedding != r->d_model)
        project = TEXT(f, "width: %lld%s", (long long)f->embedding,
                       coin(r) ? TEXT(f, ", project: %s", project) : "");
    else if (one_in(f, 8))
        project = TEXT(f, "project: %s", project);
    else
        return one_in(f, 8) ? ", project: none" : "";
    return TEXT(f, ", %s, bias: %s", project, yes_no(r));
}

static inline void form_embedding(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const bool fits = f->rows == f->embedding;
    const char *types = f->real ? "" : WORD(r, "", "", ", types: 3");
    const char *tie = "";

    if (f->one_vocab && !fits)
        tie = WORD(r, "", ", tie: [source, target]");
    else if (f->one_vocab)
        tie = WORD(r, "", ", tie: [source, target]", ", tie: [source, logits]",
                   ", tie: [source, target, logits]");
    else if (fits && has_target(r))
        tie = WORD(r, "", ", tie: [target, logits]");
    else if (fits && f->head && !strcmp(f->head, "logits"))
        tie = WORD(r, "", ", tie: [source, logits]");
    say(r, "embedding",
        TEXT(f, "{scale: %s%s%s%s}", WORD(r, "none", "sqrt_d_model", "0.5"),
             types, tie, form_narrow(f)));
}

static inline const char *form_act(RandomForm *f)
{
    static const char *const words[] = {
#define ACT(name, text, gated, other, formula) text,
#include "spec/fields/activations.h"
    };
    return words[pick(&f->r, sizeof words / sizeof *words)];
}

#include "support/form_head.h"
#include "support/form_search.h"

/* Makes all or some layers share weights in one spec of four. */
static inline void form_names(RandomForm *f)
{
    const char *side = has_target(&f->r) ? "decoder" : "encoder";
    const char *matrix = f->r.matrix ? f->r.matrix : "self_attn.q";
    const char *of = WORD(&f->r, "", ".norm1", NULL, ".norm1.weight");

    if (!of || (*of && !f->norm1))
        of = *matrix ? TEXT(f, ".%s", matrix) : "";
    if (one_in(f, 4) && !f->shaped)
        say(&f->r, "names", TEXT(f, "{\"%s.{i}%s\": one}", side, of));
}

/* ---- patterns and inputs, whole forms ---- */
#include "support/random_pattern.h"
#include "support/random_input.h"

static inline RandomForm random_form(Arena *a, uint64_t seed)
{
    RandomForm f = { .r = random_begin(a, seed, "form") };

    f.scoreless = f.r.kind != KindAttention && one_in(&f, 4);
    form_width(&f);
    form_depth(&f);
    if (f.scoreless)
        form_mix(&f);
    else
        form_masking(&f);
    form_attention(&f);
    if (f.r.kind == KindAttention) {
        form_projections(&f);
        random_dtype(&f.r);
        return f;
    }
    form_positions(&f);
    form_layer(&f);
    form_pattern(&f);
    f.real = has_source(&f.r) && one_in(&f, 4);
    if (has_source(&f.r))
        form_input(&f);
    form_head(&f);
    if (!f.real || both_sides(&f))
        form_vocab(&f);
    form_embedding(&f);
    form_search(&f);
    form_chat(&f);
    random_dtype(&f.r);
    form_names(&f);
    return f;
}

#endif
