/* plan_parts.h: shared by the files of the plan. plan.c calls them all; each
 * may call those listed above it:
 *
 *   epilogue.c       names of epilogues
 *   tiling.c         the table of parameters, and tilings as text
 *   values.c         where a node's value lives; caches
 *   rank_columns.c   what a rank needs of each value
 *   value_names.c    names of values, steps and regions
 *   pack.c           blocks of packed weights
 *   identity.c       identities of tasks, and their names
 *   tasks.c          tasks and their tilings
 *   step_work.c      cost of a step, for dividing it among threads
 *   fixed.c          lengths compiled in as constants
 *   unroll.c         loops over layers, and their size if unrolled
 *   arena_layout.c   slots of the arena and their offsets
 *   counted.c        sizes of the model without compiling it
 *   plan_report.c    output of `attnc plan`
 *   plan.c           order and regions */
#ifndef ATTNC_PLAN_PARTS_H
#define ATTNC_PLAN_PARTS_H

#include "plan/plan.h"

enum { NearBytes = 1 << 20 }; /* weights of this size fit in a core's cache */

/* ---- values.c ---- */
bool emits_code(const Node *n);
void plan_values(Plan *p);
void plan_caches(Plan *p);

/* ---- rank_columns.c ---- */

/* Finds what the ranks of a divided model exchange, and widens the rows of
 * products that hold two sums. */
void plan_ranks(Plan *p);

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

/* Decides which regions are never divided. Runs last, because it needs the
 * tasks and the regions. */
void plan_divisions(Plan *p);

#endif
