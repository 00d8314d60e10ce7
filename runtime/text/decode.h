/* decode.h: converts tokens to text by the steps of a block's decoder. */
#ifndef ATTN_DECODE_1
#define ATTN_DECODE_1

#include "growing_text.h"
#include "text.h"

struct attn_text_out { /* output of a text; `out` NULL: only counts bytes */
    struct attn_text *t;
    char *out;
    int64_t n;
};
/* ---- pending.c ---- */
ATTN_API void attn_text_byte(struct attn_text_out *o, char c);
/* Writes the first n of the pending bytes. */
ATTN_API void attn_text_release(struct attn_text_out *o, int64_t n);
/* ---- text.c ---- */

/* Writes a token; if id is -1, writes the end of the text. */
ATTN_API void attn_text_step(struct attn_text_out *o,
                             const struct attn_vocab *v, int32_t id);
/* ---- decode.c ---- */

/* Write the text of a token, and the pending end of the text, by the steps in
 * ATTN_DECODE. */
ATTN_API void attn_decode_token(struct attn_text_out *o,
                                const struct attn_vocab *v, int32_t id);
ATTN_API void attn_decode_end(struct attn_text_out *o,
                              const struct attn_vocab *v);
/* attn_decode_is_byte() is true for a byte piece. attn_decode_breaks() is true
 * if the byte pieces at the start of ids do not all form characters. */
ATTN_API int attn_decode_is_byte(const struct attn_vocab *v, int32_t id);
ATTN_API int attn_decode_breaks(const struct attn_vocab *v, const int32_t *ids,
                                int64_t n);

#endif
