/* spec_check.c: what no single field can say: shapes that fit, sizes that can
 * be counted, tokens that are in the vocabulary. A check is one function and
 * one row, and runs when all the fields it reads have values.               */
#include <string.h>

#include "fields.h"

enum { MostInner = 1 << 20 };    /* h d_k, h d_v */
static const int64_t most_parameters = (int64_t)1 << 40;

static const Pos nowhere;

static bool is(const FieldState *state, const char *key, FieldState wanted)
{
    return state[field_row(key)] == wanted;
}

/* ------------------------------------------------------------- shapes --- */
static void check_heads(Spec *s, const FieldState *state)
{
    bool given = is(state, "d_k", StateSet) && is(state, "d_v", StateSet);

    if (given || s->d_model % s->side->h == 0)
        return;
    error_at(spec_pos(s, "h"), "h (%lld) does not divide d_model (%lld)",
             (long long)s->side->h, (long long)s->d_model);
    note_at(spec_pos(s, "d_model"), "choose another, or give d_k and d_v; "
            "d_model is here");
}

static void check_inner(Spec *s, const char *key, int64_t d)
{
    int64_t inner;

    if (__builtin_mul_overflow(s->side->h, d, &inner) || inner > MostInner)
        error_at(spec_pos(s, key), "h (%lld) times %s (%lld) is more than %d",
                 (long long)s->side->h, key, (long long)d, MostInner);
}

static void check_width(Spec *s, const FieldState *state)
{
    (void)state;
    check_inner(s, "d_k", s->side->d_k);
    check_inner(s, "d_v", s->side->d_v);
}

/* A projection that is absent hands on rows of d_model. */
static void check_identity(Spec *s, const FieldState *state)
{
    const SpecSide *side = &s->side[SideEncoder];
    bool k_fits = side->h * side->d_k == s->d_model;
    bool v_fits = side->h * side->d_v == s->d_model;
    const struct { const char *key, *width; bool there, fits; } row[] = {
        { "projections.q", "d_k", s->has_q, k_fits },
        { "projections.k", "d_k", s->has_k, k_fits },
        { "projections.v", "d_v", s->has_v, v_fits },
    };

    (void)state;
    for (int i = 0; i < 3; i++)
        if (!row[i].there && !row[i].fits)
            error_at(spec_pos(s, row[i].key), "without this projection h "
                     "times %s must be d_model (%lld)", row[i].width,
                     (long long)s->d_model);
}

static void check_identity_bias(Spec *s, const FieldState *state)
{
    const struct { const char *key; bool bias, there; } row[] = {
        { "bias.q", s->bias_q, s->has_q }, { "bias.k", s->bias_k, s->has_k },
        { "bias.v", s->bias_v, s->has_v }, { "bias.o", s->bias_o, s->has_o },
    };

    for (int i = 0; i < 4; i++) {
        if (!row[i].bias || row[i].there)
            continue;
        error_at(spec_pos(s, row[i].key), "%s is true, but there is no such "
                 "projection", row[i].key);
        note_at(nowhere, "leave the bias out, or the projection in");
    }
    (void)state;
}

static int64_t add_product(int64_t sum, int64_t a, int64_t b, int64_t c)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product) ||
        __builtin_mul_overflow(product, c, &product) ||
        __builtin_add_overflow(sum, product, &sum))
        return INT64_MAX / 2;
    return sum;
}

/* About the number of parameters: enough to refuse what cannot be meant. */
static void check_size(Spec *s, const FieldState *state)
{
    const SpecSide *side = s->side;
    int64_t layers = side[SideEncoder].N + 2 * side[SideDecoder].N, sum = 0;

    (void)state;
    sum = add_product(sum, layers, 2 * s->d_model,
                      side->h * (side->d_k + side->d_v));
    sum = add_product(sum, layers, 2 * s->d_model, side->d_ff);
    sum = add_product(sum, s->source.size + 2 * s->target.size, s->d_model, 1);
    if (sum <= most_parameters)
        return;
    error_at(spec_pos(s, "d_model"), "the model would have about %.1e "
             "parameters; at most %.1e are allowed", (double)sum,
             (double)most_parameters);
}

/* ----------------------------------------------------------- meanings --- */
static void check_masking(Spec *s, const FieldState *state)
{
    if (is(state, "masking.decoder", StateOff) ||
        s->side[SideDecoder].mask == MaskCausal)
        return;
    error_at(spec_pos(s, "masking.decoder"), "a decoder's masking must be "
             "causal: it cannot see what it has not written yet");
    note_at(nowhere, "kind: encoder has rows that see each other");
}

static void check_positions(Spec *s, const FieldState *state)
{
    static const char *const details[] = {
        "positions.base", "positions.first", "positions.layout",
        "positions.exponent"
    };
    Pos pos = spec_pos(s, "d_model");
    int64_t least = s->pos_exponent == ExponentTensor2tensor ? 4 : 2;

    if (s->positions == PosSinusoidal) {
        if (is(state, "positions.type", StateOff))
            return;
        if (s->d_model % 2 || s->d_model < least)
            error_at(pos, "sinusoidal positions need an even d_model of at "
                     "least %lld, found %lld", (long long)least,
                     (long long)s->d_model);
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (!is(state, details[i], StateSet))
            continue;
        error_at(spec_pos(s, details[i]), "%s has a meaning for sinusoidal "
                 "positions only", details[i]);
        note_at(nowhere, "write positions as a word to leave inherited "
                "details behind, as in `positions: learned`");
    }
}

/* ------------------------------------------------------- vocabularies --- */
static void check_shared(Spec *s, const FieldState *state)
{
    (void)state;
    if (!s->vocab_shared || s->kind != KindEncoderDecoder)
        return;
    if (s->source.size != s->target.size) {
        error_at(spec_pos(s, "vocab.shared"), "one vocabulary cannot have "
                 "%lld tokens for the source and %lld for the target",
                 (long long)s->source.size, (long long)s->target.size);
        note_at(nowhere, "set vocab.shared: false, or give vocab.size");
    } else if (s->source.file && s->target.file &&
               strcmp(s->source.file, s->target.file)) {
        error_at(spec_pos(s, "vocab.shared"), "one vocabulary cannot have "
                 "two files");
        note_at(nowhere, "set vocab.shared: false, or give vocab.file");
    }
}

/* Bits of tie that this kind of model has no matrix for. An inherited one is
 * dropped, as other inherited fields without a meaning are.                 */
static bool drop_ties(Spec *s)
{
    int there = s->kind == KindEncoder ? TieSource
              : s->kind == KindDecoder ? TieTarget | TieLogits
              : TieSource | TieTarget | TieLogits;
    Pos tie = spec_pos(s, "embedding.tie"), kind = spec_pos(s, "kind");

    if (!(s->embed_tie & ~there))
        return true;
    if (tie.src && kind.src && tie.src->rank >= kind.src->rank) {
        error_at(tie, "this kind of model has only %s", s->kind == KindEncoder
                 ? "the source's matrix: nothing can be tied"
                 : "the target's matrix and that of the logits");
        return false;
    }
    s->embed_tie &= there;
    if (!(s->embed_tie & (s->embed_tie - 1)))
        s->embed_tie = 0;
    return true;
}

static void check_tie(Spec *s, const FieldState *state)
{
    Pos tie = spec_pos(s, "embedding.tie");
    bool both = (s->embed_tie & TieSource) && (s->embed_tie & ~TieSource);

    if (is(state, "embedding.tie", StateOff) || !drop_ties(s))
        return;
    if (s->embed_tie && !(s->embed_tie & (s->embed_tie - 1))) {
        error_at(tie, "one matrix cannot be tied alone");
        note_at(nowhere, "name two or more of source, target, logits, or "
                "leave embedding.tie out");
    } else if (both && s->kind == KindEncoderDecoder &&
               s->source.size != s->target.size) {
        error_at(tie, "matrices of %lld rows (source) and %lld (target) "
                 "cannot be tied", (long long)s->source.size,
                 (long long)s->target.size);
        note_at(nowhere, "give both sides one vocabulary: vocab.size and "
                "vocab.shared: true");
    }
}

static void check_token(Spec *s, const char *key, int64_t id, int64_t size)
{
    if (size > 0 && id >= size)
        error_at(spec_pos(s, key), "%s (%lld) is not in a vocabulary of %lld "
                 "tokens", key, (long long)id, (long long)size);
}

static void check_tokens(Spec *s, const FieldState *state)
{
    bool target = !is(state, "vocab.target.size", StateOff);
    int64_t size = target ? s->target.size : s->source.size;

    check_token(s, "vocab.tokens.start", s->token_start, s->target.size);
    check_token(s, "vocab.tokens.end", s->token_end, size);
    check_token(s, "vocab.tokens.pad", s->token_pad, size);
    check_token(s, "vocab.tokens.unknown.source", s->token_unknown,
                s->source.size);
    check_token(s, "vocab.tokens.unknown.target", s->token_unknown_target,
                s->target.size);
}

static void check_needed_tokens(Spec *s, const FieldState *state)
{
    (void)state;
    if (s->kind == KindEncoderDecoder && s->token_start < 0) {
        error_at(spec_pos(s, "vocab.tokens.start"), "vocab.tokens.start is "
                 "missing");
        note_at(nowhere, "it must be the id that the decoder reads first");
    }
    if (s->kind == KindEncoderDecoder && s->token_end < 0) {
        error_at(spec_pos(s, "vocab.tokens.end"), "vocab.tokens.end is "
                 "missing");
        note_at(nowhere, "it must be the id that ends the output");
    }
}

static void check_append_end(Spec *s, const FieldState *state)
{
    (void)state;
    if (!s->append_end)
        return;
    if (s->token_end < 0)
        error_at(spec_pos(s, "vocab.append_end"), "there is no "
                 "vocab.tokens.end to append");
    else
        check_token(s, "vocab.tokens.end", s->token_end, s->source.size);
}

static void check_output(Spec *s, const FieldState *state)
{
    if (is(state, "search.max_output.tokens", StateOff) ||
        s->max_output <= s->side[SideDecoder].max_len)
        return;
    error_at(spec_pos(s, "search.max_output.tokens"), "an output of %lld "
             "tokens is longer than max_len.target (%lld)",
             (long long)s->max_output, (long long)s->side[SideDecoder].max_len);
    note_at(spec_pos(s, "max_len.target"), "max_len is here");
}

/* -------------------------------------------------------------- table --- */
static const struct {
    void (*check)(Spec *s, const FieldState *state);
    const char *reads[8];
} checks[] = {
    { check_heads,         { "d_model", "h", "d_k", "d_v" } },
    { check_width,         { "d_model", "h", "d_k", "d_v" } },
    { check_identity,      { "d_model", "h", "d_k", "d_v", "projections.q",
                             "projections.k", "projections.v" } },
    { check_identity_bias, { "bias.q", "bias.k", "bias.v", "bias.o",
                             "projections.q", "projections.k",
                             "projections.v", "projections.o" } },
    { check_size,          { "d_model", "h", "d_k", "d_v", "d_ff", "N.encoder",
                             "N.decoder" } },
    { check_masking,       { "masking.decoder" } },
    { check_positions,     { "d_model", "positions.type",
                             "positions.exponent" } },
    { check_shared,        { "vocab.source.size", "vocab.target.size" } },
    { check_tie,           { "embedding.tie", "vocab.source.size",
                             "vocab.target.size" } },
    { check_tokens,        { "vocab.source.size", "vocab.target.size" } },
    { check_needed_tokens, { "vocab.tokens.start", "vocab.tokens.end" } },
    { check_append_end,    { "vocab.tokens.end", "vocab.append_end",
                             "vocab.source.size", "vocab.target.size" } },
    { check_output,        { "max_len.target", "search.max_output.tokens" } },
};

static bool all_known(const FieldState *state, const char *const *reads)
{
    for (int i = 0; i < 8 && reads[i]; i++)
        if (is(state, reads[i], StateBad))
            return false;
    return true;
}

void check_spec(Spec *s, const FieldState *state)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (all_known(state, checks[i].reads))
            checks[i].check(s, state);
}
