/* growing_text.h: the text of an answer that grows token by token. */
#ifndef ATTN_GROWING_TEXT_1
#define ATTN_GROWING_TEXT_1

#include <stdint.h>

enum { ATTN_STOP_BYTES = 240 }; /* a stop string has no more */

struct attn_text { /* a text that grows token by token */
    const void *block;
    const char *const *stop; /* strings that end it; they are not in it */
    int64_t stops;
    int64_t begun;   /* something stands before the next token */
    int64_t stopped; /* a stop string came */
    int64_t held;    /* bytes that are not given out yet */
    char hold[ATTN_STOP_BYTES + 16];
    /* of a decoder's steps: bytes of a character that has not ended; taken off
     * the front, kept back at the end; a space is to come; bytes are none    */
    int64_t open, lead, trail, gap, broken;
    char part[8];
};

#endif
