/* rules_check.c: checks a rule file without a folder: its sections, its
 * expressions, and all names and functions in them. */
#include <string.h>

#include "import/rules.h"

typedef struct {
    Arena *arena;
    Index names; /* the names that expressions may use */
    int errors;
} Check;

static void add_name(Check *c, const char *name)
{
    index_add(c->arena, &c->names, name, 0);
}

static void add_keys(Check *c, const Yaml *map)
{
    for (int i = 0; map && i < map->keys.n; i++)
        add_name(c, map->keys.at[i]->text);
}

/* ---- expressions ---- */

/* Returns true if the name is known, either completely or up to a dot, as in
 * "generation.x". */
static bool is_name(const Check *c, const char *name)
{
    for (size_t n = strlen(name); n > 0; n--)
        if ((!name[n] || name[n] == '.')
            && index_find(&c->names, arena_strndup(c->arena, name, n)) >= 0)
            return true;
    return false;
}

static void check_tree(Check *c, const Expr *e)
{
    if (e->kind == ExprName && !is_name(c, e->text)) {
        error_at(e->pos, "'%s' is no key under config, files or let",
                 quote(e->text));
        c->errors++;
    }
    if (e->kind == ExprCall && !expr_is_function(e->text)) {
        error_at(e->pos, "'%s' is no function", quote(e->text));
        c->errors++;
    }
    for (int i = 0; i < e->in.n; i++)
        check_tree(c, e->in.at[i]);
}

static void check_expression(Check *c, const Yaml *y, size_t start)
{
    const Expr *e = y->kind == YamlScalar ? expr_parse(c->arena, y, start)
                                          : NULL;
    if (y->kind != YamlScalar)
        error_at(y->pos, "an expression is needed here");
    c->errors += !e;
    if (e)
        check_tree(c, e);
}

/* Checks the expressions in a tree: scalars that begin with '=', and the
 * conditions of `when`. */
static void check_values(Check *c, const Yaml *y)
{
    if (y->kind == YamlScalar && y->text[0] == '=')
        check_expression(c, y, 1);
    for (int i = 0; y->kind != YamlScalar && i < y->items.n; i++) {
        const bool when = y->kind == YamlMap
                       && !strcmp(y->keys.at[i]->text, "when");
        if (when)
            check_expression(c, y->items.at[i], 0);
        else
            check_values(c, y->items.at[i]);
    }
}

/* ---- sections ---- */
static void check_keys(Check *c, const Yaml *keys, const char *under,
                       bool looks)
{
    for (int i = 0; keys && i < keys->keys.n; i++) {
        KeyRule rule;
        if (!rules_key(c->arena, keys->keys.at[i], keys->items.at[i], &rule)) {
            c->errors += looks;
            continue;
        }
        if (!looks)
            add_name(c,
                     arena_printf(c->arena, "%s%s", under, rule.names.at[0]));
        else if (rule.default_value)
            check_tree(c, rule.default_value);
    }
}

static void check_files(Check *c, const Yaml *files, bool looks)
{
    for (int i = 0; files && i < files->keys.n; i++) {
        const Yaml *row = files->items.at[i];
        const char *name = files->keys.at[i]->text;
        const Yaml *keys = row->kind == YamlMap ? rules_map(row, "keys") : NULL;
        if (!keys && !looks)
            add_name(c, name);
        check_keys(c, keys, arena_printf(c->arena, "%s.", name), looks);
    }
}

static void check_sections(Check *c, const Yaml *top)
{
    static const char *const known[] = {
        "family",        "overlay", "title",    "model_type", "when",
        "section",       "use",     "config",   "files",      "expect",
        "architectures", "task",    "ignored",  "refuse",     "tables",
        "let",           "spec",    "comments", "names",      "unused",
        "gguf",          "noted",   "beside",   "layer",      "renamed",
        "ignored_in",    "alike",
    };
    enum { Known = sizeof known / sizeof *known };
    for (int i = 0; i < top->keys.n; i++) {
        const char *key = top->keys.at[i]->text;
        int k = 0;
        while (k < Known && strcmp(known[k], key) != 0)
            k++;
        if (k < Known)
            continue;
        const char *near = nearest(key, known, Known);
        error_at(top->keys.at[i]->pos, "'%s' is no section of a family",
                 quote(key));
        if (near)
            note_at((Pos){ 0 }, "did you mean '%s'?", near);
        c->errors++;
    }
    if (!rules_text(top, "title")
        || (!rules_list(top, "model_type") && !rules_text(top, "overlay"))) {
        error_at(top->pos, "a family has a title and a list model_type");
        c->errors++;
    }
}

/* Reports items that are not scalars in a section that is a list or a map. */
static void check_texts(Check *c, const Yaml *in, const char *section)
{
    const Yaml *y = in ? yaml_get(in, section) : NULL;
    for (int i = 0; y && y->kind != YamlScalar && i < y->items.n; i++)
        if (y->items.at[i]->kind != YamlScalar) {
            error_at(y->items.at[i]->pos, "an item of %s is a text", section);
            c->errors++;
        }
}

static int check_file(Arena *a, const Rules *r, const Yaml *common)
{
    static const char *const valued[] = { "spec",   "names",    "unused",
                                          "refuse", "comments", "files",
                                          "noted",  "gguf",     "layer" };
    static const char *const texts[] = { "model_type", "use", "ignored",
                                         "renamed" };
    static const char *const gguf_texts[] = { "architecture", "ignored",
                                              "names" };
    Check c = { .arena = a };
    check_sections(&c, r->top);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_texts(&c, r->top, texts[i]);
    for (size_t i = 0; i < sizeof gguf_texts / sizeof *gguf_texts; i++)
        check_texts(&c, yaml_get(r->top, "gguf"), gguf_texts[i]);
    const Yaml *top = rules_merged(a, r, common);
    if (!top)
        return c.errors + 1;
    const Yaml *config = rules_map(top, "config"), *let = rules_map(top, "let");
    add_name(&c, "task");
    add_name(&c, "format");
    add_name(&c, "vectors");
    add_name(&c, "gguf"); /* any metadata key may follow */
    add_name(&c, "i");    /* the index of a layer */
    add_keys(&c, let);
    add_keys(&c, rules_map(top, "tables"));
    add_keys(&c, rules_map(common, "tables"));
    for (int looks = 0; looks < 2; looks++) {
        check_keys(&c, config, "", looks);
        check_files(&c, rules_map(top, "files"), looks);
    }
    for (int i = 0; let && i < let->items.n; i++)
        check_expression(&c, let->items.at[i], 0);
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++)
        if (yaml_get(top, valued[i]) && !rules_text(top, "overlay"))
            check_values(&c, yaml_get(top, valued[i]));
    return c.errors;
}

bool rules_check(Arena *a, const RuleFiles *files)
{
    const Yaml *common = rules_common(a);
    int errors = !common;
    for (int i = 0; common && i < files->n; i++)
        errors += check_file(a, &files->at[i], common);
    return errors == 0;
}
