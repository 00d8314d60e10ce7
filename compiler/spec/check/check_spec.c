/* check_spec.c: checks that involve several fields, e.g. that shapes match,
 * sizes do not overflow, and token ids are in the vocabulary. Each check is a
 * function and a row of a table. check_forms.c has more checks. */
#include <string.h>

#include "spec/fields/fields.h"

enum { MostInner = 1 << 20 }; /* maximum of h d_k and h d_v */
static const int64_t most_parameters = (int64_t)1 << 40;

static const Pos nowhere;

/* ---- shapes ---- */
static bool given(const FieldState *state, const char *key, Side side)
{
    return state[field_row(key) + 1 + (int)side] == StateSet;
}

static void check_heads(Spec *s, const FieldState *state)
{
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const SpecSide *side = &s->side[i];
        bool both = given(state, "d_k", i) && given(state, "d_v", i);
        if (side->h == 0 || both || s->d_model % side->h == 0
            || set_for_both(s, "h", i))
            continue;
        const char *key = side_key(s, "h", i);
        error_at(spec_pos(s, key), "%s (%lld) does not divide d_model (%lld)",
                 key, (long long)side->h, (long long)s->d_model);
        note_at(spec_pos(s, "d_model"), "choose another, or give d_k and d_v; "
                                        "d_model is here");
    }
}

static void check_inner(Spec *s, const char *name, Side side, int64_t h,
                        int64_t d)
{
    const char *key = side_key(s, name, side);
    int64_t inner;

    if ((__builtin_mul_overflow(h, d, &inner) || inner > MostInner)
        && !set_for_both(s, name, side))
        error_at(spec_pos(s, key), "h (%lld) times %s (%lld) is more than %d",
                 (long long)h, key, (long long)d, MostInner);
}

static void check_width(Spec *s, const FieldState *state)
{
    (void)state;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        check_inner(s, "d_k", i, s->side[i].h, s->side[i].d_k);
        check_inner(s, "d_v", i, s->side[i].h, s->side[i].d_v);
    }
}

/* Checks that h_kv divides h, because each key head serves h / h_kv consecutive
 * query heads. */
static void check_kv(Spec *s, const FieldState *state)
{
    (void)state;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const SpecSide *side = &s->side[i];
        const char *key = side_key(s, "h_kv", i);
        if (side->h == 0 || side->h % side->h_kv == 0
            || (set_for_both(s, "h_kv", i) && set_for_both(s, "h", i)))
            continue;
        error_at(spec_pos(s, key), "%s (%lld) does not divide h (%lld)", key,
                 (long long)side->h_kv, (long long)side->h);
        note_at(spec_pos(s, side_key(s, "h", i)),
                "each key head serves the same number of query heads; h is "
                "here");
    }
}

/* Checks that a missing projection leaves rows of the width that attention
 * expects; without it, rows have d_model columns. */
static void check_identity(Spec *s, const FieldState *state)
{
    const SpecSide *side = &s->side[SideEncoder];
    const struct {
        const char *key, *heads, *width;
        bool there;
        int64_t inner;
    } row[] = {
        { "projections.q", "h", "d_k", s->has_q, side->h * side->d_k },
        { "projections.k", "h_kv", "d_k", s->has_k, side->h_kv * side->d_k },
        { "projections.v", "h_kv", "d_v", s->has_v, side->h_kv * side->d_v },
    };

    (void)state;
    for (int i = 0; i < 3; i++)
        if (!row[i].there && row[i].inner != s->d_model)
            error_at(spec_pos(s, row[i].key),
                     "without this projection %s "
                     "times %s must be d_model (%lld)",
                     row[i].heads, row[i].width, (long long)s->d_model);
}

static void check_identity_bias(Spec *s, const FieldState *state)
{
    const struct {
        const char *key;
        bool bias, there;
    } row[] = {
        { "bias.q", s->bias_q, s->has_q },
        { "bias.k", s->bias_k, s->has_k },
        { "bias.v", s->bias_v, s->has_v },
        { "bias.o", s->bias_o, s->has_o },
    };

    for (int i = 0; i < 4; i++) {
        if (!row[i].bias || row[i].there)
            continue;
        error_at(spec_pos(s, row[i].key),
                 "%s is true, but there is no such "
                 "projection",
                 row[i].key);
        note_at(nowhere, "leave the bias out, or add the projection");
    }
    (void)state;
}

static int64_t add_product(int64_t sum, int64_t a, int64_t b, int64_t c)
{
    int64_t product;

    if (__builtin_mul_overflow(a, b, &product)
        || __builtin_mul_overflow(product, c, &product)
        || __builtin_add_overflow(sum, product, &sum))
        return INT64_MAX / 2;
    return sum;
}

/* Estimates the number of parameters, to reject absurd sizes. Fields that do
 * not apply are 0 here. */
static void check_size(Spec *s, const FieldState *state)
{
    int64_t tokens = s->source.size + 2 * s->target.size, sum = 0;

    (void)state;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const SpecSide *side = &s->side[i];
        int64_t layers = i == SideDecoder ? 2 * side->N : side->N;
        sum = add_product(sum, layers, 2 * s->d_model,
                          side->h * (side->d_k + side->d_v));
        sum = add_product(sum, layers, (s->gated ? 3 : 2) * s->d_model,
                          side->d_ff);
    }
    sum = add_product(sum, tokens, s->d_model, 1);
    sum = add_product(sum, tokens, s->embed_width, 1);
    sum = add_product(sum, tokens,
                      s->second_width > 0 ? s->second_width : s->head_width, 1);
    sum = add_product(sum, s->head_width, s->second_width, 1);
    if (sum <= most_parameters)
        return;
    error_at(spec_pos(s, "d_model"),
             "the model would have about %.1e "
             "parameters; at most %.1e are allowed",
             (double)sum, (double)most_parameters);
}

/* ---- vocabularies ---- */
static void check_shared(Spec *s, const FieldState *state)
{
    (void)state;
    if (!s->vocab_shared || s->kind != KindEncoderDecoder)
        return;
    if (s->source.size != s->target.size) {
        error_at(spec_pos(s, "vocab.shared"),
                 "one vocabulary cannot have "
                 "%lld tokens for the source and %lld for the target",
                 (long long)s->source.size, (long long)s->target.size);
        note_at(nowhere, "set vocab.shared: false, or give vocab.size");
    } else if (s->source.file && s->target.file
               && strcmp(s->source.file, s->target.file)) {
        error_at(spec_pos(s, "vocab.shared"), "one vocabulary cannot have "
                                              "two files");
        note_at(nowhere, "set vocab.shared: false, or give vocab.file");
    }
}

/* Drops ties to matrices that this kind of model lacks. Reports an error
 * instead if the ties were not inherited. */
static bool drop_ties(Spec *s)
{
    int source = s->input == InputTokens ? TieSource : 0;
    int encoder = s->head == HeadLogits ? source | TieLogits : source;
    int there = s->kind == KindEncoder ? encoder
              : s->kind == KindDecoder ? TieTarget | TieLogits
                                       : source | TieTarget | TieLogits;
    Pos tie = spec_pos(s, "embedding.tie"), kind = spec_pos(s, "kind");

    if (!(s->embed_tie & ~there))
        return true;
    if (tie.src && kind.src && tie.src->rank >= kind.src->rank) {
        error_at(tie, "this kind of model has only %s",
                 s->kind == KindEncoder
                     ? "the source's matrix: nothing can be tied"
                     : "the matrices of the target and of the logits");
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
        error_at(tie, "embedding.tie needs at least two matrices");
        note_at(nowhere, "name two or more of source, target, logits, or "
                         "leave embedding.tie out");
    } else if (both && s->kind == KindEncoderDecoder
               && s->source.size != s->target.size) {
        error_at(tie,
                 "matrices of %lld rows (source) and %lld (target) "
                 "cannot be tied",
                 (long long)s->source.size, (long long)s->target.size);
        note_at(nowhere, "give both sides one vocabulary: vocab.size and "
                         "vocab.shared: true");
    }
}

static void check_token(Spec *s, const char *key, int64_t id, int64_t size)
{
    if (size > 0 && id >= size)
        error_at(spec_pos(s, key),
                 "%s (%lld) is not in a vocabulary of %lld "
                 "tokens",
                 key, (long long)id, (long long)size);
}

static void check_ids(Spec *s, const char *key, const SpecIds *ids,
                      int64_t size)
{
    for (int64_t i = 0; i < ids->n; i++)
        check_token(s, key, ids->at[i], size);
}

static void check_sequences(Spec *s)
{
    const SpecIds *all = &s->suppress; /* each sequence follows its length */

    for (int64_t i = 0; i < all->n; i += 1 + all->at[i]) {
        const SpecIds sequence = { all->at + i + 1, all->at[i] };
        check_ids(s, "search.suppress", &sequence, s->target.size);
    }
}

static void check_tokens(Spec *s, const FieldState *state)
{
    bool target = !is(state, "vocab.target.size", StateOff);
    int64_t size = target ? s->target.size : s->source.size;

    check_token(s, "vocab.tokens.start", s->token_start, s->target.size);
    check_ids(s, "vocab.tokens.end", &s->token_ends, size);
    check_ids(s, "search.prefix", &s->search_prefix, s->target.size);
    check_ids(s, "search.suppress_first", &s->suppress_first, s->target.size);
    check_sequences(s);
    check_token(s, "vocab.tokens.pad", s->token_pad, size);
    check_ids(s, "head.score", &s->score, size);
    check_token(s, "head.query.token", s->query_token, size);
    check_token(s, "head.query.prefix", s->query_prefix, size);
    check_token(s, "head.document.prefix", s->document_prefix, size);
    check_ids(s, "head.document.skip", &s->document_skip, size);
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
    if (is(state, "search.max_output.tokens", StateOff)
        || s->max_output <= s->side[SideDecoder].max_len)
        return;
    error_at(spec_pos(s, "search.max_output.tokens"),
             "an output of %lld "
             "tokens is longer than max_len.target (%lld)",
             (long long)s->max_output, (long long)s->side[SideDecoder].max_len);
    note_at(spec_pos(s, "max_len.target"), "max_len is here");
}

/* ---- table ---- */
static const Check checks[] = {
    { check_heads,
      { "d_model", "h.encoder", "h.decoder", "d_k.encoder", "d_k.decoder",
        "d_v.encoder", "d_v.decoder" } },
    { check_width,
      { "h.encoder", "h.decoder", "d_k.encoder", "d_k.decoder", "d_v.encoder",
        "d_v.decoder" } },
    { check_kv, { "h.encoder", "h.decoder", "h_kv.encoder", "h_kv.decoder" } },
    { check_identity,
      { "d_model", "h.encoder", "h_kv.encoder", "d_k.encoder", "d_v.encoder",
        "projections.q", "projections.k", "projections.v" } },
    { check_identity_bias,
      { "bias.q", "bias.k", "bias.v", "bias.o", "projections.q",
        "projections.k", "projections.v", "projections.o" } },
    { check_size,
      { "d_model", "embedding.width", "head.dense.width",
        "head.second.width" } },
    { check_shared, { "vocab.source.size", "vocab.target.size" } },
    { check_tie,
      { "embedding.tie", "vocab.source.size", "vocab.target.size" } },
    { check_tokens, { "vocab.source.size", "vocab.target.size" } },
    { check_needed_tokens, { "vocab.tokens.start", "vocab.tokens.end" } },
    { check_append_end,
      { "vocab.tokens.end", "vocab.append_end", "vocab.source.size",
        "vocab.target.size" } },
    { check_output, { "max_len.target", "search.max_output.tokens" } },
    { NULL, { NULL } },
};

static bool all_known(const FieldState *state, const char *const *reads)
{
    for (int i = 0; i < 8 && reads[i]; i++)
        if (is(state, reads[i], StateBad))
            return false;
    return true;
}

static void run_checks(const Check *check, Spec *s, const FieldState *state)
{
    for (; check->check; check++)
        if (all_known(state, check->reads))
            check->check(s, state);
}

void check_spec(Spec *s, const FieldState *state)
{
    run_checks(checks, s, state);
    run_checks(form_checks, s, state);
    run_checks(task_checks, s, state);
    run_checks(input_checks, s, state);
    run_checks(fix_checks, s, state);
}
