/* verify.c: compares a compiled model with the oracle, after a run on a sample:
 *   op by op    the compiled value of each node with the node evaluated in
 *               double on the inputs that the compiled code had
 *   end to end  the result with the result of the unfused graph in double */
#include "oracle/verify.h"

#include <math.h>

/* ---- by op ---- */

/* Evaluates the sequence without masks and activations, because these can
 * result in zeros. Returns the values, indexed by node. */
static const double **bare_values(Arena *a, Weights *w, const Sample *x,
                                  int64_t sequence)
{
    Graph bare = *w->g;
    Interp in;
    bare.nodes.at = arena_alloc(a,
                                (size_t)bare.nodes.n * sizeof *bare.nodes.at);
    for (int i = 0; i < bare.nodes.n; i++) {
        bare.nodes.at[i] = w->g->nodes.at[i];
        bare.nodes.at[i].mask = NULL;
        bare.nodes.at[i].act = ActNone;
    }
    oracle_open(&in, a, w, x, sequence);
    in.g = &bare;
    oracle_result(&in);
    return in.value;
}

/* Counts the zeros that result from masks and activations. Such a zero proves
 * something, because the number would not be 0 otherwise. */
static int64_t made_zeros(const double *want, const double *bare, int64_t n)
{
    int64_t made = 0;
    for (int64_t i = 0; i < n; i++)
        made += want[i] == 0 && bare[i] != 0;
    return made;
}

typedef struct { /* comparison of one sequence, op by op */
    OpResults *r;
    Weights *w;
    const Sample *x;
    int64_t sequence;
    Interp in;
    const double **bare; /* values without masks and activations; NULL until
                            needed */
} Ops;

/* Compares the value of one node, then replaces it with the compiled value, on
 * which later nodes are evaluated. */
static void check_node(Ops *o, int node, const double *got)
{
    Interp *in = &o->in;
    const Node *n = &in->g->nodes.at[node];
    OpResult *op = &o->r->op[n->op];
    const int64_t size = interp_size(in, node), before = op->c.zeros;
    double *tolerance = arena_alloc(in->arena,
                                    (size_t)size * sizeof *tolerance);
    interp_node(in, node);
    gate_node(in, node, in->value[node], tolerance);
    if (compare_values(&op->c, in->value[node], got, tolerance, size))
        op->worst = n->name;
    if (!is_conclusive(op->c.zeros - before, size)) {
        if (!o->bare)
            o->bare = bare_values(in->arena, o->w, o->x, o->sequence);
        op->c.zeros -= made_zeros(in->value[node], o->bare[node], size);
    }
    in->value[node] = got;
}

/* Returns the result rows of one sequence. */
static const float *result_of(const Spec *s, const Sample *x, int64_t sequence,
                              const float *out)
{
    return out + result_first(s, x, sequence) * result_columns(s);
}

void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out)
{
    const Graph *g = w->g;
    const Sample *x = t->sample;
    Arena *a = arena_new();
    Ops o = { .r = r, .w = w, .x = x, .sequence = sequence };
    oracle_open(&o.in, a, w, x, sequence);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op == OpNop || n->entry == EntryNone)
            continue;
        const int64_t size = interp_size(&o.in, i);
        double *got = arena_alloc(a, (size_t)size * sizeof *got);
        if (n->op == OpOutput)
            check_node(&o, i,
                       oracle_widen(a, result_of(g->spec, x, sequence, out),
                                    size));
        else if (op_info[n->op].op_class != ClassView
                 && trial_value(t, i, sequence, got))
            check_node(&o, i, got);
        else
            interp_node(&o.in, i);
    }
    arena_free(a);
}

/* ---- end to end ---- */

/* Keeps the worse of two comparisons: the one that failed, otherwise the one
 * with the larger max_error. Combines their other members. */
static void keep_worse(ModelComparison *worst, ModelComparison c)
{
    bool worse = worst->failed != c.failed
                   ? c.failed
                   : worst->count == 0 || !(c.max_error <= worst->max_error);
    ModelComparison both = worse ? c : *worst;
    both.nmse = fmax(worst->nmse, c.nmse);
    both.divergence = fmax(worst->divergence, c.divergence);
    both.count = worst->count + c.count;
    both.zeros = worst->zeros + c.zeros;
    *worst = both;
}

/* Returns the least precise weight format. int8 arithmetic and a cache in int8
 * count as int4 weights. */
static Dtype coarsest(const Graph *g)
{
    const bool rounds = g->spec->arithmetic == ArithmeticInt8
                     || g->spec->cache_store == StoreInt8;
    Dtype least = rounds ? DtypeInt4 : DtypeF32;
    if (g->spec->cache_store == StoreBf16 && least == DtypeF32)
        least = DtypeBf16;
    for (int i = 0; i < g->nodes.n; i++) {
        const Dtype d = elem_dtype(g->nodes.at[i].type.elem);
        least = rounding_gates[d].max_error > rounding_gates[least].max_error
                  ? d
                  : least;
    }
    return least;
}

/* Returns the arithmetic whose limits apply: rows of a cache in bf16 or int8
 * are rounded like those of products in that format. */
static Arithmetic rounds_most(const Spec *s)
{
    static const Arithmetic of_store[] = { [StoreF32] = ArithmeticF32,
                                           [StoreBf16] = ArithmeticBf16Dp,
                                           [StoreInt8] = ArithmeticInt8 };
    const Arithmetic cache = of_store[s->cache_store];
    return arithmetic_gates[cache].max_error
                 > arithmetic_gates[s->arithmetic].max_error
             ? cache
             : s->arithmetic;
}

static const ModelGate *gate_of(const Weights *w)
{
    return w->f32 ? &rounding_gates[coarsest(w->g)]
                  : &arithmetic_gates[rounds_most(w->g->spec)];
}

static ModelComparison compare_by(const Weights *w, const double *want,
                                  const float *got, int64_t rows, int64_t cols)
{
    ModelComparison c = compare_model(want, got, rows, cols);
    hold_to(&c, gate_of(w));
    return c;
}

static const char *const skip_all[] = { "all" };

Graph *verify_graph(const Engine *e)
{
    const PassOptions none = { .skip = skip_all, .nskip = 1 };
    Graph *g = e->unfused;
    if (e->spec->arithmetic == ArithmeticF32)
        return g;
    g = graph_copy(e->arena, g);
    if (!run_passes(g, &none, NULL))
        die("verify: no pass can fail");
    return g;
}

bool verify_chooses(const Graph *g)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == OpChoose)
            return true;
    return false;
}

/* Returns, indexed by node, the experts that the compiled code selected. */
static const double **chosen(const Interp *in, const Trial *kept,
                             int64_t sequence)
{
    const Graph *g = in->g, *own = kept->engine->graph;
    const double **given = arena_alloc(in->arena,
                                       (size_t)g->nodes.n * sizeof *given);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op != OpChoose)
            continue;
        double *ids = arena_alloc(in->arena,
                                  (size_t)interp_size(in, i) * sizeof *ids);
        if (!trial_value(kept, graph_find(own, n->name), sequence, ids))
            die("verify: %s is not kept", n->name);
        given[i] = ids;
    }
    return given;
}

void verify_result(ModelResults *r, Weights *w, const Sample *x,
                   int64_t sequence, const float *out, const Trial *kept)
{
    const Spec *s = w->g->spec;
    const float *got = result_of(s, x, sequence, out);
    const int64_t rows = result_first(s, x, sequence + 1)
                       - result_first(s, x, sequence);
    const int64_t cols = result_columns(s);
    Arena *a = arena_new();
    Interp in;
    oracle_open(&in, a, w, x, sequence);
    in.given = kept ? chosen(&in, kept, sequence) : NULL;
    const double *want = oracle_result(&in);
    ModelComparison c = compare_by(w, want, got, rows, cols);
    if (!is_conclusive(c.zeros, c.count))
        r->made += made_zeros(
            want, bare_values(a, w, x, sequence)[graph_result(w->g)], c.count);
    if (c.count == 1) {
        vec_push(w->arena, &r->want, *want);
        vec_push(w->arena, &r->got, *got);
    } else {
        keep_worse(&r->worst, c);
    }
    arena_free(a);
}

ModelComparison verify_end(const ModelResults *r, const Weights *w)
{
    ModelComparison worst = r->worst;
    if (r->want.n > 0)
        keep_worse(&worst, compare_by(w, r->want.at, r->got.at, r->want.n, 1));
    worst.zeros -= r->made;
    worst.passed = !worst.failed && is_conclusive(worst.zeros, worst.count);
    return worst;
}

/* ---- how it is made ---- */

EngineOptions variant_options(const EngineOptions *base, const Variant *v)
{
    EngineOptions o = *base;
    o.backend = v->backend;
    if (v->unfused) {
        o.passes.skip = skip_all;
        o.passes.nskip = 1;
    }
    return o;
}
