/* sample.c: generates random inputs for trials of a model. */
#include <string.h>

#define READS_LAYERS /* a model of `kind: attention` counts as one layer */
#include "oracle/trial.h"

static uint64_t random_bits(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int64_t at_most(int64_t n, int64_t limit)
{
    return limit > 0 && n > limit ? limit : n;
}

int sample_side(const Spec *s)
{
    return s->kind == KindEncoder || s->kind == KindAttention ? 0 : 1;
}

int input_side(const Spec *s)
{
    return s->kind == KindDecoder ? 1 : 0;
}

int64_t result_first(const Spec *s, const Sample *x, int64_t sequence)
{
    return s->head_pool != PoolNone ? sequence
                                    : x->start[sample_side(s)][sequence];
}

int64_t result_rows(const Spec *s, const Sample *x)
{
    return result_first(s, x, x->sequences);
}

int64_t result_columns(const Spec *s)
{
    if (sample_side(s) == 1)
        return s->target.size;
    switch (s->head) {
    case HeadLogits:        return s->score.n > 0 ? 1 : s->source.size;
    case HeadClassify:
    case HeadTokenClassify: return s->head_classes;
    default:                break;
    }
    return spec_head_columns(s);
}

int64_t sample_prefix(const Sample *x, int side, int64_t sequence)
{
    int64_t rows = x->start[side][sequence + 1] - x->start[side][sequence];
    return x->prefix < rows ? x->prefix : rows;
}

/* Returns `rows` limited to a number that the code accepts. A fixed length is
 * returned unchanged; for a target, it includes the past or, if any past is
 * allowed, a multiple of the new rows of a call is returned. */
int64_t sample_rows(const Spec *s, Side side, int64_t rows)
{
    const int64_t fixed = spec_fixed_rows(s, side);
    const int64_t most = s->side[side].max_len;
    rows = at_most(rows, most);
    if (fixed <= 0)
        return rows;
    if (side == SideEncoder || s->kind == KindAttention)
        return fixed;
    if (s->fix.past >= 0)
        return s->fix.past + fixed;
    return rows < fixed ? fixed : rows / fixed * fixed;
}

static const int32_t *starts(Arena *a, const Spec *s, int64_t sequences,
                             const int64_t *rows, Side side)
{
    int32_t *start = arena_alloc(a, (size_t)(sequences + 1) * sizeof *start);
    for (int64_t i = 0; i < sequences; i++)
        start[i + 1] = start[i] + (int32_t)sample_rows(s, side, rows[i]);
    return start;
}

/* Limits the number of queries, because queries far after the last key see no
 * keys and result in zeros. */
static const int64_t *near_keys(Arena *a, const Spec *s, int64_t sequences,
                                const int64_t *queries, const int64_t *keys)
{
    const MaskSpec *m = &s->side[SideEncoder].mask;
    int64_t *rows = arena_alloc(a, (size_t)sequences * sizeof *rows);
    for (int64_t i = 0; i < sequences; i++)
        rows[i] =
            m->window || m->block || m->file
                ? at_most(queries[i],
                          2 * at_most(keys[i], s->side[SideDecoder].max_len))
                : queries[i];
    return rows;
}

static const int32_t *random_ids(Arena *a, int64_t n, int64_t vocab,
                                 uint64_t *state)
{
    int32_t *ids = arena_alloc(a, (size_t)n * sizeof *ids);
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(random_bits(state) % (uint64_t)vocab);
    return ids;
}

/* Returns n random numbers, each the sum of four uniform ones, so approximately
 * normal with variance 4/3. */
static const float *random_rows(Arena *a, int64_t n, uint64_t *state)
{
    float *x = arena_alloc(a, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            x[i] += (float)random_bits(state) * 0x1p-30f - 1;
    return x;
}

static const int64_t *repeated(Arena *a, const int64_t *rows, int64_t n,
                               int64_t all)
{
    int64_t *list = arena_alloc(a, (size_t)all * sizeof *list);
    for (int64_t i = 0; i < all; i++)
        list[i] = rows[i % n];
    return list;
}

Sample *sample_random(Arena *a, const Spec *s, uint64_t seed, int64_t sequences,
                      const int64_t *source_rows, const int64_t *target_rows)
{
    Sample *x = arena_alloc(a, sizeof *x);
    uint64_t state = seed;
    bool attention = s->kind == KindAttention;
    bool real = !attention && s->input == InputReal;
    if (s->fix.batch > 0) { /* Fills the batch by repeating the lengths. All
                             * targets have the length of the first, because
                             * each call decodes all of them. */
        source_rows = repeated(a, source_rows, sequences, s->fix.batch);
        target_rows = repeated(a, target_rows, sample_side(s) ? 1 : sequences,
                               s->fix.batch);
        sequences = s->fix.batch;
    }
    x->sequences = sequences;
    if (attention)
        source_rows = near_keys(a, s, sequences, source_rows, target_rows);
    for (int i = SideEncoder; i <= SideDecoder; i++)
        x->start[i] = starts(a, s, sequences,
                             i == SideEncoder ? source_rows : target_rows,
                             (Side)i);
    for (int side = 0; side < 2; side++) {
        int64_t vocab = side == 0 ? s->source.size : s->target.size;
        if (vocab > 0 && !attention)
            x->ids[side] = random_ids(a, x->start[side][sequences], vocab,
                                      &state);
    }
    int64_t first = x->start[input_side(s)][sequences];
    for (int i = 0; attention && i < 3; i++)
        x->rows[i] = random_rows(a, x->start[i > 0][sequences] * s->d_model,
                                 &state);
    if (real)
        x->rows[0] = random_rows(a, first * s->input_width, &state);
    if (s->embed_types > 0)
        x->types = random_ids(a, first, s->embed_types, &state);
    x->prefix = (int64_t)(random_bits(&state) % 5);
    if (s->fix.target > 0) /* the first call must contain the prefix */
        x->prefix = at_most(x->prefix,
                            s->fix.past > 0 ? s->fix.past : s->fix.target);
    return x;
}

Sample *sample_one(Arena *a, const Spec *s, const Sample *x, int64_t i)
{
    Sample *one = arena_alloc(a, sizeof *one);
    int64_t first = x->start[input_side(s)][i];
    bool attention = s->kind == KindAttention;
    one->sequences = 1;
    one->prefix = x->prefix;
    for (int side = 0; side < 2; side++) {
        const int32_t *from = x->start[side] + i;
        int32_t *start = arena_alloc(a, 2 * sizeof *start);
        start[1] = from[1] - from[0];
        one->start[side] = start;
        one->ids[side] = x->ids[side] ? x->ids[side] + *from : NULL;
    }
    for (int k = 0; attention && k < 3; k++)
        one->rows[k] = x->rows[k] + x->start[k > 0][i] * s->d_model;
    if (!attention && x->rows[0])
        one->rows[0] = x->rows[0] + first * s->input_width;
    one->types = x->types ? x->types + first : NULL;
    return one;
}
