/* cost.c: computes the cost of each node in a call from the graph and the
 * lengths of the sentences: useful operations, bytes of weights, and bytes of
 * values between nodes. */
#include <math.h>

#include "bench/bench.h"
#include "plan/plan.h"

typedef int64_t Lengths[SymS + 1];

static int64_t dim_of(Dim d, const Lengths length)
{
    if (d.sym == SymNone)
        return d.c;
    return length[d.sym] * (d.times > 0 ? d.times : 1);
}

static int64_t type_rows(Type t, const Lengths length)
{
    return t.rank < 2 ? 1 : dim_of(t.dim[t.rank - 2], length);
}

static double elements(Type t, const Lengths length)
{
    double n = 1.0;
    for (int i = 0; i < t.rank; i++)
        n *= (double)dim_of(t.dim[i], length);
    return n;
}

/* True for a weight, or a value computed only from weights. */
static bool is_const(const Graph *g, int node)
{
    return g->nodes.at[node].entry == EntryNone;
}

static bool has_keys(const Graph *g, const Node *n)
{
    return n->nin > 1 && n->in[1] >= 0 && !is_const(g, n->in[1]);
}

/* Returns the number of keys of an attention op; for other ops, the number of
 * rows. */
static int64_t keys_of(const Graph *g, const Node *n, const Lengths length)
{
    return type_rows(has_keys(g, n) ? g->nodes.at[n->in[1]].type : n->type,
                     length);
}

/* Returns the average number of keys that a row sees. */
static int64_t keys_seen(const Graph *g, int node, int64_t rows, int64_t keys)
{
    const Node *n = &g->nodes.at[node];
    return n->mask && has_keys(g, n)
             ? (node_pairs(g, node, rows, keys) + rows / 2) / rows
             : keys;
}

static double elem_bytes(Type t)
{
    const RowFormat *f = &row_formats[elem_arithmetic(t.elem)];
    return f->kernel ? (double)(f->bytes * f->planes)
                     : dtype_number_bytes(elem_dtype(t.elem));
}

static bool looks_up(const Node *n)
{
    return n->op == OpEmbed || n->op == OpPosition || n->op == OpRotate;
}

/* Returns the fraction of the experts' weights that the call's rows can select
 * at most; 1 if the node reads all its weights. */
static double share_of(const Graph *g, const Node *n, const EntryCall *c)
{
    if (n->op != OpLinear || n->nin <= InRoutes)
        return 1;
    const double rows = (double)(c->start[c->sequences] - c->start[0]);
    const double experts = (double)g->nodes.at[n->in[InRoutes]].experts;
    return fmin(1, rows * (double)row_times(n->type) / experts);
}

/* Returns the bytes of weights that a node reads: all of each matrix, except
 * that a look-up reads one table row per row of its result. */
static double weight_bytes(const Graph *g, const Node *n, const Lengths length)
{
    double bytes = 0.0;
    for (int i = 0; i < n->nin; i++) {
        if (n->in[i] < 0 || !is_const(g, n->in[i]))
            continue;
        const Type t = g->nodes.at[n->in[i]].type;
        bytes += elem_bytes(t)
               * (looks_up(n)
                      ? (double)(type_rows(n->type, length) * t.dim[1].c)
                      : elements(t, length));
    }
    return bytes;
}

/* True if the op selects rows of its input and does not read the others. */
static bool chooses(const Node *n)
{
    return n->op == OpSelect
        || (n->op == OpPool && (n->pool == PoolClass || n->pool == PoolLast));
}

/* True if the node reads input i from a cache of keys or values. */
static bool from_cache(const Graph *g, const Node *n, int i)
{
    const Op op = g->nodes.at[n->in[i]].op;
    return op == OpRecall || op == OpAppend;
}

/* Returns the bytes of values that a node reads and writes: in a cache if
 * `cached` is set, otherwise outside. Keys that are masked for every row are
 * not read. A cache write counts the rows of its input twice, because they are
 * read and written. */
static double value_bytes(const Graph *g, const Node *n, const Lengths length,
                          int64_t seen, bool cached)
{
    const bool append = n->op == OpAppend;
    static const double stored[] = {
        [StoreF32] = 4, [StoreBf16] = 2, [StoreInt8] = 1
    };
    const double element = cached ? stored[g->spec->cache_store] : 4;
    double bytes = append || cached ? 0.0 : 4.0 * elements(n->type, length);
    for (int i = 0; i < n->nin; i++) {
        if (n->in[i] < 0 || is_const(g, n->in[i])
            || from_cache(g, n, i) != cached)
            continue;
        const Type t = chooses(n) ? n->type : g->nodes.at[n->in[i]].type;
        const double keys = (double)type_rows(t, length);
        const double read = (double)(seen + type_rows(n->type, length));
        const bool masked = n->mask && i > 0 && read < keys;
        bytes += element * elements(t, length) * (masked ? read / keys : 1.0)
               * (append ? 2.0 : 1.0);
    }
    return bytes;
}

/* Returns how many bytes of value_bytes() are written: the result or, for a
 * cache write, half. */
static double written_bytes(const Graph *g, const Node *n, const Lengths length,
                            int64_t seen)
{
    return n->op == OpAppend ? value_bytes(g, n, length, seen, false) / 2
                             : 4.0 * elements(n->type, length);
}

/* True if a node reads cross-attention keys from the cache. These are counted
 * once for all sequences that share a source. */
static bool reads_cross(const Graph *g, const Node *n)
{
    return n->nin > 1 && n->in[1] >= 0 && g->nodes.at[n->in[1]].op == OpRecall;
}

/* Returns the number of rows that a node processes: those of its result or, for
 * a pool, of its input. */
static int64_t rows_of_node(const Graph *g, const Node *n, const Lengths length)
{
    return type_rows(n->op == OpPool ? g->nodes.at[n->in[0]].type : n->type,
                     length);
}

/* AMX multiplies two pairs of bytes in the time of one pair of bf16 numbers. */
static void add_operations(Cost *to, const Plan *p, int node, int64_t rows,
                           int64_t keys)
{
    const Graph *g = p->g;
    const Node *n = &g->nodes.at[node];
    const int64_t times = row_times(n->type);
    const double all = (double)node_flops(g, node, rows / times, keys);
    const bool product = n->op == OpMatmul || n->op == OpLinear;
    const Type *x = n->nin > 0 ? &g->nodes.at[n->in[0]].type : NULL;
    const RowFormat *f =
        &row_formats[product ? elem_arithmetic(x->elem) : ArithmeticF32];
    const double sums = f->kernel
                          ? (double)node_sums(g, node, rows / times, keys, 1)
                          : 0;
    const bool three = f == &row_formats[ArithmeticBf16x3];
    const bool blocks = three || f == &row_formats[ArithmeticBf16Amx];
    const double products = three ? 3 : f->planes;
    to->flops += all - sums;
    if (f->scaled || (blocks && p->target.amx))
        to->dots += (blocks ? 2 : 1) * products * sums;
    else
        *(blocks ? &to->flops : &to->pairs) += products * sums;
}

/* Adds the weights that scans read again: a scan has one step per row of the
 * longest sequence, and reads the recurrent weights in each step. */
static void add_scans(const Plan *p, const EntryCall *c, int64_t steps,
                      Cost *cost)
{
    for (int i = 0; i < p->g->nodes.n; i++)
        if (p->g->nodes.at[i].op == OpRecurrent
            && p->g->nodes.at[i].entry == c->entry && p->region_of[i] >= 0) {
            cost[i].scan = cost[i].weights;
            cost[i].again += (double)(steps - 1) * cost[i].scan;
        }
}

/* Adds the costs of sequence s of the call. */
static void count_sequence(const Plan *p, const EntryCall *c,
                           const Lengths length, int64_t s, Cost *cost)
{
    const Graph *g = p->g;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->entry != c->entry || p->region_of[i] < 0)
            continue;
        const int64_t rows = rows_of_node(g, n, length);
        const int64_t keys = keys_of(g, n, length);
        const int64_t seen = keys_seen(g, i, rows, keys);
        add_operations(&cost[i], p, i, rows, keys);
        cost[i].values += value_bytes(g, n, length, seen, false);
        cost[i].written += written_bytes(g, n, length, seen);
        if (s % c->group == 0 || !reads_cross(g, n))
            cost[i].cached += value_bytes(g, n, length, seen, true);
        if (s == 0 || looks_up(n))
            cost[i].weights += weight_bytes(g, n, length) * share_of(g, n, c);
    }
}

void count_call(const Plan *p, const EntryCall *c, Cost *cost)
{
    int64_t longest = 1;
    for (int64_t s = 0; s < c->sequences; s++) {
        const int64_t rows = c->start[s + 1] - c->start[s];
        const int64_t past = c->past ? c->past[s] : 0;
        const Lengths length = { [SymN] = c->source ? c->source[s / c->group]
                                                    : rows,
                                 [SymM] = rows,
                                 [SymT] = rows,
                                 [SymPT] = past + rows,
                                 [SymR] = 1,
                                 [SymS] = 1 };
        count_sequence(p, c, length, s, cost);
        longest = rows > longest ? rows : longest;
    }
    add_scans(p, c, longest, cost);
}

Cost *new_costs(const Plan *p)
{
    return arena_alloc(p->arena_, (size_t)p->g->nodes.n * sizeof(Cost));
}

Cost cost_sum(Cost a, Cost b)
{
    const bool both = a.again > 0 && b.again > 0;
    return (Cost){ .flops = a.flops + b.flops,
                   .dots = a.dots + b.dots,
                   .pairs = a.pairs + b.pairs,
                   .weights = a.weights + b.weights,
                   .again = a.again + b.again,
                   .scan = both ? fmin(a.scan, b.scan) : fmax(a.scan, b.scan),
                   .cached = a.cached + b.cached,
                   .values = a.values + b.values,
                   .written = a.written + b.written };
}

double cost_operations(Cost c)
{
    return c.flops + c.dots + c.pairs;
}

/* Integer and float operations share the execution units of a core, so their
 * times add up. Without integer instructions, integer operations are assumed to
 * be as fast as float operations. FMAs compute pairs if the instruction for
 * them is slower. */
double operations_seconds(const Rates *r, Cost c)
{
    return c.flops / r->fma + c.dots / (r->dot > 0 ? r->dot : r->fma)
         + c.pairs / fmax(r->pair, r->fma);
}

int operations_bound(const Rates *r, Cost c)
{
    const Cost dots = { .dots = c.dots };
    const Cost pairs = { .pairs = r->pair > r->fma ? c.pairs : 0 };
    const double dot = operations_seconds(r, dots);
    const double pair = operations_seconds(r, pairs);
    const double rest = operations_seconds(r, c) - dot - pair;
    return rest >= fmax(dot, pair) ? BoundFma
         : dot >= pair             ? BoundDot
                                   : BoundPair;
}

double cost_traffic(const Cost *c)
{
    return c->weights + c->again + c->cached
         + fmax(c->values - c->written, c->written);
}

double cost_bytes(Cost c)
{
    return c.weights + c.again + c.cached + c.values;
}
