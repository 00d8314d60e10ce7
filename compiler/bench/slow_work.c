/* slow_work.c: splits the cost of a call by kind of work, because each kind
 * runs at its own fraction of the machine's rates. sweep/cost_coefficients.c
 * fits these fractions to measured models in order to predict others. */
#include <math.h>

#include "bench/bench.h"

static const double few_rows = 2, many_rows = 16,
                    panel = 16; /* minimum rows of LoadFew and LoadMany; columns
                                 * of a panel */

static bool is_norm(Op op)
{
    return op == OpNorm || op == OpAddNorm || op == OpHeadNorm
        || op == OpL2Norm;
}

/* True if the activation computes exp or a similar function. */
static bool is_curved(Activation act)
{
    return act != ActNone && act != ActRelu;
}

static double columns_of(const Node *n)
{
    return (double)n->type.dim[n->type.rank - 1].c;
}

static int product_kind(const Graph *g, const Node *n, double rows)
{
    const int kind = rows < few_rows  ? LoadRow
                   : rows < many_rows ? LoadFew
                                      : LoadMany;
    const Dtype dtype = elem_dtype(g->nodes.at[n->in[1]].type.elem);
    const Elem rows_elem = g->nodes.at[n->in[0]].type.elem;
    return kind
         + (row_formats[elem_arithmetic(rows_elem)].scaled ? LoadDot
            : dtype_is_integer(dtype)                      ? LoadInt8
            : dtype == DtypeBf16                           ? LoadBf16
                                                           : 0);
}

/* Returns the factor by which padding to complete panels increases
 * `columns`. */
static double panels_part(double columns)
{
    return ceil(columns / panel) * panel / columns;
}

static void add_product(const Graph *g, const Node *n, Cost cost, Load *to)
{
    const double results = cost.written / sizeof(float);
    Cost *of = &to->of[product_kind(g, n, results / columns_of(n))];
    cost.flops *= panels_part(columns_of(n));
    cost.dots *= panels_part(columns_of(n));
    cost.pairs *= panels_part(columns_of(n));
    *of = cost_sum(*of, cost);
    to->count[LoadResults] += results;
}

static void add_attention(const Graph *g, const Node *n, double rows, Cost cost,
                          Load *to)
{
    const Type q = g->nodes.at[n->in[0]].type;
    const double d = (double)q.dim[q.rank - 1].c;
    Cost *of = &to->of[rows < few_rows ? LoadQuery : LoadQueries];
    *of = cost_sum(*of, cost);
    to->count[LoadScores] += cost.flops / (4 * d);
}

Load load_of(const Plan *p, const EntryCall *c, const Cost *cost)
{
    const Graph *g = p->g;
    const double rows = (double)(c->start[c->sequences] - c->start[0])
                      / (double)c->sequences;
    Load load = { .count = { [LoadCalls] = 1 } };
    for (int i = 0; i < p->region.n; i++)
        load.count[LoadFunctions] += p->region.at[i].entry == c->entry;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->entry != c->entry || p->region_of[i] < 0)
            continue;
        if (is_product(n))
            add_product(g, n, cost[i], &load);
        else if (n->op == OpAttention)
            add_attention(g, n, rows, cost[i], &load);
        else {
            Cost *of = &load.of[is_norm(n->op) ? LoadNorm : LoadMove];
            *of = cost_sum(*of, cost[i]);
        }
        if (is_curved(n->act))
            load.count[LoadCurves] += cost[i].written / sizeof(float);
    }
    return load;
}

void load_add(const Machine *m, const Rates *r, const Load *load,
              double x[Loads])
{
    double set = 0;
    for (int i = 0; i < LoadKinds; i++)
        set += load->of[i].weights + load->of[i].cached;
    for (int i = 0; i < LoadKinds; i++) {
        const Demand d = { .cost = load->of[i], .set = set, .calls = 1 };
        x[i] += limit_within(m, r, &d, LevelMemory).seconds;
    }
    for (int i = LoadKinds; i < Loads; i++)
        x[i] += load->count[i];
}
