/* score.c: log-probabilities of a given output. The decoder reads the output in
 * chunks of up to SCORE_ROWS rows, so that the logits take little memory. */
#include "runtime/core.h"

#include <string.h>

enum { SCORE_ROWS = 64 };

struct score {
    struct attn_cache self, cross;
    int32_t *ids, *select, *start, *source_start;
    float *logits; /* [SCORE_ROWS][target_vocab] logits of a chunk */
    void *arena;
    int64_t rows;  /* number of rows that the decoder reads */
    int64_t first; /* the row whose logits predict the first target token */
};

/* Lays out memory for the start token, the source (a decoder's prompt), the
 * forced tokens and the target, up to the model's number of positions. */
static void score_lay_out(struct score *s, const struct attn_score_request *r,
                          struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    int64_t parts = attn_parts(r->parallel);
    int64_t word = sizeof(int32_t);
    int64_t rows = 1 + r->prefix_n + r->target_n;
    if (m->kind == ATTN_DECODER)
        rows += r->source_n;
    rows = attn_min(rows, m->max_target);
    int64_t part = attn_min(rows, SCORE_ROWS);
    const struct attn_cache_size self = { ATTN_SELF, 1, rows, 0, part };
    const struct attn_cache_size cross = { ATTN_CROSS, 1, r->source_n, 0, 0 };
    attn_cache_take(&s->self, m, &self, at);
    if (m->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&s->cross, m, &cross, at);
    s->ids = attn_take(at, rows, word);
    s->select = attn_take(at, part, word);
    s->start = attn_take(at, 2, word);
    s->source_start = attn_take(at, 2, word);
    s->logits = attn_take(at, part, m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = m->arena_bytes(part, 1, parts);
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena,
                         m->arena_bytes(attn_max(r->source_n, 1), 1, parts));
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
    attn_cache_bind(&s->cross, 0, b);
    return attn_enter(m, r->bound, b, s->arena, 0);
}

/* Stores the tokens that the decoder reads: all but the last of the target. */
static int score_fill(struct score *s, const struct attn_score_request *r)
{
    const struct attn_model *m = r->model;
    int64_t lead = r->start >= 0, last = r->target_n - 1;
    int wrong = attn_check_ids(r->target, r->target_n, m->target_vocab);
    if (wrong == 0)
        wrong = attn_check_ids(r->prefix, r->prefix_n, m->target_vocab);
    if (wrong)
        return wrong;
    if (r->start >= m->target_vocab)
        return ATTN_ERROR_ID;
    if (m->kind == ATTN_DECODER) {
        wrong = attn_check_ids(r->source, r->source_n, m->target_vocab);
        if (wrong)
            return wrong;
        lead += r->source_n;
    }
    const int64_t before = lead;
    lead += r->prefix_n;
    if (lead == 0 || lead + last > m->max_target)
        return ATTN_ERROR_LENGTH;
    if (r->start >= 0)
        s->ids[0] = r->start;
    for (int64_t i = r->start >= 0; i < before; i++)
        s->ids[i] = r->source[i - (r->start >= 0)];
    for (int64_t i = before; i < lead; i++)
        s->ids[i] = r->prefix[i - before];
    memcpy(s->ids + lead, r->target, (size_t)last * sizeof *r->target);
    s->first = lead - 1;
    s->rows = lead + last;
    return 0;
}

/* Reads n rows, starting at row `at`, and computes the logits of those that
 * precede a target token. Returns the number of these rows, or an error. */
static int64_t score_rows(struct score *s, const struct attn_score_request *r,
                          struct attn_batch *b, int64_t at, int64_t n)
{
    const int32_t source = 0, past = (int32_t)at;
    const int32_t source_rows = (int32_t)r->source_n;
    int64_t skipped = attn_min(attn_max(s->first - at, 0), n);
    for (int64_t i = skipped; i < n; i++)
        s->select[i - skipped] = (int32_t)i;
    s->start[0] = 0;
    s->start[1] = (int32_t)n;
    b->sequences = 1;
    b->rows = n;
    b->start = s->start;
    b->ids = s->ids + at;
    b->past = &past;
    b->select = s->select;
    b->selected = n - skipped;
    attn_cache_bind(&s->self, 0, b);
    b->source = &source;
    b->source_rows = &source_rows;
    b->output = s->logits;
    int wrong = attn_enter(r->model, r->bound, b, s->arena, 1);
    return wrong ? wrong : n - skipped;
}

/* Computes the log-probabilities of all target tokens in order. */
static int score_target(struct score *s, const struct attn_score_request *r,
                        struct attn_batch *b, float *log_probability)
{
    const struct attn_model *m = r->model;
    const int64_t most = attn_min(SCORE_ROWS, attn_cache_rows(m));
    int64_t done = 0, rows;
    for (int64_t at = 0; at < s->rows; at += most) {
        rows = attn_min(s->rows - at, most);
        if (attn_cache_grow(&s->self, 0, rows) < 0)
            return ATTN_ERROR_ROOM;
        rows = score_rows(s, r, b, at, rows);
        if (rows < 0)
            return (int)rows;
        for (int64_t i = 0; i < rows; i++) {
            const float *logits = s->logits + i * m->target_vocab;
            if (!attn_logits_finite(logits, m->target_vocab))
                return ATTN_ERROR_FINITE;
            float sum = m->log_sum_exp(logits, m->target_vocab);
            log_probability[done + i] =
                attn_log_probability(logits[r->target[done + i]], sum);
        }
        done += rows;
    }
    return 0;
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

ATTN_API int attn_score_pair(const struct attn_score_request *r,
                             float *log_probability)
{
    const struct attn_model *m = r->model;
    struct attn_memory at;
    struct attn_batch batch = { 0 };
    struct score s;
    int wrong = 0;
    if (r->prefix_n < 0 || r->prefix_n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    int64_t need = attn_score_bytes(m, r->source_n, r->prefix_n + r->target_n,
                                    r->parallel);
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
    return score_target(&s, r, &batch, log_probability);
}
