/* compare.h: what counts as the same number. The gates are fixed, in units of
 * the rounding of f32, and are never loosened to let something pass. A NaN
 * passes none of them.                                                      */
#ifndef ATTNC_COMPARE_H
#define ATTNC_COMPARE_H

#include "oracle/oracle.h"

#define F32_EPS 0x1p-23

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

typedef struct {       /* end to end: logits, or rows of a model */
    double max_error;  /* in standard deviations of `want`, or in its
                          size where that is one number: 1e-4 */
    double nmse;       /* squared error / squared value: 1e-10 */
    double divergence; /* KL of the rows as softmax, nats: 1e-9 */
    int64_t worst;     /* index of max_error */
    double want, got;
    int64_t count, zeros; /* as in Comparison */
    bool failed;          /* a gate was not held */
    bool passed;          /* none, and it tells enough */
} ModelComparison;

typedef struct {
    double max_error, nmse, divergence;
} ModelGate;
extern const ModelGate same_weights; /* the gates that are given above */
/* For the result of a model with weights in bf16 beside that of the same with
 * its f32 weights: 1e-2, 1e-4, 1e-4 and less is usual, and the most of 133
 * random models was 0.21, 3.3e-3 and 3.1e-3.                                */
extern const ModelGate rounded_weights;

/* Held to same_weights. */
ModelComparison compare_model(const double *want, const float *got,
                              int64_t rows, int64_t cols);
/* Sets `failed` and `passed` anew. */
void hold_to(ModelComparison *c, const ModelGate *gate);

#endif
