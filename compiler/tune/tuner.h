/* tuner.h: what the files of a search share, in the order in which it goes. */
#ifndef ATTNC_TUNE_TUNER_H
#define ATTNC_TUNE_TUNER_H

#include "emit/emit.h"
#include "plan/plan.h"
#include "tune/tune_report.h"

/* ---- stats.c ---- */
/* The significance of "faster" (tune_search.c): of tasks that have nothing to
 * gain at most this share gets another incumbent by chance. */
#define TUNE_ALPHA 0.01

/* Wilcoxon's signed-rank test, one-sided and exact: the probability of ranks
 * of the positive differences as large as these, or larger, where either sign
 * is as likely as the other. Zeros count as evidence for neither side and are
 * left out; equal sizes share their ranks. n to 200; 1 where none is left.   */
double signed_rank(const double *difference, int n);
double median_of(const double *x, int n); /* NAN: n is 0 */
/* The median's interval of 95 %, by order statistics; below six numbers, from
 * the least to the greatest.                                                 */
Interval median_interval(const double *x, int n);

/* ---- tune_child.c ---- */
typedef struct {   /* what came of a candidate */
    Status status; /* StatusTimed: as the default's */
    char why[160];
} Verdict;

typedef struct { /* what a candidate leaves: the same bytes as the default */
    const char *name; /* "encode"; NULL: it leaves nothing else */
    void *at;
    size_t bytes;
    bool floats;
} Result;

typedef struct { /* what a child does with candidates */
    void *with;
    const TuneTask *task; /* whose candidates; NULL: 0 the model by
                             default, 1 as found */
    int results;          /* that a candidate leaves */
    int parts;            /* numbers that a run gives */
    bool (*begin)(void *with, Fault *why); /* memory, threads */
    bool (*open)(void *with, int candidate, Fault *why);
    Result (*result)(void *with, int candidate, int i); /* computes it */
    void (*time)(void *with, int candidate, double *seconds);
    void (*tick)(void *ticks); /* in the parent, now and then; or NULL */
    void *ticks;
} ChildWork;

typedef struct { /* interleaved runs of candidates */
    const int *which;
    int n;           /* which[0]: the default */
    int repetitions; /* each has a run of all of them, in an order of its own */
    double hang;     /* seconds that one step may take */
    double until;    /* machine_seconds(): none but the first begins later */
    uint64_t order;  /* seed of these orders */
    /* what came of it: */
    int done;         /* whole repetitions */
    double *sample;   /* [repetitions][n][parts] seconds */
    Verdict *verdict; /* [n] */
} Measurement;
/* Checks and runs them in a child process. A candidate that ends the child or
 * makes no progress gets a verdict and all begins again without it; `done` is 0
 * where the default did so, no child could be made or a signal came.         */
void child_measure(Arena *a, const ChildWork *w, Measurement *m);

/* ---- call_sizes.c ---- */
typedef struct {         /* a size at which a task is called */
    double calls;        /* of this size in a run of the workloads */
    int64_t rows;        /* that a thread takes at a time */
    int64_t count, past; /* attention: keys, those before the rows */
    int64_t parts;       /* threads that have some at the same time */
    bool by_columns;     /* of a product: columns, else rows, each */
    double set;          /* bytes read before the same come again */
} CallSize;
typedef VEC(CallSize) CallSizes;

/* The tasks' shares and limits. */
void tune_shares(TuneReport *r, const Works *works);
/* Was anything faster than its limit? Then a rate of the machine was measured
 * in a bad moment, or the limit is none. */
bool tune_beats_limits(const TuneReport *r);
/* The limits again, which nothing that was timed beats. */
void tune_limits(TuneReport *r, const Works *works);
CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Works *works, int threads);

/* ---- cost_model.c ---- */
typedef struct { /* what a prediction knows */
    const Plan *plan;
    const Machine *machine;
    const Rates *rates;
    const Task *task;
    TaskShape shape;
    CallSizes sizes;
    int threads;
} CostModel;
typedef VEC(Tiling) Tilings;
/* Every tiling that is searched among, in a fixed order; parameters that change
 * nothing here stay as by default. Few: those near to the default alone.     */
Tilings tiling_space(Arena *a, const CostModel *m);
/* Returns the tilings that differ from `t` in one parameter, by its next value
 * up or down. */
Tilings tiling_neighbours(Arena *a, const CostModel *m, const Tiling *t);
/* Do its accumulators, a row of B and an element of A fit the registers? */
bool tiling_fits(const Target *t, const Tiling *tiling);
double tiling_seconds(const CostModel *m, const Tiling *t);

/* ---- tune.c ---- */
typedef struct {         /* what a tuning asks of the machine */
    double (*now)(void); /* seconds, rising */
    void (*rates)(Machine *m, const Target *t, int threads, double seconds);
    void (*compile)(SpawnJob *jobs, int n, const SpawnLimits *l);
    void (*measure)(Arena *a, const ChildWork *w, Measurement *m);
    void (*progress)(Progress *p, double done, double left);
} Environment;
/* tune_run() on a machine that may be made up. */
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
    TempFolder temp; /* for objects */
    int at_once;
    Codes built;    /* so far: a text is compiled once */
    double took[2]; /* seconds of the last: as below; 0: none */
    double each[2]; /* seconds that one took, side by side: a
                       task's text, a whole model's, which is
                       guessed from their sizes at first */
    bool whole_known;
    size_t whole_bytes; /* of a whole model's text */
} Builder;
bool builder_open(Builder *b, Fault *why);
void builder_close(Builder *b);
typedef enum {
    BuildLate, /* there was no time for it */
    BuildDone,
    BuildFailed
} BuildStatus;
typedef struct { /* a candidate to compile */
    Code *code;
    bool whole_model, by_default; /* by_default: the default tiling */
    BuildStatus status;
    char why[160]; /* BuildFailed */
} BuildJob;
/* Compiles them in turn, by the JIT later: as many as are at once at least, and
 * what fits until `until`; none goes on after `last`.                        */
void builder_build(Builder *b, Arena *a, BuildJob *jobs, int n, double until,
                   double last);

/* ---- run_task.c ---- */
typedef struct { /* weights, or keys and values, at random */
    void *at;
    int64_t bytes;
} RotatingBuffer;
int64_t rotating_buffer_bytes(const CostModel *m);
void rotating_buffer_make(RotatingBuffer *r, Arena *a, Dtype dtype,
                          int64_t bytes);

/* A task that is timed alone. Numbers of its own; weights of the buffer. */
typedef struct TaskRun TaskRun;
TaskRun *task_run_new(Arena *a, const CostModel *m,
                      const RotatingBuffer *weights, const TuneTask *task,
                      const Codes *code);
ChildWork task_run_work(TaskRun *r);

/* ---- run_model.c ---- */

/* Whole models that differ in their tilings. A run: of all workloads, as often
 * as a whole answer takes them; `each`: a number for each of them.           */
typedef struct ModelRun ModelRun;
ModelRun *model_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Codes *code);
ChildWork model_run_work(ModelRun *r);
Code model_code(const Engine *e, const Choice *choice, int n, bool jit);

/* ---- the tuning ---- */
typedef struct { /* of one back end's code */
    const Environment *env;
    TuneReport report;
    Progress *progress; /* of all back ends */
    const TuneOptions *options;
    const TuneReport *earlier; /* of libtcc's, which ran the same tilings;
                                  NULL: none */
    Arena *arena;
    Engine engine; /* of the default, on one thread */
    Setup *setup;
    Works works;
    Builder builder;
    RotatingBuffer weights[Dtypes];
    Records records;           /* as they were */
    VEC(Choice) choice;        /* found so far */
    bool changed;              /* they, since the last comparison end to end */
    int pass;                  /* over the tasks */
    VEC(Record) fresh, before; /* by this run; what they took the place of */
    double run;                /* seconds of one of the whole model; 0: ? */
    double begin, until;       /* env->now(): of this back end's part */
    double last;               /* of the whole tuning */
} Tuner;

/* ---- tune_progress.c ---- */
/* Shows how far it is, and at what: a task, or, NULL, the whole model. */
void tuner_shows(Tuner *t, TuneTask *now);
void tuner_tick(void *tuner);

/* ---- prescreen.c ---- */

/* What a prediction knows of a task. */
CostModel cost_model(Tuner *t, const Task *task);
/* Sets `predicted` of a task's candidates to what they take beside the default
 * where libtcc compiles what is around prebuilt tiles: of as many as the time
 * until `until` allows, in the order of the model's predictions.             */
void prescreen(Tuner *t, TuneTask *task, const CostModel *m, double until);

/* ---- tune_search.c ---- */
/* Looks for the best tiling of a task until `until`, or goes on with it. */
void search_task(Tuner *t, TuneTask *task, double until);
/* Pairs that a decision takes. */
int least_pairs_of(TaskKind kind);

/* ---- tune_schedule.c ---- */
/* One buffer a dtype, before any child: they share it. */
void schedule_buffers(Tuner *t);
/* Searches task by task, and keeps what it finds, until the time that the
 * comparison end to end will need. *why: the first failure to keep. False:
 * there was nothing to try, or no time.                                      */
bool schedule_run(Tuner *t, Fault *why);

/* ---- end_to_end.c ---- */

/* The whole model by default and as found, interleaved; what makes it slower is
 * taken back.                                                                */
void end_to_end(Tuner *t, double until);

#endif
