/* loops.h: what goes over every number of the weights, in the vectors of the
 * machine that it runs on. Results are the same on all, bit by bit.         */
#ifndef ATTNC_LOOPS_H
#define ATTNC_LOOPS_H

#include "rt.h"

typedef struct {
    /* Elements first .. first + n - 1 of numbers of a type as floats. */
    void (*floats)(StType type, const unsigned char *at, int64_t first,
                   int64_t n, float *out);
    int64_t (*not_finite)(const float *x, int64_t n); /* how many of them */
    void (*change)(float *x, int64_t n, float scale, float add);
    void (*scale)(float *x, int64_t n, float scale);
    void (*bf16)(const float *x, int64_t n, uint16_t *out); /* bf16_of() */
    /* ATTN_PANEL rows of n numbers, each `stride` behind the one before, as n
     * rows of ATTN_PANEL, one behind the other.                             */
    void (*transpose)(const float *x, int64_t stride, int64_t n, float *out);
    /* mean + deviation times the deviates first .. first + n - 1 of a key */
    void (*deviates)(uint64_t key, int64_t first, int64_t n, double deviation,
                     float mean, float *out);
} Loops;

const Loops *loops_of(int vectors); /* NULL: not of this machine; from 0 on */
const Loops *loops(void);           /* the widest that this machine has */

#endif
