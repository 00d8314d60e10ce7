/* tune_report.h: results of a tuning; its report as text, JSON or picture. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "tune/tune.h"

typedef enum {
    StatusRanked, /* ranked too low by the model: not timed */
    StatusTimed,
    StatusFailed, /* did not compile */
    StatusCrashed,
    StatusHung,
    StatusWrong, /* its result differs from the default's */
    StatusNaN,   /* its result has NaN */
    Statuses
} Status;
extern const char *const status_word[Statuses]; /* "ranked", "timed" etc. */

typedef struct {
    Tiling tiling;
    Status status;
    char why[160];    /* reason for removal: "signal 11 (..)"; "" */
    double predicted; /* seconds of a run, by the model */
    double seconds;   /* seconds of a run: median; NAN: not timed */
    double spread;    /* relative half-width, as in a record */
    int samples;
    int rung;    /* last rung of the halving, from 1; 0: none */
    double when; /* seconds into the tuning: first timed, or removed */
    double gain; /* default / own time, in the same repetition: median; NAN: not
                  * timed */
    bool tried;  /* it ran or failed, so its rank is not from the model alone */
} Candidate;

typedef struct { /* a 95 % interval and its middle */
    double low, middle, high;
} Interval;

typedef struct TaskSearch TaskSearch; /* tune_search.c */

typedef struct { /* the search for one task */
    const Task *task;
    double share;             /* part of the default model's time */
    double limit;             /* seconds of a run at the machine's limit */
    const char *bound;        /* resource: "FMA", "L2", "memory" */
    VEC(Candidate) candidate; /* [0]: the default */
    TaskSearch *search;       /* NULL: not begun */
    int lead;                 /* the fastest so far; 0: the default */
    int incumbent;            /* the decision; 0: the default */
    const char *taken_back;   /* why it was reverted; NULL: it was not */
    Interval gain;            /* default / incumbent, from fresh pairs */
    double p_value;           /* probability that it is not faster */
    int pairs;                /* pairs in that test */
    bool reused;              /* taken from a record: nothing was timed */
    bool finished;            /* decided with enough pairs, and recorded */
    bool spent;               /* nothing is left to try */
    bool said;                /* its end was printed on stderr */
} TuneTask;

typedef struct {              /* default and tuned times of a workload */
    const char *name;         /* "encode", "step" etc. */
    double by_default, tuned; /* medians, in seconds */
    Interval gain;            /* by_default / tuned */
    int pairs;
    int comparison; /* from 1: slower tilings were reverted before the next */
} EndToEnd;

typedef struct TuneReport TuneReport;
struct TuneReport {          /* tuning of one backend's code */
    const TuneReport *other; /* other backend's tuning; NULL: none */
    Arena *arena;
    const Engine *engine; /* with default tilings */
    const TuneOptions *options;
    Machine machine;
    Rates rates;
    Host host;
    bool jit;         /* the backend is libtcc */
    const char *path; /* path of the records */
    VEC(TuneTask) task;
    VEC(EndToEnd) end_to_end;
    double seconds; /* time that the tuning took */
    bool interrupted;
    bool rejected; /* end to end slower than the default: its new records were
                    * reverted */
    bool stale;    /* older records are slower end to end */
};

/* ---- tune_text.c ---- */
/* Texts that all forms of the report share; they are in the arena. */
const char *backend_word(const TuneReport *r);     /* "libtcc", "clang" */
const char *task_text(Arena *a, const TaskKey *k); /* "matmul 9x9 f32 bias" */
char *gain_text(Arena *a, double ratio);           /* 1.031: "+3.1 %" */
/* Return the default, the fastest tiling found, and the one in use after all
 * tests; NULL: none. */
const Candidate *task_default(const TuneTask *t);
const Candidate *task_best(const TuneTask *t);
const Candidate *task_stands(const TuneTask *t);
/* True if the tiling in use is not the default. */
bool task_differs(const TuneTask *t);
/* Returns default / best, from fresh pairs or from the times so far; or NAN. */
double task_gain(const TuneTask *t);
int task_count(const TuneTask *t, bool is(const Candidate *c));
const char *task_state(const TuneTask *t); /* NULL: found another tiling */
bool was_timed(const Candidate *c);
bool was_removed(const Candidate *c); /* failed, crashed, hung, wrong or NaN */

const char *plural(int n); /* "s", or "" for 1 */
/* Prints the machine in two or more lines. r NULL: not measured. */
void host_print(const Host *h, const Machine *m, const Rates *r, FILE *out);

/* ---- tune_progress.c ---- */
typedef struct {              /* state of the progress line */
    const TuneReport *report; /* first of all backends */
    TuneTask *now;            /* NULL: the complete model, end to end */
    double begin, until;      /* time of the complete tuning */
} Progress;
/* Shows progress; `done`, 0 to 1, is the finished fraction and `left` the
 * seconds that remain (not finite: unknown). On a terminal it updates the line
 * of base/progress.h: a bar, the task, its best time and gain, time left.
 * Elsewhere, or if TERM is dumb, it prints a line when a task is finished. Must
 * be called within progress_begin(NULL). */
void tune_progress(Progress *p, double done, double left);
/* Returns the line for a terminal of this many columns. */
char *tune_progress_line(Arena *a, const Progress *p, double done, double left,
                         int columns);

/* ---- tune_print.c, tune_json.c, tune_explain.c, draw_tune.c ---- */
void tune_print(const TuneReport *r, FILE *out);
void tune_json(const TuneReport *r, FILE *out);
/* Returns the search of each task as SVG: candidates over time, the best so far
 * and the limit. */
const char *draw_tune(const TuneReport *r);
/* Returns the sentence. by_default NULL: the default tiling of `target`; target
 * NULL: the record's instruction set. */
char *explain_record(Arena *a, const Record *r, const Tiling *by_default,
                     const char *target, const Machine *m);

#endif
