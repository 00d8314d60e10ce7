/* search.c: answers several sources at once, as a queue (queue.h) that has a
 * seat for each. */
#include "runtime/core.h"

#include <string.h>

static struct attn_queue_size search_size(int64_t sentences,
                                          int64_t source_rows, int64_t longest)
{
    return (struct attn_queue_size){ .seats = sentences,
                                     .places = sentences,
                                     .rows = source_rows,
                                     .longest = longest };
}

ATTN_API int64_t attn_search_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t sentences, int64_t source_rows,
                                   int64_t longest)
{
    const struct attn_queue_size size = search_size(sentences, source_rows,
                                                    longest);
    return attn_queue_bytes(m, o, &size);
}

static int64_t search_longest(const int32_t *start, int64_t sentences)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < sentences; i++)
        longest = attn_max(longest, start[i + 1] - start[i]);
    return longest;
}

/* Checks the request's pointers and source positions. Returns 0 or an error. */
static int search_check(const struct attn_search_request *r)
{
    if (!r->bound || !r->o || !r->start || !r->memory)
        return ATTN_ERROR_NULL;
    int wrong = attn_check_count(r->sentences, 0, ATTN_MOST);
    if (wrong == 0)
        wrong = attn_check_starts(r->start, r->sentences,
                                  r->start[r->sentences], ATTN_MOST);
    if (wrong)
        return wrong;
    if (r->start[r->sentences] > 0
        && (r->model->input_width > 0 ? !r->input : !r->ids))
        return ATTN_ERROR_NULL;
    return 0;
}

/* Adds all sources. Source i gets place i. Returns 0 or an error. */
static int search_add(struct attn_queue *q, const struct attn_search_request *r)
{
    for (int64_t i = 0; i < r->sentences; i++) {
        const int64_t at = r->start[i];
        const struct attn_queue_source s = {
            .ids = r->ids ? r->ids + at : NULL,
            .input = r->input ? r->input + at * q->width : NULL,
            .rows = r->start[i + 1] - at,
        };
        const int64_t place = attn_queue_add(q, &s);
        if (place < 0)
            return (int)place;
    }
    return 0;
}

ATTN_API int attn_search(const struct attn_search_request *r,
                         struct attn_hypothesis *out, int64_t *found)
{
    struct attn_queue q;
    if (!out || !found)
        return ATTN_ERROR_NULL;
    int wrong = search_check(r);
    if (wrong)
        return wrong;
    const struct attn_queue_request open = {
        .model = r->model,
        .bound = r->bound,
        .o = r->o,
        .size = search_size(r->sentences, r->start[r->sentences],
                            search_longest(r->start, r->sentences)),
        .memory = r->memory,
        .bytes = r->bytes,
    };
    wrong = attn_queue_open(&q, &open);
    if (wrong == 0)
        wrong = search_add(&q, r);
    while (wrong == 0 && attn_queue_busy(&q))
        wrong = attn_queue_round(&q);
    for (int64_t i = 0; i < r->sentences && wrong == 0; i++) {
        const struct attn_beam *b = &q.place[i].beam;
        found[i] = b->found;
        if (b->found > 0)
            memcpy(out + i * r->o->results, b->best,
                   (size_t)b->found * sizeof *out);
    }
    return wrong;
}
