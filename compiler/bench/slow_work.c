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

/* Counts a product, and returns its kind. */
static int add_product(const Graph *g, const Node *n, Cost cost, Load *to)
{
    const double results = cost.written / sizeof(float);
    const int kind = product_kind(g, n, results / columns_of(n));
    cost.flops *= panels_part(columns_of(n));
    cost.dots *= panels_part(columns_of(n));
    cost.pairs *= panels_part(columns_of(n));
    to->of[kind] = cost_sum(to->of[kind], cost);
    to->count[LoadResults] += results;
    return kind;
}

static int add_attention(const Graph *g, const Node *n, double rows, Cost cost,
                         Load *to)
{
    const Type q = g->nodes.at[n->in[0]].type;
    const double d = (double)q.dim[q.rank - 1].c;
    const int kind = rows < few_rows ? LoadQuery : LoadQueries;
    to->of[kind] = cost_sum(to->of[kind], cost);
    to->count[LoadScores] += cost.flops / (4 * d);
    return kind;
}

static int add_other(const Node *n, Cost cost, Load *to)
{
    const int kind = is_norm(n->op) ? LoadNorm : LoadMove;
    to->of[kind] = cost_sum(to->of[kind], cost);
    return kind;
}

/* Returns the number of blocks in which node i computes `rows` rows. Values of
 * a block stay in near caches. */
static double blocks_of(const Plan *p, int i, double rows)
{
    const Region *r = &p->region.at[p->region_of[i]];
    return r->row_block ? ceil(rows / (double)region_rows(p, r)) : 1;
}

Load load_of(const Plan *p, const EntryCall *c, const Cost *cost)
{
    const Graph *g = p->g;
    const double all_rows = (double)(c->start[c->sequences] - c->start[0]);
    const double rows = all_rows / (double)c->sequences;
    Load load = { .count = { [LoadCalls] = 1 } };
    for (int i = 0; i < p->region.n; i++)
        load.count[LoadFunctions] += p->region.at[i].entry == c->entry;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->entry != c->entry || p->region_of[i] < 0)
            continue;
        const int kind = is_product(n) ? add_product(g, n, cost[i], &load)
                       : n->op == OpAttention
                           ? add_attention(g, n, rows, cost[i], &load)
                           : add_other(n, cost[i], &load);
        load.blocks[kind] += blocks_of(p, i, all_rows);
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
        const Demand d = { .cost = load->of[i],
                           .set = set,
                           .calls = load->blocks[i] };
        x[i] += limit_within(m, r, &d, LevelMemory).seconds;
    }
    for (int i = LoadKinds; i < Loads; i++)
        x[i] += load->count[i];
}
