/* cost_model.c: lists the tilings of a task and predicts their times. For each
 * size with which a task is called, the cost model counts the multiply-adds and
 * loads of a register tile, and finds the cache level from which its operands
 * come. The model only ranks candidates; measurements decide. */
#include <math.h>

#include "tune/tuner.h"

static const int ports = 2;   /* FMAs per cycle, also loads per cycle */
static const int latency = 4; /* cycles until an FMA's result is ready */
static const double call_cycles = 30; /* cycles per call of a tile */

bool tiling_fits(const Target *t, const Tiling *tiling)
{
    const int vectors = (tiling->nr + t->width - 1) / t->width;
    const int all = t->registers > 0 ? t->registers : 16;
    return t->width == 1 ? tiling->mr <= 8
                         : tiling->mr * vectors + vectors + 1 <= all;
}

CostModel cost_model_of(CostModel m)
{
    m.shape = task_shape(m.plan, m.task);
    m.rows = m.keys = m.all_rows = 1;
    for (int i = 0; i < m.sizes.n; i++) {
        const CallSize *u = &m.sizes.at[i];
        m.rows = attn_max(m.rows, u->rows);
        m.keys = attn_max(m.keys, u->count);
        m.all_rows = attn_max(m.all_rows, u->rows * u->parts);
        m.by_columns |= u->by_columns;
    }
    return m;
}

CostModel cost_model(const Tuner *t, const Task *task)
{
    const int threads = t->report.host.threads;
    return cost_model_of(
        (CostModel){ .plan = t->engine.plan,
                     .machine = &t->report.machine,
                     .rates = &t->report.rates,
                     .task = task,
                     .threads = threads,
                     .sizes = task_call_sizes(t->arena, t->engine.plan, task,
                                              &t->works, threads) });
}

/* ---- values ---- */
typedef struct {
    int32_t at[40];
    int n;
} Values;

static void add_value(Values *v, int64_t x)
{
    for (int i = 0; i < v->n; i++)
        if (v->at[i] == x)
            return;
    if (v->n < 40)
        v->at[v->n++] = (int32_t)x;
}

static int64_t columns(const CostModel *m)
{
    const TaskShape *s = &m->shape;
    if (m->task->key.kind != TaskAttention)
        return round16(s->n);
    return attn_max(round16(s->d_v), ATTN_PAGE);
}

/* Adds `from` and its doublings (2x, 4x, ..) that are below `end`. */
static void add_doubles(Values *v, int64_t from, int64_t end)
{
    for (int64_t x = from > 0 ? from : 1; x < end; x *= 2)
        add_value(v, x);
}

/* True if all calls have fewer rows than the default tile. In that case the
 * tile height is not tuned, because the default is good for larger calls. */
static bool less_than_tile(const CostModel *m)
{
    return m->rows < m->task->defaults.mr;
}

/* Returns the values to try for a parameter of `t`, except its present value,
 * in ascending order. */
static Values parameter_values(const CostModel *m, int parameter,
                               const Tiling *t)
{
    Values v = { { 0 }, 0 };
    const int64_t rows = m->rows, last = tiling_parameters[parameter].most;
    switch (parameter) {
    case Tiling_mr:
        for (int i = 1; i <= last && i <= rows; i++)
            if (!less_than_tile(m))
                add_value(&v, i);
        break;
    case Tiling_nr:
        for (int i = ATTN_PANEL; i <= last && i <= columns(m); i += ATTN_PANEL)
            add_value(&v, i);
        break;
    case Tiling_k: add_doubles(&v, 256, (m->shape.k + 63) / 64 * 64); break;
    case Tiling_prefetch:
        add_value(&v, 1);
        for (int tiles = 1; tiles < last; tiles *= 2)
            add_value(&v, 1 + tiles);
        break;
    case Tiling_panels:
        if (m->by_columns)
            add_doubles(&v, 1, 16);
        break;
    case Tiling_queries:
        if (!less_than_tile(m))
            add_doubles(&v, t->mr, rows < 64 ? 2 * rows : 129);
        break;
    case Tiling_keys:
        if (!m->shape.holes)
            add_doubles(&v, ATTN_PAGE, 2 * m->keys < 1024 ? 2 * m->keys : 1024);
        break;
    case Tiling_small_m:
        add_value(&v, rows < m->task->defaults.small_m ? rows : rows + 1);
        break;
    case Tiling_streams:
        add_value(&v, 1);
        add_value(&v, 2);
        break;
    case Tiling_rows:
        for (int i = 0; i < 7; i++)
            add_value(&v, (int64_t[]){ 16, 24, 32, 64, 96, 128, 256 }[i]);
        break;
    case Tiling_work:
        for (int i = -4; i <= 4; i++)
            add_value(&v, (int64_t)ldexp((double)m->task->defaults.work, i));
        break;
    }
    return v;
}

static bool has_parameter(const CostModel *m, int parameter)
{
    return (tiling_parameters[parameter].tasks & On(m->task->key.kind)) != 0;
}

/* Adds the tiling if its values are valid. The tile of a product must also fit
 * in the registers, and either have enough accumulators to keep the FMA units
 * busy or be as tall as the calls. */
static void add_tiling(Arena *a, const CostModel *m, Tilings *to,
                       const Tiling *t)
{
    const Target *target = &m->plan->target;
    const int vectors = (t->nr + target->width - 1) / target->width;
    const bool fills = t->mr * vectors >= ports * latency || t->mr >= m->rows;
    if (tiling_valid(t, m->task->key.kind)
        && (!(On(m->task->key.kind) & OnProducts)
            || (tiling_fits(target, t) && fills)))
        vec_push(a, to, *t);
}

/* ---- space ---- */

/* Adds all combinations of values for parameter number `parameter` and all
 * later parameters. */
static void fill(Arena *a, const CostModel *m, Tilings *to, Tiling t,
                 int parameter)
{
    if (parameter == TilingParameters) {
        if (!tiling_same(&t, &m->task->defaults))
            add_tiling(a, m, to, &t);
        return;
    }
    Values v = parameter_values(m, parameter, &t);
    add_value(&v, tiling_get(&m->task->defaults, parameter));
    if (parameter == Tiling_panels && !m->by_columns)
        v = (Values){ { t.nr / ATTN_PANEL }, 1 }; /* only the default's value */
    if (!has_parameter(m, parameter))
        v = (Values){ { tiling_get(&t, parameter) }, 1 };
    for (int i = 0; i < v.n; i++) {
        tiling_set(&t, parameter, v.at[i]);
        fill(a, m, to, t, parameter + 1);
    }
}

Tilings tiling_space(Arena *a, const CostModel *m)
{
    Tilings all = { 0 };
    fill(a, m, &all, m->task->defaults, 0);
    return all;
}

/* Returns the next value above `now` if `up` is set, or below it; 0 if there is
 * none. */
static int32_t step_from(const Values *v, int32_t now, bool up)
{
    int32_t best = 0;
    for (int i = 0; i < v->n; i++) {
        const int32_t x = v->at[i];
        if ((up ? x > now && (!best || x < best)
                : x < now && (!best || x > best)))
            best = x;
    }
    return best;
}

Tilings tiling_neighbours(Arena *a, const CostModel *m, const Tiling *t)
{
    Tilings near = { 0 };
    for (int parameter = 0; parameter < TilingParameters; parameter++) {
        if (!has_parameter(m, parameter))
            continue;
        Values v = parameter_values(m, parameter, t);
        add_value(&v, tiling_get(&m->task->defaults, parameter));
        for (int up = 0; up < 2; up++) {
            Tiling next = *t;
            tiling_set(&next, parameter,
                       step_from(&v, tiling_get(t, parameter), up));
            if (tiling_get(&next, parameter))
                add_tiling(a, m, &near, &next);
        }
    }
    return near;
}

/* ---- time ---- */
static double rate(const CostModel *m, Level level)
{
    const double r = m->rates->read[level];
    return (r > 0 ? r : 1e10) / m->threads; /* rate of one thread */
}

static double cycle_rate(const CostModel *m)
{
    return m->rates->fma / m->threads / (2.0 * ports * m->plan->target.width);
}

/* Returns the numbers of k that one instruction adds to a sum. */
static double k_per_step(const CostModel *m)
{
    const Arithmetic a = m->task->key.arithmetic;
    return a == ArithmeticBf16x3                          ? 1.0 / 3
         : a == ArithmeticBf16Dp && m->plan->target.pairs ? 2
                                                          : 1;
}

/* Returns the seconds of a product of rows x k with k x n, whose B is in a
 * cache. Tiles have roughly equal heights, and each column of tiles reads its
 * part of B again. */
static double product_seconds(const CostModel *m, const Tiling *t, double rows,
                              double k, double n, double k_block)
{
    const double width = m->plan->target.width;
    const double tiles = ceil(rows / t->mr), mr = rows / tiles;
    const double v = fmin(t->nr, n) / width;
    double cycles = fmax(mr * v / ports, (mr + v) / ports);
    cycles = fmax(cycles, latency) * k / k_per_step(m);
    cycles += ceil(k / k_block) * (call_cycles + 2 * mr * v);
    const double times = tiles * ceil(n / t->nr);
    double seconds = times * cycles / cycle_rate(m);
    const double l1 = (double)m->machine->cache[LevelL1];
    const double near = fmin(k, k_block) * 4;
    if (near * (t->nr + mr) > l1) /* each tile reads B again */
        seconds += (tiles - 1) * n * k * 4 / rate(m, LevelL2) / 2;
    if (near * rows > l1 / 2) /* each column reads A again */
        seconds += ceil(n / t->nr) * rows * k * 4 / rate(m, LevelL2) / 4;
    return seconds;
}

/* Returns the seconds of computing and reading together. They overlap more if B
 * is prefetched. */
static double together(double compute, double read, bool prefetch)
{
    return fmax(compute, read) + (prefetch ? 0.1 : 0.4) * fmin(compute, read);
}

static double use_seconds(const CostModel *m, const Tiling *t,
                          const CallSize *u)
{
    const TaskShape *s = &m->shape;
    const double rows = (double)u->rows;
    if (m->task->key.kind == TaskAttention) {
        const double keys = (double)u->count, block = t->keys;
        const double q = fmin(t->queries, rows), blocks = ceil(rows / q);
        const double page = fmin(block, keys), n = ceil(keys / page);
        return blocks * n
                 * (product_seconds(m, t, q, (double)s->d_k, page, 1e9)
                    + product_seconds(m, t, q, page, (double)s->d_v, 1e9)
                    + q * (page * 2 / m->plan->target.width + 20)
                          / cycle_rate(m))
             + keys * (double)(s->d_k + s->d_v) * 4 * blocks / rate(m, LevelL2);
    }
    const double parts = u->by_columns ? (double)u->parts : 1;
    const double n = (double)round16(s->n) / parts, k = (double)s->k;
    const double bytes = n
                       * (double)dtype_column_bytes(m->task->key.dtype, s->k);
    const double read = bytes / rate(m, machine_level(m->machine, u->set));
    if (m->task->key.kind == TaskSmallM) {
        const Tiling nest = { .mr = 6, .nr = 64 };
        const bool small = u->rows < t->small_m;
        return small ? read * (t->streams == 2 ? 1.0 : 1.15)
                     : together(product_seconds(m, &nest, rows, k, n, 1e9),
                                read, true);
    }
    return together(product_seconds(m, t, rows, k, n, t->k), read,
                    t->prefetch > 1);
}

double tiling_seconds(const CostModel *m, const Tiling *t)
{
    const TaskKind kind = m->task->key.kind;
    const int own = kind == TaskRows ? Tiling_rows : Tiling_work;
    double sum = 0, calls = 0;
    if (kind > TaskAttention) /* a rough rank: the distance from the default */
        return 1
             + fabs(log2((double)tiling_get(t, own)
                         / tiling_get(&m->task->defaults, own)));
    for (int i = 0; i < m->sizes.n; i++) {
        sum += m->sizes.at[i].calls * use_seconds(m, t, &m->sizes.at[i]);
        calls += m->sizes.at[i].calls;
    }
    return calls > 0 ? sum / calls : 0;
}
