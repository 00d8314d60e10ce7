/* pool.h: threads that run the parts of a model's calls, and the number of
 * useful threads. attnc contains them; an emitted file does under ATTNC_MAIN or
 * ATTNC_THREADS.                                                            */
#ifndef ATTN_POOL_1
#define ATTN_POOL_1

#include "memory.h"

enum { ATTN_POOL_MOST = 256 }; /* threads of one pool */

struct attn_pool;

/* Opens a pool of the calling thread and `threads` - 1 others, 1 to
 * ATTN_POOL_MOST in all. If the system refuses a thread, there are fewer:
 * attn_pool_refused() has the reason. Returns NULL if memory runs out.      */
ATTN_API struct attn_pool *attn_pool_open(int64_t threads);
ATTN_API void attn_pool_close(struct attn_pool *p); /* NULL is allowed */
/* Returns the pool in the form that a batch or a search takes; `parts` is its
 * number of threads. Nested calls, and calls from a second thread while one is
 * running, run all their parts on the calling thread.                       */
ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p);
/* Returns why there are fewer threads than requested, or NULL if all
 * started.                                                                  */
ATTN_API const char *attn_pool_refused(const struct attn_pool *p);

/* ---- cores.c ---- */

/* Returns the number of physical cores that this process may use, 1 to
 * ATTN_POOL_MOST. Both its affinity and its control group limit it.         */
ATTN_API int64_t attn_cores(void);
/* Returns the processors that the text of a cpu.max file grants; 0: no
 * limit.                                                                    */
ATTN_API int64_t attn_cores_granted(const char *cpu_max);

#endif
