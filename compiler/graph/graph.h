/* graph.h: the op graph: what a model computes, one node an operation.
 *
 * Letters, fixed for all files: n source rows, t new target rows, p rows that
 * are in the cache already, r selected rows; d_model, h, d_k, d_v, d_ff as in
 * the paper; M N K of a product.
 *
 * In:  a Spec.
 * Out: a Graph, each node with its shape; its text, and as dot; what breaks a
 *      rule of the ops is found by check_graph().
 * Public beside it: ops.h.                                                  */
#ifndef ATTNC_GRAPH_H
#define ATTNC_GRAPH_H

#include "spec/spec.h"

/* ---- graph.c ---- */
typedef enum {
#define OP(name, ...) Op##name,
#include "graph/ops.h"
    OpCount,
    OpNop /* a removed node; graph_sweep drops it */
} Op;

typedef enum {
    ClassConst,
    ClassSource,
    ClassView,
    ClassRow,
    ClassPosition,
    ClassHead,
    ClassState,
    ClassSink
} OpClass;

typedef enum {
    InPlaceNo,
    InPlaceElements,
    InPlaceRows,
    InPlaceResidual
} InPlace;

typedef struct { /* what a row of ops.h says to all rooms */
    const char *name;
    int least, most; /* inputs */
    OpClass op_class;
    const char *formula;
    InPlace in_place;
    bool whole;     /* can its code be emitted without parts? */
    int code_bytes; /* of it, about */
} OpInfo;
extern const OpInfo op_info[OpCount];

typedef enum { EntryNone /* Const nodes */, EntryEncode, EntryDecode } Entry;

/* Where a node is: StackCross makes keys and values of the source for the
 * decoder's layers.                                                         */
typedef enum {
    StackNone,
    StackEncoder,
    StackCross,
    StackDecoder,
    Stacks
} Stack;
extern const char *const stack_name[Stacks]; /* "", "encoder" .. */
typedef enum {
    SublayerNone,
    SublayerSelf,
    SublayerRecurrent,
    SublayerConvolution,
    SublayerCross,
    SublayerFfn,
    Sublayers
} Sublayer;
extern const char *const sublayer_name[Sublayers]; /* "", "self_attn" .. */

/* What an Input is, as a member of struct attn_batch. */
typedef enum {
    BatchIds,
    BatchTypes,
    BatchInput /* rows of numbers */,
    BatchQuery,
    BatchKey,
    BatchValue /* kind attention */
} BatchMember;

/* A dimension: a constant, or the length of a set of rows. */
typedef enum {
    SymNone, /* constant */
    SymN,    /* "n"   source rows (encode); rows of an encoder */
    SymT,    /* "t"   new target rows (decode) */
    SymPT,   /* "p+t" cached and new target rows */
    SymR,    /* "r"   selected rows */
    SymM,    /* "m"   key rows of kind attention */
    SymS,    /* "s"   sequences */
    Syms
} Sym;
extern const char *const sym_name[Syms]; /* graph_print.c */
typedef struct {                         /* c: constant, or the bound */
    int64_t c;
    Sym sym;
    int64_t times; /* of the set's rows, each as often: choices of
                      experts; 0: no such rows */
    int64_t fixed; /* the length where it is a constant of the code; else 0 */
} Dim;
typedef enum {
    ElemF32,
    ElemI32,
    ElemBf16, /* weights: this, and the next three */
    ElemInt8,
    ElemInt4,
    ElemInt4g64,
    ElemQ8, /* activations of a row as integers, with its scale */
    ElemQ15
} Elem;
Dtype elem_dtype(Elem e); /* of weights; of others DtypeF32 */
Elem dtype_elem(Dtype d);
/* Of products of such activations. */
Arithmetic elem_arithmetic(Elem e);
Elem arithmetic_elem(Arithmetic a);
typedef struct {
    Elem elem;
    int rank;
    Dim dim[3];
} Type;

enum { InRoutes = 4 /* of a Linear by experts */ };
enum { MaxIn = 6, CacheSelf = 0, CacheCross = 1 };
enum { PartKey, PartValue, PartQuery };

typedef struct { /* one operation and the tensor it makes */
    Op op;
    Entry entry;
    Type type;          /* set by shape.c */
    int in[MaxIn], nin; /* earlier nodes, by index; -1: absent */
    const char *name;   /* unique: encoder.0.self_attn.q.weight */
    const char *word;   /* of it, in its place: "q"; "q.bias" */
    Stack stack;
    int layer;           /* in its stack; -1: outside the layers */
    Sublayer sublayer;   /* of its layer */
    bool outside_layers; /* outside the layers, and named after the
                         stack: encoder.norm */
    bool keep;           /* asked for by --tap: passes leave it alone */
    Pos pos;             /* the YAML key this came from */
    /* attributes; the op that uses each: */
    int readers;      /* Weight: bits of ReadBy, of a matrix */
    int64_t parts;    /* Weight: tensors of a file that it is made of, {e}
                         in its name being their number; 0: one */
    double scale;     /* Scale, Embed, Attention, Weigh */
    double cap;       /* Softcap, Clip, Attention; 0: none */
    double eps;       /* Norm, AddNorm, HeadNorm, L2Norm */
    NormType norm;    /* Norm, AddNorm, HeadNorm */
    int64_t heads;    /* Split, Rotate, HeadNorm, Attention, Join */
    int64_t heads_kv; /* Attention: of keys and values; Join: of b, 1 or
                         all */
    int64_t first;    /* Slice: first column; Position, Embed: row of
                         the table for position 0; Taps, Depthwise: row
                         of tap 0 for row 0; Patches: the first that
                         is one */
    int64_t taps;     /* Taps, Depthwise; Weight: the file has those of a
                         column one after the other; 0: none */
    int64_t dilation; /* Taps, Depthwise: rows from tap to tap */
    int64_t stride;   /* Taps: and from a result's row to the next's; 0: 1 */
    int64_t frames;   /* Taps: rows that one of the input has side by side;
                         0: 1 */
    int64_t skipped;  /* Taps: rows of the input, or frames of them, that
                         stand in front of a sequence's own: read as zeros */
    int64_t channels, tall, wide; /* Patches: of an image, lines and columns
                                     of a patch */
    int64_t across;               /* Patches: so many are side by side */
    int64_t dims;                 /* Rotate: columns of each head that turn */
    PosLayout layout;             /* Rotate */
    const Spec *spec; /* RotaryTable: of the layers that turn by it */
    BiasKind bias;    /* ScoreBias, Attention */
    double slope;     /* BiasAlibi: all slopes are multiplied by this */
    int64_t buckets, max_distance; /* BiasRelative */
    bool bidirectional;            /* BiasRelative */
    int64_t experts;               /* Routes: of so many */
    int64_t groups, groups_chosen; /* Choose */
    bool group_pairs;              /* Choose: a group's score is the sum of
                                      its best two, not its best */
    bool sinks;                    /* Softmax, Attention: the last input, a
                                      score a head */
    bool additive;                 /* Scores, Attention: the last input but
                                      sinks is v, [heads, d_k] */
    bool sigmoid;                  /* Attention: in the place of softmax */
    bool softmax, normalize;       /* Weigh */
    bool routing;                  /* Matmul, Linear: not of the network, but
                                      for what chooses or weighs parts of it */
    PoolType pool;                 /* Pool */
    CellType cell;                 /* Recurrent */
    bool reversed;                 /* Recurrent: from the last row on */
    bool sourced; /* Recurrent: the last input, whose last state is its first */
    int64_t state; /* floats that it leaves of a sequence for rows to come */
    const MaskSpec *mask;        /* Mask, Attention; NULL: none */
    Activation act;              /* Linear, Activate, Gate, Recurrent */
    bool has_bias, has_residual; /* Linear: in[2] / in[3] is there */
    BatchMember member;          /* Input */
    int cache;                   /* Append, Recall: of Graph.cache */
    int64_t place;               /* Append, Recall: its layer's, of those of
                                    the cache */
    int part;                    /* Append, Recall, PackKv, Rotate: PartKey.. */
} Node;

/* The input that is v of additive scores. */
static inline int score_input(const Node *n)
{
    return n->in[n->nin - 1 - n->sinks];
}

/* Keys and values that are kept from call to call: of the decoder's own rows,
 * of the encoder's. Layers of other forms have caches of their own behind these
 * two.                                                                      */
typedef struct {
    int of; /* CacheSelf, CacheCross */
    CacheForm form;
    int64_t layers; /* 0: it is empty */
} Cache;

typedef struct { /* the nodes that read one */
    int edges;
    int64_t sum; /* of their indices: the reader's own where
                    there is one edge */
} Readers;

typedef struct {
    Arena *arena;
    const Spec *spec;
    VEC(Node) nodes;      /* in execution order; index is identity */
    VEC(Node) swept;      /* memory for the next sweep */
    VEC(Readers) readers; /* by node; graph.c keeps them */
    Cache cache[ATTN_CACHES];
    int caches;
    const char *memory;      /* name of the encoder's last node */
    struct Remarks *remarks; /* of the pass that runs; NULL: nobody asks */
} Graph;

int graph_add(Graph *g, Node n); /* at the end; infers the shape. A pass
                                    sweeps to put it in its place */
/* What changes edges goes through these. */
void graph_set(Graph *g, int node, Node n); /* a node becomes another */
void graph_link(Graph *g, int node, int k, int from); /* its input k */
void graph_remove(Graph *g, int node);
void graph_replace(Graph *g, int old, int new_); /* every read of old by others
                                                    than new_ */
int graph_uses(const Graph *g, int node);        /* number of reading edges */
int graph_sole_reader(const Graph *g, int node); /* index, -1 if not one */
int graph_remove_dead(Graph *g); /* what no result needs; how many */
void graph_sweep(Graph *g);      /* drops OpNop, moves nodes after their inputs,
                                    renumbers */
/* The name of part e of a Weight. */
const char *weight_part(Arena *a, const Node *n, int64_t e);
int graph_result(const Graph *g);                 /* Output of the last entry */
int graph_find(const Graph *g, const char *name); /* -1: none. The
                               encoder's last is "encoder.output" too */
Index graph_names(Arena *a, const Graph *g);      /* of many to be found */
Graph *graph_copy(Arena *a, const Graph *g);
bool same_type(Type a, Type b);
/* Rows of a matrix of weights and its columns; of each of the experts'. */
static inline int64_t matrix_rows(Type w)
{
    return w.dim[w.rank - 2].c;
}
static inline int64_t matrix_columns(Type w)
{
    return w.dim[w.rank - 1].c;
}
/* The Routes by which the rows of a value lie; -1: they are no choices. */
int graph_routes(const Graph *g, int node);
/* Are both of one layer of one stack, or of none of its layers? */
bool same_layer(const Node *a, const Node *b);
/* A name in the place of `n`: "encoder.0.self_attn.q" of "q". */
char *graph_name(Arena *a, const Node *n, const char *word);
/* Another name for a node, in place: ".scaled" behind the one that it has. */
void graph_rename(Graph *g, Node *n, const char *suffix);

/* ---- shape.c ---- */

/* Sets n->type from the inputs. False: they do not fit. What has no inputs
 * brings its type along, a Slice its width.                                  */
bool infer_shape(const Graph *g, Node *n);
Dim rows_of(const Spec *s, Sym sym); /* a length and its bound */

/* Products of a row that a cell makes its state of: 1, 3, 4. */
int cell_gates(CellType cell);

/* ---- flops.c ---- */

/* For `rows` rows of queries, or of anything, and `keys` keys, of which a mask
 * may hide some; multiply and add count as two.                              */
int64_t node_flops(const Graph *g, int node, int64_t rows, int64_t keys);
/* Returns the part of these FLOPs that are sums of products, for rows that see
 * one key each; a tanh among them counts as `tanh`. */
int64_t node_sums(const Graph *g, int node, int64_t rows, int64_t tanh);
/* Returns how many pairs of a query and a visible key a head of this op has. */
int64_t node_pairs(const Graph *g, int node, int64_t rows, int64_t keys);

/* ---- table1.c ---- */
/* What mixes the rows of a sequence in the first layer, by the paper's Table 1:
 * the first encoder layer, where there is one.                              */
typedef struct {
    const char *complexity; /* "n^2 d"; "": nothing mixes rows */
    double operations;      /* that formula's value */
    double sequential;      /* operations of which each waits for the last */
    double path;            /* steps from a row to the one farthest away */
    double flops;           /* counted, of projections and norms too, without
                               the feed-forward network */
} Mixing;
Mixing layer_mixing(const Graph *g, int64_t rows);

/* ---- check_graph.c ---- */
void check_graph(const Graph *g, const char *after); /* die()s when broken */

/* ---- graph_print.c ---- */
extern const char *const pool_word[]; /* by PoolType: "mean" .. */
extern const char *const cell_word[]; /* by CellType: "simple" .. */
typedef enum { GraphText, GraphDot, GraphJson } GraphFormat;
char *print_graph(Arena *a, const Graph *g, GraphFormat format);
char *print_node(Arena *a, const Graph *g, int node);
char *print_type(Arena *a, Type t); /* "f32[8, n, 64]" */
/* The operation, its inputs by name, its attributes: "split
 * encoder.0.self_attn.q, heads 8". */
char *print_operation(Arena *a, const Graph *g, int node);

/* ---- build_graph.c ---- */
Graph *build_graph(Arena *a, const Spec *s);
/* The spec's `names` fit the weights of its graph; false after errors. */
bool names_fit(const Graph *g);

#endif
