/* step.h: emits the bodies of the model's steps, one function per kind of
 * step. */
#ifndef ATTNC_STEP_H
#define ATTNC_STEP_H

#include "emit/gen/gen.h"

/* How the C for an op is emitted, from the column `code` of graph/ops.h: as a
 * call of a kernel on rows, or by a function. */
typedef struct OpCode OpCode;
typedef void EmitStep(Gen *g, Emit *e, int node);
typedef void EmitScoreRow(Gen *g, Emit *e, int node, const char *y,
                          const char *x);
struct OpCode {
    EmitStep *step;          /* emits the complete step; NULL: see the members
                              * below */
    EmitScoreRow *score_row; /* emits one row of scores, from x to y */
    const char *rows;        /* kernel that is called with rows, then vectors */
    int inputs;              /* number of inputs that are rows */
    bool by_activation;      /* the kernel's name ends in that of the
                              * activation */
    size_t number;           /* offset in Node of the kernel's last argument; 0:
                              * none */
};

/* ---- step_rows.c ---- */
EmitStep emit_join, emit_scale_columns, emit_quantize, emit_product, emit_norm,
    emit_add_norm, emit_head_norm, emit_output;
void emit_rows(Gen *g, Emit *e, int node, const OpCode *code);
/* Returns the last argument of the kernel, e.g. ", 0.125", or "" if it has
 * none. */
const char *last_number(Gen *g, const Node *n, const OpCode *code);

/* ---- rank_sums.c ---- */

/* Emits the half `g->finish` of a node of which adds_terms() is true. */
EmitStep emit_rank_sums;
/* True if such a node has the second of the two halves. */
bool has_rank_finish(const Gen *g, int node);

/* ---- step_gather.c ---- */
EmitStep emit_embed, emit_position, emit_rotate, emit_first_row, emit_pool,
    emit_select;

/* ---- step_recurrent.c ---- */
EmitStep emit_recurrent;
/* ---- step_convolution.c ---- */
EmitStep emit_taps, emit_depthwise, emit_patches;

/* ---- step_experts.c ---- */
EmitStep emit_choose, emit_weigh, emit_routes, emit_spread, emit_combine;
/* Emits a product in which each row uses its expert's weights. */
void emit_by_experts(Gen *g, Emit *e, int node);

/* ---- kv_cache.c ---- */
EmitStep emit_attention, emit_pack_kv;

/* ---- naive_attention.c ---- */
EmitStep emit_scores, emit_context;
EmitScoreRow emit_score_bias, emit_mask, emit_weights;
/* Emits an op on stored scores, one row of one head at a time. */
void emit_score_rows(Gen *g, Emit *e, int node, const OpCode *code);

#endif
