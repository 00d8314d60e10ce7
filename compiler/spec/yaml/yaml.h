/* yaml.h: a YAML document as a tree with the place of each of its values.   */
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
    bool quoted;       /* YamlScalar: '..' or "..": always a string */
    VEC(Yaml *) items; /* YamlList; YamlMap: the values */
    VEC(Yaml *) keys;  /* YamlMap: scalars, beside the values */
};

/* Parses one document, from byte `start` of its source. NULL after an error has
 * been reported. Caps: 1 MiB, depth 32; anchors, aliases, tags, several
 * documents are refused. A duplicate key is an error that does not stop the
 * reading: the first one is kept.                                           */
Yaml *yaml_parse(Arena *a, const Source *src, size_t start);
Yaml *yaml_get(const Yaml *map, const char *key); /* NULL: absent */

/* ---- yaml_error.c ---- */

/* Reports libyaml's problem at a place, and what it was about (or ""), which
 * began at another.                                                         */
void yaml_syntax_error(const Source *src, const char *problem,
                       const char *context, Pos at, Pos from);
/* Has the line a key, but no colon behind it? An error then. */
bool yaml_no_colon(const Source *src, int line);

#endif
