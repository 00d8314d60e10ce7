/* lora.c: merges an adapter into the weights of a model. An adapter is a
 * folder: adapter_config.json has the scale; adapter_model.safetensors has the
 * factors A [r, in] and B [out, r] of each matrix's low-rank update, and
 * tensors that replace those of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/lora.h"

typedef struct {
    Arena *arena;
    const Safetensors *base, *file; /* the model's weights; the adapter's */
    const TensorUse *use;           /* by tensor of `base` */
    Adapter adapter;
    struct Merged *to; /* [tensors of the model]: the new values */
    int table;         /* the tensor that the model ties; -1: none */
    /* tensors of the adapter for other names of this table, which the model
     * does not read */
    VEC(const Tensor *) alias;
    Fault *why;
} Merge;

typedef struct Merged { /* the new value of one tensor */
    const Merge *m;
    const Tensor *of;
    const float *a, *b; /* factors A [r, in] and B [out, r]; NULL: no update */
    int64_t r, in, out;
    double scale;
    bool turned;   /* the tensor is [in, out] */
    bool replaced; /* `of` is the adapter's */
} Merged;

static bool wrong_tensor(const Merge *m, const char *name, const char *what)
{
    return fault(m->why, ExitInput, "%s: tensor '%.120s': %s",
                 safetensors_path(m->file), name, what);
}

/* ---- names ---- */

static bool stem_before(const char *text, const char *tail, size_t *stem)
{
    const size_t n = strlen(text), m = strlen(tail);
    *stem = n > m ? n - m : 0;
    return n > m && !strcmp(text + n - m, tail);
}

static int tensor_named(const Safetensors *s, const char *name)
{
    const Tensor *t = safetensors_find(s, name);
    return t ? (int)(t - safetensors_at(s, 0)) : -1;
}

int adapter_finds(const Safetensors *base, const char *name)
{
    const char *dot = strchr(name, '.');
    int found = tensor_named(base, name);
    if (found < 0 && dot)
        found = tensor_named(base, dot + 1);
    for (int i = 0, n = found < 0 ? safetensors_count(base) : 0; i < n; i++) {
        const char *rest = strchr(safetensors_at(base, i)->name, '.');
        if (!rest || strcmp(rest + 1, name))
            continue;
        if (found >= 0)
            return -1; /* two parts of the model have this name */
        found = i;
    }
    return found;
}

const char *adapter_name(Arena *a, const char *name)
{
    static const char prefix[] = "base_model.model.";
    static const char *const inside[] = { ".base_layer.",
                                          ".modules_to_save.default.",
                                          ".modules_to_save." };
    const size_t n = sizeof prefix - 1;
    if (!strncmp(name, prefix, n))
        name += n;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        const char *at = strstr(name, inside[i]);
        if (at)
            name = arena_printf(a, "%.*s.%s", (int)(at - name), name,
                                at + strlen(inside[i]));
    }
    return name;
}

/* ---- tied tables ---- */

static const Tensor *table_of(const Merge *m)
{
    return m->table < 0 ? NULL : safetensors_at(m->base, m->table);
}

/* Returns true if tensor `at` of the model, -1 if it has none, is another name
 * of the tied table or belongs to it, as a bias of the output does: the model
 * does not read it, and it has a row for each token. */
static bool is_alias(const Merge *m, int at, const Tensor *t)
{
    const Tensor *table = table_of(m);
    return table && (at < 0 || !m->use[at].used) && t->rank > 0 && t->rank < 3
        && t->dim[0] == table->dim[0]
        && (t->rank == 1 || t->dim[1] == table->dim[1]);
}

bool same_values(const Tensor *x, const Tensor *y)
{
    float a[512], b[512];
    const int64_t most = sizeof a / sizeof *a;
    if (x == y)
        return true;
    if (x->rank != y->rank || x->elements != y->elements)
        return false;
    for (int64_t at = 0, n; at < x->elements; at += n) {
        n = x->elements - at < most ? x->elements - at : most;
        tensor_floats(x, at, n, a);
        tensor_floats(y, at, n, b);
        for (int64_t i = 0; i < n; i++)
            if (a[i] != b[i])
                return false;
    }
    return true;
}

static bool unties(Merge *m, const char *name)
{
    m->adapter.note =
        "in Python, load the model with tie_word_embeddings=False and a copy "
        "of the table as the output's weight, merge the adapter there, save "
        "the model, and import its folder";
    return wrong_tensor(m, name,
                        arena_printf(m->arena,
                                     "would untie '%.120s', one table for the "
                                     "model's input and output",
                                     table_of(m)->name));
}

/* Returns true if the model reads the same values under the name that it
 * uses. */
static bool is_read(const Merge *m, const Tensor *alias)
{
    if (alias->rank == 2)
        return same_values(alias, m->to[m->table].of);
    for (int i = 0; i < safetensors_count(m->base); i++)
        if (m->use[i].used && same_values(alias, m->to[i].of))
            return true;
    return false;
}

/* Checks that the tied table and its other names still have the same values.
 * In peft a replaced module is a tensor of its own. */
static bool check_ties(Merge *m)
{
    if (m->table < 0)
        return true;
    const Tensor *before = table_of(m), *now = m->to[m->table].of;
    bool other = false;
    for (int i = 0; i < m->alias.n; i++) {
        if (!is_read(m, m->alias.at[i]))
            return unties(m, m->alias.at[i]->name);
        other = other || m->alias.at[i]->rank == 2;
    }
    return other || same_values(before, now) || unties(m, now->name);
}

/* ---- tensors ---- */

static const float *floats_of(Arena *a, const Tensor *t)
{
    float *to = arena_alloc(a, ((size_t)t->elements + 1) * sizeof *to);
    tensor_floats(t, 0, t->elements, to);
    return to;
}

static bool is_factor(const Tensor *t)
{
    return t && t->rank == 2 && t->type != StOther;
}

static bool add_product(Merge *m, const Tensor *a, const Tensor *b,
                        const char *module, bool embedding)
{
    const int at = adapter_finds(m->base,
                                 arena_printf(m->arena, "%s.weight", module));
    if (!is_factor(a) || !is_factor(b) || b->dim[1] != a->dim[0]
        || a->dim[0] == 0)
        return wrong_tensor(m, a->name, "is A [r, in] beside B [out, r]");
    const Tensor w = { .rank = 2,
                       .dim = { embedding ? a->dim[1] : b->dim[0],
                                embedding ? b->dim[0] : a->dim[1] } };
    if ((at >= 0 && m->use[at].tied) || is_alias(m, at, &w))
        return unties(m, a->name);
    if (at < 0)
        return wrong_tensor(m, a->name,
                            "is for a weight that the model does "
                            "not have");
    Merged *to = &m->to[at];
    if (to->a)
        return wrong_tensor(m, a->name, "updates a weight a second time");
    to->turned = embedding || m->use[at].turned;
    to->r = a->dim[0];
    to->in = a->dim[1];
    to->out = b->dim[0];
    if (to->of->rank != 2 || to->of->dim[to->turned] != to->out
        || to->of->dim[!to->turned] != to->in)
        return wrong_tensor(m, a->name,
                            "does not fit the shape of the "
                            "model's weight");
    to->a = floats_of(m->arena, a);
    to->b = floats_of(m->arena, b);
    return adapter_scale(&m->adapter, module, to->r, &to->scale, m->why);
}

/* Replaces a tensor of the model with the adapter's. */
static bool replace(Merge *m, const Tensor *t)
{
    const int at = adapter_finds(m->base, adapter_name(m->arena, t->name));
    const bool alias = is_alias(m, at, t);
    if (t->type == StOther)
        return wrong_tensor(m, t->name, "is of a type that is not read");
    if (alias)
        vec_push(m->arena, &m->alias, t);
    if (at < 0)
        return alias
            || wrong_tensor(m, t->name,
                            "is for a weight that the model does "
                            "not have");
    const Tensor *old = m->to[at].of;
    if (t->rank != old->rank
        || memcmp(t->dim, old->dim, (size_t)t->rank * sizeof *t->dim))
        return wrong_tensor(m, t->name,
                            "does not fit the shape of the "
                            "model's weight");
    if (m->to[at].replaced && !same_values(t, old))
        return wrong_tensor(m, t->name, "replaces a weight a second time");
    m->to[at].of = t;
    m->to[at].replaced = true;
    return true;
}

static const struct {
    const char *a, *b;
    bool embedding;
} pairs[] = {
    { ".lora_A.weight", ".lora_B.weight", false },
    { ".lora_embedding_A", ".lora_embedding_B", true },
};
enum { Pairs = sizeof pairs / sizeof *pairs };

static const Tensor *partner(const Merge *m, const Tensor *t, size_t stem,
                             const char *end)
{
    return safetensors_find(m->file, arena_printf(m->arena, "%.*s%s", (int)stem,
                                                  t->name, end));
}

static bool take_tensor(Merge *m, const Tensor *t, bool whole)
{
    size_t stem;
    for (int p = 0; p < Pairs; p++) {
        if (stem_before(t->name, pairs[p].b, &stem)) /* taken with its A */
            return partner(m, t, stem, pairs[p].a)
                || wrong_tensor(m, t->name, "has no A beside it");
        if (!stem_before(t->name, pairs[p].a, &stem))
            continue;
        const char *module = adapter_name(m->arena,
                                          arena_strndup(m->arena, t->name,
                                                        stem));
        return whole
            || add_product(m, t, partner(m, t, stem, pairs[p].b), module,
                           pairs[p].embedding);
    }
    if (strstr(t->name, ".original_module.")) /* the model's, replaced */
        return true;
    if (strstr(t->name, ".lora_"))
        return wrong_tensor(m, t->name, "is of a form that cannot be merged");
    return !whole || replace(m, t);
}

/* Applies all tensors of the adapter: first the replacements, because updates
 * are added to them. */
static bool take_tensors(Merge *m)
{
    for (int whole = 1; whole >= 0; whole--)
        for (int i = 0; i < safetensors_count(m->file); i++)
            if (!take_tensor(m, safetensors_at(m->file, i), whole))
                return false;
    return check_ties(m);
}

/* ---- writing ---- */

/* Adds scale B A to n elements of a row, starting at `column`. */
static void add_row(const Merged *m, int64_t row, int64_t column, int64_t n,
                    double *sum)
{
    for (int64_t k = 0; k < m->r; k++) {
        const float *x = m->a + k * m->in + column;
        if (!m->turned) {
            const double b = m->scale * (double)m->b[row * m->r + k];
            for (int64_t i = 0; i < n; i++)
                sum[i] += b * (double)x[i];
        } else {
            const double a = m->scale * (double)m->a[k * m->in + row];
            for (int64_t i = 0; i < n; i++)
                sum[i] += a * (double)m->b[(column + i) * m->r + k];
        }
    }
}

static bool fill_merged(void *with, int64_t first, int64_t n, float *out)
{
    const Merged *m = with;
    double sum[512];
    const int64_t most = sizeof sum / sizeof *sum;

    tensor_floats(m->of, first, n, out);
    const int64_t width = m->turned ? m->out : m->in;
    for (int64_t at = 0, some; m->a && at < n; at += some) {
        const int64_t row = (first + at) / width;
        const int64_t column = (first + at) % width;
        some = n - at < width - column ? n - at : width - column;
        some = some < most ? some : most;
        for (int64_t i = 0; i < some; i++)
            sum[i] = (double)out[at + i];
        add_row(m, row, column, some, sum);
        for (int64_t i = 0; i < some; i++)
            out[at + i] = (float)sum[i];
    }
    for (int64_t i = 0; (m->a || m->replaced) && i < n; i++)
        if (!isfinite(out[i]))
            return fault(m->m->why, ExitInput,
                         "%s: gives tensor '%.120s' a value that is not finite",
                         safetensors_path(m->m->file), m->of->name);
    return true;
}

static bool write_merged(const Merge *m, const char *path)
{
    VEC(TensorOut) out = { 0 };
    for (int i = 0; i < safetensors_count(m->base); i++) {
        const Tensor *t = m->to[i].of;
        if (t->type == StOther || t->type == StI32 || t->type == StI64)
            continue;
        TensorOut to = { .name = safetensors_at(m->base, i)->name,
                         .rank = t->rank,
                         .fill = fill_merged,
                         .with = &m->to[i] };
        memcpy(to.dim, t->dim, sizeof to.dim);
        vec_push(m->arena, &out, to);
    }
    return safetensors_write(path, out.at, out.n, m->why);
}

bool merge_lora(LoraMerge *o, Fault *why)
{
    const int n = safetensors_count(o->base);
    Safetensors *file = NULL;
    Merge m = { .arena = o->arena,
                .base = o->base,
                .use = o->use,
                .to = arena_alloc(o->arena, ((size_t)n + 1) * sizeof *m.to),
                .table = -1,
                .why = why };
    for (int i = 0; i < n; i++) {
        m.to[i] = (Merged){ .m = &m, .of = safetensors_at(o->base, i) };
        if (o->use[i].tied)
            m.table = i;
    }
    bool ok = adapter_read(o->arena, &m.adapter, o->adapter, why);
    if (ok)
        file = safetensors_open(arena_printf(o->arena,
                                             "%s/adapter_model.safetensors",
                                             o->adapter),
                                why);
    m.file = file;
    ok = file && take_tensors(&m) && write_merged(&m, o->path);
    o->note = m.adapter.note;
    safetensors_close(file);
    json_decref(m.adapter.root);
    return ok;
}
