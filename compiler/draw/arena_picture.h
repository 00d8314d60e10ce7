/* arena_picture.h: the arena of a call over its steps, as areas: what the files
 * of `attnc plan --format=svg` share.
 *
 *   arena_picture.c  steps, of layers alike the first one's, and when each
 *                    value is there
 *   draw_arena.c     the SVG                                                */
#ifndef ATTNC_ARENA_PICTURE_H
#define ATTNC_ARENA_PICTURE_H

#include "plan/plan.h"

typedef struct { /* a value, or memory of the slot that it is in */
    int node;
    double from, to; /* in steps; a step is from i to i + 1 */
    int64_t at, bytes;
} ArenaValue;

typedef struct { /* layers alike, drawn once */
    Stack stack;
    int first, count;
    int step[2]; /* first and last */
} ArenaLayers;

typedef struct {
    Arena *arena;
    const Plan *p;
    Entry entry;
    int64_t rows, sequences;
    int *column;   /* by place in the order: its step; -1: of no such entry */
    VEC(int) step; /* its node */
    VEC(ArenaLayers) layers;
    VEC(ArenaValue) value;
    int64_t bytes;   /* of the arena; */
    int64_t scratch; /* at its end, of attention */
    int64_t apart;   /* if each value had memory of its own */
    int64_t most;    /* that is in use at once, */
    int peak;        /* in this step */
} ArenaPicture;

/* For as many rows as `attnc plan` tells costs for, on one thread; a decoder
 * behind an encoder: for a step of the search.                              */
ArenaPicture arena_picture(Arena *a, const Plan *p, Entry entry);
const char *draw_arena(Arena *a, const Plan *p);

#endif
