/* lanes.h: what the texts of all tiles have in common: see lanes.c. */
#ifndef ATTNC_EMIT_LANES_H
#define ATTNC_EMIT_LANES_H

#include "emit/tile/needs.h"

/* Binds `hole` to the text of base + times * step + plus. */
void let_at(Emit *e, const char *hole, const char *base, int times,
            const char *step, int plus);
/* Binds what names accumulator (i, j): row i, vector j. */
void let_lane(Emit *e, TileKey k, int i, int j);
/* One block of text for each accumulator of row i; nothing bound stays bound.
 */
void put_lanes(Emit *e, TileKey k, int i, const char *block);
/* Prefetches lines at `next`, which goes on by `ahead`: to the lines behind
 * these, or some steps later where tiles share them.                        */
void put_prefetch(Emit *e, TileKey k);
/* The kernel that does: into L1, where few rows of int4 go on to it soon. */
const char *tile_prefetch(TileKey k);
/* act(acc + bias) + residual, to C. */
void put_lanes_end(Emit *e, TileKey k);
/* The same of one float x, of row r and column j + l. */
void put_scalar_end(Emit *e, TileKey k);

/* ---- tile.c ---- */

/* The pieces of kernels/tiles.c that make it: the macro of its line, and what
 * its sums are. */
const char *tile_macro(TileKey k);
const char *tile_products(Arena *a, TileKey k);

/* ---- tile_int.c ---- */

/* The statements of a tile of integers, between its braces: to the sums times
 * their scales, and what put_lanes_end() does. */
void put_integer_tile(Emit *e, TileKey k);
int tile_planes(TileKey k); /* of rows of bytes: 2 of int15 */
/* Are its rows so few that unpacked numbers are not worth it? */
bool tile_groups(TileKey k);

/* ---- tile_parts.c ---- */

/* Is it one of the JIT's with more sums than registers hold? Then it calls
 * others, none larger than this one.                                        */
bool tile_parts(TileKey k, TileKey *part);
void put_parts(Emit *e, TileKey k, TileKey part); /* the calls */

#endif
