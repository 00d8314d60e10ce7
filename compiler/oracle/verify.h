/* verify.h: the parts of `attnc verify`, also used by tests. A model is
 * compiled in every supported way and its values are compared with the
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
    Comparison c;      /* all nodes of one op */
    const char *worst; /* node of the largest error */
} OpResult;
typedef struct {
    OpResult op[OpCount];
} OpResults;
/* Compares all values of one sequence after a run. `w` must be opened on the
 * engine's own graph; `out` is the result of the run. */
void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out);
typedef struct {           /* end to end; {0} before the first */
    ModelComparison worst; /* worst sequence; counts are totals */
    VEC(double) want;      /* one-number results have no deviation, */
    VEC(float) got;        /* so all of them are compared together */
    int64_t made;          /* zeros made by masks and activations */
} ModelResults;
/* Returns the unfused graph that a result is compared with. With integer
 * arithmetic it includes the quantisation of activations, because that loss is
 * not an error of the emitted code. */
Graph *verify_graph(const Engine *e);
/* Returns true if the model has experts selected by its rows. */
bool verify_chooses(const Graph *g);
/* Compares the result of one sequence; `w` must be opened on verify_graph().
 * With unrounded f32 weights the limits are rounding_gates.
 *
 * A row with nearly equal scores for two experts may go to either, and no small
 * tolerance covers the difference. The oracle therefore takes the choices from
 * `kept`, a run of the compiled code on x with keep_all; if it is NULL, the
 * oracle chooses itself. verify_ops() checks the choices. */
void verify_result(ModelResults *r, Weights *w, const Sample *x,
                   int64_t sequence, const float *out, const Trial *kept);
/* Returns the result over all sequences; `w` as for verify_result(). */
ModelComparison verify_end(const ModelResults *r, const Weights *w);

#endif
