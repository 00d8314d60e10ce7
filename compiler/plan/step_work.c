/* step_work.c: estimates the work of a step for dividing it among threads, in
 * FLOPs of a product that take equally long. A bad estimate costs time, but
 * never changes a result. */
#include "plan/plan_parts.h"

enum {
    ElementWork = 16, /* a number read and written */
    GatherWork = 64,  /* a number that needs its own cache line */
    MemoryRows = 8,   /* rows of a product that take as long as loading its
                         weights from memory */
    CacheRows = 2,    /* the same from a cache */
    NearRows = 8,     /* rows of a part whose weights are in its cache */
    TanhWork = 45
};

static int64_t row_elements(Type t)
{
    int64_t n = 1;
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i].sym == SymNone ? t.dim[i].c : 1;
    return n;
}

/* Counts a row's sums of products, and attention's per query and key; without
 * sums, the elements of the row. */
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

/* If a region's weights stay in each core's cache, a part may have few rows.
 * Otherwise weights are divided among parts, not read by each, while rows are
 * few. */
int64_t least_part_rows(const Plan *p, const Region *r)
{
    int64_t bytes = 0;
    for (int i = 0; i < r->count; i++) {
        const int node = p->order.at[r->first + i];
        if (is_product(node_at(p, node)))
            bytes += 2 * step_work(p, node); /* 4 n k bytes in f32 */
    }
    const int64_t rows = region_rows(p, r);
    return bytes <= NearBytes ? NearRows : rows < RowBlock ? rows : RowBlock;
}
