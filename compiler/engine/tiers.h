/* tiers.h: what the files of this room share. */
#ifndef ATTNC_ENGINE_TIERS_H
#define ATTNC_ENGINE_TIERS_H

#include "engine/engine.h"

/* ---- engine_host.c ---- */
/* What code is made for by these options. */
bool engine_target(const EngineOptions *o, Target *t, Fault *why);

/* ---- advice.c ---- */
/* Prints a line if there are records of the plan's tasks, but none for this
 * host: a note with the options by which they would be used or, of a file that
 * was named, a warning. */
void advise_on_records(const Engine *e);

/* ---- tiers.c ---- */

/* Of back end "auto" and an engine that has its plan: the model in two tiers,
 * or, where there can't be two, none yet. An exit code.                      */
int engine_tiers(Engine *e);
/* Are there records of the plan's tasks for the C compiler of "auto"? */
bool engine_tuned_later(const Engine *e);

#endif
