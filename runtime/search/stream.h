/* stream.h: declarations that streams and their saved states share. */
#ifndef ATTN_STREAM_H_2
#define ATTN_STREAM_H_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* ---- stream.c ---- */

/* Checks that a stream is open and its options are valid. Returns 0 or an
 * error.                                                                    */
ATTN_API int attn_stream_check(const struct attn_stream *s);
/* True if attn_stream_next() returned an error, and neither END nor FULL. */
ATTN_API int attn_stream_failed(int64_t token);
struct attn_stream_request { /* arguments for opening a stream */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    const int32_t *ids; /* [n] source; for a decoder, the prompt */
    int64_t n;
    int64_t tokens, streams; /* maximum tokens, and number of streams, as for
                              * attn_stream_bytes() */
    void *memory;
    int64_t bytes; /* at least attn_stream_bytes() */
};
/* Makes a stream without tokens in slot 0 of a new room. Ignores the request's
 * ids. Returns 0 or an error. */
ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_stream_request *r,
                               int64_t source_rows);

/* ---- draft.c ---- */

/* Returns why a stream of this model can have no draft, or NULL. */
ATTN_API const char *attn_draft_wrong(const struct attn_model *m);
/* Returns why a smaller model cannot propose tokens to a stream of this one, or
 * NULL. */
ATTN_API const char *attn_drafter_wrong(const struct attn_model *m,
                                        const struct attn_drafter *by);
/* Takes memory for the drafts of streams, but not for a drafter. */
ATTN_API void attn_draft_take(struct attn_draft *d,
                              const struct attn_stream_request *r,
                              int64_t source_rows, struct attn_memory *at);
/* Returns the logits of the stream's last token if it was read ahead as a
 * proposal, and adds its row to the slot. Otherwise returns NULL. */
ATTN_API float *attn_draft_logits(struct attn_stream *s);
/* Drops the rows that were read ahead. */
ATTN_API void attn_draft_drop(struct attn_stream *s);
/* Drops the rows that were read ahead. Returns how many tokens may be proposed
 * now. */
ATTN_API int64_t attn_draft_most(struct attn_stream *s);
/* Writes behind the stream's tokens what followed the last ones where they came
 * before, at most `most` tokens. Returns their number. */
ATTN_API int64_t attn_draft_repeat(struct attn_stream *s, int64_t most);
/* Records that a call has read the last token and n proposals, whose logits are
 * in the room, and removes the rows of the proposals from the slot. */
ATTN_API void attn_draft_read(struct attn_stream *s, int64_t n);

/* ---- state.c ---- */

/* Returns a hash of the weights at `packed`, with which a restored state
 * detects other weights. */
ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed);

/* True if the bytes begin like a saved state of any version. */
ATTN_API int attn_state_begins(const void *at, int64_t bytes);

struct attn_restore_request { /* arguments for restoring a stream */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    uint64_t weights; /* hash of the weights, from attn_state_weights() */
    const void *state;
    int64_t bytes;           /* size of the state */
    int64_t tokens, streams; /* maximum tokens, and number of streams, as for
                              * attn_stream_bytes() */
    void *memory;
    int64_t memory_bytes;
};

#endif
