/* diff.h: compares two variants of a model: spec, passes, graph, plan and
 * costs.
 *
 *   engine -> facts (diff_facts.c), to a file and back (saved.c)
 *   -> difference (difference.c) -> text (diff_print.c), JSON (diff_json.c)
 *
 * In:  Engines with a plan.
 * Out: Facts, a list that outlives its engine; the Difference of two such
 * lists.
 * Other public headers: loss.h. */
#ifndef ATTNC_DIFF_H
#define ATTNC_DIFF_H

#include "engine/engine.h"

/* ---- diff_facts.c ---- */
typedef enum {
    FactField,    /* a key of the spec, with its value as text */
    FactCost,     /* a number, e.g. of weights or bytes */
    FactTime,     /* seconds with their confidence interval */
    FactPass,     /* number of rewrites by one pass */
    FactMissed,   /* a missed fusion: pass, place and reason */
    FactNode,     /* an operation: name, formula, type */
    FactFunction, /* an emitted function: name, number of calls */
    FactTask,     /* a tuned task: shape, tiling as text */
    FactKinds
} FactKind;

typedef enum { UnitCount, UnitBytes, UnitFlops, UnitSeconds } FactUnit;

/* Facts about the same thing in two variants have the same key. In facts about
 * one layer, {i} stands for the number of the layer, and names from this layer
 * begin with a dot. */
typedef struct {
    FactKind kind;
    int layer;    /* number of the layer; -1: not about one layer */
    bool derived; /* for FactField: the key is not in the spec's file; its value
                   * is derived from other keys */
    FactUnit unit;
    double number, low, high; /* for UnitSeconds: the median and its confidence
                               * interval */
    const char *key;
    const char *text; /* value as text; "": the value is `number` */
    const char *type; /* type of a FactNode; "" for other kinds */
} Fact;

typedef struct {
    Arena *arena;
    VEC(Fact) at;
} Facts;

/* Adds the facts of an engine with a plan. `record` has the results of its
 * passes. */
void facts_of(Facts *to, const Engine *e, const PassRecord *record);
void facts_time(Facts *to, const char *key, double median, double low,
                double high);

/* ---- saved.c ---- */

/* Writes facts in binary form to an open file, for another process to read. */
bool facts_write(const Facts *f, FILE *to);
/* Reads facts that facts_write() wrote. Returns false if the file is
 * truncated. */
bool facts_read(Facts *f, FILE *from);

/* ---- difference.c ---- */
typedef struct {
    const Fact *a, *b; /* the fact in each variant; NULL: missing */
    VEC(int)
    layers;     /* layers with this change; empty: the fact is not about a
                 * layer */
    bool whole; /* true if one variant lacks the entire layer */
} Change;

typedef struct {
    Arena *arena;
    /* Changes by kind, in the order of the variants. All facts of FactCost and
     * FactTime are listed; of other kinds, only those that differ. */
    VEC(Change) of[FactKinds];
    int nodes[2]; /* number of nodes in each graph, including constants */
    bool same;    /* true if nothing but times differs */
} Difference;

void facts_differ(Difference *to, const Facts *a, const Facts *b);
/* True if the operations differ only in their shapes. */
bool only_shape(const Change *c);
bool same_number(const Fact *a, const Fact *b);

/* ---- diff_print.c ---- */
typedef struct {
    const char *a, *b; /* column headings, e.g. "before" and "now"; if either is
                        * NULL, only the costs of b are printed */
    bool changed;      /* prints only costs that differ */
    int lines;         /* maximum lines of a list; -1: unlimited */
    bool all; /* also prints consequences: nodes that differ only in shape,
               * nodes of missing layers, tilings of tasks that one variant
               * lacks */
    int room; /* width of a line in columns; 0: unlimited */
} DifferenceStyle;

/* Prints all costs, and those facts of other kinds that differ. */
void difference_print(const Difference *d, const DifferenceStyle *style,
                      FILE *out);

/* ---- diff_json.c ---- */
char *difference_json(Arena *a, const Difference *d, const char *name_a,
                      const char *name_b);

#endif
