/* spec.h: the spec as the compiler reads it: every field typed, every default
 * filled in.
 *
 * In:  a YAML file, the files that it extends, --set.
 * Out: a Spec that is whole and right, or every error of it, each with its
 *      place.
 * Public beside it: activations.h, yaml.h.                                  */
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
/* What is added to the score of query row i and key row j. */
typedef enum { BiasNone, BiasAlibi, BiasRelative } BiasKind;
typedef enum { LayoutInterleaved, LayoutHalves } PosLayout;
typedef enum { TrimNone, TrimTurns, TrimAll } ChatTrim; /* as ATTN_TRIM_ */
typedef enum { ExponentPaper, ExponentTensor2tensor } PosExponent;
/* 2i/d of the paper; i/(d/2-1) of tensor2tensor, OpenNMT */
typedef enum {
    ScalingNone,
    ScalingDynamic,
    ScalingLlama3,
    ScalingYarn,
    ScalingLongrope
} PosScaling;
typedef enum { MixAttention, MixRecurrent, MixConvolution } MixType;
typedef enum { CellSimple, CellGru, CellLstm } CellType;
typedef enum { RecurTanh, RecurRelu } RecurAct; /* of simple cells */
typedef enum { ScanForward, ScanBackward, ScanBoth } Direction;
typedef enum { StartZeros, StartSource } StartType; /* of a decoder */
typedef enum { NormLayer, NormRms } NormType;
typedef enum { PlacePost, PlacePre, PlaceInside, PlaceBoth } NormPlace;
typedef enum { ResidualAdd, ResidualNone } ResidualType;
/* weights that a sublayer's rows are multiplied by: one, one of each column */
typedef enum { LearnNone, LearnScalar, LearnColumns } ResidualLearned;
/* of a query and a key: q k; v tanh(q + k) */
typedef enum { ScoreDot, ScoreAdditive } ScoreType;
/* of the scores of a query: e^x / sum e^x; 1 / (1 + e^-x) of each by itself */
typedef enum { NormalizerSoftmax, NormalizerSigmoid } Normalizer;
/* of queries and keys: each head's columns, or all */
typedef enum { QkNone, QkHeads, QkWidth } NormQk;
typedef enum {
#define ACT(name, ...) Act##name,
#include "spec/fields/activations.h"
    ActCount
} Activation;
typedef struct { /* a spec's words; plain: in dumps and names of kernels too */
    const char *plain;
    const char *gated; /* NULL: there is no such form */
    Activation other;  /* of the gated form's other factor */
} ActText;
extern const ActText act_text[ActCount];
typedef enum { PoolNone, PoolMean, PoolClass, PoolLast, PoolMax } PoolType;
typedef enum { EmbedScaleNone, EmbedScaleSqrt, EmbedScaleNumber } EmbedScale;
/* what of the embeddings a product takes to d_model */
typedef enum { ProjectNone, ProjectSum, ProjectTokens } EmbedProject;
typedef enum { ParallelNone, ParallelShared, ParallelSeparate } Parallel;
typedef enum { FfnDense, FfnNone, FfnExperts } FfnType;
/* what experts are chosen by, and weighed by: softmax over all, or over those
 * that were chosen; sigmoids */
typedef enum { RouteBefore, RouteAfter, RouteSigmoid } RouteSoftmax;
typedef enum { GroupMax, GroupPair } GroupScore;
typedef enum { InputTokens, InputReal } InputType;
/* what is made of the last layer's rows */
typedef enum {
    HeadDefault, /* rows of an encoder, logits of a decoder */
    HeadRows,
    HeadLogits,
    HeadPool,
    HeadClassify,
    HeadTokenClassify
} HeadType;
/* by the numbers of ATTN_RULE_EXACT .., ATTN_PENALTY_NONE .. */
typedef enum { SearchExact, SearchRecorded } SearchRule;
typedef enum { PenaltyNone, PenaltyGnmt, PenaltyPower } PenaltyRule;
typedef enum { SplitCharacters, SplitSpaces } VocabSplit;
/* what products of integers compute in */
typedef enum {
    ArithmeticF32,
    ArithmeticInt8,
    ArithmeticInt15,
    Arithmetics
} Arithmetic;

enum { TieSource = 1, TieTarget = 2, TieLogits = 4 }; /* embedding.tie bits */

/* What reads a matrix of weights, as bits; 0: it is none, and f32. */
enum { ReadByProduct = 1, ReadByLookUp = 2, ReadByLogits = 4 };

typedef struct {
    int64_t size;     /* from vocab.*.size or lines of the file */
    const char *file; /* relative to the spec's folder; NULL: none */
    Pos file_pos;
} SpecVocab;

typedef struct { /* a list of numbers */
    const double *at;
    int64_t n;
} SpecReals;

typedef struct { /* texts, each up to MostNameBytes */
    const char *const *at;
    int64_t n;
} SpecTexts;

/* One key of dtype, but `default`: "logits", "embedding", or the beginning of
 * canonical names; {i} is any layer.                                        */
typedef struct {
    const char *key;
    Pos pos;
    Dtype dtype;
} SpecDtype;

typedef struct {
    Dtype default_dtype; /* of what no key is for */
    const SpecDtype *at; /* by key, in order */
    int n;
} SpecDtypes;

typedef struct { /* ids of tokens */
    const int32_t *at;
    int64_t n;
} SpecIds;

/* How the frequencies of rotary positions are stretched for texts that are
 * longer than those of the training; see spec_rotary().                     */
typedef struct {
    double step; /* positions are multiplied by this */
    PosScaling type;
    double factor;                                   /* 0: not given */
    int64_t original_max_len;                        /* -1: not given */
    double low_freq, high_freq;                      /* llama3 */
    double beta_fast, beta_slow, mscale, mscale_all; /* yarn */
    bool truncate;                                   /* yarn */
    SpecReals short_factor, long_factor;             /* longrope */
    double attention_factor; /* 0: follows from the others */
} SpecScaling;

/* One row of names: canonical prefix -> file's prefix. */
typedef struct SpecName SpecName;
struct SpecName {
    const char *ours, *theirs; /* dot-separated; {i} is the layer, in theirs
                                  too unless all layers have one tensor;
                                  theirs NULL: none is named */
    Pos key, pos;              /* of what is ours, and theirs */
    int transpose;             /* 1, 0; -1: not said */
    bool scales, adds;         /* what follows is said: */
    double scale, add;         /* an element w becomes scale w + add */
    /* A tensor of the file that holds several of ours: their names, one of
     * them this row's; NULL: it holds one.                                  */
    const char *const *parts;
    int nparts;
    bool by_columns;  /* side by side, not one above the other */
    int64_t groups;   /* each with a share of every part; 0: one
                         for each key/value head of the side */
    bool is_constant; /* the file has none: all elements are .. */
    double constant;
};

/* Which keys a row may see: those that all parts of the mask allow. Row i sees
 * one interval of keys, but with `file`.                                    */
typedef struct {
    bool causal;               /* none after it, j <= i */
    bool prefix;               /* but rows of the prefix are seen by all */
    int64_t window;            /* |i - j| < window; 0: any */
    int64_t block;             /* i / block == j / block; 0: any */
    const unsigned char *file; /* [file_rows][file_columns], 0 or 1 */
    int64_t file_rows, file_columns; /* max_len of the side; kind
                               attention: of the query, of the key */
} MaskSpec;

/* Lists the parts of a mask except its file, each after `before` and followed
 * by `between` and its number, if it has one: "_causal_window16". */
char *mask_words(Arena *a, const MaskSpec *m, const char *before,
                 const char *between);

/* Whether row i may see row j, where all see the first `prefix` if it says so;
 * NULL: no mask.                                                            */
bool mask_allows(const MaskSpec *m, int64_t i, int64_t j, int64_t prefix);
/* Pairs that it allows, without a prefix, of rows first .. first + rows - 1 and
 * the keys before `keys`.                                                    */
int64_t mask_pairs(const MaskSpec *m, int64_t first, int64_t rows,
                   int64_t keys);

typedef enum { SideEncoder, SideDecoder } Side;

/* Marks a field that each layer has its own value of. A model's Spec has the
 * value of layers that say nothing else, so a file that reads it must have it
 * of spec_layer(), or ask all layers: spec_any_layer(), spec_of_layers(). Only
 * a file that defines READS_LAYERS reads it without a warning.              */
#ifdef READS_LAYERS
#define LAYER
#else
#define LAYER __attribute__((deprecated("layers differ: spec_layer()")))
#endif

typedef struct {           /* what may differ between the two stacks; */
    int64_t N;             /* kind attention: that of SideEncoder. Layers;
                              0: this side is absent */
    LAYER int64_t h, h_kv; /* heads of queries; of keys and values */
    LAYER int64_t d_k, d_v, d_ff;
    int64_t max_len;     /* positions; 0: side absent; kind attention:
                            query rows, and key rows of SideDecoder */
    LAYER MaskSpec mask; /* of its self-attention */
} SpecSide;

typedef struct { /* lengths that are constants of the emitted C; -1: any */
    int64_t source, target, /* rows of each sequence, those of the target new */
        query, key;         /* the same of kind attention */
    int64_t past;           /* rows of the target before the new ones */
    int64_t batch;          /* sequences of a call */
    int64_t threads;        /* 1: of a call, whatever the caller has */
    bool unroll;            /* layers are written out, one behind the other */
} SpecFix;

typedef struct Spec Spec;
struct Spec {
    const char *path, *folder; /* of the spec file */
    uint64_t hash;             /* XXH3 of the canonical form of all fields */
    int64_t version;           /* attnc: */
    const char *name;
    ModelKind kind;
    int64_t d_model;
    SpecSide side[2]; /* by Side */
    SpecFix fix;
    unsigned layers_of;       /* bits by Side: stacks that have layers as this
                                 says; the others' are rows of a pattern */
    SpecVocab source, target; /* the same values when shared */
    bool vocab_shared;
    int64_t token_start, token_end, token_pad, token_unknown; /* -1: none */
    SpecIds token_ends;           /* all of them, the first is token_end */
    int64_t token_unknown_target; /* token_unknown: of the source */
    VocabSplit split_source, split_target;
    bool append_end; /* source text gets the end token appended */
    LAYER PosType positions;
    LAYER BiasKind pos_scores; /* beside a type that adds nothing to them */
    double pos_base;
    int64_t pos_first; /* position of the first row: paper 0;
                          learned: its row of the table */
    PosLayout pos_layout;
    LAYER int64_t pos_dims;    /* rotary: columns of a head that turn; 0: d_k of
                                  the side; where it is odd, one more */
    LAYER SpecScaling scaling; /* rotary */
    LAYER int64_t pos_buckets, pos_max_distance; /* relative */
    PosExponent pos_exponent;
    LAYER MixType mix;
    LAYER CellType mix_cell;
    LAYER RecurAct mix_act;  /* CellSimple */
    LAYER int64_t mix_width; /* numbers of a state, of each direction */
    LAYER Direction mix_direction;
    LAYER int64_t mix_kernel, mix_dilation; /* rows that one reads; apart */
    LAYER bool mix_depthwise; /* each column by itself, and then, */
    LAYER bool mix_pointwise; /* a product */
    LAYER bool mix_gated;     /* a * sigmoid(b) of a product's halves */
    LAYER int64_t mix_inner;  /* width between two; 0: there is one */
    LAYER StartType mix_start;
    LAYER bool attention_cross; /* a decoder's see the encoder's rows */
    LAYER NormType norm_type;
    LAYER NormPlace norm_place;
    LAYER double norm_eps;
    bool norm_final;           /* one more norm after each stack */
    LAYER bool norm_bias;      /* beta; rms has none */
    bool norm_embedding;       /* one more after the embeddings */
    LAYER bool norm_attention; /* a sublayer has a norm */
    LAYER bool norm_ffn;
    LAYER NormQk norm_qk; /* of queries and keys */
    LAYER ResidualType residual;
    LAYER double residual_scale; /* x + s f(x); 1: none */
    LAYER ResidualLearned residual_learned;
    LAYER Parallel parallel; /* x + attention(norm x) + ffn(norm x) */
    LAYER ScoreType attention_score;
    LAYER Normalizer attention_normalizer;
    LAYER double attention_scale;   /* 0: 1 / sqrt(d_k), additive scores: 1 */
    LAYER double attention_softcap; /* 0: none */
    LAYER bool attention_sinks;     /* a learned score a head, of no key */
    LAYER double attention_clip;    /* of q, k, v; 0: none */
    LAYER int64_t latent_kv;   /* columns that self-attention's keys and values
                                  are made of; 0: the layer's rows are */
    LAYER int64_t latent_q;    /* the same of queries; 0: the layer's rows */
    LAYER int64_t latent_rope; /* columns of a key that all heads have alike,
                                  which alone turn: spec_shared_columns() */
    LAYER double latent_eps;   /* of the norms of those columns; 0: norm_eps */
    LAYER Activation activation;
    LAYER bool gated; /* w2 (act(w1 x) * (w3 x)) */
    LAYER FfnType ffn;
    LAYER int64_t ffn_experts, ffn_chosen; /* FfnExperts; so the rest */
    LAYER RouteSoftmax ffn_softmax;
    LAYER bool ffn_normalize;   /* the chosen weights sum to 1 */
    LAYER bool ffn_router_bias; /* the router's product adds a bias */
    LAYER bool ffn_correction;  /* one more is added for the choice alone */
    LAYER int64_t ffn_groups, ffn_groups_chosen;
    LAYER GroupScore ffn_group_score;
    LAYER double ffn_factor;    /* of the weights */
    LAYER int64_t ffn_shared;   /* columns of the shared experts; 0: none */
    LAYER bool ffn_shared_gate; /* a sigmoid of their own */
    LAYER bool bias_q, bias_k, bias_v, bias_o, bias_mix, bias_ffn;
    bool bias_logits;
    bool has_q, has_k, has_v, has_o; /* kind attention: projection there */
    EmbedScale embed_scale;
    double embed_factor; /* EmbedScaleNumber */
    int embed_tie;       /* Tie bits: these use one tensor */
    int64_t embed_types; /* token types of the first stack; 0: none */
    int64_t embed_width; /* columns of the tables of tokens */
    EmbedProject embed_project;
    bool embed_bias;                        /* of that product */
    InputType input;                        /* of the first stack */
    int64_t input_width;                    /* InputReal */
    SpecReals input_kernels, input_strides; /* of convolutions in front */
    Activation input_act;
    SpecReals input_image, input_patch; /* channels, lines, columns; lines, ..
                                         */
    bool input_class_token;        /* InputReal: row 0 is learned instead */
    bool input_distillation_token; /* and row 1 */
    double logits_scale;           /* 0: none */
    double logits_softcap;         /* 0: none */
    HeadType head;
    PoolType head_pool;   /* HeadPool, HeadClassify */
    bool head_normalize;  /* HeadPool: to length 1 */
    int64_t head_classes; /* HeadClassify, HeadTokenClassify */
    int64_t head_width;   /* of the dense layer in front; 0: none */
    Activation head_act;
    bool head_bias, head_norm; /* act(W x + b), and its norm */
    SearchRule search_rule;
    int64_t search_beam;
    PenaltyRule search_penalty;
    double search_alpha;
    SpecIds search_prefix;   /* first tokens of every answer */
    SpecIds suppress;        /* sequences, each: length, then its tokens */
    SpecIds suppress_first;  /* tokens that are not an answer's first */
    int64_t max_output_plus; /* output limit: input + this; -1: not set */
    int64_t max_output;      /* absolute output limit; -1: not set */
    struct attn_chat chat;   /* texts that are not written: NULL */
    bool chat_system_inside;
    ChatTrim chat_trim;
    /* by side, by layer: this spec as a row of the pattern has it, or this one
     * itself; NULL: there is no pattern                                     */
    const Spec *const *layer[2];
    const char *layers; /* the patterns as text; NULL: there are none */
    SpecDtypes dtype;
    Arithmetic arithmetic;
    const char *weights; /* path as written; NULL: seeded random */
    Pos weights_pos;
    SpecTexts unused; /* patterns of tensors of the file */
    VEC(SpecName) names;
    Index name_rows; /* of them: by `ours` */
    /* where each field was written, by its row in the field table (fields.c);
     * spec_pos(spec, "d_model") looks it up, default: the top of the file */
    Pos *field_pos;
    Pos top;
};

/* Reads, extends, overrides (`sets`: "key.path=value" each), checks. NULL
 * after all errors of the file have been reported. `text` is what the spec has
 * in it, where it is in no file: NULL, the file is read.                    */
Spec *spec_read(Arena *a, const char *path, const Source *text,
                const char *const *sets, int nsets);
static inline Spec *spec_load(Arena *a, const char *path,
                              const char *const *sets, int nsets)
{
    return spec_read(a, path, NULL, sets, nsets);
}
Pos spec_pos(const Spec *s, const char *field);
/* Rows of each sequence that `fix` makes a constant, of kind attention of the
 * query, of the key; -1: any.                                               */
static inline int64_t spec_fixed_rows(const Spec *s, Side side)
{
    const SpecFix *f = &s->fix;

    if (s->kind == KindAttention)
        return side == SideEncoder ? f->query : f->key;
    return side == SideEncoder ? f->source : f->target;
}
/* Rows of real input, frames, that one row of the encoder is made of. */
static inline int64_t spec_input_frames(const Spec *s)
{
    double frames = 1;

    for (int64_t i = 0; i < s->input_strides.n && frames < 0x1p40; i++)
        frames *= s->input_strides.at[i];
    return (int64_t)frames;
}
/* Rows that are learned, before those of real input. */
static inline int spec_input_learned(const Spec *s)
{
    return s->input_class_token + s->input_distillation_token;
}
/* Does a decoder's layer start with the state of its source? */
bool spec_sourced(const Spec *s);
/* layers.c: what layer `layer` of a side is, from 0 on. */
static inline const Spec *spec_layer(const Spec *s, Side side, int64_t layer)
{
    return s->layer[side] ? s->layer[side][layer] : s;
}
/* Do its attention and its network read the same rows? */
bool spec_is_parallel(const Spec *layer);
/* Is it so of any layer of a side; of kind attention, of the block? */
typedef bool LayerTest(const Spec *layer, Side side);
bool spec_any_layer(const Spec *s, Side side, LayerTest *fits);
/* Do rows of a prefix see each other in a layer of that side? */
bool spec_has_prefix(const Spec *s, Side side);
/* The number that all layers of a side have for a key of both: "h", "d_ff"; 0:
 * they differ.                                                              */
int64_t spec_of_layers(const Spec *s, Side side, const char *key);
/* What layers have in common whose keys and values lie in the same pages. */
typedef struct {
    int64_t window; /* rows that a row reads, itself too; 0: all */
    int64_t h_kv, d_k, d_v;
} CacheForm;
/* Of a decoder's layer, for its own rows (`self`) or the encoder's. */
CacheForm spec_cache(const Spec *s, bool self);
bool same_cache(CacheForm a, CacheForm b);
/* The field was written: in the file, in one that it extends, by --set. */
bool spec_has(const Spec *s, const char *field);
/* What positions add to the scores of self-attention. */
BiasKind spec_score_bias(const Spec *s);
/* Does the model write answers, token by token? */
bool spec_generates(const Spec *s);
/* Does it say how turns of a conversation are told apart? Then spec_chat() is
 * what it says, with "" for texts that are not written.                     */
bool spec_chats(const Spec *s);
struct attn_chat spec_chat(const Spec *s);
/* Ids that an answer never has, unless they end it: start, pad. How many. */
int spec_unwritten(const Spec *s, int32_t ids[2]);
/* Returns the search that the spec asks for. Its lists are the spec's, and
 * `ids`, which becomes the ids that an answer never has.                    */
struct attn_search_options spec_search(const Spec *s, int32_t ids[2]);
/* The path to open: relative ones start at the folder of the file in which
 * they were written, those of --set at the current one.                     */
char *spec_path(Arena *a, Pos written, const char *path);
/* names.c: the name in the weights file of a canonical name, by the
 * spec's `names`; docs/spec.md lists the canonical ones.                    */
const char *spec_file_name(Arena *a, const Spec *s, const char *canonical);
/* weight_slices.c: where in the file the elements of a tensor are. `ours` is
 * the canonical name with its .weight or .bias. spec_load has seen that all
 * fit: false never comes of a loaded spec.                                  */
bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out);
/* The name under which it is packed: the canonical one, or, where the layers of
 * a stack have one tensor between them and store it alike, with {i} for the
 * layer's number.                                                           */
const char *spec_packed_name(Arena *a, const Spec *s, const char *canonical);
/* Is the tensor of the file one that `unused` lists? */
bool spec_leaves_out(const Spec *s, const char *tensor);
/* dtypes.c: how the matrix of that canonical name is stored. `readers`: the
 * bits of what reads it, of a tied table several.                           */
Dtype spec_dtype(const Spec *s, const char *canonical, int readers);
/* names_check.c: the spec's `names` and the keys of `dtype` against the weights
 * that its model has. False after all errors have been reported.            */
typedef struct {
    const char *name; /* canonical, with .weight or .bias */
    int layer;        /* in its stack; -1: outside the layers */
    int readers;      /* of a matrix, by bits */
    int rank;
    int64_t dim[3];
} WeightName;
bool spec_names_fit(Arena *a, const Spec *s, const WeightName *weights, int n);
/* names_propose.c: rows of names on stderr, for a file whose names are not as
 * the model's list says; nothing where no tensor looks like one of ours.    */
void spec_propose_names(Arena *a, const PackList *list,
                        const Safetensors *file);
/* Columns of a key of self-attention that all heads have alike; with latent
 * attention alone there are some.                                           */
int64_t spec_shared_columns(const Spec *s);
/* rotary.c: columns that turn, an even number. */
int64_t spec_rotary_columns(const Spec *s, Side side);
/* The angle by which each pair of so many columns turns from one position to
 * the next, in rate[columns / 2], where no position is max_len or beyond.
 * Returns the factor of the turned columns of queries and keys.             */
double spec_rotary(const Spec *s, int64_t columns, int64_t max_len,
                   double *rate);
/* attnc fields: all, or those of a key: a field's, or of a group of them. */
void spec_print_fields(FILE *out, bool markdown, const char *key);
const char *spec_field_key(int i); /* from 0: "d_model"; NULL: no more */
/* Does a field have that path, or begin with it? One field alone. */
bool spec_has_field(const char *path);
bool spec_field_one(const char *path);
/* Its value in the spec, as text; "": it has none. */
const char *spec_field_text(Arena *a, const Spec *s, const char *path);
/* The field that is meant by a path that none has, by another tool's word or a
 * misspelled one; NULL: none is near.                                        */
const char *spec_field_near(Arena *a, const char *path);
char *spec_schema(Arena *a); /* of a spec, a JSON Schema */
/* field_shown.c: the value of field i, from 0, as it would be written; NULL: it
 * has no meaning for this kind of model, or no value.                       */
const char *spec_field_value(Arena *a, const Spec *s, int i);
/* The keys that one value of field i is given to, NULL last; NULL: it has a
 * value of its own. */
const char *const *spec_field_parts(int i);
const char *spec_name_value(Arena *a, const SpecName *n); /* what is theirs */
char *spec_fields_json(Arena *a, const char *key);        /* the same */

#endif
