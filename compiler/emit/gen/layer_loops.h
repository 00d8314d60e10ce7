/* layer_loops.h: emits repeating layers as nested loops, both for the calls of
 * an entry and for the addresses of weights. The length of the text depends on
 * the pattern of the layers, not on their number. */
#ifndef ATTNC_LAYER_LOOPS_H
#define ATTNC_LAYER_LOOPS_H

#include "emit/gen/gen.h"

typedef struct { /* one layer of a stack */
    Stack stack;
    int like; /* items with the same value differ only in `number` */
    int64_t number[LoopNumbers];
} LoopItem;

typedef struct Loop Loop;
struct Loop { /* loop that begins at item `first`, with `period` items per
               * round */
    int first, period, rounds;
    Loop *body; /* loop within a round; NULL: a round is one item */
    Loop *next; /* next loop of the same list */
};

/* Returns the loops that cover n items, allocated in `a`. From round to round,
 * each number of an item grows by a constant. */
Loop *find_loops(Arena *a, const LoopItem *item, int n);

/* Returns the growth of an item's number per round of the loop `around`. */
int64_t loop_growth(const LoopItem *item, const Loop *around, int number);

typedef struct LoopPath LoopPath;
struct LoopPath { /* the loops around an item, innermost first */
    const Loop *loop;
    const char *counter; /* name of the counter: "l", "l2", ... */
    const LoopPath *outer;
};

/* Returns C for an item's number, which depends on loop counters: "l * 6 + l2 +
 * 3". */
const char *loop_number(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);
/* Returns C that adds an item's number, " + l * 6 + l2 + 3", or "" if the
 * number is 0. */
const char *loop_offset(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);

typedef void LoopBody(Gen *g, Emit *e, const void *of, int item,
                      const LoopPath *path);
/* Emits the loops, and blocks for items that do not repeat. `body` emits the
 * contents of each. */
void put_loops(Gen *g, Emit *e, const LoopItem *item, int n, LoopBody *body,
               const void *of);

#endif
