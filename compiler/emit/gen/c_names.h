/* c_names.h: chooses the emitted C names of the plan's values, weights, rows
 * and sizes. */
#ifndef ATTNC_C_NAMES_H
#define ATTNC_C_NAMES_H

#include "emit/gen/gen.h"

/* ---- values ---- */

/* names of the batch members that are inputs, by BatchMember */
extern const char *const batch_member[];
/* Returns C for the address of a value's row in the batch. */
const char *value_at(Gen *g, int node, const char *row);
/* True if the value is in a block. Each part of a step has its own blocks. */
bool in_block(const Gen *g, int node);
const char *value_name(const Gen *g, int node); /* the member of the call that
                                                 * has its address */
/* Like value_at() for the first row of a block, in a step that runs row by
 * row. */
const char *block_at(Gen *g, int node);
/* Like value_at() for the first row of a part. The row is counted within the
 * part's block if the value is in one. */
const char *part_at(Gen *g, int node);
/* Like value_at() for the first row of all. */
const char *first_at(Gen *g, int node);
long long stride_of(const Gen *g, int node); /* floats per row */
/* Returns the arguments of a product for rows of a node's value that begin at
 * `at`: their address in its format and their stride, "x, 512". */
const char *rows_at(Gen *g, int node, const char *at);
const char *row_count(Sym s); /* returns C such as "b->rows" */
/* Returns "start" or "key_start", a member of the batch. */
const char *starts_of(Sym s);
/* Iterates over the named values in an entry's arena; each name occurs once.
 * Set *at to 0 first; each call advances it. Returns NULL after the last
 * value. */
const Value *next_value(const Gen *g, Entry entry, int *at);

/* ---- weights ---- */

const char *weight_text(Gen *g, int block); /* returns C such as "w->norm1" */
const char *weight_of(Gen *g, int root, PackLayout layout);

/* ---- entries ---- */

const char *entry_name(Entry e);   /* returns "encode" or "decode" */
bool has_decoder(const Plan *p);   /* true if the model generates text */
int output_columns(const Plan *p); /* floats per row of the result */
bool is_pooled(const Plan *p);     /* true if results have a row per sequence */

/* ---- sizes ---- */

char *upper_name(Arena *a, const char *s); /* in capitals, e.g. "TINY" */
void emit_dimensions(Gen *g, Emit *e, const char *prefix);
const char *layers_text(Gen *g, Stack stack, int n); /* returns C such as
                                                      * ENCODER_LAYERS */

#endif
