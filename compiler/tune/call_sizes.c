/* call_sizes.c: computes each task's share of the model's time, and the sizes
 * with which the workloads call the task. Calls are divided into blocks of rows
 * and among threads as in emitted code (emit/step/thread_split.c,
 * emit/attention/kv_cache.c). */
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

/* ---- sizes ---- */
static int64_t rows_in(Sym s, const struct attn_batch *b)
{
    switch (s) {
    case SymR: return b->selected;
    case SymM: return b->key_rows;
    case SymS: return b->sequences;
    default:   return b->rows;
    }
}

static int64_t between(int64_t least, int64_t n, int64_t most)
{
    return n < least ? least : n > most ? most : n;
}

static int64_t blocks_of(int64_t n, int64_t block)
{
    return (n + block - 1) / block;
}

/* Returns the number of threads that share a step of `rows` rows, each with
 * this much work. */
static int64_t parts_of(const Plan *p, int64_t rows, int64_t work, int threads)
{
    const int64_t least = least_work_rows(p);
    const int64_t all = (rows > least ? rows : least) * work;
    return between(1, all / p->target.part_work, threads);
}

static CallSize product_size(const Plan *p, int node,
                             const struct attn_batch *b, int threads)
{
    const Region *r = &p->region.at[p->region_of[node]];
    const int64_t all = rows_in(row_sym(p->g->nodes.at[node].type), b)
                      * row_times(p->g->nodes.at[node].type);
    const int64_t block = r->count > 1 ? region_rows(p, r) : all;
    int64_t work = 0, rows = all;
    for (int i = 0; i < r->count; i++)
        work += step_work(p, p->order.at[r->first + i]);
    CallSize u = { .parts = parts_of(p, all, work, threads) };
    if (all < 1)
        return u;
    if (u.parts == 1 || all >= u.parts * least_part_rows(p, r)) {
        rows = blocks_of(all, u.parts);
        u.calls = (double)blocks_of(rows, block);
        u.rows = blocks_of(rows, (int64_t)u.calls);
    } else {
        u.calls = (double)blocks_of(all, block);
        u.rows = blocks_of(all, (int64_t)u.calls);
        u.parts = parts_of(p, u.rows, step_work(p, node), threads);
        u.by_columns = u.parts > 1;
    }
    return u;
}

static int64_t keys_of_sequence(const Plan *p, int node,
                                const struct attn_batch *b, int64_t s)
{
    const Node *k = &p->g->nodes.at[p->g->nodes.at[node].in[1]];
    const int64_t rows = b->start[s + 1] - b->start[s];
    if (k->op == OpRecall && b->source_rows && b->source)
        return b->source_rows[b->source[s]];
    if (row_sym(k->type) == SymM && b->key_start)
        return b->key_start[s + 1] - b->key_start[s];
    return (b->past ? b->past[s] : 0) + rows;
}

/* Returns the size of the attention call for one head of sequence `s`.
 * Sequences with the same source share a call, unless a mask or bias
 * distinguishes them. */
static CallSize attention_size(const Plan *p, int node,
                               const struct attn_batch *b, int64_t s,
                               int threads)
{
    const Node *n = &p->g->nodes.at[node];
    const bool shared = p->g->nodes.at[n->in[1]].op == OpRecall && !n->mask
                     && !n->bias;
    int64_t end = s + 1;
    while (shared && end < b->sequences && b->source
           && b->source[end] == b->source[s])
        end++;
    CallSize u = { .rows = b->start[end] - b->start[s] };
    u.count = keys_of_sequence(p, node, b, s);
    u.past = u.count - u.rows;
    if (u.past < 0 || shared)
        u.past = 0;
    const int64_t rows = u.rows > LeastWorkQueries ? u.rows : LeastWorkQueries;
    const int64_t pairs = rows * u.count * b->sequences;
    u.parts = between(1, pairs * step_work(p, node) / p->target.part_work,
                      between(1, n->heads * b->sequences, threads));
    u.calls = (double)n->heads / (double)u.parts
            / (double)(end - s); /* all sequences of the call have this size */
    return u;
}

/* ---- sizes ---- */
typedef struct { /* collects the sizes of one task */
    Arena *a;
    const Plan *p;
    const Task *task;
    int threads;
    CallSizes all;
} Sizes;

static void add_size(Sizes *s, CallSize u, const Work *w)
{
    u.calls *= w->per_answer;
    u.set = w->set;
    for (int i = 0; i < s->all.n; i++) {
        CallSize *v = &s->all.at[i];
        if (v->rows != u.rows || v->count != u.count || v->past != u.past
            || v->parts != u.parts || v->by_columns != u.by_columns)
            continue;
        v->calls += u.calls;
        v->set = v->set > u.set ? v->set : u.set;
        return;
    }
    vec_push(s->a, &s->all, u);
}

/* True if a product of this size uses the small-M task, provided that the plan
 * has one. */
static bool is_small_m(const Plan *p, int node, const CallSize *u)
{
    return plan_task(p, TaskSmallM, node)
        && u->rows < tiling_parameters[Tiling_small_m].most;
}

/* Adds the calls that a workload makes of the task at a node. Returns false if
 * there are none. */
static bool add_node(Sizes *s, int node, const Work *w)
{
    const Plan *p = s->p;
    const TaskKind kind = s->task->key.kind;
    if (plan_task(p, kind, node) != s->task || !w->batch
        || p->g->nodes.at[node].entry != w->entry)
        return false;
    if (kind == TaskMatmul || kind == TaskSmallM) {
        const CallSize u = product_size(p, node, w->batch, s->threads);
        if (is_small_m(p, node, &u) != (kind == TaskSmallM) || u.rows < 1)
            return false;
        add_size(s, u, w);
    }
    for (int64_t i = 0; kind == TaskAttention && i < w->batch->sequences; i++)
        add_size(s, attention_size(p, node, w->batch, i, s->threads), w);
    return true;
}

static double size_work(const CallSize *u)
{
    return u->calls * (double)u->rows * (double)(u->count > 0 ? u->count : 1);
}

/* Keeps only the four sizes with the most work, because timing all of them
 * takes long. */
static void keep_largest(CallSizes *sizes)
{
    enum { Kept = 4 };
    for (int i = 1; i < sizes->n; i++)
        for (int k = i; k > 0; k--) {
            const CallSize u = sizes->at[k];
            if (size_work(&u) <= size_work(&sizes->at[k - 1]))
                break;
            sizes->at[k] = sizes->at[k - 1];
            sizes->at[k - 1] = u;
        }
    if (sizes->n > Kept)
        sizes->n = Kept;
}

CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Works *works, int threads)
{
    Sizes s = { .a = a, .p = p, .task = t, .threads = threads };
    for (int i = 0; i < works->n; i++)
        for (int o = 0; o < p->order.n; o++)
            add_node(&s, p->order.at[o], &works->at[i]);
    keep_largest(&s.all);
    return s.all;
}

/* ---- shares ---- */
typedef struct {
    double seconds, calls, by[Bounds];
} Spent;

static void add_spent(Spent *to, const TuneReport *r, const Work *w, int node,
                      Level farthest)
{
    const Demand d = { w->cost[node], w->set, (double)w->calls.n };
    const Limit l = limit_within(&r->machine, &r->rates, &d, farthest);
    to->seconds += w->per_answer * l.seconds;
    to->by[l.bound] += w->per_answer * l.seconds;
}

static int bound_of(const Spent *s)
{
    int most = BoundFma;
    for (int k = 0; k < Bounds; k++)
        if (s->by[k] > s->by[most])
            most = k;
    return most;
}

/* Returns the minimum time of a task on this machine, or of all tasks if t is
 * NULL, assuming that all data is at the level `farthest` or nearer. */
static Spent spent_by(TuneReport *r, const Task *t, const Works *works,
                      Level farthest)
{
    const Plan *p = r->engine->plan;
    Spent sum = { 0 };
    for (int i = 0; i < works->n; i++)
        for (int o = 0; o < p->order.n; o++) {
            const Work *w = &works->at[i];
            const int node = p->order.at[o];
            Sizes s = {
                .a = r->arena,
                .p = p,
                .task = t,
                .threads = r->host.threads,
            };
            const bool any = !t || add_node(&s, node, w);
            if (any && p->g->nodes.at[node].entry == w->entry)
                add_spent(&sum, r, w, node, farthest);
            for (int k = 0; k < s.all.n; k++)
                sum.calls += s.all.at[k].calls;
        }
    return sum;
}

/* Sets the limit of a task: for one call, or for all workloads if the
 * candidates are complete models. */
static void set_limit(TuneReport *r, TuneTask *t, const Works *works,
                      Level farthest)
{
    const bool alone = !is_whole_model(t);
    const Spent run = spent_by(r, alone ? t->task : NULL, works, farthest);
    t->limit = alone && run.calls > 0 ? run.seconds / run.calls : run.seconds;
    t->bound = bound_word(bound_of(&run));
}

void tune_shares(TuneReport *r, const Works *works)
{
    const Plan *p = r->engine->plan;
    const Spent all = spent_by(r, NULL, works, LevelMemory);
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        const Spent own = spent_by(r, t, works, LevelMemory);
        TuneTask one = { .task = t, .p_value = NAN, .gain = { NAN, NAN, NAN } };
        one.share = all.seconds > 0 ? own.seconds / all.seconds : 0;
        set_limit(r, &one, works, LevelMemory);
        vec_push(r->arena, &r->task, one);
    }
}

bool tune_beats_limits(const TuneReport *r)
{
    bool beaten = false;
    for (int i = 0; i < r->task.n; i++)
        beaten |= r->task.at[i].limit > 1.02 * task_fastest(&r->task.at[i]);
    return beaten;
}

/* Sets the limits. If a task was faster than its limit, its data must have come
 * from a nearer level. If it was faster than the limit of L1, raises the
 * machine's rates. */
void tune_limits(TuneReport *r, const Works *works)
{
    for (int i = 0; i < r->task.n; i++) {
        TuneTask *t = &r->task.at[i];
        const double best = task_fastest(t);
        int farthest = LevelMemory;
        set_limit(r, t, works, LevelMemory);
        while (t->limit > best && farthest > LevelL1)
            set_limit(r, t, works, (Level)--farthest);
        if (t->limit <= best)
            continue;
        const double more = (1 + 1e-9) * t->limit / best;
        rates_raise(&r->rates, more);
        r->rates.read[LevelL1] *= more;
        i = -1; /* starts again, because the raised rates apply to all tasks */
    }
}
