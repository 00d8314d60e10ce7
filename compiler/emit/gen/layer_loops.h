/* layer_loops.h: repeating layers as nested loops, for the calls of an entry
 * and the addresses of weights. The length of the text depends on the pattern
 * of the layers, not on their number. */
#ifndef ATTNC_LAYER_LOOPS_H
#define ATTNC_LAYER_LOOPS_H

#include "emit/gen/gen.h"

enum { LoopNumbers = 4 };

typedef struct { /* one layer of a stack */
    Stack stack;
    int like; /* items with the same value differ only in numbers */
    int64_t number[LoopNumbers];
} LoopItem;

typedef struct Loop Loop;
struct Loop { /* items from `first` on, `period` of them per round */
    int first, period, rounds;
    Loop *body; /* a round; NULL: one item */
    Loop *next; /* next loop of the list */
};

/* Returns the loops that cover n items, allocated from `a`. Each number of an
 * item grows by the same amount in each round. */
Loop *find_loops(Arena *a, const LoopItem *item, int n);

/* Returns how much a number of an item grows per round of a surrounding
 * loop. */
int64_t loop_growth(const LoopItem *item, const Loop *around, int number);

typedef struct LoopPath LoopPath;
struct LoopPath { /* the loops around an item, the innermost first */
    const Loop *loop;
    const char *counter; /* "l", "l2", ... */
    const LoopPath *outer;
};

/* Returns an item's number in terms of loop counters: "l * 6 + l2 + 3". */
const char *loop_number(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);
/* Returns " + l * 6 + l2 + 3", or "" if it is 0. */
const char *loop_offset(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);

typedef void LoopBody(Gen *g, Emit *e, const void *of, int item,
                      const LoopPath *path);
/* Emits the loops, and blocks for items that do not repeat, each with its
 * body. */
void put_loops(Gen *g, Emit *e, const LoopItem *item, int n, LoopBody *body,
               const void *of);

#endif
