/* rank_columns.c: the columns of each value that a rank needs, if a model is
 * divided among ranks. Attention reads the columns of the rank's own heads
 * only; ops that work column by column, or head by head, pass this on to what
 * they read. So the products of queries, keys and values need no gather: each
 * rank computes the columns of its heads.
 *
 * An integer product may read only some columns of its rows, because the sums
 * of integers that the ranks compute can be added exactly. It does so if each
 * rank has some of these columns anyway: of the heads for o, of w1 for w2. With
 * fix.sum_ranks, so does a product of floats, whose sums are then rounded once
 * for each rank.
 *
 * All other ops read entire rows. */
#include "plan/plan_parts.h"

static bool same_columns(const HeadColumns *a, const HeadColumns *b)
{
    return a->first == b->first && a->width == b->width && a->heads == b->heads
        && a->key_heads == b->key_heads && a->keys == b->keys;
}

/* Returns the number of heads whose columns these are. */
static int64_t column_heads(const HeadColumns *c)
{
    return c->keys ? c->key_heads : c->heads;
}

static int64_t columns_end(const HeadColumns *c)
{
    return c->first + column_heads(c) * c->width;
}

/* Adds columns, in order. Columns that partly overlap are of different
 * divisions: then the rank needs all. */
static void add_columns(RankColumns *to, HeadColumns c)
{
    int at = 0;
    for (int i = 0; i < to->n && !to->all; i++) {
        const HeadColumns *of = &to->of[i];
        if (same_columns(of, &c))
            return;
        at += of->first < c.first;
        to->all |= of->first < columns_end(&c) && c.first < columns_end(of);
    }
    to->all |= to->n == MostHeadColumns;
    if (to->all)
        return;
    for (int i = to->n++; i > at; i--)
        to->of[i] = to->of[i - 1];
    to->of[at] = c;
}

/* Returns the width of the unit of columns that an op computes on its own; 0:
 * it reads entire rows. */
static int64_t own_unit(const Node *n)
{
    if (n->op == OpRotate || n->op == OpHeadNorm)
        return n->type.rank == 2 ? n->type.dim[1].c / n->heads : 0;
    return n->op == OpSplit || n->op == OpMerge || n->op == OpSlice
                || n->op == OpAppend || n->op == OpRecall || n->op == OpPackKv
                || n->op == OpQuantize
                || (op_info[n->op].in_place == InPlaceElements
                    && n->type.rank == 2)
             ? 1
             : 0;
}

/* Moves columns of a node to those of its input k. Returns false if the node
 * needs other columns too. */
static bool move_columns(const Graph *g, const Node *n, int k, HeadColumns *c)
{
    const Type t = g->nodes.at[n->in[k]].type;
    const int64_t unit = own_unit(n);
    if (n->op == OpJoin) {
        const int64_t heads = k == 0 ? n->heads : n->heads_kv;
        const int64_t width = t.dim[1].c / heads;
        if (heads != n->heads || c->first != 0
            || c->width * heads != n->type.dim[1].c)
            return false;
        c->width = width;
        return true;
    }
    if (unit == 0 || c->first % unit != 0 || c->width % unit != 0)
        return false;
    if (op_info[n->op].in_place == InPlaceElements
        && !(t.rank == 2 && t.dim[1].c == n->type.dim[1].c))
        return false;
    c->first += n->op == OpSlice ? n->first : 0;
    return true;
}

/* Finds how the ranks divide the columns of x: those of attention by heads,
 * those of a product by units of up to 64. Returns false if each rank has all
 * columns. */
static bool divided_columns(const Graph *g, int x, int64_t ranks,
                            HeadColumns *c)
{
    const Node *n = &g->nodes.at[x];
    const int64_t columns = n->type.dim[n->type.rank - 1].c;
    int64_t unit = 64;
    int from = x;
    if (gives_heads(n)) {
        const int64_t heads = n->op == OpContext ? n->type.dim[0].c : n->heads;
        *c = (HeadColumns){ .width = n->op == OpContext ? columns
                                                        : columns / heads,
                            .heads = heads,
                            .key_heads = g->nodes.at[n->in[1]].type.dim[0].c };
        return heads >= ranks;
    }
    if (n->op == OpMerge
        || (op_info[n->op].in_place == InPlaceElements && n->type.rank == 2))
        return divided_columns(g, n->in[0], ranks, c);
    if (n->op == OpSlice)
        from = n->in[0];
    while (columns % unit != 0)
        unit /= 2;
    *c = (HeadColumns){ .width = unit,
                        .heads = columns / unit,
                        .key_heads = columns / unit };
    n = &g->nodes.at[from];
    return is_product(n) && !n->has_residual && n->nin <= InRoutes;
}

/* Returns the columns that float sums of a rank are a multiple of: a panel of
 * bf16 has pairs, and bf16_amx and bf16x3 add blocks. */
static int64_t columns_at_once(Dtype w, Arithmetic a)
{
    const bool blocks = a == ArithmeticBf16Amx || a == ArithmeticBf16x3;
    return blocks ? 32 : w == DtypeBf16 ? 2 : 1;
}

/* True if the ranks add the sums of product n; then sets the columns of its
 * rows that a rank multiplies. */
static bool divided_terms(const Graph *g, const Node *n, int64_t ranks,
                          HeadColumns *c)
{
    const Node *x = &g->nodes.at[n->in[0]];
    const Arithmetic a = elem_arithmetic(x->type.elem);
    const RowFormat *f = &row_formats[a];
    const Dtype w = elem_dtype(g->nodes.at[n->in[1]].type.elem);
    const bool floats = g->spec->fix.sum_ranks && !dtype_is_integer(w);
    if (!(f->scaled || floats)
        || !divided_columns(g, f->kernel ? x->in[0] : n->in[0], ranks, c))
        return false;
    return f->scaled
        || (c->heads >= ranks && c->width % columns_at_once(w, a) == 0);
}

/* Adds what node n reads of its input k. */
static void add_read(const Graph *g, const RankColumns *all, int node, int k,
                     int64_t ranks, RankColumns *to)
{
    const Node *n = &g->nodes.at[node];
    const bool attends = n->op == OpAttention || n->op == OpScores;
    const bool values = n->op == OpContext && k == 1;
    if (values || (attends && k < (n->op == OpAttention ? 3 : 2))) {
        const HeadColumns c = {
            .width = g->nodes.at[n->in[k]].type.dim[2].c,
            .heads = g->nodes.at[n->in[0]].type.dim[0].c,
            .key_heads = g->nodes.at[n->in[1]].type.dim[0].c,
            .keys = k > 0,
        };
        if (c.heads < ranks)
            to->all = true;
        else
            add_columns(to, c);
        return;
    }
    HeadColumns terms;
    if (is_product(n) && n->nin <= InRoutes && k == 0
        && divided_terms(g, n, ranks, &terms)) {
        add_columns(to, terms);
        return;
    }
    to->all |= all[node].all;
    for (int i = 0; i < all[node].n && !to->all; i++) {
        HeadColumns c = all[node].of[i];
        if (move_columns(g, n, k, &c))
            add_columns(to, c);
        else
            to->all = true;
    }
}

RankColumns *plan_rank_columns(const Plan *p, int64_t ranks)
{
    const Graph *g = p->g;
    RankColumns *need = arena_alloc(p->arena_,
                                    (size_t)g->nodes.n * sizeof *need);
    for (int i = g->nodes.n - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[i];
        /* a rank adds a residual once, and computes a panel perhaps twice */
        need[i].all |= n->keep || n->has_residual || n->nin > InRoutes
                    || need[i].n == 0;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k] >= 0)
                add_read(g, need, i, k, ranks, &need[n->in[k]]);
    }
    return need;
}

const HeadColumns *rank_terms(const Plan *p, const RankColumns *need, int node)
{
    const Node *n = node_at(p, node);
    const bool peaks = n->op == OpQuantize
                    && row_formats[elem_arithmetic(n->type.elem)].scaled;
    const int rows = is_product(n) ? n->in[0] : node;
    return need[rows].all || !(is_product(n) || peaks) ? NULL : need[rows].of;
}

bool ranks_gather(const Plan *p, const RankColumns *need, int node)
{
    const Node *n = node_at(p, node);
    return (gives_heads(n) || is_product(n)) && need[node].all
        && !rank_terms(p, need, node);
}

bool adds_terms(const Plan *p, int node)
{
    return p->rank_columns && rank_terms(p, p->rank_columns, node);
}

void plan_ranks(Plan *p)
{
    if (p->g->spec->fix.ranks <= 1)
        return;
    p->rank_columns = plan_rank_columns(p, p->g->spec->fix.ranks);
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        if (p->value[i].place == PlaceView)
            p->value[i].stride = p->value[owner_of(p, i)].stride;
        if (is_product(n) && adds_terms(p, i)
            && node_at(p, n->in[0])->type.elem == ElemQ15)
            p->value[i].stride = 2 * row_stride(n->type.dim[1].c);
    }
}
