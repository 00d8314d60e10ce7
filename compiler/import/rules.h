/* rules.h: reads the files of models/import, which describe the families. */
#ifndef ATTNC_IMPORT_RULES_H
#define ATTNC_IMPORT_RULES_H

#include "import/expr.h"

typedef struct {
    const char *name;   /* file name, "import/FAMILY.yaml" */
    const char *family; /* the family's name */
    const Yaml *top;
} Rules;

typedef VEC(Rules) RuleFiles;

/* Reads the rule files that contain `word` (NULL: all) except common.yaml,
 * sorted by name. Returns false if any of them has an error. */
bool rules_read(Arena *a, RuleFiles *to, const char *word);
/* Reads the user's rule file. After an error, returns false, with the exit code
 * in *code. */
bool rules_file(Arena *a, const char *path, Rules *to, int *code);
/* Returns common.yaml: ignored keys, renamed keys, and parts of rules that
 * families share. */
const Yaml *rules_common(Arena *a);
/* Returns the rules of a family, merged with the shared parts that they name.
 * The family's own values take precedence. */
const Yaml *rules_merged(Arena *a, const Rules *r, const Yaml *common);
/* Merges `above` into `below`: maps key by key, in the order of `below`; lists
 * are joined, scalars replaced. */
const Yaml *rules_over(Arena *a, const Yaml *below, const Yaml *above);
/* Return a section as a map or a list; NULL if it is absent or, after reporting
 * an error, if it is of another kind. */
const Yaml *rules_map(const Yaml *top, const char *section);
const Yaml *rules_list(const Yaml *top, const char *section);
const char *rules_text(const Yaml *top, const char *section);
/* rules_check.c: checks rule files without a folder, and reports errors. */
bool rules_check(Arena *a, const RuleFiles *files);

typedef struct {               /* a row of the section `config` */
    VEC(const char *) names;   /* names of the key; expressions use the first */
    int kinds;                 /* allowed kinds of values, bits of ValueKind */
    bool null;                 /* null is allowed as a value */
    const Expr *default_value; /* default; NULL: the key is required, unless it
                                * may be null, a list or a map */
    Pos pos;
} KeyRule;
/* Parses a row such as `a | b: int? = 5`. Returns false after an error. */
bool rules_key(Arena *a, const Yaml *key, const Yaml *value, KeyRule *to);

#endif
