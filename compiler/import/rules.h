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

/* Reads the rule files whose text contains `word` (NULL: all), in the order of
 * their names, except common.yaml. Returns false after an error in any of
 * them. */
bool rules_read(Arena *a, RuleFiles *to, const char *word);
/* Reads a rule file that the user named. After an error, returns false with the
 * exit code in *code. */
bool rules_file(Arena *a, const char *path, Rules *to, int *code);
/* Returns common.yaml: keys that are ignored or renamed, and parts of rules. */
const Yaml *rules_common(Arena *a);
/* Returns the rules of a family, merged with the parts that they use. Where
 * both have a value, the family's counts. */
const Yaml *rules_merged(Arena *a, const Rules *r, const Yaml *common);
/* Merges `above` into `below`: maps key by key in the order of `below`; lists
 * are joined, scalars replaced. */
const Yaml *rules_over(Arena *a, const Yaml *below, const Yaml *above);
/* Return the section as a map or a list. NULL: it is absent or, after an error
 * was reported, of another kind. */
const Yaml *rules_map(const Yaml *top, const char *section);
const Yaml *rules_list(const Yaml *top, const char *section);
const char *rules_text(const Yaml *top, const char *section);
/* rules_check.c: checks rule files without a folder and reports errors. */
bool rules_check(Arena *a, const RuleFiles *files);

typedef struct {               /* a row of the section `config` */
    VEC(const char *) names;   /* names of the key; expressions use the first */
    int kinds;                 /* allowed kinds of values, bits of ValueKind */
    bool null;                 /* null is allowed as a value */
    const Expr *default_value; /* default; NULL: the key is required, unless
                                * null or a list or map is allowed */
    Pos pos;
} KeyRule;
/* Parses a row such as `a | b: int? = 5`. Returns false after an error. */
bool rules_key(Arena *a, const Yaml *key, const Yaml *value, KeyRule *to);

#endif
