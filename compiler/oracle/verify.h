/* verify.h: the parts of `attnc verify`, also used by tests. A model is
 * compiled in every supported way, and its values are compared with the
 * oracle's, op by op and end to end. */
#ifndef ATTNC_VERIFY_H
#define ATTNC_VERIFY_H

#include "oracle/gates.h"
#include "oracle/trial.h"

typedef struct { /* one way to compile a model */
    const char *name, *backend;
    bool unfused;
} Variant;
EngineOptions variant_options(const EngineOptions *base, const Variant *v);

typedef struct {
    Comparison c;      /* comparison of all nodes of one op */
    const char *worst; /* name of the node with the largest error */
} OpResult;
typedef struct {
    OpResult op[OpCount];
} OpResults;
/* Compares all values of one sequence after a run. `w` must have been opened
 * with the engine's own graph. `out` is the result of the run. */
void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out);
typedef struct {           /* results compared end to end; set to {0} before the
                            * first sequence */
    ModelComparison worst; /* comparison of the worst sequence, with the counts
                            * of all */
    VEC(double)
    want;           /* expected results that are a single number each. One
                     * number has no deviation, */
    VEC(float) got; /* so all are collected and compared together */
    int64_t made;   /* number of zeros that result from masks and activations */
} ModelResults;
/* Returns the unfused graph that computes the expected result. With integer
 * arithmetic it also quantises activations, because that loss is not an error
 * of the emitted code. */
Graph *verify_graph(const Engine *e);
/* Returns true if the model selects experts for each row. */
bool verify_chooses(const Graph *g);
/* Compares the result of one sequence with the oracle's. `w` must have been
 * opened with verify_graph(). If it has unrounded f32 weights, the limits are
 * rounding_gates. If two experts have nearly equal scores for a row, rounding
 * can decide which one is selected, and no small tolerance covers the
 * difference. The oracle therefore uses the selection of `kept`, a run of the
 * compiled code on x with keep_all, which verify_ops() checks. If `kept` is
 * NULL, the oracle selects experts itself. */
void verify_result(ModelResults *r, Weights *w, const Sample *x,
                   int64_t sequence, const float *out, const Trial *kept);
/* Returns the comparison over all sequences. `w` is as for verify_result(). */
ModelComparison verify_end(const ModelResults *r, const Weights *w);

#endif
