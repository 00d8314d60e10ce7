/* shape.c: infers the shape of each op's result from the shapes of its inputs,
 * with one small function per rule. A rule returns false if the inputs do not
 * fit. */
#include "graph/graph.h"

/* Returns the number of rows if it is compiled in; 0: known only at run
 * time. */
static int64_t fixed_rows(const Spec *s, Sym sym)
{
    const SpecFix *fix = &s->fix;
    const int64_t first = spec_fixed_rows(s, SideEncoder);
    const int64_t second = spec_fixed_rows(s, SideDecoder);
    switch (sym) {
    case SymN:  return first < 0 ? 0 : first;
    case SymT:
    case SymM:  return second < 0 ? 0 : second;
    case SymPT: return second < 0 || fix->past < 0 ? 0 : fix->past + second;
    case SymS:  return fix->batch < 0 ? 0 : fix->batch;
    default:    return 0;
    }
}

Dim rows_of(const Spec *s, Sym sym)
{
    const int64_t fixed = fixed_rows(s, sym);
    if (sym == SymS) /* the bounds below are per sequence */
        return (Dim){ .c = 1, .sym = sym, .fixed = fixed };
    int64_t source = s->side[SideEncoder].max_len;
    int64_t target = s->side[SideDecoder].max_len;
    bool first = source && (sym == SymN || !target);
    return (Dim){ .c = first ? source : target, .sym = sym, .fixed = fixed };
}

static bool same_dim(Dim a, Dim b)
{
    return a.c == b.c && a.sym == b.sym && a.times == b.times;
}

bool same_type(Type a, Type b)
{
    bool same = a.elem == b.elem && a.rank == b.rank;
    for (int i = 0; same && i < a.rank; i++)
        same = same_dim(a.dim[i], b.dim[i]);
    return same;
}

static const Type *in(const Graph *g, const Node *n, int i)
{
    return &g->nodes.at[n->in[i]].type;
}

static Dim last(const Type *t)
{
    return t->dim[t->rank - 1];
}

/* True for a matrix of floats with any number of rows and a constant width. */
static bool is_matrix(const Type *t)
{
    return t->elem == ElemF32 && t->rank == 2 && t->dim[1].sym == SymNone;
}

/* True for a matrix of weights in any format. */
static bool is_table(const Type *t)
{
    Type floats = *t;
    if ((int)t->elem < Dtypes)
        floats.elem = ElemF32;
    return is_matrix(&floats);
}

/* True for [h, n, d]: the rows of each head. */
static bool is_heads(const Type *t)
{
    return t->elem == ElemF32 && t->rank == 3 && t->dim[0].sym == SymNone;
}

static bool is_vector(const Type *t, Dim size)
{
    return t->elem == ElemF32 && t->rank == 1 && same_dim(t->dim[0], size);
}

/* ---- the rules ---- */

static bool shape_given(const Graph *g, Node *n)
{
    (void)g;
    bool positive = n->type.rank > 0;
    for (int i = 0; positive && i < n->type.rank; i++)
        positive = n->type.dim[i].c > 0;
    return positive;
}

static bool shape_same(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return n->type.elem != ElemI32;
}

static bool shape_stack(const Graph *g, Node *n)
{
    Type t = *in(g, n, 0);
    for (int i = 1; i < n->nin; i++) {
        const Type *u = in(g, n, i);
        if (u->elem != t.elem || u->rank != t.rank || t.rank > 2
            || (t.rank == 2 && !same_dim(u->dim[1], t.dim[1])))
            return false;
        t.dim[0].c += u->dim[0].c;
    }
    n->type = t;
    return true;
}

/* True if a table of positions has enough rows for the longest sequence. */
static bool covers(const Type *table, int64_t first, Dim rows, Dim width)
{
    return is_matrix(table) && table->dim[0].c >= first + rows.c
        && same_dim(table->dim[1], width);
}

static bool shape_embed(const Graph *g, Node *n)
{
    const Type *table = in(g, n, 0), *ids = in(g, n, 1);
    if (!is_table(table) || ids->elem != ElemI32 || ids->rank != 1)
        return false;
    n->type = (Type){ ElemF32, 2, { ids->dim[0], table->dim[1] } };
    return n->nin == 2
        || covers(in(g, n, 2), n->first, ids->dim[0], table->dim[1]);
}

static bool shape_position(const Graph *g, Node *n)
{
    const Type *table = in(g, n, 0);
    Dim rows = rows_of(g->spec, n->entry == EntryDecode ? SymT : SymN);
    if (!is_matrix(table))
        return false;
    n->type = (Type){ ElemF32, 2, { rows, table->dim[1] } };
    return covers(table, n->first, rows, table->dim[1]);
}

/* Sets the shape of x; the caller sets the element type, that of a
 * RowFormat. */
static bool shape_quantize(const Graph *g, Node *n)
{
    const Elem elem = n->type.elem;
    n->type = *in(g, n, 0);
    n->type.elem = elem;
    return is_matrix(in(g, n, 0)) && elem_arithmetic(elem) != ArithmeticF32;
}

/* True for one matrix or, if `by_experts` is set, for one matrix per expert. */
static bool is_weight(const Type *w, bool by_experts)
{
    Type one = *w;
    if (!by_experts)
        return is_table(w);
    one.rank = 2;
    one.dim[0] = w->dim[1];
    one.dim[1] = w->dim[2];
    return w->rank == 3 && is_table(&one);
}

static bool is_ids(const Type *t)
{
    return t->elem == ElemI32 && t->rank == 2 && t->dim[1].sym == SymNone;
}

/* Returns the dimension of `ids` if every row is repeated once for each of its
 * ids. */
static Dim chosen_rows(const Type *ids)
{
    const Dim rows = ids->dim[0];
    return (Dim){ .c = rows.c * ids->dim[1].c,
                  .sym = rows.sym,
                  .times = ids->dim[1].c };
}

static bool by_experts(const Node *n)
{
    return n->op == OpLinear && n->nin > InRoutes;
}

static bool routes_fit(const Graph *g, const Node *n)
{
    const Node *routes = &g->nodes.at[n->in[InRoutes]];
    return routes->op == OpRoutes
        && same_dim(in(g, n, 0)->dim[0], chosen_rows(&routes->type))
        && in(g, n, 1)->dim[0].c == routes->experts;
}

/* Sets the shape of x W^T. Rows of an arithmetic need weights that
 * it reads. */
static bool shape_matmul(const Graph *g, Node *n)
{
    const Type *w = in(g, n, 1);
    Type x = *in(g, n, 0);
    if (elem_arithmetic(x.elem) != ArithmeticF32
        && arithmetic_reads(elem_arithmetic(x.elem), elem_dtype(w->elem)))
        x.elem = ElemF32;
    if (!is_matrix(&x) || !is_weight(w, by_experts(n))
        || !same_dim(x.dim[1], last(w)))
        return false;
    n->type = (Type){ ElemF32, 2, { x.dim[0], w->dim[w->rank - 2] } };
    return !by_experts(n) || routes_fit(g, n);
}

/* Expects rows and a vector of their width. */
static bool shape_bias(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && is_vector(in(g, n, 1), n->type.dim[1]);
}

/* Expects rows and either one factor per column or one for all. */
static bool shape_scale_columns(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type)
        && (is_vector(in(g, n, 1), n->type.dim[1])
            || is_vector(in(g, n, 1), (Dim){ .c = 1 }));
}

/* Expects two inputs of the same shape. */
static bool shape_pair(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && same_type(n->type, *in(g, n, 1));
}

/* True if input k is gamma, and the next input, if there is one, is beta. */
static bool has_factors(const Graph *g, const Node *n, int k, Dim width)
{
    return is_vector(in(g, n, k), width)
        && (n->nin == k + 1 || is_vector(in(g, n, k + 1), width));
}

static bool shape_norm(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && has_factors(g, n, 1, n->type.dim[1]);
}

static bool shape_add_norm(const Graph *g, Node *n)
{
    return shape_pair(g, n) && has_factors(g, n, 2, n->type.dim[1]);
}

/* Returns the number of columns per head, or 0 if the columns cannot be divided
 * evenly. */
static int64_t head_width(const Node *n, const Type *x)
{
    bool even = is_matrix(x) && n->heads > 0 && x->dim[1].c % n->heads == 0;
    return even ? x->dim[1].c / n->heads : 0;
}

static bool shape_head_norm(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    Dim width = { .c = head_width(n, &n->type) };
    const Dim heads = { .c = n->heads };
    if (in(g, n, 1)->rank == 1) /* shared by all heads */
        return width.c > 0 && has_factors(g, n, 1, width);
    for (int k = 1; k < n->nin; k++)
        if (!is_matrix(in(g, n, k)) || !same_dim(in(g, n, k)->dim[0], heads)
            || !same_dim(in(g, n, k)->dim[1], width))
            return false;
    return width.c > 0;
}

static bool shape_rotate(const Graph *g, Node *n)
{
    Dim turned = { .c = n->dims };
    n->type = *in(g, n, 0);
    return n->dims > 0 && n->dims % 2 == 0 && n->dims <= head_width(n, &n->type)
        && covers(in(g, n, 1), 0, n->type.dim[0], turned);
}

static bool shape_linear(const Graph *g, Node *n)
{
    if (n->has_bias != (n->nin > 2 && n->in[2] >= 0)
        || n->has_residual != (n->nin > 3 && n->in[3] >= 0)
        || !shape_matmul(g, n))
        return false;
    if (n->has_bias && by_experts(n))
        return is_matrix(in(g, n, 2))
            && same_dim(in(g, n, 2)->dim[0], in(g, n, 1)->dim[0])
            && same_dim(in(g, n, 2)->dim[1], n->type.dim[1]);
    if (n->has_bias && !is_vector(in(g, n, 2), n->type.dim[1]))
        return false;
    return !n->has_residual || same_type(n->type, *in(g, n, 3));
}

static bool shape_split(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0);
    Dim width = { .c = head_width(n, x) };
    n->type = (Type){ ElemF32, 3, { { .c = n->heads }, x->dim[0], width } };
    return width.c > 0;
}

static bool shape_merge(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0);
    if (!is_heads(x))
        return false;
    Dim width = { .c = x->dim[0].c * x->dim[2].c };
    n->type = (Type){ ElemF32, 2, { x->dim[1], width } };
    return true;
}

static bool shape_slice(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0);
    Dim width = n->type.dim[1];
    if (!is_matrix(x) || width.c < 1 || n->first < 0
        || n->first + width.c > x->dim[1].c)
        return false;
    n->type = (Type){ ElemF32, 2, { x->dim[0], width } };
    return true;
}

/* Turns the shape of t new rows into that of all p+t rows. */
static bool shape_append(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    if (n->type.dim[1].sym == SymT)
        n->type.dim[1] = rows_of(g->spec, SymPT);
    return is_heads(&n->type);
}

static bool shape_heads(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_heads(&n->type);
}

/* True if every head of keys or values serves the same number of query
 * heads. */
static bool serves_all(const Type *kv, const Type *q)
{
    return is_heads(q) && is_heads(kv) && q->dim[0].c % kv->dim[0].c == 0;
}

/* True if the vectors of scores are a row for each head of q, as wide as the
 * head. */
static bool score_fits(const Graph *g, const Node *n, const Type *q)
{
    const Type *v = has_score_vector(n) ? &g->nodes.at[score_input(n)].type
                                        : NULL;
    return !v
        || (v->rank == 2 && same_dim(v->dim[0], q->dim[0])
            && same_dim(v->dim[1], q->dim[2]));
}

static bool shape_scores(const Graph *g, Node *n)
{
    const Type *q = in(g, n, 0), *k = in(g, n, 1);
    if (!serves_all(k, q) || !same_dim(q->dim[2], k->dim[2])
        || n->nin != 2 + has_score_vector(n) || !score_fits(g, n, q))
        return false;
    n->type = (Type){ ElemF32, 3, { q->dim[0], q->dim[1], k->dim[1] } };
    return true;
}

/* True if input k is the table of a learned bias, or if there is no such
 * bias. */
static bool bias_fits(const Graph *g, const Node *n, int k, Dim heads)
{
    const int others = has_score_vector(n) + n->sinks;
    if (n->bias != BiasRelative)
        return n->nin == k + others;
    return n->nin == k + 1 + others && is_matrix(in(g, n, k))
        && in(g, n, k)->dim[0].c == n->buckets
        && same_dim(in(g, n, k)->dim[1], heads);
}

/* True if sinks have one score per head. */
static bool sinks_fit(const Graph *g, const Node *n, Dim heads)
{
    const Type *sinks = n->sinks ? in(g, n, n->nin - 1) : NULL;
    return !sinks || (sinks->rank == 1 && same_dim(sinks->dim[0], heads));
}

static bool shape_softmax(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_heads(&n->type) && n->nin == 1 + n->sinks
        && sinks_fit(g, n, n->type.dim[0]);
}

static bool shape_score_bias(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_heads(&n->type) && n->bias != BiasNone
        && bias_fits(g, n, 1, n->type.dim[0]);
}

static bool shape_context(const Graph *g, Node *n)
{
    const Type *p = in(g, n, 0), *v = in(g, n, 1);
    if (!serves_all(v, p) || !same_dim(p->dim[2], v->dim[1]))
        return false;
    n->type = (Type){ ElemF32, 3, { p->dim[0], p->dim[1], v->dim[2] } };
    return true;
}

static bool shape_attention(const Graph *g, Node *n)
{
    const Type *q = in(g, n, 0), *k = in(g, n, 1), *v = in(g, n, 2);
    if (!serves_all(k, q) || !serves_all(v, q) || q->dim[0].c != n->heads
        || k->dim[0].c != n->heads_kv || v->dim[0].c != n->heads_kv
        || !same_dim(last(q), last(k)) || !same_dim(k->dim[1], v->dim[1])
        || !bias_fits(g, n, 3, q->dim[0]) || !sinks_fit(g, n, q->dim[0])
        || !score_fits(g, n, q))
        return false;
    Dim width = { .c = n->heads * v->dim[2].c };
    n->type = (Type){ ElemF32, 2, { q->dim[1], width } };
    return true;
}

int cell_gates(CellType cell)
{
    static const int gates[] = {
        [CellSimple] = 1, [CellGru] = 3, [CellLstm] = 4
    };
    return gates[cell];
}

/* Expects the product of the rows, the matrix of the states, and an optional
 * bias. */
static bool shape_recurrent(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0), *w = in(g, n, 1);
    if (!is_matrix(x) || !is_table(w) || !same_dim(x->dim[1], w->dim[0])
        || w->dim[0].c != cell_gates(n->cell) * w->dim[1].c)
        return false;
    n->type = (Type){ ElemF32, 2, { x->dim[0], w->dim[1] } };
    const int inputs = n->nin - n->sourced;
    if (n->sourced && !same_dim(in(g, n, inputs)->dim[1], w->dim[1]))
        return false;
    return inputs == 2 || is_vector(in(g, n, 2), w->dim[0]);
}

/* Joins columns head by head; `b` may have a single head that all heads of `a`
 * share. */
static bool shape_join(const Graph *g, Node *n)
{
    const Type *a = in(g, n, 0), *b = in(g, n, 1);
    const bool fits = n->heads > 0
                   && (n->heads_kv == n->heads || n->heads_kv == 1)
                   && is_matrix(a) && is_matrix(b)
                   && same_dim(a->dim[0], b->dim[0])
                   && a->dim[1].c % n->heads == 0
                   && b->dim[1].c % n->heads_kv == 0;
    if (!fits)
        return false;
    n->type = *a;
    n->type.dim[1].c += b->dim[1].c / n->heads_kv * n->heads;
    return true;
}

static bool shape_patches(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && n->across > 0 && n->first >= 0
        && n->type.dim[1].c == n->channels * n->tall * n->wide;
}

static bool shape_taps(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    Dim *rows = &n->type.dim[0], *columns = &n->type.dim[1];
    const int64_t frames = n->frames > 0 ? n->frames : 1;
    const int64_t stride = n->stride > 0 ? n->stride : 1;
    const int64_t times = (rows->times > 0 ? rows->times : 1) * frames;
    bool fits = is_matrix(&n->type) && n->taps > 0 && n->dilation > 0
             && columns->c % frames == 0 && times % stride == 0;
    rows->times = times > stride ? times / stride : 0;
    columns->c = columns->c / frames * n->taps;
    return fits;
}

static bool shape_depthwise(const Graph *g, Node *n)
{
    const Type *w = in(g, n, 1);
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && is_matrix(w) && n->dilation > 0
        && same_dim(w->dim[0], n->type.dim[1]) && w->dim[1].c == n->taps
        && (n->nin == 2 || is_vector(in(g, n, 2), n->type.dim[1]));
}

static bool shape_select(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    bool fits = is_matrix(&n->type) && n->type.dim[0].sym == SymT;
    n->type.dim[0] = rows_of(g->spec, SymR);
    return fits;
}

static bool shape_pool(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    bool fits = is_matrix(&n->type) && n->pool != PoolNone;
    n->type.dim[0] = rows_of(g->spec, SymS);
    return fits;
}

static bool shape_rows(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_matrix(&n->type);
}

/* ---- experts ---- */

/* Sets the shape of the chosen ids. The caller sets their number per row. */
static bool shape_choose(const Graph *g, Node *n)
{
    const Type *scores = in(g, n, 0);
    const Dim chosen = n->type.dim[1];
    if (!is_matrix(scores) || n->groups < 1 || scores->dim[1].c % n->groups != 0
        || n->groups_chosen < 1 || n->groups_chosen > n->groups || chosen.c < 1
        || chosen.c > scores->dim[1].c / n->groups * n->groups_chosen)
        return false;
    n->type = (Type){ ElemI32, 2, { scores->dim[0], chosen } };
    return n->nin == 1 || is_vector(in(g, n, 1), scores->dim[1]);
}

static bool shape_weigh(const Graph *g, Node *n)
{
    const Type *scores = in(g, n, 0), *ids = in(g, n, 1);
    n->type = *ids;
    n->type.elem = ElemF32;
    return is_matrix(scores) && is_ids(ids)
        && same_dim(scores->dim[0], ids->dim[0]);
}

static bool shape_routes(const Graph *g, Node *n)
{
    n->type = *in(g, n, 0);
    return is_ids(&n->type) && n->experts > 0;
}

static bool shape_spread(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0), *ids = in(g, n, 1);
    n->type = *x;
    n->type.dim[0] = chosen_rows(ids);
    return is_matrix(x) && is_ids(ids) && same_dim(x->dim[0], ids->dim[0]);
}

static bool shape_combine(const Graph *g, Node *n)
{
    const Type *x = in(g, n, 0), *by = in(g, n, 1), *ids = in(g, n, 2);
    n->type = *x;
    n->type.dim[0] = ids->dim[0];
    return is_matrix(x) && is_matrix(by) && is_ids(ids)
        && same_dim(by->dim[0], ids->dim[0])
        && same_dim(by->dim[1], ids->dim[1])
        && same_dim(x->dim[0], chosen_rows(ids));
}

static bool shape_row_scale(const Graph *g, Node *n)
{
    const Type *by = in(g, n, 1);
    n->type = *in(g, n, 0);
    return is_matrix(&n->type) && is_matrix(by) && by->dim[1].c == 1
        && same_dim(n->type.dim[0], by->dim[0]);
}

/* clang-format off */
static bool (*const rule[OpCount])(const Graph *, Node *) = {
#define OP(id, name, min, max, class, formula, shape, ...)                     \
    [Op##id] = shape_##shape,
#include "graph/ops.h"
};

bool infer_shape(const Graph *g, Node *n)
{
    return rule[n->op](g, n);
}
