/* bench.h: how fast a model runs, and how near to the machine's limits.
 *
 *   engine -> workloads (bench_work.c) -> times (bench.c) -> text
 *             and counts (bench_count.c)               (bench_print.c)      */
#ifndef ATTNC_BENCH_H
#define ATTNC_BENCH_H

#include "engine.h"
#include "machine.h"

typedef enum { BenchTable, BenchJson, BenchCsv, BenchMarkdown } BenchFormat;

typedef struct {
    int64_t rows;                /* of each source or prompt; 0: 128 or what
                                    the model takes */
    int64_t steps;               /* tokens of each answer; -1: 32 or what the
                                    model gives; 0: no decoding */
    int64_t batch;               /* sentences at once */
    int64_t repetitions;         /* of each workload; 0: by seconds */
    double seconds;              /* for each workload */
    BenchFormat format;
} BenchOptions;

/* ------------------------------------------------------- bench_work.c --- */
typedef struct Setup Setup;      /* memory and batches of one model */

typedef struct {                 /* something to be timed */
    const char *name;
    double rows;                 /* new rows that one run works through */
    double tokens;               /* tokens that it takes in or gives out */
    double flops;                /* useful operations, by node_flops */
    double bytes;                /* of weights that it reads */
    void (*run)(Setup *s);
    const void *result;          /* what it leaves, the same in every run */
    size_t result_bytes;
    bool floats;                 /* the result is floats: must be finite */
} Work;
typedef VEC(Work) Works;

/* Sizes of `o` that were left open are filled in; those that do not fit the
 * model are reported and end the program with ExitUsage.                     */
Setup *setup_new(const Engine *e, BenchOptions *o);
void setup_works(Setup *s, Works *works);
/* Ids of sentence i that go in and that came out; NULL: there are none. */
const int32_t *setup_source(const Setup *s, int64_t i);
const int32_t *setup_answer(const Setup *s, int64_t i);

/* ------------------------------------------------------ bench_count.c --- */
/* Add the operations of one call for all sequences, and the bytes of weights,
 * which are read once for all of them, to w->flops and w->bytes.             */
void count_encode(const Graph *g, const BenchOptions *o, Work *w);
/* `rows` new rows after `past`, logits for the last. */
void count_decode(const Graph *g, const BenchOptions *o, int64_t past,
                  int64_t rows, Work *w);
void count_search(const Graph *g, const BenchOptions *o, Work *w);

/* ------------------------------------------------------------ bench.c --- */
typedef struct {
    Work work;
    int64_t runs;
    double p50, p95, best;       /* seconds */
    uint64_t checksum;
} BenchRow;

typedef struct {
    const Engine *engine;
    BenchOptions options;
    Machine machine;             /* fma: median of slices between the runs */
    const Setup *setup;
    VEC(BenchRow) rows;
} BenchReport;

/* Times every workload in turn, with a slice of the machine's own limit after
 * each turn, and prints the report. A result that is not finite, or not the
 * same in every run, is an internal error.                                   */
void bench_run(const Engine *e, const BenchOptions *o, FILE *out);

/* ------------------------------------------------------ bench_print.c --- */
void bench_print(const BenchReport *r, FILE *out);

#endif
