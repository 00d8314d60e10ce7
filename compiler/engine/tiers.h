/* tiers.h: declarations shared by the files of this directory. */
#ifndef ATTNC_ENGINE_TIERS_H
#define ATTNC_ENGINE_TIERS_H

#include "engine/engine.h"

/* ---- advice.c ---- */
/* Prints one line if there are records for the plan's tasks but none for this
 * host: a note with the options that would use them or, if the user named the
 * records file, a warning. */
void advise_on_records(const Engine *e);

/* ---- tiers.c ---- */

/* Sets *to to the tilings that the records have for this target and the
 * compiler of the options. */
bool engine_choices(const Engine *e, Arena *a, const EngineOptions *o,
                    const Target *t, Choices *to, Fault *why);
/* For the backend "auto", after engine_plan(): loads the model in two tiers if
 * possible, and otherwise leaves e->backend empty. Returns an exit code. */
int engine_tiers(Engine *e);
/* Returns true if there are records for the plan's tasks and the C compiler
 * that "auto" starts. */
bool engine_tuned_later(const Engine *e);

#endif
