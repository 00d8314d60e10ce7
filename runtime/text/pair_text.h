/* pair_text.h: a pair of texts that becomes one text, with the model's texts
 * around the two. */
#ifndef ATTN_PAIR_1
#define ATTN_PAIR_1

#include "runtime/base/memory.h"

struct attn_pair_texts { /* the texts around a pair, in order; NULL: none. The
                          * first text of the pair follows `first`, the second
                          * one follows `second` */
    const char *begin, *prompt, *first, *second, *end;
};
struct attn_two_texts {
    const char *first, *second;
    int64_t first_bytes, second_bytes;
};
/* Writes the text that a pair becomes to `to`, unless that is NULL. Returns its
 * bytes. */
ATTN_API int64_t attn_pair_text(const struct attn_pair_texts *p,
                                const struct attn_two_texts *t, char *to);

#endif
