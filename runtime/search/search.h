/* search.h: the decoder that drives a model: caches, logits processors,
 * sampling, beams, and the search over all of them.                         */
#ifndef ATTN_SEARCH_2
#define ATTN_SEARCH_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* ---- cache.c ---- */

/* How large a cache is: has it `spare` pages more (negative: fewer) than what
 * is always enough, of each group ceil(length / 64) a slot, and no more than
 * what its window and new rows lie in. */
struct attn_cache_size {
    int64_t which; /* ATTN_SELF, ATTN_CROSS */
    int64_t slots;
    int64_t length; /* of each: positions, at most */
    int64_t spare;
    int64_t rows; /* by which a slot is lengthened at once, at most; 0: any */
};
/* Bytes of such a cache; -1: too large for int64. */
ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size);
/* An empty one in memory of that many bytes, of any alignment. */
ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size, void *memory);
/* The same in memory that it takes for itself. */
ATTN_API void attn_cache_take(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size,
                              struct attn_memory *at);
/* The batch's sequence i reads and writes slot first + i of this cache. */
ATTN_API void attn_cache_bind(const struct attn_cache *c, int64_t first,
                              struct attn_batch *b);
/* The first page that a row behind `length` others reads, or the last of these,
 * should it be read again.                                                  */
ATTN_API int64_t attn_cache_first(const struct attn_cache_layout *is,
                                  int64_t length);
/* Rows of a sequence that are read at once, that windows may give their pages
 * back before the last of them are read.                                    */
ATTN_API int64_t attn_cache_rows(const struct attn_model *m);
/* What recurrent layers left after that row of the slot, the last of its page's
 * even or odd ones.                                                         */
ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row);
/* Lengthens `slot` by `rows` positions, whose pages are the slot's alone: an
 * open page that others also read is copied first. Pages that neither they nor
 * the last row before them read are given back. 0; or -1, and nothing has
 * changed, when pages or the table do not suffice.                          */
ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows);
ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot);
/* Forgets the positions from `length` on: all, or some of the last growth and
 * the row before it.                                                        */
ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot,
                             int64_t length);
/* Slot `to` becomes what slot `from` is: they share its pages. */
ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to);
/* Slot i becomes what slot parent[i] was, for i in 0..n-1, all at once; later
 * slots become empty. Nothing is copied but tables.                         */
ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n,
                                 int32_t *scratch /* [n*(width+2)] */);

/* ---- math.c ---- */
ATTN_API float attn_exp(float x); /* <= 1.5 ulp; own, so that all agree */
ATTN_API float attn_log(float x); /* <= 2 ulp, x > 0 */
/* Of a token with this logit; never above 0, whatever the rounding. */
ATTN_API float attn_log_probability(float logit, float log_sum_exp);

enum { ATTN_BLOCK = 64 }; /* logits that are passed over at once */
/* Is one of x[0..n-1] larger than that? */
ATTN_API int attn_any_above(const float *x, int64_t n, float least);

/* ---- process.c ---- */

/* Are the options right? 0, or an error. */
/* Does this token end an answer? */
ATTN_API int attn_ends(const struct attn_search_options *o, int64_t token);
ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab);
/* Can a token be chosen? Not where a logit is NaN or INFINITY, or none is
 * finite. One of -INFINITY is a token that the model never gives.           */
ATTN_API int attn_logits_finite(const float *logits, int64_t n);
ATTN_API void attn_process_logits(const struct attn_search_options *o,
                                  float *logits, int64_t vocab,
                                  const int32_t *tokens,
                                  int64_t n /* so far, prefix included */);
/* Those of `forbid`, once the probabilities are known: theirs falls to nobody,
 * so that an answer's score is what attn_score gives it.                    */
ATTN_API void attn_forbid_logits(const struct attn_search_options *o,
                                 float *logits, int64_t vocab);

/* ---- sampling.c ---- */

/* Is every number in its range? */
ATTN_API int attn_sampling_fits(const struct attn_sampling *o);
/* In [0, 1): the same for the same seed and counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter);
/* A token; -1: none is allowed. counter: tokens of the answer so far. order:
 * [vocab], to work in.                                                      */
ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order);

/* ---- beam.c, search_memory.c, search.c ---- */

/* How a token is chosen: start, end, process, sampling; and threads. 0, or an
 * error.                                                                    */
ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o);

/* What a search knows of one sentence, and (beam.c) its rules. */
struct attn_candidate {    /* an open hypothesis, longer by a token */
    float sum;             /* of log-probabilities */
    int32_t parent, token; /* token -1: an empty place */
};
struct attn_beam {
    const struct attn_search_options *o;
    int64_t limit;           /* tokens, the end token counted */
    int64_t length;          /* tokens of each open hypothesis */
    int64_t open;            /* open hypotheses; 0: the search is done */
    float *sum;              /* [beam] log-probability of each */
    int32_t *tokens, *spare; /* [beam][width], and room for the next */
    int64_t width;
    struct attn_candidate *list;  /* [room] this step's best, best first */
    int64_t listed, room;         /* beam, and as many that end */
    int32_t *answers;             /* [results][width] tokens of the best */
    int32_t *order;               /* [vocab] to sample in, or NULL */
    int64_t recorded, top_ended;  /* answers so far; first place ended once */
    struct attn_hypothesis *best; /* [results] best first */
    int64_t found;
};
/* Divisor of a log-probability of `length` tokens; 1 for none of them. */
ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length);
/* Offers hypothesis `parent` with every token to the list (greedy: its best).
 * Logits of -INFINITY are never listed; NaN must not be there.              */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp);
/* Ends a step: records answers, extends what stays open, writes the parent of
 * each open hypothesis, sets open to 0 when the search is done.             */
ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents);
/* Records hypothesis `parent`, with `token` (-1: as it stands). */
ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum);

/* What a search knows of all of them, and (search_memory.c) its sizes. */
struct attn_search_state {
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences, source_rows, longest;
    int64_t sources, slots;   /* sentences and hypotheses of a call */
    int64_t limit, positions; /* the most of any sentence */
    struct attn_cache self, cross;
    struct attn_beam *beam;  /* [sentences] */
    struct attn_batch batch; /* and the arrays that it points to: */
    int32_t *source_ids, *source_start, *source_rows_of;
    float *source_input; /* in the place of source_ids */
    int32_t *ids, *start, *past, *select, *source;
    int32_t *parents, *scratch;
    float *logits;  /* [slots][target_vocab] */
    int32_t *order; /* [target_vocab] where tokens are sampled */
    void *arena;
};
/* Rows that the decoder reads before the first token of an answer to a source
 * of `rows` rows. */
ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows);
/* Is a source of `rows` rows a question? One of none is where the decoder reads
 * a start token, and has room for an answer.                                */
ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o,
                              int64_t rows);
/* Rows that a source may have. */
ATTN_API int64_t attn_search_source(const struct attn_model *m);
/* Tokens that such an answer may have: the last needs no position, for it is
 * never read. */
ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead);
/* Cuts source_rows and longest by the options, then sets the other sizes, the
 * arrays and the caches. */
ATTN_API void attn_search_lay_out(struct attn_search_state *s,
                                  struct attn_memory *at);

struct attn_search_request { /* what a search is asked for: attn_search() */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences;
    const int32_t *ids;   /* their tokens, one sentence after the other */
    const float *input;   /* in their place, of a model that reads numbers:
                             input_width of them a row */
    const int32_t *start; /* [sentences + 1] where each begins there */
    void *memory;
    int64_t bytes; /* attn_search_bytes(), or more */
};

#endif
