/* value.h: what expressions of a rule file have as values, and config.json. */
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
} ValueKind; /* bits: a key may take several */

typedef struct Datum Datum;
struct Datum {
    ValueKind kind;
    Pos pos; /* where a file of the folder has it; src NULL: computed */
    union {
        bool truth;
        int64_t whole;
        double number;
        const char *text;
        struct {
            const Datum *at;
            const char *const *key; /* of a map */
            int n;
        } many;
    };
};

/* Each returns a value of its kind. */
Datum value_whole(int64_t x);
Datum value_real(double x);
Datum value_truth(bool x);
Datum value_of_json(Arena *a, const json_t *j, Pos pos);
/* A literal: a plain scalar may be a number, a truth, none. */
Datum value_of_yaml(Arena *a, const Yaml *y);
bool value_same(const Datum *a, const Datum *b);
double value_number(const Datum *v); /* of an int or a number */
/* NULL: the map has no such key. */
const Datum *value_get(const Datum *map, const char *key);
/* As a message, or a spec, has it: 12, 1e-06, a word. */
const char *value_text(Arena *a, const Datum *v);
/* "an int", "a text": of bits. */
const char *kind_text(Arena *a, int kinds);

#endif
