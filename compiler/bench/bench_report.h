/* bench_report.h: the results of a bench, shared by the files that print
 * them. */
#ifndef ATTNC_BENCH_REPORT_H
#define ATTNC_BENCH_REPORT_H

#include "bench/bench.h"

/* ---- bench_kernels.c ---- */
typedef struct {           /* one op in a step of the model */
    const char *function;  /* emitted function that the op is part of */
    const char *name;      /* name of the op, e.g. "ffn.w1"; NULL: the row is
                            * the complete function */
    const char *op;        /* the op with its shape, e.g. "linear 512x2048" */
    double calls, seconds; /* calls and seconds in one run, on the slowest
                            * thread */
    Cost cost;
} KernelRow;
typedef VEC(KernelRow) KernelList;

/* The times of all ops. bench_kernels.c measures them in a second model, whose
 * code calls a clock. Kernels are in the model's order, each function before
 * its ops. */
typedef struct {
    double clock;   /* seconds of one call of the clock */
    double *p50;    /* [works]: median seconds of a run with the clock */
    double *ticks;  /* [works]: calls of the clock in a run */
    KernelList *of; /* [works]: the kernels of each workload */
} KernelTimes;
void bench_kernels(KernelTimes *k, Setup *s, const Works *works,
                   const Summary *summary);

/* ---- bench.c ---- */
typedef struct {
    Work work;
    Summary time;
    Limit limit;
} BenchRow;

typedef struct {
    const Engine *engine;
    const Target *target; /* has the units that define the FMA peak */
    Machine machine;
    Rates rates;    /* highest rates measured with these threads, in kernels
                     * too */
    double between; /* median FMA rate of the slices between runs */
    int again;      /* number of times that the rates were measured again,
                     * because a run was faster than they allow */
    int threads;
    const Setup *setup;
    VEC(BenchRow) rows;
    KernelTimes kernels; /* `of` is NULL if the kernels were not timed */
} BenchReport;

/* ---- bench_columns.c ---- */
typedef struct {      /* a column, in any format */
    const char *head; /* heading in tables; NULL: not in tables */
    const char *json; /* key in JSON, heading in CSV */
    int places;       /* decimal places */
    int rank;         /* a narrow terminal drops the columns with the highest
                       * rank first; 0: never dropped */
} BenchColumn;
enum { WorkColumns = 16, KernelColumns = 9 };
extern const BenchColumn work_columns[WorkColumns];
extern const BenchColumn kernel_columns[KernelColumns];
/* Write the numbers of a row in the order of the columns. NAN: the row lacks
 * this number. */
void work_values(const BenchReport *r, const BenchRow *row,
                 double value[WorkColumns]);
void kernel_values(const BenchReport *r, int work, const KernelRow *k,
                   double value[KernelColumns]);
Demand kernel_demand(const BenchReport *r, int work, const KernelRow *k);
Limit kernel_limit(const BenchReport *r, int work, const KernelRow *k);
const char *backend_name(const BenchReport *r);

/* ---- bench_machine.c ---- */
void put_machine(bool markdown, const Machine *m, FILE *out);
/* Prints only the machine, in any format. */
void machine_print(const Machine *m, BenchFormat format, FILE *out);

/* ---- bench_csv.c, bench_json.c, draw_roofline.c ---- */
void bench_csv(const BenchReport *r, FILE *out);
void bench_json(const BenchReport *r, FILE *out);
const char *draw_roofline(const BenchReport *r);

/* ---- rates.c ---- */

/* Compares the results with the limits. If any result is faster than its limit,
 * the first measurement of the rates was disturbed, so measures all rates
 * again, for up to `seconds`. If a result is still faster, raises the rates.
 * Then sets the limit of each row. */
void bench_limits(BenchReport *r, double seconds);
/* Returns evidence that other programs ran on this machine, or NULL if there is
 * none. */
const char *bench_busy(Arena *a, const BenchReport *r);

/* ---- bench_print.c ---- */
void bench_print(const BenchReport *r, FILE *out);

#endif
