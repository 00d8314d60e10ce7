/* pool.h: threads that run the parts of a model's calls; how many are worth
 * having. attnc has them, and the emitted file under ATTNC_MAIN or
 * ATTNC_THREADS.                                                            */
#ifndef ATTN_POOL_1
#define ATTN_POOL_1

#include "memory.h"

enum { ATTN_POOL_MOST = 256 }; /* threads of one pool */

struct attn_pool;

/* The thread that calls and `threads` - 1 others, 1 to ATTN_POOL_MOST in all.
 * Fewer where the system refuses one: attn_pool_refused says so. NULL: no
 * memory.                                                                   */
ATTN_API struct attn_pool *attn_pool_open(int64_t threads);
ATTN_API void attn_pool_close(struct attn_pool *p); /* NULL: nothing to do */
/* What a batch or a search takes; its parts are the pool's threads. A part that
 * runs parts itself, or a second thread that does so at the same time, runs
 * them alone, one after the other.                                          */
ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p);
/* Why there are fewer threads than were asked for; NULL: there are not. */
ATTN_API const char *attn_pool_refused(const struct attn_pool *p);

/* ---- cores.c ---- */

/* Physical cores that this process may use: by its affinity, and not more than
 * its control group's share of the processors. 1 to ATTN_POOL_MOST.         */
ATTN_API int64_t attn_cores(void);
/* Processors that the text of a cpu.max file grants; 0: any number. */
ATTN_API int64_t attn_cores_granted(const char *cpu_max);

#endif
