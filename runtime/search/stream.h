/* stream.h: what streams and their saved states have in common. */
#ifndef ATTN_STREAM_H_2
#define ATTN_STREAM_H_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* ---- stream.c ---- */

/* Is it one that was opened, and are its options right? 0, or an error. */
ATTN_API int attn_stream_check(const struct attn_stream *s);
/* Was that next token an error, and not the end, or room that is full? */
ATTN_API int attn_stream_failed(int64_t token);
struct attn_stream_request { /* what a stream begins with */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    const int32_t *ids; /* [n] the source; of a decoder the prompt */
    int64_t n;
    int64_t tokens, streams; /* as attn_stream_bytes() takes them */
    void *memory;
    int64_t bytes; /* attn_stream_bytes(), or more */
};
/* A stream without tokens, in slot 0 of a new room: ids are not read. 0, or an
 * error.                                                                    */
ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_stream_request *r,
                               int64_t source_rows);

/* ---- state.c ---- */

/* The hash of the weights' values that these take: it keeps a state from other
 * weights. packed: where they lie.                                          */
ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed);

/* Do the bytes begin as a saved state of any version does? */
ATTN_API int attn_state_begins(const void *at, int64_t bytes);

struct attn_restore_request { /* what a stream goes on from */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    uint64_t weights; /* their hash */
    const void *state;
    int64_t bytes;           /* of the state */
    int64_t tokens, streams; /* as attn_stream_bytes() takes them */
    void *memory;
    int64_t memory_bytes;
};

#endif
