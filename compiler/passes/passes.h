/* passes.h: rewrites of the graph, in the order of one table.
 *
 * In:  a Graph as built.
 * Out: the same graph, fused and lowered; what each pass did and did not do, if
 *      asked for.                                                           */
#ifndef ATTNC_PASSES_H
#define ATTNC_PASSES_H

#include "graph/graph.h"

/* --------------------------------------------------------------- pass.c --- */
typedef struct {
    const char *name;
    int (*run)(Graph *g); /* number of rewrites; 0 when run again */
    const char *summary;
    bool required; /* lowering: can't be skipped */
} Pass;
extern const Pass passes[];
extern const int n_passes;

typedef struct {
    const char *const *skip;
    int nskip; /* pass names, or "all" */
    const char *const *dump;
    int ndump;           /* print the graph after these */
    const char *after;   /* stop after this pass; NULL: all */
    bool explain;        /* say what each did and did not */
    bool require_fusion; /* a fusion that failed is an error */
} PassOptions;

/* Runs the table in order; the verifier after each. False: require_fusion
 * and something stayed unfused (reported).                                  */
bool run_passes(Graph *g, const PassOptions *o, FILE *log);

#endif
