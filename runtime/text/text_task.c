/* text_task.c: queries and documents of late interaction, and the ids of a pair
 * that is cut. */
#include "text_task.h"

#include <string.h>

ATTN_API int64_t attn_task_room(const struct attn_task *t)
{
    return 1 + t->length;
}

ATTN_API int64_t attn_template_tail(const int32_t *ids, const int32_t *frame,
                                    int64_t n)
{
    int64_t before = 0;

    while (before < n && ids[before] == frame[before])
        before++;
    return n - before;
}

ATTN_API int64_t attn_task_ids(const struct attn_task *t, int32_t *ids,
                               int64_t n, int64_t tail, int64_t *given)
{
    const int64_t most = t->length;

    if (t->prefix >= 0 && n > 0) {
        memmove(ids + 2, ids + 1, (size_t)(n - 1) * sizeof *ids);
        ids[1] = (int32_t)t->prefix;
        n++;
    }
    if (most > 0 && n > most && t->cut) {
        tail = attn_min(tail, most);
        memmove(ids + most - tail, ids + n - tail, (size_t)tail * sizeof *ids);
        n = most;
    }
    *given = n;
    while (t->fill >= 0 && n < most) {
        ids[n] = (int32_t)t->fill;
        n++;
    }
    if (t->attend)
        *given = n;
    return n;
}

ATTN_API int attn_task_keeps(const struct attn_task *t, int32_t id)
{
    for (int64_t i = 0; i < t->skips; i++)
        if (t->skip[i] == id)
            return 0;
    return 1;
}

ATTN_API int64_t attn_task_rows(const struct attn_task *t, const int32_t *ids,
                                int64_t n, const float *rows, int64_t columns,
                                float *to)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        if (!attn_task_keeps(t, ids[i]))
            continue;
        memmove(to + kept * columns, rows + i * columns,
                (size_t)columns * sizeof *to);
        kept++;
    }
    return kept;
}

/* ---- pairs ---- */

ATTN_API void attn_keep_end(int32_t *ids, int64_t most, const int32_t *end,
                            int64_t tail)
{
    tail = attn_min(tail, most);
    memmove(ids + most - tail, end, (size_t)tail * sizeof *ids);
}
