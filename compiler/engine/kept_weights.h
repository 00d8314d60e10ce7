/* kept_weights.h: packed weights that are kept from run to run. */
#ifndef ATTNC_KEPT_WEIGHTS_H
#define ATTNC_KEPT_WEIGHTS_H

#include "engine/engine.h"

/* Memory of the plan's packed weights, with room for what is kept behind. */
void *weights_memory(Engine *e);
/* Takes those of e->file and e->plan that an earlier run kept, where the engine
 * keeps weights and their hashes are right.                                  */
bool weights_kept(Engine *e);
/* What was packed now may be kept, if it is `good`: all values are finite, and
 * the file is of a time that tells when it is changed.                       */
void weights_may_keep(Engine *e, bool good);
/* Keeps it, by a process of its own, which nobody waits for. */
void weights_keep(Engine *e);

#endif
