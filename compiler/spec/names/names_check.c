/* names_check.c: checks `names` against the model's weights. Every row of
 * `names` and every key of `dtype` must apply to a weight, and no two weights
 * may have the same elements of the file. Matrices that share a tensor must be
 * tied (embedding.tie), which makes them one weight. */
#include <stdlib.h>
#include <string.h>

#include "spec/fields/fields.h"

static const Pos nowhere;

typedef struct {
    Arena *arena;
    const Spec *spec;
    const WeightName *weight; /* the model's weights */
    int n;
} WeightNames;

typedef struct { /* a row of `names` or a key of `dtype` */
    const char *ours;
    Pos key;
} NamedRow;

/* ---- rows ---- */
static void mark_rows(const Spec *s, const char *weight, bool *used)
{
    NameMatch m;

    for (NameWay way = WayTensor; way < NameWays; way++) {
        const SpecName *n = names_find(s, weight, way, &m);
        if (n)
            used[n - s->names.at] = true;
    }
}

/* Returns the beginning of a weight's name with the same number of segments as
 * `row`, and with {i} if `row` has it there. Returns NULL if only one of the
 * two has a layer number in some segment. */
static const char *row_beginning(Arena *a, const char *row, const char *weight)
{
    char *name = arena_strdup(a, "");
    const char *dot = "";

    for (; *row && *weight; dot = ".") {
        size_t r = strcspn(row, "."), w = strcspn(weight, ".");
        bool hole = r == 3 && *row == '{';
        if (names_digits(weight, w) != (hole || names_digits(row, r)))
            return NULL;
        name = arena_printf(a, "%s%s%.*s", name, dot, hole ? 3 : (int)w,
                            hole ? row : weight);
        row += r + (row[r] == '.');
        weight += w + (weight[w] == '.');
    }
    return name;
}

/* Returns the weight name most similar to the row, or NULL. Searches only the
 * first layers, because later layers have the same names. */
static const char *nearest_weight(const WeightNames *m, const char *row)
{
    VEC(const char *) names = { 0 };

    for (int i = 0; i < m->n; i++) {
        const WeightName *w = &m->weight[i];
        const char *name = w->layer <= 0 ? row_beginning(m->arena, row, w->name)
                                         : NULL;
        if (name)
            vec_push(m->arena, &names, name);
    }
    return nearest(row, names.at, names.n);
}

static bool begins_weight(const WeightNames *m, const char *row)
{
    NameMatch match;

    for (int i = 0; i < m->n; i++)
        if (names_match(row, m->weight[i].name, &match))
            return true;
    return false;
}

/* True if the row names a matrix that is tied to another one. */
static bool tied(const Spec *s, const char *row)
{
    static const struct {
        const char *name;
        int tie;
    } ends[] = {
        { "source", TieSource },
        { "target", TieTarget },
        { "logits", TieLogits },
    };
    NameMatch m;

    for (int i = 0; i < 3; i++)
        if (s->embed_tie & ends[i].tie && names_match(ends[i].name, row, &m))
            return true;
    return false;
}

static void idle_row(const WeightNames *m, const char *thing, const NamedRow *n)
{
    if (begins_weight(m, n->ours)) {
        error_at(n->key,
                 "'%s' has no effect: rows with longer names cover all of "
                 "its weights",
                 quote(n->ours));
        note_at(nowhere, "leave this row out, or the longer ones");
        return;
    }
    const char *near = nearest_weight(m, n->ours);
    error_at(n->key, "no name of %s in this model begins with '%s'", thing,
             quote(n->ours));
    if (tied(m->spec, n->ours))
        note_at(spec_pos(m->spec, "embedding.tie"),
                "leave this row out: embedding.tie makes it one tensor with "
                "others");
    else if (near)
        note_at(nowhere, "did you mean '%s'?", near);
    else
        note_at(nowhere, "leave this row out; `attnc tensors` lists the "
                         "names");
}

/* True if --set changed any field after the row was written; the row may then
 * no longer apply. */
static bool overridden(const Spec *s, const NamedRow *n)
{
    for (int i = 0; i < n_fields; i++)
        if (s->field_pos[i].src && s->field_pos[i].src->rank > n->key.src->rank)
            return true;
    return false;
}

/* Reports rows that apply to nothing in the model. `what` names the rows in the
 * plural ("rows of names"), `thing` names what each should apply to ("a
 * weight"). Rows from an extended spec are exempt, because they may be for
 * another model. */
static void check_idle(const WeightNames *m, const char *what,
                       const char *thing, const NamedRow *row, int n)
{
    const Spec *s = m->spec;
    const NamedRow *first = NULL;
    int idle = 0;

    for (int i = 0; i < n; i++) {
        if (row[i].key.src->rank < s->top.src->rank)
            continue;
        if (overridden(s, &row[i]))
            first = idle++ ? first : &row[i];
        else
            idle_row(m, thing, &row[i]);
    }
    if (first)
        warning_at(first->key,
                   "--set leaves %d %s without effect; this is the first", idle,
                   what);
}

static void check_name_rows(const WeightNames *m)
{
    const Spec *s = m->spec;
    bool *used = arena_alloc(m->arena, (size_t)s->names.n);
    VEC(NamedRow) idle = { 0 };

    for (int i = 0; i < m->n; i++)
        mark_rows(s, m->weight[i].name, used);
    for (int i = 0; i < s->names.n; i++)
        if (!used[i])
            vec_push(m->arena, &idle,
                     ((NamedRow){ s->names.at[i].ours, s->names.at[i].key }));
    check_idle(m, "rows of names", "a weight", idle.at, idle.n);
}

/* ---- elements ---- */
typedef struct { /* the location of a weight's elements */
    const char *weight;
    const WeightName *of;
    const SpecName *row; /* NULL: the file uses the canonical name */
    FileTensor from;
} Origin;

static int by_origin(const void *a, const void *b)
{
    const Origin *x = a, *y = b;
    int order = strcmp(x->from.name, y->from.name);

    if (order)
        return order;
    if (x->from.slice != y->from.slice)
        return x->from.slice < y->from.slice ? -1 : 1;
    if (x->from.first != y->from.first)
        return x->from.first < y->from.first ? -1 : 1;
    return strcmp(x->weight, y->weight);
}

/* True if the same row maps both weights to one tensor on purpose, because it
 * maps all layers to it. */
static bool meant(const Origin *x, const Origin *y)
{
    return x->row == y->row && names_one_tensor(x->row)
        && x->from.first == y->from.first && x->from.slice == y->from.slice;
}

/* True if two slices of a tensor, sorted by position, may overlap. Slices with
 * different layouts count as overlapping. */
static bool overlap(const FileTensor *x, const FileTensor *y)
{
    if (x->slices && x->slices == y->slices && x->slice != y->slice)
        return false;
    return !x->groups || x->groups != y->groups || x->stride != y->stride
        || x->by_columns != y->by_columns || x->transposed != y->transposed
        || y->first < x->first + x->take;
}

static void same_elements(const Origin *x, const Origin *y)
{
    const Origin *at = y->row ? y : x, *other = y->row ? x : y;
    bool apart = other->row
              && (at->row->key.src != other->row->key.src
                  || at->row->key.line != other->row->key.line);

    error_at(at->row->key, "'%s' would use the same elements of '%s' as '%s'",
             quote(at->weight), quote(at->from.name), quote(other->weight));
    note_at(apart ? other->row->key : nowhere,
            "name another tensor; to share a matrix, use embedding.tie");
}

static const char *shape_text(Arena *a, const WeightName *w)
{
    const char *s = "[";
    for (int i = 0; i < w->rank; i++)
        s = arena_printf(a, "%s%s%lld", s, i ? ", " : "", (long long)w->dim[i]);
    return arena_printf(a, "%s]", s);
}

static bool same_shape(const WeightName *x, const WeightName *y)
{
    return x->rank == y->rank
        && memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) == 0;
}

/* Reports two layers of different shapes that share one tensor. */
static void other_shape(Arena *a, const Origin *x, const Origin *y)
{
    error_at(x->row->key,
             "'%s' would be both '%s' and '%s', which is %s, not %s",
             quote(x->from.name), quote(x->weight), quote(y->weight),
             shape_text(a, y->of), shape_text(a, x->of));
    note_at(nowhere,
            "layers of different sizes need different tensors: add {i} to "
            "the tensor's name");
}

static void check_origins(const WeightNames *m, const Origin *at, int n)
{
    const SpecName *rows = m->spec->names.at;
    bool *reported = arena_alloc(m->arena, (size_t)m->spec->names.n);

    for (int i = 1; i < n; i++) {
        const Origin *x = &at[i - 1], *y = &at[i];
        const SpecName *row = y->row ? y->row : x->row;
        const bool shared = meant(x, y);
        if (strcmp(x->from.name, y->from.name) || reported[row - rows]
            || (shared ? same_shape(x->of, y->of)
                       : !overlap(&x->from, &y->from)))
            continue;
        reported[row - rows] = true;
        if (shared)
            other_shape(m->arena, x, y);
        else
            same_elements(x, y);
    }
}

static void check_elements(const WeightNames *m)
{
    const Spec *s = m->spec;
    VEC(Origin) all = { 0 };

    for (int i = 0; i < m->n; i++) {
        Origin o = { .weight = m->weight[i].name, .of = &m->weight[i] };
        o.row = names_find(s, o.weight, WayTensor, &(NameMatch){ 0 });
        if (spec_file_tensor(m->arena, s, o.weight, &o.from) && o.from.name)
            vec_push(m->arena, &all, o);
    }
    if (all.n)
        qsort(all.at, (size_t)all.n, sizeof *all.at, by_origin);
    check_origins(m, all.at, all.n);
}

/* ---- dtypes ---- */

/* Returns the matrices and, as names for the keys of `dtype`, the two that
 * stand for all look-up tables and for all matrices that compute logits. */
static WeightNames matrices_of(const WeightNames *all)
{
    VEC(WeightName) list = { 0 };

    for (int i = 0; i < all->n; i++) {
        const WeightName *w = &all->weight[i];
        if (w->readers)
            vec_push(all->arena, &list, *w);
        if (w->readers & ReadByLookUp)
            vec_push(all->arena, &list,
                     ((WeightName){ .name = dtype_embedding, .layer = -1 }));
        if (w->readers & ReadByLogits)
            vec_push(all->arena, &list,
                     ((WeightName){ .name = dtype_logits, .layer = -1 }));
    }
    return (WeightNames){ all->arena, all->spec, list.at, list.n };
}

/* Reports a tied table with two different dtypes. */
static void check_tied(const Spec *s, const WeightName *w)
{
    const DtypeRows by_name = dtype_rows(&s->dtype, w->name, w->readers);

    if (!by_name.here || !by_name.logits
        || by_name.here->dtype == by_name.logits->dtype)
        return;
    error_at(by_name.logits->pos,
             "'%s' is %s here, but '%s' is %s, and they are one table",
             quote(by_name.logits->key), dtype_word[by_name.logits->dtype],
             quote(by_name.here->key), dtype_word[by_name.here->dtype]);
    note_at(by_name.here->pos,
            "leave one out: embedding.tie applies it to both; the other is "
            "here");
}

static void check_dtypes(const WeightNames *all)
{
    const Spec *s = all->spec;
    const WeightNames m = matrices_of(all);
    VEC(NamedRow) idle = { 0 };

    for (int i = 0; i < s->dtype.n; i++)
        if (!begins_weight(&m, s->dtype.at[i].key))
            vec_push(m.arena, &idle,
                     ((NamedRow){ s->dtype.at[i].key, s->dtype.at[i].pos }));
    check_idle(&m, "keys of dtype", "a matrix", idle.at, idle.n);
    for (int i = 0; i < m.n; i++)
        check_tied(s, &m.weight[i]);
}

bool spec_names_fit(Arena *a, const Spec *s, const WeightName *weights, int n)
{
    int errors = error_count();
    const WeightNames m = { a, s, weights, n };

    errors_hold();
    if (s->names.n) { /* without rows of `names`, all names differ */
        check_name_rows(&m);
        check_elements(&m);
    }
    check_dtypes(&m);
    errors_release();
    return error_count() == errors;
}
