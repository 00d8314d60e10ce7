/* fields.h: the table of the spec's fields, from which parsing, defaults,
 * ranges, --set, hints and the reference are derived. */
#ifndef ATTNC_FIELDS_H
#define ATTNC_FIELDS_H

#define READS_LAYERS /* specs here are those of one layer, or of layers that \
                        are all alike */
#include "spec/spec.h"
#include "spec/yaml/yaml.h"

typedef enum {
    FieldInt,
    FieldReal,
    FieldReals,     /* a list of numbers */
    FieldIds,       /* a token id or a list of ids; the first id, or -1, is also
                       stored at `also` */
    FieldSequences, /* a list of ids and of lists of ids, stored flat, each list
                       after its length */
    FieldBool,
    FieldEnum,       /* one of words[], stored as its index */
    FieldFlags,      /* a list of words[], stored as bits */
    FieldScale,      /* one of words[], stored as its index; or a number, stored
                        at `also`, with the index after the last word */
    FieldActivation, /* word of activations.h; at `also`: true if it is gated */
    FieldMask,       /* words and parts of a MaskSpec, single or in a list */
    FieldDtypes,     /* one of words[], or a map from names to words */
    FieldLayers,     /* rows of a pattern, stored as text */
    FieldText,       /* text of at most MostTextBytes; may be empty */
    FieldPrompts,    /* a map from names to texts, stored as a SpecTexts of
                        names, each before its text */
    FieldName,
    FieldPath, /* a path, as text */
    /* The types from here on have no member of Spec, or their value is not
     * hashed. */
    FieldNoValue,
    FieldExtends = FieldNoValue, /* a path that the loader follows */
    FieldNames,                  /* the weight map */
    FieldPatterns,               /* a SpecTexts that does not change results */
    FieldSpread /* has no value: a scalar sets each field of words[], and a map
                   sets the fields below */
} FieldType;

typedef struct {
    const char *key; /* path of keys, e.g. norm.place */
    FieldType type;
    size_t at, also; /* offsets in Spec of the value and of a second member */
    const char *const *words; /* allowed words, ending with NULL */
    double least, most;       /* range of numbers, inclusive */
    unsigned kinds;           /* kinds of model that have it, as bits 1u <<
                                 ModelKind */
    const char *preset;       /* default as text; NULL: required; "": absent by
                                 default (numbers: -1) */
    void (*follow)(Spec *s);  /* computes the default from earlier fields, or
                                 NULL; `preset` describes the default */
    const char *doc;
} Field;

extern const Field fields[];
extern const int n_fields;

typedef struct { /* dependency of a field on others */
    const char *key;
    const char *const *follows; /* fields from which the default is derived,
                                   ending with NULL; or NULL */
    const char *of; /* enum field that decides if this field applies, or NULL */
    const char *const *when; /* values of `of` for which this field applies */
} FieldLink;
extern const FieldLink field_links[];
extern const int n_field_links;
/* True if a row of `layers` may set this field. */
bool field_of_layers(const char *key);
/* True if a link says that the field applies, or if it has no links. */
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

int field_find(const char *key);   /* index in fields[]; -1: unknown key */
bool field_group(const char *key); /* true if a field is below the key */
/* True if `key` is below `group`: norm.place is below norm. */
bool field_below(const char *key, const char *group);
int field_row(const char *key); /* index in fields[]; dies if it is unknown */
/* Returns the row whose map has keys that are weight names, if `path` is in
 * such a map: "dtype.encoder.0" is in the map of dtype. -1: none. */
int field_of_name(const char *path);

/* read.c: the values as written. read_written() returns NULL after an error
 * that leaves nothing to check. */
typedef struct {
    const Yaml *ours, *theirs;
} NamePair;
typedef struct {
    const Yaml **value; /* value of each row; NULL: not written */
    bool *spread;       /* true if a key for several rows set this row */
    const Yaml **under; /* value that the row's value replaced, from another
                           file or option; NULL: none */
    Pos *unset;         /* position of the --set that removed the row's value */
    VEC(NamePair) names;
    Pos top;
} Written;
Written *read_written(Arena *a, const char *path, const Source *text,
                      const char *const *sets, int nsets);

Written *written_copy(Arena *a, const Written *w);
/* Returns a copy in which the values of `row`, a row of `layers`, replace those
 * of one side. Sets *repeat to the row's number of layers; NULL: not given. */
Written *written_over(Arena *a, const Written *w, const Yaml *row, Side side,
                      const Yaml **repeat);

/* spec.c: resolves and checks all written values except `layers`. `sides` has a
 * bit by Side for each stack whose layers have these values. Returns NULL after
 * errors. */
Spec *spec_resolve(Arena *a, const char *path, const Written *w,
                   unsigned sides);
uint64_t hash_spec(Arena *a, const Spec *s); /* hashes what affects results */

/* layers.c. patterned_sides() returns the stacks that have a pattern, as bits
 * by Side; read_layers() reads the patterns of a checked spec. */
unsigned patterned_sides(const Written *w);
void read_layers(Arena *a, Spec *s, const Written *w);

/* field_text.c: words and numbers. */
bool parse_int(const char *text, int64_t *value);
bool parse_real(const char *text, double *value);
int find_word(const char *const *words, const char *word); /* index of a
                                                              word; -1: none */
/* Returns the words of activations, ungated ones first, NULL last. */
const char *const *act_words(Arena *a);
/* Returns a description of valid values, e.g. "an integer from 1 to 8" or "one
 * of a, b". */
char *field_wants(Arena *a, const Field *f);
/* Report what is wrong with a value and return false. */
bool refuse_value(Arena *a, const Field *f, const Yaml *value);
bool refuse_number(Arena *a, const Field *f, const Yaml *value);
bool refuse_bool(Arena *a, const Field *f, const Yaml *value);
bool refuse_word(Arena *a, const Field *f, const Yaml *value);

/* field_value.c: stores a written value in a Spec. Returns false after
 * reporting an error. */
bool is_name(const char *text); /* true for a valid value of type FieldName */
bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *value);
void field_absent(const Field *f, Spec *s); /* stores the value of a field
                                               that is absent */
void field_default(Arena *a, const Field *f, Spec *s);
char *field_text(Arena *a, const Field *f, const Spec *s); /* value of the
                                                              field as text */
bool field_same(Arena *a, const Field *f, const Spec *x, const Spec *y);

/* field_mask.c. is_mask() returns true for a mask, and false for a map that has
 * a mask for each side. */
bool is_mask(const Yaml *value);
bool read_mask(Arena *a, const Field *f, MaskSpec *mask, const Yaml *value);
char *mask_text(Arena *a, const MaskSpec *mask);

/* dtypes.c: reads a word, or a map with full paths as keys. */
bool read_dtypes(Arena *a, const Field *f, SpecDtypes *to, const Yaml *value);
/* Returns formats as a spec writes them: "int8", "{default: int8, logits:
 * f32}". */
char *dtypes_text(Arena *a, const SpecDtypes *d);
/* Keys that stand for all embeddings and for the logits. */
extern const char dtype_logits[], dtype_embedding[];
/* The keys of `dtype` that apply to a matrix: `here` in layers and look-ups,
 * `logits` in the logits. A tied table may have both. NULL: no key applies. */
typedef struct {
    const SpecDtype *here, *logits;
} DtypeRows;
DtypeRows dtype_rows(const SpecDtypes *d, const char *name, int readers);

/* weight_names.c: all canonical names, ending with NULL; {s} stands for encoder
 * or decoder. */
extern const char *const weight_names[];
enum { MostNameBytes = 256 };
bool known_prefix(const char *ours); /* true if `ours` is the beginning of a
                                        canonical name */
char *name_text(Arena *a, const SpecName *n); /* a row of `names` as a line, to
                                                 hash */
/* names_match() returns true if `name` begins with the segments of `pattern`,
 * and sets *m to the rest of the name and to the numbers at {i} and {e}. */
typedef struct {
    const char *rest, *layer;
    int digits;
    const char *expert; /* number at {e} */
    int expert_digits;
} NameMatch;
bool names_match(const char *pattern, const char *name, NameMatch *m);
/* True if the first n bytes are digits, and n > 0. */
bool names_digits(const char *s, size_t n);
/* The parts of a row of `names`. Each is looked up separately, so a weight can
 * get its parts from different rows. */
typedef enum {
    WayTensor, /* a tensor or a fill value */
    WayTranspose,
    WayScale,
    WayAdd,
    NameWays
} NameWay;
/* Returns the row that provides this part of a canonical name. If several rows
 * match, returns the one with the most segments. NULL: none. */
const SpecName *names_find(const Spec *s, const char *canonical, NameWay way,
                           NameMatch *m);
/* True if the row maps the weights of all layers to one tensor. */
bool names_one_tensor(const SpecName *n);
/* Writes `name` with {i} in place of a layer's number. */
void names_any_layer(const char *name, char *text, size_t size);
/* True if one tensor of the file holds the weights of all experts, which are
 * separate weights of the model. */
bool names_stacked(const SpecName *n);
char *names_replace(Arena *a, const char *pattern, const NameMatch *m);

/* names_read.c: adds a row to the weight map, or replaces one. */
void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs);

/* weight_slices.c */
bool has_slices(const char *name); /* true if a tensor of the file may hold
                                      this weight together with others */
/* Finds the slice of a tensor that a row describes. Returns false after
 * reporting that the parts do not divide the tensor. */
bool slices_fit(const Spec *s, const SpecName *n, FileTensor *out);

/* check_spec.c: checks conditions between fields. `state` is indexed by row of
 * the field table. */
typedef enum {
    StateUnset, /* has its default value */
    StateSet,
    StateBad, /* an error was reported */
    StateOff  /* the kind lacks this field */
} FieldState;
void check_spec(Spec *s, const FieldState *state);

/* field_links.c: drops fields that stopped applying because a later source
 * changed the field that decides it. */
void drop_details(Written *w);
/* True if the field has links and none of the written values makes it apply. */
bool means_nothing(const Written *w, const char *key);
/* Warns once about fields that keep their written values although a later
 * source changed a field from which their defaults are derived. */
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
extern const Check task_checks[];  /* check_tasks.c; ends with 0 */
extern const Check input_checks[]; /* check_input.c; ends with 0 */
extern const Check fix_checks[];   /* check_fix.c; ends with 0 */
void check_scans(const Spec *s);   /* check_scans.c: checks all layers */
void print_formulas(FILE *out);    /* formulas.c: prints Markdown */
/* fields_text.c: prints the fields of these keys and those below them; NULL
 * ends the list. */
void print_field_rows(Arena *a, FILE *out, bool markdown,
                      const char *const *keys);
/* True if some layers of the stack `side` have the values of s. */
static inline bool has_layers(const Spec *s, Side side)
{
    return s->side[side].N > 0 && s->layers_of & 1u << side;
}
static inline bool is(const FieldState *state, const char *key,
                      FieldState wanted)
{
    return state[field_row(key)] == wanted;
}
const char *last_key(const char *path); /* "place" of "norm.place" */
/* Returns a key such as "h", or "h.decoder" if the sides were written
 * separately. */
const char *side_key(const Spec *s, const char *key, Side side);
/* True for the decoder if one value was written for both sides, so that an
 * error is reported only for the encoder. */
bool set_for_both(const Spec *s, const char *key, Side side);

#endif
