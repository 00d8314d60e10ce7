/* call_sizes.c: where a model's time goes, task by task, and at which sizes the
 * workloads call each task: as the emitted code divides them into blocks of
 * rows and among threads (emit/split.c, emit/kv_cache.c).                   */
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

double work_weight(const Setup *s, const Work *w)
{
    if (w->of_others)
        return 0.0;
    return !strcmp(w->name, "step") ? (double)s->options.steps : 1.0;
}

/* ---------------------------------------------------------------- sizes --- */
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

/* Threads that share a step of so much work. */
static int64_t parts_of(const Plan *p, int64_t rows, int64_t work, int threads)
{
    const int64_t waits = p->few ? 8 : 2; /* for weights: emit/split.c */
    const int64_t all = (rows > waits ? rows : waits) * work;
    return between(1, all / p->target.part_work, threads);
}

static CallSize product_use(const Plan *p, int node, const struct attn_batch *b,
                            int threads)
{
    const Region *r = &p->region.at[p->region_of[node]];
    const int64_t all = rows_in(row_sym(p->g->nodes.at[node].type), b);
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

/* Sequence `s`: one head of it, as often as there are heads for a thread.
 * Sequences of one source go together where nothing tells them apart.        */
static CallSize attention_use(const Plan *p, int node,
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
    const int64_t pairs = (u.rows > 8 ? u.rows : 8) * u.count * b->sequences;
    u.parts = between(1, pairs * step_work(p, node) / p->target.part_work,
                      between(1, n->heads * b->sequences, threads));
    u.calls = (double)n->heads / (double)u.parts
            / (double)(end - s); /* each of them says the same */
    return u;
}

/* ---------------------------------------------------------------- sizes --- */
static void add_use(Arena *a, CallSizes *sizes, CallSize u, double weight,
                    double set)
{
    u.calls *= weight;
    u.set = set;
    for (int i = 0; i < sizes->n; i++) {
        CallSize *v = &sizes->at[i];
        if (v->rows != u.rows || v->count != u.count || v->past != u.past
            || v->parts != u.parts || v->by_columns != u.by_columns)
            continue;
        v->calls += u.calls;
        v->set = v->set > set ? v->set : set;
        return;
    }
    vec_push(a, sizes, u);
}

/* Products of few rows are tasks of their own, where the plan has them. */
static bool is_few(const Plan *p, int node, const CallSize *u)
{
    return plan_task(p, TaskFew, node) && u->rows < knobs[Knob_few].most;
}

/* Adds what one workload calls a task for at a node; false: it does not. */
static bool add_node(Arena *a, CallSizes *sizes, const Plan *p, const Task *t,
                     int node, const Setup *s, const Work *w, int threads)
{
    const TaskKind kind = t->key.kind;
    const double weight = work_weight(s, w);
    if (plan_task(p, kind, node) != t || !w->batch
        || p->g->nodes.at[node].entry != w->entry)
        return false;
    if (kind == TaskMatmul || kind == TaskFew) {
        const CallSize u = product_use(p, node, w->batch, threads);
        if (is_few(p, node, &u) != (kind == TaskFew) || u.rows < 1)
            return false;
        add_use(a, sizes, u, weight, w->set);
    }
    for (int64_t i = 0; kind == TaskAttention && i < w->batch->sequences; i++)
        add_use(a, sizes, attention_use(p, node, w->batch, i, threads), weight,
                w->set);
    return true;
}

static double use_work(const CallSize *u)
{
    return u->calls * (double)u->rows * (double)(u->count > 0 ? u->count : 1);
}

/* Many lengths would take long to time: those that take most of the time. */
static void keep_largest(CallSizes *sizes)
{
    enum { Kept = 4 };
    for (int i = 1; i < sizes->n; i++)
        for (int k = i; k > 0; k--) {
            const CallSize u = sizes->at[k];
            if (use_work(&u) <= use_work(&sizes->at[k - 1]))
                break;
            sizes->at[k] = sizes->at[k - 1];
            sizes->at[k - 1] = u;
        }
    if (sizes->n > Kept)
        sizes->n = Kept;
}

CallSizes task_call_sizes(Arena *a, const Plan *p, const Task *t,
                          const Setup *s, const Works *works, int threads)
{
    CallSizes sizes = { 0 };
    for (int i = 0; i < works->n; i++)
        for (int o = 0; o < p->order.n; o++)
            add_node(a, &sizes, p, t, p->order.at[o], s, &works->at[i],
                     threads);
    keep_largest(&sizes);
    return sizes;
}

/* --------------------------------------------------------------- shares --- */
typedef struct {
    double seconds, calls, by[Levels + 1];
} Spent;

static void add_spent(Spent *to, const TuneReport *r, const Work *w, int node,
                      double weight)
{
    const Limit l = limit_of(&r->machine, &r->rates, w->cost[node], w->set,
                             (double)w->calls.n);
    int k = 0;
    while (k < Levels && l.bound != level_name[k])
        k++;
    to->seconds += weight * l.seconds;
    to->by[k] += weight * l.seconds;
}

static const char *bound_of(const Spent *s)
{
    int most = Levels;
    for (int k = 0; k < Levels; k++)
        if (s->by[k] > s->by[most])
            most = k;
    return most < Levels ? level_name[most] : "FMA";
}

static Spent spent_by(TuneReport *r, const Task *t, const Setup *s,
                      const Works *works, int threads)
{
    const Plan *p = r->engine->plan;
    Spent sum = { 0 };
    for (int i = 0; i < works->n; i++)
        for (int o = 0; o < p->order.n; o++) {
            const Work *w = &works->at[i];
            CallSizes sizes = { 0 };
            const bool any = !t
                          || add_node(r->arena, &sizes, p, t, p->order.at[o], s,
                                      w, threads);
            if (any && p->g->nodes.at[p->order.at[o]].entry == w->entry)
                add_spent(&sum, r, w, p->order.at[o], work_weight(s, w));
            for (int k = 0; k < sizes.n; k++)
                sum.calls += sizes.at[k].calls;
        }
    return sum;
}

void tune_shares(TuneReport *r, const Setup *s, const Works *works)
{
    const Plan *p = r->engine->plan;
    const Spent all = spent_by(r, NULL, s, works, r->host.threads);
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        const Spent own = spent_by(r, t, s, works, r->host.threads);
        const bool alone = t->key.kind <= TaskAttention;
        const Spent *run = alone ? &own : &all;
        TuneTask one = { .task = t,
                         .bound = bound_of(run),
                         .p_value = NAN,
                         .gain = { NAN, NAN, NAN } };
        one.share = all.seconds > 0 ? own.seconds / all.seconds : 0;
        one.limit = alone && own.calls > 0 ? run->seconds / own.calls
                                           : run->seconds;
        vec_push(r->arena, &r->task, one);
    }
}
