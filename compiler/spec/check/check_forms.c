/* check_forms.c: checks which variants of a Transformer can be combined: masks,
 * positions, norms, outputs. */
#include <string.h>

#include "spec/fields/fields.h"

static const Pos nowhere;

/* ---- masks ---- */
static const char *mask_key(Side side)
{
    return side == SideEncoder ? "masking.encoder" : "masking.decoder";
}

static void check_causal(Spec *s, const FieldState *state)
{
    const MaskSpec *m = &s->side[SideDecoder].mask;

    if (is(state, "masking.decoder", StateOff) || m->causal)
        return;
    error_at(spec_pos(s, "masking.decoder"),
             "a decoder's masking must be "
             "causal: it cannot see what it has not written yet");
    if (m->window)
        note_at(nowhere, "write [causal, {window: %lld}]",
                (long long)m->window);
    else
        note_at(nowhere, "for rows that see each other, use kind: encoder");
}

static void check_prefix(Spec *s, const FieldState *state)
{
    const MaskSpec *m = &s->side[SideEncoder].mask;

    (void)state;
    if (!m->prefix || m->causal)
        return;
    error_at(spec_pos(s, mask_key(SideEncoder)),
             "prefix needs a causal mask, which is missing here");
    note_at(nowhere, "write [causal, prefix]");
}

/* Checks a mask from a file: it has no prefix, and its size is the side's
 * max_len squared or, for `kind: attention`, that of queries times that of
 * keys. */
static void check_mask_file(Spec *s, const FieldState *state)
{
    (void)state;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const MaskSpec *m = &s->side[i].mask;
        if (m->file && m->prefix) {
            error_at(spec_pos(s, mask_key(i)),
                     "a mask from a file has no "
                     "prefix: its rows are the same for every input");
            note_at(nowhere, "leave out prefix, or file");
        }
        int64_t rows = s->side[i].max_len;
        int64_t columns = s->kind == KindAttention
                            ? s->side[SideDecoder].max_len
                            : rows;
        if (!m->file || (m->file_rows == rows && m->file_columns == columns))
            continue;
        error_at(spec_pos(s, mask_key(i)),
                 "the mask's file is %lld x %lld; max_len requires %lld x "
                 "%lld",
                 (long long)m->file_rows, (long long)m->file_columns,
                 (long long)rows, (long long)columns);
    }
}

/* ---- positions ---- */
static const char *join_forms(Arena *a, const char *const *words)
{
    const char *text = words[0];

    for (int i = 1; words[i]; i++)
        text = arena_printf(a, "%s%s%s", text, words[i + 1] ? ", " : " and ",
                            words[i]);
    return text;
}

/* Returns the row of the key at which a field's value was written, because one
 * key may set several fields. */
static int written_row(const Spec *s, int row)
{
    const Pos at = s->field_pos[row];

    for (int i = 0; i < row; i++)
        if (same_place(s->field_pos[i], at))
            return i;
    return row;
}

static void check_details(Spec *s, const FieldState *state, const char *of,
                          int form, const char *forms)
{
    const char *word = fields[field_row(of)].words[form];
    Arena *a = arena_new();
    int last = -1;

    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        if (!link->of || strcmp(link->of, of) || !is(state, link->key, StateSet)
            || field_has_meaning(a, s, link->key))
            continue;
        const int row = written_row(s, field_row(link->key));
        if (row == last)
            continue;
        last = row;
        error_at(s->field_pos[row], "%s applies to %s %s only", fields[row].key,
                 join_forms(a, link->when), forms);
        if (spec_has(s, of))
            note_at(spec_pos(s, of), "%s is here", of);
        else
            note_at(nowhere, "%s is %s by default", of, word);
    }
    arena_free(a);
}

static void check_positions(Spec *s, const FieldState *state)
{
    check_details(s, state, "positions.type", s->positions, "positions");
    if (s->positions == PosRotary)
        check_details(s, state, "positions.scaling.type", s->scaling.type,
                      "scaling");
}

static void check_even(const Spec *s, const char *key, int64_t d)
{
    int64_t least = s->pos_exponent == ExponentTensor2tensor ? 4 : 2;

    if (d % 2 == 0 && d >= least)
        return;
    error_at(spec_pos(s, key),
             "sinusoidal positions need an even "
             "%s of at least %lld, found %lld",
             key, (long long)least, (long long)d);
}

/* Checks that the width of the embeddings, to which sinusoids are added, is
 * even. */
static void check_sinusoids(Spec *s, const FieldState *state)
{
    bool narrow = s->embed_project == ProjectSum;

    if (s->positions != PosSinusoidal || is(state, "positions.type", StateOff))
        return;
    if (!narrow || s->input == InputReal)
        check_even(s, "d_model", s->d_model);
    if (narrow)
        check_even(s, "embedding.width", s->embed_width);
}

static void check_rotary(Spec *s, const FieldState *state)
{
    bool set = is(state, "positions.dims", StateSet);
    const char *key = set ? "positions.dims" : "positions.type";

    if (s->positions != PosRotary)
        return;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const SpecSide *side = &s->side[i];
        const int64_t dims = s->pos_dims > 0 ? s->pos_dims : side->d_k;
        if (side->h == 0 || dims == 0)
            continue;
        if (!set && dims % 2) {
            error_at(spec_pos(s, key),
                     "rotary positions rotate pairs of columns, but %lld is "
                     "odd",
                     (long long)dims);
            note_at(nowhere, "write an even %s, or set positions.dims",
                    s->latent_kv > 0 ? "attention.latent.rope_dims" : "d_k");
            return;
        }
        if (spec_rotary_columns(s, i) <= side->d_k)
            continue;
        error_at(spec_pos(s, key),
                 "positions.dims (%lld%s) is more than d_k "
                 "(%lld)",
                 (long long)s->pos_dims,
                 s->pos_dims % 2 ? ", rounded up to an even number" : "",
                 (long long)side->d_k);
        return;
    }
}

/* Checks the sizes of relative positions. In each direction, half of the
 * buckets stand for a single distance. */
static void check_relative(Spec *s, const FieldState *state)
{
    (void)state;
    if (spec_score_bias(s) != BiasRelative)
        return;
    if (s->pos_buckets % 2)
        error_at(spec_pos(s, "positions.buckets"),
                 "positions.buckets (%lld) "
                 "must be even",
                 (long long)s->pos_buckets);
    if (s->pos_max_distance <= s->pos_buckets / 2)
        error_at(spec_pos(s, "positions.max_distance"),
                 "positions.max_distance (%lld) must be more than half of "
                 "positions.buckets (%lld)",
                 (long long)s->pos_max_distance, (long long)s->pos_buckets);
}

/* ---- norms ---- */
static void check_norm_bias(Spec *s, const FieldState *state)
{
    (void)state;
    if (s->norm_type != NormRms || !s->norm_bias)
        return;
    error_at(spec_pos(s, "norm.bias"), "a norm of type rms has no bias");
    note_at(spec_pos(s, "norm.type"), "leave norm.bias out; the type is here");
}

static void check_ffn(Spec *s, const FieldState *state)
{
    check_details(s, state, "ffn.type", s->ffn, "feed-forward networks");
    if (s->ffn == FfnExperts)
        check_experts(s);
}

/* ---- mixing ---- */

/* True if an inherited key was written before a later source set `mix`. */
static bool below_mix(const Spec *s, const char *key)
{
    return spec_pos(s, key).src->rank < spec_pos(s, "mix.type").src->rank;
}

/* Rejects masks on layers without attention: a recurrent state depends on all
 * earlier rows, and a convolution on the rows of its kernel. */
static void check_mix_mask(const Spec *s, Side side)
{
    const MaskSpec *m = &s->side[side].mask;
    const char *key = mask_key(side);
    const bool parts = m->window || m->block || m->file || m->prefix
                    || (m->causal && side == SideEncoder);

    if (!has_layers(s, side) || !spec_has(s, key) || !parts
        || below_mix(s, key))
        return;
    if (s->mix == MixRecurrent) {
        error_at(spec_pos(s, key),
                 "a recurrent layer has no mask: its state depends on all "
                 "earlier rows");
        note_at(spec_pos(s, "mix.type"),
                "mix is here; mix.direction sets the direction of the scan");
        return;
    }
    error_at(spec_pos(s, key),
             "a convolution has no mask: it reads only the rows of its "
             "kernel");
    note_at(spec_pos(s, "mix.type"),
            "mix is here; mix.kernel sets the number of rows");
}

/* Rejects positions that change attention scores, queries or keys, because the
 * layer has none of these. */
static void check_mix_positions(const Spec *s)
{
    const bool scores = s->positions == PosRotary
                     || spec_score_bias(s) != BiasNone;
    const char *key = s->pos_scores != BiasNone ? "positions.scores"
                                                : "positions.type";

    if (!scores || s->kind == KindEncoderDecoder || below_mix(s, key))
        return;
    error_at(spec_pos(s, key),
             "these positions change attention scores, which a %s does not "
             "have",
             s->mix == MixRecurrent ? "recurrent layer" : "convolution");
    note_at(spec_pos(s, "mix.type"),
            "mix is here; write positions: none, as the order of rows is "
            "enough");
}

/* Checks that a kernel reaches fewer than max_len rows: to each side in an
 * encoder, backwards in a decoder. */
static void check_reach(const Spec *s, Side side)
{
    const int64_t rows = (s->mix_kernel - 1) * s->mix_dilation;
    const int64_t reach = side == SideDecoder ? rows : rows / 2;
    const int64_t max_len = s->side[side].max_len;
    const char *key = side == SideDecoder ? "max_len.target" : "max_len.source";

    if (!has_layers(s, side) || reach == 0 || reach < max_len)
        return;
    error_at(spec_pos(s, "mix.kernel"),
             "the kernel reaches %lld rows away, but a sequence has at most "
             "%lld",
             (long long)reach, (long long)max_len);
    note_at(spec_pos(s, key), "max_len is here");
}

/* Checks options of a convolution that require products, or require it to be
 * depthwise. */
static void check_convolution_parts(const Spec *s)
{
    const bool product = !s->mix_depthwise || s->mix_pointwise;

    if (s->mix_pointwise && !s->mix_depthwise) {
        error_at(spec_pos(s, "mix.pointwise"),
                 "mix.pointwise needs a depthwise convolution");
        note_at(nowhere,
                "write mix.depthwise: true, or leave mix.pointwise out");
    }
    if (s->mix_gated && !product) {
        error_at(spec_pos(s, "mix.gated"), "mix.gated needs a product");
        note_at(nowhere, "write mix.pointwise: true to add one");
    }
    if (s->mix_inner > 0 && !product) {
        error_at(spec_pos(s, "mix.inner"),
                 "mix.inner needs products: a depthwise convolution keeps "
                 "the width");
        note_at(nowhere, "write mix.pointwise: true to add them");
    }
}

static void check_convolution(const Spec *s)
{
    if (s->mix_kernel % 2 == 0 && has_layers(s, SideEncoder)) {
        error_at(spec_pos(s, "mix.kernel"),
                 "mix.kernel (%lld) must be odd in an encoder, to be "
                 "centred on its row",
                 (long long)s->mix_kernel);
    }
    if (s->mix_kernel == 1 && s->mix_dilation > 1)
        error_at(spec_pos(s, "mix.dilation"),
                 "mix.dilation has no effect on a kernel of one row");
    check_reach(s, SideEncoder);
    check_reach(s, SideDecoder);
    check_convolution_parts(s);
}

static void check_mix(Spec *s, const FieldState *state)
{
    check_details(s, state, "mix.type", s->mix, "layers");
    check_details(s, state, "mix.cell", s->mix_cell, "cells");
    if (s->mix == MixAttention)
        return;
    if (s->mix == MixConvolution)
        check_convolution(s);
    check_mix_mask(s, SideEncoder);
    check_mix_mask(s, SideDecoder);
    check_mix_positions(s);
}

static void check_normalizer(Spec *s, const FieldState *state)
{
    check_details(s, state, "attention.normalizer", s->attention_normalizer,
                  "normalizers");
}

/* A scale of a key in int8 multiplies its finished product with a query; other
 * scores have no such product. */
static void check_cache(Spec *s, const FieldState *state)
{
    if (is(state, "cache", StateOff) || s->cache_store != StoreInt8
        || s->attention_score == ScoreDot)
        return;
    error_at(spec_pos(s, "cache"), "cache: int8 needs attention.score: dot");
    note_at(spec_pos(s, "attention.score"),
            "attention.score is here: for these scores, write cache: bf16");
}

static void check_residual(Spec *s, const FieldState *state)
{
    check_details(s, state, "residual.type", s->residual, "residuals");
}

static void check_parallel(Spec *s, const FieldState *state)
{
    (void)state;
    const bool in_front = s->norm_place == PlacePre
                       || s->norm_place == PlaceBoth;
    if (s->parallel != ParallelNone && !in_front) {
        error_at(spec_pos(s, "parallel"),
                 "parallel needs norm.place: pre or both");
        note_at(spec_pos(s, "norm.place"), "set norm.place: pre");
    }
    if (s->parallel != ParallelNone && s->residual != ResidualAdd) {
        error_at(spec_pos(s, "parallel"),
                 "parallel needs residual connections");
        note_at(spec_pos(s, "residual.type"), "set residual: add");
    }
    if (s->parallel == ParallelShared && !s->norm_attention)
        error_at(spec_pos(s, "norm.attention"),
                 "parallel: shared needs norm.attention: true");
}

/* ---- what comes out ---- */
static void check_head(Spec *s, const FieldState *state)
{
    bool encoder = s->kind == KindEncoder;
    bool real = s->input == InputReal && s->head == HeadLogits;

    if (is(state, "head.type", StateOff))
        return;
    if ((!encoder && s->head != HeadDefault && s->head != HeadLogits)) {
        error_at(spec_pos(s, "head.type"), "a decoder's head must be logits");
        note_at(nowhere,
                "for another head, use kind: encoder with masking: causal");
    } else if (encoder && real) {
        error_at(spec_pos(s, "head.type"),
                 "head: logits needs a vocabulary, which input: real does "
                 "not have");
        note_at(nowhere,
                "for classes, write head: {type: token_classify, classes: n}");
    }
}

static void check_pool(Spec *s, const FieldState *state)
{
    bool pools = s->head == HeadPool || s->head == HeadClassify;
    bool gives_rows = s->head == HeadRows || s->head == HeadDefault;

    if (s->kind != KindEncoder)
        return;
    if (pools && s->head_pool == PoolNone)
        error_at(spec_pos(s, "head.pool"),
                 "this head needs head.pool: mean, class, last, max or sum");
    if (!pools && s->head != HeadLogits && is(state, "head.pool", StateSet)
        && s->head_pool != PoolNone)
        error_at(spec_pos(s, "head.pool"),
                 "head.pool applies to the heads pool, classify and logits "
                 "only");
    if (s->head != HeadPool && !gives_rows && s->head_normalize)
        error_at(spec_pos(s, "head.normalize"),
                 "head.normalize applies to the heads pool and rows only");
    if ((s->head == HeadPool || gives_rows) && s->out_act != ActNone) {
        error_at(spec_pos(s, "head.activation"),
                 "head.activation applies to the heads logits, classify and "
                 "token_classify only");
        note_at(nowhere, "for a dense layer, set head.dense.activation");
    }
}

static void check_prompt(Spec *s, const FieldState *state)
{
    if (!is(state, "prompt", StateSet) || spec_prompt(s, NULL))
        return;
    error_at(spec_pos(s, "prompt"), "prompts has no prompt of this name");
    note_at(nowhere, "add it, as prompts: {query: \"query: \"}");
}

static void check_classes(Spec *s, const FieldState *state)
{
    bool classes = s->head == HeadClassify || s->head == HeadTokenClassify;

    if (s->kind == KindEncoder && !classes && is(state, "head.bias", StateSet))
        error_at(spec_pos(s, "head.bias"),
                 "head.bias applies to the heads classify and token_classify "
                 "only");
    if (s->kind != KindEncoder || classes == (s->head_classes > 0))
        return;
    if (classes) {
        error_at(spec_pos(s, "head.classes"), "head.classes is missing");
        note_at(nowhere, "it must be the number of classes");
    } else {
        error_at(spec_pos(s, "head.classes"),
                 "head.classes applies to the heads classify and "
                 "token_classify only");
    }
}

/* Reports options of a head's dense layer if the head has no such layer. */
static void check_dense(Spec *s, const FieldState *state)
{
    const struct {
        const char *key, *needed;
        bool there;
    } details[] = {
#define OF(layer, detail, width)                                               \
    { "head." layer "." detail, "head." layer ".width", width > 0 }
        OF("dense", "activation", s->head_width),
        OF("dense", "bias", s->head_width),
        OF("dense", "norm", s->head_width),
        OF("second", "activation", s->second_width),
        OF("second", "bias", s->second_width),
#undef OF
        { "head.second.width", "head.dense.width",
          s->head_width > 0 || s->second_width < 1 },
    };

    for (size_t i = 0; i < sizeof details / sizeof *details; i++) {
        if (details[i].there || !is(state, details[i].key, StateSet))
            continue;
        error_at(spec_pos(s, details[i].key), "%s needs %s", details[i].key,
                 details[i].needed);
        note_at(nowhere, "the usual value is d_model");
        return;
    }
}

static void check_project(Spec *s, const FieldState *state)
{
    if (is(state, "embedding.width", StateOff)
        || s->embed_project != ProjectNone)
        return;
    if (is(state, "embedding.bias", StateSet))
        error_at(spec_pos(s, "embedding.bias"),
                 "embedding.bias needs embedding.project: sum or tokens");
    if (s->embed_width == s->d_model)
        return;
    error_at(spec_pos(s, "embedding.width"),
             "without embedding.project, embedding.width (%lld) must be "
             "d_model (%lld)",
             (long long)s->embed_width, (long long)s->d_model);
    note_at(spec_pos(s, "embedding.project"),
            "write embedding.project: sum, or tokens");
}

/* Checks that the embedding and the head have the same width if logits are
 * tied, because both use one table. */
static void check_tied_width(Spec *s, const FieldState *state)
{
    int64_t head = spec_head_columns(s);

    if (is(state, "embedding.tie", StateOff) || !(s->embed_tie & TieLogits)
        || head == s->embed_width)
        return;
    error_at(spec_pos(s, "embedding.tie"),
             "logits from %lld columns cannot be tied to embeddings of %lld",
             (long long)head, (long long)s->embed_width);
    note_at(nowhere, "set head.dense.width: %lld", (long long)s->embed_width);
}

/* clang-format off */
const Check form_checks[] = {
    { check_causal,    { "masking.decoder" } },
    { check_prefix,    { "masking.encoder" } },
    { check_mask_file, { "masking.encoder", "masking.decoder",
                         "max_len.source", "max_len.target", "max_len.query",
                         "max_len.key" } },
    { check_positions, { "positions.type", "positions.scores",
                         "positions.scaling.type" } },
    { check_sinusoids, { "d_model", "positions.type", "positions.exponent",
                         "embedding.width", "embedding.project" } },
    { check_dense,     { "head.dense.width", "head.second.width" } },
    { check_project,   { "d_model", "embedding.width", "embedding.project" } },
    { check_tied_width, { "d_model", "embedding.width", "embedding.tie",
                          "head.dense.width", "head.second.width" } },
    { check_rotary,    { "positions.type", "positions.dims", "h.encoder",
                         "h.decoder", "d_k.encoder", "d_k.decoder" } },
    { check_scaling,   { "positions.type", "positions.dims", "positions.base",
                         "positions.scaling.type" } },
    { check_relative,  { "positions.type", "positions.scores",
                         "positions.buckets",
                         "positions.max_distance" } },
    { check_norm_bias, { "norm.type", "norm.bias" } },
    { check_mix,       { "mix.type", "mix.cell", "mix.kernel", "positions.type",
                         "positions.scores", "masking.encoder",
                         "masking.decoder", "mix.direction" } },
    { check_normalizer, { "attention.normalizer", "attention.sinks" } },
    { check_cache,     { "cache", "attention.score" } },
    { check_latent,    { "attention.latent.kv_rank", "attention.latent.q_rank",
                         "attention.latent.rope_dims", "norm.qk",
                         "positions.type", "h_kv.encoder", "h_kv.decoder",
                         "d_k.encoder", "d_k.decoder" } },
    { check_residual,  { "residual.type", "residual.scale",
                         "residual.learned" } },
    { check_parallel,  { "parallel", "norm.place", "norm.attention",
                         "residual.type" } },
    { check_ffn,       { "ffn.type", "ffn.experts", "ffn.chosen", "ffn.groups",
                         "ffn.groups_chosen", "ffn.group_score", "ffn.shared",
                         "ffn.shared_gate" } },
    { check_head,      { "head.type", "input.type" } },
    { check_pool,      { "head.type", "head.pool", "head.activation" } },
    { check_prompt,    { "prompt", "prompts" } },
    { check_classes,   { "head.type", "head.classes" } },
    { check_arithmetic, { "dtype", "arithmetic" } },
    { NULL, { NULL } },
};
/* clang-format on */
