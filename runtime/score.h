/* score.h: the probability of a given target. */
#ifndef ATTN_SCORE_1
#define ATTN_SCORE_1

#include "memory.h"

/* Log-probability of each given target token (the end token included by the
 * caller) of one sentence pair: one pass over the whole target. 0, or an
 * error.                                                                    */
ATTN_API int attn_score(const struct attn_model *m, const void *bound,
                        int32_t start_token, const int32_t *source, int64_t n,
                        const int32_t *target, int64_t target_n,
                        const struct attn_parallel *parallel, void *memory,
                        int64_t bytes, float *log_probability);
ATTN_API int64_t attn_score_bytes(const struct attn_model *m, int64_t n,
                                  int64_t target_n,
                                  const struct attn_parallel *parallel);

#endif
