/* check.h: a look at what a caller gives, one kind of argument after the other:
 * each returns 0, or its error. A list of no entries may be NULL.           */
#ifndef ATTN_CHECK_2
#define ATTN_CHECK_2

#include "memory.h"

ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most);
ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab);
/* start[0] is 0, none is below the one before it or more than `longest` above,
 * and start[n] is `rows`.                                                   */
ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest);
ATTN_API int attn_check_parallel(const struct attn_parallel *p);
/* Has a batch, whose tables have been looked at, the lengths that the model's
 * code was made for? A source of it has no rows for `learned` rows.         */
ATTN_API int attn_check_fixed(const struct attn_model *m,
                              const struct attn_batch *b, int decodes,
                              int64_t learned);
/* Calls an inner entry, where the batch has these lengths. Its sources have the
 * learned rows.                                                             */
ATTN_API int attn_enter(const struct attn_model *m, const void *bound,
                        const struct attn_batch *b, void *arena, int decodes);

#endif
