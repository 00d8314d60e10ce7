/* graph.h: the op graph: a model as nodes, one per operation.
 *
 * Letters used in all files: n source rows, t new target rows, p rows already
 * in the cache, r selected rows; d_model, h, d_k, d_v, d_ff as in the paper; M,
 * N, K the dimensions of a product.
 *
 * In:  a Spec.
 * Out: a Graph whose nodes have shapes. It can be printed as text, JSON or dot;
 *      check_graph() dies if it breaks a rule of the ops.
 * Other public headers: ops.h. */
#ifndef ATTNC_GRAPH_H
#define ATTNC_GRAPH_H

#include "spec/spec.h"

/* ---- graph.c ---- */
typedef enum {
#define OP(name, ...) Op##name,
#include "graph/ops.h"
    OpCount,
    OpNop /* a removed node; graph_sweep() drops it */
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

typedef struct { /* columns of ops.h that several directories use */
    const char *name;
    int least, most; /* number of inputs */
    OpClass op_class;
    const char *formula;
    InPlace in_place;
    bool whole;     /* its code can be emitted undivided */
    int code_bytes; /* about how many */
} OpInfo;
extern const OpInfo op_info[OpCount];

typedef enum { EntryNone /* Const nodes */, EntryEncode, EntryDecode } Entry;

/* StackCross computes the keys and values of the source for decoder layers. */
typedef enum {
    StackNone,
    StackEncoder,
    StackCross,
    StackDecoder,
    Stacks
} Stack;
extern const char *const stack_name[Stacks]; /* "", "encoder" and so on */
typedef enum {
    SublayerNone,
    SublayerSelf,
    SublayerRecurrent,
    SublayerConvolution,
    SublayerCross,
    SublayerFfn,
    Sublayers
} Sublayer;
extern const char *const sublayer_name[Sublayers]; /* "", "self_attn" and so
                                                      on */

/* The member of struct attn_batch that an Input reads. */
typedef enum {
    BatchIds,
    BatchTypes,
    BatchInput /* rows of real numbers */,
    BatchQuery,
    BatchKey,
    BatchValue /* these three: kind attention */
} BatchMember;

/* A dimension: a constant, or a number of rows known only at run time. */
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
typedef struct { /* c: the constant, or the upper bound */
    int64_t c;
    Sym sym;
    int64_t times; /* rows for each of the set's, e.g. a row per chosen
                      expert; 0: one */
    int64_t fixed; /* the length if compiled in as a constant, else 0 */
} Dim;
typedef enum {
#define FORMAT(name, ...) Elem##name,
#include "runtime/weights/format_rows.h" /* weights, as in Dtype */
    ElemI32,
    ElemQ8, /* this and the next: rows of integers with a scale each */
    ElemQ15
} Elem;
Dtype elem_dtype(Elem e); /* DtypeF32 if not of weights */
/* Arithmetic of products with such activations, and the inverse. */
Arithmetic elem_arithmetic(Elem e);
Elem arithmetic_elem(Arithmetic a);
typedef struct {
    Elem elem;
    int rank;
    Dim dim[3];
} Type;

enum { InRoutes = 4 /* index of the input Routes of a Linear by experts */ };
enum { MaxIn = 6, CacheSelf = 0, CacheCross = 1 };
enum { PartKey, PartValue, PartQuery };

typedef struct { /* one operation and the tensor it makes */
    Op op;
    Entry entry;
    Type type;          /* set by shape.c */
    int in[MaxIn], nin; /* earlier nodes, by index; -1: absent */
    const char *name;   /* unique: encoder.0.self_attn.q.weight */
    const char *word;   /* its end: "q" or "q.bias" */
    Stack stack;
    int layer; /* index in its stack; -1: outside layers */
    Sublayer sublayer;
    bool outside_layers; /* named after the stack all the same: encoder.norm */
    bool keep;           /* --tap asks for it: no pass may change it */
    Pos pos;             /* the YAML key it comes from */
    /* attributes, with the ops that use them: */
    int readers;      /* Weight: bits of ReadBy, for matrices */
    int64_t parts;    /* Weight: tensors it is assembled from, numbered by
                         {e} in its name; 0: it is one */
    double scale;     /* Scale, Embed, Attention, Weigh */
    double cap;       /* Softcap, Clip, Attention; 0: none */
    double eps;       /* Norm, AddNorm, HeadNorm, L2Norm */
    NormType norm;    /* Norm, AddNorm, HeadNorm */
    int64_t heads;    /* Split, Rotate, HeadNorm, Attention, Join */
    int64_t heads_kv; /* Attention: of keys and values; Join: of b */
    int64_t first;    /* Slice: first column; Position, Embed: the table's
                         row for position 0; Taps, Depthwise: offset of tap 0
                         from the row; Patches: row of the first patch */
    int64_t taps;     /* Taps, Depthwise; Weight: the file keeps the taps of
                         a column together; 0: none */
    int64_t dilation; /* Taps, Depthwise: rows between taps */
    int64_t stride;   /* Taps: input rows between two result rows; 0: 1 */
    int64_t frames;   /* Taps: frames side by side in an input row; 0: 1 */
    int64_t skipped;  /* Taps: leading frames that are not the sequence's own
                         and are read as zeros */
    int64_t channels, tall, wide;  /* Patches: channels of the image, lines
                                      and columns of a patch */
    int64_t across;                /* Patches: number side by side */
    int64_t dims;                  /* Rotate: rotary columns of each head */
    PosLayout layout;              /* Rotate */
    const Spec *spec;              /* RotaryTable: the spec of its layers */
    BiasKind bias;                 /* ScoreBias, Attention */
    double slope;                  /* BiasAlibi: factor of all slopes */
    int64_t buckets, max_distance; /* BiasRelative */
    bool bidirectional;            /* BiasRelative */
    int64_t experts;               /* Routes: number of experts */
    int64_t groups, groups_chosen; /* Choose */
    bool group_pairs;              /* Choose: a group is scored by the sum of
                                      its best two instead of by its best */
    bool sinks;                    /* Softmax, Attention: the last input has
                                      a score for each head */
    bool additive;                 /* Scores, Attention: the last input
                                      before sinks is v, [heads, d_k] */
    bool sigmoid;                  /* Attention: sigmoid instead of softmax */
    bool softmax, normalize;       /* Weigh */
    bool routing;  /* Matmul, Linear: part of a router or a gate of experts */
    PoolType pool; /* Pool */
    CellType cell; /* Recurrent */
    bool reversed; /* Recurrent: starts from the last row */
    bool sourced;  /* Recurrent: starts from the last state of its last input */
    int64_t state; /* floats that it keeps for later rows of a sequence */
    const MaskSpec *mask;        /* Mask, Attention; NULL: none */
    Activation act;              /* Linear, Activate, Gate, Recurrent */
    bool has_bias, has_residual; /* Linear: in[2] / in[3] exists */
    BatchMember member;          /* Input */
    int cache;                   /* Append, Recall: index in Graph.cache */
    int64_t place; /* Append, Recall: the layer's index in its cache */
    int part;      /* Append, Recall, PackKv, Rotate: PartKey and so on */
} Node;

/* Returns the input that holds v of additive scores. */
static inline int score_input(const Node *n)
{
    return n->in[n->nin - 1 - n->sinks];
}

/* A cache of keys and values, kept between calls. The first two are the
 * decoder's own and the encoder's; layers whose caches have another form use
 * further ones. */
typedef struct {
    int of; /* CacheSelf or CacheCross */
    CacheForm form;
    int64_t layers; /* 0: unused */
} Cache;

typedef struct { /* the edges to a node */
    int edges;
    int64_t sum; /* sum of the readers' indices: of one edge, its reader */
} Readers;

typedef struct {
    Arena *arena;
    const Spec *spec;
    VEC(Node) nodes;      /* in execution order; the index identifies a node */
    VEC(Node) swept;      /* memory for the next sweep */
    VEC(Readers) readers; /* by node; maintained by graph.c */
    Cache cache[ATTN_CACHES];
    int caches;
    const char *memory;      /* name of the encoder's last node */
    struct Remarks *remarks; /* the running pass's; NULL: not wanted */
} Graph;

/* Adds n at the end, infers its shape and returns its index. The pass must
 * sweep to move it to its place. */
int graph_add(Graph *g, Node n);
/* All changes of edges go through these functions. */
void graph_set(Graph *g, int node, Node n);           /* replaces a node */
void graph_link(Graph *g, int node, int k, int from); /* changes input k */
void graph_remove(Graph *g, int node);
/* Redirects all reads of `old` to new_, but for new_'s own. */
void graph_replace(Graph *g, int old, int new_);
int graph_uses(const Graph *g, int node);        /* number of edges to it */
int graph_sole_reader(const Graph *g, int node); /* -1: not just one */
int graph_remove_dead(Graph *g); /* returns how many it removed */
/* Drops OpNop, moves nodes after their inputs, and renumbers all. */
void graph_sweep(Graph *g);
/* Returns the name of part e of a Weight. */
const char *weight_part(Arena *a, const Node *n, int64_t e);
int graph_result(const Graph *g); /* the last entry's Output */
/* Returns -1 if there is none. "encoder.output" names the encoder's last node
 * too. */
int graph_find(const Graph *g, const char *name);
Index graph_names(Arena *a, const Graph *g); /* for many look-ups */
Graph *graph_copy(Arena *a, const Graph *g);
bool same_type(Type a, Type b);
/* Return the rows and columns of a matrix of weights, or of one expert's. */
static inline int64_t matrix_rows(Type w)
{
    return w.dim[w.rank - 2].c;
}
static inline int64_t matrix_columns(Type w)
{
    return w.dim[w.rank - 1].c;
}
/* Returns the Routes node that orders the rows of a value; -1: none does. */
int graph_routes(const Graph *g, int node);
/* True if both belong to the same layer, or to the same stack outside its
 * layers. */
bool same_layer(const Node *a, const Node *b);
/* Returns the full name of `word` at n's place: "q" becomes
 * "encoder.0.self_attn.q". */
char *graph_name(Arena *a, const Node *n, const char *word);
/* Appends a suffix such as ".scaled" to the name of a node. */
void graph_rename(Graph *g, Node *n, const char *suffix);

/* ---- shape.c ---- */

/* Sets n->type from the inputs; false if they do not fit. A node without inputs
 * must come with its type, a Slice with its width. */
bool infer_shape(const Graph *g, Node *n);
Dim rows_of(const Spec *s, Sym sym); /* a number of rows and its bound */

/* Returns how many products of a row a cell needs: 1, 3 or 4. */
int cell_gates(CellType cell);

/* ---- flops.c ---- */

/* Returns the FLOPs of a node for `rows` rows and `keys` keys, not counting
 * masked ones. A multiplication and an addition are two. */
int64_t node_flops(const Graph *g, int node, int64_t rows, int64_t keys);
/* Returns the part of these FLOPs in sums of products, for rows that see one
 * key each. A tanh in them counts as `tanh`. */
int64_t node_sums(const Graph *g, int node, int64_t rows, int64_t tanh);
/* Returns how many pairs of a query and a visible key a head of this op has. */
int64_t node_pairs(const Graph *g, int node, int64_t rows, int64_t keys);

/* ---- table1.c ---- */
/* Table 1's numbers for the first layer of the encoder, or of the decoder if
 * there is no encoder. */
typedef struct {
    const char *complexity; /* e.g. "n^2 d"; "": nothing mixes rows */
    double operations;      /* value of that formula */
    double sequential; /* length of the longest chain of dependent operations */
    double path;       /* steps between the two rows farthest apart */
    double flops;      /* counted from the graph, with projections and
                          norms, without the feed-forward network */
} Mixing;
Mixing layer_mixing(const Graph *g, int64_t rows);

/* ---- check_graph.c ---- */
void check_graph(const Graph *g, const char *after); /* dies if g is invalid */

/* ---- graph_print.c ---- */
extern const char *const pool_word[]; /* by PoolType */
extern const char *const cell_word[]; /* by CellType */
typedef enum { GraphText, GraphDot, GraphJson } GraphFormat;
char *print_graph(Arena *a, const Graph *g, GraphFormat format);
char *print_node(Arena *a, const Graph *g, int node);
char *print_type(Arena *a, Type t); /* e.g. "f32[8, n, 64]" */
/* Returns the operation, its inputs by name and its attributes, e.g. "split
 * encoder.0.self_attn.q, heads 8". */
char *print_operation(Arena *a, const Graph *g, int node);

/* ---- build_graph.c ---- */
Graph *build_graph(Arena *a, const Spec *s);
/* Checks that the spec's weight map fits the weights of its graph; false after
 * errors. */
bool names_fit(const Graph *g);

#endif
