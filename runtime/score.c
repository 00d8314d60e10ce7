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

static void score_lay_out_cache(struct attn_cache *c,
                                const struct attn_model *m, int which,
                                int64_t length, struct attn_memory *at)
{
    int64_t bytes = attn_cache_bytes(m, which, 1, length, 0);
    void *memory = attn_take(at, bytes, 1);
    if (memory)
        attn_cache_init(c, m, which, 1, length, 0, memory);
}

/* Room for a start token, the source (a decoder's prompt) and the target. */
static void score_lay_out(struct score *s, const struct attn_model *m,
                          int64_t n, int64_t target_n,
                          const struct attn_parallel *parallel,
                          struct attn_memory *at)
{
    int64_t parts = attn_parts(parallel);
    int64_t word = sizeof(int32_t);
    int64_t rows = 1 + target_n;
    if (m->kind == ATTN_DECODER)
        rows += n;
    score_lay_out_cache(&s->self, m, ATTN_SELF, rows, at);
    if (m->kind == ATTN_ENCODER_DECODER)
        score_lay_out_cache(&s->cross, m, ATTN_CROSS, n, at);
    s->ids = attn_take(at, rows, word);
    s->select = attn_take(at, target_n, word);
    s->start = attn_take(at, 2, word);
    s->source_start = attn_take(at, 2, word);
    s->logits = attn_take(at, target_n,
                          m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = attn_max(m->arena_bytes(rows, 1, parts),
                             m->arena_bytes(attn_max(n, 1), 1, parts));
    s->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel)
{
    struct attn_memory at;
    struct score s;
    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (n < 0 || n > ATTN_MOST || target_n < 0 || target_n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    int wrong = attn_check_parallel(parallel);
    if (wrong)
        return wrong;
    attn_memory_open(&at, NULL);
    score_lay_out(&s, m, n, target_n, parallel, &at);
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}

static int score_source(struct score *s, const struct attn_model *m,
                        const void *bound, const int32_t *source, int64_t n,
                        struct attn_batch *b)
{
    int wrong = attn_check_ids(source, n, m->source_vocab);
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
    b->ids = source;
    attn_cache_bind(&s->cross, ATTN_CROSS, b);
    m->encode(bound, b, s->arena);
    return 0;
}

/* Every token but the last is read; the rows from the first token's
 * predecessor on want logits.                                               */
static int score_fill(struct score *s, const struct attn_model *m,
                      int32_t start_token, const int32_t *source, int64_t n,
                      const int32_t *target, int64_t target_n)
{
    int64_t rows = 0;
    int wrong = attn_check_ids(target, target_n, m->target_vocab);
    if (wrong)
        return wrong;
    if (start_token >= m->target_vocab)
        return ATTN_ERROR_ID;
    if (start_token >= 0) {
        s->ids[0] = start_token;
        rows = 1;
    }
    if (m->kind == ATTN_DECODER) {
        wrong = attn_check_ids(source, n, m->target_vocab);
        if (wrong)
            return wrong;
        for (int64_t i = 0; i < n; i++)
            s->ids[rows + i] = source[i];
        rows += n;
    }
    if (rows == 0 || rows + target_n - 1 > m->max_target)
        return ATTN_ERROR_LENGTH;
    for (int64_t i = 0; i < target_n; i++)
        s->select[i] = (int32_t)(rows - 1 + i);
    memcpy(s->ids + rows, target, (size_t)(target_n - 1) * sizeof *target);
    s->rows = rows + target_n - 1;
    return attn_cache_grow(&s->self, 0, s->rows);
}

static void score_target(struct score *s, const struct attn_model *m,
                         const void *bound, int64_t n, int64_t target_n,
                         struct attn_batch *b)
{
    const int32_t none = 0;
    const int32_t source_rows = (int32_t)n;
    s->start[0] = 0;
    s->start[1] = (int32_t)s->rows;
    b->sequences = 1;
    b->rows = s->rows;
    b->start = s->start;
    b->ids = s->ids;
    b->past = &none;
    b->select = s->select;
    b->selected = target_n;
    attn_cache_bind(&s->self, ATTN_SELF, b);
    b->source = &none;
    b->source_rows = &source_rows;
    b->output = s->logits;
    m->decode(bound, b, s->arena);
}

ATTN_API int attn_score(const struct attn_model *m, const void *bound,
                        int32_t start_token, const int32_t *source, int64_t n,
                        const int32_t *target, int64_t target_n,
                        const struct attn_parallel *parallel, void *memory,
                        int64_t bytes, float *log_probability)
{
    struct attn_memory at;
    struct attn_batch batch = { 0 };
    struct score s;
    int wrong = 0;
    int64_t need = attn_score_bytes(m, n, target_n, parallel);
    if (need < 0)
        return (int)need;
    if (!bound || !memory || !log_probability)
        return ATTN_ERROR_NULL;
    if (need > bytes)
        return ATTN_ERROR_ROOM;
    if (target_n == 0)
        return 0;
    batch.parallel = parallel;
    attn_memory_open(&at, memory);
    score_lay_out(&s, m, n, target_n, parallel, &at);
    if (m->kind == ATTN_ENCODER_DECODER)
        wrong = score_source(&s, m, bound, source, n, &batch);
    if (wrong == 0)
        wrong = score_fill(&s, m, start_token, source, n, target, target_n);
    if (wrong)
        return wrong;
    score_target(&s, m, bound, n, target_n, &batch);
    for (int64_t i = 0; i < target_n; i++) {
        const float *logits = s.logits + i * m->target_vocab;
        if (!attn_logits_finite(logits, m->target_vocab))
            return ATTN_ERROR_FINITE;
        float sum = m->log_sum_exp(logits, m->target_vocab);
        log_probability[i] = attn_log_probability(logits[target[i]], sum);
    }
    return 0;
}
