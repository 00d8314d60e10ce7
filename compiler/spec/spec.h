/* spec.h: the spec as the compiler reads it: fields typed, defaults filled in.
 *
 * In:  a YAML file, the files that it extends, --set.
 * Out: a complete, checked Spec, or all its errors, each with its position.
 * Other public headers: activations.h, score_forms.h, reference_pages.h,
 * yaml.h. */
#ifndef ATTNC_SPEC_H
#define ATTNC_SPEC_H

#include "base/base.h"
#include "runtime/base/generate.h"
#include "runtime/text/chat.h"

typedef enum {
    KindEncoderDecoder,
    KindEncoder,
    KindDecoder,
    KindAttention
} ModelKind;
typedef enum {
    PosSinusoidal,
    PosLearned,
    PosNone,
    PosRotary,
    PosAlibi,
    PosRelative
} PosType;
/* term added to the score of query row i and key row j */
typedef enum { BiasNone, BiasAlibi, BiasRelative } BiasKind;
typedef enum { LayoutInterleaved, LayoutHalves } PosLayout;
typedef enum { TrimNone, TrimTurns, TrimAll } ChatTrim; /* as ATTN_TRIM_ */
typedef enum { ExponentPaper, ExponentTensor2tensor } PosExponent;
/* exponent of the base for pair i: 2i/d as in the paper; i/(d/2-1) as in
 * tensor2tensor and OpenNMT */
typedef enum {
    ScalingNone,
    ScalingDynamic,
    ScalingLlama3,
    ScalingYarn,
    ScalingLongrope
} PosScaling;
typedef enum { MixAttention, MixRecurrent, MixConvolution } MixType;
typedef enum { CellSimple, CellGru, CellLstm } CellType;
typedef enum { RecurTanh, RecurRelu } RecurAct; /* activation of simple cells */
typedef enum { ScanForward, ScanBackward, ScanBoth } Direction;
/* the first state of a decoder's scan */
typedef enum { StartZeros, StartSource } StartType;
typedef enum { NormLayer, NormRms } NormType;
typedef enum { PlacePost, PlacePre, PlaceInside, PlaceBoth } NormPlace;
typedef enum { ResidualAdd, ResidualNone } ResidualType;
/* learned factor of a sublayer's rows: one number, or one per column */
typedef enum { LearnNone, LearnScalar, LearnColumns } ResidualLearned;
typedef enum {
#define SCORE(name, ...) Score##name,
#include "spec/fields/score_forms.h"
} ScoreType;
typedef struct { /* columns of score_forms.h */
    const char *word;
    bool vector;
    const char *title, *kernel, *formula, *plain_formula, *source, *plain,
        *plain_function;
} ScoreForm;
extern const ScoreForm score_form[];
typedef enum {
#define NORMALIZER(name, ...) Normalizer##name,
#include "spec/fields/score_forms.h"
    Normalizers
} Normalizer;
typedef struct {
    const char *word;
    const char *plain; /* NULL: a weight depends on all scores */
} NormalizerForm;
extern const NormalizerForm normalizer_form[Normalizers];
/* norm of queries and keys: over each head's columns, or over all columns */
typedef enum { QkNone, QkHeads, QkWidth } NormQk;
typedef enum {
#define ACT(name, ...) Act##name,
#include "spec/fields/activations.h"
    ActCount
} Activation;
typedef struct {       /* words for an activation in specs */
    const char *plain; /* also used in dumps and names of kernels */
    const char *gated; /* NULL: there is no gated form */
    Activation other;  /* activation of the other factor in the gated form */
} ActText;
extern const ActText act_text[ActCount];
typedef enum { PoolNone, PoolMean, PoolClass, PoolLast, PoolMax } PoolType;
typedef enum { EmbedScaleNone, EmbedScaleSqrt, EmbedScaleNumber } EmbedScale;
/* embeddings that a product projects to d_model: none, the sum of all, or only
 * those of tokens */
typedef enum { ProjectNone, ProjectSum, ProjectTokens } EmbedProject;
typedef enum { ParallelNone, ParallelShared, ParallelSeparate } Parallel;
typedef enum { FfnDense, FfnNone, FfnExperts } FfnType;
/* how gate weights are computed: by a softmax over all experts, before the
 * top_k are chosen; by a softmax over the chosen ones; by sigmoids */
typedef enum { RouteBefore, RouteAfter, RouteSigmoid } RouteSoftmax;
typedef enum { GroupMax, GroupPair } GroupScore;
typedef enum { InputTokens, InputReal } InputType;
/* output computed from the last layer's rows */
typedef enum {
    HeadDefault, /* rows of an encoder, logits of a decoder */
    HeadRows,
    HeadLogits,
    HeadPool,
    HeadClassify,
    HeadTokenClassify
} HeadType;
/* the values of the ATTN_RULE_ and ATTN_PENALTY_ constants */
typedef enum { SearchExact, SearchRecorded } SearchRule;
typedef enum { PenaltyNone, PenaltyGnmt, PenaltyPower } PenaltyRule;
typedef enum { SplitCharacters, SplitSpaces } VocabSplit;
/* arithmetic of products whose weights are integers */
typedef enum {
    ArithmeticF32,
    ArithmeticInt8,
    ArithmeticInt15,
    Arithmetics
} Arithmetic;

/* Bits of embedding.tie. */
enum { TieSource = 1, TieTarget = 2, TieLogits = 4 };

/* Bits for the readers of a matrix of weights; 0: not a matrix, so always
 * f32. */
enum { ReadByProduct = 1, ReadByLookUp = 2, ReadByLogits = 4 };

typedef struct {
    int64_t size; /* from vocab.*.size, or the number of lines of the file */
    const char *file; /* relative to the spec's folder; NULL: none */
    Pos file_pos;
} SpecVocab;

typedef struct { /* a list of numbers */
    const double *at;
    int64_t n;
} SpecReals;

typedef struct { /* texts, each of at most MostNameBytes */
    const char *const *at;
    int64_t n;
} SpecTexts;

/* A key of `dtype` other than `default`: "logits", "embedding", or the start of
 * canonical names, where {i} matches any layer.                             */
typedef struct {
    const char *key;
    Pos pos;
    Dtype dtype;
} SpecDtype;

typedef struct {
    Dtype default_dtype; /* format of matrices that match no key */
    const SpecDtype *at; /* formats of matrices that match a key, in the
                            order of the spec */
    int n;
} SpecDtypes;

typedef struct { /* ids of tokens */
    const int32_t *at;
    int64_t n;
} SpecIds;

/* Scaling of the frequencies of rotary positions, for texts longer than those
 * of the training; see spec_rotary(). */
typedef struct {
    double step; /* factor of positions */
    PosScaling type;
    double factor;                                   /* 0: not given */
    int64_t original_max_len;                        /* -1: not given */
    double low_freq, high_freq;                      /* type llama3 only */
    double beta_fast, beta_slow, mscale, mscale_all; /* type yarn only */
    bool truncate;                                   /* type yarn only */
    SpecReals short_factor, long_factor;             /* type longrope only */
    double attention_factor; /* 0: computed from the other members */
} SpecScaling;

/* One row of names: maps a canonical prefix to a prefix in the file. */
typedef struct SpecName SpecName;
struct SpecName {
    const char *ours, *theirs; /* dot-separated names; {i} is the layer's
                                  number, also in `theirs` unless all layers
                                  share a tensor; theirs NULL: not given */
    Pos key, pos;              /* positions of `ours` and `theirs` */
    int transpose;             /* 1: yes; 0: no; -1: not given */
    bool scales, adds;         /* true if `scale`, `add` are given */
    double scale, add;         /* an element w becomes scale w + add */
    /* if a tensor of the file holds several of our weights, their names, among
     * them `ours`; else NULL */
    const char *const *parts;
    int nparts;
    bool by_columns;  /* true: parts are side by side, false: stacked */
    int64_t groups;   /* number of groups, each of which has a share of every
                         part; 0: one group for each key/value head of the
                         side */
    bool is_constant; /* not in the file: all elements equal `constant` */
    double constant;
};

/* The keys that a row may see: those that all members of the mask allow.
 * Without `file`, row i sees one interval of keys. */
typedef struct {
    bool causal;               /* only j <= i */
    bool prefix;               /* rows of the prefix are visible to all rows */
    int64_t window;            /* only |i - j| < window; 0: no limit */
    int64_t block;             /* only i / block == j / block; 0: no limit */
    const unsigned char *file; /* [file_rows][file_columns], each 0 or
                                  1; NULL: no file */
    int64_t file_rows, file_columns; /* max_len of the side; in a model of
                                        `kind: attention`, of the query and
                                        of the key */
} MaskSpec;

/* Returns the parts of a mask except its file. Each part follows `before`; if
 * it has a number, `between` and the number follow it: "_causal_window16". */
char *mask_words(Arena *a, const MaskSpec *m, const char *before,
                 const char *between);

/* Returns true if row i may see row j. m NULL: no mask. prefix: length of the
 * prefix, if the mask has one. */
bool mask_allows(const MaskSpec *m, int64_t i, int64_t j, int64_t prefix);
/* Counts the pairs of rows first .. first + rows - 1 and keys 0 .. keys - 1
 * that the mask allows, without a prefix. */
int64_t mask_pairs(const MaskSpec *m, int64_t first, int64_t rows,
                   int64_t keys);

typedef enum { SideEncoder, SideDecoder } Side;

/* Marks a field that may differ between layers. A model's Spec has only its
 * default, so read it from spec_layer(), or query all layers with
 * spec_any_layer() or spec_of_layers(). Other reads cause a warning unless the
 * file defines READS_LAYERS. */
#ifdef READS_LAYERS
#define LAYER
#else
#define LAYER __attribute__((deprecated("layers differ: spec_layer()")))
#endif

/* Fields of one stack. A model of `kind: attention` uses those of SideEncoder.
 */
typedef struct {
    int64_t N;             /* number of layers; 0: no such stack */
    LAYER int64_t h, h_kv; /* heads of queries, and of keys and values */
    LAYER int64_t d_k, d_v, d_ff;
    int64_t max_len;     /* most positions; 0: no such stack; kind attention:
                            query rows, and for SideDecoder key rows */
    LAYER MaskSpec mask; /* mask of self-attention */
} SpecSide;

typedef struct { /* lengths that are constants of the emitted C, or -1 */
    int64_t source, target, /* rows per sequence; of the target, new rows */
        query, key;  /* rows per sequence in a model of `kind: attention` */
    int64_t past;    /* rows of the target that precede the new ones */
    int64_t batch;   /* sequences of a call */
    int64_t threads; /* 1: a call uses only the caller's thread */
    bool unroll;     /* emit every layer's code, without loops */
} SpecFix;

typedef struct Spec Spec;
struct Spec {
    const char *path, *folder; /* path and folder of the spec file */
    uint64_t hash;             /* XXH3 of the canonical form of all fields */
    int64_t version;           /* version of the format (`attnc:`) */
    const char *name;
    ModelKind kind;
    int64_t d_model;
    SpecSide side[2]; /* stacks, by Side */
    SpecFix fix;
    unsigned layers_of;       /* bits by Side: stacks with layers described
                                 by this Spec; the other stacks have patterns */
    SpecVocab source, target; /* equal if vocab_shared */
    bool vocab_shared;
    int64_t token_start, token_end, token_pad, token_unknown; /* -1: none */
    SpecIds token_ends;           /* all end tokens; the first is token_end */
    int64_t token_unknown_target; /* unknown token of the target;
                                     token_unknown is the source's */
    VocabSplit split_source, split_target;
    bool append_end; /* the end token is appended to source text */
    LAYER PosType positions;
    LAYER BiasKind pos_scores; /* bias of scores, if `positions` adds none */
    double pos_base;
    int64_t pos_first; /* position of the first row, 0 in the paper; for
                          learned positions, its row of the table */
    PosLayout pos_layout;
    LAYER int64_t pos_dims;    /* rotary: rotated columns of a head, rounded
                                  up to even; 0: all d_k */
    LAYER SpecScaling scaling; /* scaling of rotary positions */
    LAYER int64_t pos_buckets, pos_max_distance; /* sizes of relative
                                                    positions */
    PosExponent pos_exponent;
    LAYER MixType mix;
    LAYER CellType mix_cell;
    LAYER RecurAct mix_act;  /* activation of CellSimple */
    LAYER int64_t mix_width; /* size of a state in each direction */
    LAYER Direction mix_direction;
    LAYER int64_t mix_kernel, mix_dilation; /* rows that an output reads;
                                               step between them */
    LAYER bool mix_depthwise; /* convolves each column separately */
    LAYER bool mix_pointwise; /* a product follows the depthwise convolution */
    LAYER bool mix_gated;     /* a * sigmoid(b), where a and b are the halves
                                 of a product's columns */
    LAYER int64_t mix_inner;  /* columns between two convolutions; 0: there
                                 is only one */
    LAYER StartType mix_start;
    LAYER bool attention_cross; /* the decoder attends to the encoder's rows */
    LAYER NormType norm_type;
    LAYER NormPlace norm_place;
    LAYER double norm_eps;
    bool norm_final;           /* a norm after each stack */
    LAYER bool norm_bias;      /* the norm adds beta, which rms never has */
    bool norm_embedding;       /* a norm follows the embeddings */
    LAYER bool norm_attention; /* the attention sublayer has a norm */
    LAYER bool norm_ffn;
    LAYER NormQk norm_qk;
    LAYER ResidualType residual;
    LAYER double residual_scale; /* s in x + s f(x); 1: none */
    LAYER ResidualLearned residual_learned;
    LAYER Parallel parallel; /* x + attention(norm x) + ffn(norm x) */
    LAYER ScoreType attention_score;
    LAYER Normalizer attention_normalizer;
    LAYER double attention_scale;   /* factor of scores; 0: 1 / sqrt(d_k), or
                                       1 for additive scores */
    LAYER double attention_softcap; /* 0: none */
    LAYER bool attention_sinks;     /* heads have a learned score without key */
    LAYER double attention_clip;    /* limit of |q|, |k|, |v|; 0: none */
    LAYER int64_t latent_kv;   /* width of the latent rows from which keys and
                                  values are projected; 0: the layer's rows */
    LAYER int64_t latent_q;    /* width of the latent rows of queries; 0: the
                                  layer's rows */
    LAYER int64_t latent_rope; /* columns of a key that all heads share, the
                                  only rotated ones: spec_shared_columns() */
    LAYER double latent_eps; /* eps of the norms of latent rows; 0: norm_eps */
    LAYER Activation activation;
    LAYER bool gated; /* w2 (act(w1 x) * (w3 x)) */
    LAYER FfnType ffn;
    LAYER int64_t ffn_experts, ffn_chosen; /* to ffn_shared_gate: FfnExperts */
    LAYER RouteSoftmax ffn_softmax;
    LAYER bool ffn_normalize;   /* gate weights of chosen experts sum to 1 */
    LAYER bool ffn_router_bias; /* the router's product adds a bias */
    LAYER bool ffn_correction;  /* another bias is added to the scores, only
                                   to choose the top_k */
    LAYER int64_t ffn_groups, ffn_groups_chosen;
    LAYER GroupScore ffn_group_score;
    LAYER double ffn_factor;    /* factor of the gate weights */
    LAYER int64_t ffn_shared;   /* columns of the shared experts; 0: none */
    LAYER bool ffn_shared_gate; /* the shared experts have a sigmoid gate */
    LAYER bool bias_q, bias_k, bias_v, bias_o, bias_mix, bias_ffn;
    bool bias_logits;
    bool has_q, has_k, has_v, has_o; /* kind attention: true if the
                                        projection is present */
    EmbedScale embed_scale;
    double embed_factor; /* factor if embed_scale is EmbedScaleNumber */
    int embed_tie;       /* Tie bits: tables that share a tensor */
    int64_t embed_types; /* token types of the first stack; 0: none */
    int64_t embed_width; /* columns of the tables of tokens */
    EmbedProject embed_project;
    bool embed_bias;                        /* bias of embed_project */
    InputType input;                        /* input of the first stack */
    int64_t input_width;                    /* InputReal: columns of a row */
    SpecReals input_kernels, input_strides; /* kernels and strides of the
                                               convolutions in front of the
                                               encoder */
    Activation input_act;
    /* channels, lines and columns of an image; lines and columns of a patch */
    SpecReals input_image, input_patch;
    bool input_class_token;        /* InputReal: row 0 is learned */
    bool input_distillation_token; /* InputReal: row 1 is learned too */
    double logits_scale;           /* 0: none */
    double logits_softcap;         /* 0: none */
    HeadType head;
    PoolType head_pool;   /* HeadPool, HeadClassify: how rows become one */
    bool head_normalize;  /* HeadPool: the result is scaled to length 1 */
    int64_t head_classes; /* HeadClassify, HeadTokenClassify: number of
                             classes */
    int64_t head_width; /* width of the dense layer before the head; 0: none */
    Activation head_act;
    bool head_bias, head_norm; /* the dense layer has a bias, and a norm
                                  after its activation */
    SearchRule search_rule;
    int64_t search_beam;
    PenaltyRule search_penalty;
    double search_alpha;
    SpecIds search_prefix;   /* first tokens of every answer */
    SpecIds suppress;        /* sequences of tokens that answers cannot
                                contain; each is preceded by its length */
    SpecIds suppress_first;  /* tokens that cannot begin an answer */
    int64_t max_output_plus; /* most tokens of an answer beyond the length of
                                the input; -1: not set */
    int64_t max_output;      /* most tokens of an answer; -1: not set */
    struct attn_chat chat;   /* NULL for texts that are not given */
    bool chat_system_inside;
    ChatTrim chat_trim;
    /* Spec of each layer, by side: the layer's row of the pattern, or this
     * Spec; NULL: there is no pattern */
    const Spec *const *layer[2];
    const char *layers; /* the patterns as text; NULL: there are none */
    SpecDtypes dtype;
    Arithmetic arithmetic;
    const char *weights; /* path as in the spec; NULL: seeded random numbers */
    Pos weights_pos;
    SpecTexts unused; /* patterns for names of the file's tensors that the
                         model does not use */
    VEC(SpecName) names;
    Index name_rows; /* index in `names` of each `ours` */
    /* position of each field's value, by row of the field table (fields.c).
     * spec_pos() returns it, or `top`, the top of the file, if the field has
     * none. */
    Pos *field_pos;
    Pos top;
};

/* Reads a spec, the specs that it extends, and overrides (`sets`, each
 * "key.path=value"), and checks the result. Returns NULL after reporting all
 * errors. text: contents of a spec that is not in a file; NULL: read the
 * file. */
Spec *spec_read(Arena *a, const char *path, const Source *text,
                const char *const *sets, int nsets);
static inline Spec *spec_load(Arena *a, const char *path,
                              const char *const *sets, int nsets)
{
    return spec_read(a, path, NULL, sets, nsets);
}
Pos spec_pos(const Spec *s, const char *field);
/* Returns the rows per sequence if `fix` makes them constant, else -1. In a
 * model of `kind: attention`, the sides are query and key. */
static inline int64_t spec_fixed_rows(const Spec *s, Side side)
{
    const SpecFix *f = &s->fix;

    if (s->kind == KindAttention)
        return side == SideEncoder ? f->query : f->key;
    return side == SideEncoder ? f->source : f->target;
}
/* Returns the rows of real input (frames) for one row of the encoder. */
static inline int64_t spec_input_frames(const Spec *s)
{
    double frames = 1;

    for (int64_t i = 0; i < s->input_strides.n && frames < 0x1p40; i++)
        frames *= s->input_strides.at[i];
    return (int64_t)frames;
}
/* Returns the number of learned rows in front of the real input. */
static inline int spec_input_learned(const Spec *s)
{
    return s->input_class_token + s->input_distillation_token;
}
/* Returns true if a decoder layer starts with the final state of an encoder
 * layer. */
bool spec_sourced(const Spec *s);
/* Returns the Spec of a layer, counted from 0. */
static inline const Spec *spec_layer(const Spec *s, Side side, int64_t layer)
{
    return s->layer[side] ? s->layer[side][layer] : s;
}
/* Returns true if attention and the feed-forward network of a layer read the
 * same rows. */
bool spec_is_parallel(const Spec *layer);
/* Returns true if any layer of a side passes the test. A model of `kind:
 * attention` counts as one layer. */
typedef bool LayerTest(const Spec *layer, Side side);
bool spec_any_layer(const Spec *s, Side side, LayerTest *fits);
/* Returns true if a layer of the side has a mask with a prefix. */
bool spec_has_prefix(const Spec *s, Side side);
/* Returns the value of an integer key of the side, e.g. "d_ff", if it is equal
 * in all layers, else 0. */
int64_t spec_of_layers(const Spec *s, Side side, const char *key);
/* Shape of cached keys and values. Layers of equal shape share pages. */
typedef struct {
    int64_t window; /* rows that a row reads, itself included; 0: all */
    int64_t h_kv, d_k, d_v;
} CacheForm;
/* Returns the cache's shape for a decoder layer's own rows if `self`, else for
 * the encoder's rows. */
CacheForm spec_cache(const Spec *s, bool self);
bool same_cache(CacheForm a, CacheForm b);
/* Returns true if the field was set: in the spec, in a spec that it extends, or
 * by --set. */
bool spec_has(const Spec *s, const char *field);
/* Returns the bias that positions add to the scores of self-attention. */
BiasKind spec_score_bias(const Spec *s);
/* Returns true if the model generates answers token by token. */
bool spec_generates(const Spec *s);
/* spec_chats() returns true if the spec describes the turns of a conversation.
 * spec_chat() returns the description, with "" for texts that are not given. */
bool spec_chats(const Spec *s);
struct attn_chat spec_chat(const Spec *s);
/* Sets the ids of tokens that an answer contains only as its end: start and
 * pad. Returns their number. */
int spec_unwritten(const Spec *s, int32_t ids[2]);
/* Returns the search that the spec asks for. The result points to lists of the
 * spec and to `ids`, which spec_unwritten() fills. */
struct attn_search_options spec_search(const Spec *s, int32_t ids[2]);
/* Returns the path to open. A relative path starts at the folder of the file
 * that contains it, one from --set at the current folder. */
char *spec_path(Arena *a, Pos written, const char *path);
/* weight_names.c: returns the name in the weights file of a weight, by the
 * spec's `names`. docs/spec-weights.md lists the canonical names. */
const char *spec_file_name(Arena *a, const Spec *s, const char *canonical);
/* weight_slices.c: finds the elements of a weight in the file. ours: the
 * canonical name with .weight or .bias. Never returns false for a loaded spec,
 * because spec_load() checks that all names fit. */
bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out);
/* Returns the name under which a tensor is packed: the canonical name, with {i}
 * for the layer's number if the layers of a stack share the tensor and its
 * format.                                                                   */
const char *spec_packed_name(Arena *a, const Spec *s, const char *canonical);
/* Returns true if `unused` lists the tensor of the file. */
bool spec_leaves_out(const Spec *s, const char *tensor);
/* dtypes.c: returns the format of a matrix. readers: its Read bits; a tied
 * table has several. */
Dtype spec_dtype(const Spec *s, const char *canonical, int readers);
/* names_check.c: checks the spec's `names` and the keys of `dtype` against the
 * weights of its model. Returns false after reporting all errors.           */
typedef struct {
    const char *name; /* canonical name with .weight or .bias */
    int layer;   /* number of the layer in its stack; -1: outside the layers */
    int readers; /* Read bits of a matrix */
    int rank;
    int64_t dim[3];
} WeightName;
bool spec_names_fit(Arena *a, const Spec *s, const WeightName *weights, int n);
/* names_propose.c: proposes rows of `names` on stderr for a file that lacks the
 * expected names. Prints nothing if no tensor resembles one of the model's. */
void spec_propose_names(Arena *a, const PackList *list,
                        const Safetensors *file);
/* Returns the columns of a self-attention key that all heads share; 0 without
 * latent attention. */
int64_t spec_shared_columns(const Spec *s);
/* rotary.c: returns the number of rotated columns of a head, which is even. */
int64_t spec_rotary_columns(const Spec *s, Side side);
/* Sets rate[columns / 2] to the angles by which each pair of columns turns from
 * one position to the next, for positions below max_len. Returns the factor of
 * the rotated columns of queries and keys.                                  */
double spec_rotary(const Spec *s, int64_t columns, int64_t max_len,
                   double *rate);
/* Pages of the reference: rows of reference_pages.h. */
typedef enum {
    ReferenceAll,
#define REFERENCE(id, ...) Reference##id,
#include "spec/reference_pages.h"
} ReferencePage;
void spec_print_page(FILE *out, bool markdown, ReferencePage page);
/* attnc fields KEY: prints a field or a group of fields. */
void spec_print_fields(FILE *out, bool markdown, const char *key);
const char *
spec_field_key(int i); /* key of field i, e.g. "d_model"; NULL after the last */
/* Returns true if the path names a field or a group of fields. */
bool spec_has_field(const char *path);
/* Returns true if the path names a single field. */
bool spec_field_one(const char *path);
/* Returns a field's value in the spec as text; "" if it has none. */
const char *spec_field_text(Arena *a, const Spec *s, const char *path);
/* Returns the field that an unknown path means: another tool's word, or a
 * misspelled field; NULL if none is near. */
const char *spec_field_near(Arena *a, const char *path);
char *spec_schema(Arena *a); /* returns the JSON Schema of specs */
/* field_shown.c: returns the value of field i as a spec would write it; NULL if
 * it has none, or has no meaning for this kind of model. */
const char *spec_field_value(Arena *a, const Spec *s, int i);
/* Returns the keys of all fields that the shorthand i sets, ending with NULL;
 * NULL if field i is no shorthand. */
const char *const *spec_field_parts(int i);
/* Returns the file's side of a row of `names`, as a spec would write it. */
const char *spec_name_value(Arena *a, const SpecName *n);
/* attnc fields --format=json: returns what spec_print_fields() would print. */
char *spec_fields_json(Arena *a, const char *key);

#endif
