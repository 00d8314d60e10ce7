/* resolve.c: evaluates the trees of expressions in a family's rules. Items with
 * the value none are omitted. */
#include <string.h>

#include "import/state.h"

/* ---- trees ---- */
Yaml *scalar_new(Arena *a, const char *text, bool quoted)
{
    Yaml *y = arena_alloc(a, sizeof *y);
    *y = (Yaml){ .kind = YamlScalar, .text = text, .quoted = quoted };
    return y;
}

Yaml *map_new(Arena *a)
{
    Yaml *y = arena_alloc(a, sizeof *y);
    y->kind = YamlMap;
    return y;
}

void map_set(Arena *a, Yaml *map, const char *key, Yaml *value)
{
    vec_push(a, &map->keys, scalar_new(a, key, false));
    vec_push(a, &map->items, value);
}

Yaml *map_take(Yaml *map, const char *key)
{
    Yaml *item = yaml_get(map, key);
    int to = 0;
    for (int i = 0; i < map->keys.n; i++)
        if (map->items.at[i] != item) {
            map->keys.at[to] = map->keys.at[i];
            map->items.at[to++] = map->items.at[i];
        }
    map->keys.n = map->items.n = to;
    return item;
}

/* Converts a value to a tree; NULL if the value is none. */
static Yaml *tree_of(Import *m, const Datum *v)
{
    if (v->kind == ValueNone)
        return NULL;
    Yaml *y = scalar_new(m->a, value_text(m->a, v), false);
    if (v->kind == ValueList || v->kind == ValueMap) {
        *y = (Yaml){ .kind = v->kind == ValueList ? YamlList : YamlMap };
        for (int i = 0; i < v->many.n; i++) {
            Yaml *item = tree_of(m, &v->many.at[i]);
            if (item && v->kind == ValueMap)
                map_set(m->a, y, v->many.key[i], item);
            else if (item)
                vec_push(m->a, &y->items, item);
        }
    }
    y->pos = v->pos;
    return y;
}

/* Copies a tree and evaluates its expressions. If `fills` is set, also replaces
 * each {x} with the value of x. */
static Yaml *resolve(Import *m, const Yaml *rule, bool fills)
{
    if (rule->kind == YamlScalar && rule->text[0] == '=') {
        const Datum v = import_value(m, rule, 1);
        return tree_of(m, &v);
    }
    if (rule->kind == YamlScalar) {
        const char *text = fills ? import_filled(m, rule, rule->text)
                                 : rule->text;
        return text && strcmp(text, "none") ? scalar_new(m->a, text, false)
             : text && rule->quoted         ? scalar_new(m->a, text, true)
             : text                         ? scalar_new(m->a, text, false)
                                            : NULL;
    }
    Yaml *y = arena_alloc(m->a, sizeof *y);
    *y = (Yaml){ .kind = rule->kind };
    for (int i = 0; i < rule->items.n; i++) {
        Yaml *item = resolve(m, rule->items.at[i], fills);
        if (item && rule->kind == YamlMap)
            map_set(m->a, y, rule->keys.at[i]->text, item);
        else if (item)
            vec_push(m->a, &y->items, item);
    }
    return y->items.n || !rule->items.n ? y : NULL;
}

Yaml *resolve_tree(Import *m, const Yaml *rule)
{
    return resolve(m, rule, false);
}

Yaml *resolve_spec(Import *m)
{
    const Yaml *spec = rules_map(m->rules, "spec");
    if (!spec)
        die("%s has no spec", m->family);
    Yaml *y = resolve(m, spec, false);
    return m->scope.failures ? NULL : y;
}

/* ---- names ---- */
static void add_group(Import *m, Yaml *to, const Yaml *group)
{
    const Yaml *when = yaml_get(group, "when");
    if (when && !import_truth(m, when))
        return;
    for (int i = 0; i < group->keys.n; i++) {
        const Yaml *key = group->keys.at[i];
        if (group->items.at[i] == when)
            continue;
        const char *ours = import_filled(m, key, key->text);
        Yaml *theirs = ours ? resolve(m, group->items.at[i], true) : NULL;
        if (theirs && yaml_get(to, ours)) {
            error_at(key->pos, "'%s' has two rows", quote(ours));
            m->scope.failures++;
        } else if (theirs) {
            map_set(m->a, to, ours, theirs);
        }
    }
}

/* Returns the name that `name` gets from the longest matching row except row
 * `skip`. Returns `name` itself if no row matches, and NULL if that row is not
 * a plain name. */
static const char *renamed(Arena *a, const Yaml *names, int skip,
                           const char *name)
{
    const char *best = NULL, *to = NULL;
    size_t most = 0;
    for (int i = 0; i < names->keys.n; i++) {
        const char *ours = names->keys.at[i]->text;
        const size_t n = strlen(ours);
        if (i == skip || n < most || strncmp(name, ours, n)
            || (name[n] && name[n] != '.'))
            continue;
        most = n;
        best = name + n;
        to = names->items.at[i]->kind == YamlScalar ? names->items.at[i]->text
                                                    : "";
    }
    return best ? (*to ? arena_printf(a, "%s%s", to, best) : NULL) : name;
}

/* Replaces the tensor names by those that the file uses. */
static void store_names(Import *m, Yaml *names)
{
    for (int i = 0; i < names->items.n; i++) {
        Yaml *row = names->items.at[i];
        Yaml *text = row->kind == YamlMap ? yaml_get(row, "tensor") : row;
        if (text && text->kind == YamlScalar)
            text->text = gguf_stored(m, text->text);
    }
}

/* Removes rows that the remaining rows imply, and returns the others. */
static Yaml *shortened(Arena *a, Yaml *names)
{
    for (int i = names->keys.n - 1; i >= 0; i--) {
        const Yaml *theirs = names->items.at[i];
        const char *without = renamed(a, names, i, names->keys.at[i]->text);
        if (theirs->kind != YamlScalar || !without
            || strcmp(without, theirs->text) != 0)
            continue;
        for (int k = i; k + 1 < names->keys.n; k++) {
            names->keys.at[k] = names->keys.at[k + 1];
            names->items.at[k] = names->items.at[k + 1];
        }
        names->keys.n--;
        names->items.n--;
    }
    return names;
}

Yaml *resolve_names(Import *m)
{
    const Yaml *names = yaml_get(m->rules, "names");
    Yaml *to = map_new(m->a);
    if (names && names->kind == YamlMap)
        add_group(m, to, names);
    for (int i = 0; names && names->kind == YamlList && i < names->items.n; i++)
        if (names->items.at[i]->kind == YamlMap)
            add_group(m, to, names->items.at[i]);
    store_names(m, to);
    return shortened(m->a, to);
}
