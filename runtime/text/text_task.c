/* text_task.c: prompts, queries and documents of late interaction, and pairs
 * that become one text. */
#include "text_task.h"

#include <string.h>

ATTN_API const char *attn_text_prompt(const struct attn_texts *t, int64_t task,
                                      const char *name)
{
    static const char *const named[] = { NULL, "query", "document" };
    const char *chosen = name ? name : task ? named[task] : t->prompt;

    if (!chosen || !*chosen)
        return "";
    for (int64_t i = 0; t->prompts && t->prompts[i]; i += 2)
        if (!strcmp(t->prompts[i], chosen))
            return t->prompts[i + 1];
    return name ? NULL : "";
}

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

/* Appends a text at `at` unless `to` is NULL. Returns the new end. */
static int64_t pair_put(char *to, int64_t at, const char *text, int64_t bytes)
{
    if (to && bytes > 0)
        memcpy(to + at, text, (size_t)bytes);
    return at + bytes;
}

static int64_t pair_words(char *to, int64_t at, const char *text)
{
    return text ? pair_put(to, at, text, (int64_t)strlen(text)) : at;
}

ATTN_API int64_t attn_pair_text(const struct attn_pair_texts *p,
                                const struct attn_two_texts *t, char *to)
{
    int64_t n = pair_words(to, 0, p->begin);

    n = pair_words(to, n, p->prompt);
    n = pair_words(to, n, p->first);
    n = pair_put(to, n, t->first, t->first_bytes);
    n = pair_words(to, n, p->second);
    n = pair_put(to, n, t->second, t->second_bytes);
    return pair_words(to, n, p->end);
}

ATTN_API void attn_keep_end(int32_t *ids, int64_t most, const int32_t *end,
                            int64_t tail)
{
    tail = attn_min(tail, most);
    memmove(ids + most - tail, end, (size_t)tail * sizeof *ids);
}
