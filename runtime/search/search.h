/* search.h: the search that runs a model, and its parts: caches, logits
 * processors, sampling, beams. */
#ifndef ATTN_SEARCH_2
#define ATTN_SEARCH_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* ---- cache.c ---- */

/* The size of a cache. A slot needs ceil(length / 64) pages of each group, or
 * fewer if the group has a window. */
struct attn_cache_size {
    int64_t which; /* owner of the rows: ATTN_SELF or ATTN_CROSS */
    int64_t slots;
    int64_t length; /* maximum positions of a slot */
    int64_t pages;  /* maximum pages of a group; 0: as many as the slots need */
    int64_t rows;   /* maximum rows added to a slot at once; 0: no limit */
};
/* Returns the bytes of a cache of this size; -1 on overflow. */
ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size);
/* Makes an empty cache in memory of attn_cache_bytes() bytes, at any
 * alignment. */
ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size, void *memory);
/* Makes an empty cache in memory taken from `at`. */
ATTN_API void attn_cache_take(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size,
                              struct attn_memory *at);
/* Sets the pools and page tables of a batch: sequence i uses slot first + i of
 * the cache. */
ATTN_API void attn_cache_bind(const struct attn_cache *c, int64_t first,
                              struct attn_batch *b);
/* Returns the first page that a slot of `length` positions must keep: the first
 * that the next row reads or, if the last row is read again, the first that the
 * last row reads. */
ATTN_API int64_t attn_cache_first(const struct attn_cache_layout *is,
                                  int64_t length);
/* Returns the pages that hold so many positions. */
ATTN_API int64_t attn_cache_pages(int64_t length);
/* Returns the bytes of a page of each cache of ATTN_SELF or ATTN_CROSS. */
ATTN_API int64_t attn_cache_page_bytes(const struct attn_model *m,
                                       int64_t which);
/* Returns `length` if another sequence can begin with so many positions of a
 * slot, else 0: if a window has freed pages that it needs, or if these are not
 * all positions and there are recurrent layers, whose states are those after
 * the last one. */
ATTN_API int64_t attn_cache_begun(const struct attn_cache *c, int64_t slot,
                                  int64_t length);
/* Returns the maximum rows of a sequence per call, so that windows can free
 * pages between calls. */
ATTN_API int64_t attn_cache_rows(const struct attn_model *m);
/* Returns the bytes of one element of keys or values. */
ATTN_API int64_t attn_cache_element(const struct attn_cache_layout *is);
/* Returns the bytes of the scale of one row of keys or values; 0: it has none.
 */
ATTN_API int64_t attn_cache_scale(const struct attn_cache_layout *is);
/* Returns the address of a page. */
ATTN_API float *attn_cache_page(const struct attn_cache_group *g, int64_t page);
/* Returns the recurrent layers' states after a row, which must be the last even
 * or the last odd row of its page. */
ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row);
/* Adds `rows` positions to a slot, in pages that only this slot uses: a partly
 * filled page that other slots use is copied first. Frees pages that neither
 * the new rows nor the last row before them read. Returns 0, or -1 without any
 * change if there are too few pages or table entries. */
ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows);
ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot);
/* Removes the positions at or after `length`. These must be all positions, or
 * part of the last growth and the row before it. */
ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot,
                             int64_t length);
/* Makes slot `to` a copy of slot `from`; they share pages. */
ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to);
/* Makes slot i a copy of the former slot parent[i], for all i in 0 .. n - 1 at
 * once. The other slots before `of` become empty; the parents are before
 * `of`, too. Copies only tables. */
ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n, int64_t of,
                                 int32_t *scratch /* [n*(width+2)] */);

/* ---- math.c ---- */
ATTN_API float attn_exp(float x); /* error <= 1.5 ulp; equal bits everywhere */
ATTN_API float attn_log(float x); /* error <= 2 ulp, for x > 0 */
/* Returns a token's log-probability. It is never above 0, despite rounding. */
ATTN_API float attn_log_probability(float logit, float log_sum_exp);

enum { ATTN_BLOCK = 64 }; /* logits that attn_any_above() skips together */
/* True if any of x[0 .. n - 1] is above `least`. */
ATTN_API int attn_any_above(const float *x, int64_t n, float least);

/* ---- process.c ---- */

/* True if the token ends an answer. */
ATTN_API int attn_ends(const struct attn_search_options *o, int64_t token);
/* Checks the options. Returns 0 or an error. */
ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab);
/* True if a token can be chosen: no logit is NaN or INFINITY, and at least one
 * is finite. -INFINITY marks a token that the model never produces.         */
ATTN_API int attn_logits_finite(const float *logits, int64_t n);
/* True if the repetition penalty is on. */
ATTN_API int attn_penalises(const struct attn_process *p);
struct attn_process_row { /* a row of logits with its context */
    const struct attn_search_options *search;
    float *logits; /* [vocab], or log-probabilities */
    int64_t vocab;
    const int32_t *tokens; /* [n] start token, a decoder's prompt, and the
                            * answer so far with its prefix */
    int64_t lead, n;       /* number of tokens before the answer; of all */
    int32_t *order; /* [vocab] scratch memory, only for attn_penalises() */
};
/* Runs the logits processors on a row. Returns 0, or ATTN_ERROR_GRAMMAR if
 * o->process.constrain allows no token. */
ATTN_API int attn_process_logits(const struct attn_process_row *r);
/* Forbids the tokens in `forbid`. Called after the probabilities are computed,
 * so that no other token gets their share, and the score of an answer equals
 * that of attn_score. */
ATTN_API void attn_forbid_logits(const struct attn_search_options *o,
                                 float *logits, int64_t vocab);

/* ---- sampling.c ---- */

/* True if all members are in range. */
ATTN_API int attn_sampling_fits(const struct attn_sampling *o);
/* Returns a number in [0, 1) that depends only on the seed and the counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter);
/* Returns the drawn token, or -1 if no token is allowed. `counter` is the
 * number of tokens in the answer so far; `order` [vocab] is scratch memory. */
ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order);

/* ---- beam.c, search_memory.c, search.c ---- */

/* Checks the options for choosing tokens (start, end, process, sampling) and
 * the threads. Returns 0 or an error. */
ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o);

/* The state of the search for one source (beam.c). */
struct attn_candidate { /* an open hypothesis and its next token */
    float sum; /* sum of log-probabilities, including that of the token */
    int32_t parent, token; /* hypothesis and token; token -1: dropped */
};
struct attn_beam {
    const struct attn_search_options *o;
    int64_t limit;  /* maximum tokens of an answer, with the end token */
    int64_t length; /* number of tokens of each open hypothesis */
    int64_t open;   /* number of open hypotheses; 0: the search is done */
    float *sum;     /* [beam] log-probability of each open hypothesis */
    int32_t *tokens, *spare; /* [beam][width] tokens of the open hypotheses;
                                a second buffer */
    int64_t width;
    struct attn_candidate *list; /* [room] best pairs of this step, in order */
    int64_t listed, room;        /* number of pairs in the list; its size:
                                    beam, plus beam for each end token */
    int32_t *answers; /* [results][width] tokens of the best answers */
    int32_t *order;   /* [vocab] scratch memory of sampling, or NULL */
    int64_t recorded, top_ended;  /* answers recorded so far; 1 after the best
                                   * pair of a step has ended */
    struct attn_hypothesis *best; /* [results] the best answers, best first */
    int64_t found;
};
/* Returns the divisor for a log-probability of `length` tokens. */
ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length);
/* Adds hypothesis `parent`, with each possible next token, to the list (in
 * greedy search, only with the best token). Never lists logits of -INFINITY.
 * Logits must not be NaN. */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp);
/* Ends a step: records answers, extends the hypotheses that stay open, stores
 * the parent of each, and sets `open` to 0 if the search is done. */
ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents);
/* Records hypothesis `parent`, followed by `token` unless it is -1, as an
 * answer. */
ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum);

/* Returns the number of rows that the decoder reads before the first token of
 * an answer to a source of `rows` rows. */
ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows);
/* True if a source of `rows` rows gets an answer. An empty source does if the
 * decoder reads a start token and has positions for an answer. */
ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o,
                              int64_t rows);
/* Returns the maximum rows of a source. */
ATTN_API int64_t attn_search_source(const struct attn_model *m);
/* Returns the maximum tokens of an answer to a source of `rows` rows. The last
 * token is never read, so it needs no position. */
ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead);
struct attn_search_request { /* arguments of attn_search() */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences;
    const int32_t *ids;   /* tokens of the concatenated sentences */
    const float *input;   /* instead of ids for a model that reads numbers:
                             input_width per row */
    const int32_t *start; /* [sentences + 1] first row of each sentence */
    void *memory;
    int64_t bytes; /* at least attn_search_bytes() */
};

#endif
