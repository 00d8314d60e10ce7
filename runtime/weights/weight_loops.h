/* weight_loops.h: what goes over every number of the weights, in the vectors of
 * the machine that it runs on. Results are the same on all, bit by bit. */
#ifndef ATTNC_WEIGHT_LOOPS_H
#define ATTNC_WEIGHT_LOOPS_H

#include "runtime/rt.h"

enum {
    ATTN_GROUP = 64
}; /* numbers of a column of integers, as they are made
    */

typedef struct { /* of a panel's columns: a number is about `step` times its */
    float step[ATTN_PANEL], per_step[ATTN_PANEL]; /* integer; 1 / step */
} Step;

typedef struct { /* over the numbers x of each column, and their integers w */
    float error[ATTN_PANEL];   /* (x - w step)^2 */
    float along[ATTN_PANEL];   /* (x - w step) w */
    float squares[ATTN_PANEL]; /* w^2 */
    int32_t total[ATTN_PANEL]; /* w, of what is stored */
} LaneSums;

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
    /* Of numbers k < n of ATTN_PANEL columns, at x[k * stride + column]: */
    /* largest[column] or the largest magnitude, which leaves NaN out */
    void (*largest)(const float *x, int64_t stride, int64_t n, float *largest);
    /* the sums but total, as int8 */
    void (*int8_sums)(const float *x, int64_t stride, int64_t n, const Step *s,
                      LaneSums *sums);
    /* An ATTN_GROUP of them as they are packed (formats.h), n of which are
     * there: of int4 its lines, then the steps and offsets of each `shared`,
     * those of the least error.                                             */
    void (*int8)(const float *x, int64_t stride, int64_t n, const Step *s,
                 unsigned char *lines, LaneSums *sums);
    void (*int4)(const float *x, int64_t stride, int64_t n, const Step *s,
                 int shared, unsigned char *lines, LaneSums *sums);
} Loops;

const Loops *loops_of(int vectors); /* NULL: not of this machine; from 0 on */
const Loops *loops(void);           /* the widest that this machine has */

#endif
