/* fields_schema.c: prints the table of fields as a JSON Schema (draft 2020-12),
 * with which editors complete and check specs. The schema covers each field of
 * one file: types, ranges, words, and which fields a kind has and requires. It
 * does not cover conditions between fields or the contents of an extended
 * spec. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "spec/fields/fields.h"

static const char *const kind_words[] = { "encoder-decoder", "encoder",
                                          "decoder", "attention" };

/* ---- values ---- */
static json_t *words_schema(const char *const *words)
{
    json_t *list = json_array();
    for (int i = 0; words[i]; i++) {
        json_array_append_new(list, json_string(words[i]));
        if (strcmp(words[i], "false") == 0) /* YAML reads false as a boolean */
            json_array_append_new(list, json_false());
        if (strcmp(words[i], "true") == 0) /* YAML reads true as a boolean */
            json_array_append_new(list, json_true());
    }
    return json_pack("{s:o}", "enum", list);
}

static json_t *number_schema(const Field *f, const char *type)
{
    if (f->type == FieldInt && f->least == f->most)
        return json_pack("{s:I}", "const", (json_int_t)f->least);
    if (f->type == FieldReal || f->type == FieldReals || f->type == FieldScale)
        return json_pack("{s:s, s:f, s:f}", "type", type, "minimum", f->least,
                         "maximum", f->most);
    return json_pack("{s:s, s:I, s:I}", "type", type, "minimum",
                     (json_int_t)f->least, "maximum", (json_int_t)f->most);
}

static json_t *path_schema(void)
{
    return json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1,
                     "maxLength", 1024);
}

/* Returns the schema of a mask: a word, a map of parts, or a list of these. */
static json_t *mask_schema(const Field *f)
{
    json_t *length = number_schema(&(Field){ .type = FieldInt,
                                             .least = f->least,
                                             .most = f->most },
                                   "integer");
    json_t *parts = json_pack("{s:s, s:i, s:b, s:{s:O, s:o, s:o}}", "type",
                              "object", "minProperties", 1,
                              "additionalProperties", 0, "properties", "window",
                              length, "block", length, "file", path_schema());
    json_t *part = json_pack("{s:[o, o]}", "anyOf", words_schema(f->words),
                             parts);
    return json_pack("{s:[O, {s:s, s:i, s:o}]}", "anyOf", part, "type", "array",
                     "minItems", 1, "items", part);
}

static json_t *ids_schema(const Field *f)
{
    json_t *id = number_schema(&(Field){ .type = FieldInt,
                                         .least = f->least,
                                         .most = f->most },
                               "integer");
    return json_pack("{s:[O, {s:s, s:i, s:o}]}", "anyOf", id, "type", "array",
                     "minItems", 1, "items", id);
}

/* Returns the schema of dtypes: a word, or a map whose values are words or
 * maps. */
static json_t *dtypes_schema(const Field *f)
{
    json_t *word = words_schema(f->words);
    json_t *value = json_pack("{s:[O, {s:s}]}", "anyOf", word, "type",
                              "object");
    return json_pack("{s:[O, {s:s, s:{s:o}, s:o}]}", "anyOf", word, "type",
                     "object", "properties", "default", word,
                     "additionalProperties", value);
}

static json_t *name_schema(void)
{
    return json_loads("{\"anyOf\": [{\"type\": \"string\", \"minLength\": 1}, "
                      "{\"type\": \"object\", \"additionalProperties\": false, "
                      "\"properties\": {"
                      "\"tensor\": {\"type\": \"string\", \"minLength\": 1,"
                      " \"maxLength\": 256},"
                      "\"rows\": {\"type\": \"array\", \"minItems\": 2},"
                      "\"columns\": {\"type\": \"array\", \"minItems\": 2},"
                      "\"groups\": {\"anyOf\": [{\"const\": \"heads\"},"
                      " {\"type\": \"integer\", \"minimum\": 1}]},"
                      "\"transpose\": {\"type\": \"boolean\"},"
                      "\"scale\": {\"type\": \"number\"},"
                      "\"add\": {\"type\": \"number\"},"
                      "\"fill\": {\"type\": \"number\"}}}]}",
                      0, NULL);
}

static json_t *layers_schema(void)
{
    return json_pack("{s:[s, s]}", "type", "array", "object");
}

static json_t *value_schema(Arena *a, const Field *f)
{
    switch (f->type) {
    case FieldInt:  return number_schema(f, "integer");
    case FieldReal: return number_schema(f, "number");
    case FieldReals:
        return json_pack("{s:s, s:i, s:o}", "type", "array", "minItems", 1,
                         "items", number_schema(f, "number"));
    case FieldIds: return ids_schema(f);
    case FieldSequences:
        return json_pack("{s:s, s:i, s:o}", "type", "array", "minItems", 1,
                         "items", ids_schema(f));
    case FieldText:
        return json_pack("{s:s, s:i}", "type", "string", "maxLength",
                         MostTextBytes);
    case FieldPrompts:
        return json_pack("{s:s, s:i, s:{s:s, s:i}}", "type", "object",
                         "minProperties", 1, "additionalProperties", "type",
                         "string", "maxLength", MostTextBytes);
    case FieldPatterns:
        return json_pack("{s:s, s:i, s:{s:s, s:i, s:i}}", "type", "array",
                         "minItems", 1, "items", "type", "string", "minLength",
                         1, "maxLength", MostNameBytes);
    case FieldBool: return json_pack("{s:s}", "type", "boolean");
    case FieldEnum: return words_schema(f->words);
    case FieldFlags:
        return json_pack("{s:s, s:b, s:o}", "type", "array", "uniqueItems", 1,
                         "items", words_schema(f->words));
    case FieldScale:
        return json_pack("{s:[o, o]}", "anyOf", words_schema(f->words),
                         number_schema(f, "number"));
    case FieldActivation: return words_schema(act_words(a));
    case FieldMask:       return mask_schema(f);
    case FieldDtypes:     return dtypes_schema(f);
    case FieldLayers:     return layers_schema();
    case FieldName: /* YAML reads some names as numbers */
        return json_pack("{s:[s, s], s:s}", "type", "string", "number",
                         "pattern", "^[A-Za-z0-9_.-]{1,128}$");
    case FieldNames:
        return json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                         name_schema());
    default: return path_schema();
    }
}

/* Adds the default of a field, unless it is described in words. */
static void add_default(Arena *a, json_t *to, const Field *f)
{
    int64_t whole;
    double real;
    if (!f->preset || !*f->preset || f->follow)
        return;
    if (f->type == FieldInt && parse_int(f->preset, &whole))
        json_object_set_new(to, "default", json_integer(whole));
    else if (f->type == FieldReal && parse_real(f->preset, &real))
        json_object_set_new(to, "default", json_real(real));
    else if (f->type == FieldBool)
        json_object_set_new(to, "default",
                            json_boolean(strcmp(f->preset, "true") == 0));
    else
        json_object_set_new(to, "default",
                            json_string(arena_strdup(a, f->preset)));
}

/* ---- keys ---- */

/* True for the row of `path` and for rows below it. */
static bool under(int row, const char *path)
{
    return strcmp(fields[row].key, path) == 0
        || field_below(fields[row].key, path);
}

/* Returns the path of the child of `group` that contains the row, e.g.
 * "norm.place" in "norm". NULL: the row is not below the group, or an earlier
 * row has the same child. */
static const char *child_of(Arena *a, int row, const char *group)
{
    const size_t n = strlen(group), skip = n ? n + 1 : 0;
    const char *key = fields[row].key;
    if (!field_below(key, group))
        return NULL;
    const size_t end = skip + strcspn(key + skip, ".");
    const char *child = arena_strndup(a, key, end);
    for (int i = 0; i < row; i++)
        if (under(i, child))
            return NULL;
    return child;
}

static bool has_below(const char *path)
{
    for (int i = 0; i < n_fields; i++)
        if (field_below(fields[i].key, path))
            return true;
    return false;
}

/* Returns a field's description, with the conditions under which the field
 * applies, e.g. "For positions.type sinusoidal or rotary." */
static const char *meaning_of(Arena *a, const Field *f)
{
    const char *text = f->doc;
    if (f->preset && *f->preset && f->follow)
        text = arena_printf(a, "%s Default: %s.", text, f->preset);
    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        if (!link->of || strcmp(link->key, f->key) != 0)
            continue;
        text = arena_printf(a, "%s For %s", text, link->of);
        for (int k = 0; link->when[k]; k++)
            text = arena_printf(a, "%s %s%s", text, k ? "or " : "",
                                link->when[k]);
        text = arena_printf(a, "%s.", text);
    }
    return text;
}

static json_t *properties(Arena *a, const char *group);

/* Returns the schema of a map. The schema does not check keys written as paths,
 * such as `norm.place: pre`. */
static json_t *map_schema(Arena *a, const char *path)
{
    return json_pack("{s:s, s:b, s:{s:b}, s:o}", "type", "object",
                     "additionalProperties", 0, "patternProperties", "[.]", 1,
                     "properties", properties(a, path));
}

/* Returns the schema of a key: a value, a map of the keys below it, or
 * either. */
static json_t *key_schema(Arena *a, const char *path)
{
    const int row = field_find(path);
    const Field *f = row < 0 ? NULL : &fields[row];
    const bool spreads = f && f->type == FieldSpread;
    const Field *of = spreads ? &fields[field_row(f->words[0])] : f;
    json_t *to;
    if (!of)
        return map_schema(a, path);
    to = value_schema(a, of);
    if (has_below(path))
        to = json_pack("{s:[o, o]}", "anyOf", to, map_schema(a, path));
    json_object_set_new(to, "description", json_string(meaning_of(a, f)));
    if (!spreads)
        add_default(a, to, f);
    return to;
}

static json_t *properties(Arena *a, const char *group)
{
    json_t *to = json_object();
    for (int i = 0; i < n_fields; i++) {
        const char *child = child_of(a, i, group);
        if (child)
            json_object_set_new(to, last_key(child), key_schema(a, child));
    }
    return to;
}

/* ---- kinds ---- */

/* True if some row at or below `path` exists for the kind or, with has = false,
 * if some row does not. */
static bool any_of(const char *path, unsigned kind, bool has)
{
    for (int i = 0; i < n_fields; i++)
        if (under(i, path) && ((fields[i].kinds & kind) != 0) == has)
            return true;
    return false;
}

/* True if the row applies only for some values of another field. */
static bool of_a_form(int row)
{
    for (int i = 0; i < n_field_links; i++)
        if (field_links[i].of && !strcmp(field_links[i].key, fields[row].key))
            return true;
    return false;
}

/* True if a row at or below the path is always required for the kind. */
static bool needed(const char *path, unsigned kind)
{
    for (int i = 0; i < n_fields; i++)
        if (under(i, path) && (fields[i].kinds & kind)
            && fields[i].type != FieldSpread && !fields[i].preset
            && !of_a_form(i))
            return true;
    return false;
}

/* Returns a schema that rejects keys that the kind lacks. With `whole` it also
 * requires the keys that the kind needs; without it, another file may provide
 * them. */
static json_t *kind_schema(Arena *a, const char *group, unsigned kind,
                           bool whole)
{
    json_t *to = json_object(), *list = json_array(), *keys = json_object();
    for (int i = 0; i < n_fields; i++) {
        const char *child = child_of(a, i, group);
        if (!child)
            continue;
        if (!any_of(child, kind, true))
            json_object_set_new(keys, last_key(child), json_false());
        else if (has_below(child)) {
            json_t *below = kind_schema(a, child, kind, whole);
            if (json_object_size(below) > 0)
                json_object_set(keys, last_key(child), below);
            json_decref(below);
        }
        if (whole && needed(child, kind))
            json_array_append_new(list, json_string(last_key(child)));
    }
    if (json_object_size(keys) > 0)
        json_object_set(to, "properties", keys);
    if (json_array_size(list) > 0)
        json_object_set(to, "required", list);
    json_decref(keys);
    json_decref(list);
    return to;
}

static json_t *kind_rules(Arena *a)
{
    json_t *rules = json_array();
    for (int i = 0; i < 4; i++) {
        json_t *is = json_pack("{s:[s], s:{s:{s:s}}}", "required", "kind",
                               "properties", "kind", "const", kind_words[i]);
        json_t *rule = json_pack("{s:o, s:o}", "if", is, "then",
                                 kind_schema(a, "", 1u << i, false));
        json_array_append_new(rules, rule);
        json_t *alone = json_pack("{s:[{s:{s:[s]}}, O]}", "allOf", "not",
                                  "required", "extends", is);
        json_array_append_new(rules,
                              json_pack("{s:o, s:o}", "if", alone, "then",
                                        kind_schema(a, "", 1u << i, true)));
    }
    return rules;
}

char *spec_schema(Arena *a)
{
    json_t *schema =
        json_pack("{s:s, s:s, s:s}", "$schema",
                  "https://json-schema.org/draft/2020-12/schema", "title",
                  "A spec of attnc", "description",
                  "A Transformer, as attnc reads it. Printed by attnc fields "
                  "--format=schema.");
    json_t *rest = json_pack("{s:[{s:[s]}, {s:[s, s, s]}], s:o}", "anyOf",
                             "required", "extends", "required", "attnc", "name",
                             "kind", "allOf", kind_rules(a));
    json_object_update_new(schema, map_schema(a, ""));
    json_object_update_new(schema, rest);
    char *text = schema ? json_dumps(schema,
                                     JSON_INDENT(1) | JSON_REAL_PRECISION(10))
                        : NULL;
    if (!text)
        fail(ExitResource, "out of memory");
    char *out = arena_printf(a, "%s\n", text);
    free(text);
    json_decref(schema);
    return out;
}
