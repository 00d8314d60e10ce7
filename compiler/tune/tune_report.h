/* tune_report.h: what a tuning found, and its report: text, JSON, a picture. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "tune/tune.h"

typedef enum {
    StatusRanked, /* the model ranks it too low: not timed */
    StatusTimed,
    StatusFailed, /* did not compile */
    StatusCrashed,
    StatusHung,
    StatusWrong, /* another result than the default's */
    StatusNaN,   /* a result that is no number */
    Statuses
} Status;
extern const char *const status_word[Statuses]; /* "ranked", "timed" .. */

typedef struct {
    Tiling tiling;
    Status status;
    char why[160];    /* that removed it: "signal 11 (..)"; "" */
    double predicted; /* seconds of a run, by the model */
    double seconds;   /* of a run: median; NAN: not timed */
    double spread;    /* as of a record */
    int samples;
    int rung;    /* the last one of the halving that it was in,
                    from 1; 0: none */
    double when; /* seconds into the tuning: first timed, or
                    removed */
    double gain; /* default / own, of the same repetitions: median;
                    NAN: not timed */
    bool tried;  /* it ran, or cannot: its rank is no longer
                    the model's alone */
} Candidate;

typedef struct { /* an interval of 95 %, and its middle */
    double low, middle, high;
} Interval;

typedef struct TaskSearch TaskSearch; /* search.h */

typedef struct { /* the search for one task */
    const Task *task;
    double share;             /* of the model's time, by default: 0 .. 1 */
    double limit;             /* seconds of a run at the machine's limit */
    const char *bound;        /* by what: "FMA", "L2", "memory" */
    VEC(Candidate) candidate; /* [0]: the default */
    TaskSearch *search;       /* NULL: not begun */
    int lead;                 /* the fastest so far; 0: the default */
    int incumbent;            /* that was found; 0: the default */
    const char *taken_back;   /* why it does not stand; NULL: it does */
    Interval gain;            /* default / incumbent, of fresh pairs */
    double p_value;           /* that the incumbent is not faster */
    int pairs;                /* of that test */
    bool reused;              /* from a record: nothing was timed */
    bool finished;            /* there were pairs enough: it is recorded */
    bool spent;               /* there is nothing left to try */
    bool said;                /* its end, on stderr */
} TuneTask;

typedef struct {              /* a workload, default against tuned */
    const char *name;         /* "encode", "step" .. */
    double by_default, tuned; /* seconds: medians */
    Interval gain;            /* by_default / tuned */
    int pairs;
    int comparison; /* from 1: what made it slower was taken back
                       before the next */
} EndToEnd;

typedef struct TuneReport TuneReport;
struct TuneReport {          /* of the code of one back end */
    const TuneReport *other; /* of the same tuning, another back end's;
                                NULL: there is none */
    Arena *arena;
    const Engine *engine; /* of the default */
    const TuneOptions *options;
    Machine machine;
    Rates rates;
    Host host;
    bool jit;         /* the back end is libtcc */
    const char *path; /* of the records */
    VEC(TuneTask) task;
    VEC(EndToEnd) end_to_end;
    double seconds; /* that the tuning took */
    bool interrupted;
    bool rejected; /* end to end slower than the default: all new
                      records were taken back */
    bool stale;    /* what was recorded before is slower so */
};

/* ---- tune_text.c ---- */
/* What all of the report's forms say alike; text in the arena. */
const char *backend_word(const TuneReport *r);     /* "libtcc", "clang" */
const char *task_text(Arena *a, const TaskKey *k); /* "matmul 9x9 f32 bias" */
char *gain_text(Arena *a, double ratio);           /* 1.031: "+3.1 %" */
/* The default, what was found, and what stands; NULL: the task has none. */
const Candidate *task_default(const TuneTask *t);
const Candidate *task_best(const TuneTask *t);
const Candidate *task_stands(const TuneTask *t);
/* Does anything stand that is not the default? */
bool task_differs(const TuneTask *t);
/* Default / best: of the fresh pairs, or of what is known so far; NAN. */
double task_gain(const TuneTask *t);
int task_count(const TuneTask *t, bool is(const Candidate *c));
const char *task_state(const TuneTask *t); /* NULL: another than the default
                                              was found */
bool was_timed(const Candidate *c);
bool was_removed(const Candidate *c); /* failed, crashed, hung, wrong .. */

const char *plural(int n); /* "s", but of 1 */
/* What the machine is, in two lines or more; r NULL: not measured. */
void host_print(const Host *h, const Machine *m, const Rates *r, FILE *out);

/* ---- tune_progress.c ---- */
typedef struct {              /* how far a tuning is, and what was said */
    const TuneReport *report; /* of all back ends */
    TuneTask *now;            /* NULL: the whole model, end to end */
    double begin, until;      /* of the whole tuning */
} Progress;
/* `done`, 0 .. 1, of the whole tuning; `left`: seconds, not finite: unknown.
 * On a terminal the line of base/progress.h: a bar, the task, its best so far
 * and gain, time left. Elsewhere, or where TERM is dumb, a line at the first
 * call with a task that is finished. Within progress_begin(NULL).            */
void tune_progress(Progress *p, double done, double left);
/* The line for a terminal of so many columns. */
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
