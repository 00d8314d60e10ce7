/* tasks.c: the tasks of a plan and their tilings. The computation identifies a
 * task, so a tiling found for one model (Plan.choices) also serves others.
 * identity.c decides if two tasks are equal. */
#include "plan/plan_parts.h"

#include <xxhash.h>

static int64_t round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static const char *by(const Plan *p, int64_t a, int64_t b)
{
    return arena_printf(p->arena_, "%lldx%lld", (long long)a, (long long)b);
}

/* ---- tilings ---- */

static void apply_default(int32_t *parameter, int64_t defaults)
{
    if (*parameter == 0)
        *parameter = (int32_t)defaults;
}

/* Returns a number of queries that fills complete tiles but is small enough
 * that their scores and outputs stay in the cache next to a page of keys. */
static int64_t default_queries(int64_t mr)
{
    const int64_t tiles = RowBlock / mr;
    return mr * (tiles > 0 ? tiles : 1);
}

/* Returns the default of small_m: 1 + the maximum rows of a small M. Weights
 * from memory are read once for all these rows. If the weights come from a
 * shared cache, measurements show that one or two rows are also faster with two
 * streams. */
static int64_t default_small_m(const Plan *p)
{
    if (p->small_m)
        return p->target.small_m_mr + 1;
    return p->pack.bytes > NearBytes ? p->target.near_small_m + 1 : 1;
}

/* Measured tile sizes of products with other weights than f32, by vector width.
 * The tiles use all registers that the products leave free. `wide`: the machine
 * widens panels of integers (target_widens()). */
static const struct {
    int width;
    bool wide;
    Dtype dtype;
    Arithmetic arithmetic;
    int mr, nr;
} dtype_tiles[] = {
    { 16, false, DtypeBf16, ArithmeticF32, 5, 64 },
    { 16, false, DtypeBf16, ArithmeticBf16Dp, 5, 64 },
    { 16, false, DtypeBf16, ArithmeticBf16Amx, 3, 64 },
    { 16, false, DtypeBf16x2, ArithmeticBf16x3, 3, 64 },
    { 16, false, DtypeInt8, ArithmeticInt8, 6, 64 },
    { 16, false, DtypeInt8, ArithmeticInt15, 3, 64 },
    { 16, false, DtypeInt4, ArithmeticInt8, 10, 32 },
    { 16, false, DtypeInt4, ArithmeticInt15, 5, 32 },
    { 8, false, DtypeBf16, ArithmeticF32, 5, 16 },
    { 8, false, DtypeBf16, ArithmeticBf16Dp, 4, 16 },
    { 8, false, DtypeBf16, ArithmeticBf16Amx, 2, 16 },
    { 8, false, DtypeBf16x2, ArithmeticBf16x3, 2, 16 },
    { 8, false, DtypeInt8, ArithmeticInt8, 5, 16 },
    { 8, false, DtypeInt8, ArithmeticInt15, 3, 16 },
    { 8, false, DtypeInt4, ArithmeticInt8, 4, 16 },
    { 8, false, DtypeInt4, ArithmeticInt15, 2, 16 },
    { 8, true, DtypeBf16, ArithmeticF32, 5, 16 },
    { 8, true, DtypeBf16, ArithmeticBf16Dp, 4, 16 },
    { 8, true, DtypeBf16, ArithmeticBf16Amx, 2, 16 },
    { 8, true, DtypeBf16x2, ArithmeticBf16x3, 2, 16 },
    { 8, true, DtypeInt8, ArithmeticInt8, 6, 16 },
    { 8, true, DtypeInt8, ArithmeticInt15, 3, 16 },
    { 8, true, DtypeInt4, ArithmeticInt8, 6, 16 },
    { 8, true, DtypeInt4, ArithmeticInt15, 3, 16 },
};

/* Sets both sizes of a tile, unless either is given. */
static void default_of_dtype(const Target *m, const TaskKey *key, Tiling *by)
{
    const Dtype like = dtype_shared(key->dtype) ? DtypeInt4 : key->dtype;
    for (size_t i = 0; i < sizeof dtype_tiles / sizeof *dtype_tiles; i++)
        if (dtype_tiles[i].width == m->width
            && dtype_tiles[i].wide == target_widens(m)
            && dtype_tiles[i].dtype == like
            && dtype_tiles[i].arithmetic == key->arithmetic && by->mr == 0
            && by->nr == 0 && m->tile_from != FromOption) {
            by->mr = dtype_tiles[i].mr;
            by->nr = dtype_tiles[i].nr;
        }
}

Tiling tiling_with_defaults(const Target *m, const TaskKey *key, int64_t k,
                            Tiling by)
{
    const TaskKind kind = key->kind;
    if (kind == TaskMatmul)
        default_of_dtype(m, key, &by);
    const bool tall = kind == TaskMatmul && by.mr == 0 && by.nr == 0
                   && 4 * m->nr * k > m->cache[0];
    switch (kind) {
    case TaskMatmul:
    case TaskAttention:
        apply_default(&by.mr, tall ? m->tall_mr : m->mr);
        apply_default(&by.nr, tall ? m->tall_nr : m->nr);
        apply_default(&by.prefetch, DefaultPrefetch);
        break;
    case TaskSmallM:
        apply_default(&by.streams, m->small_m_nr / ATTN_PANEL);
        break;
    case TaskRows:  apply_default(&by.rows, m->row_block); break;
    case TaskSplit: apply_default(&by.work, m->part_work); break;
    case TaskKinds: break;
    }
    if (kind == TaskMatmul) {
        const int64_t all = round_up(k, 64),
                      most = tiling_parameters[Tiling_k].most;
        apply_default(&by.k, target_sum_block(m, by.mr, by.nr, k));
        if (by.k == 0 || by.k > all || by.k == k
            || dtype_is_integer(key->dtype)) /* these sums are never split
                                                into blocks */
            by.k = (int32_t)(all < most ? all : most);
        apply_default(&by.panels, by.nr / ATTN_PANEL);
    }
    if (kind == TaskAttention) {
        apply_default(&by.queries, default_queries(by.mr));
        apply_default(&by.keys, ATTN_PAGE);
    }
    return by;
}

/* Returns the default number of rows per block, which depends on the cost of
 * re-reading the weights of all its steps. */
static int64_t default_rows_of(const Plan *p, const Task *t)
{
    const Region *r = &p->region.at[p->region_of[t->node]];
    int64_t bytes = 0, numbers = 0;
    for (int i = 0; i < r->count; i++) {
        const Node *n = node_at(p, p->order.at[r->first + i]);
        if (!is_product(n))
            continue;
        const Type *w = &node_at(p, n->in[1])->type;
        const int64_t k = matrix_columns(*w), all = round16(matrix_rows(*w));
        numbers += k * all;
        bytes += dtype_column_bytes(dtype_of(*w), k) * all;
    }
    return target_row_block(&p->target, bytes, numbers);
}

static Tiling with_defaults(const Plan *p, const Task *t, Tiling by)
{
    const TaskShape s = task_shape(p, t);
    if (t->key.kind == TaskRows)
        apply_default(&by.rows, default_rows_of(p, t));
    by = tiling_with_defaults(&p->target, &t->key, s.k, by);
    if (t->key.kind == TaskSmallM)
        apply_default(&by.small_m, default_small_m(p));
    if (s.holes) /* such a mask is read key by key, not in blocks */
        by.keys = ATTN_PAGE;
    return by;
}

static const Tiling *chosen(const Plan *p, const TaskKey *key)
{
    const Choices *c = &p->choices;
    for (int i = 0; i < c->n; i++)
        if (task_same(&c->at[i].key, key)
            && tiling_valid(&c->at[i].tiling, key->kind))
            return &c->at[i].tiling;
    return NULL;
}

static void choose(const Plan *p, Task *t)
{
    const Tiling *by = chosen(p, &t->key);
    const bool option = On(t->key.kind) & OnProducts
                     && p->target.tile_from == FromOption;
    t->defaults = with_defaults(p, t, (Tiling){ 0 });
    t->tiling = by ? *by : (Tiling){ 0 };
    if (option)
        t->tiling.mr = t->tiling.nr = 0;
    t->tiling = with_defaults(p, t, t->tiling);
    t->from = option ? FromOption : by ? FromTuned : FromDefault;
}

Tiling plan_tile(const Plan *p)
{
    return (Tiling){ .mr = p->target.mr,
                     .nr = p->target.nr,
                     .prefetch = DefaultPrefetch };
}

/* ---- the list ---- */

/* Returns the index of the task with this identity, adding the task if it is
 * new. */
static int place(Plan *p, int node, TaskIdentity is)
{
    int i = 0;
    while (i < p->task.n && !identity_same(&p->task.at[i].is, &is))
        i++;
    if (i == p->task.n)
        vec_push(p->arena_, &p->task, ((Task){ .is = is, .node = node }));
    return i;
}

static void add(Plan *p, int node, TaskIdentity is)
{
    p->task_of[is.kind][node] = place(p, node, is);
}

/* Sets the key and the name of every task. */
static void name_tasks(Plan *p)
{
    const int n = p->task.n;
    bool *twice = arena_alloc(p->arena_, (size_t)n * sizeof *twice);
    for (int i = 0; i < n; i++) {
        Task *t = &p->task.at[i];
        t->key = task_key(p->arena_, &t->is, true);
        t->name = task_key(p->arena_, &t->is, false);
        for (int k = 0; k < i; k++)
            if (task_same(&p->task.at[k].name, &t->name))
                twice[i] = twice[k] = true;
    }
    for (int i = 0; i < n; i++)
        if (twice[i])
            p->task.at[i].name = p->task.at[i].key;
}

static uint64_t hash_of(const MaskSpec *m)
{
    const size_t bits = (size_t)(m->file_rows * m->file_columns);
    return XXH3_64bits_withSeed(m->file, bits, (XXH64_hash_t)m->file_columns);
}

static void find_masks(Plan *p)
{
    for (int o = 0; o < p->order.n; o++) {
        const MaskSpec *m = node_at(p, p->order.at[o])->mask;
        int i = 0;
        while (i < p->mask.n && p->mask.at[i].is != m)
            i++;
        if (m && m->file && i == p->mask.n)
            vec_push(p->arena_, &p->mask, ((FileMask){ m, hash_of(m) }));
    }
}

static void add_products(Plan *p, TaskKind kind)
{
    for (int o = 0; o < p->order.n; o++)
        if (has_product(node_at(p, p->order.at[o])))
            add(p, p->order.at[o], product_identity(p, kind, p->order.at[o]));
}

void plan_tasks(Plan *p)
{
    const int n = p->g->nodes.n;
    for (int kind = 0; kind < TaskKinds; kind++) {
        p->task_of[kind] = arena_alloc(p->arena_, (size_t)n * sizeof(int));
        for (int i = 0; i < n; i++)
            p->task_of[kind][i] = -1;
    }
    find_masks(p);
    add_products(p, TaskMatmul);
    if (p->target.small_m_mr)
        add_products(p, TaskSmallM);
    for (int o = 0; o < p->order.n; o++)
        if (node_at(p, p->order.at[o])->op == OpAttention)
            add(p, p->order.at[o], attention_identity(p, p->order.at[o]));
    for (int i = 0; i < p->region.n; i++) {
        const Region *r = &p->region.at[i];
        if (!r->row_block)
            continue;
        const int rows = place(p, p->order.at[r->first], rows_identity(p, r));
        for (int k = 0; k < r->count; k++)
            p->task_of[TaskRows][p->order.at[r->first + k]] = rows;
    }
    const int split = p->order.n ? place(p, -1, split_identity(p)) : -1;
    for (int o = 0; o < p->order.n; o++)
        p->task_of[TaskSplit][p->order.at[o]] = split;
    name_tasks(p);
    for (int i = 0; i < p->task.n; i++)
        choose(p, &p->task.at[i]);
}

const Task *plan_task(const Plan *p, TaskKind kind, int node)
{
    const int i = p->task_of[kind][node];
    return i < 0 ? NULL : &p->task.at[i];
}

/* True if no earlier product has a tile of the same size. */
static bool first_of_size(const Plan *p, int task)
{
    const Tiling *t = &p->task.at[task].tiling;
    for (int i = 0; i < task; i++) {
        const Task *other = &p->task.at[i];
        if (On(other->key.kind) & OnProducts && other->tiling.mr == t->mr
            && other->tiling.nr == t->nr)
            return false;
    }
    return true;
}

const char *plan_tiles(const Plan *p, TilingFrom *from)
{
    const char *sizes = "";
    *from = p->target.tile_from;
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        if (t->from == FromTuned)
            *from = t->from;
        if (!(On(t->key.kind) & OnProducts))
            continue;
        if (first_of_size(p, i))
            sizes = arena_printf(p->arena_, "%s%s%s", sizes, *sizes ? " " : "",
                                 by(p, t->tiling.mr, t->tiling.nr));
    }
    return *sizes ? sizes : by(p, p->target.mr, p->target.nr);
}

int64_t region_rows(const Plan *p, const Region *r)
{
    const Task *t = plan_task(p, TaskRows, p->order.at[r->first]);
    return t ? t->tiling.rows : p->target.row_block;
}

/* ---- what a task is, in numbers ---- */

AttentionScratch attention_scratch(int64_t keys, int64_t d_v)
{
    AttentionScratch s = { .outputs = keys };
    s.sums = s.outputs + round16(d_v);
    s.maxima = s.sums + ATTN_PANEL;
    s.end = s.maxima + 1;
    return s;
}

int64_t scratch_floats(int64_t queries, int64_t keys, int64_t d_v)
{
    return round16(queries * attention_scratch(keys, d_v).end);
}

TaskShape task_shape(const Plan *p, const Task *t)
{
    TaskShape s = { 0 };
    if (t->key.kind > TaskAttention)
        return s;
    const Node *n = node_at(p, t->node), *b = node_at(p, n->in[1]);
    if (t->key.kind != TaskAttention) {
        s.k = matrix_columns(b->type);
        s.n = matrix_rows(b->type);
        s.bias = n->op == OpLinear && n->has_bias;
        s.residual = n->op == OpLinear && n->has_residual;
        s.weights = s.k * round16(s.n);
        return s;
    }
    s.d_k = b->type.dim[2].c;
    s.d_v = node_at(p, n->in[2])->type.dim[2].c;
    s.bias = n->bias != BiasNone;
    s.paged = b->op != OpPackKv;
    s.holes = n->mask && n->mask->file;
    s.scratch = scratch_floats(t->tiling.queries, t->tiling.keys, s.d_v);
    return s;
}

/* Returns the largest scratch that a part needs: for attention, that of a block
 * of queries; for unfused attention, whose scores are in the arena, that of a
 * tile of rows. Behind it is the memory of a page that is widened to f32. */
int64_t plan_scratch(const Plan *p)
{
    int64_t floats = 0;
    for (int i = 0; i < p->task.n; i++) {
        const int64_t need = task_shape(p, &p->task.at[i]).scratch;
        floats = need > floats ? need : floats;
    }
    for (int o = 0; o < p->order.n; o++) {
        const Node *n = node_at(p, p->order.at[o]);
        const bool units = p->g->spec->cache_store == StoreInt8;
        const int64_t keys = units ? ATTN_PAGE : 0; /* weights times units */
        const int64_t need = n->op == OpContext
                               ? scratch_floats(p->target.mr, keys,
                                                n->type.dim[2].c)
                               : 0;
        floats = need > floats ? need : floats;
    }
    return floats + widened_floats(p);
}
