/* oracle.h: the answer that everything is tested against: the graph evaluated
 * in double precision.
 *
 * In:  a graph of any stage, weights, one sequence.
 * Out: the value of each node; what a compiled model computed beside it, and
 *      whether it is the same within fixed gates.
 * Public beside it: gates.h, trial.h, verify.h.                           */
#ifndef ATTNC_ORACLE_H
#define ATTNC_ORACLE_H

#include "graph/graph.h"

/* The unit of gates: a rounding of f32. */
#define F32_EPS 0x1p-23

/* ---- interp.c ---- */

/* The oracle: evaluates a graph of any stage on one sequence in double.     */
typedef struct {
    const Graph *g;
    int64_t length[6];       /* rows by Sym: n, t, p+t = t, r, m */
    int64_t prefix;          /* rows that all rows see: MaskSpec.prefix */
    const int32_t *ids[3];   /* by Entry: token ids of an entry's input */
    const int32_t *types[3]; /* by Entry: token types; NULL: all 0 */
    const double *rows[3];   /* kind attention, real-valued: query, key,
                                value in order of the Input nodes */
    const int32_t *select;   /* rows of Select, length[SymR] of them */
    /* value of a Weight node, row-major doubles: filled by the caller */
    const double *(*weight)(void *user, int node);
    void *user;
    const double **value; /* by node; NULL until evaluated */
    const double **given; /* by node: a value that is taken as it is, NULL:
                             evaluated; NULL: all are */
    Arena *arena;         /* the values live here */
} Interp;
void interp_run(Interp *in, Entry entry); /* evaluates all its nodes */
/* Evaluates one node from the values of its inputs: the local oracle. */
void interp_node(Interp *in, int node);
int64_t interp_size(const Interp *in, int node); /* elements of its value */

/* Returns n floats as doubles, in the arena. */
const double *oracle_widen(Arena *a, const float *x, int64_t n);

#endif
