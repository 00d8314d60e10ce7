/* fields.h: the table of the spec's fields, which drives parsing, defaults,
 * ranges, --set, hints and the format's reference.                          */
#ifndef ATTNC_FIELDS_H
#define ATTNC_FIELDS_H

#include "compiler.h"

typedef enum {
    FieldInt, FieldReal, FieldBool,
    FieldEnum,                   /* one of words[], its index is stored */
    FieldFlags,                  /* a list of words[], stored as bits */
    FieldName, FieldPath,        /* text */
    /* without a member of Spec: */
    FieldNoValue,
    FieldExtends = FieldNoValue, /* a path that the loader follows */
    FieldNames,                  /* the map of weight names */
    FieldSpread                  /* no value of its own: a scalar here is
                                    given to each field of words[]; a map
                                    names the fields below one by one */
} FieldType;

typedef struct {
    const char *key;             /* path of keys: norm.place */
    FieldType type;
    size_t at;                   /* offset in Spec */
    const char *const *words;    /* ends with NULL */
    double least, most;          /* numbers: both allowed */
    unsigned kinds;              /* 1u << ModelKind: where it has a meaning */
    const char *preset;          /* default as text; NULL: required; "": may
                                    be absent (numbers: -1) */
    void (*follow)(Spec *s);     /* not NULL: sets the default from fields
                                    above; preset says in words how */
    const char *doc;
} Field;

extern const Field fields[];
extern const int n_fields;

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

int  field_find(const char *key);            /* row, -1: unknown */
bool field_group(const char *key);           /* some field is below it */
/* True when `key` is below `group`: norm.place is below norm. */
bool field_below(const char *key, const char *group);
int  field_row(const char *key);             /* row; die()s when unknown */

/* spec_read.c: what was written for each row; NULL after an error that leaves
 * nothing to look at.                                                       */
typedef struct { const Yaml *ours, *theirs; } NamePair;
typedef struct {
    const Yaml **value;          /* by row; NULL: not written */
    bool *spread;                /* by row: given by a row above it */
    VEC(NamePair) names;
    Pos top;
} Written;
Written *spec_read(Arena *a, const char *path, const char *const *sets,
                   int nsets);
char *folder_of(Arena *a, const char *path);     /* with its slash, or "" */

/* field_value.c. Stores a value of the file; false after an error has been
 * reported.                                                                 */
bool field_read(Arena *a, const Field *f, Spec *s, const Yaml *value);
void field_absent(const Field *f, Spec *s);  /* the value of no value */
void field_default(Arena *a, const Field *f, Spec *s);
/* "an integer from 1 to 8", "one of a, b": what a value must be. */
char *field_wants(Arena *a, const Field *f);
char *field_text(Arena *a, const Field *f, const Spec *s);    /* its value */

/* spec_names.c: the canonical names, {s} for encoder or decoder, NULL last. */
extern const char *const weight_names[];
/* Adds to the map of weight names, or replaces there. */
void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs);

/* spec_check.c: what no single field can say. state[]: by row of the table. */
typedef enum {
    StateUnset,                  /* has its default */
    StateSet,
    StateBad,                    /* has no value: an error was reported */
    StateOff                     /* has no meaning for this kind */
} FieldState;
void check_spec(Spec *s, const FieldState *state);

#endif
