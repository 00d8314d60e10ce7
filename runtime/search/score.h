/* score.h: the rows that a decoder gives for known tokens, and from them the
 * log-probabilities of a given target. */
#ifndef ATTN_SCORE_2
#define ATTN_SCORE_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* Limits of pairs that are scored together: so many, and no pair is added to so
 * many tokens. */
enum { ATTN_SCORE_PAIRS = 32, ATTN_SCORE_TOKENS = 2048 };

struct attn_score_pair {   /* a source, or a decoder's prompt, and a target */
    const int32_t *source; /* [source_n] */
    int64_t source_n;
    const int32_t *target; /* [target_n], with the end token. The decoder does
                            * not read the last one */
    int64_t target_n;
    int64_t rows; /* number of rows that are given, of those that the decoder
                   * reads the last; 0: target_n */
};

struct attn_score_request { /* pairs, with memory to score them */
    const struct attn_model *model;
    const void *bound;
    int32_t start;         /* start token; -1: none */
    const int32_t *prefix; /* [prefix_n] tokens forced before each target, not
                            * scored */
    int64_t prefix_n;      /* number of tokens in prefix[] */
    const struct attn_score_pair *pair; /* [pairs] */
    int64_t pairs;
    const struct attn_parallel *parallel; /* NULL: one thread */
    void *memory;
    int64_t bytes;          /* at least attn_score_bytes() */
    float *log_probability; /* [target_n of all pairs] of each target token,
                             * written; NAN if no token can be chosen from its
                             * logits */
#if ATTN_IN_ATTNC
    float *output; /* [rows of all pairs][output_columns] written instead of
                    * log_probability */
#endif
};
/* Scores all pairs, whose tokens go through the model together. The bits of a
 * pair do not depend on the others. Returns 0 or an error. */
ATTN_API int attn_score_pairs(const struct attn_score_request *r);
/* Returns the number of bytes needed, or an error. Only the sizes of the pairs
 * are read, not their tokens. */
ATTN_API int64_t attn_score_bytes(const struct attn_score_request *r);
/* Checks the tokens and sizes of a pair. Returns 0 or an error. */
ATTN_API int attn_score_check(const struct attn_score_request *r,
                              const struct attn_score_pair *p);
/* Returns the maximum pairs of a request: one if the model has a fixed size. */
ATTN_API int64_t attn_score_most(const struct attn_model *m);
/* Completes a target. Appends the end token, if there is one; (*target)[] must
 * have space for it. Then skips the options' forced prefix if the target begins
 * with it. Returns the new number of tokens. */
ATTN_API int64_t attn_score_complete(const struct attn_search_options *o,
                                     int32_t **target, int64_t target_n);

#endif
