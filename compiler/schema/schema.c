/* schema.c: compiles a JSON schema to rules in GBNF: one of each schema in it,
 * in the order in which they are found. */
#include <stdlib.h>
#include <string.h>

#include "runtime/core.h"
#include "schema/schema_parts.h"

/* Returns a value as JSON, with as few digits of numbers as give it again, or
 * NULL: out of memory. */
static char *value_text(const json_t *value)
{
    char *text = NULL;
    bool same = false;
    for (size_t digits = 15; digits <= 17 && !same; digits++) {
        free(text);
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
        json_t *again = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
        same = !text || json_equal(again, value);
        json_decref(again);
    }
    return text;
}

/* Adds a value as JSON. */
static bool put_value(Schema *s, const json_t *value, const char *pointer)
{
    char *text = value_text(value);
    if (!text)
        return fault(s->why, ExitResource, "%s: %s: out of memory", s->path,
                     pointer);
    schema_literal(s->to, text);
    free(text);
    return true;
}

/* Writes the values of const and enum that have one of the types. */
static bool put_values(Schema *s, const json_t *schema, const char *pointer)
{
    const json_t *one = json_object_get(schema, "const");
    const json_t *list = json_object_get(schema, "enum");
    const size_t n = one ? 1 : json_array_size(list);
    const char *bar = "";
    unsigned types = TypeAll;
    if (list && (!json_is_array(list) || n == 0))
        return schema_refuse(s, schema_below(s, pointer, "enum"),
                             "a list of values is expected");
    if (json_object_get(schema, "type")
        && !schema_types(s, schema, pointer, &types))
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = one ? one : json_array_get(list, i);
        if ((schema_type_of(value) & types) == 0)
            continue;
        buffer_printf(s->to, "%s", bar);
        bar = " | ";
        if (!put_value(s, value, pointer))
            return false;
    }
    return *bar || schema_refuse(s, pointer, "no value here has the type");
}

static bool put_type(Schema *s, const json_t *schema, const char *pointer,
                     unsigned type)
{
    switch (type) {
    case TypeNull:    schema_literal(s->to, "null"); return true;
    case TypeBoolean: buffer_printf(s->to, "\"true\" | \"false\""); return true;
    case TypeInteger: return schema_number(s, schema, pointer, true);
    case TypeNumber:  return schema_number(s, schema, pointer, false);
    case TypeString:  return schema_string(s, schema, pointer);
    case TypeArray:   return schema_array(s, schema, pointer);
    default:          return schema_object(s, schema, pointer);
    }
}

/* Writes the alternatives of anyOf, oneOf or allOf. */
static bool put_choices(Schema *s, const json_t *schema, const char *key,
                        const char *pointer)
{
    const json_t *list = json_object_get(schema, key);
    const size_t n = json_array_size(list);
    const char *at = schema_below(s, pointer, key);
    if (n == 0)
        return schema_refuse(s, at, "a list of schemas is expected");
    if (!strcmp(key, "allOf") && n > 1)
        return schema_refuse(s, at,
                             "only one schema can be here: write what "
                             "all of them say in one");
    if (!strcmp(key, "oneOf") && !schema_disjoint(s, list, at))
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *below = arena_printf(s->arena, "%s/%zu", at, i);
        buffer_printf(s->to, "%sr%d", i > 0 ? " | " : "",
                      schema_rule(s, json_array_get(list, i), below));
    }
    return true;
}

/* Writes the alternatives of a schema's rule. */
static bool put_schema(Schema *s, const json_t *schema, const char *pointer)
{
    static const char *const choices[] = { "anyOf", "oneOf", "allOf" };
    unsigned types;
    if (json_is_false(schema))
        return schema_refuse(s, pointer, "no value is allowed here");
    if (json_is_true(schema)) {
        schema_use(s, s->to, TextValue);
        return true;
    }
    if (!schema_keywords(s, schema, pointer))
        return false;
    if (json_object_get(schema, "$ref")) {
        const char *to;
        const json_t *x = schema_follow(s, schema, pointer, &to);
        if (x)
            buffer_printf(s->to, "r%d", schema_rule(s, x, to));
        return x != NULL;
    }
    for (int i = 0; i < 3; i++)
        if (json_object_get(schema, choices[i]))
            return put_choices(s, schema, choices[i], pointer);
    if (json_object_get(schema, "const") || json_object_get(schema, "enum"))
        return put_values(s, schema, pointer);
    if (!schema_types(s, schema, pointer, &types))
        return false;
    if (types == TypeAll) {
        schema_use(s, s->to, TextValue);
        return true;
    }
    for (unsigned type = 1, some = 0; type < TypeAll; type *= 2) {
        if ((types & type) == 0)
            continue;
        buffer_printf(s->to, some ? " | " : "");
        some = 1;
        if (!put_type(s, schema, pointer, type))
            return false;
    }
    return true;
}

static bool put_rules(Schema *s)
{
    schema_rule(s, s->top, "#");
    buffer_printf(s->to, "root ::= \" \"? r0\n");
    for (int i = 0; i < s->rule.n; i++) {
        const SchemaRule r = s->rule.at[i];
        Buffer later = { .arena = s->arena };
        s->later = &later;
        buffer_printf(s->to, "r%d ::= ", i);
        if (!put_schema(s, r.of, r.pointer))
            return false;
        buffer_printf(s->to, "\n");
        if (later.n > 0)
            buffer_add(s->to, later.at, (size_t)later.n);
    }
    schema_text_rules(s);
    return true;
}

/* Sets the fault to what is wrong with the grammar, at the pointer of the rule
 * in which it is. */
static bool refuse_grammar(Schema *s, const struct attn_gbnf *g, bool parsed)
{
    const char *why = g->why;
    int64_t at = g->at;
    for (int64_t i = 0; i < g->rules && parsed; i++) {
        const struct attn_gbnf_rule *r = &g->rule[i];
        if (r->at == at)
            why = !r->clean ? "this schema leads back to itself, and to no "
                              "value: end the circle of $ref"
                            : "every value of this schema contains another of "
                              "its values: make that optional";
    }
    while (at > 0 && g->text[at - 1] != '\n')
        at--;
    const int i = g->text[at] == 'r' ? atoi(g->text + at + 1) : 0;
    return schema_refuse(s, s->rule.at[attn_min(i, s->rule.n - 1)].pointer,
                         "%s", why);
}

static bool check_grammar(Schema *s)
{
    struct attn_gbnf g;
    struct attn_memory at;
    attn_memory_open(&at, NULL);
    if (attn_gbnf_read(&g, s->to->at, s->to->n, &at))
        return refuse_grammar(s, &g, false);
    void *memory = malloc((size_t)attn_memory_bytes(&at));
    if (!memory)
        return fault(s->why, ExitResource, "%s: out of memory", s->path);
    attn_memory_open(&at, memory);
    const bool ok = attn_gbnf_read(&g, s->to->at, s->to->n, &at) == 0
                 || refuse_grammar(s, &g, true);
    free(memory);
    return ok;
}

bool schema_grammar(Buffer *to, const File *f, Fault *why)
{
    const JsonText text = { f->path, (const char *)f->at, f->size, false,
                            false };
    json_error_t e;
    json_t *top;
    Schema s = { .arena = to->arena, .to = to, .path = f->path, .why = why };
    if (!json_read(&top, &text, &e, why))
        return false;
    if (!top)
        return fault(why, ExitInput, "%s:%d:%d: %s", f->path,
                     e.line < 1 ? 1 : e.line, e.column < 1 ? 1 : e.column,
                     e.text);
    s.top = top;
    const bool ok = put_rules(&s) && check_grammar(&s);
    json_decref(top);
    return ok;
}
