/* sweep_parts.h: what the files of a sweep share, in the order in which it
 * goes. */
#ifndef ATTNC_SWEEP_PARTS_H
#define ATTNC_SWEEP_PARTS_H

#include "draw/plot.h"
#include "sweep/sweep.h"

#include <jansson.h>

/* ---- axis.c ---- */
/* An axis of a sweep varies a field of the spec, or an option. */
typedef enum {
    AxisField,
    AxisLengths,
    AxisSteps,
    AxisBatch,
    AxisBeam,
    AxisThreads,
    AxisTile,
    AxisBackend,
    AxisMarch
} AxisKind;

typedef VEC(const char *) Words;

typedef struct {
    AxisKind kind;
    const char *key; /* "h", "masking.decoder"; of options "p", "threads" */
    Words value;
} Axis;
typedef VEC(Axis) Axes;

enum { MostVariants = 10000 };
/* The axes of texts like "h=4,8" or "N=2..6"; `sets`, and options that are
 * given, fix what may not be varied too. Ends with ExitUsage after a message
 * where they are not right, or have too many combinations.                   */
void axes_read(Arena *a, const SweepOptions *o, Axes *axes);
int64_t axis_number(const Axis *x, const char *value); /* of an option's */

/* ---- grid.c ---- */
typedef struct {
    const char *spec;         /* its path */
    const char *label;        /* of it: as short as tells it from the others */
    const char *const *value; /* [axes] */
} Variant;
typedef VEC(Variant) Variants;

void grid_make(Arena *a, const SweepOptions *o, const Axes *axes, Variants *v);
/* What the engine and the bench are asked for by a variant. */
EngineOptions variant_model(Arena *a, const SweepOptions *o, const Axes *axes,
                            const Variant *v);
BenchOptions variant_work(const SweepOptions *o, const Axes *axes,
                          const Variant *v);
/* "h=4 N=2", or the spec's name; for a line of progress. */
const char *variant_text(Arena *a, const Axes *axes, const Variant *v);

/* ---- row.c ---- */
enum { WorkEncode, WorkPrefill, WorkStep, WorkSearch, WorkKinds };
extern const char *const work_word[WorkKinds];  /* "encode" .. */
int work_of(const Setup *setup, const Work *w); /* WorkEncode .. */

typedef struct { /* a workload of a variant */
    bool there;
    Cost cost;           /* of one run */
    double tokens;       /* that one run takes in or gives out */
    double estimate;     /* seconds, before anything ran; NAN: not known */
    double load[Loads];  /* of one run: what the estimate is made of */
    Times times;         /* of its runs */
    Summary time;        /* of them; n 0: it was not timed */
    double limit;        /* seconds that the machine needs at least */
    int bound;           /* by what; of limit */
    const char *results; /* the checksum of what it leaves; NULL: not timed */
} RowWork;

enum {
    SizeShortest, /* rows of a source or prompt, of one sentence */
    SizeLongest,
    SizeSteps, /* tokens of an answer; 0: none */
    SizeBatch,
    SizeBeam,
    SizeThreads,
    Sizes
};
typedef struct {
    int64_t of[Sizes];
} RowSize;

typedef enum { RowNew, RowPlanned, RowTimed, RowRefused } RowState;

typedef struct {
    const Variant *variant;
    RowState state;
    int code;                 /* RowRefused: the exit code that it stands for */
    const char *message;      /* RowRefused: why */
    const char *note;         /* what the spec's reading warns of; or NULL */
    const char *hash;         /* of the spec, in hex; NULL: not known */
    const char *host;         /* machine, threads and compiler of its code */
    RowSize size;             /* of its workload */
    double parameters, flops; /* of what row_main() is */
    double weights, memory;   /* bytes; memory: with the weights */
    Mixing mixing;            /* of its first layer, at the longest length */
    double exponent;          /* of time in the length; NAN: not known */
    RowWork work[WorkKinds];  /* by WorkEncode .. */
    const char *const *fields; /* [fields of the columns] texts */
    bool pareto;
} Row;
typedef VEC(Row) Rows;

/* The workload that the model is for: a search, an encode call where nothing is
 * searched, else a step. NULL: the row has none.                             */
const RowWork *row_main(const Row *r);
/* A row as an object, without its variant; and what an object says of it. What
 * is timed is added to the times that it has.                                */
json_t *row_json(const Row *r, int fields);
bool row_read(Arena *a, Row *r, const json_t *from, int fields);

/* ---- sweep_columns.c ---- */
typedef enum { NeedsPlan, NeedsEstimates, NeedsTimes } ColumnNeeds;

typedef struct {
    const char *name; /* of --columns; of spec fields their key */
    const char *json; /* with its unit: "step_ms" */
    const char *head; /* of tables */
    UnitKind kind;
    double (*get)(const Row *r, int which);       /* SI units; NAN: none */
    const char *(*word)(const Row *r, int which); /* UnitWord; "": none */
    int which;                                    /* their argument */
    int better; /* -1: less is, 1: more is, 0 */
    int rank;   /* as in TableFit; of table_fit() */
    ColumnNeeds needs;
} SweepColumn;
typedef VEC(SweepColumn) Columns;

/* The columns that a list names, spec fields among them, whose keys are added
 * to `fields`. Ends with ExitUsage after a message.                          */
void columns_read(Arena *a, const char *list, const char *option, Columns *to,
                  Words *fields);
/* Returns the names of the default columns; `exact`: those for programs. */
const char *columns_default(bool exact, bool predict);
/* "12.3 ms" without its unit, as `head` has it; "": none. */
const char *column_text(Arena *a, const SweepColumn *c, const Row *r);
/* The same for programs, with all digits, in the unit of `json`. */
const char *column_exact(Arena *a, const SweepColumn *c, const Row *r);
bool column_has(const SweepColumn *c, const Row *r);
/* The columns of the ends of its interval; NULL: it has none. */
void column_ends(const SweepColumn *c, const SweepColumn **low,
                 const SweepColumn **high);

/* ---- sweep.c ---- */
typedef struct { /* how fast a host does each kind of work */
    const char *host;
    int times; /* of workloads that they come from; 0: they are a guess */
    double c[Loads];
    /* By which part the times of one half of these are missed by what the other
     * half tells: in the median, and by all but a tenth. 0: too few.        */
    double missed, missed_most;
} Coefficients;

typedef struct {
    const SweepOptions *options;
    FILE *out;
    Arena *arena;
    Axes axes;
    Variants variants;
    Rows rows; /* one a variant, in their order */
    Words fields;
    Columns columns, sort, pareto; /* one of `sort`, none or two of `front` */
    Columns drawn;                 /* that --axes names: x and y, or y */
    int drawn_axis;                /* that --axes names first; -1: none */
    bool times;                    /* any column needs that the variants run */
    Machine *machine; /* shared with the children: what one of them finds to be
                         faster is so for all */
    int threads;      /* the most that a variant has */
    bool estimates;   /* any column needs what a run is thought to take */
    Coefficients speeds;   /* of the first row's host */
    double begin;          /* machine_seconds() */
    int64_t runs;          /* of each workload in a round; 0: by seconds */
    double runs_seconds;   /* of a variant in a round */
    int kept;              /* the file of --resume; -1: none */
    const char *kept_text; /* whole lines */
    size_t kept_bytes;
    bool unkept;       /* it could not be written */
    struct Live *live; /* rows on a terminal, as they come; NULL: none */
    bool interrupted;
} Sweep;

/* ---- pareto.c ---- */

/* Marks the rows than which none is better in one column of two, and as good in
 * the other.                                                         */
void front_mark(Sweep *s);
/* Would it be marked if its times were at the good ends of their intervals? */
bool front_near(const Sweep *s, const Row *r);
/* The rows in the order of the report: as sorted, those refused last. */
int *rows_sorted(const Sweep *s);

/* ---- sweep_facts.c ---- */
/* In a child: what the plan of a variant says; then its times. Ends the process
 * where the variant can't be made, or returns the exit code.                 */
int facts_plan(const Sweep *s, const Variant *v, Row *r);
int facts_times(const Sweep *s, const Variant *v, Row *r);

/* ---- workload.c ---- */

/* The engine that a variant asks for. Its max_len is raised, with a warning, to
 * what -p and -n need, unless --set or --vary says what it is.              */
EngineOptions workload_model(const Sweep *s, const Variant *v);
RowSize workload_size(const Setup *s);
/* The options that ask for the workload of all rows: "-p 8..128 -n 32 -b 1
 * --beam=1 -t 1". "": no row has one.                                       */
const char *workload_text(const Sweep *s, Arena *a);

/* ---- estimate.c ---- */

/* Fills in the machine's rates: measured, or those that are kept. */
void estimate_begin(Sweep *s);
/* Of a planned model: whom it is made for, and by workload the seconds of it
 * before anything ran.                                                       */
void estimate_row(const Sweep *s, Row *r, const Engine *e, const Setup *setup,
                  const Works *works);
/* The speeds of the row's host, for the rows that come. */
void estimate_next(Sweep *s, const Row *r);
/* Keeps the times of the rows, with which others are estimated. */
void estimate_learn(const Sweep *s);

/* ---- cost_coefficients.c ---- */
typedef struct { /* a workload that was timed */
    double seconds, load[Loads];
} Timed;
typedef VEC(Timed) TimedList;
/* What each kind of load takes on a host, in *to. */
void coefficients_read(Arena *a, const char *host, Coefficients *to);
double coefficients_seconds(const double c[Loads], const double load[Loads]);
void coefficients_cache(Arena *a, const char *host, const TimedList *timed);
/* The rates of this machine, as they were measured when they were kept. False:
 * none are kept, or none of so many threads.                                 */
bool rates_cached(Arena *a, Machine *m, int threads);
void rates_cache(Arena *a, const Machine *m);

/* ---- sweep_child.c ---- */
/* Fills the row in a child process; what ends the child is the row's message.
 * False: a signal came.                                                      */
bool child_row(Sweep *s, Row *r,
               int facts(const Sweep *s, const Variant *v, Row *r));

/* ---- resume_file.c ---- */
/* Opens the file of --resume. Ends with a message where it is of another sweep,
 * machine or version.                                                        */
void keep_open(Sweep *s);
/* The rows that it has, into those that are planned; a message ends it where
 * one is none, or of a spec that is not what it was.                         */
void keep_take(Sweep *s);
void keep_row(Sweep *s, const Row *r);
void keep_close(Sweep *s);

/* ---- sweep_schedule.c ---- */
/* Times the rows that are planned, within the budget. */
void sweep_times(Sweep *s);

/* ---- sweep_print.c .. ---- */
/* Rows on a terminal as they come, by what is planned of all; the report takes
 * their place.                                                               */
void live_head(Sweep *s);
void live_row(Sweep *s, const Row *r);
void live_end(Sweep *s);
void sweep_print(const Sweep *s, FILE *out);
void sweep_csv(const Sweep *s, FILE *out);
void sweep_json(const Sweep *s, FILE *out);

/* ---- presets.c ---- */

/* What a word of --vary stands for beside the values of its field: the value of
 * another one, as --set takes it, "layers={masking: {window: 16}}"; NULL: it is
 * no such word.                                                             */
const char *preset_set(const char *key, const char *word);

/* ---- compare_layers.c, draw_compare.c ---- */
/* The axis of lengths; -1: they are not varied. */
int compare_axis(const Sweep *s);
/* The rows that are like `first` but for the length, in its order, where it is
 * the first of them; else 0.                                                */
int compare_line(const Sweep *s, int first, const Row **to);
/* Row.exponent of all rows: time as a power of the length. */
void compare_exponents(Sweep *s);
/* What tells a line from the others: "attention". */
const char *compare_name(const Sweep *s, const Row *r);
const SweepColumn *compare_column(const Sweep *s, const char *name);
void compare_print(const Sweep *s, FILE *out);
const char *draw_compare(const Sweep *s);

/* ---- draw_axes.c, draw_sweep.c ---- */

/* The columns that --axes names. Ends with ExitUsage after a message. */
void draw_read(Sweep *s);
/* Once the rows are planned: ends with ExitUsage after a message where no row
 * can have the numbers that are to be drawn.                                 */
void draw_check(const Sweep *s);
/* Returns a picture as SVG; NULL: no row has both numbers. */
const char *draw_sweep(const Sweep *s);

#endif
