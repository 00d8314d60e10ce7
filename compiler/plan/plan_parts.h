/* plan_parts.h: what the files of the plan share. Each of them calls those
 * above it here, and plan.c drives them:
 *
 *   epilogue.c  what an epilogue is called
 *   tiling.c    the table of parameters, and tilings as text
 *   values.c    where a node's value lives; caches
 *   value_names.c     what values, steps and regions are called
 *   pack.c      blocks of packed weights
 *   identity.c  what tells tasks apart, and their names
 *   tasks.c     what is tuned: tasks and their tilings
 *   step_work.c      what a step is worth, for threads
 *   fixed.c     lengths that are constants
 *   unroll.c    loops over layers, and the code that these would be
 *   arena_layout.c     slots of the arena and their offsets
 *   counted.c   the model's sizes, as if it were compiled
 *   plan_report.c    what `attnc plan` prints
 *   plan.c      order and regions */
#ifndef ATTNC_PLAN_PARTS_H
#define ATTNC_PLAN_PARTS_H

#include "plan/plan.h"

enum { NearBytes = 1 << 20 }; /* of weights that stay in a core's cache */

/* ---- values.c ---- */
bool emits_code(const Node *n);
void plan_values(Plan *p);
void plan_caches(Plan *p);

/* ---- value_names.c ---- */
const char *local_name(Arena *a, const Node *n);
const char *region_name(const Plan *p, const Region *r);
void plan_labels(Plan *p);

/* ---- identity.c ---- */
TaskIdentity product_identity(const Plan *p, TaskKind kind, int node);
TaskIdentity attention_identity(const Plan *p, int node);
TaskIdentity rows_identity(const Plan *p, const Region *r);
TaskIdentity split_identity(const Plan *p);

/* ---- pack.c, tasks.c, arena_layout.c ---- */
void plan_pack(Plan *p);
void plan_tasks(Plan *p);
int64_t plan_scratch(const Plan *p);
void plan_arena(Plan *p);

/* ---- fixed.c ---- */

/* Which regions are never divided, once all else is known. */
void plan_divisions(Plan *p);

#endif
