/* read.c: for each row of the field table, finds the value that was written
 * last: in an extended spec, in the spec itself, or by --set. It does not
 * interpret values. */
#define _XOPEN_SOURCE 700         /* for realpath */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/files/foreign.h"
#include "spec/values/hints.h"

enum {
    MostBytes = 1 << 20,
    MostExtends = 16,
    EnoughErrors = 100,
    MostRank = 1 << 20 /* a rank higher than that of any file or option */
};

typedef struct {
    Arena *arena;
    Written w;
    VEC(const char *) files; /* chain of `extends`, as real paths */
    Unknown unknown;         /* unknown keys of the current source */
} Reader;

/* ---- files ---- */

const char *(*spec_of_checkpoint)(Arena *a, const char *path);

/* Reads a file. A missing top file ends the process; a missing extended file is
 * reported as an error. */
static Source *open_source(Reader *r, const char *path, Pos from)
{
    Fault why;

    if (spec_of_checkpoint)
        path = spec_of_checkpoint(r->arena, path);
    if (!from.src && foreign_file(path, AskedSpec, &why))
        fail(why.code, "%s", why.text);
    File *file = arena_file(r->arena, path, MostBytes, &why);
    if (!file) {
        if (!from.src)
            fail(why.code, "%s", why.text);
        error_fault(from, &why);
        return NULL;
    }
    Source *src = arena_alloc(r->arena, sizeof *src);
    src->name = arena_strdup(r->arena, path);
    size_t mark = file_mark(file);
    src->size = file->size - mark;
    src->text = arena_strndup(r->arena, (const char *)file->at + mark,
                              src->size);
    src->rank = -r->files.n;
    arena_closes(r->arena, file);
    return src;
}

static bool seen_before(Reader *r, const char *path, Pos from)
{
    char real[PATH_MAX];
    const char *name = realpath(path, real) ? real : path;

    for (int i = 0; i < r->files.n; i++)
        if (!strcmp(r->files.at[i], name)) {
            error_at(from, "%s extends itself", quote(path));
            return true;
        }
    if (r->files.n == MostExtends) {
        error_at(from, "more than %d specs extend one another", MostExtends);
        return true;
    }
    vec_push(r->arena, &r->files, arena_strdup(r->arena, name));
    return false;
}

/* ---- keys ---- */
static void unknown_key(Reader *r, const char *path, const Yaml *key,
                        const Yaml *value)
{
    vec_push(r->arena, &r->unknown.unknown, ((KeyValue){ path, key, value }));
}

static void assign(Reader *r, const char *path, const Yaml *key,
                   const Yaml *value);

static void assign_map(Reader *r, const char *path, const Yaml *map)
{
    for (int i = 0; i < map->keys.n; i++) {
        const Yaml *key = map->keys.at[i];
        if (error_count() > EnoughErrors)
            return;
        assign(r,
               *path ? arena_printf(r->arena, "%s.%s", path, key->text)
                     : key->text,
               key, map->items.at[i]);
    }
}

/* True if this source sets the row by the row's own key, which takes precedence
 * over a value for several rows. */
static bool is_own(const Reader *r, int row, const Yaml *value)
{
    const Yaml *old = r->w.value[row];

    return old && value && old->pos.src == value->pos.src && !r->w.spread[row];
}

/* Sets the value of a row; NULL removes it. */
static void assign_row(Reader *r, int row, const Yaml *value, bool spread)
{
    const Yaml *old = r->w.value[row];

    if (old && value && old->pos.src != value->pos.src)
        r->w.under[row] = old;
    r->w.value[row] = value;
    r->w.spread[row] = spread;
}

/* Sets several rows to a scalar. It replaces all fields of the map that another
 * file wrote. */
static void assign_spread(Reader *r, int row, const Yaml *value)
{
    const char *const *words = fields[row].words;

    for (int i = 0; words[i]; i++)
        if (!is_own(r, field_row(words[i]), value))
            assign_row(r, field_row(words[i]), value, true);
    for (int i = 0; i < n_fields; i++)
        if (i != row && r->w.value[i] != value && !is_own(r, i, value)
            && field_below(fields[i].key, fields[row].key))
            assign_row(r, i, NULL, false);
}

static void assign_name(Reader *r, const Yaml *key, const char *ours,
                        const Yaml *theirs)
{
    Yaml *name = arena_alloc(r->arena, sizeof *name);

    *name = *key;
    name->text = ours;
    vec_push(r->arena, &r->w.names, ((NamePair){ name, theirs }));
}

static void assign_names(Reader *r, const Yaml *map)
{
    if (map->kind != YamlMap)
        error_at(map->pos, "names must be a map");
    else
        for (int i = 0; i < map->keys.n; i++)
            assign_name(r, map->keys.at[i], map->keys.at[i]->text,
                        map->items.at[i]);
}

/* ---- maps of dtypes ---- */

/* Returns a copy of a map without the key `name`. If `alone` is set, the copy
 * has only keys from that source. */
static Yaml *kept_keys(Reader *r, const Yaml *old, const char *name,
                       const Source *alone)
{
    Yaml *map = arena_alloc(r->arena, sizeof *map);

    map->kind = YamlMap;
    if (old)
        map->pos = old->pos;
    for (int i = 0; old && i < old->keys.n; i++) {
        Yaml *key = old->keys.at[i];
        if (!strcmp(key->text, name) || (alone && key->pos.src != alone))
            continue;
        vec_push(r->arena, &map->keys, key);
        vec_push(r->arena, &map->items, old->items.at[i]);
    }
    return map;
}

/* Appends the key `name` with a value to a map. */
static void put_key(Reader *r, Yaml *map, const char *name, const Yaml *key,
                    const Yaml *value)
{
    Yaml *inner = arena_alloc(r->arena, sizeof *inner);
    Yaml *item = arena_alloc(r->arena, sizeof *item);

    *inner = *key;
    inner->text = name;
    *item = *value;
    vec_push(r->arena, &map->keys, inner);
    vec_push(r->arena, &map->items, item);
}

/* Sets the key `name` in a row's map. `all`: a single word was written in place
 * of the map. */
static void assign_dtype(Reader *r, int row, const char *name, const Yaml *key,
                         const Yaml *value, bool all)
{
    const Yaml *old = r->w.value[row];

    for (int i = 0; old && i < old->keys.n; i++) {
        const Yaml *one = old->keys.at[i];
        if (strcmp(one->text, name) != 0 || one->pos.src != key->pos.src)
            continue;
        error_at(key->pos, "%s.%s is set twice", fields[row].key, quote(name));
        note_at(one->pos, "it is first set here");
        return;
    }
    Yaml *map = kept_keys(r, old, name, all ? key->pos.src : NULL);
    map->pos = value->pos;
    put_key(r, map, name, key, value);
    assign_row(r, row, map, false);
}

static void assign_dtypes(Reader *r, const char *path, const Yaml *key,
                          const Yaml *value)
{
    const int above = field_of_name(path);

    if (value->kind == YamlMap)
        assign_map(r, path, value);
    else if (above < 0)
        assign_dtype(r, field_row(path), "default", key, value, true);
    else
        assign_dtype(r, above, path + strlen(fields[above].key) + 1, key, value,
                     false);
}

/* Removes one key from a row's map, as --set dtype.logits= does. */
static void unset_dtype(Reader *r, int row, const char *name)
{
    const Yaml *map = kept_keys(r, r->w.value[row], name, NULL);

    r->w.value[row] = map->keys.n ? map : NULL;
}

/* ---- layers ---- */
static const char *const side_word[] = { "encoder", "decoder" };

/* True for a map that has the rows of each stack. */
static bool writes_sides(const Yaml *rows)
{
    return rows && rows->kind == YamlMap
        && (yaml_get(rows, side_word[SideEncoder])
            || yaml_get(rows, side_word[SideDecoder]));
}

/* Returns `rows` with a key set in every row and in both stacks, as for --set
 * layers.mix=recurrent. */
static Yaml *with_key(Reader *r, const Yaml *rows, const char *name,
                      const Yaml *key, const Yaml *value)
{
    const bool list = rows && rows->kind == YamlList;
    const bool row = rows && rows->kind == YamlMap;

    if (!list && !writes_sides(rows)) {
        Yaml *map = kept_keys(r, row ? rows : NULL, name, NULL);
        map->pos = row ? rows->pos : value->pos;
        put_key(r, map, name, key, value);
        return map;
    }
    Yaml *all = arena_alloc(r->arena, sizeof *all);
    *all = *rows;
    all->items.at = NULL;
    all->items.n = all->items.cap = 0;
    for (int i = 0; i < rows->items.n; i++)
        vec_push(r->arena, &all->items,
                 with_key(r, rows->items.at[i], name, key, value));
    return all;
}

/* Returns `rows` with a key set in one stack, as for --set
 * layers.decoder.mix=recurrent. */
static Yaml *with_side(Reader *r, const Yaml *rows, Side side, const char *name,
                       const Yaml *key, const Yaml *value)
{
    Yaml *all = arena_alloc(r->arena, sizeof *all);

    all->kind = YamlMap;
    all->pos = rows ? rows->pos : value->pos;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const Yaml *own = writes_sides(rows) ? yaml_get(rows, side_word[i])
                                             : rows;
        if (i == side)
            own = *name ? with_key(r, own, name, key, value) : value;
        if (own)
            put_key(r, all, side_word[i], key, own);
    }
    return all;
}

static void assign_layers(Reader *r, int row, const char *name, const Yaml *key,
                          const Yaml *value)
{
    const Yaml *rows = r->w.value[row];
    Yaml *to = NULL;

    for (Side i = SideEncoder; i <= SideDecoder && !to; i++) {
        const size_t n = strlen(side_word[i]);
        if (!strcmp(name, side_word[i]) || field_below(name, side_word[i]))
            to = with_side(r, rows, i, name + n + (name[n] == '.'), key, value);
    }
    assign_row(r, row, to ? to : with_key(r, rows, name, key, value), false);
}

/* True for {window: 8} as the value of `masking`: one mask for both sides, not
 * a map of sides. */
static bool is_spread_mask(int row, const Yaml *value)
{
    return fields[field_row(fields[row].words[0])].type == FieldMask
        && value->keys.n > 0 && is_mask(value);
}

/* Reports a scalar in place of a map and suggests a key, such as size or file
 * for `vocab`. */
static void refuse_scalar(Reader *r, const char *path, const Yaml *key,
                          const Yaml *value)
{
    int64_t n;

    error_at(value->pos, "%s must be a map of keys", path);
    if (strcmp(path, "vocab") || value->kind != YamlScalar || !*value->text)
        return;
    const char *part = parse_int(value->text, &n) ? "size" : "file";
    note_at((Pos){ 0 }, "did you mean {%s: %s}?", part, quote(value->text));
    assign(r, arena_printf(r->arena, "vocab.%s", part), key, value);
}

static void assign(Reader *r, const char *path, const Yaml *key,
                   const Yaml *value)
{
    int row = field_find(path), above = field_of_name(path);
    FieldType type = row >= 0   ? fields[row].type
                   : above >= 0 ? fields[above].type
                                : FieldSpread;

    if (type == FieldDtypes)
        assign_dtypes(r, path, key, value);
    else if (type == FieldLayers && above >= 0)
        assign_layers(r, above, path + strlen(fields[above].key) + 1, key,
                      value);
    else if (type == FieldNames && above >= 0)
        assign_name(r, key, path + 6, value);
    else if (type == FieldNames)
        assign_names(r, value);
    else if (row >= 0
             && (type != FieldSpread || value->kind != YamlMap
                 || is_spread_mask(row, value) || !field_group(path))) {
        if (is_own(r, row, value)) {
            error_at(key->pos, "%s is set twice", path);
            note_at(r->w.value[row]->pos, "it is first set here");
            return;
        }
        if (type == FieldSpread)
            assign_spread(r, row, value);
        assign_row(r, row, value, false);
    } else if (!field_group(path))
        unknown_key(r, path, key, value);
    else if (value->kind != YamlMap)
        refuse_scalar(r, path, key, value);
    else
        assign_map(r, path, value);
}

/* Reports unknown keys, then continues as if their replacements had been
 * written. */
static void explain(Reader *r)
{
    Unknown *u = &r->unknown;

    u->arena = r->arena;
    u->w = &r->w;
    explain_unknown(u);
    for (int i = 0; i < u->meant.n; i++)
        assign(r, u->meant.at[i].path, u->meant.at[i].key,
               u->meant.at[i].value);
    u->unknown.n = u->meant.n = 0;
}

static bool load_file(Reader *r, const char *path, Pos from);

static bool load_base(Reader *r, const Yaml *base)
{
    const Field *f = &fields[field_row("extends")];
    Spec unused = { 0 };

    return field_read(r->arena, f, &unused, base)
        && load_file(r, spec_path(r->arena, base->pos, base->text), base->pos);
}

static bool take_source(Reader *r, const Source *src)
{
    Yaml *root = src ? yaml_parse(r->arena, src, 0) : NULL;
    if (!r->w.top.src)
        r->w.top = (Pos){ src, 1, 1 };
    if (!root)
        return false;
    if (root->kind != YamlMap) {
        if (root->kind == YamlScalar && !root->quoted
            && yaml_no_colon(src, root->pos.line))
            return false;
        error_at(root->pos, "a spec is a map of keys, such as d_model: 512");
        return false;
    }
    const Yaml *base = yaml_get(root, "extends");
    if (base && !load_base(r, base))
        return false;
    assign_map(r, "", root);
    explain(r);
    return true;
}

static bool load_file(Reader *r, const char *path, Pos from)
{
    return !seen_before(r, path, from)
        && take_source(r, open_source(r, path, from));
}

/* Handles "key=", which removes the value of a field or of all fields below
 * it. */
static void unset(Reader *r, const Yaml *key)
{
    const int row = field_find(key->text), above = field_of_name(key->text);
    const bool sets = row >= 0 && fields[row].type == FieldSpread;
    int kept = 0;

    if (above >= 0 && fields[above].type == FieldDtypes)
        unset_dtype(r, above, key->text + strlen(fields[above].key) + 1);
    if (row < 0 && above < 0 && !field_group(key->text))
        unknown_key(r, key->text, key, key);
    for (int i = 0; i < n_fields; i++) {
        const bool given = sets && r->w.value[row]
                        && r->w.value[i] == r->w.value[row];
        if (i == row || (!given && !field_below(fields[i].key, key->text)))
            continue;
        assign_row(r, i, NULL, false);
        r->w.unset[i] = key->pos;
    }
    if (row >= 0) {
        assign_row(r, row, NULL, false);
        r->w.unset[row] = key->pos;
    }
    for (int i = 0; i < r->w.names.n; i++) {
        const NamePair n = r->w.names.at[i];
        const char *name = arena_printf(r->arena, "names.%s", n.ours->text);
        if (strcmp(key->text, "names") && strcmp(key->text, name))
            r->w.names.at[kept++] = n;
    }
    r->w.names.n = kept;
}

static void apply_set(Reader *r, const char *option, int rank)
{
    Source *src = arena_alloc(r->arena, sizeof *src);
    const char *equals = strchr(option, '=');

    *src = (Source){ "--set", option, strlen(option), rank };
    Yaml key = { .kind = YamlScalar, .pos = { src, 1, 1 } };
    if (!equals || equals == option) {
        error_at(key.pos, "expected key.path=value");
        return;
    }
    key.text = arena_strndup(r->arena, option, (size_t)(equals - option));
    if (!strcmp(key.text, "extends")) {
        error_at(key.pos, "extends can only be written in a file");
        return;
    }
    if (!equals[1]) {
        unset(r, &key);
        explain(r);
        return;
    }
    Yaml *value = yaml_parse(r->arena, src, (size_t)(equals - option) + 1);
    if (value)
        assign(r, key.text, &key, value);
    explain(r);
}

/* Returns the comma before the next "key=", or else the end: h=16,d_k=32
 * contains two options, embedding.tie=[target,logits] one. */
static const char *option_end(const char *option)
{
    const char *comma = option;

    while ((comma = strchr(comma, ',')) != NULL) {
        size_t key = strcspn(comma + 1, "=,:[]{} \"'");
        if (key && comma[1 + key] == '=')
            return comma;
        comma++;
    }
    return option + strlen(option);
}

static void apply_sets(Reader *r, const char *const *sets, int nsets)
{
    for (int i = 0; i < nsets; i++)
        for (const char *at = sets[i], *end;; at = end + 1) {
            end = option_end(at);
            apply_set(r, arena_strndup(r->arena, at, (size_t)(end - at)),
                      i + 1);
            if (!*end)
                break;
        }
}

/* ---- rows of layers ---- */
static void *copy_of(Arena *a, const void *from, size_t bytes)
{
    return memcpy(arena_alloc(a, bytes + 1), from, bytes);
}

Written *written_copy(Arena *a, const Written *w)
{
    const size_t n = (size_t)n_fields;
    Written *copy = copy_of(a, w, sizeof *w);

    copy->value = copy_of(a, w->value, n * sizeof *w->value);
    copy->spread = copy_of(a, w->spread, n * sizeof *w->spread);
    copy->under = copy_of(a, w->under, n * sizeof *w->under);
    copy->unset = copy_of(a, w->unset, n * sizeof *w->unset);
    return copy;
}

typedef struct { /* copies of sources, ranked higher than all others */
    Arena *arena;
    VEC(const Source *) from;
    VEC(const Source *) over;
} Over;

/* Returns the copy of a source with the highest rank. It keeps the source's
 * name for messages. */
static const Source *source_over(Over *o, const Source *src)
{
    for (int i = 0; i < o->from.n; i++)
        if (o->from.at[i] == src)
            return o->over.at[i];
    Source *over = copy_of(o->arena, src, sizeof *src);
    over->rank = MostRank;
    vec_push(o->arena, &o->from, src);
    vec_push(o->arena, &o->over, over);
    return over;
}

/* Copies a tree of values; its sources are copies that rank higher than all
 * others. */
static Yaml *values_over(Over *o, const Yaml *from)
{
    Yaml *to = copy_of(o->arena, from, sizeof *from);

    to->pos.src = to->pos.src ? source_over(o, to->pos.src) : NULL;
    to->items.at = NULL;
    to->keys.at = NULL;
    to->items.n = to->items.cap = to->keys.n = to->keys.cap = 0;
    for (int i = 0; i < from->items.n; i++)
        vec_push(o->arena, &to->items, values_over(o, from->items.at[i]));
    for (int i = 0; i < from->keys.n; i++)
        vec_push(o->arena, &to->keys, values_over(o, from->keys.at[i]));
    return to;
}

/* Returns the key of one side that a row of `layers` sets: masking.encoder for
 * masking in a row of the encoder. */
static const char *own_key(Arena *a, const char *key, Side side)
{
    const char *own = arena_printf(a, "%s.%s", key, side_word[side]);

    return field_find(own) >= 0 ? own : key;
}

Written *written_over(Arena *a, const Written *w, const Yaml *row, Side side,
                      const Yaml **repeat)
{
    Reader r = { .arena = a, .w = *written_copy(a, w) };

    *repeat = NULL;
    row = values_over(&(Over){ .arena = a }, row);
    for (int i = 0; i < row->keys.n; i++) {
        const Yaml *key = row->keys.at[i], *value = row->items.at[i];
        if (!strcmp(key->text, "repeat"))
            *repeat = value;
        else
            assign(&r, own_key(a, key->text, side), key, value);
    }
    explain(&r);
    return copy_of(a, &r.w, sizeof r.w);
}

Written *read_written(Arena *a, const char *path, const Source *text,
                      const char *const *sets, int nsets)
{
    Reader *r = arena_alloc(a, sizeof *r);
    size_t n = (size_t)n_fields;

    r->arena = a;
    r->w.value = arena_alloc(a, n * sizeof *r->w.value);
    r->w.spread = arena_alloc(a, n * sizeof *r->w.spread);
    r->w.under = arena_alloc(a, n * sizeof *r->w.under);
    r->w.unset = arena_alloc(a, n * sizeof *r->w.unset);
    if (text ? !take_source(r, text) : !load_file(r, path, (Pos){ 0 }))
        return NULL;
    apply_sets(r, sets, nsets);
    return &r->w;
}
