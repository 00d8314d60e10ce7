/* gen.h: the state of the file being emitted, and helpers for all of its
 * sections. Each section is a text of its own; model.c puts them in order. */
#ifndef ATTNC_EMIT_GEN_H
#define ATTNC_EMIT_GEN_H

#include "emit/text/tree_shaker.h"
#include "emit/emit.h"
#include "emit/tile/needs.h"

/* Flags: the body of a step reads these members of its call. Code that emits
 * such a use sets the flag. */
typedef struct {
    bool row;     /* `i`: the part's first row in the batch */
    bool weights; /* `w`: the layer's weights */
    bool layer;   /* the layer's number */
    bool batch;   /* `b`, in a step that is never divided */
} Uses;

/* The function of a step, or a constant: a step or a list of steps. Those with
 * the same base, comment and body are emitted once. */
typedef struct {
    const char *base;           /* requested name */
    const char *name;           /* the base, or numbered */
    const char *comment, *body; /* body: after its first brace */
    const char *type; /* "struct step", "struct steps"; NULL: a function */
    bool undivided;   /* never divided among threads: it takes no parts */
    Entry entry;
    Uses uses;
    int next; /* the next function with the same body; -1: none */
} Function;

typedef struct { /* the layers of one stack (weight_structs.c) */
    Stack stack;
    int n;                /* number of layers */
    const char **members; /* each layer's struct of weights, as text */
    int *like;            /* the first layer with the same text */
    int *place;           /* a layer's index among those */
    int *count;           /* for a first layer: their number */
    bool alike;           /* all layers with weights are alike */
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
    SharedPairs,     /* pairs() for these starts and keys */
    SharedStates,    /* states in the pages of a cache */
    SharedZeros,     /* an array of zeros */
    SharedTap,       /* a row that a convolution reads */
    SharedMask,      /* a mask from a file */
    SharedMatmul,    /* a product */
    SharedRows,      /* tiles of a fixed number of rows */
    SharedSmallRows, /* tiles of a small M */
    SharedPanels,    /* a run-time number of panels */
    SharedSeen,      /* values that only some rows see */
    SharedAttention, /* attention of a task */
    SharedHeads,     /* the same for four heads at once */
    SharedShort,     /* attention of known lengths */
    SharedScores,    /* products of pipelined softmax */
    SharedValues
} SharedKind;

/* Identifies a shared function. Everything that its text depends on and that
 * varies within a file is a member. */
typedef struct {
    SharedKind kind;
    int mr, nr, prefetch; /* from the tiling */
    int64_t size[5];      /* meaning depends on the kind */
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
    TreeShaker *core; /* tree shaker of runtime/ (runtime_files.c) */
    Uses uses;        /* by the body being emitted */
    bool undivided;   /* the step is never divided: it has all rows and columns,
                       * which are constants if they are fixed */
    Entry entry;      /* entry of the body */
    bool alone;       /* undivided, and the call has one sequence */
    const char *sequence; /* text of the current sequence: "s" */
    const char *row;      /* text of its first row: "row"; NULL: 0 */
    Arena *scratch;       /* freed after each region */
    Emit *helpers;        /* min() and other helpers of all sections */
    Emit *shapes;         /* products and attention, by shape */
    Emit *counts;         /* pairs(): queries times keys of a batch */
    Emit *count_prototypes;
    VEC(SharedFunction) shared;
    VEC(Function) functions; /* functions of steps */
    Index bases, bodies; /* first in `shared` by base, in `functions` by body */
    Index names;         /* function names: index in `taken` */
    VEC(int) taken;      /* how often a name was requested */
    int *function_of;    /* by region: its step or list of steps */
    int *step_of;        /* by place in the plan's order: its function */
    const Task *only;    /* task whose tiling replaces the plan's; NULL: none */
    Layers layers[Stacks];
    bool plain; /* emits the file of plain_file.c */
    /* Returns the lines of a block's members in a struct of weights. */
    const char *(*member)(Gen *g, const Block *b);
};

/* Returns the tiling of a node's task; NULL if it has no task of that kind. */
const Tiling *tiling_of(const Gen *g, TaskKind kind, int node);

/* Returns and reserves `base`, or base_2 or another free name. */
const char *free_name(Gen *g, const char *base);
/* Returns the name of the function that `key` identifies; a new one gets `base`
 * or another free name. *made: it exists already; otherwise the caller emits
 * it. */
const char *shared_name(Gen *g, const SharedKey *key, const char *base,
                        bool *made);
/* Returns true, once per file, if the caller has to emit a helper. */
bool first_time(Gen *g, SharedKind helper, const char *name);
/* Helpers of emitted C, emitted at their first use. */
void need_min(Gen *g);
void need_max(Gen *g);
void need_part_begin(Gen *g); /* first index of a part */

#endif
