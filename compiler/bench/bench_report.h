/* bench_report.h: the results of a bench, shared by the files that report
 * them. */
#ifndef ATTNC_BENCH_REPORT_H
#define ATTNC_BENCH_REPORT_H

#include "bench/bench.h"

/* ---- bench_kernels.c ---- */
typedef struct {           /* one op of a step of the model */
    const char *function;  /* emitted function it belongs to */
    const char *name;      /* "ffn.w1"; NULL: the whole function */
    const char *op;        /* "linear 512x2048" */
    double calls, seconds; /* in one run, on the slowest thread */
    Cost cost;
} KernelRow;
typedef VEC(KernelRow) KernelList;

/* Times each op of each workload in a second model that calls a clock. Its
 * results must be the same. Kernels are in the model's order, a function before
 * its ops. */
typedef struct {
    double clock;   /* seconds of one call of the clock */
    double *p50;    /* [works]: of runs with the clock */
    double *ticks;  /* [works]: calls of the clock in a run */
    KernelList *of; /* [works] */
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
    const Target *target; /* defines the peak of multiply-adds */
    Machine machine;
    Rates rates;    /* best rates seen with these threads, in kernels too */
    double between; /* FMA rate between the runs: median of slices */
    int again;      /* how often the rates were measured again because
                       something was faster */
    int threads;
    const Setup *setup;
    VEC(BenchRow) rows;
    KernelTimes kernels; /* its `of` is NULL: not timed */
} BenchReport;

/* ---- bench_columns.c ---- */
typedef struct {      /* a column of any format */
    const char *head; /* in tables; NULL: left out there */
    const char *json; /* in JSON and CSV */
    int places;       /* decimal places */
    int rank;         /* columns of the highest rank are dropped first on a
                         narrow terminal; 0: never */
} BenchColumn;
enum { WorkColumns = 16, KernelColumns = 9 };
extern const BenchColumn work_columns[WorkColumns];
extern const BenchColumn kernel_columns[KernelColumns];
/* Return the numbers of a row in the order of the columns; NAN: none. */
void work_values(const BenchReport *r, const BenchRow *row,
                 double value[WorkColumns]);
void kernel_values(const BenchReport *r, int work, const KernelRow *k,
                   double value[KernelColumns]);
Demand kernel_demand(const BenchReport *r, int work, const KernelRow *k);
Limit kernel_limit(const BenchReport *r, int work, const KernelRow *k);
const char *backend_name(const BenchReport *r);

/* ---- bench_machine.c ---- */
typedef struct { /* style of a table for people */
    const char *before, *between, *after;
    bool aligned;
} TableStyle;
extern const TableStyle plain_table, markdown_table;
void put_cell(const TableStyle *style, const char *text, int width, FILE *out);
void put_machine(const TableStyle *style, const Machine *m, FILE *out);
/* Prints only the machine, in any format. */
void machine_print(const Machine *m, BenchFormat format, FILE *out);

/* ---- bench_csv.c, bench_json.c, draw_roofline.c ---- */
void bench_csv(const BenchReport *r, FILE *out);
void bench_json(const BenchReport *r, FILE *out);
const char *draw_roofline(const BenchReport *r);

/* ---- rates.c ---- */

/* Compares the results with the limits. If anything was faster than its limit,
 * all rates are measured again within `seconds`, because the first measurement
 * was disturbed. Anything still faster raises the rates. Then sets each row's
 * limit. */
void bench_limits(BenchReport *r, double seconds);
/* Returns evidence that other programs ran on this machine; NULL: none. */
const char *bench_busy(Arena *a, const BenchReport *r);

/* ---- bench_print.c ---- */
void bench_print(const BenchReport *r, FILE *out);

#endif
