/* rank_share.h: a rank's share of a step, for files of several processes. */
#ifndef ATTNC_RANK_SHARE_H
#define ATTNC_RANK_SHARE_H

#include "emit/gen/gen.h"

/* Returns the number of processes that divide the model (fix.ranks), or 1. */
int64_t ranks_of(const Gen *g);
bool has_ranks(const Gen *g); /* true if these are several */

/* Emit helper functions when they are first needed. */
void need_rank_begin(Gen *g);
void need_column_begin(Gen *g);

/* Return the division of the heads of attention, or of the key heads that the
 * nodes of a region write; NULL: each rank computes all of them. */
const HeadColumns *own_heads(Gen *g, int64_t heads, int64_t key_heads);
const HeadColumns *own_key_heads(const Gen *g, const Region *r);
/* Returns the heads of a share: those of a key head or, if there are more ranks
 * than key heads, one. */
int64_t share_unit(const Gen *g, const HeadColumns *c);
/* Emits `own`, the first of this rank's `heads` heads. */
void put_own_heads(Gen *g, Emit *e, const HeadColumns *c);

/* True if each rank computes the columns of a product that it needs itself, so
 * that nothing is gathered. */
bool has_own_columns(const Gen *g, int node);
/* Begins the loop over these columns, `from` to `to` - 1, of a part. */
void begin_own_columns(Gen *g, Emit *e, int node);

/* Return, of rows of integers, the bytes of a plane, whether there are two
 * (int15), each in half of a row, and the offset of a row's unit, where the
 * largest |x| is until the row is quantised. */
int64_t rank_plane(const Gen *g, int rows);
bool rank_has_two(const Gen *g, int rows);
int64_t rank_unit_place(const Gen *g, int rows);
/* Returns the offset of a product's second sums in floats; 0: it has one. */
int64_t rank_low_sums(const Gen *g, int node);

/* Returns the members of struct step that say which columns of a node's value
 * the ranks gather or combine, on lines of their own, or "". `step`: columns of
 * a product that stay together. */
const char *exchanged(Gen *g, int node, int64_t step, const char *indent);
void put_exchange_members(Emit *e); /* emits their declarations */
/* Emit the function that does it; its head with `tail` ";" as a prototype. */
void emit_exchange(Gen *g, Emit *e);
void emit_exchange_head(Emit *e, const char *tail);

#endif
