/* tune_end.c: the end of a tuning: the whole model, default against what was
 * found, on all workloads. Tasks are timed alone; here is seen what that is
 * worth together, and what makes a model slower is taken back.              */
#include <math.h>
#include <string.h>

#include "tune_parts.h"

enum { MostEnd = 60, LeastEnd = 6, TurnsAtOnce = 4 };

static bool differs(const Tuner *t)
{
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        if (k->champion > 0 && (k->finished || k->reused))
            return true;
    }
    return false;
}

/* Both models; false: one of them does not compile. */
static bool build_both(Tuner *t, Mades *made, double until)
{
    Arena *a = t->arena;
    Made *both[2];
    bool ok[2];
    char why[2][160] = { "", "" };
    vec_push(a, made, whole_text(&t->engine, NULL, 0, t->shop.jit));
    vec_push(a, made, whole_text(&t->engine, t->choice.at, t->choice.n,
                                 t->shop.jit));
    for (int i = 0; i < 2; i++)
        both[i] = &made->at[i];
    workshop_make(&t->shop, a, both, 2, fmax(3, until - machine_seconds()), ok,
                  why);
    for (int i = 0; i < 2; i++)
        if (!ok[i] && !interrupted())
            warning_at((Pos){ 0 }, "the whole model does not compile: %s",
                       why[i]);
    return ok[0] && ok[1];
}

/* Runs both in turn; returns turns, [turns][2][works] seconds in *sample. */
static int run_both(Tuner *t, const Mades *made, double until, double **sample,
                    Verdict *tuned)
{
    static const int who[] = { 0, 1 };
    ChildWork w = whole_run_work(whole_run_new(&t->report, t->setup, &t->works,
                                               true, made));
    Round r = { .which = who, .n = 2, .turns = MostEnd, .hang = 60,
                .until = until, .order = 77 };
    w.tick = tune_tick;
    w.ticks = t;
    child_round(t->arena, &w, &r);
    *sample = r.sample;
    *tuned = r.verdict[1];
    return r.done;
}

static void add_end(Tuner *t, int work, const double *sample, int turns)
{
    const int works = t->works.n;
    double usual[MostEnd], tuned[MostEnd], ratio[MostEnd];
    for (int i = 0; i < turns; i++) {
        usual[i] = sample[(2 * i) * works + work];
        tuned[i] = sample[(2 * i + 1) * works + work];
        ratio[i] = usual[i] / tuned[i];
    }
    const TuneEnd end = { .name = t->works.at[work].name, .pairs = turns,
                          .usual = median_of(usual, turns),
                          .tuned = median_of(tuned, turns),
                          .gain = median_interval(ratio, turns) };
    vec_push(t->arena, &t->report.end, end);
}

/* ---------------------------------------------------------- taking back --- */
static bool same_place(const Record *a, const Record *b)
{
    return host_same(&a->host, &b->host) && task_same(&a->key, &b->key);
}

static bool is_chosen(const Tuner *t, const TaskKey *key)
{
    for (int i = 0; i < t->choice.n; i++)
        if (task_same(&t->choice.at[i].key, key))
            return true;
    return false;
}

/* Without what this run wrote, but for what is chosen still; with what was
 * there before.                                                              */
static void undo(Records *r, Arena *a, void *with)
{
    const Tuner *t = with;
    int kept = 0;
    for (int i = 0; i < r->at.n; i++) {
        const Record *one = &r->at.at[i];
        bool ours = false;
        for (int k = 0; k < t->fresh.n && !is_chosen(t, &one->key); k++)
            ours |= same_place(&t->fresh.at[k], one)
                 && tiling_same(&t->fresh.at[k].tiling, &one->tiling);
        if (!ours)
            r->at.at[kept++] = *one;
    }
    r->at.n = kept;
    for (int k = 0; k < t->before.n; k++)
        if (!is_chosen(t, &t->before.at[k].key))
            records_put(r, a, &t->before.at[k]);
}

static void take_back(Tuner *t)
{
    Fault why;
    if (t->report.path && t->fresh.n > 0
        && !records_edit(t->arena, t->report.path, undo, t, &why))
        warning_at((Pos){ 0 }, "the records stay: %s", why.text);
}

static void take_all_back(Tuner *t)
{
    t->report.rejected = true;
    t->choice.n = 0;
    take_back(t);
}

/* Is the task a part of that workload? */
static bool works_in(const Tuner *t, const Task *task, const Work *w)
{
    const Plan *p = t->engine.plan;
    for (int o = 0; o < p->order.n; o++) {
        const int node = p->order.at[o];
        if (plan_task(p, task->key.kind, node) == task
            && (!w->batch || p->g->nodes.at[node].entry == w->entry))
            return true;
    }
    return false;
}

/* The tasks of the workloads that are slower have the default again. */
static void drop_slower(Tuner *t, const bool *slower)
{
    int kept = 0;
    for (int i = 0; i < t->report.task.n; i++) {
        TuneTask *k = &t->report.task.at[i];
        bool drop = false;
        for (int w = 0; w < t->works.n; w++)
            drop |= slower[w] && works_in(t, k->task, &t->works.at[w]);
        if (drop)
            k->champion = 0;
    }
    for (int i = 0; i < t->choice.n; i++) {
        const Choice c = t->choice.at[i];
        for (int k = 0; k < t->report.task.n; k++) {
            const TuneTask *task = &t->report.task.at[k];
            if (task->champion > 0 && task_same(&task->task->key, &c.key))
                t->choice.at[kept++] = c;
        }
    }
    t->choice.n = kept;
    take_back(t);
}

/* Beyond noise, or by 1 % in the middle: the default stands in doubt. */
static bool is_slower(const TuneEnd *end)
{
    return end->pairs >= LeastEnd
        && (end->gain.high < 1 || end->gain.middle < 0.99);
}

/* Compares once, in a part of what is left until then. False: something is
 * wrong, or slower.                                                          */
static bool compare_once(Tuner *t, double until, double part, bool *slower)
{
    Mades made = { 0 };
    double *sample;
    Verdict tuned;
    bool any = false;
    t->report.end.n = 0;
    if (!build_both(t, &made, until))
        return true;
    const double now = machine_seconds();
    const int turns = run_both(t, &made, now + part * fmax(until - now, 1),
                               &sample, &tuned);
    if (interrupted())
        return true;
    if (tuned.fate != FateTimed) {
        warning_at((Pos){ 0 }, "the whole model as found: %s: %s",
                   fate_word[tuned.fate], tuned.why);
        for (int i = 0; i < t->works.n; i++)
            slower[i] = true;
        return false;
    }
    for (int i = 0; i < t->works.n && turns > 0; i++) {
        add_end(t, i, sample, turns);
        slower[i] = is_slower(&t->report.end.at[i]);
        any |= slower[i];
    }
    return !any;
}

/* Where a workload is slower, once more without what works in it, if there is
 * time; where that does not help, all is taken back.                         */
void tune_end(Tuner *t, double until)
{
    bool *slower = arena_alloc(t->arena, (size_t)t->works.n + 1);
    if (!differs(t) || interrupted() || compare_once(t, until, 0.7, slower))
        return;
    const double left = until - machine_seconds();
    if (left > 2 * t->shop.each[1]) {
        drop_slower(t, slower);
        if (t->choice.n > 0 && compare_once(t, until, 1, slower))
            return;
    }
    take_all_back(t);
}
