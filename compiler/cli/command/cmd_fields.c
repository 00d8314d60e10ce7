/* cmd_fields.c: attnc fields. Prints the reference of the spec's fields. */
#include "cli/options/options.h"

/* Checks that --page is not combined with a key or with a format that has no
 * pages. */
static bool check_page(const Options *o, Fault *why)
{
    if (o->page == ReferenceAll)
        return true;
    if (o->key)
        return fault(why, ExitUsage,
                     "--page prints a complete page: leave out '%s'",
                     quote(o->key));
    return o->format == FieldsText || o->format == FieldsMarkdown
        || fault(why, ExitUsage,
                 "--page is text or Markdown: use --format=text or "
                 "--format=md");
}

/* Checks that a field or a group of fields has this name. */
static bool check_key(Arena *a, const Options *o, Fault *why)
{
    const char *near = o->key && *o->key ? spec_field_near(a, o->key) : NULL;
    if (!o->key)
        return true;
    if (o->format == FieldsSchema)
        return fault(why, ExitUsage,
                     "--format=schema has all fields: leave out '%s'",
                     quote(o->key));
    if (*o->key && spec_has_field(o->key))
        return true;
    if (near)
        return fault(why, ExitUsage, "there is no field '%s': did you mean %s?",
                     quote(o->key), near);
    return fault(why, ExitUsage,
                 "there is no field '%s'; attnc fields lists them",
                 quote(o->key));
}

int cmd_fields(const Options *o)
{
    Arena *a = arena_new();
    Fault why = { 0 };
    if (!check_page(o, &why) || !check_key(a, o, &why))
        report_fault(&why);
    else if (o->format == FieldsSchema)
        fputs(spec_schema(a), stdout);
    else if (o->format == FieldsJson)
        fputs(spec_fields_json(a, o->key), stdout);
    else if (o->key)
        spec_print_fields(stdout, o->format == FieldsMarkdown, o->key);
    else
        spec_print_page(stdout, o->format == FieldsMarkdown,
                        (ReferencePage)o->page);
    arena_free(a);
    return why.code;
}
