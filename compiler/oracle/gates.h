/* gates.h: what counts as the same number. The gates are fixed, in units of
 * the rounding of f32, and are never loosened to let something pass. A NaN
 * passes none of them.                                                      */
#ifndef ATTNC_GATES_H
#define ATTNC_GATES_H

#include "oracle/oracle.h"

typedef struct { /* {0} before the first values */
    int64_t count, failed;
    int64_t zeros; /* expected values that are 0 */
    double ratio;  /* largest error / tolerance; INFINITY: NaN,
                      or an error where none is allowed */
    int64_t worst; /* where that was: index in its call */
    double want, got;
} Comparison;

/* Adds n values to the comparison. True: the largest ratio so far is among
 * them. `tolerance` is by value and absolute.                               */
bool compare_values(Comparison *c, const double *want, const double *got,
                    const double *tolerance, int64_t n);
/* Something was compared, and not nearly all was to be 0, which would prove
 * nothing.                                                                  */
bool tells_enough(int64_t zeros, int64_t count);
/* Nothing failed, and what was compared tells enough. */
bool compare_passed(const Comparison *c);

/* The tolerance of each element of node's value, given the values of its
 * inputs and the exact result `want`.                                       */
void gate_node(const Interp *in, int node, const double *want, double *out);

typedef struct {
    double max_error, nmse, divergence; /* as in ModelComparison */
} ModelGate;
/* Of a model beside the oracle with the weights that it has. Of 108 random
 * models that compute in int8, most of few columns, the most was 1.4, 0.012 and
 * 0.52, in int15 2e-3, 1.3e-7 and 4e-7. */
extern const ModelGate arithmetic_gates[Arithmetics];
/* Of a model with weights in fewer bits beside the same with its f32 weights;
 * of one that computes in int8 that of int4. Of 133 random models in bf16 1e-2,
 * 1e-4, 1e-4 and less was usual, and the most was 0.21, 3.3e-3 and 3.1e-3; of
 * 70 in int8 0.71, 4.5e-3 and 0.1; of 104 in int4 4.2, 0.6 and 1.6, of 42 in
 * int8 of both sides 3.1, 0.38 and 1.1. */
extern const ModelGate rounding_gates[Dtypes];

typedef struct {       /* end to end: logits, or rows of a model */
    double max_error;  /* in standard deviations of `want`, or in its
                          size where that is one number: 1e-4 */
    double nmse;       /* squared error / squared value: 1e-10 */
    double divergence; /* KL of the rows as softmax, nats: 1e-9 */
    int64_t worst;     /* index of max_error */
    double want, got;
    int64_t count, zeros; /* as in Comparison */
    const ModelGate *gate;
    bool failed; /* the gate was not held */
    bool passed; /* it was, and it tells enough */
} ModelComparison;

/* Held to that of f32. */
ModelComparison compare_model(const double *want, const float *got,
                              int64_t rows, int64_t cols);
/* Sets `gate`, `failed` and `passed` anew. */
void hold_to(ModelComparison *c, const ModelGate *gate);

#endif
