/* parts.h: shared by the files of the plan and of the emitter. */
#ifndef ATTNC_PLAN_PARTS_H
#define ATTNC_PLAN_PARTS_H

#include "plan/plan.h"

enum { NearBytes = 1 << 20 };   /* of weights that stay in a core's cache */

int64_t round16(int64_t n);
int64_t row_stride(int64_t columns);          /* floats from row to row */
Dtype   dtype_of(Type t);                     /* of weights */
Sym     row_sym(Type t);                      /* which rows a value has */
int     owner_of(const Plan *p, int node);
const char *value_label(const Plan *p, int node);  /* of what emits code */
const char *local_name(Arena *a, const Node *n);
const char *step_name(const Plan *p, int node);      /* encoder_ffn_w1 */
int64_t block_floats(const Plan *p, int cache);
int64_t cache_offset(const Plan *p, const Node *n);

int64_t step_work(const Plan *p, int node);   /* FLOPs of a row, or as long */
int64_t least_part_rows(const Plan *p, const Region *r);

void plan_pack(Plan *p);
void plan_arena(Plan *p);
void plan_tasks(Plan *p);
int64_t plan_scratch(const Plan *p);
int64_t region_rows(const Plan *p, const Region *r); /* of a block of it */
int  plan_mask(const Plan *p, const MaskSpec *m);    /* of a file: 1, 2 .. */
int32_t usual_ahead(int nr);                         /* Tiling.ahead */
/* The block of biases by distance that a node adds to scores. */
int  plan_bias_block(const Plan *p, int node);
int64_t bias_width(const Block *b);           /* 2 * longest - 1 distances */
int  plan_block(const Plan *p, int root, PackLayout layout);   /* -1: none */
/* The blocks of a layer, of the model where it is -1; NULL: it has none. */
const LayerBlocks *plan_layer(const Plan *p, const char *stack, int layer);

#endif
