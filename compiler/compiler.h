/* compiler.h: every struct of the compiler once, then the functions of each
 * file under its name, in the order of the pipeline:
 *
 *   yaml -> spec -> build -> Graph -> passes -> plan -> emit -> cc | jit
 *                              \-> interp (the oracle)
 *
 * Letters, fixed for all files: n source rows, t new target rows, p rows that
 * are in the cache already, r selected rows; d_model, h, d_k, d_v, d_ff as in
 * the paper; M N K of a product.                                            */
#ifndef ATTNC_COMPILER_H
#define ATTNC_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../runtime/rt.h"       /* exit codes, Fault, PackList */

#define ATTNC_VERSION "0.1.0"

/* ------------------------------------------------------------ arena.c --- */
typedef struct Arena Arena;      /* one per compilation; freed whole */

Arena *arena_new(void);
void   arena_free(Arena *a);
void   arena_reset(Arena *a);    /* empty, as it was when it was new */
void  *arena_alloc(Arena *a, size_t bytes);      /* zeroed; never NULL: out of
                                  memory is said, and ends with ExitResource */
char  *arena_strdup(Arena *a, const char *s);
char  *arena_strndup(Arena *a, const char *s, size_t n);
char  *arena_printf(Arena *a, const char *fmt, ...)
           __attribute__((format(printf, 2, 3)));
char  *arena_grouped(Arena *a, int64_t n);       /* "1,234,567" */
size_t arena_bytes(const Arena *a);              /* handed out so far */

/* A growable array in the arena: VEC(Node) nodes; vec_push(a, &nodes, n). As it
 * grows it may move, and a long one gives back the memory where it was.     */
#define VEC(T) struct { T *at; int n, cap; }
#define vec_push(a, v, x)                                                     \
    (vec_grow((a), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at),    \
     (v)->at[(v)->n++] = (x))
void vec_grow(Arena *a, void **at, int n, int *cap, size_t size);

/* ----------------------------------------------------------- buffer.c --- */
typedef struct {                 /* text that grows at its end */
    Arena *arena;
    char *at;                    /* '\0' behind it; NULL: nothing was added */
    int n, cap;
} Buffer;

void buffer_add(Buffer *b, const char *s, size_t n);
void buffer_printf(Buffer *b, const char *fmt, ...)
         __attribute__((format(printf, 2, 3)));

/* ------------------------------------------------------------ index.c --- */
typedef struct { const char *name; int number; } IndexEntry;
typedef struct {                 /* numbers by name */
    VEC(IndexEntry) list;        /* in order of their coming */
    struct IndexSlot *slot;      /* a hash table, open addressing */
    int slots;
} Index;

int index_find(const Index *x, const char *name);        /* -1: absent */
/* The number of a name: what it was given first, now where it is new. The name
 * must outlive the index.                                                   */
int index_add(Arena *a, Index *x, const char *name, int number);
void index_reserve(Arena *a, Index *x, int n);   /* of a new one: for n names */

/* ------------------------------------------------------------- diag.c --- */
typedef struct {                 /* one text that can be pointed into */
    const char *name;            /* path as given, or "--set" */
    const char *text;
    size_t size;
    int rank;                    /* held errors of lower ranks come first */
} Source;

typedef struct {                 /* a place; src NULL: none is known */
    const Source *src;
    int line, col;               /* from 1; col counts bytes */
} Pos;

/* clang's form: `path:line:col: error: text`, the source line, a caret. All
 * go to stderr. At most 20 errors are printed; the rest are counted.        */
void error_at(Pos pos, const char *fmt, ...)
         __attribute__((format(printf, 2, 3)));
/* What a file that the text names says of itself; lack of memory is no error
 * of the text, and ends the process.                                        */
void error_fault(Pos pos, const Fault *why);
void warning_at(Pos pos, const char *fmt, ...)
         __attribute__((format(printf, 2, 3)));
/* Without a place; what was said before by this process is not said again. */
void warning_once(const char *fmt, ...)
         __attribute__((format(printf, 1, 2)));
void note_once(const char *fmt, ...)     /* of its own, as warning_once() */
         __attribute__((format(printf, 1, 2)));
void note_at(Pos pos, const char *fmt, ...)      /* after an error: remedy */
         __attribute__((format(printf, 2, 3)));
int  error_count(void);
void error_reset(void);
/* Between the two, errors are kept, then shown in order of place. */
void errors_hold(Arena *a);
void errors_release(void);

/* `attnc: error: text` without a place, then at once exit with `code`. */
_Noreturn void fail(int code, const char *fmt, ...)
         __attribute__((format(printf, 2, 3)));
/* A broken invariant of attnc itself: message, exit ExitInternal. */
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
_Noreturn void die_at(const char *file, int line, const char *fmt, ...)
         __attribute__((format(printf, 3, 4)));

/* User text made safe for a message: bytes outside printable ASCII escaped,
 * cut at 80 bytes. The result lives in one of 8 static buffers.             */
const char *quote(const char *s);
const char *quote_n(const char *s, size_t n);
/* The candidate nearest to `word` by edit distance, NULL if none is near. */
const char *nearest(const char *word, const char *const *words, int n);

/* ------------------------------------------------------------- yaml.c --- */
typedef enum { YamlScalar, YamlList, YamlMap } YamlKind;

typedef struct Yaml Yaml;
struct Yaml {
    YamlKind kind;
    Pos pos;
    const char *text;            /* YamlScalar */
    bool quoted;                 /* YamlScalar: '..' or "..": always a string */
    VEC(Yaml *) items;           /* YamlList; YamlMap: the values */
    VEC(Yaml *) keys;            /* YamlMap: scalars, beside the values */
};

/* Parses one document, from byte `start` of its source. NULL after an error has
 * been reported. Caps: 1 MiB, depth 32; anchors, aliases, tags, several
 * documents are refused. A duplicate key is an error that does not stop the
 * reading: the first one is kept.                                           */
Yaml *yaml_parse(Arena *a, const Source *src, size_t start);
Yaml *yaml_get(const Yaml *map, const char *key);            /* NULL: absent */

/* ----------------------------------------------------- fields.c, spec.c --- */
#include "spec.h"

/* ---------------------------------------------------- graph.c, ops.h --- */
typedef enum {
#define OP(name, ...) Op##name,
#include "ops.h"
#undef OP
    OpCount,
    OpNop                        /* a removed node; graph_sweep drops it */
} Op;

typedef enum { ClassConst, ClassSource, ClassView, ClassRow, ClassHead,
               ClassState, ClassSink } OpClass;

typedef struct {
    const char *name;            /* as in dumps */
    int least, most;             /* inputs */
    OpClass class;
    const char *formula;
} OpInfo;
extern const OpInfo op_info[OpCount];

typedef enum { EntryNone /* Const nodes */, EntryEncode, EntryDecode } Entry;

/* A dimension: a constant, or the length of a set of rows. */
typedef enum {
    SymNone,     /* constant */
    SymN,        /* "n"   source rows (encode); rows of an encoder */
    SymT,        /* "t"   new target rows (decode) */
    SymPT,       /* "p+t" cached and new target rows */
    SymR,        /* "r"   selected rows */
    SymM,        /* "m"   key rows of kind attention */
    SymS         /* "s"   sequences */
} Sym;
typedef struct { int64_t c; Sym sym; } Dim;   /* c: constant, or the bound */
typedef enum { ElemF32, ElemI32, ElemBf16 /* weights */ } Elem;
typedef struct { Elem elem; int rank; Dim dim[3]; } Type;

/* What is added to the score of query row i and key row j. */
typedef enum { BiasNone, BiasAlibi, BiasRelative } BiasKind;

enum { MaxIn = 4, CacheSelf = 0, CacheCross = 1, PartKey = 0, PartValue = 1 };

typedef struct {                 /* one operation and the tensor it makes */
    Op op;
    Entry entry;
    Type type;                   /* set by shape.c */
    int in[MaxIn], nin;          /* earlier nodes, by index; -1: absent */
    const char *name;            /* unique: encoder.0.self_attn.scores */
    const char *stack;           /* "encoder", "cross", "decoder" or "" */
    int layer;                   /* in its stack; -1: outside the layers */
    bool keep;                   /* asked for by --tap: passes leave it alone */
    Pos pos;                     /* the YAML key this came from */
    /* attributes; the op that uses each: */
    double scale;                /* Scale, Embed, Attention */
    double cap;                  /* Softcap, Attention; 0: none */
    double eps;                  /* Norm, AddNorm, HeadNorm, L2Norm */
    NormType norm;               /* Norm, AddNorm, HeadNorm */
    int64_t heads;               /* Split, Rotate, HeadNorm, Attention */
    int64_t heads_kv;            /* Attention: of keys and values */
    int64_t first;               /* Slice: first column; Position, Embed: row of
                                    the table for position 0 */
    int64_t dims;                /* Rotate: columns of each head that turn */
    PosLayout layout;            /* Rotate */
    BiasKind bias;               /* ScoreBias, Attention */
    int64_t buckets, max_distance;        /* BiasRelative */
    bool bidirectional;          /* BiasRelative */
    PoolType pool;               /* Pool */
    const MaskSpec *mask;        /* Mask, Attention; NULL: none */
    Activation act;              /* Linear, Activate, Gate */
    bool has_bias, has_residual; /* Linear: in[2] / in[3] is there */
    int cache, part;             /* Append, Recall: CacheSelf.. PartKey..;
                                    Pages: part */
} Node;

typedef struct {                 /* the nodes that read one */
    int edges;
    int64_t sum;                 /* of their indices: the reader's own where
                                    there is one edge */
} Readers;

typedef struct {
    Arena *arena;
    const Spec *spec;
    VEC(Node) nodes;             /* in execution order; index is identity */
    VEC(Node) swept;             /* memory for the next sweep */
    VEC(Readers) readers;        /* by node; graph.c keeps them */
    const char *memory;          /* name of the encoder's last node */
} Graph;

int   graph_add(Graph *g, Node n);       /* at the end; infers the shape. A pass
                                            sweeps to put it in its place */
/* What changes edges goes through these. */
void  graph_set(Graph *g, int node, Node n);     /* a node becomes another */
void  graph_link(Graph *g, int node, int k, int from);   /* its input k */
void  graph_remove(Graph *g, int node);
void  graph_replace(Graph *g, int old, int new_); /* every read of old by others
                                                     than new_ */
int   graph_uses(const Graph *g, int node);     /* number of reading edges */
int   graph_sole_reader(const Graph *g, int node); /* index, -1 if not one */
void  graph_sweep(Graph *g);    /* drops OpNop, moves nodes after their inputs,
                                   renumbers */
int   graph_result(const Graph *g);     /* Output of the last entry */
int   graph_find(const Graph *g, const char *name);   /* -1: none. The
                                   encoder's last is "encoder.output" too */
Index graph_names(Arena *a, const Graph *g);    /* of many to be found */
Graph *graph_copy(Arena *a, const Graph *g);
bool  same_type(Type a, Type b);

/* ------------------------------------------------------------ shape.c --- */
/* Sets n->type from the inputs. False: they do not fit. What has no inputs
 * brings its type along, a Slice its width.                                  */
bool infer_shape(const Graph *g, Node *n);
Dim  rows_of(const Spec *s, Sym sym);           /* a length and its bound */

/* ------------------------------------------------------------ check.c --- */
void check_graph(const Graph *g, const char *after);   /* die()s when broken */

/* ------------------------------------------------------------ print.c --- */
typedef enum { GraphText, GraphDot } GraphFormat;
char *print_graph(Arena *a, const Graph *g, GraphFormat format);
char *print_node(Arena *a, const Graph *g, int node);
char *print_type(Arena *a, Type t);             /* "f32[8, n, 64]" */
extern const char *const activation_word[ActCount];

/* ------------------------------------------------------------ build.c --- */
Graph *build_graph(Arena *a, const Spec *s);

/* ------------------------------------------------------ names_check.c --- */
/* The spec's `names` against the weights that a graph has as it was built.
 * False after all errors have been reported.                                */
bool names_fit(const Graph *g);

/* ------------------------------------------------------------- pass.c --- */
typedef struct {
    const char *name;
    int (*run)(Graph *g);        /* number of rewrites; 0 when run again */
    const char *summary;
    bool required;               /* lowering: can't be skipped */
} Pass;
extern const Pass passes[];
extern const int n_passes;

typedef struct {
    const char *const *skip; int nskip;   /* pass names, or "all" */
    const char *const *dump; int ndump;   /* print the graph after these */
    const char *after;                    /* stop after this pass; NULL: all */
    bool explain;                         /* say what each did and did not */
    bool require_fusion;                  /* a fusion that failed is an error */
} PassOptions;

/* Runs the table in order; the verifier after each. False: require_fusion
 * and something stayed unfused (reported).                                  */
bool run_passes(Graph *g, const PassOptions *o, FILE *log);
/* A pass calls this for each place where it could not do its work ... */
void pass_missed(const Graph *g, int node, const char *fmt, ...)
         __attribute__((format(printf, 3, 4)));
/* ... and this where its work is better left undone. */
void pass_note(const Graph *g, int node, const char *fmt, ...)
         __attribute__((format(printf, 3, 4)));

/* ----------------------------------------------------------- interp.c --- */
/* The oracle: evaluates a graph of any stage on one sequence in double.     */
typedef struct {
    const Graph *g;
    int64_t length[6];           /* rows by Sym: n, t, p+t = t, r, m */
    int64_t prefix;              /* rows that all rows see: MaskSpec.prefix */
    const int32_t *ids[3];       /* by Entry: token ids of an entry's input */
    const int32_t *types[3];     /* by Entry: token types; NULL: all 0 */
    const double *rows[3];       /* kind attention, real-valued: query, key,
                                    value in order of the Input nodes */
    const int32_t *select;       /* rows of Select, length[SymR] of them */
    /* value of a Weight node, row-major doubles: filled by the caller */
    const double *(*weight)(void *user, int node);
    void *user;
    const double **value;        /* by node; NULL until evaluated */
    Arena *arena;                /* the values live here */
} Interp;
void interp_run(Interp *in, Entry entry);       /* evaluates all its nodes */
/* Evaluates one node from the values of its inputs: the local oracle. */
void interp_node(Interp *in, int node);
int64_t interp_size(const Interp *in, int node);    /* elements of its value */

/* ------------------------------------------------------------- plan.c --- */
#include "tiling.h"
#include "plan.h"

#endif
