/* verify.c: a compiled model against the oracle, after a run on a sample:
 *   by op       each node's value, as the compiled code computed it, with the
 *               node evaluated in double on exactly the inputs it had there
 *   end to end  the result with the unfused graph in double                 */
#include "verify.h"

#include <math.h>

/* ----------------------------------------------------------------- by op */

static const double *widen(Arena *a, const float *x, int64_t n)
{
    double *d = arena_alloc(a, (size_t)n * sizeof *d);
    for (int64_t i = 0; i < n; i++)
        d[i] = (double)x[i];
    return d;
}

/* Weights that a mask makes zero are not among the zeros that prove nothing. */
static int64_t masked_values(const Interp *in, int node)
{
    const Node *n = &in->g->nodes.at[node];
    const double *x = in->value[n->in[0]];
    int64_t masked = 0;
    for (int64_t i = 0; n->op == OpSoftmax && i < interp_size(in, node); i++)
        masked += x[i] == -HUGE_VAL;
    return masked;
}

/* Compares one node, then takes the compiled value as what later nodes read. */
static void check_node(OpResults *r, Interp *in, int node, const float *got)
{
    const Node *n = &in->g->nodes.at[node];
    OpResult *op = &r->op[n->op];
    int64_t size = interp_size(in, node);
    double *tolerance = arena_alloc(in->arena,
                                    (size_t)size * sizeof *tolerance);
    interp_node(in, node);
    gate_node(in, node, in->value[node], tolerance);
    if (compare_values(&op->c, in->value[node], got, tolerance, size))
        op->worst = n->name;
    op->c.zeros -= masked_values(in, node);
    in->value[node] = widen(in->arena, got, size);
}

/* The rows of the result that belong to one sequence. */
static const float *result_of(const Spec *s, const Sample *x,
                              int64_t sequence, const float *out)
{
    return out + result_first(s, x, sequence) * result_columns(s);
}

void verify_ops(OpResults *r, Weights *w, const Trial *t, int64_t sequence,
                const float *out)
{
    const Graph *g = w->g;
    Arena *a = arena_new();
    Interp in;
    oracle_open(&in, a, w, t->sample, sequence);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op == OpNop || n->entry == EntryNone)
            continue;
        float *got = arena_alloc(a, (size_t)interp_size(&in, i)
                                        * sizeof *got);
        if (n->op == OpOutput)
            check_node(r, &in, i, result_of(g->spec, t->sample, sequence,
                                            out));
        else if (op_info[n->op].class != ClassView
                 && trial_value(t, i, sequence, got))
            check_node(r, &in, i, got);
        else
            interp_node(&in, i);
    }
    arena_free(a);
}

bool op_passed(const OpResults *r, Op op)
{
    const Comparison *c = &r->op[op].c;
    return op == OpActivate ? c->failed == 0 : compare_passed(c);
}

/* ------------------------------------------------------------ end to end */

/* Keeps the worse of two: the one that failed, or the larger error. One that
 * is all zeros (a mask may leave a sequence no keys) tells enough beside others
 * that are not.                                                             */
static void keep_worse(ModelComparison *worst, ModelComparison c)
{
    bool worse = worst->failed != c.failed ? c.failed
               : !(c.max_error <= worst->max_error);
    ModelComparison both = worse ? c : *worst;
    both.nmse = fmax(worst->nmse, c.nmse);
    both.divergence = fmax(worst->divergence, c.divergence);
    both.count = worst->count + c.count;
    both.zeros = worst->zeros + c.zeros;
    both.passed = !both.failed && tells_enough(both.zeros, both.count);
    *worst = both;
}

void verify_result(ModelComparison *worst, Weights *w, const Sample *x,
                   int64_t sequence, const float *out)
{
    const Spec *s = w->g->spec;
    Arena *a = arena_new();
    Interp in;
    oracle_open(&in, a, w, x, sequence);
    const double *want = oracle_result(&in);
    int64_t rows = result_first(s, x, sequence + 1)
                 - result_first(s, x, sequence);
    ModelComparison c = compare_model(want, result_of(s, x, sequence, out),
                                      rows, result_columns(s));
    if (w->f32)
        hold_to(&c, &rounded_weights);
    keep_worse(worst, c);
    arena_free(a);
}

/* ------------------------------------------------------- how it is made */

static const char *const skip_all[] = { "all" };

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
