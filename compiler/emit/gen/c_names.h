/* c_names.h: names in emitted C of the plan's values, weights, rows and sizes.
 */
#ifndef ATTNC_C_NAMES_H
#define ATTNC_C_NAMES_H

#include "emit/gen/gen.h"

/* ---- values ---- */

/* Where a row of a value begins: of those of the batch, */
const char *value_at(Gen *g, int node, const char *row);
/* the first of the rows of a block, which a step that goes row by row has, */
const char *block_at(Gen *g, int node);
/* and the first of a part of these. Values of one block begin with it. */
const char *part_at(Gen *g, int node);
/* The first of all of its rows. */
const char *first_at(Gen *g, int node);
long long stride_of(const Gen *g, int node); /* floats from row to row */
const char *row_count(Sym s);                /* "b->rows" */
const char *starts_of(Sym s); /* "start" or "key_start" of the batch */
/* The values of an entry's arena, those with one name once: the next one from
 * *at on, which begins at 0; NULL: there are no more. */
const Value *next_value(const Gen *g, Entry entry, int *at);

/* ---- weights ---- */

const char *weight_text(Gen *g, int block); /* "w->norm1" */
const char *weight_of(Gen *g, int root, PackLayout layout);

/* ---- entries ---- */

const char *entry_name(Entry e);   /* "encode", "decode" */
bool has_decoder(const Plan *p);   /* it generates, so it has the core */
int output_columns(const Plan *p); /* numbers in a row of the result */
bool is_pooled(const Plan *p);     /* a row of it is of a whole sequence */

/* ---- sizes ---- */

char *upper_name(Arena *a, const char *s); /* "TINY" */
void emit_dimensions(Gen *g, Emit *e, const char *prefix);
const char *layers_text(Gen *g, Stack stack, int n); /* ENCODER_LAYERS */

#endif
