/* cached_weights.h: packed weights cached between runs. */
#ifndef ATTNC_CACHED_WEIGHTS_H
#define ATTNC_CACHED_WEIGHTS_H

#include "engine/engine.h"

/* Allocates memory for the plan's packed weights, followed by their hashes. */
void *weights_memory(Engine *e);
/* Loads the packed weights of e->file and e->plan that an earlier run cached.
 * Returns false if there are none, their hashes differ, or the engine does not
 * use the cache. */
bool weights_cached(Engine *e);
/* Allows caching the weights packed now if `good` (all values are finite) and
 * the file is old enough that a later change alters its time stamps. */
void weights_allow_cache(Engine *e, bool good);
/* Writes the weights to the cache in a child process that is not waited for. */
void weights_cache(Engine *e);

#endif
