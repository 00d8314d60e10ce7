/* pool.h: attnc's own threads, which run the parts of a model's calls. */
#ifndef ATTNC_POOL_H
#define ATTNC_POOL_H

#include "rt.h"

enum { PoolMost = 256 }; /* threads of one pool */

typedef struct Pool Pool;

/* The thread that calls and `threads` - 1 others, 1 to PoolMost in all. Fewer
 * where the system refuses one: pool_refused says so. NULL: no memory.      */
Pool *pool_open(int64_t threads);
void pool_close(Pool *p); /* NULL: nothing to do */
/* What a batch or a search takes; its parts are the pool's threads. A part that
 * runs parts itself, or a second thread that does so at the same time, runs
 * them alone, one after the other.                                          */
const struct attn_parallel *pool_parallel(const Pool *p);
/* Why there are fewer threads than were asked for; NULL: there are not. */
const char *pool_refused(const Pool *p);

/* ----------------------------------------------------------- cores.c --- */
/* Physical cores that this process may use: by its affinity, and not more than
 * its control group's share of the processors. At least 1, at most PoolMost. */
int64_t cores_usable(void);
/* Processors that the text of a cpu.max file grants; 0: any number. */
int64_t cores_granted(const char *cpu_max);

#endif
