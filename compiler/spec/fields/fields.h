/* fields.h: the table of the spec's fields, which drives parsing, defaults,
 * ranges, --set, hints and the format's reference.                          */
#ifndef ATTNC_FIELDS_H
#define ATTNC_FIELDS_H

#define READS_LAYERS /* those of a row of `layers`, or of the spec as one */
#include "spec/spec.h"
#include "spec/yaml/yaml.h"

typedef enum {
    FieldInt,
    FieldReal,
    FieldReals,     /* a list of numbers */
    FieldIds,       /* an id of a token, or a list of them; at `also`
                       the first, -1: none */
    FieldSequences, /* a list of ids and of lists of ids, each stored
                       behind its length */
    FieldBool,
    FieldEnum,       /* one of words[], its index is stored */
    FieldFlags,      /* a list of words[], stored as bits */
    FieldScale,      /* one of words[], or a number: one more than
                        their indices and, at `also`, a double */
    FieldActivation, /* of activations.h; at `also`: is it gated? */
    FieldMask,       /* words and parts of a MaskSpec, in a list */
    FieldDtypes,     /* one of words[], or a map of them by names */
    FieldLayers,     /* rows of a pattern; stored is their text */
    FieldText,       /* up to MostTextBytes, none too */
    FieldName,
    FieldPath, /* text */
    /* without a member of Spec, or no part of its hash: */
    FieldNoValue,
    FieldExtends = FieldNoValue, /* a path that the loader follows */
    FieldNames,                  /* the map of weight names */
    FieldPatterns, /* a SpecTexts, which changes nothing that is computed */
    FieldSpread    /* no value of its own: a scalar here is
                      given to each field of words[]; a map
                      names the fields below one by one */
} FieldType;

typedef struct {
    const char *key; /* path of keys: norm.place */
    FieldType type;
    size_t at, also;          /* offsets in Spec */
    const char *const *words; /* ends with NULL */
    double least, most;       /* numbers: both allowed */
    unsigned kinds;           /* 1u << ModelKind: where it has a meaning */
    const char *preset;       /* default as text; NULL: required; "": may
                                 be absent (numbers: -1) */
    void (*follow)(Spec *s);  /* not NULL: sets the default from fields
                                 above; preset says in words how */
    const char *doc;
} Field;

extern const Field fields[];
extern const int n_fields;

typedef struct { /* how a field hangs together with others */
    const char *key;
    const char *const *follows; /* what its default is made of; ends with
                                   NULL; or NULL */
    const char *of;             /* an enum, or NULL: the field has a meaning */
    const char *const *when;    /* where that is one of these words */
} FieldLink;
extern const FieldLink field_links[];
extern const int n_field_links;
/* May a row of `layers` set this field? */
bool field_of_layers(const char *key);
/* By any of the links of a field, or where there is none. */
bool field_has_meaning(Arena *a, const Spec *s, const char *key);

enum {
    Seq2seq = 1u << KindEncoderDecoder,
    Encoder = 1u << KindEncoder,
    Decoder = 1u << KindDecoder,
    Attention = 1u << KindAttention,
    Source_ = Seq2seq | Encoder, /* reads a source */
    Target_ = Seq2seq | Decoder, /* writes a target */
    Model = Source_ | Target_,
    AllKinds = Model | Attention
};

enum { MostTextBytes = 16384 };

int field_find(const char *key);   /* row, -1: unknown */
bool field_group(const char *key); /* some field is below it */
/* True when `key` is below `group`: norm.place is below norm. */
bool field_below(const char *key, const char *group);
int field_row(const char *key); /* row; die()s when unknown */
/* The row of a map whose keys are names of weights, where the path has one of
 * them: "dtype.encoder.0"; -1: none.                                        */
int field_of_name(const char *path);

/* read.c: what was written for each row; NULL after an error that leaves
 * nothing to look at.                                                       */
typedef struct {
    const Yaml *ours, *theirs;
} NamePair;
typedef struct {
    const Yaml **value; /* by row; NULL: not written */
    bool *spread;       /* by row: given by a row above it */
    const Yaml **under; /* by row: what it took the place of, of
                           another file or option; or NULL */
    Pos *unset;         /* by row: where it was made not written */
    VEC(NamePair) names;
    Pos top;
} Written;
Written *read_written(Arena *a, const char *path, const Source *text,
                      const char *const *sets, int nsets);

Written *written_copy(Arena *a, const Written *w);
/* The same with what a row of `layers` writes over it, for one side; *repeat:
 * how often it is there, NULL: not said.                                    */
Written *written_over(Arena *a, const Written *w, const Yaml *row, Side side,
                      const Yaml **repeat);

/* spec.c: a checked spec of all that was written, but its layers; sides: bits
 * by Side, stacks whose layers are as it says. NULL after errors.           */
Spec *spec_resolve(Arena *a, const char *path, const Written *w,
                   unsigned sides);
uint64_t hash_spec(Arena *a, const Spec *s); /* of what is computed */

/* layers.c: the stacks whose layers are rows of a pattern, bits by Side; and
 * the pattern of each, once the spec has been checked.                      */
unsigned patterned_sides(const Written *w);
void read_layers(Arena *a, Spec *s, const Written *w);

/* path.c */
char *folder_of(Arena *a, const char *path); /* with its slash, or "" */

/* field_text.c: words and numbers. */
bool parse_int(const char *text, int64_t *value);
bool parse_real(const char *text, double *value);
int find_word(const char *const *words, const char *word); /* -1: none */
/* Words of activations, those without a gate first; NULL last. */
const char *const *act_words(Arena *a);
/* "an integer from 1 to 8", "one of a, b": what a value must be. */
char *field_wants(Arena *a, const Field *f);
/* Each reports what is wrong with a value, and is false. */
bool refuse_value(Arena *a, const Field *f, const Yaml *value);
bool refuse_number(Arena *a, const Field *f, const Yaml *value);
bool refuse_bool(Arena *a, const Field *f, const Yaml *value);
bool refuse_word(Arena *a, const Field *f, const Yaml *value);

/* field_value.c. Stores a value of the file; false after an error has been
 * reported.                                                                 */
bool is_name(const char *text); /* a word of FieldName */
bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *value);
void field_absent(const Field *f, Spec *s); /* the value of no value */
void field_default(Arena *a, const Field *f, Spec *s);
char *field_text(Arena *a, const Field *f, const Spec *s); /* its value */
bool field_same(Arena *a, const Field *f, const Spec *x, const Spec *y);

/* field_mask.c. Is it a mask, or a map of the masks of both sides? */
bool is_mask(const Yaml *value);
bool read_mask(Arena *a, const Field *f, MaskSpec *mask, const Yaml *value);
char *mask_text(Arena *a, const MaskSpec *mask);

/* dtypes.c. A word, or a map, its keys whole paths. */
bool read_dtypes(Arena *a, const Field *f, SpecDtypes *to, const Yaml *value);
/* As it would be written: "int8", "{default: int8, logits: f32}". */
char *dtypes_text(Arena *a, const SpecDtypes *d);
/* Keys for what is looked up, and what gives logits. */
extern const char dtype_logits[], dtype_embedding[];
/* What is said of a matrix as it is looked up and multiplied in layers, and
 * as logits are made of it. A tied table is both. NULL: nothing.            */
typedef struct {
    const SpecDtype *here, *logits;
} DtypeRows;
DtypeRows dtype_rows(const SpecDtypes *d, const char *name, int readers);

/* names.c: the canonical names, {s} for encoder or decoder, NULL last. */
extern const char *const weight_names[];
enum { MostNameBytes = 256 };
bool known_prefix(const char *ours);          /* begins a canonical name */
char *name_text(Arena *a, const SpecName *n); /* a line, for the hash */
/* Does `name` begin with the segments of `pattern`? Then m has the rest of it
 * and the text of {i}.                                                      */
typedef struct {
    const char *rest, *layer;
    int digits;
    const char *expert; /* and of {e} */
    int expert_digits;
} NameMatch;
bool names_match(const char *pattern, const char *name, NameMatch *m);
/* Returns whether the first n bytes are digits, n > 0: the index of a layer. */
bool names_digits(const char *s, size_t n);
/* What a row may say; each is asked for by itself. */
typedef enum {
    WayTensor, /* or fill */
    WayTranspose,
    WayScale,
    WayAdd,
    NameWays
} NameWay;
/* The row that says it of a canonical name: that with most segments. NULL:
 * none.                                                                     */
const SpecName *names_find(const Spec *s, const char *canonical, NameWay way,
                           NameMatch *m);
/* Does the row name one tensor for all layers? */
bool names_one_tensor(const SpecName *n);
/* `name` with {i} in the place of a layer's number. */
void names_any_layer(const char *name, char *text, size_t size);
/* Are ours experts one by one, theirs one behind the other in a tensor? */
bool names_stacked(const SpecName *n);
char *names_replace(Arena *a, const char *pattern, const NameMatch *m);

/* names_read.c. Adds to the map of weight names, or replaces there. */
void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs);

/* weight_slices.c */
bool has_slices(const char *name); /* a tensor may hold it with others */
/* False after an error: the parts of a row don't divide what they are of. */
bool slices_fit(const Spec *s, const SpecName *n, FileTensor *out);

/* check_spec.c: what no single field can say. state[]: by row of the table. */
typedef enum {
    StateUnset, /* has its default */
    StateSet,
    StateBad, /* has no value: an error was reported */
    StateOff  /* has no meaning for this kind */
} FieldState;
void check_spec(Spec *s, const FieldState *state);

/* field_links.c. Leaves out what was written for a form that is given up. */
void drop_details(Written *w);
/* Has the field no meaning in any of the forms that were written? */
bool means_nothing(const Written *w, const char *key);
/* One line where fields stay as they are written, though one was changed from
 * which they usually follow.                                                */
void warn_of_what_stays(Arena *a, const Written *w, const FieldState *state,
                        const Spec *s);

/* A check runs when all the fields that it reads have values. */
typedef struct {
    void (*check)(Spec *s, const FieldState *state);
    const char *reads[9];
} Check;
void check_scaling(Spec *s, const FieldState *state);    /* rotary.c */
void check_arithmetic(Spec *s, const FieldState *state); /* dtypes.c */
void check_experts(const Spec *s);                       /* check_ffn.c */
void check_latent(Spec *s, const FieldState *state);     /* check_latent.c */
extern const Check form_checks[];  /* check_forms.c; ends with 0 */
extern const Check input_checks[]; /* check_input.c; too */
extern const Check fix_checks[];   /* check_fix.c */
void check_scans(const Spec *s);   /* check_scans.c: of all layers */
void print_formulas(FILE *out);    /* formulas.c: Markdown */
/* Are some layers of this stack as s says? */
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
/* "h", or "h.decoder" where the sides were written apart. */
const char *side_key(const Spec *s, const char *key, Side side);
/* True for the decoder when what is said of it was said of the encoder. */
bool set_for_both(const Spec *s, const char *key, Side side);

#endif
