/* config.c: reads a JSON file of the folder. jansson parses the values. A
 * second pass over the text, which is then known to be valid, finds the
 * position of each key. */
#include <errno.h>
#include <string.h>

#include "base/strings.h"
#include "runtime/base/json.h"
#include "import/config.h"

enum { MostBytes = 16 << 20 };

/* ---- places ---- */
typedef struct {
    Arena *arena;
    Config *to;
    const char *at;
    const char *line; /* start of the current line */
    int lines;
} Walk;

static void skip_blanks(Walk *w)
{
    for (; *w->at && strchr(" \t\r\n", *w->at); w->at++)
        if (*w->at == '\n') {
            w->line = w->at + 1;
            w->lines++;
        }
}

static void skip_text(Walk *w)
{
    for (w->at++; *w->at && *w->at != '"'; w->at++)
        w->at += *w->at == '\\' && w->at[1];
    w->at += *w->at == '"';
}

static Pos here(const Walk *w)
{
    return (Pos){ &w->to->src, w->lines + 1, (int)(w->at - w->line) + 1 };
}

/* Visits the values in the order of the text, which jansson preserves. Keys
 * inside a list are not recorded; there `path` is NULL. */
static void walk(Walk *w, const json_t *j, const char *path, Pos pos);

static void walk_object(Walk *w, const json_t *j, const char *path)
{
    for (void *it = json_object_iter((json_t *)j); it;
         it = json_object_iter_next((json_t *)j, it)) {
        const char *key = json_object_iter_key(it);
        w->at++; /* skip { or , */
        skip_blanks(w);
        const Pos pos = here(w);
        skip_text(w);
        skip_blanks(w);
        w->at++; /* skip : */
        const char *inner = !path ? NULL
                          : *path ? arena_printf(w->arena, "%s.%s", path, key)
                                  : arena_strdup(w->arena, key);
        walk(w, json_object_iter_value(it), inner, pos);
        skip_blanks(w);
    }
    if (!json_object_size(j)) {
        w->at++;
        skip_blanks(w);
    }
    w->at++; /* skip } */
}

static void walk_array(Walk *w, const json_t *j)
{
    for (size_t i = 0; i < json_array_size(j); i++) {
        w->at++; /* skip [ or , */
        walk(w, json_array_get(j, i), NULL, (Pos){ 0 });
        skip_blanks(w);
    }
    if (!json_array_size(j)) {
        w->at++;
        skip_blanks(w);
    }
    w->at++; /* skip ] */
}

static void walk(Walk *w, const json_t *j, const char *path, Pos pos)
{
    skip_blanks(w);
    if (path && *path)
        vec_push(w->arena, &w->to->key,
                 ((ConfigKey){ path, pos, value_of_json(w->arena, j, pos),
                               false }));
    if (json_is_object(j))
        walk_object(w, j, path);
    else if (json_is_array(j))
        walk_array(w, j);
    else if (json_is_string(j))
        skip_text(w);
    else
        w->at += strcspn(w->at, ",]} \t\r\n");
}

/* ---- file ---- */

/* Python writes numbers that are not JSON. Each stands for a number that no
 * config has, and value_of_json() turns that back. */
static const struct {
    const char *word, *number;
} python[] = {
    { "-Infinity", "-" VALUE_INFINITY },
    { "Infinity", VALUE_INFINITY },
    { "NaN", VALUE_NAN },
};

static Buffer without_python(Arena *a, const Source *src)
{
    Buffer b = { .arena = a };
    const char *const end = src->text + src->size;
    bool inside_text = false;
    for (const char *at = src->text; at < end;) {
        size_t n = 1;
        const char *number = NULL;
        if (inside_text && *at == '\\' && at[1])
            n = 2;
        inside_text ^= n == 1 && *at == '"';
        for (int i = 0; !inside_text && !number && i < 3; i++)
            if (!strncmp(at, python[i].word, strlen(python[i].word))) {
                number = python[i].number;
                n = strlen(python[i].word);
            }
        buffer_add(&b, number ? number : at, number ? strlen(number) : n);
        at += n;
    }
    return b;
}

static bool parse_config(Arena *a, bool reals, Config *to, int *code)
{
    const Buffer b = without_python(a, &to->src);
    const JsonText text = { to->src.name, b.n ? b.at : "", (size_t)b.n, false,
                            reals };
    json_error_t e;
    json_t *j;
    Fault why;
    if (!json_read(&j, &text, &e, &why)) {
        *code = report_fault(&why);
        return false;
    }
    if (!j) {
        const Pos pos = { &to->src, e.line < 1 ? 1 : e.line,
                          e.column < 1 ? 1 : e.column };
        error_at(pos, "%s", quote(e.text));
        *code = ExitInput;
        return false;
    }
    Walk w = { a, to, to->src.text, to->src.text, 0 };
    to->top = value_of_json(a, j, (Pos){ &to->src, 1, 1 });
    walk(&w, j, "", (Pos){ 0 });
    json_decref(j);
    return true;
}

bool config_read(Arena *a, const char *path, bool reals, Config *to, int *code)
{
    File f;
    Fault why;
    *to = (Config){ .top = { .kind = ValueNone } };
    if (!path_exists(path) && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (!file_read(&f, path, MostBytes, &why)) {
        *code = report_fault(&why);
        return false;
    }
    to->src.name = arena_strdup(a, path);
    to->src.text = arena_strndup(a, (const char *)f.at, f.size);
    to->src.size = f.size;
    file_close(&f);
    return parse_config(a, reals, to, code);
}

/* ---- keys ---- */
ConfigKey *config_find(Config *c, const char *path)
{
    for (int i = 0; i < c->key.n; i++)
        if (!strcmp(c->key.at[i].path, path))
            return &c->key.at[i];
    return NULL;
}

/* Returns the part of the path after the prefix `map` and a dot; NULL if the
 * path has another prefix. */
static const char *inside(const char *path, const char *map)
{
    const size_t n = strlen(map);
    return !strncmp(path, map, n) && path[n] == '.' ? path + n + 1 : NULL;
}

static bool contradicts(Arena *a, const ConfigKey *x, const ConfigKey *y)
{
    if (value_same(&x->value, &y->value))
        return false;
    error_at(x->pos, "%s is %s, but %s says %s", quote(x->path),
             quote(value_text(a, &x->value)), quote(y->path),
             quote(value_text(a, &y->value)));
    note_at(y->pos, "%s is here", quote(y->path));
    return true;
}

bool config_move(Arena *a, Config *c, const char *from, const char *to)
{
    ConfigKey *key = config_find(c, from), *there = config_find(c, to);
    if (!key)
        return true;
    if (key->value.kind == ValueNone) { /* a key whose value is null counts as
                                           absent */
        key->used = true;
        return true;
    }
    for (int i = 0; i < c->key.n; i++) {
        ConfigKey *k = &c->key.at[i];
        const char *rest = inside(k->path, from);
        if (!rest)
            continue;
        const char *path = arena_printf(a, "%s.%s", to, rest);
        ConfigKey *other = config_find(c, path);
        if (other && contradicts(a, k, other))
            return false;
        k->used = k->used || other;
        k->path = other ? k->path : path;
    }
    key = config_find(c, from);
    there = config_find(c, to);
    if (there && key->value.kind != ValueMap && contradicts(a, key, there))
        return false;
    key->used = key->used || there;
    if (!there)
        key->path = arena_strdup(a, to);
    return true;
}

/* Returns true after an error if the key's value is not a map. */
static bool lacks_map(Arena *a, const ConfigKey *k)
{
    if (k->value.kind == ValueMap)
        return false;
    error_at(k->pos, "%s must be a map, found %s", quote(k->path),
             quote(value_text(a, &k->value)));
    return true;
}

bool config_raise(Arena *a, Config *c, const char *section)
{
    ConfigKey *map = config_find(c, section);
    if (!map || map->value.kind == ValueNone)
        return true;
    if (lacks_map(a, map))
        return false;
    map->used = true;
    for (int i = 0; i < c->key.n; i++) {
        const char *key = inside(c->key.at[i].path, section);
        ConfigKey *top = key ? config_find(c, key) : NULL;
        if (!key)
            continue;
        if (top && !strcmp(key, "architectures")) {
            c->key.at[i].used = true;
            continue;
        }
        c->key.at[i].path = key;
        if (top) {
            top->path = arena_printf(a, "(outside).%s", key);
            top->used = true;
        }
    }
    return true;
}

void config_know(Config *c, const char *pattern)
{
    for (int i = 0; i < c->key.n; i++) {
        ConfigKey *k = &c->key.at[i];
        if (glob_fits(pattern, k->path) || inside(k->path, pattern))
            k->used = true;
    }
}

bool config_knows(const Config *c, const ConfigKey *k)
{
    bool known = k->used;
    for (int i = 0; i < c->key.n && !known; i++)
        known = c->key.at[i].used && inside(c->key.at[i].path, k->path);
    return known;
}

static void unknown_key(const ConfigKey *k, const char *family,
                        const char *near)
{
    error_at(k->pos, "'%s' is a key that the rules of %s do not know",
             quote(k->path), family);
    if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    note_at((Pos){ 0 },
            "if it does not change what the model computes, allow it by attnc "
            "import --ignore-key=%s; otherwise the family needs a rule for it",
            quote(k->path));
}

int config_unknown(Arena *a, const Config *c, const char *family,
                   const char *const *known, int n)
{
    int count = 0;
    const ConfigKey *said = NULL;
    for (int i = 0; i < c->key.n; i++) {
        const ConfigKey *k = &c->key.at[i];
        if (config_knows(c, k) || (said && inside(k->path, said->path)))
            continue;
        said = k;
        if (value_is_off(&k->value)) {
            warning_at(k->pos,
                       "'%s' is a key that the rules of %s do not know; it is "
                       "left out, because its value is null, false, 0 or empty",
                       quote(k->path), family);
            continue;
        }
        int within = 0;
        while (within < n && !inside(known[within], k->path))
            within++;
        if (within == n || !lacks_map(a, k))
            unknown_key(k, family, nearest(k->path, known, n));
        count++;
    }
    return count;
}
