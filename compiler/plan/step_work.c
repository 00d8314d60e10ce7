/* step_work.c: what the work of a step is worth when it is divided among
 * threads, in FLOPs of a product: what takes as long as they do. Estimates: a
 * wrong one costs time, never a result.                                      */
#include "plan/plan_parts.h"

enum {
    ElementWork = 16, /* of a number that is read and written */
    GatherWork = 64,  /* of one with a cache line for itself */
    MemoryRows = 8, /* of a product that take as long as its weights take to */
    CacheRows = 2,  /* come from memory, or from a cache */
    NearRows = 8,   /* of a part whose weights are near */
    TanhWork = 48
};

static int64_t row_elements(Type t)
{
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i].sym == SymNone ? t.dim[i].c : 1;
    return n;
}

/* Of a column of a query and a key. */
static int64_t score_work(const Node *n)
{
    return n->additive ? TanhWork : 2;
}

/* A product: 2 n k; attention, fused or not: of a query and a key. */
int64_t step_work(const Plan *p, int node)
{
    const Node *all = p->g->nodes.at, *n = &all[node];
    switch (n->op) {
    case OpMatmul:
    case OpLinear:
    case OpRecurrent:
        return 2 * n->type.dim[1].c * matrix_columns(all[n->in[1]].type);
    case OpAttention:
        return n->heads
             * (score_work(n) * all[n->in[1]].type.dim[2].c
                + 2 * all[n->in[2]].type.dim[2].c + ElementWork);
    case OpDepthwise: return 2 * n->taps * n->type.dim[1].c;
    case OpScores:
        return score_work(n) * n->type.dim[0].c * all[n->in[1]].type.dim[2].c;
    case OpContext: return 2 * n->type.dim[0].c * n->type.dim[2].c;
    case OpEmbed:   return GatherWork * row_elements(n->type);
    default:        return ElementWork * row_elements(n->type);
    }
}

int64_t least_work_rows(const Plan *p)
{
    return p->small_m ? MemoryRows : CacheRows;
}

/* Where the weights of a region stay in the cache of each core that reads them,
 * few rows make a part; where they come from further away they are divided
 * instead of read by each, as long as the rows are few.                     */
int64_t least_part_rows(const Plan *p, const Region *r)
{
    int64_t bytes = 0;
    for (int i = 0; i < r->count; i++) {
        const int node = p->order.at[r->first + i];
        if (is_product(node_at(p, node)))
            bytes += 2 * step_work(p, node); /* 4 n k, in f32 */
    }
    const int64_t rows = region_rows(p, r);
    return bytes <= NearBytes ? NearRows : rows < RowBlock ? rows : RowBlock;
}
