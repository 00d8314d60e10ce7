/* rules.h: reads the files of models/import, which describe the families. */
#ifndef ATTNC_IMPORT_RULES_H
#define ATTNC_IMPORT_RULES_H

#include "import/expr.h"

typedef struct {
    const char *name;   /* file name: "import/NAME.yaml" */
    const char *family; /* NAME */
    const Yaml *top;
} Rules;

typedef VEC(Rules) RuleFiles;

/* Reads the rule files whose text contains `word` (NULL: all), ordered by name,
 * without common.yaml. Returns false after an error in any of them. */
bool rules_read(Arena *a, RuleFiles *to, const char *word);
/* Reads a rule file of the user. Returns false after an error, with the exit
 * code in *code. */
bool rules_file(Arena *a, const char *path, Rules *to, int *code);
/* Returns common.yaml: ignored keys, renamed keys, and parts of rules. */
const Yaml *rules_common(Arena *a);
/* Returns a family's rules merged with the parts that they use; the family's
 * own values take precedence. */
const Yaml *rules_merged(Arena *a, const Rules *r, const Yaml *common);
/* Lays `above` over `below`: merges maps key by key in the order of `below`,
 * joins lists, and replaces scalars. */
const Yaml *rules_over(Arena *a, const Yaml *below, const Yaml *above);
/* Return a section of that kind; NULL if it is absent or, after reporting an
 * error, of another kind. */
const Yaml *rules_map(const Yaml *top, const char *section);
const Yaml *rules_list(const Yaml *top, const char *section);
const char *rules_text(const Yaml *top, const char *section);
/* rules_check.c: checks rule files without a folder and reports errors. */
bool rules_check(Arena *a, const RuleFiles *files);

typedef struct {               /* a row of `config` */
    VEC(const char *) names;   /* the first is used in expressions */
    int kinds;                 /* bits of ValueKind */
    bool null;                 /* null is a value */
    const Expr *default_value; /* default; NULL: required, unless null or a list
                          or map is allowed */
    Pos pos;
} KeyRule;
/* Parses `a | b: int? = 5`. Returns false after an error. */
bool rules_key(Arena *a, const Yaml *key, const Yaml *value, KeyRule *to);

#endif
