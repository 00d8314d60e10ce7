/* fixed.c: uses lengths that a spec's `fix` makes constant: finds the regions
 * that are then never divided, and chooses tiles that suit the number of
 * rows. */
#include "plan/plan_parts.h"

int64_t plan_length(const Plan *p, Sym s)
{
    return s == SymNone || s == SymR ? 0 : rows_of(p->g->spec, s).fixed;
}

int64_t plan_rows(const Plan *p, Sym s)
{
    const int64_t batch = plan_length(p, SymS);
    return s == SymS ? batch : batch * plan_length(p, s);
}

/* Returns the maximum rows for a symbol. The selected rows (SymR) are at most
 * the new rows. */
static int64_t most_rows(const Plan *p, Sym s)
{
    return plan_rows(p, s == SymR ? SymT : s);
}

int64_t region_block(const Plan *p, const Region *r)
{
    const Type t = node_at(p, p->order.at[r->first])->type;
    const int64_t block = region_rows(p, r);
    const int64_t rows = most_rows(p, row_sym(t)) * row_times(t);
    return rows && rows < block ? rows : block;
}

/* ---- what is never divided ---- */

/* True if all steps of a region can be emitted undivided. */
static bool has_whole_text(const Plan *p, const Region *r)
{
    for (int i = 0; i < r->count; i++) {
        const Node *n = node_at(p, p->order.at[r->first + i]);
        const OpInfo *op = &op_info[n->op];
        const bool rows = op->op_class == ClassRow || op->op_class == ClassSink;
        if (!op->whole
            || (rows
                && (!r->by_rows
                    || graph_routes(p->g, p->order.at[r->first]) >= 0)))
            return false;
        if (n->op == OpLinear && n->nin > InRoutes)
            return false;
    }
    return true;
}

/* Returns the rows that a step processes or, for attention, the query-key
 * pairs. */
static int64_t most_work(const Plan *p, const Node *n, int64_t rows)
{
    if (n->op != OpAttention)
        return rows < least_work_rows(p) ? least_work_rows(p) : rows;
    const Dim keys = node_at(p, n->in[1])->type.dim[1];
    const int64_t least = LeastWorkQueries * plan_rows(p, SymS);
    return (rows < least ? least : rows) * (keys.fixed ? keys.fixed : keys.c);
}

/* Returns the maximum rows that a node's region processes; 0: unknown. A cache
 * write processes only the new rows, a pool all rows of a sequence. */
static int64_t region_most(const Plan *p, const Node *n)
{
    if (n->op == OpPool && !most_rows(p, row_sym(node_at(p, n->in[0])->type)))
        return 0;
    const Type t = n->op == OpAppend ? node_at(p, n->in[0])->type : n->type;
    return most_rows(p, row_sym(t)) * row_times(t);
}

static bool is_whole(const Plan *p, const Region *r)
{
    const Node *n = node_at(p, p->order.at[r->first]);
    const int64_t rows = region_most(p, n);
    int64_t flops = 0;
    if (p->g->spec->fix.ranks > 1 || rows == 0 || !has_whole_text(p, r)
        || (r->row_block && rows > region_block(p, r)))
        return false;
    if (p->g->spec->fix.threads == 1)
        return true;
    for (int i = 0; i < r->count; i++)
        flops += step_work(p, p->order.at[r->first + i]);
    return most_work(p, n, rows) * flops
         < 2 * (int64_t)plan_task(p, TaskSplit, p->order.at[0])->tiling.work;
}

void plan_divisions(Plan *p)
{
    for (int i = 0; i < p->region.n; i++) {
        Region *r = &p->region.at[i];
        r->undivided = is_whole(p, r);
        p->divided[r->entry] |= !r->undivided;
        p->rows_divided[r->entry] |= r->by_rows && !r->undivided;
    }
}

bool plan_divided(const Plan *p)
{
    return p->divided[EntryEncode] || p->divided[EntryDecode];
}

AffineSize plan_units(const Plan *p, Entry entry)
{
    AffineSize u = { .sequences = plan_rows(p, SymS),
                     .parts = !p->divided[entry] };
    u.rows = plan_rows(p, entry == EntryEncode ? SymN : SymT);
    if (p->g->spec->kind == KindAttention) {
        const int64_t keys = plan_rows(p, SymM);
        u.rows = !u.rows || !keys ? 0 : u.rows > keys ? u.rows : keys;
    }
    return u;
}

int64_t plan_floats(const Plan *p, Entry entry, AffineSize batch)
{
    const AffineSize fixed = plan_units(p, entry);
    return affine_at(p->arena[entry], fixed.rows ? fixed.rows : batch.rows,
                     fixed.sequences ? fixed.sequences : batch.sequences,
                     fixed.parts ? fixed.parts : batch.parts);
}

/* ---- tiles ---- */

typedef struct { /* a product with a known number of rows */
    int64_t rows, k, n;
} FixedProduct;

/* Approximate cycles that a tile spends outside its sums (first loads, stores,
 * loop end), and cycles per line of a panel larger than L1, which is loaded
 * while FMAs run. */
static const double tile_cost = 30, line_cost = 0.1;

/* Returns the cycles of a product with tiles of mr x nr, whose heights differ
 * by at most one row. Each step of a sum is bound by its FMAs, its loads, or
 * the four cycles of latency of an accumulator. */
static double tile_cycles(const Target *t, const FixedProduct *of, int mr,
                          int nr)
{
    const int64_t rows = (of->rows + mr - 1) / mr;
    const double tiles = (double)(rows * ((of->n + nr - 1) / nr));
    const double v = (double)nr / t->width, k = (double)of->k;
    const double height = (double)of->rows / (double)rows;
    double cycles = height * v / t->fmas, lines = 0;
    if (cycles < (height + v) / 2)
        cycles = (height + v) / 2;
    if (cycles < 4)
        cycles = 4;
    if (4 * nr * of->k > t->cache[0] / 4 * 3)
        lines = nr * k / 16;
    return tiles * (cycles * k + tile_cost + lines * line_cost);
}

/* Returns the cycles of a product whose last columns need narrower tiles. */
static double product_cycles(const Target *t, const FixedProduct *of, int mr,
                             int nr)
{
    FixedProduct rest = *of;
    double cycles = 0;
    for (int step = nr; step > 0; step -= ATTN_PANEL) {
        FixedProduct some = rest;
        some.n = rest.n / step * step;
        rest.n -= some.n;
        if (some.n)
            cycles += tile_cycles(t, &some, mr, step);
    }
    return cycles;
}

static bool fits(const Target *t, int mr, int nr)
{
    const int v = nr / t->width;
    return v > 0 && mr * v + v + 1 <= t->registers;
}

static void best_tile(const Target *t, const FixedProduct *of, int32_t *mr,
                      int32_t *nr)
{
    double best = product_cycles(t, of, *mr, *nr);
    if (t->width == 1)
        return;
    for (int columns = 4 * ATTN_PANEL; columns > 0; columns -= ATTN_PANEL)
        for (int rows = 16; rows > 0; rows--) {
            if (!fits(t, rows, columns) || rows > of->rows)
                continue;
            const double cycles = product_cycles(t, of, rows, columns);
            if (cycles < best) {
                best = cycles;
                *mr = rows;
                *nr = columns;
            }
        }
}

Tiling plan_tile_of(const Plan *p, int64_t rows, int64_t k, int64_t n)
{
    const FixedProduct of = { rows, k, n };
    Tiling by = plan_tile(p);
    best_tile(&p->target, &of, &by.mr, &by.nr);
    const int64_t tiles = (rows + by.mr - 1) / by.mr;
    by.mr = (int32_t)((rows + tiles - 1) / tiles);
    by.prefetch = DefaultPrefetch;
    return by;
}

Tiling plan_fixed_tiling(const Plan *p, int product)
{
    const Task *t = plan_task(p, TaskMatmul, product);
    const TaskShape shape = task_shape(p, t);
    const Node *n = node_at(p, product);
    if (t->from != FromDefault)
        return t->tiling;
    const Tiling by = plan_tile_of(p, plan_rows(p, row_sym(n->type)), shape.k,
                                   round16(shape.n));
    return tiling_with_defaults(&p->target, &t->key, shape.k,
                                (Tiling){ .mr = by.mr, .nr = by.nr });
}

bool plan_fixed(const Plan *p)
{
    const SpecFix *fix = &p->g->spec->fix;
    return fix->source > 0 || fix->target > 0 || fix->query > 0 || fix->key > 0
        || fix->batch > 0;
}

static const char *add_length(const Plan *p, const char *text, const char *key,
                              int64_t n, int64_t least)
{
    return n < least ? text
                     : arena_printf(p->arena_, "%s%s%s %lld", text,
                                    *text ? ", " : "", key, (long long)n);
}

const char *plan_fixed_text(const Plan *p)
{
    const SpecFix *fix = &p->g->spec->fix;
    const char *s = add_length(p, "", "source", fix->source, 1);
    s = add_length(p, s, "query", fix->query, 1);
    s = add_length(p, s, "key", fix->key, 1);
    s = add_length(p, s, "target", fix->target, 1);
    s = add_length(p, s, "past", fix->past, 0);
    s = add_length(p, s, "batch", fix->batch, 1);
    return add_length(p, s, "threads", fix->threads, 1);
}
