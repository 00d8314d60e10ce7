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
void  *arena_alloc(Arena *a, size_t bytes);      /* zeroed; never NULL: out of
                                  memory is said, and ends with ExitResource */
char  *arena_strdup(Arena *a, const char *s);
char  *arena_strndup(Arena *a, const char *s, size_t n);
char  *arena_printf(Arena *a, const char *fmt, ...)
           __attribute__((format(printf, 2, 3)));

/* A growable array in the arena: VEC(Node) nodes; vec_push(a, &nodes, n). */
#define VEC(T) struct { T *at; int n, cap; }
#define vec_push(a, v, x)                                                     \
    (vec_grow((a), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at),    \
     (v)->at[(v)->n++] = (x))
void vec_grow(Arena *a, void **at, int n, int *cap, size_t size);

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
void warning_at(Pos pos, const char *fmt, ...)
         __attribute__((format(printf, 2, 3)));
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
typedef enum { KindEncoderDecoder, KindEncoder, KindDecoder, KindAttention }
    ModelKind;
typedef enum { MaskNone, MaskCausal } MaskKind;
typedef enum { PosSinusoidal, PosLearned, PosNone, PosRotary, PosAlibi,
               PosRelative } PosType;
typedef enum { LayoutInterleaved, LayoutHalves } PosLayout;
typedef enum { ExponentPaper, ExponentTensor2tensor } PosExponent;
                 /* 2i/d of the paper; i/(d/2-1) of tensor2tensor, OpenNMT */
typedef enum { NormLayer, NormRms } NormType;
typedef enum { PlacePost, PlacePre } NormPlace;
typedef enum {
#define ACT(name, ...) Act##name,
#include "activations.h"
#undef ACT
    ActCount
} Activation;
typedef enum { PoolNone, PoolMean, PoolClass, PoolLast, PoolMax } PoolType;
typedef enum { EmbedScaleNone, EmbedScaleSqrt, EmbedScaleNumber } EmbedScale;
typedef enum { ParallelNone, ParallelShared, ParallelSeparate } Parallel;
typedef enum { InputTokens, InputReal } InputType;
typedef enum {                   /* what is made of the last layer's rows */
    HeadDefault,                 /* rows of an encoder, logits of a decoder */
    HeadRows, HeadLogits, HeadPool, HeadClassify, HeadTokenClassify
} HeadType;
typedef enum { SearchExact, SearchRecorded } SearchRule;
typedef enum { PenaltyNone, PenaltyGnmt, PenaltyPower } PenaltyRule;
typedef enum { SplitCharacters, SplitSpaces } VocabSplit;
typedef enum { DtypeF32 } Dtype;

enum { TieSource = 1, TieTarget = 2, TieLogits = 4 };  /* embedding.tie bits */

typedef struct {
    int64_t size;                /* from vocab.*.size or lines of the file */
    const char *file;            /* relative to the spec's folder; NULL: none */
    Pos file_pos;
} SpecVocab;

/* One row of names: canonical prefix -> file's prefix. */
typedef struct SpecName SpecName;
struct SpecName {
    const char *ours, *theirs;   /* dot-separated; {i} is the layer; theirs
                                    NULL: only transpose is said */
    Pos pos;
    int transpose;               /* 1, 0; -1: not said */
    /* A tensor of the file that holds several of ours: their names, one of
     * them this row's; NULL: it holds one.                                  */
    const char *const *parts;
    int nparts;
    bool by_columns;             /* side by side, not one above the other */
    int64_t groups;              /* each with a share of every part; 0: one
                                    for each key/value head of the side */
    bool filled;                 /* the file has none: all elements are fill */
    double fill;
};

/* Which keys a row may see: those that all parts of the mask allow. Row i sees
 * one interval of keys, but with `file`.                                    */
typedef struct {
    bool causal;                 /* none after it, j <= i */
    bool prefix;                 /* but the rows of the prefix are seen by all */
    int64_t window;              /* |i - j| < window; 0: any */
    int64_t block;               /* i / block == j / block; 0: any */
    const unsigned char *file;   /* [file_rows][file_columns], 0 or 1 */
    int64_t file_rows, file_columns;      /* max_len of the side; kind
                                    attention: of the query, of the key */
} MaskSpec;

typedef enum { SideEncoder, SideDecoder } Side;

typedef struct {                 /* what may differ between the two stacks; */
    int64_t N;                   /* kind attention: that of SideEncoder. Layers;
                                    0: this side is absent */
    int64_t h, h_kv;             /* heads of queries; of keys and values */
    int64_t d_k, d_v, d_ff;
    int64_t max_len;             /* positions; 0: side absent; kind attention:
                                    query rows, and key rows of SideDecoder */
    MaskSpec mask;               /* of its self-attention */
} SpecSide;

typedef struct Spec Spec;
struct Spec {
    const char *path, *folder;   /* of the spec file */
    uint64_t hash;               /* XXH3 of the canonical form of all fields */
    int64_t version;             /* attnc: */
    const char *name;
    ModelKind kind;
    int64_t d_model;
    SpecSide side[2];            /* by Side */
    SpecVocab source, target;    /* the same values when shared */
    bool vocab_shared;
    int64_t token_start, token_end, token_pad, token_unknown; /* -1: none */
    int64_t token_unknown_target;         /* token_unknown: of the source */
    VocabSplit split_source, split_target;
    bool append_end;             /* source text gets the end token appended */
    PosType positions;
    double pos_base;
    int64_t pos_first;           /* position of the first row: paper 0;
                                    learned: its row of the table */
    PosLayout pos_layout;
    double pos_scale;            /* rotary: positions are multiplied by this */
    int64_t pos_dims;            /* rotary: columns of a head that turn */
    int64_t pos_buckets, pos_max_distance;         /* relative */
    PosExponent pos_exponent;
    NormType norm_type;
    NormPlace norm_place;
    double norm_eps;
    bool norm_final;             /* one more norm after each stack */
    bool norm_bias;              /* beta; rms has none */
    bool norm_embedding;         /* one more after the embeddings */
    bool norm_qk;                /* each head of queries and keys */
    Parallel parallel;           /* x + attention(norm x) + ffn(norm x) */
    double attention_scale;      /* 0: 1 / sqrt(d_k) */
    double attention_softcap;    /* 0: none */
    Activation activation;
    bool gated;                  /* w2 (act(w1 x) * (w3 x)) */
    bool bias_q, bias_k, bias_v, bias_o, bias_ffn, bias_logits;
    bool has_q, has_k, has_v, has_o;      /* kind attention: projection there */
    EmbedScale embed_scale;
    double embed_factor;         /* EmbedScaleNumber */
    int embed_tie;               /* Tie bits: these use one tensor */
    int64_t embed_types;         /* token types of the first stack; 0: none */
    InputType input;             /* of the first stack */
    int64_t input_width;         /* InputReal */
    double logits_scale;         /* 0: none */
    double logits_softcap;       /* 0: none */
    HeadType head;
    PoolType head_pool;          /* HeadPool, HeadClassify */
    bool head_normalize;         /* HeadPool: to length 1 */
    int64_t head_classes;        /* HeadClassify, HeadTokenClassify */
    SearchRule search_rule;
    int64_t search_beam;
    PenaltyRule search_penalty;
    double search_alpha;
    int64_t max_output_plus;     /* output limit: input + this; -1: not set */
    int64_t max_output;          /* absolute output limit; -1: not set */
    Dtype dtype;
    const char *weights;         /* path as written; NULL: seeded random */
    Pos weights_pos;
    VEC(SpecName) names;
    /* where each field was written, by its row in the field table (fields.c);
     * spec_pos(spec, "d_model") looks it up, default: the top of the file */
    Pos *field_pos;
    Pos top;
};

/* Reads, extends, overrides (`sets`: "key.path=value" each), checks. NULL
 * after all errors of the file have been reported.                          */
Spec *spec_load(Arena *a, const char *path, const char *const *sets, int nsets);
Pos   spec_pos(const Spec *s, const char *field);
/* The path to open: relative ones start at the folder of the file in which
 * they were written, those of --set at the current one.                     */
char *spec_path(Arena *a, Pos written, const char *path);
/* spec_names.c: the name in the weights file of a canonical name, by the
 * spec's `names`; docs/spec.md lists the canonical ones.                    */
const char *spec_file_name(Arena *a, const Spec *s, const char *canonical);
/* spec_share.c: where in the file the elements of a tensor are. `ours` is the
 * canonical name with its .weight or .bias. spec_load has seen that all fit:
 * false never comes of a loaded spec.                                       */
bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out);
void  spec_print_fields(FILE *out, bool markdown);           /* attnc fields */

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
typedef enum { ElemF32, ElemI32 } Elem;
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

typedef struct {
    Arena *arena;
    const Spec *spec;
    VEC(Node) nodes;             /* in execution order; index is identity */
    const char *memory;          /* name of the encoder's last node */
} Graph;

int   graph_add(Graph *g, Node n);       /* at the end; infers the shape. A pass
                                            sweeps to put it in its place */
void  graph_replace(Graph *g, int old, int new_); /* every read of old by others
                                                     than new_ */
int   graph_uses(const Graph *g, int node);     /* number of reading edges */
int   graph_sole_reader(const Graph *g, int node); /* index, -1 if not one */
void  graph_sweep(Graph *g);    /* drops OpNop, moves nodes after their inputs,
                                   renumbers */
int   graph_find(const Graph *g, const char *name);   /* -1: none. The
                                   encoder's last is "encoder.output" too */
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
#include "plan.h"

#endif
