/* stream.h: what streams and their saved states have in common. */
#ifndef ATTN_STREAM_H_2
#define ATTN_STREAM_H_2

#include "generate.h"
#include "memory.h"

/* ------------------------------------------------------------ stream.c --- */
/* Is it one that was opened, and are its options right? 0, or an error. */
ATTN_API int attn_stream_check(const struct attn_stream *s);
/* A stream without tokens, in slot 0 of a new room. 0, or an error. */
ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_model *m, const void *bound,
                               const struct attn_search_options *o,
                               int64_t source_rows, int64_t tokens,
                               int64_t streams, void *memory, int64_t bytes);

/* ------------------------------------------------------------- state.c --- */
/* The hash of the weights' values that these take: it keeps a state from other
 * weights. packed: where they lie.                                          */
ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed);

#endif
