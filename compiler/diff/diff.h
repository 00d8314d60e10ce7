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
    FactField,    /* a spec's key and its value as text */
    FactCost,     /* a number */
    FactTime,     /* seconds with their interval */
    FactPass,     /* rewrites of a pass */
    FactMissed,   /* a missed fusion: pass, place and reason */
    FactNode,     /* an operation: name, formula, type */
    FactFunction, /* an emitted function: name, number of calls */
    FactTask,     /* a tuned task: shape, tiling as text */
    FactKinds
} FactKind;

typedef enum { UnitCount, UnitBytes, UnitFlops, UnitSeconds } FactUnit;

/* Facts of two variants that mean the same have the same key. In facts of a
 * layer, {i} stands for its number, and names from the same layer begin with a
 * dot. */
typedef struct {
    FactKind kind;
    int layer;    /* -1: belongs to no layer */
    bool derived; /* FactField: not in the file, follows from others */
    FactUnit unit;
    double number, low, high; /* UnitSeconds: median and its interval */
    const char *key;
    const char *text; /* "": only the number counts */
    const char *type; /* a FactNode's; else "" */
} Fact;

typedef struct {
    Arena *arena;
    VEC(Fact) at;
} Facts;

/* Adds the facts of an engine with a plan. `record`: results of its passes. */
void facts_of(Facts *to, const Engine *e, const PassRecord *record);
void facts_time(Facts *to, const char *key, double median, double low,
                double high);

/* ---- saved.c ---- */

/* Writes facts as bytes to an open file, for another process. */
bool facts_write(const Facts *f, FILE *to);
/* Returns false if the file is cut short. */
bool facts_read(Facts *f, FILE *from);

/* ---- difference.c ---- */
typedef struct {
    const Fact *a, *b; /* NULL: absent */
    VEC(int) layers;   /* all layers with this change; none: not of a layer */
    bool whole;        /* the other variant lacks the layer */
} Change;

typedef struct {
    Arena *arena;
    /* In the order of the variants: all facts of FactCost and FactTime, and
     * those of other kinds that differ. */
    VEC(Change) of[FactKinds];
    int nodes[2]; /* nodes of the graphs, with constants */
    bool same;    /* apart from times */
} Difference;

void facts_differ(Difference *to, const Facts *a, const Facts *b);
/* True if the operations are equal and only their shapes differ. */
bool only_shape(const Change *c);
bool same_number(const Fact *a, const Fact *b);

/* ---- diff_print.c ---- */
typedef struct {
    const char *a, *b; /* column heads, e.g. "before", "now"; a NULL: there
                          is only b, whose costs are printed */
    bool changed;      /* print only costs that differ */
    int lines;         /* most lines of a list; -1: all */
    bool all; /* also print consequences: nodes that differ only in shape,
                 nodes of missing layers, tilings of tasks that one variant
                 lacks */
    int room; /* columns of a line; 0: unlimited */
} DifferenceStyle;

/* Prints all costs, and of the other parts only those that differ. */
void difference_print(const Difference *d, const DifferenceStyle *style,
                      FILE *out);

/* ---- diff_json.c ---- */
char *difference_json(Arena *a, const Difference *d, const char *name_a,
                      const char *name_b);

#endif
