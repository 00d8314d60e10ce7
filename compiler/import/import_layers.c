/* import_layers.c: evaluates a family's rules for each layer `i`. Fields with
 * the same value in all layers go to the top level of the spec. The others
 * become rows of `layers`, in the shorter of two forms: one period of the
 * pattern, or runs of equal rows with counts. */
#include <stdlib.h>
#include <string.h>

#include "import/state.h"

enum { MostLayers = 1024 }; /* the maximum of a spec's N */

typedef struct {
    Arena *a;
    Yaml **row; /* [layers]: the fields of a layer; NULL: none */
    int n;
} Rows;

static bool same(const Yaml *x, const Yaml *y)
{
    if (!x || !y || x->kind != y->kind || x->items.n != y->items.n)
        return x == y;
    if (x->kind == YamlScalar)
        return !strcmp(x->text, y->text);
    for (int i = 0; i < x->items.n; i++)
        if (!same(x->items.at[i], x->kind == YamlMap
                                      ? yaml_get(y, x->keys.at[i]->text)
                                      : y->items.at[i]))
            return false;
    return true;
}

/* ---- alike ---- */
static bool all_alike(const Rows *r, const char *key)
{
    for (int i = 1; i < r->n; i++)
        if (!same(yaml_get(r->row[0], key), yaml_get(r->row[i], key)))
            return false;
    return true;
}

static Rows below(const Rows *r, const char *key)
{
    Rows in = { r->a, arena_alloc(r->a, (size_t)r->n * sizeof *in.row), r->n };
    for (int i = 0; i < r->n; i++)
        in.row[i] = yaml_get(r->row[i], key);
    return in;
}

static bool all_maps(const Rows *r)
{
    for (int i = 0; i < r->n; i++)
        if (!r->row[i] || r->row[i]->kind != YamlMap)
            return false;
    return true;
}

/* Sets a key of the spec. If the key exists, merges maps key by key and
 * replaces other values. */
static void lay(Arena *a, Yaml *spec, const char *key, Yaml *value)
{
    Yaml *there = yaml_get(spec, key);
    if (!there) {
        map_set(a, spec, key, value);
        return;
    }
    if (there->kind != YamlMap || value->kind != YamlMap) {
        *there = *value;
        return;
    }
    for (int i = 0; i < value->keys.n; i++)
        lay(a, there, value->keys.at[i]->text, value->items.at[i]);
}

/* Moves keys that are equal in all rows to the top level of the spec. */
static void share(const Rows *r, Yaml *spec)
{
    VEC(const char *) keys = { 0 };
    for (int i = 0; i < r->row[0]->keys.n; i++)
        vec_push(r->a, &keys, r->row[0]->keys.at[i]->text);
    for (int i = 0; i < keys.n; i++) {
        const char *key = keys.at[i];
        const Rows in = below(r, key);
        Yaml *common = all_alike(r, key) ? in.row[0] : NULL;
        if (!common && all_maps(&in)) {
            common = map_new(r->a);
            share(&in, common);
        } else if (common) {
            for (int k = 0; k < r->n; k++)
                map_take(r->row[k], key);
        }
        if (common && (common->kind != YamlMap || common->keys.n))
            lay(r->a, spec, key, common);
    }
}

/* ---- pattern ---- */

/* Returns the length of the shortest period of the rows; the last period may be
 * incomplete. */
static int round_of(const Rows *r)
{
    for (int n = 1; n < r->n; n++) {
        int i = n;
        while (i < r->n && same(r->row[i], r->row[i - n]))
            i++;
        if (i == r->n)
            return n;
    }
    return r->n;
}

static Yaml *list_new(Arena *a)
{
    Yaml *list = map_new(a);
    list->kind = YamlList;
    return list;
}

/* Returns the runs of equal rows. A run of more than one row has a count,
 * `repeat`. */
static Yaml *runs_of(const Rows *r)
{
    Yaml *list = list_new(r->a);
    for (int i = 0, n; i < r->n; i += n) {
        for (n = 1; i + n < r->n && same(r->row[i], r->row[i + n]);)
            n++;
        Yaml *row = map_new(r->a);
        for (int k = 0; k < r->row[i]->keys.n; k++)
            map_set(r->a, row, r->row[i]->keys.at[k]->text,
                    r->row[i]->items.at[k]);
        if (n > 1)
            map_set(r->a, row, "repeat",
                    scalar_new(r->a, arena_printf(r->a, "%d", n), false));
        vec_push(r->a, &list->items, row);
    }
    return list;
}

static Yaml *pattern(const Rows *r)
{
    const int n = round_of(r);
    Yaml *runs = runs_of(r);
    if (n > runs->items.n || n == r->n)
        return runs;
    Yaml *list = list_new(r->a);
    for (int i = 0; i < n; i++)
        vec_push(r->a, &list->items, r->row[i]);
    return list;
}

/* ---- whole ---- */
void resolve_layers(Import *m, Yaml *spec)
{
    const Yaml *rule = rules_map(m->rules, "layer"), *N = yaml_get(spec, "N");
    m->scope.failures += !rule && yaml_get(m->rules, "layer");
    const int n = N && N->kind == YamlScalar ? atoi(N->text) : 0;
    if (!rule || n < 1 || n > MostLayers) /* the error is reported when the spec
                                           * is read */
        return;
    Rows r = { m->a, arena_alloc(m->a, ((size_t)n + 1) * sizeof *r.row), n };
    for (int i = 0; i < n && !m->scope.failures; i++) {
        m->layer = i;
        r.row[i] = resolve_tree(m, rule);
        if (!r.row[i])
            r.row[i] = map_new(m->a);
    }
    m->layer = -1;
    if (m->scope.failures)
        return;
    share(&r, spec);
    if (round_of(&r) > 1)
        map_set(m->a, spec, "layers", pattern(&r));
}
