/* score.h: log-probabilities of a given target. */
#ifndef ATTN_SCORE_2
#define ATTN_SCORE_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

struct attn_score_request { /* source and target, with memory to score it */
    const struct attn_model *model;
    const void *bound;
    int32_t start;         /* start token; -1: none */
    const int32_t *source; /* [source_n] the source, or a decoder's prompt */
    int64_t source_n;      /* number of tokens in source[] */
    const int32_t *prefix; /* [prefix_n] tokens forced before the target, not
                            * scored */
    int64_t prefix_n;      /* number of tokens in prefix[] */
    const int32_t *target; /* [target_n] the target, with the end token */
    int64_t target_n;      /* number of tokens in target[] */
    const struct attn_parallel *parallel; /* NULL: one thread */
    void *memory;
    int64_t bytes; /* at least attn_score_bytes() */
};
/* Computes the log-probability of each target token. Returns 0 or an error. */
ATTN_API int attn_score_pair(const struct attn_score_request *r,
                             float *log_probability);
/* Returns the number of bytes needed. target_n includes the forced tokens. */
ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t source_n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel);
/* Completes a target. Appends the end token, if there is one; (*target)[] must
 * have space for it. Then skips the options' forced prefix if the target begins
 * with it. Returns the new number of tokens. */
ATTN_API int64_t attn_score_complete(const struct attn_search_options *o,
                                     int32_t **target, int64_t target_n);

#endif
