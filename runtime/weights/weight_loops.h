/* weight_loops.h: loops over all numbers of the weights, compiled for the
 * vectors of several machines. The results are bit-identical on all
 * machines. */
#ifndef ATTNC_WEIGHT_LOOPS_H
#define ATTNC_WEIGHT_LOOPS_H

#include "runtime/rt.h"

enum { ATTN_GROUP = 64 }; /* numbers of a column quantised together */

typedef struct { /* per column: a number is about step * integer */
    float step[ATTN_PANEL], per_step[ATTN_PANEL]; /* per_step is 1 / step */
} Step;

typedef struct { /* per column: sums over numbers x and their integers w */
    float error[ATTN_PANEL];   /* sum of (x - w step)^2 */
    float along[ATTN_PANEL];   /* sum of (x - w step) w */
    float squares[ATTN_PANEL]; /* sum of w^2 */
    int32_t total[ATTN_PANEL]; /* sum of w, including padding */
} LaneSums;

typedef struct {
    /* Converts elements first .. first + n - 1 of a type to floats. */
    void (*floats)(StType type, const unsigned char *at, int64_t first,
                   int64_t n, float *out);
    /* Returns the number of values that are not finite. */
    int64_t (*not_finite)(const float *x, int64_t n);
    void (*change)(float *x, int64_t n, float scale, float add);
    void (*scale)(float *x, int64_t n, float scale);
    /* Rounds like bf16_of(). */
    void (*bf16)(const float *x, int64_t n, uint16_t *out);
    /* Subtracts the nearest bf16: `out` gets what it lacks, 0 if it is not
     * finite. `out` may be x. */
    void (*bf16_rest)(const float *x, int64_t n, float *out);
    /* Does so for n lines of ATTN_PANEL numbers. Two lines become one of pairs,
     * the first line in the lower halves; an odd last line gets zeros. */
    void (*bf16_pairs)(const float *x, int64_t n, uint32_t *out);
    /* Transposes ATTN_PANEL rows of n numbers, `stride` apart, into n
     * consecutive rows of ATTN_PANEL numbers. */
    void (*transpose)(const float *x, int64_t stride, int64_t n, float *out);
    /* Writes mean + deviation * d for each of the deviates d first .. first + n
     * - 1 of a key. */
    void (*deviates)(uint64_t key, int64_t first, int64_t n, double deviation,
                     float mean, float *out);
    /* The loops below read numbers k < n of ATTN_PANEL columns, at x[k * stride
     * + column]. */
    /* Raises largest[column] to the largest magnitude in the column; ignores
     * NaNs. */
    void (*largest)(const float *x, int64_t stride, int64_t n, float *largest);
    /* Computes all sums that int8 computes, except total. */
    void (*int8_sums)(const float *x, int64_t stride, int64_t n, const Step *s,
                      LaneSums *sums);
    /* Quantise one group of ATTN_GROUP numbers, the first n of which exist, to
     * packed lines (formats.h). int4 writes the lines, then the step and offset
     * with the smallest error for each `shared` numbers. */
    void (*int8)(const float *x, int64_t stride, int64_t n, const Step *s,
                 unsigned char *lines, LaneSums *sums);
    void (*int4)(const float *x, int64_t stride, int64_t n, const Step *s,
                 int shared, unsigned char *lines, LaneSums *sums);
} Loops;

const Loops *loops_of(int vectors); /* 0: the portable loops; NULL: this
                                       machine lacks the instructions */
const Loops *loops(void); /* loops for the widest vectors of this machine */

#endif
