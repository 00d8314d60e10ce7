/* spec.h: the spec as the compiler reads it: fields typed, defaults filled in.
 *
 * In:  a YAML file, the files that it extends, --set.
 * Out: a complete, checked Spec, or all its errors, each with its position.
 * Other public headers: words.h, arithmetic.h, activations.h, score_forms.h,
 * reference_pages.h, yaml.h. */
#ifndef ATTNC_SPEC_H
#define ATTNC_SPEC_H

#include "base/base.h"
#include "runtime/base/generate.h"
#include "runtime/text/chat.h"
#include "runtime/text/text_task.h"
#include "spec/arithmetic.h"
#include "spec/words.h"

enum { MostTextBytes = 16384 }; /* of a text, such as chat.system.text */

/* Bits of embedding.tie. */
enum { TieSource = 1, TieTarget = 2, TieLogits = 4 };

/* Bits for the uses of a weight matrix; 0: not a matrix, so always f32. */
enum { ReadByProduct = 1, ReadByLookUp = 2, ReadByLogits = 4, ReadByScan = 8 };

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

/* A key of `dtype` other than `default`: "logits", "embedding", or the
 * beginning of canonical names, in which {i} matches any layer. */
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

/* Scaling of the rotary frequencies for texts longer than the training texts;
 * see spec_rotary(). */
typedef struct {
    double step; /* factor by which positions are multiplied */
    PosScaling type;
    double factor;                                   /* 0: not given */
    int64_t original_max_len;                        /* -1: not given */
    double low_freq, high_freq;                      /* type llama3 only */
    double beta_fast, beta_slow, mscale, mscale_all; /* type yarn only */
    bool truncate;                                   /* type yarn only */
    SpecReals short_factor, long_factor;             /* type longrope only */
    double attention_factor; /* 0: computed from the other members */
    double query_log;        /* growth of queries; 0: they do not grow */
} SpecScaling;

/* One row of `names`. It maps a canonical prefix to a prefix in the file. */
typedef struct SpecName SpecName;
struct SpecName {
    const char *ours, *theirs; /* names separated by dots; {i} is the layer's
                                  number, in `theirs` too unless all layers
                                  share a tensor; `theirs` NULL: not given */
    Pos key, pos;              /* positions of `ours` and `theirs` */
    int transpose;             /* 1: yes; 0: no; -1: not given */
    bool scales, adds;         /* true if `scale`, `add` are given */
    double scale, add;         /* an element w becomes scale w + add */
    /* names of the weights that a tensor of the file holds, including `ours`;
     * NULL: the tensor holds only one weight */
    const char *const *parts;
    int nparts;
    bool by_columns;  /* true: parts are side by side (columns); false: stacked
                         (rows) */
    int64_t groups;   /* number of groups, each of which contains a share of
                         every part; 0: one group for each key/value head of the
                         side */
    bool is_constant; /* not in the file; all elements equal `constant` */
    double constant;
};

/* The keys that a row may attend to: those that every member of the mask
 * allows. Without `file`, the keys of a row form one interval. */
typedef struct {
    bool causal;               /* only j <= i */
    bool prefix;               /* rows of the prefix are visible to all rows */
    bool given;                /* only rows of the prefix are visible; without
                                  one, all rows. Other rows fill a query */
    int64_t window;            /* only |i - j| < window; 0: no limit */
    int64_t block;             /* only i / block == j / block; 0: no limit */
    const unsigned char *file; /* [file_rows][file_columns], each 0 or
                                  1; NULL: no file */
    int64_t file_rows, file_columns; /* max_len of the side; in a model of
                                        `kind: attention`, of the query and
                                        of the key */
} MaskSpec;

/* Returns the mask's parts, except the file, as text. `before` precedes each
 * part, and `between` separates a part from its number: "_causal_window16". */
char *mask_words(Arena *a, const MaskSpec *m, const char *before,
                 const char *between);

/* Returns true if row i may attend to row j. m NULL: no mask. `prefix` is the
 * length of the prefix, if the mask has one or `given`. */
bool mask_allows(const MaskSpec *m, int64_t i, int64_t j, int64_t prefix);
/* Returns how many pairs of a row in first .. first + rows - 1 and a key in 0
 * .. keys - 1 the mask allows, without a prefix. */
int64_t mask_pairs(const MaskSpec *m, int64_t first, int64_t rows,
                   int64_t keys);

typedef enum { SideEncoder, SideDecoder } Side;

/* Marks a field that may differ between layers. A model's Spec has only the
 * default of such a field, so read it from spec_layer(), or query all layers
 * with spec_any_layer() or spec_of_layers(). Other reads cause a compiler
 * warning unless the file defines READS_LAYERS. */
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
    int64_t max_len;     /* maximum number of positions; 0: no such stack;
                            kind attention: query rows and, for SideDecoder,
                            key rows */
    LAYER MaskSpec mask; /* mask of self-attention */
} SpecSide;

typedef struct { /* lengths that are constants in the emitted C, or -1 */
    int64_t source, target, /* rows per sequence; for the target, new ones */
        query, key;  /* rows per sequence in a model of `kind: attention` */
    int64_t past;    /* target rows before the new ones */
    int64_t batch;   /* number of sequences in a call */
    int64_t threads; /* 1: a call runs only on the caller's thread */
    int64_t ranks;   /* number of processes that divide the model */
    bool sum_ranks;  /* these also add sums of floats */
    bool unroll;     /* emits each layer's code separately */
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
    unsigned layers_of;       /* stacks, as bits by Side, whose layers this Spec
                                 describes; the other stacks have patterns */
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
    int64_t pos_first; /* position of the first row, 0 in the paper; for learned
                          positions, the first row of the table */
    PosLayout pos_layout;
    LAYER int64_t pos_dims;    /* rotary: columns of a head that are rotated,
                                  rounded up to even; 0: all d_k */
    LAYER SpecScaling scaling; /* scaling of rotary positions */
    LAYER int64_t pos_buckets, pos_max_distance; /* sizes of relative
                                                    positions */
    PosExponent pos_exponent;
    LAYER MixType mix;
    LAYER CellType mix_cell;
    LAYER RecurAct mix_act;  /* activation of CellSimple */
    LAYER int64_t mix_width; /* columns of a state, per direction */
    LAYER Direction mix_direction;
    LAYER int64_t mix_kernel, mix_dilation; /* number of rows that an output
                                               reads; distance between them */
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
    LAYER bool norm_again; /* place post: attention has a second norm, of its
                              input plus what the first one gives */
    LAYER NormQk norm_qk;
    LAYER bool norm_qk_rotated; /* after rotary positions, not before */
    LAYER ResidualType residual;
    LAYER double residual_scale; /* s in x + s f(x); 1: none */
    LAYER ResidualLearned residual_learned;
    LAYER Parallel parallel; /* x + attention(norm x) + ffn(norm x) */
    LAYER ScoreType attention_score;
    LAYER Normalizer attention_normalizer;
    LAYER double attention_scale;    /* factor of scores; 0: 1 / sqrt(d_k), or 1
                                        for additive scores */
    LAYER double attention_softcap;  /* 0: none */
    LAYER bool attention_sinks;      /* each head has a learned score that
                                        belongs to no key */
    LAYER double attention_clip;     /* limit of |q|, |k|, |v|; 0: none */
    LAYER bool attention_clip_norms; /* q and k are limited after norm_qk */
    LAYER int64_t latent_kv;   /* width of the latent rows from which keys and
                                  values are projected; 0: the layer's rows */
    LAYER int64_t latent_q;    /* width of the latent rows of queries; 0: the
                                  layer's rows */
    LAYER int64_t latent_rope; /* columns of a key that all heads share, the
                                  only rotated ones; see
                                  spec_shared_columns() */
    LAYER double latent_eps; /* eps of the norms of latent rows; 0: norm_eps */
    LAYER Activation activation;
    LAYER bool gated; /* w2 (act(w1 x) * (w3 x)) */
    LAYER FfnType ffn;
    LAYER int64_t ffn_experts, ffn_chosen; /* up to ffn_shared_gate: for
                                              FfnExperts */
    LAYER RouteSoftmax ffn_softmax;
    LAYER bool ffn_normalize;   /* gate weights of chosen experts sum to 1 */
    LAYER bool ffn_router_bias; /* the router's product adds a bias */
    LAYER bool ffn_correction;  /* a bias is added to the scores for the
                                   selection of the top_k only */
    LAYER int64_t ffn_groups, ffn_groups_chosen;
    LAYER GroupScore ffn_group_score;
    LAYER double ffn_factor;    /* factor of the gate weights */
    LAYER int64_t ffn_shared;   /* columns of the shared experts; 0: none */
    LAYER bool ffn_shared_gate; /* the shared experts have a sigmoid gate */
    LAYER bool bias_q, bias_k, bias_v, bias_o, bias_mix, bias_ffn, bias_w2;
    bool bias_logits;
    bool has_q, has_k, has_v, has_o; /* kind attention: true if the model has
                                        the projection */
    EmbedScale embed_scale;
    double embed_factor; /* factor if embed_scale is EmbedScaleNumber */
    int embed_tie;       /* Tie bits: tables that share a tensor */
    int64_t embed_types; /* number of token types of the first stack; 0: none */
    int64_t embed_width; /* columns of the token tables */
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
    PoolType head_pool;   /* HeadPool, HeadClassify, HeadLogits: how the rows
                             are pooled into one */
    bool head_normalize;  /* HeadPool, HeadRows: rows of the result are scaled
                             to length 1 */
    Activation out_act;   /* the other heads: function of logits */
    int64_t head_classes; /* HeadClassify, HeadTokenClassify: number of
                             classes */
    bool class_bias;      /* the same heads: a bias is added for each class */
    int64_t head_width; /* width of the dense layer before the head; 0: none */
    Activation head_act;
    bool head_pooled; /* the dense layer reads the pooled row, not each row */
    bool head_bias, head_norm; /* bias of the dense layer; norm after its
                                  activation */
    int64_t second_width;      /* width of a second dense layer; 0: none */
    Activation second_act;
    bool second_bias;
    SearchRule search_rule;
    int64_t search_beam;
    PenaltyRule search_penalty;
    double search_alpha;
    SpecIds search_prefix;     /* first tokens of every answer */
    SpecIds suppress;          /* token sequences that answers must not contain,
                                  each after its length */
    SpecIds suppress_first;    /* tokens that must not begin an answer */
    double repetition_penalty; /* 1: none */
    int64_t no_repeat_ngram;   /* 0: off */
    int64_t min_length, min_total; /* minimum tokens of an answer; of it and
                                      the tokens before it */
    ProcessRule search_processors;
    int64_t max_output_plus; /* maximum tokens of an answer minus those of the
                                input; -1: not set */
    int64_t max_output;      /* maximum tokens of an answer; -1: not set */
    struct attn_chat chat;   /* texts of a conversation; NULL: not given */
    bool chat_system_inside, chat_system_skipped;
    ChatTrim chat_trim;
    /* the Spec of each layer, by side: that of the layer's row in the pattern,
     * or this Spec; NULL: no pattern */
    const Spec *const *layer[2];
    const char *layers; /* the patterns as text; NULL: there are none */
    SpecDtypes dtype;
    CacheStore cache_store;
    Arithmetic arithmetic;
    int64_t query_length, query_token;     /* tokens of every query, 0: as many
                                              as it has; the id that fills it */
    bool query_attend;                     /* rows attend to these tokens */
    bool query_cut;                        /* longer queries are cut */
    int64_t query_prefix, document_prefix; /* id after the first token; -1:
                                              none */
    int64_t document_length; /* maximum tokens of a document; 0: max_len */
    SpecIds document_skip;   /* tokens of a document without a row */
    SpecIds score; /* HeadLogits: the result is this logit, less the second */
    /* texts around the two of a pair, NULL: none; second NULL: the
     * vocabulary's template is used instead */
    struct attn_pair_texts pair;
    SpecTexts prompts;   /* names, each before its text; NULL follows */
    const char *prompt;  /* name of the default prompt; NULL: none */
    const char *weights; /* path as written; NULL: seeded random numbers */
    Pos weights_pos;
    SpecTexts unused; /* name patterns of tensors in the file that the model
                         does not use */
    VEC(SpecName) names;
    Index name_rows; /* index of `names` by `ours` */
    /* position of each field's value, indexed by row of the field table
     * (fields.c). spec_pos() returns it or, if the field has no position,
     * `top`, the top of the file. */
    Pos *field_pos;
    Pos top;
};

/* Returns the path of the spec of a checkpoint, or `path` itself if that is no
 * checkpoint. main.c sets this to import_in_memory(); NULL: all paths are
 * specs. */
extern const char *(*spec_of_checkpoint)(Arena *a, const char *path);

/* Reads a spec and the specs that it extends, applies the overrides `sets`
 * (each "key.path=value"), and checks the result. Returns NULL after reporting
 * all errors. `text` is the spec if it is not in a file; NULL: reads the
 * file. */
Spec *spec_read(Arena *a, const char *path, const Source *text,
                const char *const *sets, int nsets);
static inline Spec *spec_load(Arena *a, const char *path,
                              const char *const *sets, int nsets)
{
    return spec_read(a, path, NULL, sets, nsets);
}
Pos spec_pos(const Spec *s, const char *field);
/* Returns the number of rows per sequence if `fix` makes it constant, else -1.
 * In a model of `kind: attention`, the sides are query and key. */
static inline int64_t spec_fixed_rows(const Spec *s, Side side)
{
    const SpecFix *f = &s->fix;

    if (s->kind == KindAttention)
        return side == SideEncoder ? f->query : f->key;
    return side == SideEncoder ? f->source : f->target;
}
/* Returns the number of input frames that become one row of the encoder. */
static inline int64_t spec_input_frames(const Spec *s)
{
    double frames = 1;

    for (int64_t i = 0; i < s->input_strides.n && frames < 0x1p40; i++)
        frames *= s->input_strides.at[i];
    return (int64_t)frames;
}
/* Returns the columns of what logits and classes read, and of the heads rows
 * and pool. */
static inline int64_t spec_head_columns(const Spec *s)
{
    return s->second_width > 0 ? s->second_width
         : s->head_width > 0   ? s->head_width
                               : s->d_model;
}
/* Returns the number of learned rows that precede the numeric input. */
static inline int spec_input_learned(const Spec *s)
{
    return s->input_class_token + s->input_distillation_token;
}
/* Returns true if a decoder layer starts with the final state of an encoder
 * layer. */
bool spec_sourced(const Spec *s);
/* Returns the text of a prompt; name NULL: of the default one. NULL: there is
 * none. */
const char *spec_prompt(const Spec *s, const char *name);
/* Returns the Spec of a layer, counted from 0. */
static inline const Spec *spec_layer(const Spec *s, Side side, int64_t layer)
{
    return s->layer[side] ? s->layer[side][layer] : s;
}
/* Returns true if attention and the feed-forward network of the layer read the
 * same rows. */
bool spec_is_parallel(const Spec *layer);
/* Returns true if any layer of a side passes the test. A model of `kind:
 * attention` counts as one layer. */
typedef bool LayerTest(const Spec *layer, Side side);
bool spec_any_layer(const Spec *s, Side side, LayerTest *fits);
/* Returns true if queries are filled with tokens that no row attends to. */
bool spec_hides_fill(const Spec *s);
/* Returns true if a layer of the side has a mask with a prefix. */
bool spec_has_prefix(const Spec *s, Side side);
/* Returns the value of an integer field of the side, e.g. "d_ff", if it is the
 * same in all layers, else 0. */
int64_t spec_of_layers(const Spec *s, Side side, const char *key);
/* Shape of cached keys and values. Layers with the same shape share pages. */
typedef struct {
    int64_t window; /* rows that a row attends to, itself included; 0: all */
    int64_t h_kv, d_k, d_v;
} CacheForm;
/* Returns the shape of a decoder layer's cache: for the decoder's own rows if
 * `self` is set, else for the encoder's rows. */
CacheForm spec_cache(const Spec *s, bool self);
bool same_cache(CacheForm a, CacheForm b);
/* Returns true if the field was written: in the spec, in a spec that it
 * extends, or in --set. */
bool spec_has(const Spec *s, const char *field);
/* Returns the bias that positions add to the scores of self-attention. */
BiasKind spec_score_bias(const Spec *s);
/* Returns true if the model generates answers token by token. */
bool spec_generates(const Spec *s);
/* spec_chats() returns true if the spec describes the turns of a conversation.
 * spec_chat() returns the description, with "" for texts that are not given. */
bool spec_chats(const Spec *s);
struct attn_chat spec_chat(const Spec *s);
/* Returns what becomes of a text of a task, ATTN_TASK_QUERY or _DOCUMENT. */
struct attn_task spec_task(const Spec *s, int64_t task);
/* Returns what the spec adds to texts, and fills task[3]. The result points to
 * these and to the spec. */
struct attn_texts spec_texts(const Spec *s, struct attn_task *task);
/* Sets `ids` to the tokens that only end an answer and are never part of it:
 * start and pad. Returns their number. */
int spec_unwritten(const Spec *s, int32_t ids[2]);
/* Returns the search options that the spec describes. The result points to
 * lists in the spec and to `ids`, which spec_unwritten() fills. */
struct attn_search_options spec_search(const Spec *s, int32_t ids[2]);
/* Returns the path to open. A relative path starts at the folder of the file
 * that contains it; a path from --set starts at the current folder. */
char *spec_path(Arena *a, Pos written, const char *path);
/* weight_names.c: returns the name that a weight has in the weights file,
 * according to `names`. docs/spec-weights.md lists the canonical names. */
const char *spec_file_name(Arena *a, const Spec *s, const char *canonical);
/* Returns true if the row of `names` is the beginning of the name, with numbers
 * at {i} and {e}. */
bool spec_name_begins(const char *row, const char *name);
/* weight_slices.c: finds the elements of a weight in the file. `ours` is the
 * canonical name with .weight or .bias. Returns false only while a spec is
 * being loaded: spec_load() checks that all slices fit. */
bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out);
/* Returns the name under which a tensor is packed: the canonical name, with {i}
 * for the layer if all layers of the stack share the tensor and its format. */
const char *spec_packed_name(Arena *a, const Spec *s, const char *canonical);
/* Returns true if `unused` matches the name of the tensor. */
bool spec_leaves_out(const Spec *s, const char *tensor);
/* dtypes.c: returns the format of a matrix. `readers` has its Read bits; a tied
 * table has several. */
Dtype spec_dtype(const Spec *s, const char *canonical, int readers);
/* names_check.c: checks the spec's `names` and the keys of `dtype` against the
 * weights of its model. Returns false after reporting all errors.           */
typedef struct {
    const char *name; /* canonical name with .weight or .bias */
    int layer;        /* number of the layer in its stack; -1: not in a layer */
    int readers;      /* Read bits, if it is a matrix */
    int rank;
    int64_t dim[3];
} WeightName;
bool spec_names_fit(Arena *a, const Spec *s, const WeightName *weights, int n);
/* names_propose.c: proposes rows of `names` on stderr if the file lacks the
 * expected names. Prints nothing if no tensor of the file resembles one of the
 * model. */
void spec_propose_names(Arena *a, const PackList *list,
                        const Safetensors *file);
/* Returns the number of columns of a self-attention key that all heads share; 0
 * without latent attention. */
int64_t spec_shared_columns(const Spec *s);
/* rotary.c: returns the number of rotated columns of a head, which is even. */
int64_t spec_rotary_columns(const Spec *s, Side side);
/* Sets rate[columns / 2] to the angle by which each pair of columns rotates
 * from one position to the next, for positions below max_len. Returns the
 * factor by which rotated columns of queries and keys are multiplied. */
double spec_rotary(const Spec *s, int64_t columns, int64_t max_len,
                   double *rate);
/* Returns g of the factor 1 + g log(1 + floor(position / step)) of rotated
 * queries, and sets *step. */
double spec_query_growth(const Spec *s, int64_t *step);
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
/* Returns the field that an unknown path probably means (another tool's word,
 * or a misspelled field); NULL if none is similar. */
const char *spec_field_near(Arena *a, const char *path);
char *spec_schema(Arena *a); /* returns the JSON Schema of specs */
/* field_shown.c: returns the value of field i as written in a spec; NULL if it
 * has no value or does not apply to this kind of model. */
const char *spec_field_value(Arena *a, const Spec *s, int i);
/* Returns the keys of all fields that field i, a shorthand, sets, ending with
 * NULL. NULL: field i is not a shorthand. */
const char *const *spec_field_parts(int i);
/* Returns the file's side of a row of `names`, as written in a spec. */
const char *spec_name_value(Arena *a, const SpecName *n);
/* attnc fields --format=json: returns the contents of spec_print_fields() as
 * JSON. */
char *spec_fields_json(Arena *a, const char *key);

#endif
