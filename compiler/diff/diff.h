/* diff.h: two variants of a model beside each other: what of spec, passes,
 * graph, plan and cost is not the same.
 *
 *   engine -> facts (diff_facts.c), to a file and back (saved.c)
 *   -> what differs (difference.c) -> text (diff_print.c), JSON (diff_json.c)
 *
 * In:  Engines with a plan.
 * Out: Facts, a list that needs no engine any more; a Difference of two.
 * Public beside it: loss.h.                                                 */
#ifndef ATTNC_DIFF_H
#define ATTNC_DIFF_H

#include "engine/engine.h"

/* ---- diff_facts.c ---- */
typedef enum {
    FactField,    /* of the spec: key, its value as text */
    FactCost,     /* a number */
    FactTime,     /* seconds, with their interval */
    FactPass,     /* rewrites of a pass */
    FactMissed,   /* a fusion that failed: the pass, where and why */
    FactNode,     /* an operation: its name, what it does, its type */
    FactFunction, /* of the emitted file: its name, how many steps call it */
    FactTask,     /* what is tuned: its shape, its tiling as text */
    FactKinds
} FactKind;

typedef enum { UnitCount, UnitBytes, UnitFlops, UnitSeconds } FactUnit;

/* A key is the same in two variants where the same is meant. What is of a layer
 * has {i} for the layer's number in key and text, and begins with a point what
 * else is of that layer.                                                    */
typedef struct {
    FactKind kind;
    int layer;    /* -1: of none */
    bool derived; /* FactField: nobody wrote it */
    FactUnit unit;
    double number, low, high; /* UnitSeconds: a median, its interval */
    const char *key;
    const char *text; /* "": the number is all */
    const char *type; /* of a FactNode; "" */
} Fact;

typedef struct {
    Arena *arena;
    VEC(Fact) at;
} Facts;

/* Adds those of an engine with a plan. `record`: what its passes did. */
void facts_of(Facts *to, const Engine *e, const PassRecord *record);
void facts_time(Facts *to, const char *key, double median, double low,
                double high);

/* ---- saved.c ---- */

/* Facts as bytes behind each other in an open file, for another process. */
bool facts_write(const Facts *f, FILE *to);
/* False: they are not whole. */
bool facts_read(Facts *f, FILE *from);

/* ---- difference.c ---- */
typedef struct {
    const Fact *a, *b; /* NULL: there is none */
    VEC(int) layers;   /* that are alike; none: it is of no layer */
    bool whole;        /* of a layer that the other variant lacks */
} Change;

typedef struct {
    Arena *arena;
    /* In the order of the variants: all facts of FactCost and FactTime, of
     * other kinds those that differ. */
    VEC(Change) of[FactKinds];
    int nodes[2]; /* of the graphs, constants too */
    bool same;    /* but for times */
} Difference;

void facts_differ(Difference *to, const Facts *a, const Facts *b);
/* Is the operation the same, and its shape alone another? */
bool only_shape(const Change *c);
bool same_number(const Fact *a, const Fact *b);

/* ---- diff_print.c ---- */
typedef struct {
    const char *a, *b; /* heads of their columns: "before", "now"; a NULL:
                          b is all that there is, and its costs are printed */
    bool changed;      /* of costs those alone that are not the same */
    int lines;         /* of a list, at most; -1: all */
    bool all; /* also what follows from the rest: nodes whose shape alone
                 differs, those of whole layers, tilings of tasks that one of
                 the two lacks */
    int room; /* columns of a line; 0: any */
} DifferenceStyle;

/* Parts that are the same in both are left out, costs are not. */
void difference_print(const Difference *d, const DifferenceStyle *style,
                      FILE *out);

/* ---- diff_json.c ---- */
char *difference_json(Arena *a, const Difference *d, const char *name_a,
                      const char *name_b);

#endif
