/* gen.h: what is known of the file that is being made, and what all that make
 * it ask for. Each section of the file is text of its own; model.c puts them in
 * order. */
#ifndef ATTNC_EMIT_GEN_H
#define ATTNC_EMIT_GEN_H

#include "emit/cut.h"
#include "emit/emit.h"
#include "emit/kernels.h"

/* What a step's body reads of its call: texts say so where they are made. */
typedef struct {
    bool row;     /* `i`, of the batch: the part's first */
    bool weights; /* `w`, of its layer */
    bool layer;   /* its layer's number */
    bool batch;   /* `b`, of a step that is never divided; others declare it */
} Uses;

typedef struct {      /* a step's function; a step or a list of them */
    const char *base; /* name that it asked for */
    const char *name; /* the same, or numbered */
    const char *comment, *body; /* behind its first brace */
    const char *type; /* "struct step", "struct steps"; NULL: a function */
    bool whole;       /* a function that is never divided: it has no parts */
    Entry entry;
    Uses uses;
} Function;

typedef struct { /* the layers of one stack (weights.c) */
    Stack stack;
    int n;                /* of layers that have weights */
    const char **members; /* text of each one's struct of weights */
    int *like;            /* the first layer with the same text */
    int *place;           /* of a layer among those */
    int *count;           /* of a first layer: how many these are */
    bool alike;           /* all that have weights */
} Layers;

typedef struct {         /* the functions of an attention task */
    const char *name[2]; /* [1]: for the last row, which needs no mask */
    bool made[2];
} AttentionNames;

typedef struct { /* what tells functions of short attention apart */
    int64_t queries, keys, d_k, d_v;
    double scale;
    const char *name;
} ShortAttention;

typedef struct Gen Gen;
struct Gen {
    Arena *a;
    const Plan *p;
    const EmitOptions *o;
    Kernels *kernels;
    Cut *core;   /* files of runtime/, of which it has a part (core.c) */
    Uses uses;   /* of the body that is made now */
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
    Index shape_names;         /* made already */
    VEC(Function) functions;   /* each text once .. */
    Index function_texts;      /* .. by that */
    Index function_names;      /* by base: place in `taken` */
    VEC(int) taken;            /* how many functions have that base */
    int *function_of;          /* by region: its step, or list of steps */
    int *step_of;              /* by place in the plan's order: its function */
    AttentionNames *attention; /* by task of the plan; NULL: not needed yet */
    VEC(ShortAttention) short_attention;
    const Task *only; /* the one that is printed; NULL: all */
    Layers layers[Stacks];
    bool plain; /* the file of plain.c */
    /* The lines of a block's members in a struct of weights. */
    const char *(*member)(Gen *g, const Block *b);
};

/* How a node's task is worked on; NULL: it has none of that kind. */
const Tiling *tiling_of(const Gen *g, TaskKind kind, int node);

/* Is a function of a shape, or a helper, not there yet? It is from now on. */
bool first_time(Gen *g, const char *name);
/* Returns `base`, or where that is taken, base_2 or another one; takes it. */
const char *unused_name(Gen *g, const char *base);
/* Helpers of emitted C, made where they are needed first. */
void need_min(Gen *g);
void need_max(Gen *g);
void need_part_begin(Gen *g); /* where a part begins */

#endif
