/* score.h: the probability of a given target. */
#ifndef ATTN_SCORE_2
#define ATTN_SCORE_2

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

struct attn_score_request { /* a sentence pair, and memory for it */
    const struct attn_model *model;
    const void *bound;
    int32_t start;                        /* token; -1: none */
    const int32_t *source;                /* [source_n], of a decoder the */
    int64_t source_n;                     /* prompt */
    const int32_t *prefix;                /* [prefix_n] forced tokens, read */
    int64_t prefix_n;                     /* before the target; of none 0 */
    const int32_t *target;                /* [target_n], the end token */
    int64_t target_n;                     /* included */
    const struct attn_parallel *parallel; /* NULL: one thread */
    void *memory;
    int64_t bytes; /* attn_score_bytes(), or more */
};
/* Log-probability of each given target token. 0, or an error. */
ATTN_API int attn_score_pair(const struct attn_score_request *r,
                             float *log_probability);
/* Of how many tokens: the target's, and those that are forced before it. */
ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t source_n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel);
/* Appends the end token to a target, which has room for it, and passes over the
 * tokens that the options force, if it begins with all of them. Returns the
 * number of tokens then.                                                    */
ATTN_API int64_t attn_score_complete(const struct attn_search_options *o,
                                     int32_t **target, int64_t target_n);

#endif
