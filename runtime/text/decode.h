/* decode.h: tokens to text, by the steps of a block's decoder. */
#ifndef ATTN_DECODE_1
#define ATTN_DECODE_1

#include "growing_text.h"
#include "text.h"

struct attn_text_out { /* what goes out of it; out NULL: it is counted */
    struct attn_text *t;
    char *out;
    int64_t n;
};
/* ---- held.c ---- */
ATTN_API void attn_text_byte(struct attn_text_out *o, char c);
/* Gives out the first n of the held bytes. */
ATTN_API void attn_text_release(struct attn_text_out *o, int64_t n);
/* ---- decode.c ---- */

/* By the steps of ATTN_DECODE: a token's text; what is kept back at the end. */
ATTN_API void attn_decode_token(struct attn_text_out *o,
                                const struct attn_vocab *v, int32_t id);
ATTN_API void attn_decode_end(struct attn_text_out *o,
                              const struct attn_vocab *v);
/* Is it the piece of a byte? Do the pieces of bytes that ids begin with make
 * no characters?                                                            */
ATTN_API int attn_decode_is_byte(const struct attn_vocab *v, int32_t id);
ATTN_API int attn_decode_breaks(const struct attn_vocab *v, const int32_t *ids,
                                int64_t n);

#endif
