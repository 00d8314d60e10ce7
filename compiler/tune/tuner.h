/* parts.h: shared by the files of the tuner. */
#ifndef ATTNC_TUNE_TUNER_H
#define ATTNC_TUNE_TUNER_H

#include "emit/emit.h"
#include "plan/plan.h"
#include "tune/tune.h"

/* ------------------------------------------------------------- stats.c --- */
/* Wilcoxon's signed-rank test, one-sided and exact: the probability of ranks
 * of the positive differences as large as these, or larger, where either sign
 * is as likely as the other. Zeros count as evidence for neither side and are
 * left out; equal sizes share their ranks. n to 200; 1 where none is left.   */
double signed_rank(const double *difference, int n);
double median_of(const double *x, int n); /* NAN: n is 0 */
/* The median's interval of 95 %, by order statistics; below six numbers, from
 * the least to the greatest.                                                 */
Interval median_interval(const double *x, int n);

/* ------------------------------------------------------------- child.c --- */
typedef struct {   /* what came of a candidate */
    Status status; /* StatusTimed: as the default's */
    char why[160];
} Verdict;

typedef struct { /* what a child does with candidates */
    void *with;
    const TuneTask *task; /* whose candidates; NULL: 0 the model by
                             default, 1 as found */
    int parts;            /* numbers that a run gives */
    bool (*begin)(void *with, Fault *why); /* memory, threads */
    bool (*open)(void *with, int candidate, Fault *why);
    /* Its results beside the default's, which is the first that comes. */
    void (*check)(void *with, int candidate, Verdict *v);
    void (*time)(void *with, int candidate, double *seconds);
    void (*tick)(void *ticks); /* in the parent, now and then; or NULL */
    void *ticks;
} ChildWork;

typedef struct { /* runs of candidates in turn */
    const int *which;
    int n;          /* which[0]: the default */
    int turns;      /* each has a run of all of them */
    double hang;    /* seconds that one step may take */
    double until;   /* machine_seconds(): no turn but the first
                       begins later */
    uint64_t order; /* seed of the order within turns */
    /* what came of it: */
    int done;         /* whole turns */
    double *sample;   /* [turns][n][parts] seconds */
    Verdict *verdict; /* [n] */
} Round;
/* Runs them in a child process. A candidate that ends the child or makes no
 * progress gets a verdict and the round begins again without it; `done` is 0
 * where the default did so, no child could be made or a signal came.         */
void child_round(Arena *a, const ChildWork *w, Round *r);

/* ------------------------------------------------------------- world.c --- */
typedef struct {         /* what a tuning asks of the machine */
    double (*now)(void); /* seconds, rising */
    void (*measure)(Machine *m, int threads, double seconds);
    void (*compile)(SpawnJob *jobs, int n, const SpawnLimits *l);
    void (*round)(Arena *a, const ChildWork *w, Round *r);
    void (*progress)(const TuneReport *r, TuneTask *now, double done,
                     double left);
} TuneWorld;
extern TuneWorld tune_world;
double tune_now(void);

/* ------------------------------------------------------------- call_sizes.c
 * --- */
typedef struct {         /* a size at which a task is called */
    double calls;        /* of this size in a run of the workloads */
    int64_t rows;        /* that a thread takes at a time */
    int64_t count, past; /* attention: keys, those before the rows */
    int64_t parts;       /* threads that have some at the same time */
    bool by_columns;     /* of a product: columns, else rows, each */
    double set;          /* bytes read before the same come again */
} CallSize;
typedef VEC(CallSize) CallSizes;

/* How often a run of each workload counts: a call of encode, of prefill, and as
 * many steps as the answer has; 0: it is made of the others.                 */
double work_weight(const Setup *s, const Work *w);
/* The tasks' shares, limits and sizes. */
void tune_shares(TuneReport *r, const Setup *s, const Works *works);
CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Setup *s, const Works *works, int threads);

/* ------------------------------------------------------------- model.c --- */
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
/* Every tiling that is searched among, in a fixed order; knobs that change
 * nothing here stay as by default. Few: those near to `usual` alone.         */
Tilings tiling_space(Arena *a, const CostModel *m);
/* Those that differ from `t` in one knob, by the next value up or down. */
Tilings tiling_neighbours(Arena *a, const CostModel *m, const Tiling *t);
/* Do its accumulators, a row of B and an element of A fit the registers? */
bool tiling_fits(const Target *t, const Tiling *tiling);
double tiling_seconds(const CostModel *m, const Tiling *t);

/* ------------------------------------------------------------- build.c --- */
typedef struct { /* code of a candidate */
    const char *text;
    size_t n;
    const char *object; /* a file; NULL: libtcc compiles the text */
} Code;
typedef VEC(Code) Codes;

typedef struct { /* how candidates are compiled */
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
bool builder_open(Builder *w, Fault *why);
void builder_close(Builder *w);
typedef enum {
    BuildLate, /* there was no time for it */
    BuildDone,
    BuildFailed
} BuildStatus;
typedef struct { /* a candidate to compile */
    Code *code;
    bool whole, usual; /* usual: the default, or as needed */
    BuildStatus end;
    char why[160]; /* BuildFailed */
} BuildJob;
/* Compiles them in turn, by the JIT later: as many as are at once at least, and
 * what fits until `until`; none goes on after `last`.                        */
void builder_build(Builder *w, Arena *a, BuildJob *b, int n, double until,
                   double last);

/* ---------------------------------------------------------- run_task.c --- */
typedef struct { /* weights, or keys and values, at random */
    void *at;
    int64_t bytes;
} RotatingBuffer;

/* A task that is timed alone. Numbers of its own; the buffer is its weights'.
 */
typedef struct TaskRun TaskRun;
TaskRun *task_run_new(Arena *a, const CostModel *m,
                      const RotatingBuffer *rotating, const TuneTask *task,
                      const Codes *code);
ChildWork task_run_work(TaskRun *r);
int64_t rotating_buffer_bytes(const CostModel *m);
void rotating_buffer_make(RotatingBuffer *r, Arena *a, Dtype dtype,
                          int64_t bytes);

/* ------------------------------------------------------------- run_model.c ---
 */
/* Whole models that differ in their tilings. A run: of all workloads, as often
 * as work_weight() says; `each`: a number for each of them.                  */
typedef struct WholeRun WholeRun;
WholeRun *whole_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Codes *code);
ChildWork whole_run_work(WholeRun *r);
Code whole_text(const Engine *e, const Choice *choice, int n, bool jit);

/* ------------------------------------------------------------ search.c --- */
typedef struct { /* a tuning of one back end's code */
    TuneReport report;
    const TuneOptions *options;
    const TuneReport *earlier; /* of libtcc's, which ran the same tilings;
                                  NULL: none */
    Arena *arena;
    Engine engine; /* of the default, on one thread */
    Setup *setup;
    Works works;
    Builder builder;
    RotatingBuffer rotating[2]; /* by Dtype */
    Records records;            /* as they were */
    VEC(Choice) choice;         /* found so far */
    bool changed;               /* they, since the last end */
    int pass;                   /* over the tasks */
    VEC(Record) fresh, before;  /* by this run; what they took the place of */
    double run;                 /* seconds of one of the whole model; 0: ? */
    double begin, until;        /* tune_now(): of this back end's turn */
    double last;                /* of the whole tuning */
} Tuner;
/* Looks for the best tiling of a task until `until`, or goes on with it. */
void tune_task(Tuner *t, TuneTask *task, double until);
/* What a prediction knows of a task. */
CostModel cost_model(Tuner *t, const Task *task);
/* The progress: of a task, or, NULL, of the whole model; and shows it. */
void tune_shows(TuneTask *now);
void tune_tick(void *tuner);
/* Pairs that a decision takes. */
int tune_least_pairs(TaskKind kind);

/* ------------------------------------------------------------- schedule.c ---
 */
/* Works on the tasks by turn, and keeps what it finds, until the time that the
 * end will need. *why: the first failure to keep. False: there was nothing to
 * try, or no time.                                                           */
bool schedule_run(Tuner *t, Fault *why);
/* One buffer a dtype, before any child: they share it. */
void make_rotating_buffers(Tuner *t);

/* --------------------------------------------------------- prescreen.c --- */
/* Sets `predicted` of a task's candidates to what they take beside the default
 * where libtcc compiles what is around prebuilt tiles: of as many as the time
 * until `until` allows, in the order of the model's predictions.             */
void prescreen(Tuner *t, TuneTask *task, const CostModel *m, double until);

/* --------------------------------------------------------------- end_to_end.c
 * --- */
/* The whole model by default and as found, interleaved; what makes it slower is
 * taken back.                                                                */
void end_to_end(Tuner *t, double until);
/* Seconds that it should have. */
double end_to_end_time(const Tuner *t);

/* Tests plant a bad candidate here: called in the child, after a candidate
 * other than the default made its results; of whole models task is NULL.     */
extern void (*tune_plant)(const Task *task, int candidate, float *result);

#endif
