/* sweep_parts.h: what the files of a sweep share, in the order of its steps. */
#ifndef ATTNC_SWEEP_PARTS_H
#define ATTNC_SWEEP_PARTS_H

#include "draw/plot.h"
#include "sweep/sweep.h"

#include <jansson.h>

/* ---- axis.c ---- */
/* An axis of a sweep varies a field of the spec or an option. */
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
    const char *key; /* "h", "masking.decoder"; for options "p", "threads" */
    Words value;
} Axis;
typedef VEC(Axis) Axes;

enum { MostVariants = 10000 };
/* Parses the axes from texts such as "h=4,8" or "N=2..6". Ends with ExitUsage
 * and a message if they are invalid, vary what --set or an option fixes, or
 * have more than MostVariants combinations. */
void axes_read(Arena *a, const SweepOptions *o, Axes *axes);
int64_t axis_number(const Axis *x, const char *value); /* value of an option */

/* ---- grid.c ---- */
typedef struct {
    const char *spec;         /* its path */
    const char *label;        /* a short, unique name of the spec */
    const char *const *value; /* [axes] */
} Variant;
typedef VEC(Variant) Variants;

void grid_make(Arena *a, const SweepOptions *o, const Axes *axes, Variants *v);
/* Return the options of engine and bench for a variant. */
EngineOptions variant_model(Arena *a, const SweepOptions *o, const Axes *axes,
                            const Variant *v);
BenchOptions variant_work(const SweepOptions *o, const Axes *axes,
                          const Variant *v);
/* Returns "h=4 N=2", or the spec's name, for a line of progress. */
const char *variant_text(Arena *a, const Axes *axes, const Variant *v);

/* ---- row.c ---- */
enum { WorkEncode, WorkPrefill, WorkStep, WorkSearch, WorkKinds };
extern const char *const work_word[WorkKinds];  /* "encode" to "search" */
int work_of(const Setup *setup, const Work *w); /* WorkEncode to WorkSearch */

typedef struct { /* a workload of a variant */
    bool there;
    Cost cost;           /* cost of one run */
    double tokens;       /* tokens that one run reads or generates */
    double estimate;     /* predicted seconds; NAN: unknown */
    double load[Loads];  /* features of one run, for the estimate */
    Times times;         /* times of its runs */
    Summary time;        /* their summary; n 0: not timed */
    double limit;        /* lower bound of the machine, in seconds */
    int bound;           /* the resource that sets `limit` */
    const char *results; /* checksum of the results; NULL: not timed */
} RowWork;

enum {
    SizeShortest, /* rows of a source or prompt of one sentence */
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
    int code;                  /* RowRefused: exit code */
    const char *message;       /* RowRefused: reason */
    const char *note;          /* warning of the spec's parser; or NULL */
    const char *hash;          /* hash of the spec, in hex; NULL: unknown */
    const char *host;          /* machine, threads and compiler of its code */
    RowSize size;              /* lengths and counts of its workload */
    double parameters, flops;  /* flops: of row_main() */
    double weights, memory;    /* bytes; memory includes the weights */
    Mixing mixing;             /* first layer, at the longest length */
    double exponent;           /* time grows as length^exponent; NAN: unknown */
    RowWork work[WorkKinds];   /* by WorkEncode to WorkSearch */
    const char *const *fields; /* [fields of the columns] */
    bool pareto;
} Row;
typedef VEC(Row) Rows;

/* Returns the model's main workload: search, else encode, step or prefill;
 * NULL: the row has none. */
const RowWork *row_main(const Row *r);
/* Write a row as an object, without its variant, and read it back. row_read()
 * appends times to those that the row has. */
json_t *row_json(const Row *r, int fields);
bool row_read(Arena *a, Row *r, const json_t *from, int fields);

/* ---- sweep_columns.c ---- */
typedef enum { NeedsPlan, NeedsEstimates, NeedsTimes } ColumnNeeds;

typedef struct {
    const char *name; /* name in --columns; a field's key */
    const char *json; /* name with its unit: "step_ms" */
    const char *head; /* heading in tables */
    UnitKind kind;
    double (*get)(const Row *r, int which);       /* SI units; NAN: no value */
    const char *(*word)(const Row *r, int which); /* UnitWord; "": no value */
    int which;                                    /* argument of both */
    int better; /* -1: less is better; 1: more is; 0: neither */
    int rank;   /* rank of TableFit, for table_fit() */
    ColumnNeeds needs;
} SweepColumn;
typedef VEC(SweepColumn) Columns;

/* Parses a list of columns. Keys of spec fields among them are added to
 * `fields`. Ends with ExitUsage and a message. */
void columns_read(Arena *a, const char *list, const char *option, Columns *to,
                  Words *fields);
/* Returns the names of the default columns; `exact`: for programs. */
const char *columns_default(bool exact, bool predict);
/* Returns a value such as "12.3", in the unit of `head`; "": no value. */
const char *column_text(Arena *a, const SweepColumn *c, const Row *r);
/* Does the same for programs, with all digits, in the unit of `json`. */
const char *column_exact(Arena *a, const SweepColumn *c, const Row *r);
bool column_has(const SweepColumn *c, const Row *r);
/* Sets the columns of the interval's ends; NULL: it has none. */
void column_ends(const SweepColumn *c, const SweepColumn **low,
                 const SweepColumn **high);

/* ---- sweep.c ---- */
typedef struct { /* the cost model of a host */
    const char *host;
    int times; /* number of timed workloads; 0: c is the prior */
    double c[Loads];
    /* Relative error in cross-validation between two halves of the times: the
     * median and the 90th percentile. 0: too few times. */
    double missed, missed_most;
} Coefficients;

typedef struct {
    const SweepOptions *options;
    FILE *out;
    Arena *arena;
    Axes axes;
    Variants variants;
    Rows rows; /* one per variant, in their order */
    Words fields;
    Columns columns, sort, pareto; /* `sort`: 0 or 1, `pareto`: 0 or 2 */
    Columns drawn;                 /* from --axes: x and y, or y */
    int drawn_axis;                /* axis of --axes; -1: none */
    bool times;                    /* a column needs times, so variants run */
    Machine *machine;    /* shared with the children, which update its rates */
    int threads;         /* maximum of all variants */
    bool estimates;      /* a column needs predicted times */
    Coefficients speeds; /* cost model of the first row's host */
    double begin;        /* machine_seconds() */
    int64_t runs;        /* runs per workload in a round; 0: by time */
    double runs_seconds; /* seconds per variant in a round */
    int kept;            /* file of --resume; -1: none */
    const char *kept_text; /* its complete lines */
    size_t kept_bytes;
    bool unkept;       /* writing to it failed */
    struct Live *live; /* rows shown on a terminal as they come; NULL: none */
    bool interrupted;
} Sweep;

/* ---- pareto.c ---- */

/* Marks the Pareto front: the rows that no row dominates in the two columns. */
void front_mark(Sweep *s);
/* True if the row would be on the front with its times at the good ends of
 * their intervals. */
bool front_near(const Sweep *s, const Row *r);
/* Returns the rows in the order of the report: sorted, rejected ones last. */
int *rows_sorted(const Sweep *s);

/* ---- sweep_facts.c ---- */
/* Run in a child: fill in the facts of a variant's plan, then its times. Return
 * an exit code, or end the process if the variant is impossible. */
int facts_plan(const Sweep *s, const Variant *v, Row *r);
int facts_times(const Sweep *s, const Variant *v, Row *r);

/* ---- workload.c ---- */

/* Returns the engine's options for a variant. Raises max_len, with a warning,
 * to what -p and -n need, unless --set or --vary sets it. */
EngineOptions workload_model(const Sweep *s, const Variant *v);
RowSize workload_size(const Setup *s);
/* Returns the options that select the workload of all rows: "-p 8..128 -n 32 -b
 * 1 --beam=1 -t 1". "": no row has a workload. */
const char *workload_text(const Sweep *s, Arena *a);

/* ---- estimate.c ---- */

/* Fills in the machine's rates: measured now, or cached. */
void estimate_begin(Sweep *s);
/* Sets the host of a planned model's row and predicts each workload. */
void estimate_row(const Sweep *s, Row *r, const Engine *e, const Setup *setup,
                  const Works *works);
/* Sets the coefficients to those of the row's host, for the next rows. */
void estimate_next(Sweep *s, const Row *r);
/* Caches the times of the rows, to predict others. */
void estimate_learn(const Sweep *s);

/* ---- cost_coefficients.c ---- */
typedef struct { /* a timed workload */
    double seconds, load[Loads];
} Timed;
typedef VEC(Timed) TimedList;
/* Reads the coefficients of a host into *to. */
void coefficients_read(Arena *a, const char *host, Coefficients *to);
double coefficients_seconds(const double c[Loads], const double load[Loads]);
void coefficients_cache(Arena *a, const char *host, const TimedList *timed);
/* Reads this machine's rates as they were measured earlier. Returns false if
 * none are cached for this number of threads. */
bool rates_cached(Arena *a, Machine *m, int threads);
void rates_cache(Arena *a, const Machine *m);

/* ---- sweep_child.c ---- */
/* Fills in the row in a child process. If the child fails, its error becomes
 * the row's message. Returns false after a signal. */
bool child_row(Sweep *s, Row *r,
               int facts(const Sweep *s, const Variant *v, Row *r));

/* ---- resume_file.c ---- */
/* Opens the file of --resume. Ends with a message if it is of another sweep,
 * machine or version. */
void keep_open(Sweep *s);
/* Adds the file's times to the planned rows. Ends with a message if a line is
 * invalid or its spec has changed. */
void keep_take(Sweep *s);
void keep_row(Sweep *s, const Row *r);
void keep_close(Sweep *s);

/* ---- sweep_schedule.c ---- */
/* Times the planned rows within the budget. */
void sweep_times(Sweep *s);

/* ---- sweep_print.c .. ---- */
/* Show rows on a terminal as they come; the report then replaces them. Column
 * widths depend on the plans of all rows. */
void live_head(Sweep *s);
void live_row(Sweep *s, const Row *r);
void live_end(Sweep *s);
void sweep_print(const Sweep *s, FILE *out);
void sweep_csv(const Sweep *s, FILE *out);
void sweep_json(const Sweep *s, FILE *out);

/* ---- presets.c ---- */

/* Returns the setting that a word of --vary stands for if it is not a value of
 * its field: "layers={masking: {window: 16}}", as for --set. NULL: not such a
 * word. */
const char *preset_set(const char *key, const char *word);

/* ---- compare_layers.c, draw_compare.c ---- */
/* Returns the axis of lengths; -1: lengths are not varied. */
int compare_axis(const Sweep *s);
/* Collects the rows that differ from row `first` in length only, by length, if
 * `first` comes before all of them. Returns their number; else 0. */
int compare_line(const Sweep *s, int first, const Row **to);
/* Sets Row.exponent of all rows: time grows as that power of the length. */
void compare_exponents(Sweep *s);
/* Returns the name of a row's line: "attention". */
const char *compare_name(const Sweep *s, const Row *r);
void compare_print(const Sweep *s, FILE *out);
const char *draw_compare(const Sweep *s);

/* ---- draw_axes.c, draw_sweep.c ---- */

/* Parses the columns of --axes. Ends with ExitUsage and a message. */
void draw_read(Sweep *s);
/* Checks, after planning, that some row can have the numbers to draw. Ends with
 * ExitUsage and a message. */
void draw_check(const Sweep *s);
/* Returns a picture as SVG; NULL: no row has both numbers. */
const char *draw_sweep(const Sweep *s);

#endif
