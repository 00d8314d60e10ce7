/* weight_slices.c: rows of `names` that say more than a name: tensors of the
 * file that hold several of ours, that are turned, that are not there. From
 * these rows, where in the file the elements of one of our tensors are.     */
#include <string.h>

#include "spec/fields.h"

enum { MostParts = 64, MostGroups = 1 << 20 };

/* ------------------------------------------------------------- sizes --- */
/* The products of a layer, which alone share tensors. */
static const char *const products[] = {
    "q", "k", "v", "o", "w1", "w2", "w3"
};
enum { Products = sizeof products / sizeof *products };

static int product_of(const char *name)
{
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    int i = 0;

    while (i < Products && strcmp(products[i], last))
        i++;
    return i;
}

static const SpecSide *side_of(const Spec *s, const char *name)
{
    bool decoder = !strncmp(name, "decoder.", 8);
    return &s->side[decoder ? SideDecoder : SideEncoder];
}

static int64_t size_of(const Spec *s, const char *name, bool columns)
{
    const SpecSide *p = side_of(s, name);
    const int64_t size[Products][2] = {      /* rows, columns */
        { p->h * p->d_k, s->d_model }, { p->h_kv * p->d_k, s->d_model },
        { p->h_kv * p->d_v, s->d_model }, { s->d_model, p->h * p->d_v },
        { p->d_ff, s->d_model }, { s->d_model, p->d_ff },
        { p->d_ff, s->d_model },
    };
    return size[product_of(name)][columns];
}

/* ------------------------------------------------------------ reading --- */
static const char wants[] =
    "a name, or a map of tensor, rows or columns, groups, transpose, fill";

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

/* Parts are named from the row's own name on: [q, k, v] of self_attn. */
static bool read_list(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    if (n->nparts)
        return refuse(v, "rows or columns, not both");
    if (v->kind != YamlList || v->items.n < 2 || v->items.n > MostParts)
        return refuse(v, "parts are a list of 2 names or more, as [q, k, v]");
    const char **part = arena_alloc(a, (size_t)v->items.n * sizeof *part);
    for (int i = 0; i < v->items.n; i++) {
        const Yaml *item = v->items.at[i];
        if (item->kind != YamlScalar || !*item->text)
            return refuse(item, "a part is the name of a weight");
        part[i] = arena_printf(a, "%s.%s", ours->text, item->text);
        if (product_of(part[i]) == Products)
            return refuse(item, "only q, k, v, o, w1, w2 and w3 share "
                          "tensors");
        for (int j = 0; j < i; j++)
            if (!strcmp(part[j], part[i]))
                return refuse(item, "this part is there twice");
    }
    n->parts = part;
    n->nparts = v->items.n;
    return true;
}

static bool read_columns(Arena *a, const Yaml *ours, SpecName *n,
                         const Yaml *v)
{
    n->by_columns = true;
    return read_list(a, ours, n, v);
}

static bool read_groups(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    bool plain = v->kind == YamlScalar && !v->quoted;

    (void)a, (void)ours;
    if (plain && !strcmp(v->text, "heads")) {
        n->groups = 0;
        return true;
    }
    return (plain && parse_int(v->text, &n->groups) && n->groups > 0 &&
            n->groups <= MostGroups) ||
           refuse(v, "groups must be `heads`, or an integer from 1 to "
                  "1048576");
}

static bool read_turn(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    bool plain = v->kind == YamlScalar && !v->quoted;

    (void)a, (void)ours;
    n->transpose = plain && !strcmp(v->text, "true");
    return n->transpose || (plain && !strcmp(v->text, "false")) ||
           refuse(v, "transpose must be true or false");
}

static bool read_fill(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v)
{
    (void)a, (void)ours;
    n->filled = true;
    return (v->kind == YamlScalar && !v->quoted &&
            parse_real(v->text, &n->fill) && n->fill >= -1e6 &&
            n->fill <= 1e6) ||
           refuse(v, "fill must be a number from -1000000 to 1000000");
}

static const struct {
    const char *key;
    bool (*read)(Arena *a, const Yaml *ours, SpecName *n, const Yaml *v);
} keys[] = {
    { "tensor", read_tensor }, { "rows", read_list },
    { "columns", read_columns }, { "groups", read_groups },
    { "transpose", read_turn }, { "fill", read_fill },
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

bool share_read(Arena *a, const Yaml *ours, const Yaml *map, SpecName *n)
{
    *n = (SpecName){ .ours = ours->text, .key = ours->pos, .pos = map->pos,
                     .transpose = -1, .groups = 1 };
    for (int i = 0; i < map->keys.n; i++)
        if (!read_key(a, ours, n, map->keys.at[i], map->items.at[i]))
            return false;
    if (n->filled && (n->theirs || n->nparts || n->transpose >= 0))
        return refuse(map, "what is filled is not in the file: fill stands "
                      "alone");
    if (!n->theirs && (n->nparts || n->groups != 1))
        return refuse(map, "rows, columns and groups need the tensor that "
                      "they are of");
    if (n->groups != 1 && !n->nparts)
        return refuse(map, "groups need rows or columns");
    if (n->theirs || n->filled || n->transpose >= 0)
        return true;
    error_at(map->pos, "this row says nothing");
    note_at((Pos){ 0 }, "a row of names is %s", wants);
    return false;
}

/* ------------------------------------------------------------- shares --- */
/* What a part has in one group of the file's tensor; -1 after an error has been
 * reported. A side that is absent has sizes of 0.                           */
static int64_t share_of(const Spec *s, const SpecName *n, const char *part,
                        int64_t groups)
{
    int64_t all = size_of(s, part, n->by_columns);

    if (all % groups == 0)
        return all / groups;
    error_at(n->pos, "%lld groups cannot share the %lld %s of '%s'",
             (long long)groups, (long long)all,
             n->by_columns ? "columns" : "rows", quote(part));
    return -1;
}

bool share_fits(const Spec *s, const SpecName *n, FileTensor *out)
{
    out->by_columns = n->by_columns;
    out->groups = n->groups ? n->groups : side_of(s, n->ours)->h_kv;
    if (out->groups < 1)
        out->groups = 1;
    out->stride = 0;
    for (int i = 0; i < n->nparts; i++) {
        int64_t share = share_of(s, n, n->parts[i], out->groups);
        if (share < 0)
            return false;
        if (!strcmp(n->parts[i], n->ours)) {
            out->first = out->stride;
            out->take = share;
        }
        out->stride += share;
    }
    out->total = out->groups * out->stride;
    return true;
}

bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out)
{
    NameMatch m;
    const SpecName *n = names_find(s, ours, false, &m);
    const SpecName *turn = names_find(s, ours, true, &(NameMatch){ 0 });
    const char *dot = strrchr(ours, '.');
    bool bias = dot && !strcmp(dot, ".bias");

    *out = (FileTensor){ .transposed = turn && turn->transpose && !bias };
    if (n && n->filled) {
        out->fill = n->fill;
        return true;
    }
    out->name = spec_file_name(a, s, ours);
    if (!n || !n->nparts || (bias && n->by_columns))
        return true;
    return share_fits(s, n, out);
}
