/* arena_picture.h: the arena of a call, as areas over the call's steps, for
 * `attnc plan --format=svg`.
 *
 *   arena_picture.c  steps, with equal layers drawn once, and the lifetime of
 *                    each value
 *   draw_arena.c     the SVG */
#ifndef ATTNC_ARENA_PICTURE_H
#define ATTNC_ARENA_PICTURE_H

#include "plan/plan.h"

typedef struct { /* a value, or the memory of its slot */
    int node;
    double from, to; /* first and last time; step i lasts from i to i + 1 */
    int64_t at, bytes;
} ArenaValue;

typedef struct { /* equal layers, drawn once */
    Stack stack;
    int first, count;
    int step[2]; /* first and last step */
} ArenaLayers;

typedef struct {
    Arena *arena;
    const Plan *p;
    Entry entry;
    int64_t rows, sequences;
    int *column;   /* step of each place in the order; -1: it belongs to the
                      other entry */
    VEC(int) step; /* the node of each step */
    VEC(ArenaLayers) layers;
    VEC(ArenaValue) value;
    int64_t bytes;   /* size of the arena */
    int64_t scratch; /* memory for attention's tiles, at the end of the arena */
    int64_t apart;   /* size of the arena if values shared no memory */
    int64_t most;    /* maximum bytes in use at the same time */
    int peak;        /* the step with `most` bytes in use */
} ArenaPicture;

/* Builds the picture for the row count that `attnc plan` reports and for one
 * thread. For an encoder-decoder, the decode entry is one step of beam
 * search. */
ArenaPicture arena_picture(Arena *a, const Plan *p, Entry entry);
const char *draw_arena(Arena *a, const Plan *p);

#endif
