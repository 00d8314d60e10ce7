/* score.c: what a decoder computes for known tokens. The sources of all pairs
 * are encoded in one call. Then the decoder reads the tokens of one pair after
 * the other, a limited number of rows in a call, so that the logits take little
 * memory. No row is padding. */
#include "runtime/core.h"

#include <math.h>
#include <string.h>

enum {
    SCORE_LEAST = 64,     /* rows that the decoder reads at once: at least, */
    SCORE_MOST = 256,     /* at most, */
    SCORE_BYTES = 1 << 22 /* and in between, such that logits have so many
                           * bytes */
};

struct score {
    const struct attn_score_request *r;
    struct attn_cache self, cross;
    int64_t rows;    /* maximum rows of a call of the decoder */
    int64_t sources; /* number of rows of all sources; 0: no encoder */
    int64_t given;   /* number of rows given so far */
    int32_t *ids, *start, *past, *select, *source, *source_rows;
    float *output; /* [rows][output_columns] of a call */
    void *arena;
};

/* ---- sizes ---- */

static int score_encodes(const struct attn_score_request *r)
{
    return r->model->kind == ATTN_ENCODER_DECODER;
}

/* Returns the number of rows that the decoder reads for a pair. */
static int64_t score_rows(const struct attn_score_request *r,
                          const struct attn_score_pair *p)
{
    return (r->start >= 0) + (score_encodes(r) ? 0 : p->source_n) + r->prefix_n
         + p->target_n - 1;
}

static int64_t score_given(const struct attn_score_pair *p)
{
    return p->rows > 0 ? p->rows : p->target_n;
}

ATTN_API int64_t attn_score_most(const struct attn_model *m)
{
#if ATTN_HAS_FIXED
    if (m->fixed_batch > 0 || m->fixed_target > 0)
        return 1;
#endif
    (void)m;
    return ATTN_SCORE_PAIRS;
}

/* Returns the size of a cache: as many pages as the rows of all pairs need. */
static struct attn_cache_size score_cache(const struct score *s, int which)
{
    const struct attn_score_request *r = s->r;
    int64_t longest = 0, pages = 0;

    for (int64_t i = 0; i < r->pairs; i++) {
        int64_t rows = r->pair[i].source_n;
        if (which == ATTN_SELF)
            rows = attn_min(score_rows(r, &r->pair[i]), r->model->max_target);
        longest = attn_max(longest, rows);
        pages += attn_cache_pages(rows);
    }
    return (struct attn_cache_size){
        .which = which,
        .slots = r->pairs,
        .length = longest,
        .pages = pages,
        .rows = which == ATTN_SELF ? s->rows : 0,
    };
}

/* Sets s->rows and s->sources. A pair that a later check refuses counts at most
 * the model's number of positions. */
static void score_size(struct score *s)
{
    const struct attn_score_request *r = s->r;
    const struct attn_model *m = r->model;
    const int64_t fit = SCORE_BYTES / 4 / m->output_columns;
    const int64_t most = attn_max(attn_min(fit, SCORE_MOST), SCORE_LEAST);
    int64_t rows = 0;

    s->sources = 0;
    for (int64_t i = 0; i < r->pairs; i++) {
        rows += attn_min(score_rows(r, &r->pair[i]), m->max_target);
        s->sources += score_encodes(r) ? r->pair[i].source_n : 0;
    }
    s->rows = attn_min(rows, attn_min(most, attn_cache_rows(m)));
}

static void score_lay_out(struct score *s, struct attn_memory *at)
{
    const struct attn_score_request *r = s->r;
    const struct attn_model *m = r->model;
    const int64_t word = sizeof(int32_t), n = r->pairs;
    const int64_t parts = attn_parts(r->parallel);

    score_size(s);
    const struct attn_cache_size self = score_cache(s, ATTN_SELF);
    const struct attn_cache_size cross = score_cache(s, ATTN_CROSS);
    attn_cache_take(&s->self, m, &self, at);
    if (score_encodes(r))
        attn_cache_take(&s->cross, m, &cross, at);
    s->ids = attn_take(at, attn_max(s->rows, s->sources), word);
    s->select = attn_take(at, s->rows, word);
    s->start = attn_take(at, n + 1, word);
    s->past = attn_take(at, n, word);
    s->source = attn_take(at, n, word);
    s->source_rows = attn_take(at, n, word);
    s->output = attn_take(at, s->rows,
                          m->output_columns * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = m->arena_bytes(s->rows, n, parts);
    if (score_encodes(r))
        arena = attn_max(arena,
                         m->arena_bytes(attn_max(s->sources, 1), n, parts));
    s->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_score_bytes(const struct attn_score_request *r)
{
    const struct attn_model *m = r->model;
    struct attn_memory at;
    struct score s = { .r = r };

    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (r->pairs < 0 || r->pairs > ATTN_SCORE_PAIRS || r->prefix_n < 0
        || r->prefix_n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    for (int64_t i = 0; i < r->pairs; i++) {
        const struct attn_score_pair *p = &r->pair[i];
        if (p->source_n < 0 || p->source_n > ATTN_MOST || p->target_n < 0
            || p->target_n > ATTN_MOST)
            return ATTN_ERROR_COUNT;
    }
    const int wrong = attn_check_parallel(m, r->parallel);
    if (wrong)
        return wrong;
    attn_memory_open(&at, NULL);
    score_lay_out(&s, &at);
    return at.used < 0 ? ATTN_ERROR_COUNT : attn_memory_bytes(&at);
}

ATTN_API int attn_score_check(const struct attn_score_request *r,
                              const struct attn_score_pair *p)
{
    const struct attn_model *m = r->model;
    const int64_t rows = score_rows(r, p);
    int wrong = attn_check_ids(p->target, p->target_n, m->target_vocab);

    if (wrong == 0)
        wrong = attn_check_ids(r->prefix, r->prefix_n, m->target_vocab);
    if (wrong == 0)
        wrong = attn_check_ids(p->source, p->source_n,
                               score_encodes(r) ? m->source_vocab
                                                : m->target_vocab);
    if (wrong)
        return wrong;
    if (r->start >= m->target_vocab)
        return ATTN_ERROR_ID;
    if (score_encodes(r) && m->input_width > 0)
        return ATTN_ERROR_KIND;
    if (score_encodes(r) && (p->source_n < 1 || p->source_n > m->max_source))
        return ATTN_ERROR_LENGTH;
    if (p->target_n < 1 || rows < score_given(p) || rows > m->max_target)
        return ATTN_ERROR_LENGTH;
    return 0;
}

/* ---- calls of the model ---- */

/* Encodes all sources. Returns 0 or an error. */
static int score_sources(struct score *s)
{
    const struct attn_score_request *r = s->r;
    struct attn_batch b = { .sequences = r->pairs,
                            .start = s->start,
                            .ids = s->ids,
                            .parallel = r->parallel };

    s->start[0] = 0;
    for (int64_t i = 0; i < r->pairs; i++) {
        const struct attn_score_pair *p = &r->pair[i];
        if (attn_cache_grow(&s->cross, i, p->source_n) < 0)
            return ATTN_ERROR_ROOM;
        memcpy(s->ids + b.rows, p->source,
               (size_t)p->source_n * sizeof *s->ids);
        b.rows += p->source_n;
        s->start[i + 1] = (int32_t)b.rows;
        s->source_rows[i] = (int32_t)p->source_n;
    }
    attn_cache_bind(&s->cross, 0, &b);
    return attn_enter(r->model, r->bound, &b, s->arena, 0);
}

/* Copies n of the tokens that the decoder reads, which follow `past` others. */
static void score_tokens(const struct attn_score_request *r,
                         const struct attn_score_pair *p, int64_t past,
                         int64_t n, int32_t *to)
{
    const int32_t *const part[] = { &r->start, p->source, r->prefix,
                                    p->target };
    const int64_t size[] = { r->start >= 0, score_encodes(r) ? 0 : p->source_n,
                             r->prefix_n, p->target_n - 1 };

    for (int i = 0; i < 4; i++) {
        const int64_t k = attn_min(attn_max(size[i] - past, 0), n);
        if (k > 0)
            memcpy(to, part[i] + past, (size_t)k * sizeof *to);
        past = attn_max(past - size[i], 0);
        to += k;
        n -= k;
    }
}

/* Adds n rows of a pair, which follow `past` others, to a call of the decoder.
 * Returns 0 or an error. */
static int score_add(struct score *s, struct attn_batch *b, int64_t pair,
                     int64_t past, int64_t n)
{
    const struct attn_score_pair *p = &s->r->pair[pair];
    const int64_t first = score_rows(s->r, p) - score_given(p);

    if (attn_cache_grow(&s->self, pair, n) < 0)
        return ATTN_ERROR_ROOM;
    score_tokens(s->r, p, past, n, s->ids + b->rows);
    for (int64_t i = attn_max(first - past, 0); i < n; i++) {
        s->select[b->selected] = (int32_t)(b->rows + i);
        b->selected++;
    }
    s->past[b->sequences] = (int32_t)past;
    s->source[b->sequences] = (int32_t)pair;
    b->rows += n;
    b->sequences++;
    s->start[b->sequences] = (int32_t)b->rows;
    return 0;
}

/* Stores the log-probability of the target token that a row precedes, or the
 * row itself if these are asked for. */
static void score_token(struct score *s, const struct attn_score_pair *p,
                        int64_t i, const float *logits)
{
    const struct attn_model *m = s->r->model;

#if ATTN_IN_ATTNC
    if (s->r->output) {
        memcpy(s->r->output + s->given * m->output_columns, logits,
               (size_t)m->output_columns * sizeof *logits);
        return;
    }
#endif
    float *to = s->r->log_probability + s->given;
    *to = NAN;
    if (attn_logits_finite(logits, m->target_vocab))
        *to = attn_log_probability(logits[p->target[i]],
                                   m->log_sum_exp(s->r->bound, logits,
                                                  m->target_vocab));
}

/* Gives the rows of a call, whose first pair is `pair`. */
static void score_give(struct score *s, const struct attn_batch *b,
                       int64_t pair)
{
    const int64_t columns = s->r->model->output_columns;
    int64_t part = 0;

    for (int64_t i = 0; i < b->selected; i++) {
        const float *row = s->output + i * columns;
        while (b->select[i] >= b->start[part + 1])
            part++;
        const struct attn_score_pair *p = &s->r->pair[pair + part];
        const int64_t at = b->past[part] + b->select[i] - b->start[part];
        score_token(s, p, at - (score_rows(s->r, p) - p->target_n), row);
        s->given++;
    }
}

/* Reads the next rows, beginning with row *row of *pair, and moves both behind
 * them. Returns 0 or an error. */
static int score_chunk(struct score *s, int64_t *pair, int64_t *row)
{
    const struct attn_score_request *r = s->r;
    const int64_t first = *pair;
    struct attn_batch b = { .start = s->start,
                            .ids = s->ids,
                            .past = s->past,
                            .select = s->select,
                            .source = s->source,
                            .source_rows = s->source_rows,
                            .output = s->output,
                            .parallel = r->parallel };
    int wrong = 0;

    s->start[0] = 0;
    while (*pair < r->pairs && b.rows < s->rows && wrong == 0) {
        const int64_t left = score_rows(r, &r->pair[*pair]) - *row;
        const int64_t n = attn_min(left, s->rows - b.rows);
        wrong = score_add(s, &b, *pair, *row, n);
        *row += n;
        if (n == left) {
            (*pair)++;
            *row = 0;
        }
    }
    if (wrong)
        return wrong;
    attn_cache_bind(&s->self, first, &b);
    if (score_encodes(r))
        attn_cache_bind(&s->cross, 0, &b);
    wrong = attn_enter(r->model, r->bound, &b, s->arena, 1);
    if (wrong == 0)
        score_give(s, &b, first);
    return wrong;
}

ATTN_API int attn_score_pairs(const struct attn_score_request *r)
{
    const int64_t need = attn_score_bytes(r);
    struct attn_memory at;
    struct score s = { .r = r };
    int64_t pair = 0, row = 0;
    int wrong = 0;

    if (need < 0)
        return (int)need;
    if (!r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    for (int64_t i = 0; i < r->pairs && wrong == 0; i++)
        wrong = attn_score_check(r, &r->pair[i]);
    if (wrong)
        return wrong;
    attn_memory_open(&at, r->memory);
    score_lay_out(&s, &at);
    if (score_encodes(r) && r->pairs > 0)
        wrong = score_sources(&s);
    while (wrong == 0 && pair < r->pairs)
        wrong = score_chunk(&s, &pair, &row);
    return wrong;
}

ATTN_API int64_t attn_score_complete(const struct attn_search_options *o,
                                     int32_t **target, int64_t target_n)
{
    const int64_t n = o->prefix_n;
    int64_t same = 0;

    if (o->end >= 0) {
        (*target)[target_n] = o->end;
        target_n++;
    }
    while (same < attn_min(n, target_n) && (*target)[same] == o->prefix[same])
        same++;
    if (same < n)
        return target_n;
    *target += n;
    return target_n - n;
}
