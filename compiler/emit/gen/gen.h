/* gen.h: what is known of the file that is being made, and what all that make
 * it ask for. Each section of the file is text of its own; model.c puts them in
 * order. */
#ifndef ATTNC_EMIT_GEN_H
#define ATTNC_EMIT_GEN_H

#include "emit/text/cut.h"
#include "emit/emit.h"
#include "emit/tile/needs.h"

/* Members of the call that the body of a step reads. Whoever emits a text that
 * reads one sets its flag. */
typedef struct {
    bool row;     /* `i`, of the batch: the part's first */
    bool weights; /* `w`, of its layer */
    bool layer;   /* its layer's number */
    bool batch;   /* `b`, of a step that is never divided; others declare it */
} Uses;

/* A step's function; a step or a list of them. Two of one base are one function
 * if their comments and bodies are the same, all of them. */
typedef struct {
    const char *base;           /* name that it asked for */
    const char *name;           /* the same, or numbered */
    const char *comment, *body; /* behind its first brace */
    const char *type; /* "struct step", "struct steps"; NULL: a function */
    bool whole;       /* a function that is never divided: it has no parts */
    Entry entry;
    Uses uses;
    int next; /* the next function with the same body; -1: none */
} Function;

typedef struct { /* the layers of one stack (weight_structs.c) */
    Stack stack;
    int n;                /* of layers that have weights */
    const char **members; /* text of each one's struct of weights */
    int *like;            /* the first layer with the same text */
    int *place;           /* of a layer among those */
    int *count;           /* of a first layer: how many these are */
    bool alike;           /* all that have weights */
} Layers;

/* Functions of the file that steps and other functions share. */
typedef enum {
    HelperMin,
    HelperMax,
    HelperPartBegin,
    HelperTick,
    HelperKeys, /* struct keys */
    HelperTypeOf,
    HelperPrefixOf,
    HelperHeadsAtOnce,
    HelperOrder,
    SharedPairs,     /* pairs(): of these starts and keys */
    SharedStates,    /* states in pages of a cache */
    SharedZeros,     /* zeros of so many columns */
    SharedTap,       /* a row that a convolution reads */
    SharedMask,      /* a mask from a file */
    SharedMatmul,    /* a product */
    SharedRows,      /* tiles of all rows */
    SharedSmallRows, /* tiles of a small M */
    SharedPanels,    /* a run-time number of panels */
    SharedSeen,      /* values that some rows see */
    SharedAttention, /* of a task */
    SharedHeads,     /* of a task, four heads at once */
    SharedShort,     /* attention whose lengths are known */
    SharedScores,    /* beside softmax of rows that wait */
    SharedValues
} SharedKind;

/* Tells shared functions apart. All that the text of a function depends on,
 * and that differs within one file, is a member. */
typedef struct {
    SharedKind kind;
    int mr, nr, prefetch; /* of a tiling */
    int64_t size[5];      /* numbers, in the kind's own order */
    AttentionForm form;
    Epilogue ep;
} SharedKey;

typedef struct {
    SharedKey key;
    const char *name;
    int next; /* the next function with the same base name; -1: none */
} SharedFunction;

typedef struct Gen Gen;
struct Gen {
    Arena *a;
    const Plan *p;
    const EmitOptions *o;
    Kernels *kernels;
    Cut *core; /* files of runtime/, of which it has a part (runtime_files.c) */
    Uses uses; /* of the body that is made now */
    bool whole;  /* it is never divided: rows and columns are all there are,
                    and constants where they are fixed */
    Entry entry; /* that it is of */
    bool alone;  /* so is the only sequence */
    const char *sequence; /* text of the one that it is about: "s" */
    const char *row;      /* of its first row: "row"; NULL: 0 */
    Arena *scratch;       /* of the region that is printed now */
    Emit *helpers;        /* what all sections may call: min() .. */
    Emit *shapes;         /* products and attention of one shape */
    Emit *counts;         /* pairs(): queries times keys of a batch */
    Emit *count_prototypes;
    VEC(SharedFunction) shared;
    VEC(Function) functions; /* those of steps */
    Index bases, bodies; /* the first of `shared`, of `functions` with one */
    Index names;         /* of functions: place in `taken` */
    VEC(int) taken;      /* how many have asked for that name */
    int *function_of;    /* by region: its step, or list of steps */
    int *step_of;        /* by place in the plan's order: its function */
    const Task *only;    /* the one that is printed; NULL: all */
    Layers layers[Stacks];
    bool plain; /* the file of plain_file.c */
    /* The lines of a block's members in a struct of weights. */
    const char *(*member)(Gen *g, const Block *b);
};

/* How a node's task is worked on; NULL: it has none of that kind. */
const Tiling *tiling_of(const Gen *g, TaskKind kind, int node);

/* Returns `base`, or if that is taken base_2 or another name; takes it. */
const char *free_name(Gen *g, const char *base);
/* Returns the name of the function that `key` tells from others: of a new one
 * `base`, or another that is free. *made: it is there; else the caller makes
 * it. */
const char *shared_name(Gen *g, const SharedKey *key, const char *base,
                        bool *made);
/* Returns whether a helper, of which a file has one, is not there yet. It is
 * from now on. */
bool first_time(Gen *g, SharedKind helper, const char *name);
/* Helpers of emitted C, made where they are needed first. */
void need_min(Gen *g);
void need_max(Gen *g);
void need_part_begin(Gen *g); /* where a part begins */

#endif
