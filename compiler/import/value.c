/* value.c: values of expressions: conversion from JSON and YAML, comparison,
 * and conversion to text. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "import/value.h"

Datum value_integer(int64_t x)
{
    return (Datum){ .kind = ValueInt, .whole = x };
}

Datum value_real(double x)
{
    return (Datum){ .kind = ValueNumber, .number = x };
}

Datum value_truth(bool x)
{
    return (Datum){ .kind = ValueBool, .truth = x };
}

static Datum many_of_json(Arena *a, const json_t *j, Pos pos)
{
    const size_t n = json_is_array(j) ? json_array_size(j)
                                      : json_object_size(j);
    Datum *at = arena_alloc(a, (n + 1) * sizeof *at);
    const char **key = arena_alloc(a, (n + 1) * sizeof *key);
    Datum v = { .kind = json_is_array(j) ? ValueList : ValueMap, .pos = pos };
    int i = 0;
    if (json_is_array(j)) {
        for (size_t k = 0; k < n; k++)
            at[i++] = value_of_json(a, json_array_get(j, k), pos);
    } else {
        for (void *it = json_object_iter((json_t *)j); it;
             it = json_object_iter_next((json_t *)j, it)) {
            key[i] = arena_strdup(a, json_object_iter_key(it));
            at[i++] = value_of_json(a, json_object_iter_value(it), pos);
        }
    }
    v.many.at = at;
    v.many.key = key;
    v.many.n = i;
    return v;
}

static double real_of_json(const json_t *j)
{
    const double x = json_real_value(j);
    return fabs(x) >= strtod(VALUE_INFINITY, NULL) ? copysign(INFINITY, x)
         : fabs(x) >= strtod(VALUE_NAN, NULL)      ? NAN
                                                   : x;
}

bool value_is_off(const Datum *v)
{
    switch (v->kind) {
    case ValueNone:   return true;
    case ValueBool:   return !v->truth;
    case ValueInt:    return v->whole == 0;
    case ValueNumber: return v->number == 0;
    case ValueText:   return !*v->text;
    default:          return v->many.n == 0;
    }
}

Datum value_of_json(Arena *a, const json_t *j, Pos pos)
{
    Datum v = { .kind = ValueNone, .pos = pos };
    switch (json_typeof(j)) {
    case JSON_TRUE:
    case JSON_FALSE:
        v.kind = ValueBool;
        v.truth = json_is_true(j);
        break;
    case JSON_INTEGER:
        v.kind = ValueInt;
        v.whole = json_integer_value(j);
        break;
    case JSON_REAL:
        v.kind = ValueNumber;
        v.number = real_of_json(j);
        break;
    case JSON_STRING:
        v.kind = ValueText;
        v.text = arena_strdup(a, json_string_value(j));
        break;
    case JSON_ARRAY:
    case JSON_OBJECT: return many_of_json(a, j, pos);
    case JSON_NULL:   break;
    }
    return v;
}

static Datum scalar_of_yaml(const Yaml *y)
{
    Datum v = { .kind = ValueText };
    char *end;
    v.text = y->text;
    if (y->quoted)
        return v;
    const bool yes = !strcmp(y->text, "true");
    if (yes || !strcmp(y->text, "false"))
        return (Datum){ .kind = ValueBool, .truth = yes };
    if (!strcmp(y->text, "none"))
        return (Datum){ .kind = ValueNone };
    if (!y->text[0] || !strchr("0123456789-.", y->text[0]))
        return v;
    const long long whole = strtoll(y->text, &end, 10);
    if (!*end)
        return (Datum){ .kind = ValueInt, .whole = whole };
    const double number = strtod(y->text, &end);
    if (!*end)
        return (Datum){ .kind = ValueNumber, .number = number };
    return v;
}

Datum value_of_yaml(Arena *a, const Yaml *y)
{
    if (y->kind == YamlScalar)
        return scalar_of_yaml(y);
    Datum v = { .kind = y->kind == YamlList ? ValueList : ValueMap };
    const size_t n = (size_t)y->items.n + 1;
    Datum *at = arena_alloc(a, n * sizeof *at);
    const char **key = arena_alloc(a, n * sizeof *key);
    for (int i = 0; i < y->items.n; i++) {
        at[i] = value_of_yaml(a, y->items.at[i]);
        key[i] = y->kind == YamlMap ? y->keys.at[i]->text : NULL;
    }
    v.many.at = at;
    v.many.key = key;
    v.many.n = y->items.n;
    return v;
}

double value_number(const Datum *v)
{
    return v->kind == ValueInt ? (double)v->whole : v->number;
}

static bool same_many(const Datum *a, const Datum *b)
{
    if (a->many.n != b->many.n)
        return false;
    for (int i = 0; i < a->many.n; i++) {
        const Datum *other = a->kind == ValueMap ? value_get(b, a->many.key[i])
                                                 : &b->many.at[i];
        if (!other || !value_same(&a->many.at[i], other))
            return false;
    }
    return true;
}

bool value_same(const Datum *a, const Datum *b)
{
    const int numbers = ValueInt | ValueNumber;
    if ((a->kind & numbers) && (b->kind & numbers))
        return value_number(a) == value_number(b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ValueBool: return a->truth == b->truth;
    case ValueText: return !strcmp(a->text, b->text);
    case ValueList:
    case ValueMap:  return same_many(a, b);
    default:        return true;
    }
}

const Datum *value_get(const Datum *map, const char *key)
{
    for (int i = 0; map->kind == ValueMap && i < map->many.n; i++)
        if (!strcmp(map->many.key[i], key))
            return &map->many.at[i];
    return NULL;
}

const char *value_text(Arena *a, const Datum *v)
{
    switch (v->kind) {
    case ValueBool:   return v->truth ? "true" : "false";
    case ValueInt:    return arena_printf(a, "%lld", (long long)v->whole);
    case ValueNumber: return number_text(a, v->number);
    case ValueText:   return v->text;
    case ValueList:   return "a list";
    case ValueMap:    return "a map";
    default:          return "null";
    }
}

const char *kind_text(Arena *a, int kinds)
{
    static const char *const words[] = { "null",       "true or false",
                                         "an integer", "a number",
                                         "a text",     "a list",
                                         "a map" };
    const char *text = "";
    for (int i = 1; i < 8; i++) {
        const int bit = i % 7; /* list null last */
        if (bit == 2 && (kinds & ValueNumber))
            continue;
        if (kinds >> bit & 1)
            text = arena_printf(a, "%s%s%s", text, *text ? " or " : "",
                                words[bit]);
    }
    return text;
}
