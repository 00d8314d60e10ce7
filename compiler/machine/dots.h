/* dots.h: the loops with which machine.c measures dot products. */
#ifndef ATTNC_DOTS_H
#define ATTNC_DOTS_H

#include <stdint.h>

#include "machine/target.h"

typedef struct {
    int (*run)(int64_t steps); /* NULL if this machine has no such loop */
    int products;              /* multiplications per step */
} DotLoop;
/* Returns the fastest loop that this machine can run with the instructions that
 * code for `t` may use. `t` NULL: all instructions. */
DotLoop dot_loop(const Target *t);
/* Like dot_loop(), for the instruction that sums two products of bf16. */
DotLoop pair_loop(const Target *t);

#endif
