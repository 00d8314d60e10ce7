/* c_names.h: how emitted C names the plan's values, weights, rows and sizes. */
#ifndef ATTNC_C_NAMES_H
#define ATTNC_C_NAMES_H

#include "emit/gen/gen.h"

/* ---- values ---- */

/* Returns the address of a value's row in the batch. */
const char *value_at(Gen *g, int node, const char *row);
/* Does the same for a block's first row, in a step that runs row by row. */
const char *block_at(Gen *g, int node);
/* Does the same for a part's first row, counted in the part's block if any. */
const char *part_at(Gen *g, int node);
/* Does the same for the first of all rows. */
const char *first_at(Gen *g, int node);
long long stride_of(const Gen *g, int node); /* floats per row */
const char *row_count(Sym s);                /* "b->rows" */
const char *starts_of(Sym s); /* "start" or "key_start" of the batch */
/* Returns the next value in an entry's arena from *at on, which begins at 0;
 * each name comes once. NULL: there are no more. */
const Value *next_value(const Gen *g, Entry entry, int *at);

/* ---- weights ---- */

const char *weight_text(Gen *g, int block); /* "w->norm1" */
const char *weight_of(Gen *g, int root, PackLayout layout);

/* ---- entries ---- */

const char *entry_name(Entry e);   /* "encode" or "decode" */
bool has_decoder(const Plan *p);   /* the model generates text */
int output_columns(const Plan *p); /* numbers in a row of the result */
bool is_pooled(const Plan *p);     /* the result has one row per sequence */

/* ---- sizes ---- */

char *upper_name(Arena *a, const char *s); /* "TINY" */
void emit_dimensions(Gen *g, Emit *e, const char *prefix);
const char *layers_text(Gen *g, Stack stack, int n); /* ENCODER_LAYERS */

#endif
