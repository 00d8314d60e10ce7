/* prescreen.c: ranks candidates by short runs before a C compiler spends time
 * on them. attnc contains prebuilt tiles of all sizes (for the JIT), and libtcc
 * compiles a candidate's loops around them in milliseconds. So many candidates
 * can run briefly; their times relative to the default replace the predictions
 * of the cost model. These times only decide which candidates are compiled and
 * timed first. */
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

enum { Repetitions = 3, FirstBatch = 16, MostBatch = 64 };

CostModel cost_model(Tuner *t, const Task *task)
{
    const Plan *p = t->engine.plan;
    const int threads = t->report.host.threads;
    return (CostModel){ .plan = p,
                        .machine = &t->report.machine,
                        .rates = &t->report.rates,
                        .task = task,
                        .shape = task_shape(p, task),
                        .threads = threads,
                        .sizes = task_call_sizes(t->arena, p, task, &t->works,
                                                 threads) };
}

typedef struct {
    const Tuner *t;
    TuneTask *task;
    ChildWork work;
    Codes code; /* code of the candidates, for libtcc */
    Arena *a;
} Prescreen;

static void make_text(Prescreen *h, int i)
{
    Task task = *h->task->task;
    Code *m = &h->code.at[i];
    task.tiling = h->task->candidate.at[i].tiling;
    if (!m->text)
        m->text = emit_task(h->a, h->t->engine.plan, &task, EmitJit, &m->n);
}

/* Stores the result of a candidate. A candidate that crashes or computes wrong
 * results is removed, because it would with any compiler. One that libtcc
 * cannot compile stays, because another compiler may. */
static void take(Prescreen *h, const Measurement *m, int i,
                 double default_seconds)
{
    Candidate *c = &h->task->candidate.at[m->which[i]];
    const Verdict *v = &m->verdict[i];
    double ratio[Repetitions];
    if (v->status != StatusTimed && v->status != StatusFailed) {
        c->status = v->status;
        memcpy(c->why, v->why, sizeof c->why);
    }
    if (v->status != StatusTimed)
        return;
    for (int k = 0; k < m->done; k++) {
        const double *x = m->sample + (int64_t)k * m->n;
        ratio[k] = x[i] / x[0];
    }
    c->predicted = default_seconds * median_of(ratio, m->done);
    c->tried = true;
}

/* Runs a batch of candidates. Returns false if libtcc cannot run the default,
 * or if the time is up. */
static bool run_batch(Prescreen *h, const int *who, int n, double until,
                      uint64_t order)
{
    Measurement m = { .which = who,
                      .n = n,
                      .repetitions = Repetitions,
                      .hang = 2,
                      .until = until,
                      .order = order };
    for (int i = 0; i < n; i++)
        make_text(h, who[i]);
    child_measure(h->a, &h->work, &m);
    if (interrupted() || m.done == 0)
        return false;
    for (int i = 1; i < n; i++)
        take(h, &m, i, h->task->candidate.at[0].predicted);
    return true;
}

/* Returns the indices of all candidates except the default, in the order of
 * their predicted times. */
static int *by_prediction(Prescreen *h)
{
    const int n = h->task->candidate.n;
    const Candidate *c = h->task->candidate.at;
    int *order = arena_alloc(h->a, (size_t)n * sizeof *order), count = 0;
    for (int i = 1; i < n; i++) {
        int k = count++;
        for (; k > 0 && c[order[k - 1]].predicted > c[i].predicted; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    return order;
}

void prescreen(Tuner *t, TuneTask *task, const CostModel *m, double until)
{
    Prescreen h = { .t = t, .task = task, .a = t->arena };
    const int all = task->candidate.n - 1;
    int who[1 + MostBatch] = { 0 }, batch = FirstBatch;
    for (int i = 0; i <= all; i++)
        vec_push(h.a, &h.code, (Code){ 0 });
    h.work = task_run_work(task_run_new(h.a, m,
                                        &t->weights[task->task->key.dtype],
                                        task, &h.code));
    h.work.tick = tuner_tick;
    h.work.ticks = t;
    const int *order = by_prediction(&h);
    for (int done = 0; done < all;) {
        const double begin = t->env->now();
        const int n = batch < all - done ? batch : all - done;
        for (int i = 0; i < n; i++)
            who[1 + i] = order[done + i];
        if (!run_batch(&h, who, 1 + n, until, (uint64_t)done + 1))
            return;
        done += n;
        const double now = t->env->now(), each = (now - begin) / n;
        const double fit = fmin((until - now) / each, (double)MostBatch);
        if (fit < 4)
            return;
        batch = (int)fit;
    }
}
