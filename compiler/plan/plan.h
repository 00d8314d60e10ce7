/* plan.h: everything that is decided before text is written: where values live,
 * how weights are packed, which ops make one function, and how each task is
 * tiled and divided. The emitter prints what stands here.
 *
 * In:  a Graph, lowered, a Target, and tilings that were found to be
 *      better than the tool's own (Choices).
 * Out: a Plan; what it costs, as text and JSON.
 *
 * Public beside it: epilogue.h. A tiling consists of the rows of
 * tiling_parameters.h.    */
#ifndef ATTNC_PLAN_H
#define ATTNC_PLAN_H

#include "graph/graph.h"
#include "machine/target.h"
#include "plan/epilogue.h"

/* ---- tiling.c ---- */

/* Tasks are what is tuned: distinct by kind, shape, dtype and epilogue. */
typedef enum {
    TaskMatmul,    /* a product: "512x2048" (k, n), "bias_relu" */
    TaskSmallM,    /* the same, where x has few rows (M) */
    TaskAttention, /* "64x64" (d_k, d_v), "causal_paged" */
    TaskRows,      /* row blocks: "512x2048_2048x512", "" */
    TaskSplit,     /* of all among threads: "encode_decode";
                      "512x2048x12": d_model, d_ff, layers */
    TaskKinds
} TaskKind;
extern const char *const task_word[TaskKinds]; /* "matmul", "small_m" .. */

#define On(kind) (1 << (kind))
#define OnProducts (On(TaskMatmul) | On(TaskAttention))

typedef struct { /* a value for each parameter; 0: as by default */
#define PARAMETER(name, ...) int32_t name;
#include "plan/tiling_parameters.h"
#undef PARAMETER
} Tiling;

typedef struct { /* one parameter, as text and as numbers */
    const char *name;
    int tasks; /* On() the kinds that have it */
    int32_t least, most, step;
    const char *text;
    size_t at; /* in a Tiling */
} TilingParameter;
enum {
#define PARAMETER(name, ...) Tiling_##name,
#include "plan/tiling_parameters.h"
#undef PARAMETER
    TilingParameters
};
extern const TilingParameter tiling_parameters[TilingParameters];
int32_t tiling_get(const Tiling *t, int parameter);
void tiling_set(Tiling *t, int parameter, int32_t value);
/* Is each value 0 or one that the parameter may have, on a task of that kind?
 */
bool tiling_valid(const Tiling *t, TaskKind kind);
bool tiling_same(const Tiling *a, const Tiling *b);
/* "mr=6 nr=64": what is not 0, in the order of the parameters. */
char *tiling_text(Arena *a, const Tiling *t);

typedef struct { /* the name of a task, as reports and records have it */
    TaskKind kind;
    const char *shape;    /* "512x2048" */
    const char *epilogue; /* "bias_relu"; of attention "causal_paged" */
    Dtype dtype;
    Arithmetic arithmetic; /* of a product, whose epilogue has it too */
} TaskKey;
/* Compares keys of records, which have all digits of all numbers: they are of
 * the same task if their texts are the same. */
bool task_same(const TaskKey *a, const TaskKey *b);

/* ---- identity.c ---- */
typedef struct {   /* how a function of attention makes weights of scores */
    MaskSpec mask; /* without a file */
    int file;      /* plan_mask() of a mask from a file; 0: none */
    uint64_t file_hash; /* of what is in it */
    bool paged, additive, sigmoid, biased, sinks;
    double cap, scale; /* cap 0: none */
} AttentionForm;

bool form_same(const AttentionForm *a, const AttentionForm *b);

/* Describes what a task computes. Two tasks with equal members are the same. */
typedef struct {
    TaskKind kind;
    Dtype dtype;
    const int64_t *size; /* numbers of its shape, in their order */
    int sizes;
    Epilogue ep;           /* of a product, but for its dtype */
    AttentionForm form;    /* of attention */
    bool encodes, decodes; /* TaskSplit: entries of the model */
} TaskIdentity;
bool identity_same(const TaskIdentity *a, const TaskIdentity *b);
/* The name that is printed from an identity. A cap is in thousandths and a
 * scale in millionths there, cut to whole ones. `exact`: numbers that are not
 * whole have all their digits, and a mask from a file the hash of its bits: two
 * identities have two names, so records are found by them. */
TaskKey task_key(Arena *a, const TaskIdentity *t, bool exact);

typedef struct { /* a task of a plan */
    TaskIdentity is;
    TaskKey key;     /* of its records: exact */
    TaskKey name;    /* for people: exact only if another task's is the same */
    int node;        /* the first that needs it; -1: TaskSplit */
    Tiling tiling;   /* every parameter that it has, settled */
    Tiling defaults; /* the same as the tool would choose */
    TilingFrom from;
} Task;

/* Tilings that were found to be best; what is not among them is as the tool
 * chooses. */
typedef struct {
    TaskKey key;
    Tiling tiling;
} Choice;
typedef struct {
    const Choice *at;
    int n;
    const char *host; /* where: machine, threads, compiler */
} Choices;

/* ---- plan.c ---- */
typedef struct { /* c0 + a*rows + b*sequences + c*parts */
    int64_t c0, rows, sequences, parts;
} AffineSize;

typedef enum {
    PlaceNone,
    PlaceArena,
    PlaceView,
    PlacePacked,
    PlaceCache,
    PlaceInput,
    PlaceOutput
} Place;

typedef struct { /* where a node's value lives */
    Place place;
    int base;            /* PlaceView: the node that owns the memory */
    int64_t column;      /* PlaceView: first column in its rows */
    int64_t stride;      /* floats from row to row */
    int64_t times;       /* such rows for each of the batch's */
    int64_t head_stride; /* rank 3: floats from head to head of a row */
    int slot;            /* PlaceArena: index into Plan.slot */
    const char *name;    /* PlaceArena: what emitted C calls it */
} Value;

typedef struct {       /* packed weights that are read as one */
    int root;          /* Const node: Weight, Scale, Stack ..;
                          negative: ALiBi's table, no node */
    int reader;        /* biases: a node that adds them */
    int64_t distances; /* biases: the longest sequence; else 0 */
    PackLayout layout;
    Dtype dtype;
    int64_t columns, k; /* [k, columns] panels, [rows, k] rows, [k] */
    int64_t at, bytes;  /* in the packed weights */
    Stack stack;
    int layer;
    int same;              /* the first block of the same weights, which
                              is packed: layers may share theirs */
    const char *field;     /* name in the emitted struct of weights */
    int of_root, of_layer; /* the next one of the same; -1: none */
} Block;

typedef struct { /* blocks of one layer, in their order */
    Stack stack;
    int layer;
    int first, last; /* of the list by Block.of_layer */
} LayerBlocks;

typedef struct {     /* who reads a value, by place in the order */
    int first, last; /* -1: nobody; the order's end: after the call
                        too */
    bool elsewhere;  /* by another layer than its own */
} Reads;

/* What one slot of the arena is measured in. */
typedef enum {
    SlotRows,
    SlotPages,
    SlotParts,
    SlotSequences,
    SlotRoutes /* rows, and a few numbers beside them */
} SlotKind;

typedef struct { /* arena memory, reused by values in turn */
    SlotKind kind;
    Entry entry;
    int64_t unit;   /* floats of a row, a page or a part */
    int64_t fixed;  /* beside them */
    int64_t stride; /* of the last value that was put there; of rows that
                       lie by expert it is negative */
    bool stream;    /* holds what goes from layer to layer */
    int until;      /* last place in order that reads it */
    AffineSize at;  /* floats from the arena's start */
} Slot;

typedef struct {      /* one function of the emitted file */
    int first, count; /* into Plan.order: nodes it computes */
    bool by_rows;     /* each of them goes row by row */
    bool row_block;   /* a block of rows goes through all of them */
    bool undivided;   /* never divided, among threads or in blocks */
    Entry entry;
    const char *name; /* encoder_w1_w2_norm2: no layer in it */
    Stack stack;
    int layer;
} Region;

typedef struct { /* a mask from a file */
    const MaskSpec *is;
    uint64_t hash; /* of its bits and their number */
} FileMask;

typedef struct Plan Plan;
struct Plan {
    const Graph *g;
    Arena *arena_; /* owner of all this */
    Target target;
    Choices choices;    /* tilings that are not the tool's own */
    Value *value;       /* by node */
    const char **label; /* by node that emits code: value_label() */
    Reads *reads;       /* by node that owns memory */
    int *region_of;     /* by node; -1: emits no code */
    VEC(int) order;     /* nodes that emit code, by region */
    VEC(Region) region;
    VEC(Slot) slot;
    /* Slots that values use in turn: none whose value is read after a call. */
    VEC(int) shared;
    /* The first of the values that have one name in one slot, in the order of
     * their making. */
    VEC(int) named;
    VEC(Block) block;
    Index block_weights; /* of those whose weights layers share: the first */
    int *root_blocks;    /* by root + PlanRoots: the first; -1: none */
    VEC(LayerBlocks) layer;
    Index layers;            /* of them, by stack and number */
    AffineSize arena[3];     /* floats, by Entry */
    int64_t scratch;         /* floats of a part for attention tiles */
    bool divided[3];         /* by Entry: is any of its regions? */
    bool rows_divided[3];    /* any that goes by rows? */
    int64_t scan[3];         /* of a sequence for scans, by Entry */
    VEC(Task) task;          /* what is tuned of it (tasks.c) */
    int *task_of[TaskKinds]; /* by node: its place in them; -1: none */
    VEC(FileMask) mask;      /* in the order of their first readers */
    PackList pack;
    struct attn_cache_layout cache[ATTN_CACHES]; /* by Graph.cache */
    int64_t *state_at; /* by node: where its state is in that of its layer */
    int64_t layer_state[2]; /* by CacheSelf ..: floats of a layer's states, one
                               after the other */
    int64_t parameters;     /* elements of the distinct weights */
    bool keep_all;          /* every node's value stays (verify) */
    bool small_m;           /* weights come from memory: products of a
                               small M have loop nests of their own */
    const char *prefix;     /* of emitted symbols */
};
enum { PlanRoots = 3 }; /* no root is below -PlanRoots */
/* keep_all: no value's memory is reused and no region walks row blocks, so
 * that each can be read back after a call.                                  */
Plan *plan_model(Arena *a, const Graph *g, const Target *t, Choices choices,
                 bool keep_all);

/* ---- values.c ---- */
const Node *node_at(const Plan *p, int i);
bool is_product(const Node *n); /* of rows and a weight */
/* The same, or a scan, whose states have one: its weight is input 1. */
bool has_product(const Node *n);
Epilogue epilogue_of(const Plan *p, int product);
int64_t round16(int64_t n);          /* the columns of panels that hold n */
int64_t row_stride(int64_t columns); /* floats from row to row */
Dtype dtype_of(Type t);              /* of weights */
Sym row_sym(Type t);                 /* which rows a value has */
int64_t row_times(Type t); /* and how many for each of them, 1 as a rule */
typedef struct {   /* of a sequence's scan, in floats from one to the next: */
    int64_t state; /* the last state and, as long, the next */
    int64_t cell, sums;
    int64_t all; /* of these, with its place in the order of lengths */
} ScanFloats;
ScanFloats scan_floats(const Plan *p, int node);
int64_t affine_at(AffineSize l, int64_t rows, int64_t sequences, int64_t parts);
/* The node whose memory holds the value of `node`. */
int owner_of(const Plan *p, int node);
/* The packed weights that are read from a root; -1: none. */
int plan_block(const Plan *p, int root, PackLayout layout);
/* Floats of one (layer, head) of a page: its keys, then its values. */
int64_t block_floats(const Plan *p, int cache);
/* Where the two states begin in a page of a cache. */
int64_t states_offset(const Plan *p, int cache);
/* Of a layer in a page, all heads: Node.place counts in these. */
int64_t place_floats(const Plan *p, int cache);

/* ---- value_names.c ---- */
const char *value_label(const Plan *p, int node); /* of what emits code */
const char *step_name(const Plan *p, int node);   /* encoder_ffn_w1 */
/* What the emitted functions of a model of that name begin with, "g2p_en". */
const char *plan_prefix(Arena *a, const char *name);

/* ---- pack.c ---- */

/* The blocks of a layer, of the model where it is -1; NULL: it has none. */
const LayerBlocks *plan_layer(const Plan *p, Stack stack, int layer);
/* The block of biases by distance that a node adds to scores. */
int plan_bias_block(const Plan *p, int node);
int64_t bias_width(const Block *b); /* 2 * longest - 1 distances */

/* ---- tasks.c ---- */

/* The task that a node is a part of; any node, of TaskSplit. NULL: none. */
const Task *plan_task(const Plan *p, TaskKind kind, int node);
/* "6x64", or all that its products have: "6x64 12x32"; `from`: FromTuned
 * where any parameter of any task is. */
const char *plan_tiles(const Plan *p, TilingFrom *from);
Tiling plan_tile(const Plan *p); /* mr, nr, prefetch of products that are no
                                    task: of attention that is not fused */

typedef struct {     /* what a task computes; 0: not of its kind */
    int64_t k, n;    /* x [rows, k], W [n, k] */
    int64_t weights; /* numbers of it, packed, of the key's dtype */
    int64_t d_k, d_v;
    bool bias; /* a product's; of scores, by distance */
    bool residual;
    bool paged;      /* keys by a table of pages; else one after
                        the other */
    bool holes;      /* the mask is a file's */
    int64_t scratch; /* floats, with the task's tiling */
} TaskShape;
TaskShape task_shape(const Plan *p, const Task *t);
/* What a part needs to walk attention, in floats a query of its block: where
 * each of these begins. Each is of all queries, one after the other.        */
typedef struct {
    int64_t outputs; /* behind the scores of a block of keys, at 0 */
    int64_t sums;    /* of softmax, by lane */
    int64_t maxima;
    int64_t end;
} AttentionScratch;
AttentionScratch attention_scratch(int64_t keys, int64_t d_v);
int64_t scratch_floats(int64_t queries, int64_t keys, int64_t d_v);
/* What is 0 becomes what the tool would choose beside what is not; but
 * `small_m`, for which the size of all weights counts. k: of a product's sums.
 */
Tiling tiling_with_defaults(const Target *m, const TaskKey *key, int64_t k,
                            Tiling by);
enum { DefaultPrefetch = 17 };                       /* Tiling.prefetch */
int64_t region_rows(const Plan *p, const Region *r); /* of a block of it */

/* The number of a mask from a file, from 1 on; identity.c. */
int plan_mask(const Plan *p, const MaskSpec *m);

/* ---- step_work.c ---- */
/* FLOPs of a row, or of what takes as long. */
int64_t step_work(const Plan *p, int node);
/* Where fewer rows of a product, or queries of a sequence, take no less time:
 * until there are so many, they wait for the weights, or for the keys.       */
int64_t least_work_rows(const Plan *p);
enum { LeastWorkQueries = 8 };
/* Rows that a part has at least. */
int64_t least_part_rows(const Plan *p, const Region *r);

bool has_entry(const Plan *p, Entry entry); /* some region is of it */

/* ---- fixed.c ---- */

/* Lengths that are constants of the code; 0: any. Of a sequence: */
int64_t plan_length(const Plan *p, Sym s);
int64_t plan_rows(const Plan *p, Sym s); /* of all of them */
bool plan_fixed(const Plan *p);          /* is there one? */
/* In words: "source 16, batch 1"; "": there is none. And what stays a loop. */
const char *plan_fixed_text(const Plan *p);
/* Rows that go through a region at once. */
int64_t region_block(const Plan *p, const Region *r);
bool plan_divided(const Plan *p); /* is any region? */
/* What an entry's arena is measured in, where it is fixed; else 0. */
AffineSize plan_units(const Plan *p, Entry entry);
/* Floats of it, for a batch. */
int64_t plan_floats(const Plan *p, Entry entry, AffineSize batch);
/* Of a product whose rows are fixed: its task's, but where that is the tool's
 * own, tiles that divide the rows.                                          */
Tiling plan_fixed_tiling(const Plan *p, int product);
Tiling plan_tile_of(const Plan *p, int64_t rows, int64_t k, int64_t n);

/* ---- unroll.c ---- */
typedef struct {
    int layers;                /* that an entry goes through */
    int64_t bytes, more, room; /* of code: of the steps; where layers are no
                                  loops; that L1 holds */
    bool fits, written;        /* all; layers, one behind the other */
} PlanCode;
PlanCode plan_code(const Plan *p, Entry entry); /* an estimate */
void plan_code_text(Buffer *b, const Plan *p, Entry entry);

/* ---- arena_layout.c ---- */
/* Of a value that is in the arena: what it needs of its slot. */
AffineSize value_floats(const Plan *p, int node);

/* ---- counted.c ---- */

/* The model, not compiled: its sizes alone, no entries. Its arena_bytes() is
 * that of the plan that was asked for last in this thread.                   */
struct attn_model plan_counted(const Plan *p);

/* ---- plan_report.c ---- */
/* The rows that costs of an entry are told for: 128, or the longest. */
int64_t report_rows(const Plan *p, Entry entry);
typedef struct { /* one call of an entry */
    bool there;
    int64_t rows, keys; /* encode: of report_rows(); decode: one row */
    int64_t flops;
} EntryCosts;
typedef struct {
    int64_t parameters, weights; /* how many numbers; bytes of them, packed */
    /* of one sentence of full length: hypotheses that are followed, bytes of
     * both caches and of the arena */
    int64_t beam, cache[2], arena;
    EntryCosts entry[EntryDecode + 1];
} PlanCosts;
PlanCosts plan_costs(const Plan *p);
char *plan_text(Arena *a, const Plan *p); /* attnc plan */
char *plan_json(Arena *a, const Plan *p);
int64_t plan_token_flops(const Plan *p); /* of one row, 128 keys */

#endif
