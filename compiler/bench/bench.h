/* bench.h: measures how fast a model runs, and how close to the machine's
 * limits.
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
    const char *lengths; /* of sources or prompts: "128", "8..128",
                            "8,16,32"; NULL: 128 or less */
    int64_t steps; /* tokens of each answer; -1: 32 or less; 0: no decoding */
    int64_t batch; /* sentences at once; 0: 1, or the number of lengths
                      listed */
    int64_t beam;  /* hypotheses of the search; 1: greedy */
    int64_t repetitions; /* runs of each workload; 0: by seconds */
    int64_t most;        /* most runs if repetitions is 0; 0: no limit */
    double seconds;      /* most for each workload */
    bool no_kernels;     /* do not time the model's steps */
    bool no_limit;       /* do not time the machine between runs */
    BenchFormat format;
    const char *svg; /* file of the roofline; NULL: none */
} BenchOptions;

/* ---- setup.c ---- */

/* Returns the lengths of `batch` sentences for a text like "8..128", from a
 * fixed seed; *batch 0 is set. NULL text: `otherwise` for each. Ends the
 * program with ExitUsage if the text is malformed. */
int32_t *bench_lengths(Arena *a, const char *text, int64_t otherwise,
                       int64_t *batch);
/* Returns a pseudo-random number; the sequence is the same everywhere. */
uint32_t bench_random(uint64_t *state);

/* ---- cost.c ---- */
typedef struct {
    double flops;   /* useful floating-point operations, by node_flops */
    double dots;    /* integer operations in products, of all planes */
    double weights; /* bytes of weights, once per call */
    double again;   /* bytes that scans read again in later steps */
    double scan;    /* bytes of weights read by a step of the smallest scan */
    double cached;  /* bytes of keys and values in a cache */
    double values;  /* bytes of inputs and outputs */
    double written; /* the outputs among `values` */
} Cost;

typedef struct { /* one call of an entry */
    Entry entry;
    int64_t sequences;
    const int32_t *start;  /* [sequences + 1]: first new row of each */
    const int32_t *past;   /* [sequences]: rows in the cache; NULL: 0 */
    const int32_t *source; /* [sequences / group]: rows of each source */
    int64_t group;         /* sequences that share a source */
} EntryCall;

/* Adds to cost[node] the cost of each node of one call that emits code. */
void count_call(const Plan *p, const EntryCall *c, Cost *cost);
/* Returns zeros for all nodes, in the graph's arena. */
Cost *new_costs(const Plan *p);
Cost cost_sum(Cost a, Cost b);
double cost_bytes(Cost c); /* sum of all bytes */
double cost_operations(Cost c);
/* Returns the least seconds for these operations. */
double operations_seconds(const Rates *r, Cost c);
/* Returns the bytes that bound the time of a call. Reads and writes overlap, so
 * of the values only the larger of the two counts. */
double cost_traffic(const Cost *c);

typedef struct { /* memory and batches of one model */
    Arena *arena;
    const Engine *engine;
    const struct attn_model *model; /* model that runs; may be replaced */
    const struct attn_parallel *parallel;
    struct attn_model counted; /* used if the model is only planned, */
    struct attn_parallel counted_parallel; /* with its number of threads */
    double bytes; /* memory of calls, without weights */
    const Spec *spec;
    BenchOptions options; /* with all defaults applied */
    int threads;
    int32_t *rows;        /* [batch]: length of each source or prompt */
    int64_t longest;      /* longest of `rows` */
    int32_t *ids, *start; /* sources or prompts, and their beginnings */
    struct attn_batch encode, prefill, step;
    struct attn_cache cache[2];
    size_t cache_bytes[2];
    void *scratch; /* the model's arena */
    float *output; /* result of encode, or logits */
    struct attn_search_options search;
    void *search_memory;
    int64_t search_bytes;
    struct attn_hypothesis *found;
    int64_t *found_count;
    int32_t *answer; /* [batch][steps] */
} Setup;

/* Applies defaults to the sizes. Sizes that do not fit the model end the
 * program with ExitUsage. An engine with a plan but no code has only its memory
 * and costs counted; nothing can run. */
Setup *setup_new(const Engine *e, const BenchOptions *o);
bool setup_runs(const Setup *s);
bool setup_searches(const Setup *s);
/* True if the spec's `fix` compiles decode for one number of new rows, or of
 * rows before them. A single row after any number does not count. */
bool setup_exact(const Setup *s);
int64_t setup_exact_past(const Setup *s);
int64_t setup_output_floats(const Setup *s); /* result of one encode call */
/* Sets up `rows` new rows of each hypothesis after `past` rows in the cache;
 * both are by sentence, and each sentence has `beam` hypotheses. */
void setup_decode(const Setup *s, struct attn_batch *b, const int32_t *rows,
                  const int32_t *past, int64_t beam);

/* ---- slow_work.c ---- */
/* Kinds of work that each run at their own fraction of the machine's rates:
 * products by rows of x (one, few, many) and by dtype, attention of one query
 * row or more, norms. Everything else is moving values. */
enum {
    LoadRow,
    LoadFew,
    LoadMany,
    LoadBf16,                      /* the same three for bf16 */
    LoadInt8 = 2 * LoadBf16,       /* and for integers */
    LoadDot = LoadInt8 + LoadBf16, /* and for sums of integers */
    LoadQuery = LoadDot + LoadBf16,
    LoadQueries,
    LoadNorm,
    LoadMove,
    LoadKinds
};
/* Work whose time follows from no rate: calls of the model, functions in them,
 * results of products, activations that need exp, attention scores, logits that
 * a search examines. */
enum {
    LoadCalls = LoadKinds,
    LoadFunctions,
    LoadResults,
    LoadCurves,
    LoadScores,
    LoadLogits,
    Loads
};
typedef struct { /* one call of a model, by kind */
    Cost of[LoadKinds];
    double count[Loads]; /* indexed from LoadCalls */
} Load;
Load load_of(const Plan *p, const EntryCall *c, const Cost *cost);
/* Adds to x the seconds at the machine's rates of each kind, then the
 * counts. */
void load_add(const Machine *m, const Rates *r, const Load *load,
              double x[Loads]);

/* ---- workloads.c ---- */
typedef struct { /* something to time */
    const char *name;
    double rows;   /* new rows of one run */
    double tokens; /* tokens read or generated */
    Cost *cost;    /* [nodes], for one run */
    Cost sum;
    VEC(Cost) calls; /* to the model, in order */
    VEC(Load) loads; /* the same calls' work by kind */
    double set;      /* weights and cache in bytes read by the largest call */
    void (*run)(Setup *s);
    Entry entry;
    const struct attn_batch *batch; /* batch of the call; NULL: of_others */
    const void *result;             /* its result, the same in every run */
    size_t result_bytes;
    bool floats;       /* the result is floats, which must be finite */
    bool of_others;    /* consists of calls like those of the other workloads */
    double per_answer; /* runs in one complete answer; 0: of_others */
    uint64_t checksum; /* the first run's checksum of the result */
} Work;
typedef VEC(Work) Works;

void setup_works(Setup *s, Works *works);
/* Returns the checksum of the last run's result. A number that is not finite
 * ends the program. */
uint64_t work_checksum(const Work *w);
/* Return the input or output ids of sentence i; NULL: none. */
const int32_t *setup_source(const Setup *s, int64_t i);
const int32_t *setup_answer(const Setup *s, int64_t i);

/* ---- limits.c ---- */
typedef struct {    /* the bound of a workload or kernel */
    double seconds; /* least time on this machine */
    int bound;      /* its cause: a Level, BoundFma or BoundDot */
} Limit;
enum { BoundFma = Levels, BoundDot, Bounds };
const char *bound_word(int bound); /* e.g. "FMA", "L2", "memory" */

typedef struct { /* operations, and bytes to read */
    Cost cost;
    double set;   /* bytes of weights and cache read before any is read again */
    double calls; /* number of calls that share `values` */
} Demand;
/* Returns the least time of a demand. Each level must deliver the bytes that do
 * not fit in nearer caches. Levels and arithmetic work in parallel, so the
 * slowest decides. A level that would take longer than the measured `seconds`
 * was not needed, so a nearer one bounds it. INFINITY: not measured. */
Limit limit_of(const Machine *m, const Rates *r, const Demand *d,
               double seconds);
/* Like limit_of(), if no bytes come from beyond the level `farthest`. */
Limit limit_within(const Machine *m, const Rates *r, const Demand *d,
                   Level farthest);
/* Returns the sum of the limits of a workload's calls; bound is the one with
 * the largest share. Values of calls may stay in registers. */
Limit work_limit(const Machine *m, const Rates *r, const Work *w,
                 double seconds);
/* Raises the rates to what was reached in `seconds`. */
void rates_reach(Rates *r, const Cost *c, double seconds);

/* ---- times.c ---- */
typedef VEC(double) Times; /* seconds */

typedef struct {
    int64_t n;
    double best, p50, p95;
    double low, high; /* 95 % confidence interval of the median by order
                         statistics; the extremes if there are fewer than 6
                         times */
} Summary;

Summary times_summary(const Times *t); /* needs at least one time */
/* Returns half of the interval's width as a fraction of the median; -1:
 * none. */
double summary_error(const Summary *s);
/* Sets the ranks, from 0, of the sorted times that bound the interval. Returns
 * false if there is none. */
bool median_ranks(int64_t n, int64_t *low, int64_t *high);

/* ---- rates.c ---- */

/* Returns, in the arena, evidence that other programs ran on this machine;
 * NULL: none. `what` ("medians") is accurate to +-`error`, a fraction; `part`
 * is the fraction of the FMA peak that was reached; `more` names the option for
 * more time. */
const char *busy_text(Arena *a, const char *what, double error, double part,
                      const char *more);

/* ---- bench.c ---- */

/* Runs all workloads in turn, as often as the options say. Adds their times to
 * times[works], and those of slices of the machine's own limit to
 * times[works->n]. A result that changes or is not finite is an internal
 * error. */
void bench_workloads(Setup *s, Works *works, Times *times);
/* Times all workloads as above and prints the report. Returns an exit code. */
int bench_run(const Engine *e, const BenchOptions *o, FILE *out);
/* Measures and prints only the machine. */
int bench_machine(const BenchOptions *o, FILE *out);

/* ---- bench_machine.c ---- */
void machine_json(const Machine *m, Buffer *out);   /* adds an object */
const char *size_text(char text[32], size_t bytes); /* e.g. "32 KiB" */
/* Prints the target's assumptions next to the machine's measurements. */
void target_print(const Machine *m, const Target *t, bool markdown, FILE *out);

#endif
