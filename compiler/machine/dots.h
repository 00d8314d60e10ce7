/* dots.h: what machine.c measures the rate of sums of integer products by. */
#ifndef ATTNC_DOTS_H
#define ATTNC_DOTS_H

#include <stdint.h>

typedef struct {
    int (*run)(int64_t steps); /* NULL: none for this machine */
    int products;              /* of a step */
} DotLoop;
DotLoop dot_loop(void); /* the best that this machine has */

#endif
