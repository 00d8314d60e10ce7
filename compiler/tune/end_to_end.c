/* end_to_end.c: runs the complete model with default and with tuned tilings on
 * all workloads, because the search times tasks alone. Tilings that make the
 * model slower are reverted. */
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

enum { MostPairs = 200, LeastPairs = 6, Interims = 2 };

typedef struct {     /* times of one comparison, in pairs in the runs' order */
    double *seconds; /* [pairs][2][works]: default, tuned */
    int pairs;
} Pairs;

/* Compiles both models. Returns false if one does not compile. */
static bool build_both(Tuner *t, Codes *code)
{
    Arena *a = t->arena;
    BuildJob both[2] = { { .whole_model = true, .by_default = true },
                         { .whole_model = true, .by_default = true } };
    vec_push(a, code, model_code(&t->engine, NULL, 0, t->builder.jit));
    vec_push(a, code,
             model_code(&t->engine, t->choice.at, t->choice.n, t->builder.jit));
    for (int i = 0; i < 2; i++)
        both[i].code = &code->at[i];
    const double now = t->env->now();
    builder_build(&t->builder, a, both, 2, INFINITY, fmax(t->last, now + 10));
    for (int i = 0; i < 2; i++)
        if (both[i].status != BuildDone && !interrupted())
            warning_at((Pos){ 0 }, "the whole model does not compile: %s",
                       both[i].status == BuildLate ? "there was no time for it"
                                                   : both[i].why);
    return both[0].status == BuildDone && both[1].status == BuildDone;
}

/* Runs both models in turn until `until` and adds their times. */
static void run_both(Tuner *t, const Codes *code, double until, Pairs *p,
                     Verdict *tuned)
{
    static const int who[] = { 0, 1 };
    ChildWork w = model_run_work(
        model_run_new(&t->report, t->setup, &t->works, true, code));
    Measurement m = { .which = who,
                      .n = 2,
                      .repetitions = MostPairs - p->pairs,
                      .hang = 60,
                      .until = until,
                      .order = 77 + (uint64_t)p->pairs };
    const size_t pair = 2 * (size_t)t->works.n;
    w.tick = tuner_tick;
    w.ticks = t;
    t->env->measure(t->arena, &w, &m);
    *tuned = m.verdict[1];
    if (m.done < 1)
        return;
    memcpy(p->seconds + (size_t)p->pairs * pair, m.sample,
           (size_t)m.done * pair * sizeof *p->seconds);
    p->pairs += m.done;
}

/* True if the workload is significantly slower with tuned tilings. Uses the
 * test that decides on candidates with the sign reversed, and requires an
 * interval without any gain. */
static bool is_slower(const EndToEnd *end, const double *ratio)
{
    double against[MostPairs];
    for (int i = 0; i < end->pairs; i++)
        against[i] = -log(ratio[i]);
    return end->pairs >= LeastPairs && end->gain.high < 1
        && signed_rank(against, end->pairs) <= TUNE_ALPHA;
}

/* Adds the result of one workload. Returns true if the workload is slower. */
static bool add_workload(Tuner *t, int work, const Pairs *p, int comparison)
{
    const int works = t->works.n;
    double by_default[MostPairs], tuned[MostPairs], ratio[MostPairs];
    for (int i = 0; i < p->pairs; i++) {
        by_default[i] = p->seconds[(2 * i) * works + work];
        tuned[i] = p->seconds[(2 * i + 1) * works + work];
        ratio[i] = by_default[i] / tuned[i];
    }
    const EndToEnd end = { .name = t->works.at[work].name,
                           .pairs = p->pairs,
                           .by_default = median_of(by_default, p->pairs),
                           .tuned = median_of(tuned, p->pairs),
                           .gain = median_interval(ratio, p->pairs),
                           .comparison = comparison };
    vec_push(t->arena, &t->report.end_to_end, end);
    return is_slower(&end, ratio);
}

/* ---- taking back ---- */
static bool is_chosen(const Tuner *t, const TaskKey *key)
{
    for (int i = 0; i < t->choice.n; i++)
        if (task_same(&t->choice.at[i].key, key))
            return true;
    return false;
}

/* Removes the records of this run that are no longer chosen, and restores those
 * that they replaced. */
static void undo(Records *r, Arena *a, void *with)
{
    const Tuner *t = with;
    int kept = 0;
    for (int i = 0; i < r->at.n; i++) {
        const Record *one = &r->at.at[i];
        const Record *ours = is_chosen(t, &one->key)
                               ? NULL
                               : records_find(&t->fresh, one);
        if (!ours || !tiling_same(&ours->tiling, &one->tiling))
            r->at.at[kept++] = *one;
    }
    r->at.n = kept;
    for (int k = 0; k < t->before.at.n; k++)
        if (!is_chosen(t, &t->before.at.at[k].key))
            records_put(r, a, &t->before.at.at[k]);
}

static void take_back(Tuner *t)
{
    Fault why;
    if (t->report.path && t->fresh.at.n > 0
        && !records_edit(t->arena, t->report.path, undo, t, &why))
        warning_at((Pos){ 0 }, "the records stay: %s", why.text);
}

/* True if the workload runs the task. */
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

/* Returns the reason as text: "end to end, encode is slower with it: -3.1 %
 * ...". */
static const char *slower_text(const Tuner *t, const EndToEnd *e)
{
    return arena_printf(t->arena,
                        "end to end, %s is slower with it: %+.1f %% "
                        "(%+.1f..%+.1f) of %d pairs",
                        e->name, 100 * (e->gain.middle - 1),
                        100 * (e->gain.low - 1), 100 * (e->gain.high - 1),
                        e->pairs);
}

/* Sets the choices to those of the tasks that were not reverted. */
static void choose_again(Tuner *t)
{
    int kept = 0;
    for (int i = 0; i < t->choice.n; i++) {
        const Choice c = t->choice.at[i];
        for (int k = 0; k < t->report.task.n; k++) {
            const TuneTask *task = &t->report.task.at[k];
            if (task_differs(task) && task_same(&task->task->key, &c.key))
                t->choice.at[kept++] = c;
        }
    }
    t->choice.n = kept;
}

/* Reverts the tilings that this run found for the tasks of a workload, or for
 * all tasks if w is NULL. Tilings from older records stay. Returns the number
 * of reverted tasks. */
static int drop(Tuner *t, const Work *w, const char *why)
{
    int n = 0;
    for (int i = 0; i < t->report.task.n; i++) {
        TuneTask *k = &t->report.task.at[i];
        if (!task_differs(k) || k->reused || (w && !works_in(t, k->task, w)))
            continue;
        k->taken_back = why;
        k->spent = true;
        n++;
    }
    if (n > 0)
        choose_again(t);
    return n;
}

/* ---- comparing ---- */
typedef struct {
    bool any;        /* at least one workload is slower */
    bool *slower;    /* [works]: the workload is slower */
    const char *bad; /* why the tuned model cannot be used; NULL: it can */
} Outcome;

/* Analyses all pairs so far. The results replace those of the last analysis. */
static void analyse(Tuner *t, const Pairs *p, int comparison, int first,
                    Outcome *to)
{
    t->report.end_to_end.n = first;
    to->any = false;
    for (int i = 0; i < t->works.n && p->pairs > 0; i++) {
        to->slower[i] = add_workload(t, i, p, comparison);
        to->any |= to->slower[i];
    }
}

/* Compares the models until `until`. Stops after half of the time if a workload
 * is slower by then. */
static Outcome compare_once(Tuner *t, double until, int comparison)
{
    const size_t works = (size_t)t->works.n;
    const int first = t->report.end_to_end.n;
    Outcome to = { .slower = arena_alloc(t->arena, works + 1) };
    Pairs p = { .seconds = arena_alloc(t->arena, 2 * works * MostPairs
                                                     * sizeof *p.seconds) };
    Codes code = { 0 };
    Verdict tuned = { StatusTimed, "" };
    if (!build_both(t, &code))
        return to;
    const double begin = t->env->now(), left = fmax(until - begin, 1);
    for (int i = 1; i <= Interims && !to.any && !interrupted(); i++) {
        if (p.pairs == MostPairs || (i > 1 && t->env->now() > until))
            break;
        run_both(t, &code, begin + left * i / (double)Interims, &p, &tuned);
        if (interrupted())
            return to;
        if (tuned.status != StatusTimed) {
            to.bad = arena_printf(t->arena, "the whole model as found: %s: %s",
                                  status_word[tuned.status], tuned.why);
            return to;
        }
        analyse(t, &p, comparison, first, &to);
    }
    return to;
}

/* Reverts the tilings that the outcome rejects. Returns false if this run found
 * none of them. */
static bool answer(Tuner *t, const Outcome *o)
{
    const int last = t->report.end_to_end.n - t->works.n;
    int n = 0;
    if (o->bad) {
        warning_at((Pos){ 0 }, "%s", o->bad);
        n = drop(t, NULL, o->bad);
    }
    for (int i = 0; i < t->works.n && o->any; i++)
        if (o->slower[i])
            n += drop(t, &t->works.at[i],
                      slower_text(t, &t->report.end_to_end.at[last + i]));
    take_back(t);
    return n > 0;
}

/* True if this run found a tiling that is not reverted. */
static bool found_any(const Tuner *t)
{
    for (int i = 0; i < t->report.task.n; i++)
        if (task_differs(&t->report.task.at[i]) && !t->report.task.at[i].reused)
            return true;
    return false;
}

static bool any_reused(const Tuner *t)
{
    for (int i = 0; i < t->report.task.n; i++)
        if (t->report.task.at[i].reused && task_differs(&t->report.task.at[i]))
            return true;
    return false;
}

/* Compares both models. If a workload is slower, reverts the tilings of its
 * tasks and compares again, while there is time and a choice left. */
void end_to_end(Tuner *t, double until)
{
    bool again = t->choice.n > 0;
    t->changed = t->report.rejected = false;
    t->report.end_to_end.n = 0;
    for (int i = 1; again && !interrupted(); i++) {
        const bool ours = found_any(t);
        const Outcome o = compare_once(t, until, i);
        t->report.stale = false;
        if (!o.any && !o.bad)
            break;
        again = answer(t, &o);
        t->report.stale = !again && any_reused(t);
        again = again && t->choice.n > 0
             && until - t->env->now() > 2 * t->builder.each[1];
        t->report.rejected = ours && !found_any(t);
    }
}
