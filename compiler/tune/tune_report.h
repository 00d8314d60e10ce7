/* tune_report.h: the results of a tuning, and their report as text, JSON or
 * picture. */
#ifndef ATTNC_TUNE_REPORT_H
#define ATTNC_TUNE_REPORT_H

#include "tune/tune.h"

typedef enum {
    StatusRanked, /* not timed, because the cost model ranked it low */
    StatusTimed,
    StatusFailed, /* did not compile */
    StatusCrashed,
    StatusHung,
    StatusWrong, /* the result differs from the default's */
    StatusNaN,   /* the result has NaN */
    Statuses
} Status;
extern const char *const status_word[Statuses]; /* names in reports: "ranked",
                                                 * "timed" etc. */

typedef struct {      /* code of a candidate */
    const char *text; /* NULL: not compiled */
    size_t n;
    const char *object; /* path of the object; NULL: libtcc compiles the text */
} Code;

typedef struct {
    Tiling tiling;
    Status status;
    char why[160];    /* reason for its removal, e.g. "signal 11 (..)"; or "" */
    double predicted; /* seconds of a run, as predicted by the cost model */
    double seconds;   /* median seconds of a run; NAN: not timed */
    double spread;    /* relative half-width of the median's interval */
    int samples;
    int rung;    /* last rung of the halving that it reached, from 1; 0: none */
    double when; /* seconds from the beginning of the tuning until it was first
                  * timed or removed */
    double gain; /* median of the ratios default / own, each in one repetition;
                  * NAN: not timed */
    bool tried;  /* it ran or failed, so its rank no longer depends only on the
                  * cost model */
    /* for the search: */
    bool is_default; /* may use all remaining time to compile */
    Code code;
    Times time, ratio; /* of its runs: seconds; ratios default / own */
} Candidate;

typedef struct { /* a 95 % interval and its middle */
    double low, middle, high;
} Interval;

typedef struct TaskSearch TaskSearch; /* tune_search.c */

typedef struct { /* the search for one task */
    const Task *task;
    double share;             /* fraction of the default model's time */
    double limit;             /* minimum seconds of a run on this machine */
    const char *bound;        /* the limit's resource: "FMA", "L2", "memory" */
    VEC(Candidate) candidate; /* candidates; [0] is the default */
    TaskSearch *search;       /* state of the search; NULL: not begun */
    int lead;                 /* index of the fastest so far; 0: the default */
    int incumbent;            /* index of the chosen tiling; 0: the default */
    const char *taken_back;   /* why the decision was reverted, or NULL */
    Interval gain;            /* default / incumbent, from fresh pairs */
    double p_value;           /* probability of these pairs if the incumbent is
                               * not faster */
    int pairs;                /* number of pairs in that test */
    bool reused;              /* tiling from a record; nothing was timed */
    bool finished;            /* decided from enough pairs, and recorded */
    bool spent;               /* another turn would not find anything */
    bool said;                /* its final line was printed on stderr */
} TuneTask;

typedef struct {              /* times of a workload, default and tuned */
    const char *name;         /* "encode", "step" etc. */
    double by_default, tuned; /* median seconds */
    Interval gain;            /* ratio by_default / tuned */
    int pairs;
    int comparison; /* number of the comparison, from 1; after each, slower
                     * tilings are reverted */
    bool slower;    /* significantly slower with tuned tilings */
} EndToEnd;

typedef struct TuneReport TuneReport;
struct TuneReport {          /* the tuning of one backend's code */
    const TuneReport *other; /* tuning of the other backend, or NULL */
    Arena *arena;
    const Engine *engine; /* the model with default tilings */
    const TuneOptions *options;
    Machine machine;
    Rates rates;
    Host host;
    bool jit;         /* the backend is libtcc */
    const char *path; /* path of the tuning records */
    VEC(TuneTask) task;
    VEC(EndToEnd) end_to_end;
    double seconds; /* time that the tuning took */
    bool interrupted;
    bool rejected; /* end to end, the model was slower than with default
                    * tilings, so the new records were reverted */
    bool stale;    /* with older records, the model is slower end to end */
};

/* ---- tune_text.c ---- */
/* Texts that all forms of the report share, allocated in the arena. */
const char *backend_word(const TuneReport *r);     /* "libtcc", "clang" */
const char *task_text(Arena *a, const TaskKey *k); /* "matmul 9x9 f32 bias" */
char *gain_text(Arena *a, double ratio); /* "+3.1 %" for ratio 1.031 */
/* Return the default, the fastest tiling found, and the tiling in use after all
 * tests; NULL: none. */
const Candidate *task_default(const TuneTask *t);
const Candidate *task_best(const TuneTask *t);
const Candidate *task_stands(const TuneTask *t);
/* True if the candidates are complete models, because the task cannot be timed
 * alone. */
bool is_whole_model(const TuneTask *t);
/* True if the tiling in use is not the default. */
bool task_differs(const TuneTask *t);
/* Returns the ratio default / best, from the pairs that decided or else from
 * the times so far; NAN if there are none. */
double task_gain(const TuneTask *t);
/* Returns a record of the fastest tiling found. There must be one. */
Record task_record(const TuneReport *r, const TuneTask *t);
int task_count(const TuneTask *t, bool is(const Candidate *c));
const char *task_state(const TuneTask *t); /* NULL if a tiling other than the
                                            * default was found */
bool was_timed(const Candidate *c);
/* Returns the seconds of the fastest candidate; INFINITY if none was timed. */
double task_fastest(const TuneTask *t);
bool was_removed(const Candidate *c); /* failed, crashed, hung, wrong or NaN */

const char *plural(int n); /* returns "s", or "" if n is 1 */
/* Prints words wrapped at 80 columns. The first line starts at `column`, the
 * others are indented by `indent`. */
void print_wrapped(FILE *out, int column, int indent, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns the parameters of `t` that differ from those of `than`. */
const char *tiling_difference(Arena *a, const Tiling *t, const Tiling *than);
/* Prints the machine in two or more lines. `r` is NULL if its rates were not
 * measured. */
void host_print(const Host *h, const Machine *m, const Rates *r, FILE *out);

/* ---- tune_progress.c ---- */
typedef struct {              /* state of the progress line */
    const TuneReport *report; /* report of the first backend */
    TuneTask *now;            /* current task; NULL: the model is compared */
    double begin, until;      /* beginning and end of the complete tuning */
} Progress;
/* Updates the progress between progress_begin() and its end. `done` is the
 * finished fraction, from 0 to 1. A terminal shows one line with the task, its
 * best time and gain; otherwise prints a line per finished task. */
void tune_progress(Progress *p, double done);
/* Returns the current task with its best time, or "end to end". */
char *tune_progress_text(Arena *a, const Progress *p);

/* ---- tune_report.c, tune_explain.c, draw_tune.c ---- */
void tune_print(const TuneReport *r, FILE *out);
void tune_json(const TuneReport *r, FILE *out);
/* Returns a picture of each task's search as SVG: candidates over time, the
 * best so far, and the limit. */
const char *draw_tune(const TuneReport *r);
/* Returns a sentence that explains why the record's tiling is fast.
 * `by_default` is the default tiling; NULL: that of `target`. `target` NULL:
 * the record's instruction set. */
char *explain_record(Arena *a, const Record *r, const Tiling *by_default,
                     const char *target, const Machine *m);

#endif
