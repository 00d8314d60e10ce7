/* value.h: the values of expressions in rule files, and of keys in
 * config.json. */
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
    ValueMap = 64,
    ValueUndefined = 128, /* this and the next only in chat templates */
    ValueSpace = 256      /* a namespace; `whole` is its number */
} ValueKind;              /* bits, because a key may allow several kinds */

typedef struct Datum Datum;
struct Datum {
    ValueKind kind;
    Pos pos; /* position in a file of the folder; `src` is NULL if the value was
              * computed */
    union {
        bool truth;
        int64_t whole;
        double number;
        const char *text;
        struct {
            const Datum *at;
            const char *const *key; /* keys of the items; only maps have them */
            int n;
        } many;
    };
};

/* Each of these returns a value of the kind in its name. */
Datum value_integer(int64_t x);
Datum value_real(double x);
Datum value_truth(bool x);
/* The two numbers stand for Python's Infinity and NaN, which JSON lacks. */
#define VALUE_INFINITY "1.7976931348623157e308"
#define VALUE_NAN      "1.7976931348623155e308"
Datum value_of_json(Arena *a, const json_t *j, Pos pos);
/* True for what a key has that is turned off: null, false, 0 or empty. */
bool value_is_off(const Datum *v);
/* Converts a literal. Without quotes it may be a number, true, false or
 * none. */
Datum value_of_yaml(Arena *a, const Yaml *y);
bool value_same(const Datum *a, const Datum *b);
double value_number(const Datum *v); /* returns an integer or a number as a
                                      * double */
/* Returns the value of a key; NULL if it is absent or `map` is not a map. */
const Datum *value_get(const Datum *map, const char *key);
/* Returns the value as text for messages and specs: 12, 1e-06, a word. */
const char *value_text(Arena *a, const Datum *v);
/* Returns a description of a set of kinds, such as "an integer or a text". */
const char *kind_text(Arena *a, int kinds);

#endif
