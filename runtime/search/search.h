/* search.h: the search that drives a model, and its parts: caches, logits
 * processors, sampling, beams.                                              */
#ifndef ATTN_SEARCH_2
#define ATTN_SEARCH_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* ---- cache.c ---- */

/* The size of a cache. A slot needs ceil(length / 64) pages of each group, or
 * fewer if the window and the new rows need fewer. `spare` pages are added; it
 * may be negative.                                                          */
struct attn_cache_size {
    int64_t which; /* ATTN_SELF or ATTN_CROSS */
    int64_t slots;
    int64_t length; /* maximum positions of each slot */
    int64_t spare;
    int64_t rows; /* maximum rows added to a slot at once; 0: no limit */
};
/* Returns the bytes of such a cache; -1 on overflow. */
ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size);
/* Makes an empty cache in memory of that size, at any alignment. */
ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size, void *memory);
/* Same, but takes its memory from `at`. */
ATTN_API void attn_cache_take(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size,
                              struct attn_memory *at);
/* Binds a batch: its sequence i uses slot first + i of this cache. */
ATTN_API void attn_cache_bind(const struct attn_cache *c, int64_t first,
                              struct attn_batch *b);
/* Returns the first page that the row after `length` others reads, or that the
 * last of these reads if it is read again.                                  */
ATTN_API int64_t attn_cache_first(const struct attn_cache_layout *is,
                                  int64_t length);
/* Returns the maximum rows of a sequence that are read at once, so that windows
 * can free pages in between.                                                */
ATTN_API int64_t attn_cache_rows(const struct attn_model *m);
/* Returns the recurrent layers' state after a row, which must be the last even
 * or the last odd one of its page.                                          */
ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row);
/* Adds `rows` positions to `slot`, in pages that only this slot uses: a partly
 * filled page with other readers is copied first. Frees pages that neither the
 * new rows nor the last row before them read. Returns 0, or -1 without any
 * change if pages or table entries do not suffice.                          */
ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows);
ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot);
/* Removes the positions from `length`. They must be all, or part of the last
 * growth and the row before it.                                             */
ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot,
                             int64_t length);
/* Makes slot `to` a copy of slot `from`; they share pages. */
ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to);
/* Sets slot i to the former slot parent[i], for i in 0 .. n - 1, all at once;
 * later slots become empty. Copies only tables.                             */
ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n,
                                 int32_t *scratch /* [n*(width+2)] */);

/* ---- math.c ---- */
ATTN_API float attn_exp(float x); /* <= 1.5 ulp, bit-identical everywhere */
ATTN_API float attn_log(float x); /* <= 2 ulp, x > 0 */
/* Returns a token's log-probability; never above 0, despite rounding. */
ATTN_API float attn_log_probability(float logit, float log_sum_exp);

enum { ATTN_BLOCK = 64 }; /* logits that are skipped together */
/* True if one of x[0 .. n - 1] is above `least`. */
ATTN_API int attn_any_above(const float *x, int64_t n, float least);

/* ---- process.c ---- */

/* True if the token ends an answer. */
ATTN_API int attn_ends(const struct attn_search_options *o, int64_t token);
/* Checks the options. Returns 0 or an error. */
ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab);
/* True if a token can be chosen: no logit is NaN or INFINITY, and at least one
 * is finite. -INFINITY marks a token that the model never produces.         */
ATTN_API int attn_logits_finite(const float *logits, int64_t n);
ATTN_API void attn_process_logits(const struct attn_search_options *o,
                                  float *logits, int64_t vocab,
                                  const int32_t *tokens,
                                  int64_t n /* so far, prefix included */);
/* Forbids the tokens of `forbid` after the probabilities are computed. Their
 * probability is not given to other tokens, so an answer's score equals that of
 * attn_score.                                                               */
ATTN_API void attn_forbid_logits(const struct attn_search_options *o,
                                 float *logits, int64_t vocab);

/* ---- sampling.c ---- */

/* True if every number is in its range. */
ATTN_API int attn_sampling_fits(const struct attn_sampling *o);
/* Returns a number in [0, 1) that depends only on the seed and the counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter);
/* Returns a token, or -1 if none is allowed. counter: tokens of the answer so
 * far. order: [vocab] scratch memory.                                       */
ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order);

/* ---- beam.c, search_memory.c, search.c ---- */

/* Checks the options for choosing tokens (start, end, process, sampling) and
 * threads. Returns 0 or an error.                                           */
ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o);

/* The state of one sentence's search (beam.c). */
struct attn_candidate {    /* an open hypothesis and its next token */
    float sum;             /* sum of log-probabilities */
    int32_t parent, token; /* token -1: dropped */
};
struct attn_beam {
    const struct attn_search_options *o;
    int64_t limit;           /* maximum tokens, with the end token */
    int64_t length;          /* tokens of each open hypothesis */
    int64_t open;            /* open hypotheses; 0: the search is done */
    float *sum;              /* [beam] log-probability of each */
    int32_t *tokens, *spare; /* [beam][width], and a second buffer */
    int64_t width;
    struct attn_candidate *list;  /* [room] the best of this step, in order */
    int64_t listed, room;         /* room: beam, plus beam for each end token */
    int32_t *answers;             /* [results][width] tokens of the best */
    int32_t *order;               /* [vocab] scratch of sampling, or NULL */
    int64_t recorded, top_ended;  /* number of answers; 1: the best ended */
    struct attn_hypothesis *best; /* [results] best first */
    int64_t found;
};
/* Returns the divisor for a log-probability of `length` tokens. */
ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length);
/* Adds to the list hypothesis `parent` with every token (greedy: the best).
 * Logits of -INFINITY are never listed; NaN is not allowed.                 */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp);
/* Ends a step: records answers, extends the hypotheses that stay open, writes
 * their parents, and sets open to 0 when the search is done.                */
ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents);
/* Records as an answer hypothesis `parent` with `token` (-1: without). */
ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum);

/* The state of a search over all sentences (search_memory.c). */
struct attn_search_state {
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences, source_rows, longest;
    int64_t sources, slots;   /* sequences in a call of encode, of decode */
    int64_t limit, positions; /* maximum of all sentences */
    struct attn_cache self, cross;
    struct attn_beam *beam;  /* [sentences] */
    struct attn_batch batch; /* with the arrays that it points to: */
    int32_t *source_ids, *source_start, *source_rows_of;
    float *source_input; /* instead of source_ids */
    int32_t *ids, *start, *past, *select, *source;
    int32_t *parents, *scratch;
    float *logits;  /* [slots][target_vocab] */
    int32_t *order; /* [target_vocab] if tokens are sampled */
    void *arena;
};
/* Returns the rows that the decoder reads before the first token of an answer
 * to a source of `rows` rows.                                               */
ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows);
/* True if a source of `rows` rows gets an answer. An empty one does if the
 * decoder reads a start token and has positions for an answer.              */
ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o,
                              int64_t rows);
/* Returns the maximum rows of a source. */
ATTN_API int64_t attn_search_source(const struct attn_model *m);
/* Returns the maximum tokens of such an answer. The last token is never read,
 * so it needs no position.                                                  */
ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead);
/* Truncates source_rows and longest by the options, then sets the other sizes,
 * the arrays and the caches.                                                */
ATTN_API void attn_search_lay_out(struct attn_search_state *s,
                                  struct attn_memory *at);

struct attn_search_request { /* arguments of attn_search() */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences;
    const int32_t *ids;   /* tokens of the concatenated sentences */
    const float *input;   /* instead of ids for a model that reads numbers:
                             input_width per row */
    const int32_t *start; /* [sentences + 1] first row of each */
    void *memory;
    int64_t bytes; /* at least attn_search_bytes() */
};

#endif
