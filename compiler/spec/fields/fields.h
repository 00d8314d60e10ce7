/* fields.h: the table of the spec's fields, which drives parsing, defaults,
 * ranges, --set, hints and the format's reference. */
#ifndef ATTNC_FIELDS_H
#define ATTNC_FIELDS_H

#define READS_LAYERS /* its specs are one layer, or all layers alike */
#include "spec/spec.h"
#include "spec/yaml/yaml.h"

typedef enum {
    FieldInt,
    FieldReal,
    FieldReals, /* a list of numbers */
    FieldIds, /* a token id or a list of them; at `also` the first one, or -1 */
    FieldSequences, /* a list of ids and of lists of ids, each stored after
                       its length */
    FieldBool,
    FieldEnum,       /* one of words[], stored as its index */
    FieldFlags,      /* a list of words[], stored as bits */
    FieldScale,      /* one of words[], or a number, stored as the index
                        after the last word and, at `also`, a double */
    FieldActivation, /* one of activations.h; at `also`: is it gated */
    FieldMask,       /* words and parts of a MaskSpec, alone or in a list */
    FieldDtypes,     /* one of words[], or a map from names to words */
    FieldLayers,     /* rows of a pattern, stored as text */
    FieldText,       /* up to MostTextBytes, may be empty */
    FieldName,
    FieldPath, /* a text */
    /* the next ones have no member of Spec, or do not count in its hash: */
    FieldNoValue,
    FieldExtends = FieldNoValue, /* a path that the loader follows */
    FieldNames,                  /* the map of weight names */
    FieldPatterns,               /* a SpecTexts that changes no result */
    FieldSpread /* no value of its own: a scalar here sets each field of
                   words[]; a map sets the fields below it */
} FieldType;

typedef struct {
    const char *key; /* path of keys: norm.place */
    FieldType type;
    size_t at, also;          /* offsets in Spec */
    const char *const *words; /* ends with NULL */
    double least, most;       /* numbers: inclusive range */
    unsigned kinds;     /* bits 1u << ModelKind of the kinds that have it */
    const char *preset; /* default as text; NULL: required; "": may be
                           absent (numbers: -1) */
    void (*follow)(Spec *s); /* not NULL: computes the default from earlier
                                fields; `preset` describes it */
    const char *doc;
} Field;

extern const Field fields[];
extern const int n_fields;

typedef struct { /* dependency of a field on others */
    const char *key;
    const char *const *follows; /* the fields its default follows from, ends
                                   with NULL; or NULL */
    const char *of; /* an enum on which the field's meaning depends, or NULL */
    const char *const *when; /* values of `of` for which it has a meaning */
} FieldLink;
extern const FieldLink field_links[];
extern const int n_field_links;
/* True if a row of `layers` may set this field. */
bool field_of_layers(const char *key);
/* True if any link gives the field a meaning, or it has no links. */
bool field_has_meaning(Arena *a, const Spec *s, const char *key);

enum {
    Seq2seq = 1u << KindEncoderDecoder,
    Encoder = 1u << KindEncoder,
    Decoder = 1u << KindDecoder,
    Attention = 1u << KindAttention,
    Source_ = Seq2seq | Encoder, /* kinds with a source */
    Target_ = Seq2seq | Decoder, /* kinds with a target */
    Model = Source_ | Target_,
    AllKinds = Model | Attention
};

enum { MostTextBytes = 16384 };

int field_find(const char *key);   /* row; -1: unknown */
bool field_group(const char *key); /* true if a field is below it */
/* True if `key` is below `group`: norm.place is below norm. */
bool field_below(const char *key, const char *group);
int field_row(const char *key); /* row; dies if unknown */
/* Returns the row of the map that a path ending in a weight's name belongs to,
 * as for "dtype.encoder.0"; -1: none. */
int field_of_name(const char *path);

/* read.c: the values written for each row; NULL after an error that leaves
 * nothing to check. */
typedef struct {
    const Yaml *ours, *theirs;
} NamePair;
typedef struct {
    const Yaml **value; /* by row; NULL: not written */
    bool *spread;       /* by row: set by a row above it */
    const Yaml **under; /* by row: the value of another file or option that
                           it replaced; or NULL */
    Pos *unset;         /* by row: position of the --set that unset it */
    VEC(NamePair) names;
    Pos top;
} Written;
Written *read_written(Arena *a, const char *path, const Source *text,
                      const char *const *sets, int nsets);

Written *written_copy(Arena *a, const Written *w);
/* Returns a copy overwritten by a row of `layers` for one side. *repeat: the
 * row's number of layers; NULL: not given. */
Written *written_over(Arena *a, const Written *w, const Yaml *row, Side side,
                      const Yaml **repeat);

/* spec.c: checks everything written except `layers`. sides: bits by Side of
 * stacks whose layers have these values. NULL after errors. */
Spec *spec_resolve(Arena *a, const char *path, const Written *w,
                   unsigned sides);
uint64_t hash_spec(Arena *a, const Spec *s); /* of what affects results */

/* layers.c: bits by Side of the stacks that a pattern describes; and the
 * patterns, read after the spec has been checked. */
unsigned patterned_sides(const Written *w);
void read_layers(Arena *a, Spec *s, const Written *w);

/* path.c */
char *folder_of(Arena *a, const char *path); /* with its slash, or "" */

/* field_text.c: words and numbers. */
bool parse_int(const char *text, int64_t *value);
bool parse_real(const char *text, double *value);
int find_word(const char *const *words, const char *word); /* -1: none */
/* Returns the words of activations, ungated ones first, NULL last. */
const char *const *act_words(Arena *a);
/* Returns what a value must be, e.g. "an integer from 1 to 8", "one of a,
 * b". */
char *field_wants(Arena *a, const Field *f);
/* Each reports what is wrong with a value, and returns false. */
bool refuse_value(Arena *a, const Field *f, const Yaml *value);
bool refuse_number(Arena *a, const Field *f, const Yaml *value);
bool refuse_bool(Arena *a, const Field *f, const Yaml *value);
bool refuse_word(Arena *a, const Field *f, const Yaml *value);

/* field_value.c: stores a value of the file; false after a reported error. */
bool is_name(const char *text); /* a valid FieldName */
bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *value);
void field_absent(const Field *f, Spec *s); /* sets an absent value */
void field_default(Arena *a, const Field *f, Spec *s);
char *field_text(Arena *a, const Field *f, const Spec *s); /* its value as
                                                              text */
bool field_same(Arena *a, const Field *f, const Spec *x, const Spec *y);

/* field_mask.c: true for a mask, false for a map of the masks of both sides. */
bool is_mask(const Yaml *value);
bool read_mask(Arena *a, const Field *f, MaskSpec *mask, const Yaml *value);
char *mask_text(Arena *a, const MaskSpec *mask);

/* dtypes.c: reads a word, or a map whose keys are full paths. */
bool read_dtypes(Arena *a, const Field *f, SpecDtypes *to, const Yaml *value);
/* Returns dtypes as written in a spec: "int8", "{default: int8, logits:
 * f32}". */
char *dtypes_text(Arena *a, const SpecDtypes *d);
/* Keys for embeddings and for logits. */
extern const char dtype_logits[], dtype_embedding[];
/* The rows for a matrix in layers and look-ups, and for the logits. A tied
 * table has both. NULL: none. */
typedef struct {
    const SpecDtype *here, *logits;
} DtypeRows;
DtypeRows dtype_rows(const SpecDtypes *d, const char *name, int readers);

/* weight_names.c: canonical names, {s} for encoder or decoder, NULL last. */
extern const char *const weight_names[];
enum { MostNameBytes = 256 };
bool known_prefix(const char *ours); /* true if it begins a canonical name */
char *name_text(Arena *a, const SpecName *n); /* one line, for the hash */
/* True if `name` begins with the segments of `pattern`. Sets m to the rest of
 * the name and the text of {i}. */
typedef struct {
    const char *rest, *layer;
    int digits;
    const char *expert; /* the text of {e} */
    int expert_digits;
} NameMatch;
bool names_match(const char *pattern, const char *name, NameMatch *m);
/* True if the first n bytes are digits, n > 0: a layer's index. */
bool names_digits(const char *s, size_t n);
/* Parts of a row, each looked up separately. */
typedef enum {
    WayTensor, /* a tensor or a fill value */
    WayTranspose,
    WayScale,
    WayAdd,
    NameWays
} NameWay;
/* Returns the row with this part for a canonical name, the one with most
 * segments; NULL: none. */
const SpecName *names_find(const Spec *s, const char *canonical, NameWay way,
                           NameMatch *m);
/* True if the row names one tensor for all layers. */
bool names_one_tensor(const SpecName *n);
/* Writes `name` with {i} instead of a layer's number. */
void names_any_layer(const char *name, char *text, size_t size);
/* True if our experts are separate, but stacked in one tensor of the file. */
bool names_stacked(const SpecName *n);
char *names_replace(Arena *a, const char *pattern, const NameMatch *m);

/* names_read.c: adds a row to the weight map, or replaces one. */
void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs);

/* weight_slices.c */
bool has_slices(const char *name); /* true if a tensor may hold it with
                                      others */
/* Returns false after an error: a row's parts do not divide their tensor. */
bool slices_fit(const Spec *s, const SpecName *n, FileTensor *out);

/* check_spec.c: conditions between fields. state[]: by row of the table. */
typedef enum {
    StateUnset, /* has its default */
    StateSet,
    StateBad, /* an error was reported */
    StateOff  /* the kind lacks this field */
} FieldState;
void check_spec(Spec *s, const FieldState *state);

/* field_links.c: drops details written for a form that was replaced. */
void drop_details(Written *w);
/* True if no form that was written gives the field a meaning. */
bool means_nothing(const Written *w, const char *key);
/* Warns once about fields that stay as written although a field from which they
 * usually follow was changed. */
void warn_of_what_stays(Arena *a, const Written *w, const FieldState *state,
                        const Spec *s);

/* A check that runs if all fields it reads have values. */
typedef struct {
    void (*check)(Spec *s, const FieldState *state);
    const char *reads[9];
} Check;
void check_scaling(Spec *s, const FieldState *state);    /* rotary.c */
void check_arithmetic(Spec *s, const FieldState *state); /* dtypes.c */
void check_experts(const Spec *s);                       /* check_ffn.c */
void check_latent(Spec *s, const FieldState *state);     /* check_latent.c */
extern const Check form_checks[];  /* check_forms.c; ends with 0 */
extern const Check input_checks[]; /* check_input.c; likewise */
extern const Check fix_checks[];   /* check_fix.c; likewise */
void check_scans(const Spec *s);   /* check_scans.c: for all layers */
void print_formulas(FILE *out);    /* formulas.c: as Markdown */
/* True if s describes some layers of this stack. */
static inline bool has_layers(const Spec *s, Side side)
{
    return s->side[side].N > 0 && s->layers_of & 1u << side;
}
static inline bool is(const FieldState *state, const char *key,
                      FieldState wanted)
{
    return state[field_row(key)] == wanted;
}
static inline bool same_place(Pos a, Pos b)
{
    return a.src == b.src && a.line == b.line && a.col == b.col;
}
/* Returns "h", or "h.decoder" if the sides were written separately. */
const char *side_key(const Spec *s, const char *key, Side side);
/* True for the decoder if one value was written for both sides. */
bool set_for_both(const Spec *s, const char *key, Side side);

#endif
