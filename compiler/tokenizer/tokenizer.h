/* tokenizer.h: tokenizer files become blocks, which runtime/ encodes and
 * decodes with (runtime/text.h).
 *
 * In:  a file: tokens, one a line; pieces that are merged by score; and what
 *      the spec says of special tokens.
 * Out: a block ATTNVOC3, malloc'd, or a message.
 * Public beside it: block.h.                                                */
#ifndef ATTNC_TOKENIZER_H
#define ATTNC_TOKENIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/rt.h"

typedef struct { /* ids that the spec gives; -1: none */
    int32_t split, start, end, pad, unknown, append_end;
} VocabTokens;

/* -------------------------------------------------------------- load.c --- */
/* `expected`: the spec's size or -1. The block is malloc'd. */
void *vocab_load(const char *path, int64_t expected, const VocabTokens *t,
                 int64_t *bytes, Fault *why);
int64_t vocab_count(const char *path, Fault *why); /* its tokens; -1 */

#endif
