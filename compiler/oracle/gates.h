/* gates.h: decides if two numbers count as equal. The gates are fixed multiples
 * of the rounding of f32 and are never loosened to make something pass. NaN
 * fails every gate. */
#ifndef ATTNC_GATES_H
#define ATTNC_GATES_H

#include "oracle/oracle.h"

typedef struct { /* set to {0} before the first comparison */
    int64_t count, failed;
    int64_t zeros; /* number of expected values that are 0 */
    double ratio;  /* largest error / tolerance; INFINITY for NaN, or for any
                    * error if the tolerance is 0 */
    int64_t worst; /* index of the value with the largest ratio, in its call of
                    * compare_values() */
    double want, got;
} Comparison;

/* Adds n values to the comparison, each with its own absolute tolerance.
 * Returns true if one of these values has the largest ratio so far. */
bool compare_values(Comparison *c, const double *want, const double *got,
                    const double *tolerance, int64_t n);
/* Returns true if at least one value was compared and at most 90 % of the
 * expected values are 0, because comparing zeros proves nothing. */
bool is_conclusive(int64_t zeros, int64_t count);
/* Returns true if nothing failed and is_conclusive() holds. */
bool compare_passed(const Comparison *c);

/* Writes the absolute tolerance of each element of the node's value to `out`,
 * given the node's inputs and its exact result `want`. */
void gate_node(const Interp *in, int node, const double *want, double *out);

typedef struct {
    double max_error, nmse, divergence; /* limits of the same members of
                                         * ModelComparison */
} ModelGate;
/* Limits for a model compared with an oracle that uses the same weights. For
 * 108 random models, the largest max_error, nmse and divergence were 1.4, 0.012
 * and 0.52 with int8 arithmetic (mostly with few columns), and 2e-3, 1.3e-7 and
 * 4e-7 with int15. bf16x3 has 30 times the error of f32: of 60 models, the
 * largest were 5.6e-4, 3.5e-9 and 2.1e-7. */
extern const ModelGate arithmetic_gates[Arithmetics];
/* Limits for a model with narrower weights compared with the same model in f32.
 * int8 arithmetic has the limits of int4 weights. Of 133 random bf16 models,
 * most reached at most 1e-2, 1e-4 and 1e-4, the worst 0.21, 3.3e-3 and 3.1e-3.
 * The largest errors were 0.71, 4.5e-3 and 0.1 of 70 models with int8 weights;
 * 4.2, 0.6 and 1.6 of 104 with int4 weights; 3.1, 0.38 and 1.1 of 42 with int8
 * weights and int8 arithmetic. */
extern const ModelGate rounding_gates[Dtypes];

typedef struct {       /* comparison of model results, which are logits or
                        * output rows */
    double max_error;  /* in standard deviations of `want`; relative, if `want`
                        * is constant. f32's limit is 1e-4. */
    double nmse;       /* sum of squared errors / sum of squared values; f32's
                        * limit is 1e-10 */
    double divergence; /* KL divergence of the rows' softmax, in nats; f32's
                        * limit is 1e-9 */
    int64_t worst;     /* index of the value with max_error */
    double want, got;
    int64_t count, zeros; /* number of values; number of expected zeros */
    const ModelGate *gate;
    bool failed; /* true if the gate was exceeded */
    bool passed; /* true if not failed and is_conclusive() */
} ModelComparison;

/* Compares a model's results with the oracle's. The gate is that of f32. */
ModelComparison compare_model(const double *want, const float *got,
                              int64_t rows, int64_t cols);
/* Replaces the gate and recomputes `failed` and `passed`. */
void hold_to(ModelComparison *c, const ModelGate *gate);

#endif
