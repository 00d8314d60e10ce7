/* pool.h: threads that run the parts of a model's calls, and the useful number
 * of threads. This code is in attnc, and in an emitted file if ATTNC_MAIN or
 * ATTNC_THREADS is defined. */
#ifndef ATTN_POOL_1
#define ATTN_POOL_1

#include "memory.h"

enum { ATTN_POOL_MOST = 256 }; /* maximum threads of a pool */

struct attn_pool;

/* Opens a pool of `threads` threads, including the calling thread, 1 to
 * ATTN_POOL_MOST. If the system refuses some of them, the pool has fewer, and
 * attn_pool_refused() returns the reason. Returns NULL if memory runs out. */
ATTN_API struct attn_pool *attn_pool_open(int64_t threads);
ATTN_API void attn_pool_close(struct attn_pool *p); /* p may be NULL */
/* Returns the pool as an argument for a batch or a search; `parts` is its
 * number of threads. A call within another call, or from a second thread while
 * one is running, runs all its parts on its own thread. */
ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p);
/* Returns the reason why the pool has fewer threads than requested, or NULL if
 * all started. */
ATTN_API const char *attn_pool_refused(const struct attn_pool *p);

/* ---- cores.c ---- */

/* Returns the number of physical cores that this process may use, 1 to
 * ATTN_POOL_MOST. The affinity and the control group of the process limit
 * it. */
ATTN_API int64_t attn_cores(void);
/* Returns the number of processors that the text of a cpu.max file grants; 0:
 * no limit. */
ATTN_API int64_t attn_cores_granted(const char *cpu_max);
#ifdef __linux__
/* Returns the smallest number of processors that a control group in the file
 * `groups`, such as /proc/self/cgroup, grants, or a group above one; 0: no
 * limit. The groups of version 2 are folders below `mount`, those of version 1
 * folders below `mount`/cpu. */
ATTN_API int64_t attn_cores_of_groups(const char *groups, const char *mount);
#endif

#endif
