/* arena_picture.h: the arena of a call as areas over its steps, for `attnc plan
 * --format=svg`.
 *
 *   arena_picture.c  steps, with similar layers folded, and the lifetime of
 *                    each value
 *   draw_arena.c     the SVG */
#ifndef ATTNC_ARENA_PICTURE_H
#define ATTNC_ARENA_PICTURE_H

#include "plan/plan.h"

typedef struct { /* a value, or its slot's memory */
    int node;
    double from, to; /* in steps; step i spans i to i + 1 */
    int64_t at, bytes;
} ArenaValue;

typedef struct { /* similar layers, drawn once */
    Stack stack;
    int first, count;
    int step[2]; /* first and last */
} ArenaLayers;

typedef struct {
    Arena *arena;
    const Plan *p;
    Entry entry;
    int64_t rows, sequences;
    int *column;   /* by place in the order: its step; -1: other entry */
    VEC(int) step; /* its node */
    VEC(ArenaLayers) layers;
    VEC(ArenaValue) value;
    int64_t bytes;   /* size of the arena */
    int64_t scratch; /* attention's part, at the arena's end */
    int64_t apart;   /* if no two values shared memory */
    int64_t most;    /* most bytes in use at once */
    int peak;        /* the step of `most` */
} ArenaPicture;

/* Makes the picture for the rows that `attnc plan` reports, on one thread. A
 * decoder with an encoder is drawn for one step of the search. */
ArenaPicture arena_picture(Arena *a, const Plan *p, Entry entry);
const char *draw_arena(Arena *a, const Plan *p);

#endif
