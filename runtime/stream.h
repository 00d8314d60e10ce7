/* stream.h: answers that grow token by token, and their state as bytes. A part
 * of core.h, which includes it.                                             */
#ifndef ATTN_STREAM_H_1
#define ATTN_STREAM_H_1

#include "core.h"

/* ------------------------------------------------------------ stream.c --- */
enum {
    ATTN_STREAM_END = -1, /* the end token, or one that stops, came */
    ATTN_STREAM_FULL = -2 /* no room for a token, or none is allowed */
};

struct attn_stream_room { /* what the streams of one beginning share */
    struct attn_cache self, cross;
    int64_t streams, width; /* how many; tokens that each may have */
    int32_t source_rows;
    int32_t *tokens; /* [streams][width] */
    int32_t *order;
    float *logits;
    void *arena;
};
struct attn_stream {
    const struct attn_model *model;
    const void *bound;
    struct attn_search_options o; /* start, end, process, sampling */
    const int32_t *stop;          /* [stops] more tokens that end it */
    int64_t stops;
    struct attn_stream_room *room;
    int64_t slot;    /* of the room */
    int32_t *tokens; /* [n] start, prompt, answer */
    int64_t n;
    int64_t lead; /* tokens before the answer */
    int64_t read; /* tokens that are in the cache */
    int64_t ended;
};
/* Memory for `streams` streams of up to `tokens` tokens each (start and prompt
 * counted, not above max_target + 1) after a source of that many rows (kind
 * decoder: 0); or an error.                                                 */
ATTN_API int64_t attn_stream_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t source_rows, int64_t tokens,
                                   int64_t streams);
/* Is it one that was opened, and are its options right? 0, or an error. */
ATTN_API int attn_stream_check(const struct attn_stream *s);
/* A stream without tokens, in slot 0 of a new room. 0, or an error. */
ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_model *m, const void *bound,
                               const struct attn_search_options *o,
                               int64_t source_rows, int64_t tokens,
                               int64_t streams, void *memory, int64_t bytes);
/* With the start token, where there is one; `ids` are the source, which is
 * encoded, or for kind decoder the prompt. 0, or an error.                  */
ATTN_API int attn_stream_open(struct attn_stream *s, const struct attn_model *m,
                              const void *bound,
                              const struct attn_search_options *o,
                              const int32_t *ids, int64_t n, int64_t tokens,
                              int64_t streams, void *memory, int64_t bytes);
/* Tokens that are given instead of chosen: kind decoder, more of the prompt;
 * else of the answer. 0, or an error, and nothing has changed.              */
ATTN_API int attn_stream_feed(struct attn_stream *s, const int32_t *ids,
                              int64_t n);
/* The next token of the answer; ATTN_STREAM_END, ATTN_STREAM_FULL; or another
 * number below 0, an error. Chooses what attn_search with beam 1 would.     */
ATTN_API int64_t attn_stream_next(struct attn_stream *s);
/* `to` goes on where `from` is, in a slot of the same room; what is in that
 * slot is dropped. Change to->o.sampling.seed for another answer. 0, or an
 * error.                                                                    */
ATTN_API int attn_stream_fork(struct attn_stream *to, struct attn_stream *from,
                              int64_t slot);

/* ------------------------------------------------------------- state.c --- */
struct attn_state_header { /* the first bytes of a saved stream */
    char magic[8];         /* "ATTNST02" */
    uint64_t hash;         /* of all that follows */
    int64_t bytes;         /* of all */
    uint64_t model;        /* its sizes, spec and weights, hashed */
    int64_t tokens, lead, read, source_rows; /* as in the stream */
    /* int32_t tokens[]; the pages of the self, then of the cross cache */
};
/* Bytes of a saved stream, or an error. */
ATTN_API int64_t attn_state_bytes(const struct attn_stream *s);
/* The hash of the weights' values that these take: it keeps a state from other
 * weights. packed: where they lie.                                          */
ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed);
/* The hash of the weights in a file that was opened, for states; 0: it is no
 * such file.                                                                */
ATTN_API uint64_t attn_state_weights(const struct attn_model *m,
                                     const void *file);
/* Writes the stream to `out`, at a multiple of 8; returns its bytes, or an
 * error. Options are not saved.                                             */
ATTN_API int64_t attn_state_save(const struct attn_stream *s, uint64_t weights,
                                 void *out, int64_t cap);
/* NULL when it can be restored into this model, else what is wrong: all that
 * it says is looked at, whoever made its hash. `state` lies at a multiple of 8.
 */
ATTN_API const char *attn_state_check(const struct attn_model *m,
                                      uint64_t weights, const void *state,
                                      int64_t bytes);
/* Opens a stream as it was saved, in memory of attn_stream_bytes for the
 * header's source_rows and `tokens`, not fewer than the header's. 0, or an
 * error.                                                                    */
ATTN_API int attn_state_restore(struct attn_stream *s,
                                const struct attn_model *m, const void *bound,
                                const struct attn_search_options *o,
                                uint64_t weights, const void *state,
                                int64_t bytes, int64_t tokens, int64_t streams,
                                void *memory, int64_t memory_bytes);

#endif
