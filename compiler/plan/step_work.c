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
    TanhWork = 45
};

static int64_t row_elements(Type t)
{
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i].sym == SymNone ? t.dim[i].c : 1;
    return n;
}

/* The sums of products of a row, those of attention of a query and a key; what
 * has none, by its elements. */
int64_t step_work(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int64_t sums = node_sums(p->g, node, 1, TanhWork)
                       / row_times(n->type);
    if (n->op == OpAttention)
        return sums + ElementWork * n->heads;
    return sums ? sums
                : (n->op == OpEmbed ? GatherWork : ElementWork)
                      * row_elements(n->type);
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
