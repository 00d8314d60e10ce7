/* cmd_fields.c: attnc fields: the reference of the spec's format. */
#include "cli/options.h"

int cmd_fields(const FieldsCommand *o)
{
    Arena *a = arena_new();
    if (o->format == FieldsSchema)
        fputs(spec_schema(a), stdout);
    else if (o->format == FieldsJson)
        fputs(spec_fields_json(a), stdout);
    else
        spec_print_fields(stdout, o->format == FieldsMarkdown);
    arena_free(a);
    return ExitDone;
}
