/* growing_text.h: the text of an answer, which grows token by token. */
#ifndef ATTN_GROWING_TEXT_1
#define ATTN_GROWING_TEXT_1

#include <stdint.h>

enum { ATTN_STOP_BYTES = 240 }; /* maximum bytes of a stop string */

struct attn_text { /* a text that grows token by token */
    const void *block;
    const char *const *stop; /* strings that end the text, excluded from it */
    int64_t stops;
    int64_t begun;   /* 1: the text has begun */
    int64_t stopped; /* 1: a stop string was found */
    int64_t held;    /* number of bytes in hold[], not yet written */
    char hold[ATTN_STOP_BYTES + 16];
    /* State of the decoder's steps: bytes of an incomplete character;
     * characters removed at the start; characters held back at the end; a space
     * is pending; the current byte pieces form no characters. */
    int64_t open, lead, trail, gap, broken;
    char part[8];
};

#endif
