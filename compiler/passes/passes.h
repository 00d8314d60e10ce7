/* passes.h: rewrites of the graph, in the order of one table.
 *
 * In:  a Graph as built.
 * Out: the same graph, fused and lowered; what each pass did and did not do, if
 *      asked for.                                                           */
#ifndef ATTNC_PASSES_H
#define ATTNC_PASSES_H

#include "graph/graph.h"

/* ---- pass.c ---- */
typedef struct {
    const char *name;
    int (*run)(Graph *g); /* number of rewrites; 0 when run again */
    const char *summary;
    bool required; /* lowering: can't be skipped */
} Pass;
extern const Pass passes[];
extern const int n_passes;

typedef struct {      /* a place where a fusion failed */
    const char *name; /* of the node */
    Stack stack;
    int layer;        /* -1: outside the layers */
    const char *text; /* the name, and why */
} Missed;

typedef struct { /* what a pass did */
    bool ran;
    int rewrites;
    VEC(Missed) missed;
} PassRecord;

typedef struct {
    const char *const *skip;
    int nskip; /* pass names, or "all" */
    const char *const *dump;
    int ndump;           /* print the graph after these */
    const char *after;   /* stop after this pass; NULL: all */
    bool explain;        /* say what each did and did not */
    bool require_fusion; /* a fusion that failed is an error */
    PassRecord *record;  /* [n_passes] to be filled in; NULL: not asked */
} PassOptions;

/* Runs the table in order; the verifier after each. False: require_fusion
 * and something stayed unfused (reported).                                  */
bool run_passes(Graph *g, const PassOptions *o, FILE *log);

#endif
