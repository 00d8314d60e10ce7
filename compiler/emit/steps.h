/* steps.h: the bodies of the model's steps, by kind. */
#ifndef ATTNC_EMIT_STEPS_H
#define ATTNC_EMIT_STEPS_H

#include "emit/gen.h"

/* -------------------------------------------------------------- rows.c --- */
void emit_row_op(Gen *g, Emit *e, int node);

/* ------------------------------------------------------------ gather.c --- */
void emit_embed(Gen *g, Emit *e, int node);
void emit_position(Gen *g, Emit *e, int node);
void emit_rotate(Gen *g, Emit *e, int node);
void emit_first_row(Gen *g, Emit *e, int node);
void emit_pool(Gen *g, Emit *e, int node);
void emit_select(Gen *g, Emit *e, int node);

/* ---------------------------------------------------------- kv_cache.c --- */
void emit_attention_region(Gen *g, Emit *e, int node);
void emit_pages_region(Gen *g, Emit *e, const Region *r);

/* --------------------------------------------------- naive_attention.c --- */
void emit_scores_region(Gen *g, Emit *e, int node);
void emit_context_region(Gen *g, Emit *e, int node);
void emit_head_rows_region(Gen *g, Emit *e, int node);

#endif
