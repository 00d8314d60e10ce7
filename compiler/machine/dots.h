/* dots.h: the loop with which machine.c measures integer dot products. */
#ifndef ATTNC_DOTS_H
#define ATTNC_DOTS_H

#include <stdint.h>

#include "machine/target.h"

typedef struct {
    int (*run)(int64_t steps); /* NULL if this machine has no such loop */
    int products;              /* multiplications in a step */
} DotLoop;
/* Returns the fastest loop that this machine can run and that uses only
 * instructions that code for `t` may use. t NULL: no limit. */
DotLoop dot_loop(const Target *t);

#endif
