/* plan.h: all decisions made before code is emitted: where values live, how
 * weights are packed, which ops form one function, and how each task is tiled
 * and divided.
 *
 * In:  a lowered Graph, a Target, and tilings that the tuner found (Choices).
 * Out: a Plan, and its costs as text and JSON.
 * Other public headers: epilogue.h. The parameters of a tiling are listed in
 * tiling_parameters.h. */
#ifndef ATTNC_PLAN_H
#define ATTNC_PLAN_H

#include "graph/graph.h"
#include "machine/target.h"
#include "plan/epilogue.h"

/* ---- tiling.c ---- */

/* Tasks are the units of tuning. They differ by kind, shape, dtype and
 * epilogue. */
typedef enum {
    TaskMatmul,    /* a product: "512x2048" (k, n), "bias_relu" */
    TaskSmallM,    /* the same with few rows of x (M) */
    TaskAttention, /* "64x64" (d_k, d_v), "causal_paged" */
    TaskRows,      /* row blocks: "512x2048_2048x512", "" */
    TaskSplit,     /* work among threads: "encode_decode"; "512x2048x12":
                      d_model, d_ff, layers */
    TaskKinds
} TaskKind;
extern const char *const task_word[TaskKinds]; /* "matmul", "small_m" and so
                                                  on */

#define On(kind) (1 << (kind))
#define OnProducts (On(TaskMatmul) | On(TaskAttention))

typedef struct { /* value of each parameter; 0: the default */
#define PARAMETER(name, ...) int32_t name;
#include "plan/tiling_parameters.h"
#undef PARAMETER
} Tiling;

typedef struct { /* one parameter, as text and as numbers */
    const char *name;
    int tasks; /* On() of the kinds that have it */
    int32_t least, most, step;
    const char *text;
    size_t at; /* offset in a Tiling */
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
/* True if each value is 0 or allowed for a task of that kind. */
bool tiling_valid(const Tiling *t, TaskKind kind);
bool tiling_same(const Tiling *a, const Tiling *b);
/* Returns the values that are not 0, e.g. "mr=6 nr=64". */
char *tiling_text(Arena *a, const Tiling *t);

typedef struct { /* name of a task in reports and the tuning database */
    TaskKind kind;
    const char *shape;    /* "512x2048" */
    const char *epilogue; /* "bias_relu"; of attention e.g. "causal_paged" */
    Dtype dtype;
    Arithmetic arithmetic; /* a product's; its epilogue names it too */
} TaskKey;
/* Compares keys of the tuning database. These are exact, so equal texts mean
 * equal tasks. */
bool task_same(const TaskKey *a, const TaskKey *b);

/* ---- identity.c ---- */
typedef struct {   /* how a function of attention turns scores into weights */
    MaskSpec mask; /* without a file */
    int file;      /* plan_mask() of a mask file; 0: none */
    uint64_t file_hash; /* hash of the file's contents */
    bool paged, additive, sigmoid, biased, sinks;
    double cap, scale; /* cap 0: none */
} AttentionForm;

bool form_same(const AttentionForm *a, const AttentionForm *b);

/* Describes what a task computes. Two tasks with equal members are the same. */
typedef struct {
    TaskKind kind;
    Dtype dtype;
    const int64_t *size; /* the numbers of its shape */
    int sizes;
    Epilogue ep;           /* a product's; its dtype is above */
    AttentionForm form;    /* attention's */
    bool encodes, decodes; /* TaskSplit: entries that the model has */
} TaskIdentity;
bool identity_same(const TaskIdentity *a, const TaskIdentity *b);
/* Returns the printed name of an identity. Caps are cut to whole thousandths
 * and scales to whole millionths. `exact` prints all digits, and a mask file's
 * hash, so that different identities have different names. */
TaskKey task_key(Arena *a, const TaskIdentity *t, bool exact);

typedef struct { /* one task of a plan */
    TaskIdentity is;
    TaskKey key;     /* key in the tuning database: exact */
    TaskKey name;    /* name for people: exact only if another's would be the
                        same */
    int node;        /* the first that needs it; TaskSplit: -1 */
    Tiling tiling;   /* all its parameters, none 0 */
    Tiling defaults; /* the same without tuning */
    TilingFrom from;
} Task;

/* Tilings found by the tuner. Tasks without one use defaults. */
typedef struct {
    TaskKey key;
    Tiling tiling;
} Choice;
typedef struct {
    const Choice *at;
    int n;
    const char *host; /* machine, threads and compiler they were measured
                         with */
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
    int64_t times;       /* such rows for each row of the batch */
    int64_t head_stride; /* rank 3: floats between heads of a row */
    int slot;            /* PlaceArena: index into Plan.slot */
    const char *name;    /* PlaceArena: its name in emitted C */
} Value;

typedef struct { /* packed weights that are read as one */
    int root;    /* a Const node; negative: ALiBi's table, which has no node */
    int reader;  /* biases: a node that adds it */
    int64_t distances; /* biases: longest sequence; else 0 */
    PackLayout layout;
    Dtype dtype;
    int64_t columns, k; /* panels: [k, columns], rows: [rows, k], vector: [k] */
    int64_t at, bytes;  /* offset and size in the packed weights */
    Stack stack;
    int layer;
    int same;              /* first block with the same weights, the only one
                              packed (layers may share them) */
    const char *field;     /* name in the emitted struct of weights */
    int of_root, of_layer; /* next block of the same root or layer; -1: none */
} Block;

typedef struct { /* blocks of one layer */
    Stack stack;
    int layer;
    int first, last; /* a list linked by Block.of_layer */
} LayerBlocks;

typedef struct {     /* readers of a value, as positions in Plan.order */
    int first, last; /* first -1: no readers; last the order's end: read
                        after the call */
    bool elsewhere;  /* a layer other than its own reads it */
} Reads;

/* The unit of a slot of the arena. */
typedef enum {
    SlotRows,
    SlotPages,
    SlotParts,
    SlotSequences,
    SlotRoutes /* rows, and a few numbers per expert */
} SlotKind;

typedef struct { /* arena memory used by several values in turn */
    SlotKind kind;
    Entry entry;
    int64_t unit;   /* floats of a row, page or part */
    int64_t fixed;  /* floats in addition */
    int64_t stride; /* of the last value placed there; negative if its rows
                       are sorted by expert */
    bool stream;    /* its values pass from layer to layer */
    int until;      /* last position in the order that reads it */
    AffineSize at;  /* floats from the arena's start */
} Slot;

typedef struct {      /* one function of the emitted file */
    int first, count; /* its nodes, as a range of Plan.order */
    bool by_rows;     /* each node works row by row */
    bool row_block;   /* a block of rows passes through all nodes */
    bool undivided;   /* not divided among threads or into blocks */
    Entry entry;
    const char *name; /* e.g. encoder_w1_w2_norm2, without a layer number */
    Stack stack;
    int layer;
} Region;

typedef struct { /* a mask read from a file */
    const MaskSpec *is;
    uint64_t hash; /* hash of its bits and size */
} FileMask;

typedef struct Plan Plan;
struct Plan {
    const Graph *g;
    Arena *arena_; /* owns all of this */
    Target target;
    Choices choices;    /* tilings from the tuner */
    Value *value;       /* by node */
    const char **label; /* by node that emits code: value_label() */
    Reads *reads;       /* by node that owns memory */
    int *region_of;     /* by node; -1: emits no code */
    VEC(int) order;     /* nodes that emit code, by region */
    VEC(Region) region;
    VEC(Slot) slot;
    /* Slots that may be reused: no value in them is read after a call. */
    VEC(int) shared;
    /* The first value of each name in each slot, in order of execution. */
    VEC(int) named;
    VEC(Block) block;
    Index block_weights; /* weights shared by layers -> their first block */
    int *root_blocks;    /* by root + PlanRoots: its first block; -1: none */
    VEC(LayerBlocks) layer;
    Index layers;            /* (stack, number) -> layer */
    AffineSize arena[3];     /* floats, by Entry */
    int64_t scratch;         /* floats of a part for tiles of attention */
    bool divided[3];         /* by Entry: true if any region is divided */
    bool rows_divided[3];    /* the same for regions that work row by row */
    int64_t scan[3];         /* by Entry: floats of one sequence's scan */
    VEC(Task) task;          /* the units of tuning (tasks.c) */
    int *task_of[TaskKinds]; /* by node: index of its task; -1: none */
    VEC(FileMask) mask;      /* in the order of their first use */
    PackList pack;
    struct attn_cache_layout cache[ATTN_CACHES]; /* by Graph.cache */
    int64_t *state_at; /* by node: offset of its state within its layer's */
    int64_t layer_state[2]; /* by CacheSelf and CacheCross: floats of one
                               layer's states */
    int64_t parameters;     /* elements of the distinct weights */
    bool keep_all;          /* no value is overwritten (verify) */
    bool small_m;           /* weights come from memory, so products of few
                               rows have their own loops */
    const char *prefix;     /* prefix of emitted symbols */
};
enum { PlanRoots = 3 }; /* roots are at least -PlanRoots */
/* Plans a model. keep_all: no memory is reused and no region works in row
 * blocks, so that every value can be read back after a call. */
Plan *plan_model(Arena *a, const Graph *g, const Target *t, Choices choices,
                 bool keep_all);

/* ---- values.c ---- */
const Node *node_at(const Plan *p, int i);
bool is_product(const Node *n); /* rows times a weight */
/* True for a product or a scan, which multiplies its states; its weight is
 * input 1. */
bool has_product(const Node *n);
Epilogue epilogue_of(const Plan *p, int product);
int64_t round16(int64_t n);          /* rounded up to full panels */
int64_t row_stride(int64_t columns); /* floats between rows */
Dtype dtype_of(Type t);              /* format of weights */
Sym row_sym(Type t);                 /* the rows that a value has */
int64_t row_times(Type t); /* and how often it has each, normally once */
typedef struct {           /* sizes in floats of a sequence's scan */
    int64_t state;         /* the last state and the next one */
    int64_t cell, sums;
    int64_t all; /* all of the above, and the sequence's place in the order
                    of lengths */
} ScanFloats;
ScanFloats scan_floats(const Plan *p, int node);
int64_t affine_at(AffineSize l, int64_t rows, int64_t sequences, int64_t parts);
/* Returns the node whose memory holds the value of `node`. */
int owner_of(const Plan *p, int node);
/* Returns the block of a root in this layout; -1: none. */
int plan_block(const Plan *p, int root, PackLayout layout);
/* Returns the floats of a page for one head of one layer: keys, then values. */
int64_t block_floats(const Plan *p, int cache);
/* Returns the offset of the two states in a page of a cache. */
int64_t states_offset(const Plan *p, int cache);
/* Returns the floats of a page for one layer, all heads; the unit of
 * Node.place. */
int64_t place_floats(const Plan *p, int cache);

/* ---- value_names.c ---- */
const char *value_label(const Plan *p, int node); /* of a node that emits
                                                     code */
const char *step_name(const Plan *p, int node);   /* e.g. encoder_ffn_w1 */
/* Returns the prefix of a model's emitted functions, e.g. "g2p_en". */
const char *plan_prefix(Arena *a, const char *name);

/* ---- pack.c ---- */

/* Returns the blocks of a layer, or of the model if it is -1; NULL: none. */
const LayerBlocks *plan_layer(const Plan *p, Stack stack, int layer);
/* Returns the block of biases by distance that a node adds to scores. */
int plan_bias_block(const Plan *p, int node);
int64_t bias_width(const Block *b); /* the distances: 2 * longest - 1 */

/* ---- tasks.c ---- */

/* Returns the task that a node belongs to; NULL: none. TaskSplit ignores the
 * node. */
const Task *plan_task(const Plan *p, TaskKind kind, int node);
/* Returns the tile sizes of all products, e.g. "6x64 12x32". Sets *from to
 * FromTuned if any parameter of any task was tuned. */
const char *plan_tiles(const Plan *p, TilingFrom *from);
/* Returns mr, nr and prefetch for products that are no task: those of unfused
 * attention. */
Tiling plan_tile(const Plan *p);

typedef struct {     /* sizes of a task; 0 if not of its kind */
    int64_t k, n;    /* x [rows, k], W [n, k] */
    int64_t weights; /* how many, packed, in the key's dtype */
    int64_t d_k, d_v;
    bool bias; /* a product's bias, or attention's bias by distance */
    bool residual;
    bool paged;      /* keys are read through a table of pages */
    bool holes;      /* the mask is from a file */
    int64_t scratch; /* floats needed with the task's tiling */
} TaskShape;
TaskShape task_shape(const Plan *p, const Task *t);
/* Offsets in a part's scratch for attention, in floats per query of its block.
 * Each array covers all queries of the block. */
typedef struct {
    int64_t outputs; /* after the scores of a block of keys */
    int64_t sums;    /* sums of softmax, for each lane */
    int64_t maxima;
    int64_t end;
} AttentionScratch;
AttentionScratch attention_scratch(int64_t keys, int64_t d_v);
int64_t scratch_floats(int64_t queries, int64_t keys, int64_t d_v);
/* Replaces each 0 by the default that suits the other values. small_m is left
 * alone, because it depends on the size of all weights. k: length of a
 * product's sums. */
Tiling tiling_with_defaults(const Target *m, const TaskKey *key, int64_t k,
                            Tiling by);
enum { DefaultPrefetch = 17 }; /* default of Tiling.prefetch */
int64_t region_rows(const Plan *p, const Region *r); /* rows of its blocks */

/* Returns the number of a mask file, from 1; identity.c. */
int plan_mask(const Plan *p, const MaskSpec *m);

/* ---- step_work.c ---- */
/* Returns the work of a row, in FLOPs or their equivalent in time. */
int64_t step_work(const Plan *p, int node);
/* Returns the number of rows below which a product takes no less time, because
 * it waits for its weights. LeastWorkQueries is the same for attention, which
 * waits for the keys. */
int64_t least_work_rows(const Plan *p);
enum { LeastWorkQueries = 8 };
/* Returns the least rows worth giving to a part. */
int64_t least_part_rows(const Plan *p, const Region *r);

bool has_entry(const Plan *p, Entry entry); /* any region belongs to it */

/* ---- fixed.c ---- */

/* Returns the compiled-in length of a sequence; 0: not fixed. */
int64_t plan_length(const Plan *p, Sym s);
int64_t plan_rows(const Plan *p, Sym s); /* the same for all sequences */
bool plan_fixed(const Plan *p);          /* true if any length is */
/* Returns e.g. "source 16, batch 1"; "" if no length is fixed. */
const char *plan_fixed_text(const Plan *p);
/* Returns the rows that pass through a region at once. */
int64_t region_block(const Plan *p, const Region *r);
bool plan_divided(const Plan *p); /* true if any region is */
/* Returns the compiled-in sizes of an entry's batch; 0 for each that is not
 * fixed. */
AffineSize plan_units(const Plan *p, Entry entry);
/* Returns the floats of an entry's arena for a batch. */
int64_t plan_floats(const Plan *p, Entry entry, AffineSize batch);
/* Returns the tiling of a product with fixed rows: its task's if tuned,
 * otherwise tiles that divide the rows. */
Tiling plan_fixed_tiling(const Plan *p, int product);
Tiling plan_tile_of(const Plan *p, int64_t rows, int64_t k, int64_t n);

/* ---- unroll.c ---- */
typedef struct {
    int layers;                /* layers of the entry */
    int64_t bytes, more, room; /* code of the steps; added by unrolling;
                                  held by L1 */
    bool fits, written;        /* all of it fits; layers are unrolled */
} PlanCode;
PlanCode plan_code(const Plan *p, Entry entry); /* an estimate */
void plan_code_text(Buffer *b, const Plan *p, Entry entry);

/* ---- arena_layout.c ---- */
/* Returns the memory that a value needs in its slot. */
AffineSize value_floats(const Plan *p, int node);

/* ---- counted.c ---- */

/* Returns the model with sizes but no entries. Its arena_bytes() uses the plan
 * last passed here by this thread. */
struct attn_model plan_counted(const Plan *p);

/* ---- plan_report.c ---- */
/* Returns the rows for which an entry's costs are reported: at most 128. */
int64_t report_rows(const Plan *p, Entry entry);
typedef struct { /* costs of one call of an entry */
    bool there;
    int64_t rows, keys; /* encode: report_rows(); decode: one row */
    int64_t flops;
} EntryCosts;
typedef struct {
    int64_t parameters, weights; /* count of weights; their packed bytes */
    /* for one sentence of full length: hypotheses in the beam, bytes of both
     * caches and of the arena */
    int64_t beam, cache[2], arena;
    EntryCosts entry[EntryDecode + 1];
} PlanCosts;
PlanCosts plan_costs(const Plan *p);
char *plan_text(Arena *a, const Plan *p); /* for `attnc plan` */
char *plan_json(Arena *a, const Plan *p);
int64_t plan_token_flops(const Plan *p); /* for one row and 128 keys */

#endif
