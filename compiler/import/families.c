/* families.c: prints the known families, from the files of models/import, as
 * text, JSON, or the page docs/import.md. */
#include <string.h>

#include "base/put_json.h"
#include "base/strings.h"
#include "import/import.h"
#include "import/rules.h"

/* Returns the missing feature because of which the family is always rejected,
 * or NULL if it is not. */
static const char *refused(const Yaml *top)
{
    const Yaml *refuse = rules_list(top, "refuse");
    if (rules_map(top, "spec") || !refuse || !refuse->items.n)
        return NULL;
    const Yaml *missing = yaml_get(refuse->items.at[0], "missing");
    return missing ? missing->text : "";
}

static const char *words_of(Arena *a, const Yaml *list)
{
    const char *text = "";
    for (int i = 0; list && i < list->items.n; i++) {
        const Yaml *word = list->kind == YamlMap ? list->keys.at[i]
                                                 : list->items.at[i];
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "", word->text);
    }
    return text;
}

/* ---- text ---- */
static void print_text(FILE *out, Arena *a, const RuleFiles *all)
{
    for (int taken = 1; taken >= 0; taken--) {
        if (!taken)
            fprintf(out, "\nnot taken:\n");
        for (int i = 0; i < all->n; i++) {
            const Yaml *top = all->at[i].top;
            const char *missing = refused(top);
            if ((missing == NULL) != (taken == 1) || yaml_get(top, "overlay"))
                continue;
            const char *title = rules_text(top, "title");
            fprintf(out, "%-14s ", all->at[i].family);
            put_wrapped(out, 15, 15,
                        missing ? arena_printf(a, "%s: %s", title, missing)
                                : title);
        }
    }
}

/* ---- JSON ---- */
static void json_list(Buffer *b, const char *key, const Yaml *list)
{
    json_put_key(b, key);
    buffer_printf(b, "[");
    for (int i = 0; list && i < list->items.n; i++) {
        json_next(b);
        const Yaml *word = list->kind == YamlMap ? list->keys.at[i]
                                                 : list->items.at[i];
        json_quote(b, word->text, -1);
    }
    buffer_printf(b, "]");
}

static void print_json(FILE *out, Arena *a, const RuleFiles *all)
{
    Buffer b = { .arena = a };
    for (int i = 0; i < all->n; i++) {
        const Yaml *top = all->at[i].top;
        const char *missing = refused(top);
        if (yaml_get(top, "overlay"))
            continue;
        buffer_printf(&b, "%s  {", b.n ? ",\n" : "");
        json_put_text(&b, "family", all->at[i].family);
        json_put_text(&b, "title", rules_text(top, "title"));
        json_list(&b, "model_type", rules_list(top, "model_type"));
        json_list(&b, "architectures", rules_map(top, "architectures"));
        json_put_text(&b, "missing", missing);
        buffer_printf(&b, "}");
    }
    fprintf(out, "[\n%s\n]\n", b.at ? b.at : "");
}

/* ---- markdown ---- */
static void print_taken(FILE *out, Arena *a, const RuleFiles *all)
{
    fprintf(out, "| family | model_type | architectures |\n|---|---|---|\n");
    for (int i = 0; i < all->n; i++) {
        const Yaml *top = all->at[i].top;
        if (refused(top) || yaml_get(top, "overlay"))
            continue;
        fprintf(out, "| %s | `%s` | %s |\n", rules_text(top, "title"),
                words_of(a, rules_list(top, "model_type")),
                words_of(a, rules_map(top, "architectures")));
    }
}

static void print_refusals(FILE *out, Arena *a, const RuleFiles *all)
{
    fprintf(out, "| family | is rejected because it needs |\n|---|---|\n");
    for (int i = 0; i < all->n; i++) {
        const Yaml *top = all->at[i].top;
        const Yaml *refuse = rules_list(top, "refuse");
        for (int k = 0; refuse && k < refuse->items.n; k++) {
            const Yaml *row = refuse->items.at[k];
            const Yaml *when = yaml_get(row, "when");
            const Yaml *missing = yaml_get(row, "missing");
            if (!when || !missing)
                continue;
            const bool always = !strcmp(when->text, "true");
            fprintf(out, "| %s%s%s%s | %s |\n", rules_text(top, "title"),
                    always ? "" : ", if `", always ? "" : when->text,
                    always ? "" : "`", missing->text);
        }
    }
    (void)a;
}

int import_families(FILE *out, FamiliesFormat format)
{
    Arena *a = arena_new();
    RuleFiles all = { 0 };
    const bool good = rules_read(a, &all, NULL) && rules_check(a, &all);
    if (good && format == FamiliesText)
        print_text(out, a, &all);
    else if (good && format == FamiliesJson)
        print_json(out, a, &all);
    else if (good) {
        const Yaml *common = rules_common(a);
        fprintf(out, "%s\n", common ? rules_text(common, "page") : "");
        print_taken(out, a, &all);
        fputs("\n## What is refused\n\n", out);
        print_refusals(out, a, &all);
    }
    arena_free(a);
    return good ? ExitDone : ExitInternal;
}
