/* bench_report.h: what a bench found, for those of its files that make a
 * report. */
#ifndef ATTNC_BENCH_REPORT_H
#define ATTNC_BENCH_REPORT_H

#include "bench/bench.h"

/* ---- bench_kernels.c ---- */
typedef struct {           /* one op of a step of the model */
    const char *function;  /* the emitted function that has it */
    const char *name;      /* "ffn.w1"; NULL: the function as a whole */
    const char *op;        /* "linear 512x2048" */
    double calls, seconds; /* in one run, of the slowest thread */
    Cost cost;
} KernelRow;
typedef VEC(KernelRow) KernelList;

/* Times each op of each workload in a second model, which calls a clock, and
 * must leave the same results. Kernels come in the model's order, a function
 * before the ops that it has.                                                */
typedef struct {
    double clock;   /* seconds that one call of the clock takes */
    double *p50;    /* [works] of runs with the clock */
    double *ticks;  /* [works] calls of the clock in a run */
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
    const Target *target; /* whose multiply-adds are the peak */
    Machine machine;
    Rates rates;    /* of the threads in use: the best that was seen, of
                       kernels too */
    double between; /* FMA rate between the runs: median of slices */
    int again;      /* times that the rates were measured again, since
                       something was faster */
    int threads;
    const Setup *setup;
    VEC(BenchRow) rows;
    KernelTimes kernels; /* of: NULL: not asked for */
} BenchReport;

/* ---- bench_columns.c ---- */
typedef struct {      /* a column of all formats */
    const char *head; /* for people; NULL: not shown to them */
    const char *json; /* for programs */
    int places;       /* after the point */
    int rank;         /* the highest is left out first, where a terminal is
                         too narrow; 0: never */
} BenchColumn;
enum { WorkColumns = 16, KernelColumns = 9 };
extern const BenchColumn work_columns[WorkColumns];
extern const BenchColumn kernel_columns[KernelColumns];
/* The numbers of a row, in the order of the columns; NAN: none. */
void work_values(const BenchReport *r, const BenchRow *row,
                 double value[WorkColumns]);
void kernel_values(const BenchReport *r, int work, const KernelRow *k,
                   double value[KernelColumns]);
Demand kernel_demand(const BenchReport *r, int work, const KernelRow *k);
Limit kernel_limit(const BenchReport *r, int work, const KernelRow *k);
const char *backend_name(const BenchReport *r);
/* `"key": "text"`, without what JSON would escape. */

/* ---- bench_machine.c ---- */
typedef struct { /* how a table for people looks */
    const char *before, *between, *after;
    bool aligned;
} TableStyle;
extern const TableStyle plain_table, markdown_table;
void put_cell(const TableStyle *style, const char *text, int width, FILE *out);
void put_machine(const TableStyle *style, const Machine *m, FILE *out);
/* The machine alone, in any format. */
void machine_print(const Machine *m, BenchFormat format, FILE *out);

/* ---- bench_csv.c, bench_json.c, draw_roofline.c ---- */
void bench_csv(const BenchReport *r, FILE *out);
void bench_json(const BenchReport *r, FILE *out);
const char *draw_roofline(const BenchReport *r);

/* ---- rates.c ---- */

/* Holds what ran against the limits: where anything was faster, a rate of the
 * machine was measured in a bad moment, and all are measured again, within
 * `seconds`. What is faster still raises them. Then each row has its limit.  */
void bench_limits(BenchReport *r, double seconds);
/* What says that other programs ran on this machine; NULL: nothing. */
const char *bench_busy(Arena *a, const BenchReport *r);

/* ---- bench_print.c ---- */
void bench_print(const BenchReport *r, FILE *out);

#endif
