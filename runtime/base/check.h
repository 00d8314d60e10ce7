/* check.h: checks of a caller's arguments, one function per kind of argument.
 * Each returns 0 or an error. An empty list may be NULL.                    */
#ifndef ATTN_CHECK_2
#define ATTN_CHECK_2

#include "memory.h"

ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most);
ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab);
/* Checks that start[0] is 0, that each following entry is larger by 0 to
 * `longest`, and that start[n] is `rows`. */
ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest);
ATTN_API int attn_check_parallel(const struct attn_model *m,
                                 const struct attn_parallel *p);
/* Checks that a batch has the lengths for which the model was compiled. The
 * tables of the batch must be valid. `learned` is the number of rows that each
 * source sequence lacks. */
ATTN_API int attn_check_fixed(const struct attn_model *m,
                              const struct attn_batch *b, int decodes,
                              int64_t learned);
/* Calls an inner entry if the batch has the lengths for which the model was
 * compiled. The source sequences include the learned rows. */
ATTN_API int attn_enter(const struct attn_model *m, const void *bound,
                        const struct attn_batch *b, void *arena, int decodes);

#endif
