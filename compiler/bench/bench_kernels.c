/* bench_kernels.c: times each step of a model. It compiles the plan a second
 * time, to code that calls a clock at the beginning and end of each step's
 * function, and checks that the results are the same. */
#include <pthread.h>
#include <string.h>

#include "base/progress.h"
#include "bench/bench_report.h"
#include "emit/emit.h"
#include "plan/plan.h"

/* ---- the clock ---- */
typedef struct Clock Clock;
struct Clock { /* the clock of one thread */
    Clock *next;
    double last;   /* time of the last call of tick() */
    double *spent; /* [slots]: seconds before the ticks of each slot */
    double *ticks; /* [slots]: number of ticks */
};

/* The only global state of this file, because emitted code calls tick(slot)
 * without other arguments. bench times one model at a time; each thread creates
 * its own clock. */
static struct {
    pthread_mutex_t lock;
    Arena *arena;
    int slots;
    int64_t round; /* number of this round; clocks from older rounds are
                      freed */
    Clock *first;
} clocks = { .lock = PTHREAD_MUTEX_INITIALIZER };
static _Thread_local struct {
    Clock *clock;
    int64_t round;
} own;

static Clock *new_clock(void)
{
    const size_t bytes = (size_t)clocks.slots * sizeof(double);
    pthread_mutex_lock(&clocks.lock);
    Clock *c = arena_alloc(clocks.arena, sizeof *c);
    c->spent = arena_alloc(clocks.arena, bytes);
    c->ticks = arena_alloc(clocks.arena, bytes);
    c->next = clocks.first;
    clocks.first = own.clock = c;
    own.round = clocks.round;
    pthread_mutex_unlock(&clocks.lock);
    return c;
}

static void tick(int64_t slot)
{
    Clock *c = own.clock && own.round == clocks.round ? own.clock : new_clock();
    const double now = seconds_now();
    c->spent[slot] += now - c->last;
    c->ticks[slot]++;
    c->last = now;
}

/* Returns the seconds of one call of tick() in a loop: the minimum of 100
 * rounds. */
static double clock_cost(void)
{
    double best = 1.0;
    for (int i = 0; i < 100; i++) {
        const double begin = seconds_now();
        for (int k = 0; k < 100; k++)
            tick(0);
        const double cost = (seconds_now() - begin) / 100;
        best = cost < best ? cost : best;
    }
    return best;
}

static void reset_clocks(void)
{
    const size_t bytes = (size_t)clocks.slots * sizeof(double);
    for (Clock *c = clocks.first; c; c = c->next) {
        memset(c->spent, 0, bytes);
        memset(c->ticks, 0, bytes);
    }
}

/* ---- a kernel ---- */
static const char *dimensions(Arena *a, const Graph *g, const Node *n)
{
    const Node *b = n->nin > 1 && n->in[1] >= 0 ? &g->nodes.at[n->in[1]] : n;
    if (n->op == OpMatmul || n->op == OpLinear)
        return arena_printf(a, " %lldx%lld", (long long)matrix_columns(b->type),
                            (long long)matrix_rows(b->type));
    if (n->op == OpAttention)
        return arena_printf(a, " %lld heads of %lld", (long long)n->heads,
                            (long long)b->type.dim[2].c);
    return arena_printf(a, " %lld", (long long)n->type.dim[n->type.rank - 1].c);
}

static const char *op_text(Arena *a, const Graph *g, const Node *n)
{
    return arena_printf(a, "%s%s", op_info[n->op].name, dimensions(a, g, n));
}

typedef struct Spot Spot;
struct Spot { /* statistics of one slot of the clock */
    KernelRow kernel;
    Spot *region_spot; /* slot of the op's region; NULL: this is that slot */
    int ops;           /* number of ops, if it is the slot of a region */
    double *seconds;   /* [runs]: seconds of each run */
};

/* Makes the slots of a workload in which node i costs cost[i]. An op's slot is
 * that of the tick at its end; a region's slot is that of the tick at the
 * beginning of its first op. Ops that share a slot are listed under the first
 * op's name. */
static Spot *make_slots(Arena *a, const Plan *p, const Timers *t,
                        const Cost *cost, int64_t runs)
{
    Spot *slots = arena_alloc(a, (size_t)t->slots * sizeof *slots);
    for (int i = 0; i < p->order.n; i++) {
        const int node = p->order.at[i], region = p->region_of[node];
        Spot *op = &slots[t->slot[i]];
        if (!op->region_spot) {
            op->region_spot = &slots[t->slot[p->region.at[region].first] - 1];
            op->region_spot->ops++;
            op->region_spot->kernel.function = t->name[region];
            op->kernel.function = t->name[region];
            op->kernel.name = value_label(p, node);
            op->kernel.op = op_text(a, p->g, &p->g->nodes.at[node]);
        }
        op->kernel.cost = cost_sum(op->kernel.cost, cost[node]);
        op->region_spot->kernel.cost = cost_sum(op->region_spot->kernel.cost,
                                                cost[node]);
    }
    for (int i = 0; i < t->slots; i++)
        slots[i].seconds = arena_alloc(a, (size_t)runs * sizeof(double));
    return slots;
}

/* Reads the clocks after a run. Adds up the ticks of all threads, but takes the
 * seconds of the slowest thread. A region's time is the sum of its ops'
 * times. */
static void read_clocks(Spot *slots, int count, int64_t run)
{
    for (int i = 0; i < count; i++) {
        double spent = 0.0, ticks = 0.0;
        for (const Clock *c = clocks.first; c; c = c->next) {
            spent = c->spent[i] > spent ? c->spent[i] : spent;
            ticks += c->ticks[i];
        }
        slots[i].kernel.calls = ticks;
        if (!slots[i].region_spot)
            continue;
        slots[i].seconds[run] = spent;
        slots[i].region_spot->seconds[run] += spent;
    }
}

static double median(const double *at, int64_t n)
{
    Times t = { (double *)at, (int)n, (int)n };
    return times_summary(&t).p50;
}

/* Lists the kernels. A region with a single op is one row. */
static void list_kernels(Arena *a, const Spot *slots, int count, int64_t runs,
                         KernelList *list)
{
    for (int i = 0; i < count; i++) {
        const bool alone = slots[i].region_spot
                        && slots[i].region_spot->ops == 1;
        KernelRow k = slots[i].kernel;
        if (k.calls == 0.0 || alone || (!slots[i].region_spot && !slots[i].ops))
            continue;
        if (slots[i].ops == 1)
            k.op = slots[i + 1].kernel.op;
        k.seconds = median(slots[i].seconds, runs);
        vec_push(a, list, k);
    }
}

/* ---- the times ---- */
static int64_t runs_of(const BenchOptions *o, const Summary *s)
{
    const double fit = o->seconds / 2.0 / s->p50;
    const int64_t runs = fit < 101.0 ? (int64_t)fit : 101;
    if (o->repetitions > 0)
        return o->repetitions < 101 ? o->repetitions : 101;
    return runs < 3 ? 3 : runs;
}

static void time_work(KernelTimes *k, int i, Setup *s, const Work *w,
                      const Timers *t, int64_t runs)
{
    Arena *a = s->arena;
    Spot *slots = make_slots(a, s->engine->plan, t, w->cost, runs);
    double *times = arena_alloc(a, (size_t)runs * sizeof *times);
    w->run(s);
    for (int64_t run = 0; run < runs; run++) {
        reset_clocks();
        const double begin = seconds_now();
        w->run(s);
        times[run] = seconds_now() - begin;
        progress_at((double)run / (double)runs);
        read_clocks(slots, t->slots, run);
    }
    k->p50[i] = median(times, runs);
    list_kernels(a, slots, t->slots, runs, &k->of[i]);
    for (int j = 0; j < t->slots; j++)
        k->ticks[i] += slots[j].kernel.calls;
}

void bench_kernels(KernelTimes *k, Setup *s, const Works *works,
                   const Summary *summary)
{
    const Engine *e = s->engine;
    const EngineOptions *o = &e->options;
    Timers t = { .tick = tick };
    BackendOptions with = { .cc = o->cc, .level = o->level, .timers = &t };
    const BackendKind kind = backend_kind(o->backend, &with);
    const size_t n = (size_t)works->n;
    Backend timed;
    Fault why;
    if (!backend_load(&timed, e->arena, e->plan, kind, &with, &why))
        die("bench: the model with a clock: %s", why.text);
    k->p50 = arena_alloc(e->arena, n * sizeof *k->p50);
    k->ticks = arena_alloc(e->arena, n * sizeof *k->ticks);
    k->of = arena_alloc(e->arena, n * sizeof *k->of);
    clocks.arena = arena_new();
    clocks.slots = t.slots;
    clocks.round++;
    k->clock = clock_cost();
    s->model = timed.model;
    progress_begin("");
    for (int i = 0; i < works->n; i++) {
        progress_step(works->at[i].name, (double)i / works->n,
                      (i + 1.0) / works->n);
        progress_begin("");
        time_work(k, i, s, &works->at[i], &t,
                  runs_of(&s->options, &summary[i]));
        if (work_checksum(&works->at[i]) != works->at[i].checksum)
            die("bench: %s: another result with a clock", works->at[i].name);
        progress_end();
    }
    progress_end();
    s->model = e->backend.model;
    clocks.first = NULL;
    arena_free(clocks.arena);
    backend_unload(&timed);
}
