/* passes.h: rewrites of the graph, in the order of one table.
 *
 * In:  a Graph as built.
 * Out: the same graph, fused and lowered; if requested, remarks on each pass's
 * rewrites and failures. */
#ifndef ATTNC_PASSES_H
#define ATTNC_PASSES_H

#include "graph/graph.h"

/* ---- pass.c ---- */
typedef struct {
    const char *name;
    int (*run)(Graph *g); /* returns the number of rewrites; a second run makes
                           * none */
    const char *summary;
    bool required; /* a lowering, which cannot be skipped */
} Pass;
extern const Pass passes[];
extern const int n_passes;

typedef struct {      /* a place where a fusion failed */
    const char *name; /* name of the node */
    Stack stack;
    int layer;        /* layer of the node; -1: outside the layers */
    const char *text; /* `name`, and why the fusion failed */
} Missed;

typedef struct { /* results of one pass */
    bool ran;
    int rewrites;
    VEC(Missed) missed;
} PassRecord;

typedef struct {
    const char *const *skip;
    int nskip; /* names of passes to skip, or "all" */
    const char *const *dump;
    int ndump;           /* passes after which to print the graph */
    const char *after;   /* last pass to run; NULL: all passes */
    bool explain;        /* log the remarks of each pass */
    bool require_fusion; /* a failed fusion is an error */
    PassRecord *record;  /* array of n_passes records to fill in, or NULL */
} PassOptions;

/* Runs the passes in order and verifies the graph after each. Returns false if
 * require_fusion is set and a fusion failed, which it reports. */
bool run_passes(Graph *g, const PassOptions *o, FILE *log);

#endif
