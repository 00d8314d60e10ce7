/* yaml.h: a YAML document as a tree; each value has its position. */
#ifndef ATTNC_YAML_H
#define ATTNC_YAML_H

#include "base/base.h"

/* ---- yaml.c ---- */
typedef enum { YamlScalar, YamlList, YamlMap } YamlKind;

typedef struct Yaml Yaml;
struct Yaml {
    YamlKind kind;
    Pos pos;
    const char *text;  /* YamlScalar */
    bool quoted;       /* YamlScalar: in quotes, so always a string */
    VEC(Yaml *) items; /* YamlList; YamlMap: the values */
    VEC(Yaml *) keys;  /* YamlMap: scalars, one per value */
};

/* Parses one document, from byte `start` of its source. Returns NULL after
 * reporting an error. Limits: 1 MiB, depth 32; anchors, aliases, tags and
 * further documents are rejected. A duplicate key is reported but does not stop
 * parsing: the first one is kept. */
Yaml *yaml_parse(Arena *a, const Source *src, size_t start);
Yaml *yaml_get(const Yaml *map, const char *key); /* NULL: absent */

/* ---- yaml_error.c ---- */

/* Reports libyaml's problem at a position, and its context (or ""), which began
 * at another position. */
void yaml_syntax_error(const Source *src, const char *problem,
                       const char *context, Pos at, Pos from);
/* True if the line has a key without a colon after it; then an error is
 * reported. */
bool yaml_no_colon(const Source *src, int line);

#endif
