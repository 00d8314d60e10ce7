/* fields_text.c: the table of fields as the format's reference: plain text for
 * `attnc fields`, Markdown for docs/spec.md.                                */
#include <string.h>

#include "fields.h"

static const char about[] =
"A spec is one YAML map: keys and values in UTF-8, at most 1 MiB, nested at\n"
"most 32 deep, one document, without anchors, aliases, tags, merge keys and\n"
"directives. Integers are written as 512, other numbers as 0.5 or 1.0e-6,\n"
"truth as true or false. A key that is not listed here is an error, as is a\n"
"value out of its range or one that has no meaning for the kind of model.\n"
"Keys are shown as paths: norm.place is the key `place` in the map `norm`.\n";

static const char layers[] =
"A key that sets others takes one value for all of them, or a map that names\n"
"them: `N: 6` is `N: {encoder: 6, decoder: 6}`. Such a value replaces the\n"
"whole map. With `extends` the other file is read first and what is written\n"
"here wins key by key; `--set key.path=value` wins over both, and `--set`\n"
"takes several, as in `--set h=16,d_k=32`. What an extended file says that\n"
"has no meaning for a new `kind` is left out.\n";

static const char names_about[] =
"`names` maps canonical names to those of the file: `encoder.{i}.ffn.w1:\n"
"encoder.layers.{i}.fc1`. A row replaces the first parts of a name, {i} is\n"
"the number of the layer, and the row with most parts is taken. Norms are\n"
"norm1 of the self-attention, norm2 of the feed-forward network, norm3 of the\n"
"cross-attention, and norm after the last layer. Each name here has .weight;\n"
"all but source, target and the positions have .bias too ({s}: encoder or\n"
"decoder; the last four: kind attention):\n";

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

static const char *kinds_of(Arena *a, const Field *f)
{
    static const char *const kinds[] = {
        "encoder-decoder", "encoder", "decoder", "attention"
    };
    char *text = arena_strdup(a, "");

    if (f->kinds == AllKinds)
        return "all";
    for (int i = 0; i < 4; i++)
        if (f->kinds & 1u << i)
            text = arena_printf(a, "%s%s%s", text, *text ? ", " : "",
                                kinds[i]);
    return text;
}

static void print_plain(Arena *a, FILE *out)
{
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        const char *preset = preset_of(f);
        const char *lead = !*preset ? "" : f->preset ? "; default: " : "; ";
        fprintf(out, "\n%s\n    %s\n    %s%s%s\n    kinds: %s\n", f->key,
                f->doc, value_of(a, f), lead, preset, kinds_of(a, f));
    }
}

static void print_table(Arena *a, FILE *out)
{
    fputs("\n| key | value | default | kinds | meaning |\n"
          "|---|---|---|---|---|\n", out);
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        fprintf(out, "| `%s` | %s | %s | %s | %s |\n", f->key, value_of(a, f),
                preset_of(f), kinds_of(a, f), f->doc);
    }
}

void spec_print_fields(FILE *out, bool markdown)
{
    Arena *a = arena_new();

    if (markdown)
        fputs("# The spec\n\nThis page is printed by `attnc fields "
              "--format=markdown`.\n\n", out);
    fprintf(out, "%s\n%s", about, layers);
    if (markdown)
        print_table(a, out);
    else
        print_plain(a, out);
    fprintf(out, "\n%s%s", markdown ? "## Names of weights\n\n" : "",
            names_about);
    if (markdown)
        fputs("\n", out);
    for (int i = 0; weight_names[i]; i++)
        fprintf(out, "    %s\n", weight_names[i]);
    arena_free(a);
}
