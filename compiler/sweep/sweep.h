/* sweep.h: what many variants of a spec cost, one beside the other.
 *
 *   specs, --vary -> axes (axis.c) -> variants (grid.c)
 *   -> each in a child process (sweep_child.c), for its workload (workload.c):
 * planned and estimated (sweep_facts.c, estimate.c, cost_coefficients.c), then
 * timed, in the order that tells most soonest (sweep_schedule.c); kept in a
 * file (resume_file.c)
 *   -> rows (row.c), their columns (sweep_columns.c), the front (pareto.c)
 *   -> text (sweep_print.c, sweep_csv.c, sweep_json.c; layers:
 * compare_layers.c), a picture (draw_sweep.c, draw_compare.c)
 *
 * In:  paths of specs, texts of --vary, columns, what an engine and a bench
 *      take.
 * Out: a table of the variants; one that cannot be made is a row that says so.
 */
#ifndef ATTNC_SWEEP_H
#define ATTNC_SWEEP_H

#include "bench/bench.h"

typedef struct {
    const char *const *specs; /* paths */
    int nspecs;
    const char *const *vary; /* "h=4,8,16", each */
    int nvary;
    bool predict;        /* run nothing: times as the plans say */
    bool zip;            /* axes in step, not every combination */
    bool layers;         /* the paper's Table 1: lengths are varied, a line for
                            what else is */
    const char *columns; /* names, by commas; NULL: the usual ones */
    const char *sort;    /* a column; NULL: the usual one */
    const char *pareto;  /* "parameters,latency"; NULL: these */
    const char *svg;     /* a file to draw the rows into; NULL: none */
    const char *axes;    /* what it draws: "parameters,latency"; NULL: what fits
                            the fields that are varied */
    BenchFormat format;
    double budget;       /* seconds for all of it; 0: no limit */
    const char *resume;  /* a file that keeps the rows; NULL: none */
    EngineOptions model; /* but for its spec */
    BenchOptions work;
} SweepOptions;

/* Makes and times all variants and prints the table. An exit code: that of the
 * variants where none of them could be made.                                 */
int sweep_run(const SweepOptions *o, FILE *out);

#endif
