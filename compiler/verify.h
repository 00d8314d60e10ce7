/* verify.h: the parts of `attnc verify`, for it and for the tests. */
#ifndef ATTNC_VERIFY_H
#define ATTNC_VERIFY_H

#include "compare.h"
#include "trial.h"

typedef struct {                 /* one way to compile a model */
    const char *name, *backend;
    bool unfused;
} Variant;
EngineOptions variant_options(const EngineOptions *base, const Variant *v);

typedef struct {
    Comparison c;                /* of all nodes of one op */
    const char *worst;           /* node of the largest error */
} OpResult;
typedef struct { OpResult op[OpCount]; } OpResults;
/* All values of the op were near enough, and not nearly all zeros, unless the
 * op makes them: a trained ReLU may well.                                   */
bool op_passed(const OpResults *r, Op op);

/* Compares all values of one sequence after a run; `w` of the engine's own
 * graph, `out` the run's result.                                            */
void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out);
/* Compares the result of one sequence; `w` of the unfused graph. Where these
 * are the f32 weights, it is held to rounded_weights.                       */
void verify_result(ModelComparison *worst, Weights *w, const Sample *x,
                   int64_t sequence, const float *out);

#endif
