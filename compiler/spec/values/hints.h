/* hints.h: what other tools call the fields of a spec and their values: three
 * tables, from which the hints of messages are made. A name of theirs is
 * compared in small letters, with _ for other signs; * stands for any text.  */
#ifndef ATTNC_HINTS_H
#define ATTNC_HINTS_H

#include "spec/fields/fields.h"

typedef enum {
    HintValue,  /* `ours` has the same value, its words translated; `more`: a
                   line that is needed beside it */
    HintTrue,   /* a truth: `ours` is the line for true, `more` for false, or
                   NULL: nothing is said then */
    HintFactor, /* a factor of d_model */
    HintFormat, /* `ours` is a line with % for the value */
    HintBegin,  /* the first token of a text */
    HintFamily, /* the name of a family, or of a class of one */
    HintTie,    /* a truth: the matrices of this kind are one */
    HintNote,   /* `more` says what to do */
    HintNone    /* to be left out: `more` says why */
} HintHow;

typedef struct {
    const char *theirs; /* words between blanks: each of them */
    const char *ours;   /* keys between blanks: each gets the value */
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

typedef struct { /* a family of models: what its config.json leaves unsaid */
    const char *theirs;
    bool gated;        /* its activation is */
    int first;         /* so many rows of its positions are never used */
    const char *lines; /* key: value, an end of line behind each */
} Family;
extern const Family families[];
extern const int n_families;

/* Does one of the words of `theirs` stand for that key or value? */
bool hint_matches(const char *theirs, const char *name);
const Hint *hint_find(const char *name); /* of a key; NULL: none */
/* Of the key that is nearest to a misspelled one; NULL: none is near. */
const Hint *hint_near(Arena *a, const char *name);
/* The field that is nearest to an unknown path, of those beside it where it
 * stands in a group of them; NULL: none is near.                            */
const char *hint_field(Arena *a, const char *path);
/* What the keys of the group are that the path is in; NULL: it is in none. */
const char *hint_group(Arena *a, const char *path);
/* Our word for a value of that field, NULL: none is known. */
const char *hint_word(const char *field, const char *value);
/* A note for a value that several words may stand for; NULL: there is none. */
const char *hint_choice(const char *field, const char *value);

/* explain_keys.c: keys that no field has, each reported with what to write. The
 * rest of the file is checked as if the proposed key stood there, so that one
 * run reports all errors. */
typedef struct {
    const char *path; /* of keys */
    const Yaml *key, *value;
} KeyValue;
typedef struct {
    Arena *arena;
    const Written *w;
    VEC(KeyValue) unknown; /* of one file or option */
    VEC(KeyValue) meant;   /* found: to be taken as written */
} Unknown;
void explain_unknown(Unknown *u);

#endif
