/* oracle.c: runs the oracle on a sample with a model's own weights. */
#include <string.h>

#include "oracle/trial.h"

const double *oracle_widen(Arena *a, const float *x, int64_t n)
{
    double *d = arena_alloc(a, (size_t)n * sizeof *d);
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)x[i];
    return d;
}

/* Returns a matrix of integers, each multiplied by the scale of its column,
 * which is exact in double. */
static const double *load_integers(Weights *w, const PackItem *item)
{
    Arena *a = arena_new();
    const int64_t size = item->rows * item->k;
    int8_t *q = arena_alloc(a, (size_t)size);
    float *scale = arena_alloc(a, (size_t)item->rows * sizeof *scale);
    double *d = arena_alloc(w->arena, (size_t)size * sizeof *d);
    weights_integers(item, w->engine->file, w->engine->options.seed, q, scale);
    for (int64_t i = 0; i < size; i++)
        d[i] = q[i] * (double)scale[i / item->k];
    arena_free(a);
    return d;
}

static const double *load(Weights *w, const PackItem *item)
{
    Arena *a = arena_new();
    PackItem plain = *item;
    int64_t size = item->rows * item->k;
    float *f = arena_alloc(a, (size_t)size * sizeof *f);
    if (w->f32)
        plain.dtype = DtypeF32;
    weights_tensor(&plain, w->engine->file, w->engine->options.seed, f);
    const double *x = oracle_widen(w->arena, f, size);
    arena_free(a);
    return x;
}

static const double *tensor_of(Weights *w, const char *ours)
{
    const PackList *p = &w->engine->plan->pack;
    const char *name = spec_packed_name(w->arena, w->g->spec, ours);
    const int i = index_find(&w->items, name);
    if (i < 0)
        die("oracle: no weights are packed for %s", name);
    if (!w->tensor[i])
        w->tensor[i] = dtype_is_integer(p->item[i].dtype) && !w->f32
                         ? load_integers(w, &p->item[i])
                         : load(w, &p->item[i]);
    return w->tensor[i];
}

/* Returns the value of a Weight node: one tensor, or several concatenated. */
static const double *weight_of(void *user, int node)
{
    Weights *w = user;
    const Node *n = &w->g->nodes.at[node];
    int64_t size = 1;
    if (!n->parts)
        return tensor_of(w, n->name);
    for (int i = 1; i < n->type.rank; i++)
        size *= n->type.dim[i].c;
    double *all = arena_alloc(w->arena,
                              (size_t)(n->parts * size) * sizeof *all);
    for (int64_t e = 0; e < n->parts; e++)
        memcpy(all + e * size, tensor_of(w, weight_part(w->arena, n, e)),
               (size_t)size * sizeof *all);
    return all;
}

static void open_weights(Weights *w, const Engine *e, const Graph *g, bool f32)
{
    *w = (Weights){ .engine = e, .arena = arena_new(), .g = g, .f32 = f32 };
    size_t count = (size_t)e->plan->pack.count;
    w->tensor = arena_alloc(w->arena, count * sizeof *w->tensor);
    for (size_t i = 0; i < count; i++)
        if (e->plan->pack.item[i].name)
            index_add(w->arena, &w->items, e->plan->pack.item[i].name, (int)i);
    Interp in = { .g = g, .weight = weight_of, .user = w, .arena = w->arena };
    interp_run(&in, EntryNone);
    w->constant = in.value;
}

void weights_open(Weights *w, const Engine *e, const Graph *g)
{
    open_weights(w, e, g, false);
}

void weights_open_f32(Weights *w, const Engine *e, const Graph *g)
{
    open_weights(w, e, g, true);
}

void weights_close(Weights *w)
{
    arena_free(w->arena);
    *w = (Weights){ 0 };
}

static int64_t length_of(const Sample *x, int side, int64_t i)
{
    return x->start[side][i + 1] - x->start[side][i];
}

static const int32_t *counting(Arena *a, int64_t n)
{
    int32_t *x = arena_alloc(a, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)i;
    return x;
}

static const Entry entry_of[2] = { EntryEncode, EntryDecode }; /* indexed by
                                                                * side */

void oracle_open(Interp *in, Arena *a, Weights *w, const Sample *x,
                 int64_t sequence)
{
    const Spec *s = w->g->spec;
    int64_t n = length_of(x, 0, sequence), t = length_of(x, 1, sequence);
    size_t nodes = (size_t)w->g->nodes.n;
    *in = (Interp){ .g = w->g, .weight = weight_of, .user = w, .arena = a };
    in->value = arena_alloc(a, nodes * sizeof *in->value);
    memcpy(in->value, w->constant, nodes * sizeof *in->value);
    in->length[SymN] = n;
    in->length[SymT] = in->length[SymPT] = in->length[SymR] = t;
    in->length[SymM] = t;
    in->select = counting(a, t);
    in->prefix = x->prefix;
    const Sample *one = sample_one(a, s, x, sequence);
    int first = input_side(s);
    for (int side = 0; side < 2; side++)
        in->ids[entry_of[side]] = one->ids[side];
    in->types[entry_of[first]] = one->types;
    bool attention = s->kind == KindAttention;
    for (int i = 0; attention && i < 3; i++)
        in->rows[i] = oracle_widen(a, one->rows[i],
                                   (i > 0 ? t : n) * s->d_model);
    if (!attention && one->rows[0])
        in->rows[0] = oracle_widen(a, one->rows[0],
                                   (first ? t : n) * s->input_width);
}

const double *oracle_result(Interp *in)
{
    interp_run(in, EntryEncode);
    interp_run(in, EntryDecode);
    return in->value[graph_result(in->g)];
}
