/* tuner.h: declarations that the files of a search share, in the order of its
 * steps. */
#ifndef ATTNC_TUNE_TUNER_H
#define ATTNC_TUNE_TUNER_H

#include "emit/emit.h"
#include "plan/plan.h"
#include "tune/tune_report.h"

typedef struct Tuner Tuner;

/* ---- stats.c ---- */
/* Significance level of the test for "faster" (tune_search.c): the maximum
 * probability that a task gets a new incumbent although no tiling is faster. */
#define TUNE_ALPHA 0.01
enum { MostPairs = 200 }; /* maximum number of pairs in a test */

/* Returns the p-value of Wilcoxon's signed-rank test, one-sided and exact: the
 * probability that the sum of the positive ranks is at least the observed one
 * if both signs are equally likely. Zeros are omitted, because they favour
 * neither side. Differences of equal size share their ranks. n is at most 200.
 * Returns 1 if all differences are zero. */
double signed_rank(const double *difference, int n);
/* Returns signed_rank() of the logarithms of n ratios default / own, or own /
 * default if `sign` is -1. */
double faster_by_chance(const double *ratio, int n, int sign);
/* Returns the 95 % confidence interval of the median, from order statistics;
 * for fewer than six numbers, their range. Returns NANs if n is 0. */
Interval median_interval(const double *x, int n);

/* ---- tune_child.c ---- */
typedef struct {   /* verdict on a candidate */
    Status status; /* StatusTimed: the results equal the default's */
    char why[160];
} Verdict;

typedef struct {      /* a result that must equal the default's, in all bytes */
    const char *name; /* name of the result, "encode"; NULL: the only one */
    void *at;
    size_t bytes;
    bool floats;
} Result;

typedef struct { /* functions with which the child runs candidates */
    void *with;
    const TuneTask *task; /* task of the candidates; NULL: candidate 0 is the
                           * model with default tilings, candidate 1 the tuned
                           * one */
    int results;          /* number of results per candidate */
    int parts;            /* number of times per run */
    bool (*begin)(void *with, Fault *why); /* gets memory and starts threads */
    bool (*open)(void *with, int candidate, Fault *why);
    Result (*result)(void *with, int candidate, int i); /* computes result i */
    void (*time)(void *with, int candidate, double *seconds);
    Tuner *tuner; /* shows progress meanwhile; NULL: no progress */
} ChildWork;

typedef struct { /* a measurement with interleaved runs */
    const int *which;
    int n;           /* number of candidates; which[0] is the default */
    int repetitions; /* in a repetition, each candidate runs once, in random
                      * order */
    double hang;     /* timeout of one step, in seconds */
    double until;    /* time by seconds_now(); after it, only the first
                      * repetition may begin */
    uint64_t order;  /* seed of the random order */
    /* results: */
    int done;         /* number of complete repetitions */
    double *sample;   /* [repetitions][n][parts]: seconds */
    Verdict *verdict; /* [n]: verdicts */
} Measurement;
/* Checks and times candidates in a child process. If a candidate crashes or
 * hangs the child, it gets a verdict, and the others start again without it.
 * `done` is 0 if the default fails, no child can be created, or a signal
 * arrived. */
void child_measure(Arena *a, const ChildWork *w, Measurement *m);

/* ---- call_sizes.c ---- */
typedef struct {         /* a size with which a task is called */
    double calls;        /* calls of this size in a run of the workloads */
    int64_t rows;        /* rows per thread */
    int64_t count, past; /* attention: numbers of keys, and of earlier keys */
    int64_t parts;       /* number of threads that share the call */
    bool by_columns;     /* threads of a product divide columns, not rows */
    double set;          /* bytes read before any is read again */
} CallSize;
typedef VEC(CallSize) CallSizes;

/* Appends the plan's tasks to r->task, each with its share of the time and its
 * limit. */
void tune_shares(TuneReport *r, const Works *works);
/* True if a time is below its limit. Then either the measurement of a rate was
 * disturbed, or the limit is wrong. */
bool tune_beats_limits(const TuneReport *r);
/* Sets the limits again such that no time is below its limit. */
void tune_limits(TuneReport *r, const Works *works);
CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Works *works, int threads);

/* ---- cost_model.c ---- */
typedef struct { /* input of a prediction */
    const Plan *plan;
    const Machine *machine;
    const Rates *rates;
    const Task *task;
    CallSizes sizes;
    int threads;
    /* set by cost_model_of(): */
    TaskShape shape;
    int64_t rows, keys, all_rows; /* maximum rows per thread, keys, and rows */
    bool by_columns;              /* true if some calls share columns */
} CostModel;
typedef VEC(Tiling) Tilings;
/* Returns all tilings of the search space, in a fixed order. Parameters that do
 * not affect the task have their defaults. */
Tilings tiling_space(Arena *a, const CostModel *m);
/* Returns the tilings that differ from `t` in one parameter, which has the next
 * higher or lower value. */
Tilings tiling_neighbours(Arena *a, const CostModel *m, const Tiling *t);
/* True if the accumulators, a row of B and an element of A fit in registers. */
bool tiling_fits(const Target *t, const Tiling *tiling);
double tiling_seconds(const CostModel *m, const Tiling *t);
CostModel cost_model(const Tuner *t, const Task *task);
CostModel cost_model_of(CostModel m); /* computes the remaining members */

/* ---- tune.c ---- */
typedef struct {         /* the machine that a tuning sees; tests simulate it */
    double (*now)(void); /* returns monotonic time in seconds */
    void (*rates)(Machine *m, const Target *t, int threads, double seconds);
    void (*compile)(SpawnJob *jobs, int n, const SpawnLimits *l);
    void (*measure)(Arena *a, const ChildWork *w, Measurement *m);
    void (*progress)(Progress *p, double done);
} Environment;
/* Like tune_run(), on a machine that may be simulated. */
int tune_on(const Environment *env, const TuneOptions *o, FILE *out);

/* ---- tune_build.c ---- */
typedef struct { /* state of compiling candidates */
    const Environment *env;
    bool jit;
    CcOptions cc;
    TempFolder temp; /* directory for object files */
    int at_once;
    VEC(Code) built; /* all compiled code, so that no text is compiled twice */
    double took[2];  /* seconds of the last job: [0] the text of a task, [1] of
                      * a model; 0: none yet */
    double each[2];  /* seconds per job in parallel: [0] the text of a task, [1]
                      * of a model, which is first estimated by its size */
    bool whole_known;
    size_t whole_bytes; /* size of the model's text in bytes */
} Builder;
bool builder_open(Builder *b, Fault *why);
void builder_close(Builder *b);
/* Compiles the code of n candidates in order, first one per core, then more
 * while there is time until `until`. Jobs that run at `last` are stopped. Sets
 * the status of candidates that do not compile. These, and those for which
 * there was no time, lose their code. Does nothing for the JIT. */
void builder_build(Builder *b, Arena *a, Candidate **c, int n, bool whole_model,
                   double until, double last);
bool code_same(const Code *a, const Code *b); /* false if either has no text */

/* ---- run_candidates.c ---- */
typedef struct { /* buffer of random weights, or of keys and values */
    void *at;
    int64_t bytes;
} RotatingBuffer;
/* Allocates one buffer per dtype. Must run before any child, so that children
 * share the buffers. */
void rotating_buffers(Tuner *t);
/* Returns the work that times a single task, with random inputs and with
 * weights from the tuner's buffer. */
ChildWork task_work(Tuner *t, const TuneTask *task, const CostModel *m);
/* Returns the work that times complete models with different tilings, the
 * candidates of `task`. A run executes each workload the number of times that
 * an answer requires. If `each` is true, each workload is timed separately, and
 * the models are the two that are compared end to end. */
ChildWork model_work(Tuner *t, const TuneTask *task, bool each);
/* Returns the tilings in use that are not defaults. If `one` is not NULL, it
 * replaces the tiling of its task. */
Choices tuner_choices(const Tuner *t, const Choice *one);
Code model_code(const Tuner *t, Choices with);

/* ---- the tuning ---- */
struct Tuner { /* tuning of one backend's code */
    const Environment *env;
    TuneReport report;
    Progress *progress; /* shared by all backends */
    const TuneOptions *options;
    const TuneReport *earlier; /* report on libtcc's code for the same tilings,
                                * or NULL */
    Arena *arena;
    Engine engine; /* the model with default tilings, on one thread */
    Setup *setup;
    Works works;
    Builder builder;
    RotatingBuffer weights[Dtypes];
    Records records;     /* the tuning database before this run */
    bool kept;           /* this run has added records */
    bool changed;        /* a tiling has changed since the last end-to-end
                          * comparison */
    int pass;            /* number of the pass over the tasks */
    double run;          /* seconds of a run of the model; 0: unknown */
    double begin, until; /* beginning and end of its tuning, by env->now() */
    double last;         /* end of the complete tuning */
};

/* ---- tune_progress.c ---- */
/* Sets the task that the progress line shows; NULL: the complete model. */
void tuner_shows(Tuner *t, TuneTask *now);
void tuner_tick(Tuner *t);

/* ---- tune_search.c ---- */
/* Begins or continues the search for the best tiling of a task, until
 * `until`. */
void search_task(Tuner *t, TuneTask *task, double until);
/* Returns a task's record from before this run, or NULL. */
const Record *known_record(const Tuner *t, const TaskKey *key);
/* Returns the minimum number of pairs for a decision. */
int least_pairs_of(TaskKind kind);

/* ---- tune_schedule.c ---- */
/* Searches task by task and records the results. Leaves the time that the
 * end-to-end comparison needs. Sets *why to the first failure to record.
 * Returns false if there was nothing to try, or no time. */
bool schedule_run(Tuner *t, Fault *why);

/* ---- end_to_end.c ---- */

/* Compares the complete model with default and with tuned tilings, interleaved,
 * and reverts tilings that make it slower. */
void end_to_end(Tuner *t, double until);

#endif
