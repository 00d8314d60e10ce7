/* gen.h: the state of the file being emitted, and helpers for all its sections.
 * Each section is a separate text; model.c joins them in order. */
#ifndef ATTNC_EMIT_GEN_H
#define ATTNC_EMIT_GEN_H

#include "emit/text/tree_shaker.h"
#include "emit/emit.h"
#include "emit/tile/needs.h"

/* numbers that may differ between layers with the same code */
enum { LoopNumbers = 4 };

/* Members of the call that the body of a step reads. Code that emits a read of
 * a member sets its flag. */
typedef struct {
    bool row;     /* `i`, the first row of the part in the batch */
    bool weights; /* `w`, the weights of the layer */
    bool layer;   /* the number of the layer */
    bool batch;   /* `b`, in a step that is never divided among threads */
    /* for the arena: the sizes of the call that are read */
    bool rows, sequences, parts;
    /* for plain C: the parameters that are read */
    bool model, past, prefix, number[LoopNumbers];
} Uses;

/* The function of a step, or a constant that is a step or a list of steps.
 * Functions with the same base, comment and body are emitted once. */
typedef struct {
    const char *base;           /* requested name */
    const char *name;           /* `base`, with a number if it was taken */
    const char *comment, *body; /* first comment; text after the first brace */
    const char *type; /* "struct step" or "struct steps"; NULL: a function */
    bool undivided;   /* never divided among threads; the function has no
                       * parameters for a part */
    bool by_rows; /* in a file without threads: has parameters for its rows */
    Entry entry;
    Uses uses;
    int next; /* index of the next function with the same body; -1: none */
} Function;

typedef struct { /* the layers of a stack (weight_structs.c) */
    Stack stack;
    int n;                /* number of layers */
    const char **members; /* [n]: struct of the layer's weights, as text */
    int *like;            /* [n]: first layer with the same text */
    int *place;           /* [n]: index among the layers with the same text */
    int *count;           /* [n]: for a first layer, the number with the same
                           * text */
    bool alike;           /* all layers that have weights have the same text */
} Layers;

/* Functions that several parts of the file may call. Each is emitted once. */
typedef enum {
    HelperMin,
    HelperMax,
    HelperPartBegin,
    HelperRankBegin,
    HelperColumnBegin,
    HelperHeadColumns,
    HelperTick,
    HelperKeys, /* emits struct keys */
    HelperTypeOf,
    HelperPrefixOf,
    HelperHeadsAtOnce,
    HelperOrder,
    HelperNextBlock,
    SharedPairs,     /* pairs() for these starts and keys */
    SharedStates,    /* address of states in the pages of a cache */
    SharedZeros,     /* array of zeros */
    SharedTap,       /* the row that a convolution reads */
    SharedMask,      /* a mask from a file */
    SharedMatmul,    /* a product */
    SharedPanels,    /* tiles for a number of panels known at run time */
    SharedSeen,      /* product with values that only some rows see */
    SharedAttention, /* attention of a task */
    SharedHeads,     /* attention of a task for four heads at once */
    SharedShort,     /* attention with constant lengths */
    SharedScores,    /* products that overlap softmax */
    SharedValues
} SharedKind;

/* Identifies a shared function. The members are everything that determines the
 * function's text and varies within a file. */
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
    int next; /* index of the next function with the same base name; -1: none */
} SharedFunction;

typedef struct Gen Gen;
struct Gen {
    Arena *a;
    const Plan *p;
    const EmitOptions *o;
    Kernels *kernels;
    TreeShaker *core; /* tree shaker of runtime/ (runtime_files.c) */
    Uses uses;        /* uses of the body that is being emitted */
    bool undivided;   /* the step being emitted is never divided: it has all
                       * rows and columns, whose numbers are constants if `fix`
                       * makes them so */
    bool serial;      /* the file does not start threads: steps have no
                       * parameters for a part */
    Entry entry;      /* entry that contains this body */
    bool alone;       /* the step is undivided and the call has one sequence */
    const char *sequence; /* C for the current sequence: "s" */
    const char *row;      /* C for its first row: "row"; NULL: 0 */
    Arena *scratch;       /* reset after each region */
    Emit *helpers;        /* text of min() and other helpers of all sections */
    Emit *shapes;         /* text of products and attention, one per shape */
    Emit *counts;         /* text of pairs() and next_block() */
    Emit *count_prototypes;
    VEC(SharedFunction) shared;
    VEC(Function) functions; /* functions of steps */
    Index bases, bodies; /* `shared` by base name (first one), `functions` by
                          * body */
    Index names;         /* index in `taken`, by function name */
    VEC(int) taken;      /* number of requests for each name */
    int *function_of;    /* [regions]: index of its step or list of steps */
    int *step_of;        /* [order of the plan]: index of the node's function */
    bool finish;      /* the text of a step is that of its end, after the ranks'
                       * exchange */
    const Task *only; /* task whose tiling replaces the plan's, or NULL */
    Layers layers[Stacks];
    struct LevelCode
        *level;           /* [o->nlevels + 1]: code of each level (levels.c) */
    bool plain;           /* the file is emitted by plain_file.c */
    bool counted[Stacks]; /* the text names the number of layers of the stack */
    bool every; /* the file is attn.h or attn.c, which serve every model */
    /* Returns the lines that declare a block in a struct of weights. */
    const char *(*member)(Gen *g, const Block *b);
};

/* Returns the tiling of the node's task of this kind, or NULL if it has
 * none. */
const Tiling *tiling_of(const Gen *g, TaskKind kind, int node);

/* ---- targets.c ---- */
int level_count(const Gen *g); /* targets of a file for several; else 0 */
const Plan *level_plan(const Gen *g, int i); /* of target i, from 0 */
bool any_amx(const Gen *g); /* true if code of the file asks for AMX */
const char *level_names(const Gen *g); /* with ", " between them */
/* Binds $flags to the options that the file must be compiled with, after a
 * space, and $break to `next_line` if they are long. */
void let_flags(const Gen *g, Emit *e, const char *next_line);

/* Returns and reserves a free name: `base`, or `base` with a number. */
const char *free_name(Gen *g, const char *base);
/* Returns the name of the function that `key` identifies. If it does not exist
 * yet, sets *made to false and gives it a free name, `base` if possible; the
 * caller must then emit it. */
const char *shared_name(Gen *g, const SharedKey *key, const char *base,
                        bool *made);
/* Returns true if the helper does not exist yet, so that the caller must emit
 * it. */
bool first_time(Gen *g, SharedKind helper, const char *name);
/* Emit helper functions when they are first needed. */
void need_min(Gen *g);
void need_max(Gen *g);
void need_part_begin(Gen *g); /* emits the function of a part's first index */

#endif
