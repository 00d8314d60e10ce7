/* sweep.h: compares the costs of many variants of a spec.
 *
 *   specs, --vary -> axes (axis.c) -> variants (grid.c)
 *   -> each in a child process (sweep_child.c), for its workload (workload.c):
 * planned and estimated (sweep_facts.c, estimate.c, cost_coefficients.c), then
 * timed, most informative first (sweep_schedule.c); saved (resume_file.c)
 *   -> rows (row.c), their columns (sweep_columns.c), Pareto front (pareto.c)
 *   -> text (sweep_print.c, sweep_csv.c, sweep_json.c; layers:
 * compare_layers.c), a picture (draw_sweep.c, draw_compare.c)
 *
 * Beside it: what one model costs over N ranks (over_ranks.c).
 *
 * In:  paths of specs, texts of --vary, columns, options of engine and bench.
 * Out: a table of the variants; an invalid one is a row with its error.
 * Other public header: over_ranks.h. */
#ifndef ATTNC_SWEEP_H
#define ATTNC_SWEEP_H

#include "bench/bench.h"

typedef struct {
    const char *const *specs; /* paths of the specs */
    int nspecs;
    const char *text_of;     /* the spec whose text is model.text; or NULL */
    const char *const *vary; /* texts of --vary, such as "h=4,8,16" */
    int nvary;
    bool predict;        /* runs nothing; predicts the times from the plans */
    bool zip;            /* varies all axes in step instead of combining them */
    bool layers;         /* print Table 1 of the paper; lengths as an axis */
    const char *columns; /* names, separated by commas; NULL: default */
    const char *sort;    /* column to sort by; NULL: default */
    const char *pareto;  /* columns of the Pareto front, "parameters,latency";
                          * NULL: default */
    const char *svg;     /* file for the picture; NULL: none */
    const char *axes;    /* quantities in the picture, "h,latency"; or NULL */
    BenchFormat format;
    double budget;       /* seconds for the complete sweep; 0: no limit */
    const char *resume;  /* file in which rows are saved; NULL: none */
    EngineOptions model; /* options of the engine, except for the spec */
    BenchOptions work;
} SweepOptions;

/* Plans and times all variants and prints the table. Returns an exit code; if
 * no variant was valid, that of the first one. */
int sweep_run(const SweepOptions *o, FILE *out);

#endif
