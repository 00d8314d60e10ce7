/* hints.h: other tools' names for fields and values, in three tables from which
 * hints are made. Their names are compared in lower case with _ for other
 * separators; * matches any text. */
#ifndef ATTNC_HINTS_H
#define ATTNC_HINTS_H

#include "spec/fields/fields.h"

typedef enum {
    HintValue,  /* `ours` has the same value in our words; `more`: another
                   line it needs */
    HintTrue,   /* a boolean: `ours` is the line for true, `more` for false;
                   NULL: no line */
    HintFactor, /* a factor of d_model */
    HintFormat, /* `ours` is a line with % for the value */
    HintBegin,  /* the first token of a text */
    HintFamily, /* the name of a family or of one of its classes */
    HintTie,    /* a boolean: these matrices are tied */
    HintNote,   /* `more` says what to do */
    HintNone    /* no equivalent: `more` says why */
} HintHow;

typedef struct {
    const char *theirs; /* names separated by blanks */
    const char *ours; /* keys separated by blanks, all of which get the value */
    HintHow how;
    const char *more;
} Hint;
extern const Hint hints[];
extern const int n_hints;

typedef struct {
    const char *field, *theirs, *ours;
} WordHint;
extern const WordHint word_hints[];
extern const int n_word_hints;
extern const WordHint word_choices[]; /* `ours` is a note */
extern const int n_word_choices;

typedef struct { /* a family of models, with what its config.json leaves out */
    const char *theirs;
    bool gated;        /* its activation is gated */
    int first;         /* unused first rows of its positions */
    const char *lines; /* lines `key: value`, each with its newline */
} Family;
extern const Family families[];
extern const int n_families;

/* True if one of the names in `theirs` matches a key or value. */
bool hint_matches(const char *theirs, const char *name);
const Hint *hint_find(const char *name); /* by key; NULL: none */
/* Returns the hint whose name is nearest to a misspelled key; NULL: none. */
const Hint *hint_near(Arena *a, const char *name);
/* Returns the field nearest to an unknown path, within its group if it has one;
 * NULL: none. */
const char *hint_field(Arena *a, const char *path);
/* Returns a note with the keys of the path's group; NULL: it is in no group. */
const char *hint_group(Arena *a, const char *path);
/* Returns our word for a value of that field; NULL: unknown. */
const char *hint_word(const char *field, const char *value);
/* Returns a note for a value that several of our words could mean; NULL:
 * none. */
const char *hint_choice(const char *field, const char *value);

/* explain_keys.c: reports each unknown key with what to write instead. The rest
 * of the file is checked as if the proposed key stood there, so that one run
 * reports all errors. */
typedef struct {
    const char *path; /* path of keys */
    const Yaml *key, *value;
} KeyValue;
typedef struct {
    Arena *arena;
    const Written *w;
    VEC(KeyValue) unknown; /* from one file or option */
    VEC(KeyValue) meant;   /* proposed: treated as if written */
} Unknown;
void explain_unknown(Unknown *u);

#endif
