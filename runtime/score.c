/* score.c: log-probabilities of a given output, by one pass over all of it. */
#include "core.h"

#include <string.h>

struct score {
    struct attn_cache self, cross;
    int32_t *ids, *select, *start, *source_start;
    float *logits; /* [target_n][target_vocab] */
    void *arena;
    int64_t rows; /* that the decoder reads */
};

/* Room for a start token, the source (a decoder's prompt) and the target. */
static void score_lay_out(struct score *s, const struct attn_score_request *r,
                          struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    int64_t parts = attn_parts(r->parallel);
    int64_t word = sizeof(int32_t);
    int64_t rows = 1 + r->target_n;
    if (m->kind == ATTN_DECODER)
        rows += r->source_n;
    const struct attn_cache_size self = { ATTN_SELF, 1, rows, 0 };
    const struct attn_cache_size cross = { ATTN_CROSS, 1, r->source_n, 0 };
    attn_cache_take(&s->self, m, &self, at);
    if (m->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&s->cross, m, &cross, at);
    s->ids = attn_take(at, rows, word);
    s->select = attn_take(at, r->target_n, word);
    s->start = attn_take(at, 2, word);
    s->source_start = attn_take(at, 2, word);
    s->logits = attn_take(at, r->target_n,
                          m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = attn_max(m->arena_bytes(rows, 1, parts),
                             m->arena_bytes(attn_max(r->source_n, 1), 1,
                                            parts));
    s->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t source_n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel)
{
    struct attn_memory at;
    struct attn_score_request r = { 0 };
    struct score s;
    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (source_n < 0 || source_n > ATTN_MOST || target_n < 0
        || target_n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    int wrong = attn_check_parallel(parallel);
    if (wrong)
        return wrong;
    r.model = m;
    r.source_n = source_n;
    r.target_n = target_n;
    r.parallel = parallel;
    attn_memory_open(&at, NULL);
    score_lay_out(&s, &r, &at);
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}

static int score_source(struct score *s, const struct attn_score_request *r,
                        struct attn_batch *b)
{
    const struct attn_model *m = r->model;
    int64_t n = r->source_n;
    int wrong = attn_check_ids(r->source, n, m->source_vocab);
    if (wrong)
        return wrong;
    if (n < 1 || n > m->max_source)
        return ATTN_ERROR_LENGTH;
    if (m->input_width > 0)
        return ATTN_ERROR_KIND;
    if (attn_cache_grow(&s->cross, 0, n) < 0)
        return ATTN_ERROR_ROOM;
    s->source_start[0] = 0;
    s->source_start[1] = (int32_t)n;
    b->sequences = 1;
    b->rows = n;
    b->start = s->source_start;
    b->ids = r->source;
    attn_cache_bind(&s->cross, ATTN_CROSS, b);
    m->encode(r->bound, b, s->arena);
    return 0;
}

/* Every token but the last is read; the rows from the first token's
 * predecessor on want logits.                                               */
static int score_fill(struct score *s, const struct attn_score_request *r)
{
    const struct attn_model *m = r->model;
    int64_t rows = 0, last = r->target_n - 1;
    int wrong = attn_check_ids(r->target, r->target_n, m->target_vocab);
    if (wrong)
        return wrong;
    if (r->start >= m->target_vocab)
        return ATTN_ERROR_ID;
    if (r->start >= 0) {
        s->ids[0] = r->start;
        rows = 1;
    }
    if (m->kind == ATTN_DECODER) {
        wrong = attn_check_ids(r->source, r->source_n, m->target_vocab);
        if (wrong)
            return wrong;
        for (int64_t i = 0; i < r->source_n; i++)
            s->ids[rows + i] = r->source[i];
        rows += r->source_n;
    }
    if (rows == 0 || rows + last > m->max_target)
        return ATTN_ERROR_LENGTH;
    for (int64_t i = 0; i <= last; i++)
        s->select[i] = (int32_t)(rows - 1 + i);
    memcpy(s->ids + rows, r->target, (size_t)last * sizeof *r->target);
    s->rows = rows + last;
    return attn_cache_grow(&s->self, 0, s->rows);
}

static void score_target(struct score *s, const struct attn_score_request *r,
                         struct attn_batch *b)
{
    const int32_t none = 0;
    const int32_t source_rows = (int32_t)r->source_n;
    s->start[0] = 0;
    s->start[1] = (int32_t)s->rows;
    b->sequences = 1;
    b->rows = s->rows;
    b->start = s->start;
    b->ids = s->ids;
    b->past = &none;
    b->select = s->select;
    b->selected = r->target_n;
    attn_cache_bind(&s->self, ATTN_SELF, b);
    b->source = &none;
    b->source_rows = &source_rows;
    b->output = s->logits;
    r->model->decode(r->bound, b, s->arena);
}

ATTN_API int attn_score(const struct attn_score_request *r,
                        float *log_probability)
{
    const struct attn_model *m = r->model;
    struct attn_memory at;
    struct attn_batch batch = { 0 };
    struct score s;
    int wrong = 0;
    int64_t need = attn_score_bytes(m, r->source_n, r->target_n, r->parallel);
    if (need < 0)
        return (int)need;
    if (!r->bound || !r->memory || !log_probability)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    if (r->target_n == 0)
        return 0;
    batch.parallel = r->parallel;
    attn_memory_open(&at, r->memory);
    score_lay_out(&s, r, &at);
    if (m->kind == ATTN_ENCODER_DECODER)
        wrong = score_source(&s, r, &batch);
    if (wrong == 0)
        wrong = score_fill(&s, r);
    if (wrong)
        return wrong;
    score_target(&s, r, &batch);
    for (int64_t i = 0; i < r->target_n; i++) {
        const float *logits = s.logits + i * m->target_vocab;
        if (!attn_logits_finite(logits, m->target_vocab))
            return ATTN_ERROR_FINITE;
        float sum = m->log_sum_exp(logits, m->target_vocab);
        log_probability[i] = attn_log_probability(logits[r->target[i]], sum);
    }
    return 0;
}
