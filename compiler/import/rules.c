/* rules.c: reads the files of models/import, which are embedded in attnc. */
#include <string.h>

#include "base/strings.h"
#include "emit/text/embedded.h"
#include "import/rules.h"

static const char folder[] = "import/", common_name[] = "import/common.yaml";

/* ---- files ---- */
static const Yaml *read_text(Arena *a, const char *name, const char *text,
                             size_t n)
{
    Source *src = arena_alloc(a, sizeof *src);
    *src = (Source){ name, text, n, 0 };
    const Yaml *top = yaml_parse(a, src, 0);
    if (top && top->kind != YamlMap) {
        error_at(top->pos, "a file of rules is a map");
        return NULL;
    }
    return top;
}

static const Yaml *read_file(Arena *a, const Embedded *e)
{
    return read_text(a, arena_printf(a, "models/%s", e->name), e->text,
                     e->size);
}

static bool is_rules(const Embedded *e)
{
    return !strncmp(e->name, folder, sizeof folder - 1)
        && ends_in(e->name, ".yaml") && strcmp(e->name, common_name) != 0;
}

bool rules_read(Arena *a, RuleFiles *to, const char *word)
{
    bool good = true;
    for (int i = 0; i < n_embedded; i++) {
        const Embedded *e = &embedded[i];
        if (!is_rules(e) || (word && !strstr(e->text, word)))
            continue;
        const char *name = e->name + sizeof folder - 1;
        const Yaml *top = read_file(a, e);
        if (top)
            vec_push(a, to,
                     ((Rules){ e->name,
                               arena_strndup(a, name, strcspn(name, ".")),
                               top }));
        good = good && top;
    }
    return good;
}

bool rules_file(Arena *a, const char *path, Rules *to, int *code)
{
    Fault why;
    File file;
    if (!file_read(&file, path, 1 << 20, &why)) {
        *code = report_fault(&why);
        return false;
    }
    const char *name = base_name(path);
    char *text = arena_strndup(a, (const char *)file.at, file.size);
    *to = (Rules){ path, arena_strndup(a, name, strcspn(name, ".")),
                   read_text(a, path, text, file.size) };
    file_close(&file);
    return to->top != NULL;
}

const Yaml *rules_common(Arena *a)
{
    for (int i = 0; i < n_embedded; i++)
        if (!strcmp(embedded[i].name, common_name))
            return read_file(a, &embedded[i]);
    die("%s is not among the embedded files", common_name);
}

/* ---- sections ---- */
static const Yaml *section_of(const Yaml *top, const char *section,
                              YamlKind kind, const char *what)
{
    const Yaml *y = yaml_get(top, section);
    if (y && y->kind != kind) {
        error_at(y->pos, "%s is %s", section, what);
        return NULL;
    }
    return y;
}

const Yaml *rules_map(const Yaml *top, const char *section)
{
    return section_of(top, section, YamlMap, "a map");
}

const Yaml *rules_list(const Yaml *top, const char *section)
{
    return section_of(top, section, YamlList, "a list");
}

const char *rules_text(const Yaml *top, const char *section)
{
    const Yaml *y = section_of(top, section, YamlScalar, "a text");
    return y ? y->text : NULL;
}

/* Returns a rule as a list: a map becomes a list with one item. */
static const Yaml *rule_list(Arena *a, const Yaml *y)
{
    if (y->kind == YamlList)
        return y;
    Yaml *list = arena_alloc(a, sizeof *list);
    list->kind = YamlList;
    list->pos = y->pos;
    vec_push(a, &list->items, (Yaml *)y);
    return list;
}

static const Yaml *joined_lists(Arena *a, const Yaml *below, const Yaml *above)
{
    Yaml *list = arena_alloc(a, sizeof *list);
    *list = (Yaml){ .kind = YamlList, .pos = above->pos };
    below = rule_list(a, below);
    above = rule_list(a, above);
    for (int i = 0; i < above->items.n; i++)
        vec_push(a, &list->items, above->items.at[i]);
    for (int i = 0; i < below->items.n; i++)
        vec_push(a, &list->items, below->items.at[i]);
    return list;
}

static const Yaml *laid(Arena *a, const Yaml *below, const Yaml *above,
                        bool order_of_above);

/* Merges two maps. `order_of_above` decides which map's keys come first; keys
 * that only the other map has follow. */
static const Yaml *laid_maps(Arena *a, const Yaml *below, const Yaml *above,
                             bool order_of_above)
{
    const Yaml *first = order_of_above ? above : below;
    const Yaml *second = order_of_above ? below : above;
    Yaml *map = arena_alloc(a, sizeof *map);
    *map = (Yaml){ .kind = YamlMap, .pos = above->pos };
    for (int i = 0; i < first->keys.n; i++) {
        const char *key = first->keys.at[i]->text;
        vec_push(a, &map->keys, first->keys.at[i]);
        vec_push(a, &map->items,
                 (Yaml *)laid(a, yaml_get(below, key), yaml_get(above, key),
                              order_of_above));
    }
    for (int i = 0; i < second->keys.n; i++)
        if (!yaml_get(first, second->keys.at[i]->text)) {
            vec_push(a, &map->keys, second->keys.at[i]);
            vec_push(a, &map->items, second->items.at[i]);
        }
    return map;
}

static const Yaml *laid(Arena *a, const Yaml *below, const Yaml *above,
                        bool order_of_above)
{
    if (!below || (above && above->kind == YamlScalar))
        return above;
    if (!above || below->kind == YamlScalar)
        return above ? above : below;
    if (below->kind != YamlMap || above->kind != YamlMap)
        return joined_lists(a, below, above);
    return laid_maps(a, below, above, order_of_above);
}

const Yaml *rules_over(Arena *a, const Yaml *below, const Yaml *above)
{
    return laid(a, below, above, false);
}

const Yaml *rules_merged(Arena *a, const Rules *r, const Yaml *common)
{
    const Yaml *use = rules_list(r->top, "use"), *all = NULL;
    const Yaml *parts = rules_map(common, "parts");
    for (int i = 0; use && i < use->items.n; i++) {
        const Yaml *name = use->items.at[i];
        const Yaml *part = parts && name->kind == YamlScalar
                             ? yaml_get(parts, name->text)
                             : NULL;
        if (!part) {
            error_at(name->pos, "common.yaml has no such part");
            return NULL;
        }
        all = laid(a, part, all, true);
    }
    return laid(a, all, r->top, true);
}

/* ---- keys ---- */
static const struct {
    const char *word;
    int kinds;
} types[] = {
    { "int", ValueInt },   { "number", ValueInt | ValueNumber },
    { "bool", ValueBool }, { "text", ValueText },
    { "list", ValueList }, { "map", ValueMap },
};

static const char *blanks(const char *s)
{
    return s + strspn(s, " ");
}

/* Reads one word of a type and moves *at past it. Returns 0 if there is
 * none. */
static int read_type(const char **at)
{
    const size_t n = strcspn(*at, " |?=");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (n == strlen(types[i].word) && !strncmp(types[i].word, *at, n)) {
            *at = blanks(*at + n);
            return types[i].kinds;
        }
    return 0;
}

static bool read_types(const Yaml *value, const char **at, KeyRule *to)
{
    do {
        const int kinds = read_type(at);
        if (!kinds) {
            error_at(value->pos, "a key is an int, number, bool, text, list or "
                                 "map, as in `int|list? = 5`");
            return false;
        }
        to->kinds |= kinds;
    } while (**at == '|' && (*at = blanks(*at + 1)));
    to->null = **at == '?';
    *at = blanks(*at + to->null);
    return true;
}

bool rules_key(Arena *a, const Yaml *key, const Yaml *value, KeyRule *to)
{
    *to = (KeyRule){ .pos = key->pos };
    for (const char *name = key->text; *name;) {
        const size_t n = strcspn(name, " |");
        vec_push(a, &to->names, arena_strndup(a, name, n));
        name += n + strspn(name + n, " |");
    }
    if (value->kind != YamlScalar || !to->names.n) {
        error_at(value->pos, "a key is written as `KEY: int = 5`");
        return false;
    }
    const char *at = value->text;
    if (!read_types(value, &at, to))
        return false;
    if (*at == '=')
        to->default_value = expr_parse(a, value,
                                       (size_t)(at + 1 - value->text));
    else if (*at)
        error_at(value->pos, "behind the type of a key comes `= its default`");
    return *at ? to->default_value != NULL : true;
}
