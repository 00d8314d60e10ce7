/* backwards.h: a caller's parallel-for without threads: the last part first. */
#ifndef BACKWARDS_H
#define BACKWARDS_H

#include "runtime/core.h"

static void run_backwards(void *pool, int64_t parts,
                          void (*part)(void *arg, int64_t part, int64_t parts),
                          void *arg)
{
    (void)pool;
    for (int64_t i = parts - 1; i >= 0; i--)
        part(arg, i, parts);
}

static const struct attn_parallel backwards = { .parts = 9,
                                                .run = run_backwards };

#endif
