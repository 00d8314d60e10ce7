/* interp.h: declarations for interp.c and its ops: a node's inputs as matrices,
 * and the functions in the oracle's table of ops. */
#ifndef ATTNC_INTERP_H
#define ATTNC_INTERP_H

#include "oracle/oracle.h"

typedef struct { /* a value, row-major: [heads][rows][cols] */
    const double *at;
    int64_t heads, rows, cols; /* a dimension that the value lacks is 1 */
} Matrix;

static inline int64_t size_of(Matrix m)
{
    return m.heads * m.rows * m.cols;
}

static inline double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* matrix.c: returns the size of a dimension */
int64_t interp_extent(const Interp *in, Dim d);
int64_t interp_elements(const Interp *in, Type t);
Matrix interp_in(const Interp *in, const Node *n, int i); /* returns input i of
                                                           * the node */
/* Returns the expert that is multiplied with a row of a product; 0 without
 * experts. */
int64_t interp_expert(const Interp *in, const Node *n, int64_t row);
/* Returns the activation of x, according to the formula in
 * spec/fields/activations.h. */
double activation(Activation act, double x);

/* Returns the scale with which a row is quantised; 0 if all numbers of the row
 * are 0. */
double quantize_step(const double *x, int64_t n, Arithmetic a);
/* Returns the distance of the bf16 numbers around x; 0 if x becomes 0. */
double bf16_step(double x);

/* Tolerance of a function of one number, in roundings of f32: |error| <= 4e-7
 * (1 + |value|). */
#define FUNCTION (4e-7 / F32_EPS)

/* Evaluates `n` from the values of its inputs into `out`. */
typedef void InterpOp(const Interp *in, const Node *n, double *out);

/* Writes the tolerance of a recurrent node, in roundings of f32. */
InterpOp gate_recurrent;

/* interp.c: inputs and copies; interp_ops.c: ops on rows; interp_attention.c:
 * ops on sequences. The caller provides the weights in Interp.weight. */
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value, \
           ...)                                                                \
    InterpOp eval_##value;
#include "graph/ops.h"

#endif
