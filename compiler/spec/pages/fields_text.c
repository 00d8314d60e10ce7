/* fields_text.c: prints rows of the table of fields, as text, Markdown or
 * JSON. */
#include <string.h>

#include "base/put_json.h"
#include "spec/fields/fields.h"

static const char *preset_of(const Field *f)
{
    if (f->type == FieldSpread)
        return "";
    return !f->preset ? "required" : *f->preset ? f->preset : "none";
}

static const char *value_of(Arena *a, const Field *f)
{
    char *text = arena_strdup(a, "sets ");

    if (f->type != FieldSpread)
        return field_wants(a, f);
    for (int i = 0; f->words[i]; i++)
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "", f->words[i]);
    return text;
}

static const char *const kinds[] = { "encoder-decoder", "encoder", "decoder",
                                     "attention" };

static const char *kinds_of(Arena *a, const Field *f)
{
    char *text = arena_strdup(a, "");

    if (f->kinds == AllKinds)
        return "all";
    for (int i = 0; i < 4; i++)
        if (f->kinds & 1u << i)
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "", kinds[i]);
    return text;
}

/* Returns true if the field is one of these keys or below one of them. */
static bool is_asked(const Field *f, const char *const *keys)
{
    for (int i = 0; keys[i]; i++)
        if (strcmp(f->key, keys[i]) == 0 || field_below(f->key, keys[i]))
            return true;
    return false;
}

static void print_plain(Arena *a, FILE *out, const char *const *keys)
{
    const char *gap = "";
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        const char *preset = preset_of(f);
        const char *lead = !*preset ? "" : f->preset ? "; default: " : "; ";
        if (!is_asked(f, keys))
            continue;
        fprintf(out, "%s%s%s%s\n    %s\n    %s%s%s\n    kinds: %s\n", gap,
                paint(out, PaintHead), f->key, paint(out, PaintEnd), f->doc,
                value_of(a, f), lead, preset, kinds_of(a, f));
        gap = "\n";
    }
}

static void print_table(Arena *a, FILE *out, const char *const *keys)
{
    fputs("| key | value | default | kinds | meaning |\n"
          "|---|---|---|---|---|\n",
          out);
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (is_asked(f, keys))
            fprintf(out, "| `%s` | %s | %s | %s | %s |\n", f->key,
                    value_of(a, f), preset_of(f), kinds_of(a, f), f->doc);
    }
}

const char *spec_field_key(int i)
{
    return i < n_fields ? fields[i].key : NULL;
}

bool spec_has_field(const char *path)
{
    return field_find(path) >= 0 || field_group(path)
        || field_of_name(path) >= 0;
}

bool spec_field_one(const char *path)
{
    const int row = field_find(path);
    return row >= 0 && fields[row].type < FieldNoValue;
}

const char *spec_field_text(Arena *a, const Spec *s, const char *path)
{
    const char *text = spec_field_value(a, s, field_row(path));
    return text ? text : "";
}

/* ---- json ---- */
static void json_words(Buffer *b, const char *key, const char *const *words)
{
    json_put_key(b, key);
    buffer_add(b, "[", 1);
    for (int i = 0; words[i]; i++)
        buffer_printf(b, "%s\"%s\"", i ? ", " : "", words[i]);
    buffer_add(b, "]", 1);
}

static void json_kinds(Buffer *b, const Field *f)
{
    const char *words[5] = { NULL };
    for (int i = 0, n = 0; i < 4; i++)
        if (f->kinds & 1u << i)
            words[n++] = kinds[i];
    json_words(b, "kinds", words);
}

static void json_field(Buffer *b, const Field *f)
{
    static const char *const types[] = {
        [FieldInt] = "integer",
        [FieldReal] = "number",
        [FieldReals] = "numbers",
        [FieldIds] = "ids",
        [FieldText] = "text",
        [FieldSequences] = "lists of ids",
        [FieldBool] = "boolean",
        [FieldEnum] = "word",
        [FieldFlags] = "words",
        [FieldScale] = "word or number",
        [FieldActivation] = "word",
        [FieldMask] = "mask",
        [FieldName] = "name",
        [FieldPath] = "path",
        [FieldDtypes] = "words by names",
        [FieldLayers] = "rows",
        [FieldExtends] = "path",
        [FieldNames] = "map",
        [FieldPrompts] = "texts by names",
        [FieldPatterns] = "names",
        [FieldSpread] = "sets",
    };
    const bool number = f->type == FieldInt || f->type == FieldReal
                     || f->type == FieldReals || f->type == FieldIds
                     || f->type == FieldSequences || f->type == FieldScale;
    buffer_printf(b, "  {");
    json_put_text(b, "key", f->key);
    json_put_text(b, "type", types[f->type]);
    if (f->type == FieldActivation)
        json_words(b, "words", act_words(b->arena));
    else if (f->words)
        json_words(b, f->type == FieldSpread ? "sets" : "words", f->words);
    if (number) {
        json_put_number(b, "least", f->least, 10);
        json_put_number(b, "most", f->most, 10);
    }
    json_put_flag(b, "required", !f->preset && f->type != FieldSpread);
    if (f->preset && *f->preset)
        json_put_text(b, "default", f->preset);
    json_kinds(b, f);
    json_put_text(b, "meaning", f->doc);
    buffer_add(b, "}", 1);
}

char *spec_fields_json(Arena *a, const char *key)
{
    const char *const keys[] = { key, NULL };
    Buffer b = { .arena = a };
    buffer_printf(&b, "[");
    for (int i = 0; i < n_fields; i++)
        if (!key || is_asked(&fields[i], keys)) {
            buffer_printf(&b, b.n > 1 ? ",\n" : "\n");
            json_field(&b, &fields[i]);
        }
    buffer_printf(&b, "\n]\n");
    return b.at;
}

void print_field_rows(Arena *a, FILE *out, bool markdown,
                      const char *const *keys)
{
    if (markdown)
        print_table(a, out, keys);
    else
        print_plain(a, out, keys);
}

void spec_print_fields(FILE *out, bool markdown, const char *key)
{
    Arena *a = arena_new();
    print_field_rows(a, out, markdown, (const char *const[]){ key, NULL });
    arena_free(a);
}
