/* pair_text.c: a pair of texts that becomes one text. */
#include "pair_text.h"

#include <string.h>

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
