/* oracle.h: the reference for all tests: evaluates the graph in double
 * precision.
 *
 * In:  a graph of any stage, weights, one sequence.
 * Out: the value of each node; a comparison of a compiled model's values with
 *      it, within fixed gates.
 * See also gates.h, trial.h and verify.h. */
#ifndef ATTNC_ORACLE_H
#define ATTNC_ORACLE_H

#include "graph/graph.h"

/* the unit of the gates: one rounding of f32 */
#define F32_EPS 0x1p-23

/* ---- interp.c ---- */

/* State of an evaluation: a graph of any stage, one sequence, in double. */
typedef struct {
    const Graph *g;
    int64_t length[6];       /* number of rows, by Sym: n, t, p+t = t, r, m */
    int64_t prefix;          /* number of keys that every row sees, see
                              * MaskSpec.prefix */
    const int32_t *ids[3];   /* indexed by Entry: token ids of the input */
    const int32_t *types[3]; /* indexed by Entry: token types; NULL: all 0 */
    const double *rows[3];   /* numeric input; for `kind: attention` query, key
                              * and value, in the order of the Input nodes */
    const int32_t *select;   /* length[SymR] rows that Select takes */
    /* Returns the value of a Weight node, row-major. The caller sets this. */
    const double *(*weight)(void *user, int node);
    void *user;
    const double **value; /* values indexed by node; NULL until evaluated */
    const double **given; /* by node: a value to use instead of evaluating the
                           * node, or NULL. The array may be NULL. */
    Arena *arena;         /* owns the values */
} Interp;
void interp_run(Interp *in, Entry entry); /* evaluates all nodes of an entry */
/* Evaluates one node, given the values of its inputs, so that an op can be
 * checked separately. */
void interp_node(Interp *in, int node);
/* Returns the number of elements of a node's value. */
int64_t interp_size(const Interp *in, int node);

/* Returns n floats as doubles, allocated in the arena. */
const double *oracle_widen(Arena *a, const float *x, int64_t n);

#endif
