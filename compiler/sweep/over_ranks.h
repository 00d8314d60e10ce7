/* over_ranks.h: estimates the cost of one model that is divided among N ranks,
 * before its code is compiled. Each rank has `threads` cores of a machine like
 * this one, which others of these ranks share if it has more. A rank computes
 * its share of the columns of each product and of the heads of attention. After
 * each of these nodes, every rank receives the columns of the other ranks: a
 * gather. Products that only attention reads, those of queries,
 * keys and values, need none. With integer arithmetic or fix.sum_ranks the
 * ranks add the sums of o and w2, instead of gathering the heads, o, w1 and w2:
 * a sum is two gathers, of which the first adds, and a pass over the sums, in
 * which each rank makes the results. With integers they also take
 * the maximum of these products' rows before; its bytes are left out. Each rank
 * computes all other nodes, such as norms, in full.
 *
 *   seconds of N ranks = divided work / N + other work + passes over sums
 *                      + gathers * ceil(log2(N)) * latency
 *                      + bytes of the results * (N - 1) / N / rate
 *
 * The seconds of the work are those of the cost model (cost_coefficients.c). */
#ifndef ATTNC_SWEEP_OVER_RANKS_H
#define ATTNC_SWEEP_OVER_RANKS_H

#include "bench/bench.h"

enum { RankWorks = 3 };

typedef struct {
    int64_t ranks;
    int threads;          /* of each rank */
    double latency, rate; /* of the link: s of a message, bytes per s */
} Link;

/* Tells what the ranks do with the result of a step that they divide. */
typedef enum {
    RankOwn, /* nothing: each rank computes what it needs */
    RankGather,
    RankMax, /* of a row's numbers, before it is quantised */
    RankSumInt,
    RankSumFloat,
    RankHows
} RankHow;
extern const char *const rank_how_name[RankHows];

typedef struct {
    const char *name;
    RankHow how;
    int64_t times;   /* steps of this name and size, one for each layer */
    int64_t columns; /* numbers of a row that the ranks exchange; or that each
                      * computes a share of */
    double bytes;    /* that each rank receives for a row of one step */
} RankStep;

typedef struct { /* a call, or what a layer does for one row */
    const char *name;
    int64_t rows, past, sequences; /* new rows and earlier ones of each */
    int64_t layers;  /* of a stack: the other members are of one of them */
    double gathers;  /* and sums and maxima */
    double messages; /* that a rank waits for, one after the other */
    double bytes;    /* that each rank receives */
    double one;      /* seconds of one rank */
    double compute;  /* seconds of N ranks without the gathers */
    double link;     /* seconds of the gathers */
} RankWork;

typedef struct {      /* numbers for which N ranks are faster than one */
    int64_t from, to; /* from > to: none */
    int64_t most;     /* the largest that was considered */
} RankRange;

typedef struct {
    const Link *link;
    Rates rates;            /* of each rank, while all run */
    RankWork layer[Stacks]; /* layers 0: the model has no such stack */
    VEC(RankStep) step;     /* in order of execution */
    RankWork work[RankWorks];
    int works;
    RankRange rows;  /* of a sequence */
    RankRange batch; /* sequences of a step; most 0: the model has no steps */
} RankReport;

/* Computes the report of a plan. c: coefficients of the cost model [Loads]. */
RankReport ranks_report(const Plan *p, const Machine *m, const double *c,
                        const Link *link);
/* Measures the machine, unless its rates are cached, and prints the report of
 * the engine's plan as text or JSON. */
void ranks_print(const Engine *e, const Link *link, bool json, FILE *out);

#endif
