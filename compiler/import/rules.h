/* rules.h: the files of models/import: what is known of a family.           */
#ifndef ATTNC_IMPORT_RULES_H
#define ATTNC_IMPORT_RULES_H

#include "import/expr.h"

typedef struct {
    const char *name;   /* of the file: "import/NAME.yaml" */
    const char *family; /* NAME */
    const Yaml *top;
} Rules;

typedef VEC(Rules) RuleFiles;

/* Those whose text has this word, NULL: all, in order of their names; common
 * to all files is not among them. False after an error in one of them.      */
bool rules_read(Arena *a, RuleFiles *to, const char *word);
/* One that the user has; false after an error, whose exit code is in *code. */
bool rules_file(Arena *a, const char *path, Rules *to, int *code);
/* What is common to all: keys that mean nothing, renamed ones, parts. */
const Yaml *rules_common(Arena *a);
/* A family with the parts that it uses; what it says itself wins. */
const Yaml *rules_whole(Arena *a, const Rules *r, const Yaml *common);
/* One laid over another, whose order stays: maps key by key, lists joined. */
const Yaml *rules_over(Arena *a, const Yaml *below, const Yaml *above);
/* A section: NULL where it is absent. Reports one of the wrong kind. */
const Yaml *rules_map(const Yaml *top, const char *section);
const Yaml *rules_list(const Yaml *top, const char *section);
const char *rules_text(const Yaml *top, const char *section);
/* rules_check.c: is all of these right as it stands? Reports what is not. */
bool rules_check(Arena *a, const RuleFiles *files);

typedef struct {             /* what a row of `config` says */
    VEC(const char *) names; /* the first: in expressions */
    int kinds;               /* ValueInt | .. */
    bool null;               /* is a value */
    const Expr *usual;       /* NULL: the key must be there, or is none */
    Pos pos;
} KeyRule;
/* `a | b: int? = 5`. False after an error. */
bool rules_key(Arena *a, const Yaml *key, const Yaml *value, KeyRule *to);

#endif
