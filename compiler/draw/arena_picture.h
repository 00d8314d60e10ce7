/* arena_picture.h: the arena of a call as areas over its steps, for `attnc plan
 * --format=svg`.
 *
 *   arena_picture.c  steps, with similar layers folded, and the lifetime of
 *                    each value
 *   draw_arena.c     the SVG */
#ifndef ATTNC_ARENA_PICTURE_H
#define ATTNC_ARENA_PICTURE_H

#include "plan/plan.h"

typedef struct { /* a value, or the memory of its slot */
    int node;
    double from, to; /* beginning and end in steps; step i spans i to i + 1 */
    int64_t at, bytes;
} ArenaValue;

typedef struct { /* similar layers, drawn once */
    Stack stack;
    int first, count;
    int step[2]; /* first and last step */
} ArenaLayers;

typedef struct {
    Arena *arena;
    const Plan *p;
    Entry entry;
    int64_t rows, sequences;
    int *column;   /* step of each place in the order; -1: the place is in
                      the other entry */
    VEC(int) step; /* the node of each step */
    VEC(ArenaLayers) layers;
    VEC(ArenaValue) value;
    int64_t bytes;   /* size of the arena */
    int64_t scratch; /* memory of attention's tiles, at the end of the arena */
    int64_t apart;   /* size of the arena if no two values shared memory */
    int64_t most;    /* most bytes in use at once */
    int peak;        /* the step with `most` bytes in use */
} ArenaPicture;

/* Makes the picture for the number of rows that `attnc plan` reports, on one
 * thread. The decode entry of an encoder-decoder is drawn for one step of its
 * beam search. */
ArenaPicture arena_picture(Arena *a, const Plan *p, Entry entry);
const char *draw_arena(Arena *a, const Plan *p);

#endif
