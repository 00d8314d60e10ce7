/* parts.h: shared by the files of the tuner. */
#ifndef ATTNC_TUNE_PARTS_H
#define ATTNC_TUNE_PARTS_H

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
typedef struct { /* what came of a candidate */
    Fate fate;   /* FateTimed: as the default's */
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

/* ------------------------------------------------------------- tasks.c --- */
typedef struct {         /* a size at which a task is called */
    double calls;        /* of this size in a run of the workloads */
    int64_t rows;        /* that a thread takes at a time */
    int64_t count, past; /* attention: keys, those before the rows */
    int64_t parts;       /* threads that have some at the same time */
    bool by_columns;     /* of a product: columns, else rows, each */
    double set;          /* bytes read before the same come again */
} Use;
typedef VEC(Use) Uses;

/* How often a run of each workload counts: a call of encode, of prefill, and as
 * many steps as the answer has; 0: it is made of the others.                 */
double work_weight(const Setup *s, const Work *w);
/* The tasks' shares, limits and uses. */
void tune_shares(TuneReport *r, const Setup *s, const Works *works);
Uses task_uses(Arena *a, const Plan *p, const Task *t, const Setup *s,
               const Works *works, int threads);

/* ------------------------------------------------------------- model.c --- */
typedef struct { /* what a prediction knows */
    const Plan *plan;
    const Machine *machine;
    const Rates *rates;
    const Task *task;
    TaskShape shape;
    Uses uses;
    int threads;
} Model;
typedef VEC(Tiling) Tilings;
/* Every tiling that is searched among, in a fixed order; knobs that change
 * nothing here stay as by default. Few: those near to `usual` alone.         */
Tilings tiling_space(Arena *a, const Model *m);
/* Those that differ from `t` in one knob, by the next value up or down. */
Tilings tiling_neighbours(Arena *a, const Model *m, const Tiling *t);
/* Do its accumulators, a row of B and an element of A fit the registers? */
bool tiling_fits(const Target *t, const Tiling *tiling);
double tiling_seconds(const Model *m, const Tiling *t);

/* ------------------------------------------------------------- build.c --- */
typedef struct { /* code of a candidate */
    const char *text;
    size_t n;
    const char *object; /* a file; NULL: libtcc compiles the text */
} Made;
typedef VEC(Made) Mades;

typedef struct { /* how candidates are compiled */
    bool jit;
    CcOptions cc;
    TempFolder temp; /* for objects */
    int at_once;
    Mades made;     /* so far: a text is compiled once */
    double took[2]; /* seconds of the last: as below; 0: none */
    double each[2]; /* seconds that one took, side by side: a
                       task's text, a whole model's, which is
                       guessed from their sizes at first */
    bool whole_known;
    size_t whole_bytes; /* of a whole model's text */
} Workshop;
bool workshop_open(Workshop *w, Fault *why);
void workshop_close(Workshop *w);
typedef enum {
    BuildLate, /* there was no time for it */
    BuildDone,
    BuildFailed
} BuildEnd;
typedef struct { /* a candidate to compile */
    Made *made;
    bool whole, usual; /* usual: the default, or as needed */
    BuildEnd end;
    char why[160]; /* BuildFailed */
} Build;
/* Compiles them in turn, by the JIT later: as many as are at once at least, and
 * what fits until `until`; none goes on after `last`.                        */
void workshop_make(Workshop *w, Arena *a, Build *b, int n, double until,
                   double last);

/* ---------------------------------------------------------- operands.c --- */
typedef struct { /* weights, or keys and values, at random */
    void *at;
    int64_t bytes;
} Ring;

/* A task that is timed alone. Numbers of its own; the ring is its weights'. */
typedef struct TaskRun TaskRun;
TaskRun *task_run_new(Arena *a, const Model *m, const Ring *ring,
                      const TuneTask *task, const Mades *made);
ChildWork task_run_work(TaskRun *r);
int64_t task_ring_bytes(const Model *m);
void ring_make(Ring *r, Arena *a, Dtype dtype, int64_t bytes);

/* ------------------------------------------------------------- whole.c --- */
/* Whole models that differ in their tilings. A run: of all workloads, as often
 * as work_weight() says; `each`: a number for each of them.                  */
typedef struct WholeRun WholeRun;
WholeRun *whole_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Mades *made);
ChildWork whole_run_work(WholeRun *r);
Made whole_text(const Engine *e, const Choice *choice, int n, bool jit);

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
    Workshop shop;
    Ring ring[2];              /* by Dtype */
    Records records;           /* as they were */
    VEC(Choice) choice;        /* found so far */
    bool changed;              /* they, since the last end */
    int pass;                  /* over the tasks */
    VEC(Record) fresh, before; /* by this run; what they took the place of */
    double run;                /* seconds of one of the whole model; 0: ? */
    double begin, until;       /* tune_now(): of this back end's turn */
    double last;               /* of the whole tuning */
} Tuner;
/* Looks for the best tiling of a task until `until`, or goes on with it. */
void tune_task(Tuner *t, TuneTask *task, double until);
/* What a prediction knows of a task. */
Model tune_model(Tuner *t, const Task *task);
/* The progress: of a task, or, NULL, of the whole model; and shows it. */
void tune_shows(TuneTask *now);
void tune_tick(void *tuner);
/* Pairs that a decision takes. */
int tune_least_pairs(TaskKind kind);

/* ------------------------------------------------------------- turns.c --- */
/* Works on the tasks by turn, and keeps what it finds, until the time that the
 * end will need. *why: the first failure to keep. False: there was nothing to
 * try, or no time.                                                           */
bool tune_turns(Tuner *t, Fault *why);
/* One ring a dtype, before any child: they share it. */
void tune_rings(Tuner *t);

/* --------------------------------------------------------- prescreen.c --- */
/* Sets `predicted` of a task's candidates to what they take beside the default
 * where libtcc compiles what is around prebuilt tiles: of as many as the time
 * until `until` allows, in the order of the model's predictions.             */
void tune_heats(Tuner *t, TuneTask *task, const Model *m, double until);

/* --------------------------------------------------------------- end.c --- */
/* The whole model by default and as found, interleaved; what makes it slower is
 * taken back.                                                                */
void tune_end(Tuner *t, double until);
/* Seconds that it should have. */
double tune_end_time(const Tuner *t);

/* Tests plant a bad candidate here: called in the child, after a candidate
 * other than the default made its results; of whole models task is NULL.     */
extern void (*tune_plant)(const Task *task, int candidate, float *result);

#endif
