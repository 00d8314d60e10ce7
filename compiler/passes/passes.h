/* passes.h: rewrites of the graph, run in the order of one table.
 *
 * In:  a Graph as built.
 * Out: the same graph, fused and lowered; on request, what each pass did and
 *      did not do. */
#ifndef ATTNC_PASSES_H
#define ATTNC_PASSES_H

#include "graph/graph.h"

/* ---- pass.c ---- */
typedef struct {
    const char *name;
    int (*run)(Graph *g); /* returns its rewrites; 0 when run again */
    const char *summary;
    bool required; /* a lowering, which cannot be skipped */
} Pass;
extern const Pass passes[];
extern const int n_passes;

typedef struct {      /* a place where a fusion failed */
    const char *name; /* the node's */
    Stack stack;
    int layer;        /* -1: outside the layers */
    const char *text; /* the name, and why the fusion failed */
} Missed;

typedef struct { /* what a pass did */
    bool ran;
    int rewrites;
    VEC(Missed) missed;
} PassRecord;

typedef struct {
    const char *const *skip;
    int nskip; /* names of passes, or "all" */
    const char *const *dump;
    int ndump;           /* print the graph after these */
    const char *after;   /* stop after this pass; NULL: all */
    bool explain;        /* log what each pass did and did not do */
    bool require_fusion; /* a fusion that failed is an error */
    PassRecord *record;  /* [n_passes] to be filled in, or NULL */
} PassOptions;

/* Runs the table in order and verifies the graph after each pass. Returns false
 * if require_fusion is set and something stayed unfused (reported). */
bool run_passes(Graph *g, const PassOptions *o, FILE *log);

#endif
