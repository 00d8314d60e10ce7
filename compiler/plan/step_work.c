/* step_work.c: estimates the work of a step in order to divide it among
 * threads. The unit is the time of one FLOP of a product. A bad estimate costs
 * time but never changes a result. */
#include "plan/plan_parts.h"

enum {
    ElementWork = 16, /* FLOPs in the time of reading and writing a number */
    GatherWork = 64,  /* FLOPs in the time of reading a number from a separate
                       * cache line */
    MemoryRows = 8,   /* rows of a product in the time of loading its weights
                       * from memory */
    CacheRows = 2,    /* rows of a product in the time of loading its weights
                       * from a cache */
    NearRows = 8, /* minimum rows per part if weights stay in a core's cache */
    TanhWork = 45
};

static int64_t row_elements(Type t)
{
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i].sym == SymNone ? t.dim[i].c : 1;
    return n;
}

/* Returns the FLOPs of a row's sums (for attention, per key). For a step
 * without sums, returns the equivalent of the row's elements. */
int64_t step_work(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int64_t sums = node_sums(p->g, node, 1, 1, TanhWork)
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

/* Returns the minimum number of rows per part: NearRows if the region's weights
 * fit in each core's cache, otherwise a block of rows, but at most RowBlock,
 * because each part reads all weights. If the region has fewer rows, the parts
 * divide its weights instead. */
int64_t least_part_rows(const Plan *p, const Region *r)
{
    int64_t bytes = 0;
    for (int i = 0; i < r->count; i++) {
        const int node = p->order.at[r->first + i];
        if (is_product(node_at(p, node)))
            bytes += 2 * step_work(p, node); /* 4 n k bytes in f32, two per FLOP
                                              * of 2 n k */
    }
    const int64_t rows = region_rows(p, r);
    return bytes <= NearBytes ? NearRows : rows < RowBlock ? rows : RowBlock;
}
