/* schema_parts.c: messages with JSON pointers, and the list of rules. */
#include "schema/schema_parts.h"

bool schema_refuse(Schema *s, const char *pointer, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(s->arena, fmt, ap);
    va_end(ap);
    return fault(s->why, ExitInput, "%s: %s: %s", s->path, pointer, text);
}

const char *schema_below(Schema *s, const char *pointer, const char *key)
{
    Buffer b = { .arena = s->arena };
    buffer_printf(&b, "%s/", pointer);
    for (; *key; key++)
        if (*key == '~' || *key == '/')
            buffer_add(&b, *key == '~' ? "~0" : "~1", 2);
        else
            buffer_add(&b, key, 1);
    return b.at;
}

int schema_rule(Schema *s, const json_t *schema, const char *pointer)
{
    for (int i = 0; i < s->rule.n; i++)
        if (s->rule.at[i].of == schema && !json_is_false(schema))
            return i;
    vec_push(s->arena, &s->rule, ((SchemaRule){ schema, pointer }));
    return s->rule.n - 1;
}

bool schema_count(Schema *s, const json_t *schema, const char *pointer,
                  const char *key, int64_t *to)
{
    const json_t *x = json_object_get(schema, key);
    const double n = json_number_value(x);
    if (!x)
        return true;
    if (!json_is_number(x) || n < 0 || n > 1000000 || n != (double)(int64_t)n)
        return schema_refuse(s, schema_below(s, pointer, key),
                             "an integer from 0 to 1000000 is expected");
    *to = (int64_t)n;
    return true;
}
