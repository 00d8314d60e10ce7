/* spec_text.c: writes the tree of a spec as YAML, each map on one line if it
 * fits, otherwise with a line per key. Also removes fields that have their
 * default values. */
#include <string.h>

#include "import/state.h"
#include "spec/spec.h"

enum { Columns = 80, Indent = 2 };

/* ---- text ---- */
static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return *text && strchr(letters, *text)
        && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+/")];
}

/* Returns true if the text needs no quotes outside of flow collections: plain
 * characters and braces, not starting with { or -. */
static bool is_row(const char *text)
{
    return (*text == '{' || *text == '-')
             ? false
             : !text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+/"
                                  "{}")]
                   && *text;
}

static void put_scalar(Buffer *b, const char *text, bool in_flow)
{
    const bool number = *text == '-'
                     && text[strspn(text, "-0123456789.e+")] == 0;
    if (number || (in_flow ? is_plain(text) : is_row(text))) {
        buffer_printf(b, "%s", text);
        return;
    }
    buffer_printf(b, "\"");
    for (; *text; text++)
        if (*text == '\n')
            buffer_printf(b, "\\n");
        else
            buffer_printf(b, *text == '"' || *text == '\\' ? "\\%c" : "%c",
                          *text);
    buffer_printf(b, "\"");
}

/* Writes a value on one line. The columns of its origins count from the start
 * of the buffer until place_origins() corrects them. */
static void put_flow(Buffer *b, SpecTree *t, const Yaml *y, bool in_flow)
{
    if (y->kind == YamlScalar) {
        if (y->pos.src)
            vec_push(t->m->a, &t->origins, ((TextOrigin){ 0, b->n, y->pos }));
        put_scalar(b, y->text, in_flow);
        return;
    }
    buffer_printf(b, y->kind == YamlMap ? "{" : "[");
    for (int i = 0; i < y->items.n; i++) {
        buffer_printf(b, "%s", i ? ", " : "");
        if (y->kind == YamlMap) {
            put_scalar(b, y->keys.at[i]->text, true);
            buffer_printf(b, ": ");
        }
        put_flow(b, t, y->items.at[i], true);
    }
    buffer_printf(b, y->kind == YamlMap ? "}" : "]");
}

/* Returns the comment for a field; NULL if there is none. */
static const char *comment_of(const SpecTree *t, const char *path)
{
    const Yaml *y = t->comments ? yaml_get(t->comments, path) : NULL;
    if (!y || y->kind != YamlScalar)
        return NULL;
    if (y->text[0] != '=')
        return import_filled(t->m, y, y->text);
    const Datum v = import_value(t->m, y, 1);
    return v.kind == ValueText ? v.text : NULL;
}

static bool has_comment(const SpecTree *t, const Yaml *y, const char *path)
{
    if (comment_of(t, path))
        return true;
    for (int i = 0; y->kind == YamlMap && i < y->keys.n; i++)
        if (has_comment(t, y->items.at[i],
                        arena_printf(t->m->a, "%s.%s", path,
                                     y->keys.at[i]->text)))
            return true;
    return false;
}

static void put_comment(Buffer *b, int indent, const char *comment)
{
    while (comment && *comment) {
        size_t n = strcspn(comment, "\n");
        const size_t room = (size_t)(Columns - indent - 2);
        if (n > room)
            for (n = room; n > 1 && comment[n] != ' '; n--)
                ;
        buffer_printf(b, "%*s# %.*s\n", indent, "", (int)n, comment);
        comment += n + strspn(comment + n, " \n");
    }
}

/* Sets the line and columns of the origins of a value, which begins `before`
 * columns into the current line of `b`. */
static void place_origins(SpecTree *t, const Buffer *b, int first, int before)
{
    int line = 1;
    for (int i = 0; i < b->n; i++)
        line += b->at[i] == '\n';
    for (int i = first; i < t->origins.n; i++) {
        t->origins.at[i].line = line;
        t->origins.at[i].col += before + 1;
    }
}

static bool is_rows(const Yaml *y)
{
    return y->kind == YamlList && y->items.n && y->items.at[0]->kind == YamlMap;
}

/* Writes a list of maps, each on one line. */
static void put_rows(Buffer *b, SpecTree *t, const Yaml *list, int indent)
{
    for (int i = 0; i < list->items.n; i++) {
        Buffer value = { .arena = t->m->a };
        const int first = t->origins.n;
        put_flow(&value, t, list->items.at[i], true);
        place_origins(t, b, first, indent + 2);
        buffer_printf(b, "%*s- %s\n", indent, "", value.at);
    }
}

static void put_key(Buffer *b, SpecTree *t, const char *key, const Yaml *y,
                    const char *path, int indent)
{
    Arena *a = t->m->a;
    const char *comment = comment_of(t, path);
    const bool inside = y->kind == YamlMap && !comment
                     && has_comment(t, y, path);
    Buffer line = { .arena = a };
    buffer_printf(&line, "%*s", indent, "");
    put_scalar(&line, key, false);
    buffer_printf(&line, ":");
    Buffer value = { .arena = a };
    const int first = t->origins.n;
    put_flow(&value, t, y, false);
    const bool fits = line.n + 1 + value.n <= Columns;
    if ((y->kind != YamlMap && !is_rows(y)) || (fits && !inside)) {
        const int n = line.n + 1 + value.n;
        const bool beside = comment && n + 4 + (int)strlen(comment) <= Columns;
        if (!beside)
            put_comment(b, indent, comment);
        place_origins(t, b, first, line.n + 1);
        buffer_printf(b, "%s %s%s%s\n", line.at, value.at, beside ? "  # " : "",
                      beside ? comment : "");
        return;
    }
    t->origins.n = first;
    put_comment(b, indent, comment);
    buffer_printf(b, "%s\n", line.at);
    if (is_rows(y))
        put_rows(b, t, y, indent + Indent);
    for (int i = 0; i < y->keys.n; i++)
        put_key(b, t, y->keys.at[i]->text, y->items.at[i],
                arena_printf(a, "%s.%s", path, y->keys.at[i]->text),
                indent + Indent);
}

/* ---- whole ---- */
static void put_map(Buffer *b, SpecTree *t, const Yaml *map, int indent)
{
    for (int i = 0; i < map->keys.n; i++)
        put_key(b, t, map->keys.at[i]->text, map->items.at[i],
                map->keys.at[i]->text, indent);
}

static void put_names(Buffer *b, SpecTree *t)
{
    if (!t->names || !t->names->keys.n)
        return;
    buffer_printf(b, "names:\n");
    for (int i = 0; i < t->names->keys.n; i++)
        put_key(b, t, t->names->keys.at[i]->text, t->names->items.at[i],
                arena_printf(t->m->a, "names.%s", t->names->keys.at[i]->text),
                Indent);
}

const char *spec_tree_text(SpecTree *t)
{
    t->origins.n = 0;
    Buffer b = { .arena = t->m->a };
    put_comment(&b, 0,
                arena_printf(t->m->a, "Written by attnc import. Family: %s.",
                             t->title));
    buffer_printf(&b, "attnc: 1\nname: ");
    put_scalar(&b, t->m->o->name, false);
    buffer_printf(&b, "\n");
    put_map(&b, t, t->spec, 0);
    if (t->weights) {
        buffer_printf(&b, "weights: ");
        put_scalar(&b, t->weights, false);
        buffer_printf(&b, "\n");
    }
    put_names(&b, t);
    if (t->unused && t->unused->items.n)
        put_key(&b, t, "unused", t->unused, "unused", 0);
    return b.at;
}

bool spec_tree_takes(Arena *a, const char *text)
{
    Buffer b = { .arena = a };
    if (strlen(text) > MostTextBytes)
        return false;
    put_scalar(&b, text, true);
    const Source src = { "text", b.at, (size_t)b.n, 0 };
    messages_mute(true);
    const Yaml *y = yaml_parse(a, &src, 0);
    messages_mute(false);
    return y && y->kind == YamlScalar && !strcmp(y->text, text);
}

/* ---- defaults ---- */

/* Returns a hash of the spec without names, weights and comments; 0 if it is
 * invalid. */
static uint64_t hash_of(const SpecTree *t)
{
    SpecTree bare = *t;
    bare.names = NULL;
    bare.weights = NULL;
    bare.comments = NULL;
    const char *text = spec_tree_text(&bare);
    const Source src = { t->m->o->spec, text, strlen(text), 0 };
    messages_mute(true);
    const Spec *s = spec_read(t->m->a, t->m->o->spec, &src, NULL, 0);
    messages_mute(false);
    return s ? s->hash : 0;
}

static void put_back(Yaml *map, int i, Yaml *key, Yaml *value)
{
    for (int k = map->keys.n++; k > i; k--) {
        map->keys.at[k] = map->keys.at[k - 1];
        map->items.at[k] = map->items.at[k - 1];
    }
    map->items.n++;
    map->keys.at[i] = key;
    map->items.at[i] = value;
}

/* Shortens {encoder: 6, decoder: 6} to 6, and {type: rms} to rms. Returns NULL
 * if the values differ. The caller checks that the spec's hash stays the
 * same. */
static Yaml *as_scalar(const Yaml *map)
{
    for (int i = 0; i < map->items.n; i++)
        if (map->items.at[i]->kind != YamlScalar
            || strcmp(map->items.at[i]->text, map->items.at[0]->text))
            return NULL;
    return map->items.n ? map->items.at[0] : NULL;
}

static void shorten(SpecTree *t, Yaml *map, uint64_t hash, bool top)
{
    for (int i = map->keys.n - 1; i >= 0; i--) {
        Yaml *key = map->keys.at[i], *value = map->items.at[i];
        if (top
            && (!strcmp(key->text, "kind") || !strcmp(key->text, "d_model")))
            continue;
        map_take(map, key->text);
        if (hash_of(t) == hash)
            continue;
        put_back(map, i, key, value);
        for (int k = 0; is_rows(value) && k < value->items.n; k++)
            shorten(t, value->items.at[k], hash, false);
        if (value->kind != YamlMap)
            continue;
        shorten(t, value, hash, false);
        Yaml *one = as_scalar(value);
        if (!one)
            continue;
        map->items.at[i] = one;
        if (hash_of(t) != hash)
            map->items.at[i] = value;
    }
}

void spec_tree_shorten(SpecTree *t)
{
    const uint64_t hash = hash_of(t);
    if (hash)
        shorten(t, t->spec, hash, true);
}
