/* hints.h: names of fields and values in other tools: three tables from which
 * hints are made. Names are compared in lower case, with _ in place of other
 * separators; a * matches any text. */
#ifndef ATTNC_HINTS_H
#define ATTNC_HINTS_H

#include "spec/fields/fields.h"

typedef enum {
    HintValue,  /* the field `ours` gets the value, translated to a word of
                   specs; `more` is another line that is needed */
    HintTrue,   /* a boolean: `ours` is the line to write for true, `more`
                   for false; NULL: no line */
    HintFactor, /* `ours` is the value times d_model */
    HintFormat, /* `ours` is a line; % stands for the value */
    HintBegin,  /* the first token of a text */
    HintFamily, /* the name of a family or of one of its classes */
    HintTie,    /* a boolean: true if the matrices are tied */
    HintNote,   /* `more` is advice */
    HintNone    /* there is no equivalent; `more` is the reason */
} HintHow;

typedef struct {
    const char *theirs; /* names in other tools, separated by blanks */
    const char *ours;   /* keys, separated by blanks; each gets the value */
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
extern const WordHint word_choices[]; /* `ours` is the text of a note */
extern const int n_word_choices;

typedef struct { /* a family of models, with facts not in its config.json */
    const char *theirs;
    bool gated; /* the feed-forward network is gated */
    int first;  /* number of unused rows at the start of the position table */
    const char *lines; /* lines `key: value` of a spec, separated by newlines */
} Family;
extern const Family families[];
extern const int n_families;

/* True if one of the names in `theirs` matches `name`. */
bool hint_matches(const char *theirs, const char *name);
const Hint *hint_find(const char *name); /* hint for a key; NULL: none */
/* Returns the hint whose name is nearest to a misspelled key; NULL: none. */
const Hint *hint_near(Arena *a, const char *name);
/* Returns the field nearest to an unknown path, within the path's group if it
 * has one; NULL: none is near. */
const char *hint_field(Arena *a, const char *path);
/* Returns a note that lists the keys in the path's group; NULL if the path is
 * in no group. */
const char *hint_group(Arena *a, const char *path);
/* Returns the word of a spec for another tool's value of this field; NULL if
 * the value is unknown. */
const char *hint_word(const char *field, const char *value);
/* Returns a note if the value could mean several words of a spec, else NULL. */
const char *hint_choice(const char *field, const char *value);

/* explain_keys.c: reports each unknown key, with the line to write instead. The
 * rest of the file is checked as if that line had been written, so that one run
 * reports all errors. */
typedef struct {
    const char *path; /* path of keys */
    const Yaml *key, *value;
} KeyValue;
typedef struct {
    Arena *arena;
    const Written *w;
    VEC(KeyValue) unknown; /* unknown keys from one file or option */
    VEC(KeyValue) meant;   /* proposed keys, treated as if written */
} Unknown;
void explain_unknown(Unknown *u);

#endif
