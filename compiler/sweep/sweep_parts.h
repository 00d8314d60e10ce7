/* sweep_parts.h: declarations that the files of a sweep share, in the order of
 * its steps. */
#ifndef ATTNC_SWEEP_PARTS_H
#define ATTNC_SWEEP_PARTS_H

#include "draw/plot.h"
#include "sweep/sweep.h"

#include <jansson.h>

/* ---- axis.c ---- */
/* An axis of a sweep varies a field of the spec or an option. */
typedef enum { AxisField, AxisLengths, AxisThreads, AxisOther } AxisKind;

typedef VEC(const char *) Words;

typedef struct {
    AxisKind kind;
    const struct AxisOption *option; /* row of axis.c; NULL: AxisField */
    const char *key; /* key of the field, e.g. "h" or "masking.decoder"; of an
                      * option, "p" or "threads" */
    Words value;
} Axis;
typedef VEC(Axis) Axes;

enum { MostVariants = 10000 };
/* Parses the axes from texts such as "h=4,8" or "N=2..6". Ends with ExitUsage
 * and a message if they are invalid, vary something that --set or an option
 * sets, or have more than MostVariants combinations. */
void axes_read(Arena *a, const SweepOptions *o, Axes *axes);
int64_t axis_number(const Axis *x, const char *value); /* returns an option's
                                                        * value as a number */
/* Sets the option that the axis varies. Does nothing for the axis of a
 * field. */
void axis_set(SweepOptions *to, const Axis *x, const char *value);

/* ---- grid.c ---- */
typedef struct {
    const char *spec;         /* path of the variant's spec */
    const char *label;        /* short, unique name of the spec */
    const char *const *value; /* [axes]: values */
} Variant;
typedef VEC(Variant) Variants;

void grid_make(Arena *a, const SweepOptions *o, const Axes *axes, Variants *v);
/* Return the engine's and the bench's options for a variant. */
EngineOptions variant_model(Arena *a, const SweepOptions *o, const Axes *axes,
                            const Variant *v);
BenchOptions variant_work(const SweepOptions *o, const Axes *axes,
                          const Variant *v);
/* Returns the variant as text for the progress line: "h=4 N=2", or the name of
 * the spec. */
const char *variant_text(Arena *a, const Axes *axes, const Variant *v);

/* ---- row.c ---- */
enum { WorkEncode, WorkPrefill, WorkStep, WorkSearch, WorkKinds };
extern const char *const work_word[WorkKinds];  /* words from "encode" to
                                                 * "search", by WorkEncode to
                                                 * WorkSearch */
int work_of(const Setup *setup, const Work *w); /* WorkEncode to WorkSearch */

typedef struct { /* one workload of a variant */
    bool there;
    Cost cost;           /* cost of one run */
    double tokens;       /* tokens that one run reads or generates */
    double estimate;     /* predicted seconds of a run; NAN: unknown */
    double load[Loads];  /* features of one run, from which it is predicted */
    Times times;         /* times of its runs */
    Summary time;        /* summary of `times`; its n is 0 if not timed */
    double limit;        /* minimum seconds of a run on this machine */
    int bound;           /* resource that sets `limit` */
    const char *results; /* checksum of the results; NULL: not timed */
} RowWork;

enum {
    SizeShortest, /* shortest and longest source or prompt of a batch (rows) */
    SizeLongest,
    SizeSteps, /* tokens of an answer; 0: no answer */
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
    int code;                  /* for RowRefused: the exit code */
    const char *message;       /* for RowRefused: the reason */
    const char *note;          /* a warning from the spec's parser; or NULL */
    const char *hash;          /* hash of the spec, in hex; NULL: unknown */
    const char *host;          /* machine, threads and compiler of the code */
    RowSize size;              /* sizes of the workload */
    double parameters, flops;  /* number of weights; FLOPs of row_main() */
    double weights, memory;    /* bytes of weights; of all memory, including
                                * weights */
    Mixing mixing;             /* complexity of the first layer, at the longest
                                  length */
    double exponent;           /* the time grows as length^exponent; or NAN */
    RowWork work[WorkKinds];   /* indexed by WorkEncode to WorkSearch */
    const char *const *fields; /* [spec fields among the columns]: values */
    bool pareto;
} Row;
typedef VEC(Row) Rows;

/* Returns the model's main workload: search or, if there is none, encode, step
 * or prefill. NULL: the row has no workload. */
const RowWork *row_main(const Row *r);
/* Write a row, without its variant, as a JSON object, and read it back.
 * row_read() appends the times to those in the row. */
json_t *row_json(const Row *r, int fields);
bool row_read(Arena *a, Row *r, const json_t *from, int fields);

/* ---- sweep_columns.c ---- */
typedef enum { NeedsPlan, NeedsEstimates, NeedsTimes } ColumnNeeds;

typedef struct {
    const char *name; /* name in --columns; for a spec field, its key */
    const char *json; /* name with the unit: "step_ms" */
    const char *head; /* heading in tables, with the unit */
    UnitKind kind;
    double (*get)(const Row *r, int which);       /* returns the value in SI
                                                   * units; NAN: none */
    const char *(*word)(const Row *r, int which); /* for UnitWord: returns the
                                                   * value; "": none */
    int which;                                    /* for get() and word() */
    int better; /* -1: less is better; 1: more is better; 0: neither */
    int rank;   /* rank in a narrow table, as in TableFit */
    ColumnNeeds needs;
} SweepColumn;
typedef VEC(SweepColumn) Columns;

/* Parses a list of columns, and adds keys of spec fields among them to
 * `fields`. Ends with ExitUsage and a message if a name is unknown. */
void columns_read(Arena *a, const char *list, const char *option, Columns *to,
                  Words *fields);
/* Returns the names of the default columns: for programs if `exact` is set,
 * else for people. */
const char *columns_default(bool exact, bool predict);
/* Returns a value as text for people, e.g. "12.3", in the unit of `head`; "" if
 * there is no value. */
const char *column_text(Arena *a, const SweepColumn *c, const Row *r);
/* Returns a value as text for programs, with all digits, in the unit of `json`;
 * "" if there is no value. */
const char *column_exact(Arena *a, const SweepColumn *c, const Row *r);
bool column_has(const SweepColumn *c, const Row *r);
/* Sets the columns with the ends of the interval of `c`, or NULL if there are
 * none. */
void column_ends(const SweepColumn *c, const SweepColumn **low,
                 const SweepColumn **high);

/* ---- sweep.c ---- */
typedef struct { /* the cost model of a host */
    const char *host;
    int times; /* number of timed workloads; 0: c is the prior */
    double c[Loads];
    /* Median and 90th percentile of the relative error if each half of the
     * times is predicted from the other. 0: not enough times. */
    double missed, missed_most;
} Coefficients;

typedef struct {
    const SweepOptions *options;
    FILE *out;
    Arena *arena;
    Axes axes;
    Variants variants;
    Rows rows; /* one row per variant, in the order of the variants */
    Words fields;
    Columns columns, sort, pareto; /* maximum one column in `sort`; none or two
                                    * in `pareto` */
    Columns drawn;                 /* columns of --axes: x and y, or y only */
    int drawn_axis;                /* axis in --axes; -1: none */
    bool times;                    /* a column shows times: variants must run */
    Target target;                 /* of the sweep's options */
    Machine *machine;    /* shared with the children, which update its rates */
    int threads;         /* maximum number of threads of a variant */
    bool estimates;      /* a column shows predicted times */
    Coefficients speeds; /* cost model of the first row's host */
    double begin;        /* start, by seconds_now() */
    int64_t runs;        /* runs per workload and round; 0: until the time is
                          * up */
    double runs_seconds; /* seconds in which a variant runs in a round */
    int kept;            /* descriptor of the file of --resume; -1: none */
    File kept_lines;     /* complete lines of that file */
    bool unkept;         /* true if writing to that file failed */
    struct Live *live;   /* rows that a terminal shows meanwhile; NULL: none */
    bool interrupted;
} Sweep;

/* ---- pareto.c ---- */

/* Marks the rows on the Pareto front, i.e. the rows that no other row dominates
 * in the two columns. */
void front_mark(Sweep *s);
/* True if the row would be on the front if all its times were at the better
 * ends of their intervals. */
bool front_near(const Sweep *s, const Row *r);
/* Returns the rows in the order of the report; rejected rows are last. */
int *rows_sorted(const Sweep *s);

/* ---- sweep_facts.c ---- */
/* Fill in the facts of a variant's plan, and its times, in a child process.
 * Return an exit code, or end the process if the variant is invalid. */
int facts_plan(const Sweep *s, const Variant *v, Row *r);
int facts_times(const Sweep *s, const Variant *v, Row *r);

/* ---- workload.c ---- */

/* Returns the engine's options for a variant. If -p and -n need a larger
 * max_len, and neither --set nor --vary sets it, raises it with a warning. */
EngineOptions workload_model(const Sweep *s, const Variant *v);
RowSize workload_size(const Setup *s);
/* Returns the options that select the workload of all rows, e.g. "-p 8..128 -n
 * 32 -b 1 --beam=1 -t 1"; "" if no row has a workload. */
const char *workload_text(const Sweep *s, Arena *a);

/* ---- estimate.c ---- */

/* Finds the machine's rates; if rows are timed, measures them. */
void estimate_begin(Sweep *s);
/* Sets the host of a row and predicts the times of its workloads from the
 * planned model. */
void estimate_row(const Sweep *s, Row *r, const Engine *e, const Setup *setup,
                  const Works *works);
/* Returns the name of the host for which the engine generates code; NULL: it is
 * unknown. */
const char *engine_host_name(Arena *a, const Engine *e);
/* Reads the coefficients of the row's host, unless coefficients have been set.
 * Later rows have the same host. */
void estimate_next(Sweep *s, const Row *r);
/* Caches the times of the rows, from which other models are predicted. */
void estimate_learn(const Sweep *s);

/* ---- cost_coefficients.c ---- */
typedef struct { /* features and time of a workload that has run */
    double seconds, load[Loads];
} Timed;
typedef VEC(Timed) TimedList;
/* Reads the coefficients of a host. If no times are cached, they are the
 * prior. */
void coefficients_read(Arena *a, const char *host, Coefficients *to);
double coefficients_seconds(const double c[Loads], const double load[Loads]);
void coefficients_cache(Arena *a, const char *host, const TimedList *timed);
/* Reads the cached rates of this machine for code for `t`. Returns false if
 * there are none for this number of threads. */
bool rates_cached(Arena *a, Machine *m, const Target *t, int threads);
void rates_cache(Arena *a, const Machine *m, const Target *t);
/* Sets the rates of this machine for code for `t`, with up to `threads`
 * threads: those of the cache, or measures them if there are none. `again`:
 * measures them, and keeps the better ones. */
void rates_find(Arena *a, Machine *m, const Target *t, int threads, bool again);

/* ---- sweep_child.c ---- */
/* Fills in the row by calling `facts` in a child process. If that fails, sets
 * the row's message to the error. Returns false after a signal. */
bool child_row(Sweep *s, Row *r,
               int facts(const Sweep *s, const Variant *v, Row *r));

/* ---- resume_file.c ---- */
/* Opens the file of --resume, until the sweep's arena is freed. Ends with a
 * message if the file is from another sweep, machine or version. */
void keep_open(Sweep *s);
/* Adds the times in the file to the planned rows. Ends with a message if a line
 * is invalid, or if a spec has changed. */
void keep_take(Sweep *s);
void keep_row(Sweep *s, const Row *r);

/* ---- sweep_schedule.c ---- */
/* Times the planned rows within the budget. */
void sweep_times(Sweep *s);

/* ---- sweep_print.c .. ---- */
/* Show each row on a terminal when it is complete. The report replaces these
 * lines at the end. The column widths depend on the plans of all rows. */
void live_head(Sweep *s);
void live_row(Sweep *s, const Row *r);
void live_end(Sweep *s);
void sweep_print(const Sweep *s, FILE *out);
void sweep_csv(const Sweep *s, FILE *out);
void sweep_json(const Sweep *s, FILE *out);

/* ---- presets.c ---- */

/* If `word` is not a value of the field `key` but the name of a preset, returns
 * the setting that it stands for, as for --set: "layers={masking: {window:
 * 16}}". Otherwise returns NULL. */
const char *preset_set(const char *key, const char *word);

/* ---- compare_layers.c, draw_compare.c ---- */
/* Returns the axis that varies the length, or -1. */
int compare_axis(const Sweep *s);
/* Collects the rows that differ from row `first` only in the length, sorted by
 * length. Returns their number; 0 if `first` is not the first of these rows. */
int compare_line(const Sweep *s, int first, const Row **to);
/* Sets the exponent of all rows: the time grows as length^exponent. */
void compare_exponents(Sweep *s);
/* Returns the kind of layer in the row, e.g. "attention". */
const char *compare_name(const Sweep *s, const Row *r);
void compare_print(const Sweep *s, FILE *out);
const char *draw_compare(const Sweep *s);

/* ---- draw_axes.c, draw_sweep.c ---- */

/* Parses the columns of --axes. Ends with ExitUsage and a message if they are
 * invalid. */
void draw_read(Sweep *s);
/* Checks, after planning, that some row may have the numbers to draw. Ends with
 * ExitUsage and a message otherwise. */
void draw_check(const Sweep *s);
/* Returns a picture as SVG; NULL if no row has both numbers. */
const char *draw_sweep(const Sweep *s);

#endif
