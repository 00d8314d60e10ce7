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

/* Tasks are the units of tuning. They differ in kind, shape, dtype and
 * epilogue. The comments below give a shape and an epilogue as examples for
 * each kind. */
typedef enum {
    TaskMatmul,    /* a product: "512x2048" (k, n), "bias_relu" */
    TaskSmallM,    /* a product whose x has few rows (M) */
    TaskAttention, /* "64x64" (d_k, d_v), "causal_paged" */
    TaskRows,      /* a block of rows: "512x2048_2048x512" (k, n of each
                      product), "" */
    TaskSplit,     /* division of work among threads: "512x2048x12" (d_model,
                      d_ff, layers), "encode_decode" */
    TaskKinds
} TaskKind;
extern const char *const task_word[TaskKinds]; /* "matmul", "small_m", ... */

#define On(kind) (1 << (kind))
#define OnProducts (On(TaskMatmul) | On(TaskAttention))

typedef struct { /* value of each parameter; 0: the default */
#define PARAMETER(name, ...) int32_t name;
#include "plan/tiling_parameters.h"
#undef PARAMETER
} Tiling;

typedef struct { /* one parameter of a tiling */
    const char *name;
    int tasks; /* On() bits of the kinds of task that have it */
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
/* True if each value is 0 or allowed for a task of kind `kind`. */
bool tiling_valid(const Tiling *t, TaskKind kind);
bool tiling_same(const Tiling *a, const Tiling *b);
/* Returns the parameters that are not 0 as text, e.g. "mr=6 nr=64". */
char *tiling_text(Arena *a, const Tiling *t);

typedef struct { /* name of a task in reports and the tuning database */
    TaskKind kind;
    const char *shape;    /* e.g. "512x2048" */
    const char *epilogue; /* e.g. "bias_relu", for attention "causal_paged" */
    Dtype dtype;
    Arithmetic arithmetic; /* for products: the arithmetic, also part of
                            * `epilogue` */
} TaskKey;
/* Compares two keys of the tuning database. They are exact: equal texts mean
 * equal tasks. */
bool task_same(const TaskKey *a, const TaskKey *b);

/* ---- identity.c ---- */
typedef struct {        /* how attention turns scores into weights */
    MaskSpec mask;      /* the mask, unless it comes from a file */
    int file;           /* number of the mask file (plan_mask()); 0: no file */
    uint64_t file_hash; /* hash of the mask file's contents */
    ScoreType score;
    Normalizer normalizer;
    bool paged, biased, sinks;
    double cap, scale; /* cap of the scores (0: none), and factor */
} AttentionForm;

bool form_same(const AttentionForm *a, const AttentionForm *b);

/* Describes the computation of a task. Tasks with equal members are the same
 * task. */
typedef struct {
    TaskKind kind;
    Dtype dtype;
    const int64_t *size; /* numbers of the shape, e.g. k and n */
    int sizes;
    Epilogue ep;           /* epilogue of a product, without the dtype */
    AttentionForm form;    /* form of attention */
    bool encodes, decodes; /* TaskSplit: true if the model has this entry */
} TaskIdentity;
bool identity_same(const TaskIdentity *a, const TaskIdentity *b);
/* Returns the printed name of an identity. A cap is rounded down to thousandths
 * and a scale to millionths. If `exact` is set, the name has all their digits
 * and the hash of a mask file, so that different identities have different
 * names. */
TaskKey task_key(Arena *a, const TaskIdentity *t, bool exact);

typedef struct { /* one task of a plan */
    TaskIdentity is;
    TaskKey key;     /* exact name, the key in the tuning database */
    TaskKey name;    /* shorter name for people; equal to `key` if two tasks
                        would otherwise share it */
    int node;        /* first node that needs the task; TaskSplit: -1 */
    Tiling tiling;   /* tiling in use; no parameter of its kind is 0 */
    Tiling defaults; /* tiling without tuning */
    TilingFrom from;
} Task;

/* A tiling that the tuner found for a task. */
typedef struct {
    TaskKey key;
    Tiling tiling;
} Choice;
typedef struct {
    const Choice *at;
    int n;
    const char *host; /* machine, threads and compiler with which the tilings
                         were measured */
} Choices;

/* ---- plan.c ---- */
typedef struct { /* a size: c0 + a*rows + b*sequences + c*parts */
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

typedef struct { /* where a node's value is stored */
    Place place;
    int base;       /* PlaceView: the node that owns the memory */
    int64_t column; /* PlaceView: first column within a row of `base` */
    int64_t stride; /* floats between rows */
    int64_t times;  /* rows of the value per row of the batch, normally 1 */
    int64_t head_stride; /* rank 3: floats between heads of a row */
    int slot;            /* PlaceArena: index into Plan.slot */
    const char *name;    /* PlaceArena: its name in emitted C */
} Value;

typedef struct { /* packed weights that a kernel reads as one matrix or
                  * vector */
    int root; /* a Const node; negative for ALiBi's table, which has no node */
    int reader; /* for a table of biases by distance: a node that adds it to
                 * scores */
    int64_t distances; /* for such a table: maximum sequence length; otherwise
                        * 0 */
    PackLayout layout;
    Dtype dtype;
    int64_t columns, k; /* shape: [k, columns] in panels, [rows, k] in rows,
                           [k] as a vector */
    int64_t at, bytes;  /* offset and size in the packed weights */
    Stack stack;
    int layer;
    int same;              /* first block with the same weights; only that one
                            * is packed, because layers may share weights */
    const char *field;     /* name in the emitted struct of weights */
    int of_root, of_layer; /* index of the next block with the same root, and
                              in the same layer; -1: none */
} Block;

typedef struct { /* blocks of one layer */
    Stack stack;
    int layer;
    int first, last; /* ends of a list linked by Block.of_layer */
} LayerBlocks;

typedef struct {     /* readers of a value, as positions in Plan.order */
    int first, last; /* first reader, or -1; last reader, or order.n if the
                        value is also read after the call */
    bool elsewhere;  /* true if another layer reads it */
} Reads;

/* The unit in which a slot of the arena is measured. */
typedef enum {
    SlotRows,
    SlotPages,
    SlotParts,
    SlotSequences,
    SlotRoutes /* rows, and the end of each expert's rows */
} SlotKind;

typedef struct { /* arena memory that several values use in turn */
    SlotKind kind;
    Entry entry;
    int64_t unit;   /* floats per unit: per row, page, part or sequence */
    int64_t fixed;  /* floats that do not depend on the batch */
    int64_t stride; /* row stride of the last value placed here; negative if
                       its rows are sorted by expert */
    bool stream;    /* true if its values pass from layer to layer */
    int until; /* last position in Plan.order that reads the current value */
    AffineSize at; /* offset in the arena, in floats */
} Slot;

typedef struct {      /* nodes computed by one emitted function */
    int first, count; /* its nodes, as a range of Plan.order */
    bool by_rows;     /* every node works row by row */
    bool row_block;   /* blocks of rows pass through all nodes */
    bool undivided;   /* never divided among threads or into blocks */
    Entry entry;
    const char *name; /* e.g. encoder_w1_w2_norm2, without a layer number */
    Stack stack;
    int layer;
} Region;

typedef struct { /* a mask read from a file */
    const MaskSpec *is;
    uint64_t hash; /* hash of its bits and size */
} FileMask;

typedef struct { /* `width` columns of each head, from column `first` on */
    int64_t first, width;
    int64_t heads, key_heads; /* of the attention that reads them */
    bool keys;                /* columns of key heads, not of query heads */
} HeadColumns;
enum { MostHeadColumns = 6 };
typedef struct { /* the columns of a value that a rank needs */
    bool all;    /* also those of other ranks; else: */
    int n;
    HeadColumns of[MostHeadColumns]; /* in order; they do not overlap */
} RankColumns;
typedef struct Plan Plan;
struct Plan {
    const Graph *g;
    Arena *arena_; /* owns all memory of the plan */
    Target target;
    Choices choices;    /* tilings from the tuner */
    Value *value;       /* where each node's value is stored */
    const char **label; /* value_label() of slices and of nodes with code */
    Reads *reads;       /* readers of each node that owns memory */
    int *region_of;     /* index of each node's region; -1: emits no code */
    VEC(int) order;     /* nodes that emit code, in order of execution */
    VEC(Region) region;
    VEC(Slot) slot;
    /* Slots that may be reused: no value in them is read after a call. */
    VEC(int) shared;
    /* First value of each name, in order of execution. */
    VEC(int) named;
    VEC(Block) block;
    Index block_weights; /* weights shared by layers -> their first block */
    int *root_blocks;    /* first block of each root, at index root +
                            PlanRoots; -1: none */
    VEC(LayerBlocks) layer;
    Index layers;        /* (stack, layer number) -> index in `layer` */
    AffineSize arena[3]; /* size in floats, by Entry */
    int64_t scratch;     /* floats that one part needs for tiles of attention */
    bool divided[3];     /* by Entry: true if any region is divided */
    bool rows_divided[3]; /* by Entry: true if any region that works row by row
                           * is divided */
    int64_t scan[3]; /* by Entry: floats per sequence of the largest scan */
    VEC(Task) task;  /* the units of tuning (tasks.c) */
    int *task_of[TaskKinds]; /* index of each node's task, by kind; -1: none */
    VEC(FileMask) mask;      /* mask files, in order of first use */
    PackList pack;
    struct attn_cache_layout cache[ATTN_CACHES]; /* layout of each cache of
                                                    Graph.cache */
    int64_t *state_at;      /* by node: offset of its state within the states of
                             * its layer */
    int64_t layer_state[2]; /* by CacheSelf and CacheCross: floats of a
                               layer's states */
    int64_t parameters;     /* number of distinct weight elements */
    RankColumns *rank_columns; /* [nodes]: what a rank needs; NULL: the model is
                                * not divided */
    bool keep_all;             /* no value is overwritten, so that `attnc
                                  verify` can read each */
    bool small_m;       /* weights are too large for the cache, so products
                         * of few rows have their own loop nests */
    const char *prefix; /* prefix of emitted symbols */
};
enum { PlanRoots = 3 }; /* the lowest root is -PlanRoots */
/* Plans a model. If `keep_all` is set, no memory is reused and no region works
 * in row blocks, so that every value can be read back after a call. */
Plan *plan_model(Arena *a, const Graph *g, const Target *t, Choices choices,
                 bool keep_all);

/* ---- values.c ---- */
const Node *node_at(const Plan *p, int i);
bool is_product(const Node *n); /* true for rows times a weight */
/* True if heads are independent, and each gives some columns of the result. */
bool gives_heads(const Node *n);
/* True for a product, and for a scan, which multiplies its states by a weight
 * (input 1). */
bool has_product(const Node *n);
Epilogue epilogue_of(const Plan *p, int product);
int64_t round16(int64_t n);          /* rounds up to full panels */
int64_t row_stride(int64_t columns); /* returns the floats between rows */
Dtype dtype_of(Type t);              /* returns the format of weights */
Sym row_sym(Type t);       /* returns the symbol for a value's number of rows */
int64_t row_times(Type t); /* returns a value's rows per row of that symbol;
                            * normally 1 */
typedef struct {           /* sizes of a sequence's scan, in floats */
    int64_t state;         /* one state; a scan keeps the last and the next */
    int64_t cell, sums;
    int64_t all; /* total, including the sequence's rank by length */
} ScanFloats;
ScanFloats scan_floats(const Plan *p, int node);
int64_t affine_at(AffineSize l, int64_t rows, int64_t sequences, int64_t parts);
/* Returns the node whose memory holds the value of `node`. */
int owner_of(const Plan *p, int node);
/* Returns the block of a root in the given layout; -1: none. */
int plan_block(const Plan *p, int root, PackLayout layout);
/* Returns the floats that a head's keys take up in a page. */
int64_t keys_floats(const Plan *p, int cache);
/* Returns the floats of a block's scales of keys, or of values, in int8. */
int64_t scales_floats(const Plan *p, int cache);
/* Returns the floats of the largest head in a page, in f32, if a cache has
 * another format, else 0. */
int64_t widened_floats(const Plan *p);
/* Returns the floats per head and layer in a page: keys, then values. */
int64_t block_floats(const Plan *p, int cache);
/* Returns the floats of a page of a cache. */
int64_t page_floats(const Plan *p, int cache);
/* Returns the offset of the two states within a page of a cache. */
int64_t states_offset(const Plan *p, int cache);
/* Returns the floats of all heads of one layer in a page. Node.place counts in
 * these units. */
int64_t place_floats(const Plan *p, int cache);

/* ---- value_names.c ---- */
const char *value_label(const Plan *p, int node); /* for a node that emits
                                                   * code */
const char *step_name(const Plan *p, int node);   /* e.g. encoder_ffn_w1 */
/* Returns the prefix of a model's emitted functions, e.g. "g2p_en". */
const char *plan_prefix(Arena *a, const char *name);

/* ---- pack.c ---- */

/* Returns the blocks of a layer, or of the model if `layer` is -1. NULL if
 * there are none. */
const LayerBlocks *plan_layer(const Plan *p, Stack stack, int layer);
/* Returns the block of the biases by distance that a node adds to its
 * scores. */
int plan_bias_block(const Plan *p, int node);
int64_t bias_width(const Block *b); /* number of distances: 2 * longest - 1 */

/* ---- tasks.c ---- */

/* Returns the task of this kind to which a node belongs; NULL: none. */
const Task *plan_task(const Plan *p, TaskKind kind, int node);
/* True if AMX computes this product of many rows, if the system allows it. */
bool amx_multiplies(const Plan *p, int node);
/* Returns the panels that it multiplies at once: 2, or fewer if unpacked copies
 * of them are too large. */
int amx_panels(Dtype d, int64_t k);
bool plan_has_amx(const Plan *p); /* true if the plan has such products */
/* Returns the distinct tile sizes of all products, e.g. "6x64 12x32". Sets
 * *from to FromTuned if any task was tuned. */
const char *plan_tiles(const Plan *p, TilingFrom *from);
/* Returns mr, nr and prefetch for the products of unfused attention, which
 * belong to no task. */
Tiling plan_tile(const Plan *p);

typedef struct {     /* sizes of a task; 0 if they do not apply to its kind */
    int64_t k, n;    /* sizes of a product: x [rows, k], W [n, k] */
    int64_t weights; /* number of packed weights, in TaskKey.dtype */
    int64_t d_k, d_v;
    bool bias; /* a product adds a bias, or attention adds biases by distance */
    bool residual;
    bool paged;      /* keys are read through a page table */
    bool holes;      /* the mask comes from a file */
    int64_t scratch; /* scratch floats per part with the task's tiling */
} TaskShape;
TaskShape task_shape(const Plan *p, const Task *t);
/* Offsets of arrays in a part's scratch memory for attention, in floats per
 * query; multiply them by the number of queries in the block. */
typedef struct {
    int64_t outputs; /* offset after the scores of a block of keys */
    int64_t sums;    /* softmax sums, one per lane */
    int64_t maxima;
    int64_t end;
} AttentionScratch;
AttentionScratch attention_scratch(int64_t keys, int64_t d_v);
int64_t scratch_floats(int64_t queries, int64_t keys, int64_t d_v);
/* Replaces each 0 in `by` by the default that suits the other values, except
 * for small_m, which depends on the size of all weights. `k` is the length of a
 * product's sums. */
Tiling tiling_with_defaults(const Target *m, const TaskKey *key, int64_t k,
                            Tiling by);
enum { DefaultPrefetch = 17 }; /* default of Tiling.prefetch */
int64_t region_rows(const Plan *p, const Region *r); /* rows of a block of r */

/* Returns the number of a mask file, from 1. */
int plan_mask(const Plan *p, const MaskSpec *m);

/* ---- step_work.c ---- */
/* Returns the work of a step per row, in FLOPs or the equivalent time. */
int64_t step_work(const Plan *p, int node);
/* Returns the number of rows below which a product takes no less time, because
 * it waits for its weights. LeastWorkQueries is the same limit for attention,
 * which waits for its keys. */
int64_t least_work_rows(const Plan *p);
enum { LeastWorkQueries = 8 };
/* Returns the minimum number of rows per part. */
int64_t least_part_rows(const Plan *p, const Region *r);

bool has_entry(const Plan *p, Entry entry); /* true if the entry has regions */

/* ---- fixed.c ---- */

/* Returns the length that is compiled in for a symbol; 0: not fixed. */
int64_t plan_length(const Plan *p, Sym s);
int64_t plan_rows(const Plan *p, Sym s); /* that length times the number of
                                          * sequences */
bool plan_fixed(const Plan *p);          /* true if any length is fixed */
/* Returns e.g. "source 16, batch 1"; "" if no length is fixed. */
const char *plan_fixed_text(const Plan *p);
/* Returns the number of rows that pass through a region at once. */
int64_t region_block(const Plan *p, const Region *r);
bool plan_divided(const Plan *p); /* true if any region is divided */
/* Returns the compiled-in rows, sequences and parts of an entry's batch; 0 for
 * each that is not fixed. */
AffineSize plan_units(const Plan *p, Entry entry);
/* Returns the floats of an entry's arena for a batch. */
int64_t plan_floats(const Plan *p, Entry entry, AffineSize batch);
/* Returns the tiling of a product with a fixed number of rows: the tuned tiling
 * of its task or, without one, a tiling whose tiles have nearly equal
 * heights. */
Tiling plan_fixed_tiling(const Plan *p, int product);
Tiling plan_tile_of(const Plan *p, int64_t rows, int64_t k, int64_t n);

/* ---- unroll.c ---- */
typedef struct {
    int layers;                /* number of layers in the entry */
    int64_t bytes, more, room; /* bytes of the steps' code, of the code added by
                                * unrolling, and of the L1 cache */
    bool fits, written;        /* true if L1 holds the unrolled code; true if
                                  layers are unrolled */
} PlanCode;
PlanCode plan_code(const Plan *p, Entry entry); /* estimates an entry's code */
void plan_code_text(Buffer *b, const Plan *p, Entry entry);

/* ---- arena_layout.c ---- */
/* Returns the floats that a value needs in its slot. */
AffineSize value_floats(const Plan *p, int node);

/* ---- rank_columns.c ---- */

/* Returns the columns of each node's value [nodes] that a rank needs, if
 * `ranks` divide the model. */
RankColumns *plan_rank_columns(const Plan *p, int64_t ranks);
/* Returns the columns of its rows that a rank multiplies, if the ranks add the
 * sums of a product; NULL: each multiplies entire rows. For the Quantize node
 * of an integer product, the columns that a rank quantises. */
const HeadColumns *rank_terms(const Plan *p, const RankColumns *need, int node);
/* True if the node is a product whose sums the ranks add, or the Quantize node
 * of an integer product. Sums of integers are in the product's rows before they
 * become floats: those of int15's lower bits in the second half of a row. */
bool adds_terms(const Plan *p, int node);
/* True if the ranks gather the columns of a node's result. */
bool ranks_gather(const Plan *p, const RankColumns *need, int node);

/* ---- counted.c ---- */

/* Returns an attn_model with the sizes of the plan but without code. Its
 * arena_bytes() uses the plan that this thread last passed here. */
struct attn_model plan_counted(const Plan *p);

/* ---- plan_report.c ---- */
/* Returns the number of rows, at most 128, for which an entry's costs are
 * reported. */
int64_t report_rows(const Plan *p, Entry entry);
typedef struct { /* costs of one call of an entry */
    bool there;
    int64_t rows, keys; /* `rows`: report_rows() for encode, 1 for decode */
    int64_t flops;
} EntryCosts;
typedef struct {
    int64_t parameters, weights; /* number of weights; bytes of packed
                                  * weights */
    /* for one sentence of full length: open hypotheses, bytes of each cache and
     * of the arena */
    int64_t beam, cache[2], arena;
    EntryCosts entry[EntryDecode + 1];
} PlanCosts;
PlanCosts plan_costs(const Plan *p);
char *plan_text(Arena *a, const Plan *p); /* the report of `attnc plan` */
char *plan_json(Arena *a, const Plan *p);
int64_t plan_token_flops(const Plan *p); /* FLOPs of one row with 128 keys */

#endif
