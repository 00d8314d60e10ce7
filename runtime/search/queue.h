/* queue.h: a queue of sources that are answered together, and that come and go
 * one by one. */
#ifndef ATTN_QUEUE_1
#define ATTN_QUEUE_1

#include "runtime/search/search.h"

/* The size of a queue. */
struct attn_queue_size {
    int64_t seats;   /* maximum sources that are decoded at the same time */
    int64_t places;  /* maximum sources held: those, those that wait, and those
                      * that have ended */
    int64_t rows;    /* maximum rows of all sources held; 0: no limit */
    int64_t longest; /* maximum rows of a source */
    int64_t call;    /* maximum rows of sources, or of prompts, in one call; a
                      * source is never divided; 0: no limit */
    int64_t pages;   /* maximum pages of the self cache; 0: no limit */
    int64_t prefix_pages; /* further pages, for prompts that were read and with
                           * which others may begin; 0: none are kept */
    int64_t draws; /* 1: sources may draw, or penalise repetitions, even if the
                    * queue's options do not */
};

enum { ATTN_PREFIXES = 64 }; /* maximum prompts that are kept */

struct attn_prefix { /* a prompt that was read, in a slot of its own */
    int32_t *tokens;
    int64_t n;    /* 0: none */
    int64_t used; /* time of the last use */
};

struct attn_place { /* a source and the search of its answers */
    struct attn_search_options o;
    struct attn_beam beam;
    int32_t *prompt; /* [rows] the source of a decoder */
    int64_t rows;    /* of the source, with class tokens */
    int64_t pages;   /* maximum pages of the self cache */
    int64_t chosen;  /* 1: this round computes the logits of its last rows */
};

struct attn_queue_list { /* places, in order */
    int32_t *at;
    int64_t n;
};

struct attn_queue {
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o; /* the options of a source without any;
                                          * at most its beam and results, with a
                                          * beam its ends, and draws only if it
                                          * draws */
    struct attn_queue_size size;
    int64_t slots, calls;     /* maximum sequences per call of decode, and of
                               * encode */
    int64_t limit, positions; /* maxima over all sources: tokens of an answer,
                               * positions */
    int64_t encode_rows, prompt_rows; /* maximum rows of sources per call of
                                       * encode, of prompts per call of
                                       * decode */
    int64_t width;                    /* items in a row of a source */
    int64_t reserved;           /* pages that the sources in seats may need */
    struct attn_prefix *prefix; /* [prefixes], in the slots after `slots` */
    int64_t prefixes, prefix_pages; /* maximum number; pages in use */
    int64_t time;                   /* number of uses of prefixes */
    struct attn_cache self, cross;
    struct attn_place *place; /* [places] */
    /* A place is in one of these lists. To be encoded, sources are copied, one
     * after the other, into source_ids or source_input. */
    struct attn_queue_list free, added, waiting, seated, ended;
    struct attn_batch batch; /* the batch of a call, to which the next arrays
                              * belong */
    int32_t *source_ids, *source_start, *source_rows_of;
    float *source_input; /* instead of source_ids, for a model that reads
                          * numbers */
    int32_t *ids, *start, *past, *select, *source;
    int32_t *parents, *scratch;
    int32_t *tokens; /* [positions + 1] tokens before the answer and those of
                      * one hypothesis, for the logits processors */
    float *logits;   /* [slots][target_vocab] logits of each hypothesis */
    int32_t *order;  /* [target_vocab] scratch memory of sampling and of the
                      * repetition penalty, or NULL */
    void *arena;
};

struct attn_queue_request { /* arguments for opening a queue */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    struct attn_queue_size size;
    void *memory;
    int64_t bytes; /* at least attn_queue_bytes() */
};

struct attn_queue_source { /* a source that is added */
    const int32_t *ids;
    const float *input; /* instead of ids for a model that reads numbers:
                           input_width per row */
    int64_t rows;
    const struct attn_search_options *o; /* NULL: those of the queue; what it
                                          * points to has to stay in place */
};

/* ---- search_memory.c ---- */

/* Returns the bytes of memory for a queue, or an error. */
ATTN_API int64_t attn_queue_bytes(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  const struct attn_queue_size *size);
/* Sets the arrays and the caches of a queue whose model, options and size are
 * set. */
ATTN_API void attn_queue_lay_out(struct attn_queue *q, struct attn_memory *at);
/* Checks the options of a source, which may need no more memory per hypothesis
 * than those of the queue. Returns 0 or an error. */
ATTN_API int attn_queue_check(const struct attn_queue *q,
                              const struct attn_search_options *o);
/* Returns the maximum positions of a source's hypothesis. */
ATTN_API int64_t attn_queue_positions(const struct attn_queue *q,
                                      const struct attn_search_options *o,
                                      int64_t rows);

/* ---- queue.c ---- */

/* Makes an empty queue. Returns 0 or an error. */
ATTN_API int attn_queue_open(struct attn_queue *q,
                             const struct attn_queue_request *r);
/* True if the queue can hold another source of `rows` rows. */
ATTN_API int attn_queue_takes(const struct attn_queue *q, int64_t rows);
/* Adds a source, which is copied. Returns its place, or an error:
 * ATTN_ERROR_ROOM if attn_queue_takes() is false, if the answer may need more
 * pages than there are, or if the options are beyond those of the queue. */
ATTN_API int64_t attn_queue_add(struct attn_queue *q,
                                const struct attn_queue_source *s);
/* True if a source has not ended. */
ATTN_API int attn_queue_busy(const struct attn_queue *q);
/* Returns the place of a source that has ended, each once; -1: there is none.
 * The answers are beam.best[beam.found] of the place, best first, until
 * attn_queue_free(); found is ATTN_ERROR_FINITE if there are none because
 * logits were invalid, ATTN_ERROR_GRAMMAR if no token could follow. */
ATTN_API int64_t attn_queue_take(struct attn_queue *q);
/* Frees a place that was taken. */
ATTN_API void attn_queue_free(struct attn_queue *q, int64_t place);
/* Ends a source that has not ended, without answers. */
ATTN_API void attn_queue_drop(struct attn_queue *q, int64_t place);

/* Returns the source in seat i. */
ATTN_API struct attn_place *attn_queue_seat(const struct attn_queue *q,
                                            int64_t i);
/* Returns token j of the decoder's input for hypothesis h: the tokens before
 * the answer, then the answer. */
ATTN_API int32_t attn_queue_token(const struct attn_place *p, int64_t h,
                                  int64_t j);
/* Gives free seats to the sources that have waited longest, and encodes those
 * that were added if none waits. Returns 0 or an error. */
ATTN_API int attn_queue_admit(struct attn_queue *q);
/* Frees the seats of the sources without open hypotheses. `stay` slots remain,
 * copies of the slots q->parents[]. */
ATTN_API void attn_queue_leave(struct attn_queue *q, int64_t stay);

/* ---- queue_round.c ---- */

/* Computes a token of each open answer, and parts of the prompts of those that
 * begin. Returns 0 or an error, after which the queue is of no more use. */
ATTN_API int attn_queue_round(struct attn_queue *q);

/* ---- prefixes.c ---- */

/* Fills an empty slot with the rows of a prompt that was kept, as many as the
 * first `n` tokens of a source have in common with it. Returns their number. */
ATTN_API int64_t attn_prefix_take(struct attn_queue *q,
                                  const struct attn_place *p, int64_t slot,
                                  int64_t n);
/* Keeps the rows of a slot, which are those of the first tokens of a source, in
 * place of those that were not used for the longest time. */
ATTN_API void attn_prefix_keep(struct attn_queue *q, const struct attn_place *p,
                               int64_t slot);
/* True if a source in a seat before seat i, whose prompt is not read yet,
 * begins with a page of the same tokens more than `have`. */
ATTN_API int attn_prefix_comes(const struct attn_queue *q, int64_t i,
                               int64_t have);

#endif
