/* cmd_fields.c: attnc fields: the reference of the spec's format. */
#include "cli/options.h"

/* Ends with ExitUsage where no field is called so, or in this group. */
static void check_key(Arena *a, const FieldsCommand *o)
{
    const char *near = spec_field_near(a, o->key);
    if (!*o->key)
        fail(ExitUsage, "there is no field ''; attnc fields lists them");
    if (o->format == FieldsSchema)
        fail(ExitUsage, "--format=schema has all fields: leave out '%s'",
             quote(o->key));
    if (spec_has_field(o->key))
        return;
    if (near)
        fail(ExitUsage, "there is no field '%s': did you mean %s?",
             quote(o->key), near);
    fail(ExitUsage, "there is no field '%s'; attnc fields lists them",
         quote(o->key));
}

int cmd_fields(const FieldsCommand *o)
{
    Arena *a = arena_new();
    if (o->key)
        check_key(a, o);
    if (o->format == FieldsSchema)
        fputs(spec_schema(a), stdout);
    else if (o->format == FieldsJson)
        fputs(spec_fields_json(a, o->key), stdout);
    else
        spec_print_fields(stdout, o->format == FieldsMarkdown, o->key);
    arena_free(a);
    return ExitDone;
}
