/* lora.c: merges an adapter into the weights of a model. An adapter is a
 * folder: adapter_config.json has the scale; adapter_model.safetensors has the
 * factors A [r, in] and B [out, r] of each matrix's low-rank update, and
 * tensors that replace those of the model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/merge.h"
#include "runtime/base/json.h"

enum { ConfigLimit = 1 << 20 };

typedef struct {
    const char *path;     /* path of adapter_config.json, for messages */
    double alpha;         /* lora_alpha, the numerator of the scale */
    bool by_root;         /* use_rslora: the scale is alpha / sqrt(r) instead of
                           * alpha / r */
    bool turned;          /* the model stores matrices as [in, out] */
    const json_t *alphas; /* lora_alpha of individual modules */
} Adapter;

typedef struct { /* the new value of one tensor */
    const Tensor *of;
    const float *a, *b; /* factors A [r, in] and B [out, r]; NULL: no update */
    int64_t r, in, out;
    double scale;
    bool turned; /* the tensor is [in, out] */
} Merged;

/* ---- config ---- */

static bool bad(const Adapter *l, Fault *why, const char *key, const char *what)
{
    return fault(why, ExitInput, "%s: '%s' %s", l->path, key, what);
}

/* Keys of adapters that compute more than W + s B A. */
static const char *const others[] = {
    "use_dora",          "lora_bias",
    "layer_replication", "use_qalora",
    "target_parameters", "trainable_token_indices",
    "megatron_config",   "alora_invocation_tokens",
    "arrow_config",      "use_bdlora",
    "kasa_config",       "monteclora_config",
};

static bool is_off(const json_t *v)
{
    return !v || json_is_null(v) || json_is_false(v)
        || (json_is_array(v) && json_array_size(v) == 0)
        || (json_is_object(v) && json_object_size(v) == 0);
}

static bool read_flag(const Adapter *l, const json_t *root, const char *key,
                      bool *to, Fault *why)
{
    const json_t *v = json_object_get(root, key);
    *to = json_is_true(v);
    return !v || json_is_boolean(v) || json_is_null(v)
        || bad(l, why, key, "is true or false");
}

static bool take_config(Adapter *l, const json_t *root, Fault *why)
{
    const char *type = json_string_value(json_object_get(root, "peft_type"));
    const json_t *alpha = json_object_get(root, "lora_alpha");

    if (!type || strcmp(type, "LORA"))
        return bad(l, why, "peft_type", "is LORA, the only one that is known");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!is_off(json_object_get(root, others[i])))
            return bad(l, why, others[i],
                       "is set: only adapters that add a product of two "
                       "matrices can be merged");
    if (!json_is_number(alpha) || !isfinite(json_number_value(alpha)))
        return bad(l, why, "lora_alpha", "is a number");
    l->alpha = json_number_value(alpha);
    l->alphas = json_object_get(root, "alpha_pattern");
    if (l->alphas && !json_is_object(l->alphas) && !json_is_null(l->alphas))
        return bad(l, why, "alpha_pattern", "maps modules to numbers");
    return read_flag(l, root, "use_rslora", &l->by_root, why)
        && read_flag(l, root, "fan_in_fan_out", &l->turned, why);
}

/* Reads adapter_config.json. The caller releases *root, which owns the
 * values. */
static bool read_adapter_config(Adapter *l, json_t **root, Fault *why)
{
    File f;
    json_error_t e;
    if (!file_read(&f, l->path, ConfigLimit, why))
        return false;
    const JsonText text = { l->path, (const char *)f.at, f.size, false, false };
    bool ok = json_read(root, &text, &e, why);
    file_close(&f);
    if (ok && !*root)
        ok = fault(why, ExitInput, "%s:%d:%d: %s", l->path, e.line, e.column,
                   e.text);
    if (ok && !json_is_object(*root))
        ok = fault(why, ExitInput, "%s: an object is expected", l->path);
    return ok && take_config(l, *root, why);
}

/* Returns true if the name is `module` or ends in ".module". */
static bool names_module(const char *name, const char *module)
{
    const size_t n = strlen(name), m = strlen(module);
    return n >= m && !strcmp(name + n - m, module)
        && (n == m || name[n - m - 1] == '.');
}

static bool alpha_of(const Adapter *l, const char *module, double *to,
                     Fault *why)
{
    const char *key;
    json_t *v;
    *to = l->alpha;
    json_object_foreach((json_t *)l->alphas, key, v)
    {
        if (strpbrk(key, "*+?()[]{}|^$\\"))
            return bad(l, why, "alpha_pattern",
                       "has a regular expression: only names of modules are "
                       "known");
        if (!json_is_number(v))
            return bad(l, why, "alpha_pattern", "maps modules to numbers");
        if (names_module(module, key)) {
            *to = json_number_value(v);
            break;
        }
    }
    return true;
}

/* ---- tensors ---- */

static bool stem_before(const char *text, const char *tail, size_t *stem)
{
    const size_t n = strlen(text), m = strlen(tail);
    *stem = n > m ? n - m : 0;
    return n > m && !strcmp(text + n - m, tail);
}

/* Returns the index of the model's tensor for a name in the adapter, or -1. One
 * of the names may lack the first segments of the other. */
static int find_tensor(const Safetensors *base, const char *name)
{
    for (const char *at = name; at; at = strchr(at, '.')) {
        at += *at == '.';
        for (int i = 0; i < safetensors_count(base); i++)
            if (!strcmp(safetensors_at(base, i)->name, at))
                return i;
    }
    for (int i = 0; i < safetensors_count(base); i++)
        if (names_module(safetensors_at(base, i)->name, name))
            return i;
    return -1;
}

typedef struct {
    Arena *arena;
    const Safetensors *base, *file; /* the model's weights; the adapter's */
    const Adapter *adapter;
    Merged *to; /* [tensors of the model]: the new values */
    Fault *why;
} Merge;

static bool wrong_tensor(const Merge *m, const char *name, const char *what)
{
    return fault(m->why, ExitInput, "%s: tensor '%.120s': %s",
                 safetensors_path(m->file), name, what);
}

static const float *floats_of(Arena *a, const Tensor *t)
{
    float *to = arena_alloc(a, ((size_t)t->elements + 1) * sizeof *to);
    tensor_floats(t, 0, t->elements, to);
    return to;
}

/* Removes the segments that peft adds to a name: base_model.model. at the
 * start, and base_layer in a module that also has a low-rank update. */
static const char *own_name(Arena *a, const char *name)
{
    static const char prefix[] = "base_model.model.", inside[] = ".base_layer.";
    const size_t n = sizeof prefix - 1;
    if (!strncmp(name, prefix, n))
        name += n;
    const char *at = strstr(name, inside);
    return !at ? name
               : arena_printf(a, "%.*s.%s", (int)(at - name), name,
                              at + sizeof inside - 1);
}

static bool add_product(const Merge *m, const Tensor *a, const Tensor *b,
                        const char *module, bool embedding)
{
    const Adapter *l = m->adapter;
    const char *weight = arena_printf(m->arena, "%s.weight", module);
    const int at = find_tensor(m->base, weight);
    double alpha;
    if (at < 0)
        return wrong_tensor(m, a->name,
                            "is for a weight that the model does "
                            "not have");
    if (a->rank != 2 || !b || b->rank != 2 || b->dim[1] != a->dim[0]
        || a->dim[0] == 0 || a->type == StOther || b->type == StOther)
        return wrong_tensor(m, a->name, "is A [r, in] beside B [out, r]");
    Merged *to = &m->to[at];
    if (!alpha_of(l, module, &alpha, m->why))
        return false;
    to->turned = l->turned != embedding;
    to->r = a->dim[0];
    to->in = a->dim[1];
    to->out = b->dim[0];
    to->scale = alpha / (l->by_root ? sqrt((double)to->r) : (double)to->r);
    const Tensor *w = to->of;
    if (w->rank != 2 || w->dim[to->turned] != to->out
        || w->dim[!to->turned] != to->in)
        return wrong_tensor(m, a->name,
                            "does not fit the shape of the "
                            "model's weight");
    to->a = floats_of(m->arena, a);
    to->b = floats_of(m->arena, b);
    return true;
}

/* Replaces a tensor of the model with the adapter's. */
static bool replace(const Merge *m, const Tensor *t)
{
    const int at = find_tensor(m->base, own_name(m->arena, t->name));
    if (at < 0)
        return wrong_tensor(m, t->name,
                            "is for a weight that the model does "
                            "not have");
    const Tensor *old = m->to[at].of;
    if (t->type == StOther || t->rank != old->rank
        || memcmp(t->dim, old->dim, (size_t)t->rank * sizeof *t->dim))
        return wrong_tensor(m, t->name,
                            "does not fit the shape of the "
                            "model's weight");
    m->to[at].of = t;
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

static bool take_tensor(const Merge *m, const Tensor *t, bool whole)
{
    size_t stem;
    for (int p = 0; p < Pairs; p++) {
        if (stem_before(t->name, pairs[p].b, &stem))
            return true; /* B is handled together with its A */
        if (!stem_before(t->name, pairs[p].a, &stem))
            continue;
        const char *b = arena_printf(m->arena, "%.*s%s", (int)stem, t->name,
                                     pairs[p].b);
        const char *module = own_name(m->arena,
                                      arena_strndup(m->arena, t->name, stem));
        return whole
            || add_product(m, t, safetensors_find(m->file, b), module,
                           pairs[p].embedding);
    }
    if (strstr(t->name, ".lora_"))
        return wrong_tensor(m, t->name, "is of a form that cannot be merged");
    return !whole || replace(m, t);
}

/* Applies all tensors of the adapter: first the replacements, because updates
 * are added to them. */
static bool take_tensors(const Merge *m)
{
    for (int whole = 1; whole >= 0; whole--)
        for (int i = 0; i < safetensors_count(m->file); i++)
            if (!take_tensor(m, safetensors_at(m->file, i), whole))
                return false;
    return true;
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

bool merge_lora(Arena *a, const Safetensors *base, const char *adapter,
                const char *path, Fault *why)
{
    const int n = safetensors_count(base);
    Adapter l = { .path = arena_printf(a, "%s/adapter_config.json", adapter) };
    Merge m = { .arena = a,
                .base = base,
                .adapter = &l,
                .to = arena_alloc(a, ((size_t)n + 1) * sizeof *m.to),
                .why = why };
    json_t *root = NULL;
    Safetensors *file = NULL;
    for (int i = 0; i < n; i++)
        m.to[i].of = safetensors_at(base, i);
    bool ok = read_adapter_config(&l, &root, why);
    if (ok)
        file = safetensors_open(arena_printf(a, "%s/adapter_model.safetensors",
                                             adapter),
                                why);
    m.file = file;
    ok = file && take_tensors(&m) && write_merged(&m, path);
    safetensors_close(file);
    json_decref(root);
    return ok;
}
