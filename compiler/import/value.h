/* value.h: values of expressions in rule files, and of config.json. */
#ifndef ATTNC_IMPORT_VALUE_H
#define ATTNC_IMPORT_VALUE_H

#include <jansson.h>

#include "spec/yaml/yaml.h"

typedef enum {
    ValueNone = 1,
    ValueBool = 2,
    ValueInt = 4,
    ValueNumber = 8,
    ValueText = 16,
    ValueList = 32,
    ValueMap = 64
} ValueKind; /* bits, because a key may allow several */

typedef struct Datum Datum;
struct Datum {
    ValueKind kind;
    Pos pos; /* position in a file of the folder; src NULL: computed */
    union {
        bool truth;
        int64_t whole;
        double number;
        const char *text;
        struct {
            const Datum *at;
            const char *const *key; /* only of a map */
            int n;
        } many;
    };
};

/* Each returns a value of that kind. */
Datum value_integer(int64_t x);
Datum value_real(double x);
Datum value_truth(bool x);
Datum value_of_json(Arena *a, const json_t *j, Pos pos);
/* Converts a literal; an unquoted scalar may be a number, true, false or
 * none. */
Datum value_of_yaml(Arena *a, const Yaml *y);
bool value_same(const Datum *a, const Datum *b);
double value_number(const Datum *v); /* v is an int or a number */
/* Returns the value of a key; NULL if absent or not a map. */
const Datum *value_get(const Datum *map, const char *key);
/* Returns the text for messages and specs: 12, 1e-06, a word. */
const char *value_text(Arena *a, const Datum *v);
/* Describes the kinds in a set of bits: "an integer or a text". */
const char *kind_text(Arena *a, int kinds);

#endif
