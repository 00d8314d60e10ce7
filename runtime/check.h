/* check.h: a look at what a caller gives, and a model's entries behind it. A
 * part of core.h, which includes it.                                        */
#ifndef ATTN_CHECK_1
#define ATTN_CHECK_1

#include "core.h"

/* ------------------------------------------------------------ check.c --- */
/* An error in words. */
ATTN_API const char *attn_error_text(int64_t error);

/* Each looks at one kind of argument: 0, or its error. A list of no entries may
 * be NULL.                                                                  */
ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most);
ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab);
/* start[0] is 0, none is below the one before it or more than `longest` above,
 * and start[n] is `rows`.                                                   */
ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest);
ATTN_API int attn_check_parallel(const struct attn_parallel *p);

/* ------------------------------------------------------------ batch.c --- */
/* Bytes of memory that encode() and decode() need for a batch, by its sizes and
 * threads; or an error.                                                     */
ATTN_API int64_t attn_batch_bytes(const struct attn_model *m,
                                  const struct attn_batch *b);
/* The model's inner encode(), in memory of batch_bytes(), behind a look at all
 * ids, lengths and tables of the batch. 0; or an error, and it has not run. */
ATTN_API int attn_encode(const struct attn_model *m, const void *bound,
                         const struct attn_batch *b, void *memory,
                         int64_t bytes);
/* The same of its inner decode(). What is not looked at: that no two sequences
 * write one page.                                                           */
ATTN_API int attn_decode(const struct attn_model *m, const void *bound,
                         const struct attn_batch *b, void *memory,
                         int64_t bytes);

#endif
