/* tuner.h: what the files of a search share, in the order of its steps. */
#ifndef ATTNC_TUNE_TUNER_H
#define ATTNC_TUNE_TUNER_H

#include "emit/emit.h"
#include "plan/plan.h"
#include "tune/tune_report.h"

/* ---- stats.c ---- */
/* The significance level of "faster" (tune_search.c): if a task has nothing to
 * gain, at most this is the probability that it gets another incumbent. */
#define TUNE_ALPHA 0.01

/* Wilcoxon's signed-rank test, one-sided and exact. Returns the probability of
 * positive ranks with at least this sum if both signs are equally likely. Zeros
 * are left out because they favour neither side; equal sizes share their ranks.
 * n is at most 200; returns 1 if only zeros are given. */
double signed_rank(const double *difference, int n);
double median_of(const double *x, int n); /* NAN if n is 0 */
/* Returns the 95 % interval of the median, by order statistics; for fewer than
 * six numbers, their range. */
Interval median_interval(const double *x, int n);

/* ---- tune_child.c ---- */
typedef struct {   /* the result of a candidate */
    Status status; /* StatusTimed: same as the default's */
    char why[160];
} Verdict;

typedef struct {      /* a result that must equal the default's byte for byte */
    const char *name; /* "encode"; NULL: the only result */
    void *at;
    size_t bytes;
    bool floats;
} Result;

typedef struct { /* the functions that a child calls */
    void *with;
    const TuneTask *task; /* task of the candidates; NULL: candidate 0 is the
                           * default model, 1 the tuned one */
    int results;          /* number of results of a candidate */
    int parts;            /* number of times of a run */
    bool (*begin)(void *with, Fault *why); /* memory, threads */
    bool (*open)(void *with, int candidate, Fault *why);
    Result (*result)(void *with, int candidate, int i); /* computes result i */
    void (*time)(void *with, int candidate, double *seconds);
    void (*tick)(void *ticks); /* called in the parent now and then; or NULL */
    void *ticks;
} ChildWork;

typedef struct { /* interleaved runs of candidates */
    const int *which;
    int n;           /* which[0] is the default */
    int repetitions; /* each runs every candidate, in random order */
    double hang;     /* timeout of one step, in seconds */
    double until;    /* machine_seconds(): only the first may begin later */
    uint64_t order;  /* seed of the orders */
    /* results: */
    int done;         /* complete repetitions */
    double *sample;   /* [repetitions][n][parts] seconds */
    Verdict *verdict; /* [n] */
} Measurement;
/* Checks and times candidates in a child process. If a candidate crashes or
 * hangs the child, it gets a verdict, and the others start again without it.
 * `done` is 0 if the default fails, no child can be created, or a signal
 * came. */
void child_measure(Arena *a, const ChildWork *w, Measurement *m);

/* ---- call_sizes.c ---- */
typedef struct {         /* a size at which a task is called */
    double calls;        /* number in a run of the workloads */
    int64_t rows;        /* rows per thread */
    int64_t count, past; /* attention: keys, and keys before the rows */
    int64_t parts;       /* threads that work at the same time */
    bool by_columns;     /* threads of a product divide columns, not rows */
    double set;          /* bytes read before the same bytes are read again */
} CallSize;
typedef VEC(CallSize) CallSizes;

/* Sets the tasks' shares of the time and their limits. */
void tune_shares(TuneReport *r, const Works *works);
/* True if any time beats its limit. Then a rate of the machine was measured at
 * a bad moment, or the limit is wrong. */
bool tune_beats_limits(const TuneReport *r);
/* Sets the limits again such that no time beats them. */
void tune_limits(TuneReport *r, const Works *works);
CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Works *works, int threads);

/* ---- cost_model.c ---- */
typedef struct { /* inputs of a prediction */
    const Plan *plan;
    const Machine *machine;
    const Rates *rates;
    const Task *task;
    TaskShape shape;
    CallSizes sizes;
    int threads;
} CostModel;
typedef VEC(Tiling) Tilings;
/* Returns every tiling of the search space, in a fixed order. Parameters that
 * change nothing here keep their defaults. */
Tilings tiling_space(Arena *a, const CostModel *m);
/* Returns the tilings that differ from `t` in one parameter, by its next value
 * up or down. */
Tilings tiling_neighbours(Arena *a, const CostModel *m, const Tiling *t);
/* True if accumulators, a row of B and an element of A fit the registers. */
bool tiling_fits(const Target *t, const Tiling *tiling);
double tiling_seconds(const CostModel *m, const Tiling *t);

/* ---- tune.c ---- */
typedef struct {         /* the machine, as a tuning uses it */
    double (*now)(void); /* monotonic, in seconds */
    void (*rates)(Machine *m, const Target *t, int threads, double seconds);
    void (*compile)(SpawnJob *jobs, int n, const SpawnLimits *l);
    void (*measure)(Arena *a, const ChildWork *w, Measurement *m);
    void (*progress)(Progress *p, double done, double left);
} Environment;
/* Does the same as tune_run() on a machine that tests may simulate. */
int tune_on(const Environment *env, const TuneOptions *o, FILE *out);

/* ---- tune_build.c ---- */
typedef struct { /* code of a candidate */
    const char *text;
    size_t n;
    const char *object; /* a file; NULL: libtcc compiles the text */
} Code;
typedef VEC(Code) Codes;

typedef struct { /* how candidates are compiled */
    const Environment *env;
    bool jit;
    CcOptions cc;
    TempFolder temp; /* directory of objects */
    int at_once;
    Codes built;    /* all so far, to compile a text only once */
    double took[2]; /* seconds of the last job, by whole_model; 0: none */
    double each[2]; /* seconds per job, compiled in parallel: a task's text, a
                     * model's; the latter estimated by size at first */
    bool whole_known;
    size_t whole_bytes; /* bytes of a model's text */
} Builder;
bool builder_open(Builder *b, Fault *why);
void builder_close(Builder *b);
typedef enum {
    BuildLate, /* no time was left */
    BuildDone,
    BuildFailed
} BuildStatus;
typedef struct { /* a candidate to compile */
    Code *code;
    bool whole_model, by_default; /* by_default: the default tiling */
    BuildStatus status;
    char why[160]; /* BuildFailed */
} BuildJob;
/* Compiles jobs in order: one per core, then those that fit until `until`; none
 * continues after `last`. With the JIT it only marks them as done. */
void builder_build(Builder *b, Arena *a, BuildJob *jobs, int n, double until,
                   double last);

/* ---- run_task.c ---- */
typedef struct { /* random weights, or keys and values */
    void *at;
    int64_t bytes;
} RotatingBuffer;
int64_t rotating_buffer_bytes(const CostModel *m);
void rotating_buffer_make(RotatingBuffer *r, Arena *a, Dtype dtype,
                          int64_t bytes);

/* A task timed alone, with random inputs and the buffer's weights. */
typedef struct TaskRun TaskRun;
TaskRun *task_run_new(Arena *a, const CostModel *m,
                      const RotatingBuffer *weights, const TuneTask *task,
                      const Codes *code);
ChildWork task_run_work(TaskRun *r);

/* ---- run_model.c ---- */

/* Complete models with different tilings. A run is all workloads, as often as
 * an answer uses them; with `each`, there is a time for each workload. */
typedef struct ModelRun ModelRun;
ModelRun *model_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Codes *code);
ChildWork model_run_work(ModelRun *r);
Code model_code(const Engine *e, const Choice *choice, int n, bool jit);

/* ---- the tuning ---- */
typedef struct { /* tuning of one backend's code */
    const Environment *env;
    TuneReport report;
    Progress *progress; /* shared by all backends */
    const TuneOptions *options;
    const TuneReport *earlier; /* libtcc's, on the same tilings; or NULL */
    Arena *arena;
    Engine engine; /* default tilings, one thread */
    Setup *setup;
    Works works;
    Builder builder;
    RotatingBuffer weights[Dtypes];
    Records records;           /* the records before this run */
    VEC(Choice) choice;        /* found so far */
    bool changed;              /* since the last end-to-end run */
    int pass;                  /* number of the pass over the tasks */
    VEC(Record) fresh, before; /* records of this run; those they replaced */
    double run;                /* seconds of a run of the model; 0: unknown */
    double begin, until;       /* env->now(): time of this backend */
    double last;               /* end of the tuning */
} Tuner;

/* ---- tune_progress.c ---- */
/* Sets the current task for the progress line; NULL: the complete model. */
void tuner_shows(Tuner *t, TuneTask *now);
void tuner_tick(void *tuner);

/* ---- prescreen.c ---- */

/* Returns the inputs of predictions for a task. */
CostModel cost_model(Tuner *t, const Task *task);
/* Sets `predicted` of a task's candidates by short runs of code that libtcc
 * compiles around prebuilt tiles, relative to the default. It takes candidates
 * in the order of the model's predictions, until `until`. */
void prescreen(Tuner *t, TuneTask *task, const CostModel *m, double until);

/* ---- tune_search.c ---- */
/* Searches for the best tiling of a task, or continues, until `until`. */
void search_task(Tuner *t, TuneTask *task, double until);
/* Returns the number of pairs that a decision needs. */
int least_pairs_of(TaskKind kind);

/* ---- tune_schedule.c ---- */
/* Creates one buffer per dtype, before any child, so that children share it. */
void schedule_buffers(Tuner *t);
/* Searches task by task and records what it finds, leaving the time that the
 * end-to-end comparison needs. *why is the first failure to record. Returns
 * false if there was nothing to try, or no time. */
bool schedule_run(Tuner *t, Fault *why);

/* ---- end_to_end.c ---- */

/* Compares the complete model with default and tuned tilings, interleaved, and
 * reverts tilings that make it slower. */
void end_to_end(Tuner *t, double until);

#endif
