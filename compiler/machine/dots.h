/* dots.h: what machine.c measures the rate of sums of integer products by. */
#ifndef ATTNC_DOTS_H
#define ATTNC_DOTS_H

#include <stdint.h>

#include "machine/target.h"

typedef struct {
    int (*run)(int64_t steps); /* NULL: none for this machine */
    int products;              /* of a step */
} DotLoop;
/* The best that this machine has, and code for `t` may use; NULL: any. */
DotLoop dot_loop(const Target *t);

#endif
