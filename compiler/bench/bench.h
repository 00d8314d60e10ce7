/* bench.h: how fast a model runs, and how near to the machine's limits.
 *
 *   engine -> batches (setup.c) -> workloads (workloads.c)
 *   -> what they cost (cost.c), by kind (slow_work.c), and the machine's limits
 *      (limits.c)
 *   -> times (bench.c, times.c), of each step of the model too
 * (bench_kernels.c)
 *   -> text (bench_print.c, bench_csv.c, bench_json.c), a picture
 * (draw_roofline.c)
 *
 * In:  an Engine; lengths, batches and for how long to measure.
 * Out: times, FLOPs and bytes of each workload and step, beside the machine's
 *      limits.                                                              */
#ifndef ATTNC_BENCH_H
#define ATTNC_BENCH_H

#include "engine/engine.h"
#include "machine/machine.h"

typedef enum { BenchTable, BenchJson, BenchCsv, BenchMarkdown } BenchFormat;
enum { BenchSvg = BenchMarkdown + 1 }; /* --format=svg: `svg` is "-" */

typedef struct {
    const char *lengths; /* of sources or prompts: "128", "8..128",
                            "8,16,32"; NULL: 128 or what fits */
    int64_t steps;       /* tokens of each answer; -1: 32 or what the
                            model gives; 0: no decoding */
    int64_t batch;       /* sentences at once; 0: 1, or as many as
                            lengths are listed */
    int64_t beam;        /* of the search; 1: greedy */
    int64_t repetitions; /* of each workload; 0: by seconds */
    int64_t most;        /* where by seconds: runs at most; 0: many */
    double seconds;      /* for each workload, at most */
    bool no_kernels;     /* the model's parts are not timed */
    bool no_limit;       /* nor the machine between the runs */
    BenchFormat format;
    const char *svg; /* a file for the roofline; NULL: none */
} BenchOptions;

/* ---- setup.c ---- */

/* The lengths that a text like "8..128" gives to `batch` sentences, of a seed
 * that is fixed; *batch 0 is filled in. Ends with ExitUsage where the text is
 * wrong. NULL: `otherwise` for each.                                         */
int32_t *bench_lengths(Arena *a, const char *text, int64_t otherwise,
                       int64_t *batch);
/* Numbers that look random and are the same everywhere. */
uint32_t bench_random(uint64_t *state);

/* ---- cost.c ---- */
typedef struct {
    double flops;   /* useful operations on floats, by node_flops */
    double dots;    /* those on integers in products, of all their planes */
    double weights; /* bytes of weights: once for each call */
    double again;   /* of those of scans: for each step but the first */
    double scan;    /* of one scan's, the least: what a step reads before it
                       reads the same again */
    double cached;  /* bytes of keys and values in a cache */
    double values;  /* bytes of what goes in and comes out */
    double written; /* of these: what comes out */
} Cost;

typedef struct { /* one call of an entry */
    Entry entry;
    int64_t sequences;
    const int32_t *start;  /* [sequences + 1] first new row of each */
    const int32_t *past;   /* [sequences] rows in the cache; NULL: 0 */
    const int32_t *source; /* [..] rows of each source */
    int64_t group;         /* sequences that share one source */
} EntryCall;

/* Adds what each node that emits code costs in one call to cost[node]. */
void count_call(const Plan *p, const EntryCall *c, Cost *cost);
/* cost[node] for all nodes, in the graph's arena. */
Cost *new_costs(const Plan *p);
Cost cost_sum(Cost a, Cost b);
double cost_bytes(Cost c); /* of all kinds */
double cost_operations(Cost c);
/* What these take at least. */
double operations_seconds(const Rates *r, Cost c);
/* Those that take time one after the other: what is written goes beside what is
 * read, so of values the more.                                               */
double cost_traffic(const Cost *c);

typedef struct { /* memory and batches of one model */
    Arena *arena;
    const Engine *engine;
    const struct attn_model *model; /* what runs: may be changed */
    const struct attn_parallel *parallel;
    struct attn_model counted; /* where nothing runs: a model that is not */
    struct attn_parallel counted_parallel; /* compiled, and its threads */
    double bytes; /* of memory that calls take beside the weights */
    const Spec *spec;
    BenchOptions options; /* all settled */
    int threads;
    int32_t *rows;        /* [batch] of each source or prompt */
    int64_t longest;      /* of them */
    int32_t *ids, *start; /* sources or prompts, where each begins */
    struct attn_batch encode, prefill, step;
    struct attn_cache cache[2];
    size_t cache_bytes[2];
    void *scratch; /* the model's arena */
    float *output; /* of encode, or logits */
    struct attn_search_options search;
    void *search_memory;
    int64_t search_bytes;
    struct attn_hypothesis *found;
    int64_t *found_count;
    int32_t *answer; /* [batch][steps] */
} Setup;

/* Sizes that were left open are settled; those that do not fit the model are
 * reported and end the program with ExitUsage. Of an engine that has a plan
 * and no code, memory and costs are counted, and nothing can be run.         */
Setup *setup_new(const Engine *e, const BenchOptions *o);
bool setup_runs(const Setup *s);
bool setup_searches(const Setup *s);
/* Does decode take calls of one kind alone, by `fix` of the spec: so many new
 * rows, or behind so many? Steps of any past are no such ones.               */
bool setup_exact(const Setup *s);
int64_t setup_exact_past(const Setup *s);
int64_t setup_output_floats(const Setup *s); /* of an encode call */
/* `rows` new rows of each hypothesis after `past` in the cache: each of the
 * batch is given `beam` times.                                               */
void setup_decode(const Setup *s, struct attn_batch *b, const int32_t *rows,
                  const int32_t *past, int64_t beam);

/* ---- slow_work.c ---- */
/* What a machine does at a part of its rates of its own: products by rows of x
 * (one, few, many) and by dtype, attention of one query row and of more, norms;
 * all else moves values.                                                     */
enum {
    LoadRow,
    LoadFew,
    LoadMany,
    LoadBf16,                      /* the same three of bf16 weights .. */
    LoadInt8 = 2 * LoadBf16,       /* and of integers, also in int4 .. */
    LoadDot = LoadInt8 + LoadBf16, /* and by sums of integers */
    LoadQuery = LoadDot + LoadBf16,
    LoadQueries,
    LoadNorm,
    LoadMove,
    LoadKinds
};
/* What takes time that no rate tells: calls of the model, functions in them,
 * results of products, functions by exp of an activation, scores of attention,
 * logits that a search looks through.                                        */
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
    double count[Loads]; /* from LoadCalls on */
} Load;
Load load_of(const Plan *p, const EntryCall *c, const Cost *cost);
/* Adds what it has of each: seconds at the machine's rates, then counts. */
void load_add(const Machine *m, const Rates *r, const Load *load,
              double x[Loads]);

/* ---- workloads.c ---- */
typedef struct { /* something to be timed */
    const char *name;
    double rows;   /* new rows that one run works through */
    double tokens; /* tokens that it takes in or gives out */
    Cost *cost;    /* [nodes] of one run */
    Cost sum;
    VEC(Cost) calls; /* of the model, one after the other */
    VEC(Load) loads; /* of the same */
    double set;      /* bytes of weights and cache that the one
                        which reads most reads */
    void (*run)(Setup *s);
    Entry entry;
    const struct attn_batch *batch; /* of the call; NULL: of_others */
    const void *result;             /* what it leaves, the same in every run */
    size_t result_bytes;
    bool floats;       /* the result is floats: must be finite */
    bool of_others;    /* made of calls like the other workloads' */
    double per_answer; /* runs of it in a whole answer; 0: of_others */
    uint64_t checksum; /* of the result; set by the first run */
} Work;
typedef VEC(Work) Works;

void setup_works(Setup *s, Works *works);
/* Of what the last run left. A number that is not finite ends the program. */
uint64_t work_checksum(const Work *w);
/* Ids of sentence i that go in and that came out; NULL: there are none. */
const int32_t *setup_source(const Setup *s, int64_t i);
const int32_t *setup_answer(const Setup *s, int64_t i);

/* ---- limits.c ---- */
typedef struct {    /* where a workload or a kernel stands */
    double seconds; /* that the machine needs at least */
    int bound;      /* by what: a Level, BoundFma or BoundDot */
} Limit;
enum { BoundFma = Levels, BoundDot, Bounds };
const char *bound_word(int bound); /* "FMA", "L2", "memory" */

typedef struct { /* what is done, and what it must read */
    Cost cost;
    double set;   /* bytes of weights and cache that are read before the
                     same come again */
    double calls; /* that share the values */
} Demand;
/* Weights and cache, and the values of a call, are read from where they fit,
 * what is too much for the nearer caches alone, all while the arithmetic goes
 * on: the longest decides. What took only `seconds` shows where they were: if
 * that is less than a level takes, they came from a nearer one. INFINITY: not
 * known.                                                                     */
Limit limit_of(const Machine *m, const Rates *r, const Demand *d,
               double seconds);
/* The same, where nothing is read from beyond a level. */
Limit limit_within(const Machine *m, const Rates *r, const Demand *d,
                   Level farthest);
/* Of its calls, one after the other; bound by what takes most of that time.
 * Their values may stay in registers.                                        */
Limit work_limit(const Machine *m, const Rates *r, const Work *w,
                 double seconds);
/* What was done so fast the machine can do: no rate is less. */
void rates_reach(Rates *r, const Cost *c, double seconds);

/* ---- times.c ---- */
typedef VEC(double) Times; /* seconds */

typedef struct {
    int64_t n;
    double best, p50, p95;
    double low, high; /* 95 % confidence interval of the median, by
                         order statistics; the extremes, where
                         fewer than 6 times give none */
} Summary;

Summary times_summary(const Times *t); /* of one time or more */
/* Half of the interval's width, as a part of the median; -1: none. */
double summary_error(const Summary *s);
/* Ranks, from 0, of the sorted times that bound the interval. False: none. */
bool median_ranks(int64_t n, int64_t *low, int64_t *high);

/* ---- rates.c ---- */

/* What says that other programs ran on this machine, in the arena; NULL: it
 * seems to be quiet. `what` ("medians") are known to +-`error`, a part of each;
 * `part`: of its FMA peak, that it did; `more`: the option for more time.    */
const char *busy_text(Arena *a, const char *what, double error, double part,
                      const char *more);

/* ---- bench.c ---- */

/* Runs all workloads, in turn, as often as the options say: their times are
 * added to times[works], those of slices of the machine's own limit to
 * times[works->n]. A result that is not finite, or not the same in every run,
 * is an internal error.                                                      */
void bench_workloads(Setup *s, Works *works, Times *times);
/* Times every workload in turn, with a slice of the machine's own limit after
 * each turn, and prints the report. A result that is not finite, or not the
 * same in every run, is an internal error. Returns an exit code.             */
int bench_run(const Engine *e, const BenchOptions *o, FILE *out);
/* The machine alone. */
int bench_machine(const BenchOptions *o, FILE *out);

/* ---- bench_machine.c ---- */
void machine_json(const Machine *m, Buffer *out);   /* an object */
const char *size_text(char text[32], size_t bytes); /* "32 KiB" */
/* What a target's row says, beside what the machine does. */
void target_print(const Machine *m, const Target *t, bool markdown, FILE *out);

#endif
