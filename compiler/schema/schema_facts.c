/* schema_facts.c: keywords of a schema, its types, and whether two schemas have
 * a value in common. */
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "schema/schema_parts.h"

/* How a keyword goes together with others. */
typedef enum {
    KeyNote,  /* says nothing about values */
    KeyAlone, /* stands beside notes only */
    KeyValues /* stands beside notes and `type` */
} KeyKind;

static const struct {
    const char *name;
    KeyKind kind;
    unsigned type; /* types of values that it is about; 0: all */
} keys[] = {
    { "$schema", KeyNote, 0 },
    { "$comment", KeyNote, 0 },
    { "$defs", KeyNote, 0 },
    { "definitions", KeyNote, 0 },
    { "title", KeyNote, 0 },
    { "description", KeyNote, 0 },
    { "default", KeyNote, 0 },
    { "examples", KeyNote, 0 },
    { "deprecated", KeyNote, 0 },
    { "readOnly", KeyNote, 0 },
    { "writeOnly", KeyNote, 0 },
    { "$ref", KeyAlone, 0 },
    { "anyOf", KeyAlone, 0 },
    { "oneOf", KeyAlone, 0 },
    { "allOf", KeyAlone, 0 },
    { "enum", KeyValues, 0 },
    { "const", KeyValues, 0 },
    { "type", KeyNote, 0 },
    { "properties", KeyNote, TypeObject },
    { "required", KeyNote, TypeObject },
    { "additionalProperties", KeyNote, TypeObject },
    { "items", KeyNote, TypeArray },
    { "prefixItems", KeyNote, TypeArray },
    { "minItems", KeyNote, TypeArray },
    { "maxItems", KeyNote, TypeArray },
    { "minLength", KeyNote, TypeString },
    { "maxLength", KeyNote, TypeString },
    { "format", KeyNote, TypeString },
    { "minimum", KeyNote, TypeNumber },
    { "maximum", KeyNote, TypeNumber },
    { "exclusiveMinimum", KeyNote, TypeNumber },
    { "exclusiveMaximum", KeyNote, TypeNumber },
};
enum { n_keys = sizeof keys / sizeof *keys };

static int find_key(const char *name)
{
    int i = 0;
    while (i < n_keys && strcmp(keys[i].name, name) != 0)
        i++;
    return i;
}

/* True if a keyword may stand beside one that limits others. */
static bool goes_with(int i, KeyKind kind)
{
    const bool type = !strcmp(keys[i].name, "type");
    const bool note = keys[i].kind == KeyNote && keys[i].type == 0 && !type;
    return note || (type && kind == KeyValues);
}

bool schema_keywords(Schema *s, const json_t *schema, const char *pointer)
{
    const char *name, *alone = NULL;
    json_t *x, *object = (json_t *)schema;
    KeyKind kind = KeyNote;
    if (!json_is_object(schema))
        return schema_refuse(s, pointer,
                             "a schema is an object, true or false");
    json_object_foreach(object, name, x)
    {
        const int i = find_key(name);
        if (i == n_keys)
            return schema_refuse(s, schema_below(s, pointer, name),
                                 "this keyword is not supported: leave it out");
        if (keys[i].kind > KeyNote && !alone) {
            alone = name;
            kind = keys[i].kind;
        }
    }
    json_object_foreach(object, name, x)
    {
        if (alone && name != alone && !goes_with(find_key(name), kind))
            return schema_refuse(s, schema_below(s, pointer, name),
                                 "this can't stand beside %s: write both in "
                                 "one schema, or leave one out",
                                 alone);
    }
    return true;
}

/* ---- types ---- */

static unsigned type_named(const char *name)
{
    static const char *const names[] = { "null",   "boolean", "integer",
                                         "number", "string",  "array",
                                         "object" };
    for (int i = 0; name && i < 7; i++)
        if (!strcmp(names[i], name))
            return 1u << i;
    return 0;
}

unsigned schema_type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_NULL:    return TypeNull;
    case JSON_TRUE:
    case JSON_FALSE:   return TypeBoolean;
    case JSON_INTEGER: return TypeInteger | TypeNumber;
    case JSON_REAL:    {
        const double x = json_real_value(value);
        return x == floor(x) ? TypeInteger | TypeNumber : TypeNumber;
    }
    case JSON_STRING: return TypeString;
    case JSON_ARRAY:  return TypeArray;
    default:          return TypeObject;
    }
}

bool schema_types(Schema *s, const json_t *schema, const char *pointer,
                  unsigned *types)
{
    const json_t *type = json_object_get(schema, "type");
    const size_t n = json_is_array(type) ? json_array_size(type) : 1;
    const char *name;
    json_t *x;
    *types = 0;
    if (!type) {
        json_object_foreach((json_t *)schema, name,
                            x) *types |= keys[find_key(name)].type;
        if (*types == 0)
            *types = TypeAll;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(type) ? json_array_get(type, i)
                                                : type;
        const unsigned bit = type_named(json_string_value(one));
        if (bit == 0)
            return schema_refuse(s, schema_below(s, pointer, "type"),
                                 "a type is null, boolean, integer, number, "
                                 "string, array or object");
        *types |= bit;
    }
    if (*types == 0)
        return schema_refuse(s, schema_below(s, pointer, "type"),
                             "this list has no type");
    if (*types & TypeNumber)
        *types &= ~(unsigned)TypeInteger;
    return true;
}

/* ---- references ---- */

/* Decodes a token of a pointer: ~0 is ~, and ~1 is /. */
static char *pointer_token(Schema *s, const char *at, size_t n)
{
    char *token = arena_strndup(s->arena, at, n), *to = token;
    for (const char *c = token; *c; to++) {
        const bool escape = c[0] == '~' && (c[1] == '0' || c[1] == '1');
        *to = !escape ? c[0] : c[1] == '0' ? '~' : '/';
        c += 1 + escape;
    }
    *to = 0;
    return token;
}

const json_t *schema_follow(Schema *s, const json_t *schema,
                            const char *pointer, const char **to)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    const json_t *x = s->top;
    const char *at = ref ? ref : "";
    *to = ref;
    if (at[0] == '#' && strchr(at, '%') == NULL) {
        for (at++; *at == '/' && x;) {
            const size_t n = strcspn(at + 1, "/");
            const char *token = pointer_token(s, at + 1, n);
            char *end;
            const unsigned long i = strtoul(token, &end, 10);
            x = json_is_array(x) && *token && !*end
                  ? json_array_get(x, (size_t)i)
                  : json_object_get(x, token);
            at += n + 1;
        }
        if (*at == 0 && x)
            return x;
    }
    schema_refuse(s, schema_below(s, pointer, "$ref"),
                  "nothing is at '%.100s': a reference begins with # and "
                  "leads to a part of this file",
                  ref ? ref : "");
    return NULL;
}

/* ---- values in common ---- */

enum { MostReferences = 16, MostDepth = 4 };

/* Follows $ref. Returns NULL after a message, or if there are too many. */
static const json_t *resolved(Schema *s, const json_t *x, const char *pointer)
{
    const char *to = pointer;
    for (int i = 0; x && json_object_get(x, "$ref"); i++)
        x = i < MostReferences ? schema_follow(s, x, to, &to) : NULL;
    return x;
}

/* Returns all types that values of a schema may have. */
static unsigned types_allowed(Schema *s, const json_t *x, const char *pointer)
{
    const json_t *one = json_object_get(x, "const");
    const json_t *list = json_object_get(x, "enum");
    unsigned types = 0;
    if (json_object_get(x, "type") && schema_types(s, x, pointer, &types))
        return types & TypeNumber ? types | TypeInteger : types;
    if (one)
        return schema_type_of(one);
    for (size_t i = 0; i < json_array_size(list); i++)
        types |= schema_type_of(json_array_get(list, i));
    return list ? types : TypeAll;
}

static bool same_value(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_is_array(a) && json_is_array(b)) {
        const size_t n = json_array_size(a);
        bool same = n == json_array_size(b);
        for (size_t i = 0; same && i < n; i++)
            same = same_value(json_array_get(a, i), json_array_get(b, i));
        return same;
    }
    if (json_is_object(a) && json_is_object(b)) {
        void *at = json_object_iter((json_t *)(uintptr_t)a);
        bool same = json_object_size(a) == json_object_size(b);
        for (; same && at;
             at = json_object_iter_next((json_t *)(uintptr_t)a, at)) {
            const json_t *y = json_object_get(b, json_object_iter_key(at));
            same = y && same_value(json_object_iter_value(at), y);
        }
        return same;
    }
    return json_equal(a, b);
}

/* Returns value i of const or enum, or NULL. */
static const json_t *value_of(const json_t *x, size_t i)
{
    const json_t *one = json_object_get(x, "const");
    if (one)
        return i == 0 ? one : NULL;
    return json_array_get(json_object_get(x, "enum"), i);
}

static bool values_apart(const json_t *a, const json_t *b)
{
    const json_t *x, *y;
    if (!value_of(a, 0) || !value_of(b, 0))
        return false;
    for (size_t i = 0; (x = value_of(a, i)); i++)
        for (size_t k = 0; (y = value_of(b, k)); k++)
            if (same_value(x, y))
                return false;
    return true;
}

static bool is_required(const json_t *x, const char *name)
{
    const json_t *list = json_object_get(x, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *at = json_string_value(json_array_get(list, i));
        if (at && !strcmp(at, name))
            return true;
    }
    return false;
}

/* True if two schemas have no value in common: by type, by const and enum, or
 * by a property that both require. */
static bool apart(Schema *s, const json_t *a, const json_t *b,
                  const char *pointer, int depth)
{
    const char *name;
    json_t *x;
    a = resolved(s, a, pointer);
    b = resolved(s, b, pointer);
    if (!a || !b || depth == MostDepth)
        return false;
    const unsigned both = types_allowed(s, a, pointer)
                        & types_allowed(s, b, pointer);
    if (both == 0 || values_apart(a, b))
        return true;
    json_object_foreach(json_object_get(a, "properties"), name, x)
    {
        const json_t *y = json_object_get(json_object_get(b, "properties"),
                                          name);
        if (both == TypeObject && y && is_required(a, name)
            && is_required(b, name) && apart(s, x, y, pointer, depth + 1))
            return true;
    }
    return false;
}

bool schema_disjoint(Schema *s, const json_t *list, const char *pointer)
{
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            s->why->text[0] = 0;
            if (apart(s, json_array_get(list, i), json_array_get(list, k),
                      pointer, 0))
                continue;
            if (s->why->text[0]) /* a reference is wrong */
                return false;
            return schema_refuse(s, pointer,
                                 "schemas %zu and %zu may match the same "
                                 "value: write anyOf, or give them a required "
                                 "property with different constants",
                                 k, i);
        }
    return true;
}
