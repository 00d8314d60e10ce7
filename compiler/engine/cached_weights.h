/* cached_weights.h: caches packed weights between runs. */
#ifndef ATTNC_CACHED_WEIGHTS_H
#define ATTNC_CACHED_WEIGHTS_H

#include "engine/engine.h"

/* Allocates memory for the plan's packed weights and, after them, their
 * hashes. */
void *weights_memory(Engine *e);
/* Loads the packed weights that an earlier run cached for e->file and e->plan.
 * Returns false if there are none, their hashes differ, or the engine does not
 * use the cache. */
bool weights_cached(Engine *e);
/* Allows caching of the weights just packed if `good` is true (all values are
 * finite) and the file is old enough that any later change alters its time
 * stamp. */
void weights_allow_cache(Engine *e, bool good);
/* Writes the packed weights to the cache in a child process, without waiting
 * for it. */
void weights_cache(Engine *e);

#endif
