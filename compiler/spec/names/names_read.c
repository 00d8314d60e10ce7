/* names_read.c: reads the rows of `names`, the weight map. A row is a name or a
 * map. A map describes weights that are slices of a tensor in the file, a
 * tensor that is transposed or scaled, or a weight that is constant. */
#include <string.h>

#include "spec/fields/fields.h"

enum { MostParts = 64, MostGroups = 1 << 20 };

/* ---- a map ---- */
static const char wants[] =
    "a name, or a map of tensor, rows or columns, groups, transpose, scale, "
    "add, fill";

static bool refuse(const Yaml *v, const char *what)
{
    error_at(v->pos, "%s", what);
    return false;
}

static bool read_tensor(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    (void)a, (void)ours;
    if (v->kind != YamlScalar || !*v->text || strlen(v->text) > 256)
        return refuse(v, "tensor must be a name of 1 to 256 bytes");
    n->theirs = v->text;
    n->pos = v->pos;
    return true;
}

/* Reads the list of parts. Each part is appended to the row's name: [q, k, v]
 * under self_attn means self_attn.q and so on. */
static bool read_slices(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    if (n->nparts)
        return refuse(v, "rows or columns, not both");
    if (v->kind != YamlList || v->items.n < 2 || v->items.n > MostParts)
        return refuse(
            v, "parts must be a list of at least two names, such as [q, k, v]");
    const char **part = arena_alloc(a, (size_t)v->items.n * sizeof *part);
    for (int i = 0; i < v->items.n; i++) {
        const Yaml *item = v->items.at[i];
        if (item->kind != YamlScalar || !*item->text)
            return refuse(item, "a part must be the name of a weight");
        part[i] = arena_printf(a, "%s.%s", ours->text, item->text);
        if (!has_slices(part[i]))
            return refuse(
                item,
                "only attention projections, w1, w2 and w3 can share a tensor");
        for (int j = 0; j < i; j++)
            if (!strcmp(part[j], part[i]))
                return refuse(item, "this part is listed twice");
    }
    n->parts = part;
    n->nparts = v->items.n;
    return true;
}

static bool read_columns(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    n->by_columns = true;
    return read_slices(a, ours, n, v);
}

static bool read_groups(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    bool plain = v->kind == YamlScalar && !v->quoted;

    (void)a, (void)ours;
    if (plain && !strcmp(v->text, "heads")) {
        n->groups = 0;
        return true;
    }
    return (plain && parse_int(v->text, &n->groups) && n->groups > 0
            && n->groups <= MostGroups)
        || refuse(v, "groups must be `heads`, or an integer from 1 to "
                     "1048576");
}

static bool read_transpose(Arena *a, const Yaml *ours, SpecName *n,
                           const Yaml *v)
{
    bool plain = v->kind == YamlScalar && !v->quoted;

    (void)a, (void)ours;
    n->transpose = plain && !strcmp(v->text, "true");
    return n->transpose || (plain && !strcmp(v->text, "false"))
        || refuse(v, "transpose must be true or false");
}

static bool is_number(const Yaml *v, double *to)
{
    return v->kind == YamlScalar && !v->quoted && parse_real(v->text, to)
        && *to >= -1e6 && *to <= 1e6;
}

static bool read_constant(Arena *a, const Yaml *ours, SpecName *n,
                          const Yaml *v)
{
    (void)a, (void)ours;
    n->is_constant = true;
    return is_number(v, &n->constant)
        || refuse(v, "fill must be a number from -1000000 to 1000000");
}

static bool read_slice_scale(Arena *a, const Yaml *ours, SpecName *n,
                             const Yaml *v)
{
    (void)a, (void)ours;
    n->scales = true;
    return is_number(v, &n->scale)
        || refuse(v, "scale must be a number from -1000000 to 1000000");
}

static bool read_add(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    (void)a, (void)ours;
    n->adds = true;
    return is_number(v, &n->add)
        || refuse(v, "add must be a number from -1000000 to 1000000");
}

static const struct {
    const char *key;
    bool (*read)(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v);
} keys[] = {
    { "tensor", read_tensor },       { "rows", read_slices },
    { "columns", read_columns },     { "groups", read_groups },
    { "transpose", read_transpose }, { "fill", read_constant },
    { "scale", read_slice_scale },   { "add", read_add },
};
enum { Keys = sizeof keys / sizeof *keys };

static bool read_key(Arena *a, const Yaml *ours, SpecName *n, const Yaml *key,
                     const Yaml *value)
{
    for (int i = 0; i < Keys; i++)
        if (!strcmp(keys[i].key, key->text))
            return keys[i].read(a, ours, n, value);
    error_at(key->pos, "unknown key '%s'", quote(key->text));
    note_at((Pos){ 0 }, "a row of names is %s", wants);
    return false;
}

static bool read_name_map(Arena *a, const Yaml *ours, const Yaml *map,
                          SpecName *n)
{
    *n = (SpecName){ .ours = ours->text,
                     .key = ours->pos,
                     .pos = map->pos,
                     .transpose = -1,
                     .groups = 1 };
    for (int i = 0; i < map->keys.n; i++)
        if (!read_key(a, ours, n, map->keys.at[i], map->items.at[i]))
            return false;
    const bool changed = n->transpose >= 0 || n->scales || n->adds;
    if (n->is_constant && (n->theirs || n->nparts || changed))
        return refuse(map,
                      "fill cannot be combined with a tensor or changes to it");
    if (!n->theirs && (n->nparts || n->groups != 1))
        return refuse(map, "rows, columns and groups need a tensor");
    if (n->groups != 1 && !n->nparts)
        return refuse(map, "groups need rows or columns");
    if (n->theirs || n->is_constant || changed)
        return true;
    error_at(map->pos, "this row has no effect");
    note_at((Pos){ 0 }, "a row of names is %s", wants);
    return false;
}

/* ---- a name ---- */
static bool good_name(const Yaml *n)
{
    size_t bytes = n->kind == YamlScalar ? strlen(n->text) : 0;

    if (bytes && bytes <= MostNameBytes)
        return true;
    error_at(n->pos, "a weight's name must have 1 to %d bytes", MostNameBytes);
    return false;
}

static bool good_pair(const Yaml *ours, const SpecName *n)
{
    bool mine = strstr(n->ours, "{i}"), expert = strstr(n->ours, "{e}");

    if (!known_prefix(n->ours)) {
        error_at(ours->pos, "no weight's name begins with '%s'",
                 quote(n->ours));
        note_at((Pos){ 0 }, "`attnc fields` lists the names");
    } else if (n->theirs && strstr(n->theirs, "{i}") && !mine) {
        error_at(n->pos, "{i} must be in the weight's name too");
    } else if (n->theirs && strstr(n->theirs, "{e}") && !expert) {
        error_at(n->pos, "{e} must be in the weight's name too");
    } else {
        return true;
    }
    return false;
}

/* Adds a row. It replaces a row with the same name that another file or --set
 * wrote. */
static void add_row(Arena *a, Spec *s, const Yaml *ours, const SpecName *name)
{
    if (!good_pair(ours, name))
        return;
    int i = index_add(a, &s->name_rows, name->ours, s->names.n);
    if (i == s->names.n) {
        vec_push(a, &s->names, *name);
    } else if (s->names.at[i].key.src == name->key.src) {
        error_at(name->key, "'%s' has two rows", quote(name->ours));
        note_at(s->names.at[i].key, "keep one of them; the other is here");
    } else {
        s->names.at[i] = *name;
    }
}

void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs)
{
    SpecName name = { .ours = ours->text,
                      .theirs = theirs->text,
                      .key = ours->pos,
                      .pos = theirs->pos,
                      .transpose = -1 };

    if (!good_name(ours))
        return;
    if (theirs->kind != YamlMap) {
        if (good_name(theirs))
            add_row(a, s, ours, &name);
        return;
    }
    if (!read_name_map(a, ours, theirs, &name))
        return;
    if (!name.nparts)
        add_row(a, s, ours, &name);
    for (int i = 0; i < name.nparts; i++) {
        name.ours = name.parts[i];
        add_row(a, s, ours, &name);
    }
}
