/* weight_loops.h: loops over all numbers of the weights, with the vectors of
 * the machine. Results are bit-identical on all machines.                   */
#ifndef ATTNC_WEIGHT_LOOPS_H
#define ATTNC_WEIGHT_LOOPS_H

#include "runtime/rt.h"

enum { ATTN_GROUP = 64 }; /* numbers of a column quantised together */

typedef struct { /* by column: a number is about step * integer */
    float step[ATTN_PANEL], per_step[ATTN_PANEL]; /* per_step is 1 / step */
} Step;

typedef struct { /* by column: sums over numbers x and their integers w */
    float error[ATTN_PANEL];   /* (x - w step)^2 */
    float along[ATTN_PANEL];   /* (x - w step) w */
    float squares[ATTN_PANEL]; /* w^2 */
    int32_t total[ATTN_PANEL]; /* w, with padding */
} LaneSums;

typedef struct {
    /* Converts elements first .. first + n - 1 of a type to floats. */
    void (*floats)(StType type, const unsigned char *at, int64_t first,
                   int64_t n, float *out);
    int64_t (*not_finite)(const float *x, int64_t n); /* returns their number */
    void (*change)(float *x, int64_t n, float scale, float add);
    void (*scale)(float *x, int64_t n, float scale);
    void (*bf16)(const float *x, int64_t n, uint16_t *out); /* bf16_of() */
    /* Transposes ATTN_PANEL rows of n numbers, `stride` apart, to n consecutive
     * rows of ATTN_PANEL.                                                   */
    void (*transpose)(const float *x, int64_t stride, int64_t n, float *out);
    /* Writes mean + deviation * d for the deviates first .. first + n - 1 of a
     * key.                                                                  */
    void (*deviates)(uint64_t key, int64_t first, int64_t n, double deviation,
                     float mean, float *out);
    /* The following loops read numbers k < n of ATTN_PANEL columns, at
     * x[k * stride + column].                                               */
    /* Raises largest[column] to the largest magnitude; NaNs are ignored. */
    void (*largest)(const float *x, int64_t stride, int64_t n, float *largest);
    /* Computes the same sums as int8, except total. */
    void (*int8_sums)(const float *x, int64_t stride, int64_t n, const Step *s,
                      LaneSums *sums);
    /* Quantise one ATTN_GROUP, of which n numbers exist, to packed lines
     * (formats.h). int4 writes lines, then the step and offset with the least
     * error for each `shared` numbers.                                      */
    void (*int8)(const float *x, int64_t stride, int64_t n, const Step *s,
                 unsigned char *lines, LaneSums *sums);
    void (*int4)(const float *x, int64_t stride, int64_t n, const Step *s,
                 int shared, unsigned char *lines, LaneSums *sums);
} Loops;

const Loops *loops_of(int vectors); /* 0: portable; NULL: unsupported */
const Loops *loops(void);           /* the widest vectors of this machine */

#endif
