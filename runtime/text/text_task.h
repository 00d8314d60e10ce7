/* text_task.h: what some models do to texts before they read them. In late
 * interaction a text is a query or a document: a token follows its first one,
 * tokens fill a query, and some tokens of a document have no row. */
#ifndef ATTN_TASK_1
#define ATTN_TASK_1

#include "runtime/base/memory.h"
#include "pair_text.h"

enum { ATTN_TASK_NONE, ATTN_TASK_QUERY, ATTN_TASK_DOCUMENT };

struct attn_task {       /* what becomes of a query, or of a document */
    int64_t length;      /* maximum tokens of a text; 0: any number */
    int64_t prefix;      /* token after the first one; -1: none */
    int64_t fill;        /* token that fills a text to `length`; -1: none */
    int attend;          /* 1: all rows attend to the tokens that fill it */
    int cut;             /* 1: longer texts are cut */
    const int32_t *skip; /* [skips] tokens without a row in the result */
    int64_t skips;
};
/* Returns how many ids attn_task_ids() may add. */
ATTN_API int64_t attn_task_room(const struct attn_task *t);
/* Returns how many tokens the template adds after a text whose first ids are
 * given. frame[n]: ids of an empty text. */
ATTN_API int64_t attn_template_tail(const int32_t *ids, const int32_t *frame,
                                    int64_t n);
/* Adds the task's token to n ids of a text, cuts them to the task's length,
 * except for the last `tail` ids, and fills them. Returns their number and sets
 * *given to the number of those that all rows attend to. */
ATTN_API int64_t attn_task_ids(const struct attn_task *t, int32_t *ids,
                               int64_t n, int64_t tail, int64_t *given);
/* Returns 1 if a token of the text has a row in the result. */
ATTN_API int attn_task_keeps(const struct attn_task *t, int32_t id);
/* Copies the rows that remain of n rows to `to`, which may be `rows`. Returns
 * their number. */
ATTN_API int64_t attn_task_rows(const struct attn_task *t, const int32_t *ids,
                                int64_t n, const float *rows, int64_t columns,
                                float *to);

/* ---- pairs ---- */

/* Cuts ids to `most`. The last `tail` of these are end[tail]. */
ATTN_API void attn_keep_end(int32_t *ids, int64_t most, const int32_t *end,
                            int64_t tail);

#endif
