/* graph.h: the op graph: a model as nodes, one per operation.
 *
 * Letters used in all files: n source rows, t new target rows, p rows already
 * in the cache, r selected rows; d_model, h, d_k, d_v, d_ff as in the paper; M,
 * N, K the dimensions of a product.
 *
 * In:  a Spec.
 * Out: a Graph whose nodes have shapes. It can be printed as text, JSON or dot;
 *      check_graph() dies if it breaks a rule of the ops.
 * Other public headers: ops.h, attributes.h. */
#ifndef ATTNC_GRAPH_H
#define ATTNC_GRAPH_H

#include "spec/spec.h"

/* ---- graph.c ---- */
typedef enum {
#define OP(name, ...) Op##name,
#include "graph/ops.h"
    OpCount,
    OpNop /* a removed node, which graph_sweep() drops */
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
    int least, most; /* minimum and maximum number of inputs */
    OpClass op_class;
    const char *formula;
    InPlace in_place;
    bool whole;     /* true if the op's code can be emitted undivided */
    int code_bytes; /* approximate size of the op's code, in bytes */
} OpInfo;
extern const OpInfo op_info[OpCount];
extern const Op normalizer_op[Normalizers];
int normalizer_of(Op op); /* the Normalizer that the op applies; -1: none */

/* The entry to which a node belongs; EntryNone: a constant. */
typedef enum { EntryNone, EntryEncode, EntryDecode } Entry;

/* The stack to which a node belongs. StackCross computes keys and values of the
 * source for decoder layers. */
typedef enum {
    StackNone,
    StackEncoder,
    StackCross,
    StackDecoder,
    Stacks
} Stack;
extern const char *const stack_name[Stacks]; /* "", "encoder", ... */
typedef enum {
    SublayerNone,
    SublayerSelf,
    SublayerRecurrent,
    SublayerConvolution,
    SublayerCross,
    SublayerFfn,
    Sublayers
} Sublayer;
extern const char *const sublayer_name[Sublayers]; /* "", "self_attn", ... */

/* The member of struct attn_batch that an Input reads. */
typedef enum {
    BatchIds,
    BatchTypes,
    BatchInput /* rows of real numbers */,
    BatchQuery,
    BatchKey,
    BatchValue /* the last three: only in models of `kind: attention` */
} BatchMember;

/* A dimension: a constant, or a number of rows known only at run time. */
typedef enum {
    SymNone, /* constant */
    SymN,    /* "n"   source rows (encode); rows of an encoder */
    SymT,    /* "t"   new target rows (decode) */
    SymPT,   /* "p+t" cached and new target rows */
    SymR,    /* "r"   selected rows */
    SymM,    /* "m"   key rows of a model of `kind: attention` */
    SymS,    /* "s"   sequences */
    Syms
} Sym;
extern const char *const sym_name[Syms]; /* graph_print.c */
typedef struct { /* `c`: the constant, or the maximum rows of a sequence */
    int64_t c;
    Sym sym;
    int64_t times; /* rows per row of the symbol, e.g. one per chosen expert; 0:
                    * one */
    int64_t fixed; /* number of rows if it is compiled in, otherwise 0 */
} Dim;
typedef enum {
#define FORMAT(name, ...) Elem##name,
#include "runtime/weights/format_rows.h" /* formats of weights, as in Dtype */
    ElemI32,
    ElemQ8, /* rows that an Arithmetic reads, in its order */
    ElemQ15,
    ElemBf16DpRow,
    ElemBf16AmxRow,
    ElemBf16x3Row
} Elem;
Dtype elem_dtype(Elem e); /* DtypeF32 for types that are not weight formats */
/* Convert between the element type of a product's activations and the product's
 * arithmetic. */
Arithmetic elem_arithmetic(Elem e);
Elem arithmetic_elem(Arithmetic a);
typedef struct {
    Elem elem;
    int rank;
    Dim dim[3];
} Type;

enum { InRoutes = 4 /* index of the Routes input of a Linear with experts */ };
enum { MaxIn = 6, CacheSelf = 0, CacheCross = 1 };
enum { PartKey, PartValue, PartQuery };

typedef struct { /* one operation and the tensor that it computes */
    Op op;
    Entry entry;
    Type type;          /* set by shape.c */
    int in[MaxIn], nin; /* indices of earlier nodes; -1: absent input */
    const char *name;   /* unique, e.g. encoder.0.self_attn.q.weight */
    const char *word;   /* last part of the name: "q" or "q.bias" */
    Stack stack;
    int layer; /* index of the layer in the stack; -1: outside layers */
    Sublayer sublayer;
    bool outside_layers; /* the node is outside the layers, but named after
                            the stack: encoder.norm */
    bool keep;           /* requested by --tap, so no pass may change it */
    Pos pos;             /* position of the YAML key that the node comes from */
#define ATTRIBUTE(type, member, dump) type member;
#include "graph/attributes.h"
} Node;

/* True if scores are computed with a learned vector of each head. */
static inline bool has_score_vector(const Node *n)
{
    return score_form[n->score].vector;
}

/* Returns the input that holds these vectors. A node's sinks, if any, are its
 * last input. */
static inline int score_input(const Node *n)
{
    return n->in[n->nin - 1 - n->sinks];
}

/* True if scores are those of the paper: softmax of dot products. */
static inline bool is_dot_softmax(const Node *n)
{
    return n->score == ScoreDot && n->normalizer == NormalizerSoftmax;
}

/* A cache of keys and values that is kept between calls. The first two are the
 * decoder's own and the encoder's. Layers whose cached rows have a different
 * shape use further caches. */
typedef struct {
    int of; /* CacheSelf or CacheCross */
    CacheForm form;
    int64_t layers; /* number of layers that use it; 0: unused */
} Cache;

typedef struct { /* edges that read a node */
    int edges;
    int64_t sum; /* sum of the readers' indices: with a single edge, the
                  * reader's index */
} Readers;

typedef struct {
    Arena *arena;
    const Spec *spec;
    VEC(Node) nodes;      /* in execution order; the index identifies a node */
    VEC(Node) swept;      /* memory to which the next sweep moves the nodes */
    VEC(Readers) readers; /* edges to each node; maintained by graph.c */
    Cache cache[ATTN_CACHES];
    int caches;
    const char *memory;      /* name of the encoder's last node */
    struct Remarks *remarks; /* remarks of the running pass; NULL: not wanted */
} Graph;

/* Adds n at the end, infers its shape and returns its index. The pass must call
 * graph_sweep() to move it to its place. */
int graph_add(Graph *g, Node n);
/* The next four functions are the only ones that change edges. */
void graph_set(Graph *g, int node, Node n);           /* replaces a node */
void graph_link(Graph *g, int node, int k, int from); /* changes input k of a
                                                         node */
void graph_remove(Graph *g, int node);
/* Redirects all reads of `old` to `new_`, except those by `new_` itself. */
void graph_replace(Graph *g, int old, int new_);
int graph_uses(const Graph *g, int node);        /* number of edges to a node */
int graph_sole_reader(const Graph *g, int node); /* the only reader; -1: none
                                                    or several */
int graph_remove_dead(Graph *g); /* returns the number of nodes removed */
/* Drops OpNop, moves nodes after their inputs, and renumbers all nodes. */
void graph_sweep(Graph *g);
/* Returns the name of part e of a Weight. */
const char *weight_part(Arena *a, const Node *n, int64_t e);
int graph_result(const Graph *g); /* the Output of the last entry */
/* Returns the index of a node, or -1 if no node has the name. "encoder.output"
 * also finds the encoder's last node. */
int graph_find(const Graph *g, const char *name);
Index graph_names(Arena *a, const Graph *g); /* maps names to nodes, for
                                              * repeated look-ups */
Graph *graph_copy(Arena *a, const Graph *g);
bool same_type(Type a, Type b);
/* Return the rows and columns of a weight matrix; if there are experts, of one
 * expert's matrix. */
static inline int64_t matrix_rows(Type w)
{
    return w.dim[w.rank - 2].c;
}
static inline int64_t matrix_columns(Type w)
{
    return w.dim[w.rank - 1].c;
}
/* Returns the Routes node that determines the order of a value's rows, or -1 if
 * the rows are in the batch's order. */
int graph_routes(const Graph *g, int node);
/* True if both nodes belong to the same layer, or both are outside the layers
 * of the same stack. */
bool same_layer(const Node *a, const Node *b);
/* Returns the full name of a node named `word` at the place of n:
 * "encoder.0.self_attn.q" for "q". */
char *graph_name(Arena *a, const Node *n, const char *word);
/* Appends a suffix such as ".scaled" to the name of a node. */
void graph_rename(Graph *g, Node *n, const char *suffix);

/* ---- shape.c ---- */

/* Sets n->type from the inputs. Returns false if they do not fit. If a node has
 * no inputs, the caller sets the type; for a Slice, the caller sets the
 * width. */
bool infer_shape(const Graph *g, Node *n);
Dim rows_of(const Spec *s, Sym sym); /* number of rows and its upper bound */

/* Returns the number of products per row that a cell needs: 1, 3 or 4. */
int cell_gates(CellType cell);

/* ---- flops.c ---- */

/* Returns the FLOPs of a node for `rows` rows and `keys` keys, excluding masked
 * keys. A multiplication with an addition counts as two. */
int64_t node_flops(const Graph *g, int node, int64_t rows, int64_t keys);
/* Returns the FLOPs of the node's sums of products, counted like node_flops().
 * Each tanh in a sum counts as `tanh` FLOPs. */
int64_t node_sums(const Graph *g, int node, int64_t rows, int64_t keys,
                  int64_t tanh);
/* Returns the number of pairs of a query and a visible key in one head of the
 * node. */
int64_t node_pairs(const Graph *g, int node, int64_t rows, int64_t keys);

/* ---- table1.c ---- */
/* The numbers of Table 1, for the encoder's first layer or, without an encoder,
 * the decoder's. */
typedef struct {
    const char *complexity; /* e.g. "n^2 d"; "" if nothing mixes rows */
    double operations;      /* value of that formula */
    double sequential; /* length of the longest chain of dependent operations */
    double path;       /* steps between the two rows farthest apart */
    double flops;      /* counted from the graph: includes projections and
                          norms, but not the feed-forward network */
} Mixing;
Mixing layer_mixing(const Graph *g, int64_t rows);

/* ---- check_graph.c ---- */
void check_graph(const Graph *g, const char *after); /* dies if g is invalid */

/* ---- graph_print.c ---- */
extern const char *const pool_word[]; /* words of a PoolType */
extern const char *const cell_word[]; /* words of a CellType */
typedef enum { GraphText, GraphDot, GraphJson } GraphFormat;
char *print_graph(Arena *a, const Graph *g, GraphFormat format);
char *print_node(Arena *a, const Graph *g, int node);
char *print_type(Arena *a, Type t); /* e.g. "f32[8, n, 64]" */
/* Returns the operation, its inputs by name and its attributes, e.g. "split
 * encoder.0.self_attn.q, heads 8". */
char *print_operation(Arena *a, const Graph *g, int node);

/* ---- build_graph.c ---- */
Graph *build_graph(Arena *a, const Spec *s);
/* Checks that the spec's weight map fits the weights of the graph. Returns
 * false after reporting errors. */
bool names_fit(const Graph *g);

#endif
