/* plan.c: runs the steps of planning, and groups nodes into regions, which
 * become one function each. */
#include "plan/plan_parts.h"

/* ---- regions ---- */

static bool goes_by_rows(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    return op_info[n->op].op_class == ClassRow && n->type.rank == 2;
}

/* True for the keys and values of the same attention, which one function
 * writes. */
static bool pages_pair(const Node *a, const Node *b)
{
    return a->op == b->op && (a->op == OpAppend || a->op == OpPackKv)
        && same_layer(a, b) && a->part == PartKey && b->part == PartValue;
}

static bool joins(const Plan *p, const Region *r, int node)
{
    const int last = p->order.at[r->first + r->count - 1];
    const Node *a = node_at(p, last), *b = node_at(p, node);
    if (a->entry != b->entry)
        return false;
    if (pages_pair(a, b))
        return r->count == 1;
    return goes_by_rows(p, last) && goes_by_rows(p, node) && !p->keep_all
        && same_layer(a, b) && row_sym(a->type) == row_sym(b->type)
        && a->type.dim[0].times == b->type.dim[0].times;
}

static void make_regions(Plan *p)
{
    const int n_nodes = p->g->nodes.n;
    Region r = { .count = 0 };
    for (int i = 0; i < n_nodes; i++) {
        const Node *n = node_at(p, i);
        p->region_of[i] = -1;
        if (!emits_code(n))
            continue;
        if (r.count && joins(p, &r, i)) {
            r.count++;
            r.row_block = goes_by_rows(p, i);
        } else {
            if (r.count)
                vec_push(p->arena_, &p->region, r);
            r = (Region){ .first = p->order.n,
                          .count = 1,
                          .entry = n->entry,
                          .by_rows = goes_by_rows(p, i) || n->op == OpOutput,
                          .stack = n->stack,
                          .layer = n->layer };
        }
        p->region_of[i] = p->region.n;
        vec_push(p->arena_, &p->order, i);
    }
    if (r.count)
        vec_push(p->arena_, &p->region, r);
    for (int i = 0; i < p->region.n; i++)
        p->region.at[i].name = region_name(p, &p->region.at[i]);
}

/* ---- all together ---- */

Plan *plan_model(Arena *a, const Graph *g, const Target *t, Choices choices,
                 bool keep_all)
{
    Plan *p = arena_alloc(a, sizeof *p);
    const size_t n = (size_t)g->nodes.n;
    *p = (Plan){ .g = g,
                 .arena_ = a,
                 .target = *t,
                 .choices = choices,
                 .keep_all = keep_all };
    p->prefix = plan_prefix(a, g->spec->name);
    p->region_of = arena_alloc(a, n * sizeof *p->region_of);
    if (!p->target.row_block)
        p->target.row_block = RowBlock;
    plan_values(p);
    plan_ranks(p);
    plan_pack(p);
    p->small_m = t->small_m_mr && p->pack.bytes > t->small_m_bytes;
    plan_caches(p);
    plan_labels(p);
    make_regions(p);
    plan_tasks(p);
    p->scratch = plan_scratch(p);
    plan_arena(p);
    plan_divisions(p);
    return p;
}
