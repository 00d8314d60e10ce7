/* bench.h: measures how fast a model runs, and how close that is to the
 * machine's limits.
 *
 *   engine -> batches (setup.c) -> workloads (workloads.c)
 *   -> their costs (cost.c), by kind (slow_work.c), and limits (limits.c)
 *   -> times (bench.c, times.c), also of each step (bench_kernels.c)
 *   -> text (bench_print.c, bench_csv.c, bench_json.c),
 *      a picture (draw_roofline.c)
 *
 * In:  an Engine; lengths, batches and how long to measure.
 * Out: times, FLOPs and bytes of each workload and step, and the machine's
 *      limits. */
#ifndef ATTNC_BENCH_H
#define ATTNC_BENCH_H

#include "engine/engine.h"
#include "machine/machine.h"

typedef enum { BenchTable, BenchJson, BenchCsv, BenchMarkdown } BenchFormat;
enum { BenchSvg = BenchMarkdown + 1 }; /* --format=svg sets `svg` to "-" */

typedef struct {
    const char *lengths; /* lengths of sources or prompts: "128", "8..128" or
                          * "8,16,32"; NULL: 128, or the model's limit if that
                          * is less */
    int64_t steps; /* tokens of each answer; -1: 32, or the model's limit if
                    * that is less; 0: no decoding */
    int64_t batch; /* number of sentences in a batch; 0: the number of lengths
                    * listed, or 1 */
    int64_t beam;  /* hypotheses per sentence in the search; 1: greedy */
    int64_t repetitions; /* runs of each workload; 0: until `seconds` are
                          * over */
    int64_t most;        /* maximum runs if `repetitions` is 0; 0: unlimited */
    double seconds;      /* maximum time for each workload */
    bool no_kernels;     /* do not time the model's steps */
    bool no_limit;       /* do not time the machine between runs */
    BenchFormat format;
    const char *svg; /* file of the roofline plot; NULL: none */
} BenchOptions;

/* ---- setup.c ---- */

/* Returns the lengths of `batch` sentences for a text like "8..128", chosen at
 * random with a fixed seed. If *batch is 0, sets it to the number of lengths
 * listed. If `text` is NULL, every length is `otherwise`. Ends the program with
 * ExitUsage if the text is malformed. */
int32_t *bench_lengths(Arena *a, const char *text, int64_t otherwise,
                       int64_t *batch);
/* Returns a pseudo-random number and updates *state; the sequence is the same
 * on every machine. */
uint32_t bench_random(uint64_t *state);

/* ---- cost.c ---- */
typedef struct {
    double flops;   /* useful FLOPs, counted by node_flops() */
    double dots;    /* integer operations of products, for all weight planes */
    double pairs;   /* operations of products of bf16 rows */
    double weights; /* bytes of weights, counted once per call */
    double again;   /* bytes of weights that scans read again after their first
                     * step */
    double scan;    /* bytes of weights that one step of a scan reads; if there
                     * are several scans, the minimum */
    double cached;  /* bytes of keys and values read from or written to a
                     * cache */
    double values;  /* bytes of inputs and outputs */
    double written; /* bytes of outputs, which `values` includes */
} Cost;

typedef struct { /* one call of an entry */
    Entry entry;
    int64_t sequences;
    const int32_t *start;  /* [sequences + 1]: first new row of a sequence */
    const int32_t *past;   /* [sequences]: rows already in the cache; NULL: 0 */
    const int32_t *source; /* [sequences / group]: rows of each source */
    int64_t group;         /* number of sequences that share a source */
} EntryCall;

/* Adds the cost of each node in one call to cost[node]. Nodes without code cost
 * nothing. */
void count_call(const Plan *p, const EntryCall *c, Cost *cost);
/* Returns a cost of zero for each node, allocated in the graph's arena. */
Cost *new_costs(const Plan *p);
Cost cost_sum(Cost a, Cost b);
double cost_bytes(Cost c); /* sum of all bytes */
double cost_operations(Cost c);
/* Returns the minimum seconds that the operations of `c` take. */
double operations_seconds(const Rates *r, Cost c);
/* Returns the unit that takes most of these seconds, e.g. BoundFma. */
int operations_bound(const Rates *r, Cost c);
/* Returns the bytes that bound the time of a call. Reads and writes overlap, so
 * for activations only the larger of the two counts. */
double cost_traffic(const Cost *c);

typedef struct { /* memory and batches of one model */
    Arena *arena;
    const Engine *engine;
    const struct attn_model *model; /* the model that runs; may be replaced */
    const struct attn_parallel *parallel;
    struct attn_model counted; /* used instead of `model` if there is only a
                                * plan */
    struct attn_parallel counted_parallel; /* used instead of `parallel` if
                                            * there is only a plan; has the
                                            * number of threads */
    double bytes; /* bytes of memory that calls use, except weights */
    const Spec *spec;
    BenchOptions options; /* with all defaults applied */
    int threads;
    int32_t *rows;        /* [batch]: length of each source or prompt */
    int64_t longest;      /* maximum of `rows` */
    int32_t *ids, *start; /* tokens of all sources or prompts; index of the
                           * first token of each */
    struct attn_batch encode, prefill, step;
    struct attn_cache cache[2];
    size_t cache_bytes[2];
    void *scratch; /* memory for the arena of the emitted code */
    float *output; /* result of encode, or logits */
    struct attn_search_options search;
    void *search_memory;
    int64_t search_bytes;
    struct attn_hypothesis *found;
    int64_t *found_count;
    int32_t *answer; /* [batch][steps]: generated tokens */
} Setup;

/* Applies defaults to the sizes. Ends the program with ExitUsage if they do not
 * fit the model. If the engine has a plan but no code, counts memory and costs,
 * but nothing can run. */
Setup *setup_new(const Engine *e, const BenchOptions *o);
bool setup_runs(const Setup *s);
bool setup_searches(const Setup *s);
/* True if the spec's `fix` sets the number of new rows of decode or of rows
 * before them. Fixing only one new row after any number of rows does not
 * count. */
bool setup_exact(const Setup *s);
int64_t setup_exact_past(const Setup *s);
int64_t setup_output_floats(const Setup *s); /* number of floats in the result
                                              * of one encode call */
/* Sets up a decode call: sentence i adds rows[i] rows to each of its `beam`
 * hypotheses, after past[i] rows in the cache. */
void setup_decode(const Setup *s, struct attn_batch *b, const int32_t *rows,
                  const int32_t *past, int64_t beam);

/* ---- slow_work.c ---- */
/* Kinds of work. Each kind runs at its own fraction of the machine's rates:
 * products, by number of rows (one, few, many) and dtype; attention, for one
 * query row or for more; norms. All other work counts as moving values. */
enum {
    LoadRow,
    LoadFew,
    LoadMany,
    LoadBf16,                      /* the same three for bf16 weights */
    LoadInt8 = 2 * LoadBf16,       /* the same for integer weights */
    LoadDot = LoadInt8 + LoadBf16, /* the same for integer arithmetic */
    LoadQuery = LoadDot + LoadBf16,
    LoadQueries,
    LoadNorm,
    LoadMove,
    LoadKinds
};
/* Work that no measured rate covers. The cost model multiplies the count of
 * each by a fitted time. Counted are calls of the model, functions that those
 * calls run, results of products, activations that compute exp, attention
 * scores, and logits that a search examines. */
enum {
    LoadCalls = LoadKinds,
    LoadFunctions,
    LoadResults,
    LoadCurves,
    LoadScores,
    LoadLogits,
    Loads
};
typedef struct { /* the work of one call of the model, by kind */
    Cost of[LoadKinds];
    double blocks[LoadKinds]; /* blocks of rows in which its steps run */
    double count[Loads];      /* by kind, from LoadCalls on */
} Load;
Load load_of(const Plan *p, const EntryCall *c, const Cost *cost);
/* Adds to x the seconds that each kind takes at the machine's rates and, from
 * LoadCalls on, the counts. */
void load_add(const Machine *m, const Rates *r, const Load *load,
              double x[Loads]);

/* ---- workloads.c ---- */
typedef struct { /* something that is timed */
    const char *name;
    double rows;   /* new rows per run */
    double tokens; /* tokens read or generated */
    Cost *cost;    /* [nodes], for one run */
    Cost sum;
    VEC(Cost) calls; /* the calls of the model, in order */
    VEC(Load) loads; /* work of each call, by kind */
    double set; /* bytes of weights and cache that its largest call reads */
    void (*run)(Setup *s);
    Entry entry;
    const struct attn_batch *batch; /* batch of the call; NULL if of_others */
    const void *result;             /* result of the call, equal in all runs */
    size_t result_bytes;
    bool floats;       /* the result is floats, which must be finite */
    bool of_others;    /* a sum of calls that other workloads time */
    double per_answer; /* number of times that an answer runs this workload; 0
                        * if of_others */
    uint64_t checksum; /* checksum of the first run's result */
} Work;
typedef VEC(Work) Works;

void setup_works(Setup *s, Works *works);
/* Returns the checksum of the last run's result. Ends the program if a number
 * of the result is not finite. */
uint64_t work_checksum(const Work *w);
/* Return the input or output ids of sentence i, or NULL if it has none. */
const int32_t *setup_source(const Setup *s, int64_t i);
const int32_t *setup_answer(const Setup *s, int64_t i);

/* ---- limits.c ---- */
typedef struct {    /* limit of a workload or kernel */
    double seconds; /* minimum time on this machine; INFINITY: not measured */
    int bound;      /* what limits it: a Level, or a unit such as BoundFma */
} Limit;
enum { BoundFma = Levels, BoundDot, BoundPair, Bounds };
const char *bound_word(int bound); /* returns e.g. "FMA", "L2" or "memory" */

typedef struct { /* operations of a call, and bytes that it reads */
    Cost cost;
    double set;   /* bytes of weights and cache that are read before any is read
                   * again */
    double calls; /* number of calls whose values `cost` counts */
} Demand;
/* Returns the minimum time of a demand. Each memory level must deliver the
 * bytes that do not fit in nearer caches. Levels and arithmetic work in
 * parallel, so the slowest determines the time. If a level would take longer
 * than the measured `seconds`, the data must have come from a nearer level,
 * whose limit is returned. INFINITY: not measured. */
Limit limit_of(const Machine *m, const Rates *r, const Demand *d,
               double seconds);
/* Like limit_of(), but assumes that all data is at the level `farthest` or
 * nearer. */
Limit limit_within(const Machine *m, const Rates *r, const Demand *d,
                   Level farthest);
/* Returns the sum of the limits of a workload's calls. `bound` is the one with
 * the largest share. Values are not counted, because they may stay in
 * registers. */
Limit work_limit(const Machine *m, const Rates *r, const Work *w,
                 double seconds);
/* Multiplies the rates of all units by `more`. */
void rates_raise(Rates *r, double more);
/* Raises the rates to those that a run with this cost reached in `seconds`. */
void rates_reach(Rates *r, const Cost *c, double seconds);

/* ---- times.c ---- */
typedef VEC(double) Times; /* seconds */

typedef struct {
    int64_t n;
    double best, p50, p95;
    double low, high; /* 95 % confidence interval of the median, from order
                       * statistics; with fewer than 6 times, the extremes */
} Summary;

Summary times_summary(const Times *t); /* needs at least one time */
/* Returns half the width of the interval as a fraction of the median, or -1 if
 * there is no interval. */
double summary_error(const Summary *s);
/* Sets the ranks, from 0, of the sorted times at the ends of the interval. If
 * there are too few times, sets the ranks of the extremes and returns false. */
bool median_ranks(int64_t n, int64_t *low, int64_t *high);
int by_number(const void *a, const void *b); /* compares doubles for qsort() */

/* ---- rates.c ---- */

/* Returns evidence that other programs ran on this machine, allocated in the
 * arena, or NULL if there is none. `what` names the measured values
 * ("medians"), `error` is their relative error, `part` is the fraction of the
 * FMA peak that was reached, and `more` names the option that allows more
 * time. */
const char *busy_text(Arena *a, const char *what, double error, double part,
                      const char *more);

/* ---- bench.c ---- */

/* Runs all workloads in turn, with the repetitions or the time in the options.
 * Adds the times of workload i to times[i], and those of the machine
 * benchmark's slices to times[works->n]. A result that changes or is not finite
 * is an internal error. */
void bench_workloads(Setup *s, Works *works, Times *times);
/* Times all workloads with bench_workloads() and prints the report. Returns an
 * exit code. */
int bench_run(const Engine *e, const BenchOptions *o, FILE *out);
/* Measures only the machine and prints its rates. Returns an exit code. */
int bench_machine(const BenchOptions *o, FILE *out);

/* ---- bench_machine.c ---- */
/* Returns the cache sizes as text, e.g. "L1 32 KiB, L2 1.25 MiB, L3 32 MiB". */
const char *cache_sizes(Arena *a, const Machine *m);
void machine_json(const Machine *m, Buffer *out); /* appends the machine as a
                                                   * JSON object */
/* Prints the figures that the target assumes next to the measured ones. */
void target_print(const Machine *m, const Target *t, bool markdown, FILE *out);

#endif
