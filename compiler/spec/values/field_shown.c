/* field_shown.c: prints the values of a spec as they would be written, for the
 * comparison of two specs field by field. */
#include <string.h>

#include "base/put_json.h"
#include "spec/fields/fields.h"

static char *number_shown(Arena *a, double x)
{
    Buffer b = { .arena = a };

    json_number(&b, x, 17);
    return b.at;
}

static char *reals_shown(Arena *a, const SpecReals *list)
{
    Buffer b = { .arena = a };

    for (int64_t i = 0; i < list->n; i++) {
        buffer_printf(&b, "%s", i ? ", " : "[");
        json_number(&b, list->at[i], 17);
    }
    if (list->n)
        buffer_add(&b, "]", 1);
    return b.at;
}

static char *flags_shown(Arena *a, const Field *f, int bits)
{
    Buffer b = { .arena = a };

    for (int i = 0; f->words[i]; i++)
        if (bits & 1 << i)
            buffer_printf(&b, "%s%s", b.n ? ", " : "[", f->words[i]);
    if (b.n)
        buffer_add(&b, "]", 1);
    return b.at;
}

static char *scale_shown(Arena *a, const Field *f, const Spec *s)
{
    const char *word = f->words[*(const int *)((const char *)s + f->at)];
    const double *number = (const void *)((const char *)s + f->also);

    return word ? arena_strdup(a, word) : number_shown(a, *number);
}

/* Returns a field's value as text; NULL or "" if it has none. */
static const char *shown(Arena *a, const Field *f, const Spec *s)
{
    const void *at = (const char *)s + f->at;

    switch (f->type) {
    case FieldInt:
        return (double)*(const int64_t *)at < f->least ? NULL
                                                       : field_text(a, f, s);
    case FieldReal:  return number_shown(a, *(const double *)at);
    case FieldReals: return reals_shown(a, at);
    case FieldFlags: return flags_shown(a, f, *(const int *)at);
    case FieldScale: return scale_shown(a, f, s);
    default:         return f->type < FieldNoValue ? field_text(a, f, s) : NULL;
    }
}

const char *spec_field_value(Arena *a, const Spec *s, int i)
{
    const Field *f = &fields[i];
    const bool there = f->kinds & 1u << s->kind
                    && field_has_meaning(a, s, f->key);
    const char *text = there ? shown(a, f, s) : NULL;

    return text && *text ? text : NULL;
}

const char *const *spec_field_parts(int i)
{
    return fields[i].type == FieldSpread ? fields[i].words : NULL;
}

static void add_detail(Buffer *b, bool there, const char *key, double value)
{
    if (!there)
        return;
    buffer_printf(b, "%s%s: ", b->n ? ", " : "", key);
    json_number(b, value, 17);
}

const char *spec_name_value(Arena *a, const SpecName *n)
{
    Buffer b = { .arena = a };

    if (n->theirs)
        buffer_printf(&b, "%s", n->theirs);
    for (int i = 0; i < n->nparts; i++)
        buffer_printf(&b, "%s%s", i ? " " : ", parts: ", n->parts[i]);
    if (n->by_columns)
        buffer_printf(&b, ", by columns");
    add_detail(&b, n->transpose >= 0, "transpose", n->transpose);
    add_detail(&b, n->groups > 0, "groups", (double)n->groups);
    add_detail(&b, n->scales, "scale", n->scale);
    add_detail(&b, n->adds, "add", n->add);
    add_detail(&b, n->is_constant, "constant", n->constant);
    return b.n ? b.at : "none";
}
