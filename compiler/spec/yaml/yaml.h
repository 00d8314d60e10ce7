/* yaml.h: a YAML document as a tree of values with their positions. */
#ifndef ATTNC_YAML_H
#define ATTNC_YAML_H

#include "base/base.h"

/* ---- yaml.c ---- */
typedef enum { YamlScalar, YamlList, YamlMap } YamlKind;

typedef struct Yaml Yaml;
struct Yaml {
    YamlKind kind;
    Pos pos;
    const char *text;  /* text of a YamlScalar */
    bool quoted;       /* YamlScalar: it was quoted, so it is always a string */
    VEC(Yaml *) items; /* items of a YamlList; values of a YamlMap */
    VEC(Yaml *) keys;  /* keys of a YamlMap: scalars, one for each value */
};

/* Parses one document, from byte `start` of its source to the end. Returns NULL
 * after reporting an error. Limits: 1 MiB, depth 32. Rejects anchors, aliases,
 * tags and further documents. Reports a duplicate key but keeps the first one
 * and continues. */
Yaml *yaml_parse(Arena *a, const Source *src, size_t start);
Yaml *yaml_get(const Yaml *map, const char *key); /* value of a key, or NULL */

/* ---- yaml_error.c ---- */

/* Reports libyaml's message at `at`, and its context (if not "") at `from`,
 * where that began. */
void yaml_syntax_error(const Source *src, const char *problem,
                       const char *context, Pos at, Pos from);
/* Reports a key that is not followed by a colon. Returns true if the line has
 * such a key. */
bool yaml_no_colon(const Source *src, int line);

#endif
