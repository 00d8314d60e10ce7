/* layer_loops.h: layers of which parts repeat, as loops in loops: what an entry
 * calls for each of them, where their weights are. So the text is as long as
 * their pattern, whatever their number.                                     */
#ifndef ATTNC_LAYER_LOOPS_H
#define ATTNC_LAYER_LOOPS_H

#include "emit/gen/gen.h"

enum { LoopNumbers = 4 };

typedef struct { /* a layer, as one of a row of them */
    Stack stack;
    int like; /* those that have the same differ in numbers alone */
    int64_t number[LoopNumbers];
} LoopItem;

typedef struct Loop Loop;
struct Loop { /* the items from `first` on, a period a round */
    int first, period, rounds;
    Loop *body; /* of a round; NULL: it is one item */
    Loop *next; /* behind it */
};

/* In each loop any number of any item grows by the same from round to round. */
Loop *find_loops(Arena *a, const LoopItem *item, int n);

/* By how much a number of an item grows from a round of a loop around it to the
 * next. */
int64_t loop_growth(const LoopItem *item, const Loop *around, int number);

typedef struct LoopPath LoopPath;
struct LoopPath { /* the loops around an item, the innermost first */
    const Loop *loop;
    const char *counter; /* "l", "l2" .. */
    const LoopPath *outer;
};

/* "l * 6 + l2 + 3": a number of the first item of those that are done there. */
const char *loop_number(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);
/* " + l * 6 + l2 + 3"; "" where it is 0. */
const char *loop_offset(Gen *g, const LoopItem *item, const LoopPath *path,
                        int number);

typedef void LoopBody(Gen *g, Emit *e, const void *of, int item,
                      const LoopPath *path);
/* Loops and, where items are alone, blocks, each with its item's body. */
void put_loops(Gen *g, Emit *e, const LoopItem *item, int n, LoopBody *body,
               const void *of);

#endif
