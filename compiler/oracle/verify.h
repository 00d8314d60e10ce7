/* verify.h: the parts of `attnc verify`, for it and for the tests: a model is
 * compiled in each way there is, and what it computes held to the oracle's
 * gates, op by op and end to end.                                           */
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
    Comparison c;      /* of all nodes of one op */
    const char *worst; /* node of the largest error */
} OpResult;
typedef struct {
    OpResult op[OpCount];
} OpResults;
/* Compares all values of one sequence after a run; `w` of the engine's own
 * graph, `out` the run's result.                                            */
void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out);
typedef struct {           /* end to end; {0} before the first */
    ModelComparison worst; /* of the sequences; counts: of them all */
    VEC(double) want;      /* results of one number, which has no */
    VEC(float) got;        /* deviation: they are compared together */
    int64_t made;          /* zeros that masks and activations make */
} ModelResults;
/* The unfused graph that a result is compared with; where products compute in
 * integers, with the rows that are rounded for them: what that loses is no
 * error of the code. */
Graph *verify_graph(const Engine *e);
/* Does a model choose parts of it by its rows, as experts are? */
bool verify_chooses(const Graph *g);
/* Compares the result of one sequence; `w` of verify_graph(). Where these
 * are the f32 weights, it is held to rounding_gates. A row that stands between
 * two experts may go to either, which no gate of small errors allows: the
 * oracle chooses as the compiled code did, by the values of `kept`, a run of it
 * on x that keeps all; NULL: it chooses by itself. That a choice is right is
 * seen op by op.                                                            */
void verify_result(ModelResults *r, Weights *w, const Sample *x,
                   int64_t sequence, const float *out, const Trial *kept);
/* What came of all; `w` as it was. */
ModelComparison verify_end(const ModelResults *r, const Weights *w);

#endif
