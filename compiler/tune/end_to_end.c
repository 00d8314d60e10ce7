/* end_to_end.c: compares the complete model with default tilings and with tuned
 * ones on all workloads, because the search only times single tasks. Tilings
 * that make the model slower are reverted. */
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

enum { LeastPairs = 6, Interims = 2 };

/* ---- comparing ---- */

/* Compiles the model with default tilings and with tuned ones. Returns false if
 * either does not compile. */
static bool build_both(Tuner *t, TuneTask *both)
{
    const Choices choices[] = { { 0 }, tuner_choices(t, NULL) };
    for (int i = 0; i < 2; i++)
        vec_push(t->arena, &both->candidate,
                 ((Candidate){ .is_default = true,
                               .code = model_code(t, choices[i]) }));
    Candidate *c = both->candidate.at, *jobs[] = { &c[0], &c[1] };
    builder_build(&t->builder, t->arena, jobs, 2, true, INFINITY,
                  fmax(t->last, t->env->now() + 10));
    for (int i = 0; i < 2; i++)
        if (!c[i].code.text && !interrupted())
            warning_at((Pos){ 0 }, "the whole model does not compile: %s",
                       *c[i].why ? c[i].why : "there was no time for it");
    return c[0].code.text && c[1].code.text;
}

/* Adds the result of one workload to the report. The workload counts as slower
 * if the test of a decision, with the sign reversed, says so and its whole
 * interval is below 1. `seconds` is [pairs][2][works], default before tuned.
 * Returns true if it is slower. */
static bool add_workload(Tuner *t, int work, const double *seconds, int pairs,
                         int comparison)
{
    const int works = t->works.n;
    double by_default[MostPairs], tuned[MostPairs], ratio[MostPairs];
    for (int i = 0; i < pairs; i++) {
        by_default[i] = seconds[(2 * i) * works + work];
        tuned[i] = seconds[(2 * i + 1) * works + work];
        ratio[i] = by_default[i] / tuned[i];
    }
    EndToEnd end = { .name = t->works.at[work].name,
                     .pairs = pairs,
                     .by_default = median_interval(by_default, pairs).middle,
                     .tuned = median_interval(tuned, pairs).middle,
                     .gain = median_interval(ratio, pairs),
                     .comparison = comparison };
    end.slower = pairs >= LeastPairs && end.gain.high < 1
              && faster_by_chance(ratio, pairs, -1) <= TUNE_ALPHA;
    vec_push(t->arena, &t->report.end_to_end, end);
    return end.slower;
}

/* Compares the default and the tuned model in pairs of runs until `until`, and
 * adds the results to the report. Stops early if a workload is already slower.
 * Returns the reason if the tuned model cannot be used, else NULL. */
static const char *compare_models(Tuner *t, double until, int comparison)
{
    static const int who[] = { 0, 1 };
    const int first = t->report.end_to_end.n;
    const size_t pair = 2 * (size_t)t->works.n;
    double *seconds = arena_alloc(t->arena, pair * MostPairs * sizeof *seconds);
    TuneTask both = { 0 };
    bool slower = false;
    if (!build_both(t, &both))
        return NULL;
    const ChildWork w = model_work(t, &both, true);
    const double begin = t->env->now(), left = fmax(until - begin, 1);
    for (int i = 1, pairs = 0; i <= Interims && pairs < MostPairs; i++) {
        if (slower || interrupted() || (i > 1 && t->env->now() > until))
            break;
        Measurement m = { .which = who,
                          .n = 2,
                          .repetitions = MostPairs - pairs,
                          .hang = 60,
                          .until = begin + left * i / (double)Interims,
                          .order = 77 + (uint64_t)pairs };
        t->env->measure(t->arena, &w, &m);
        if (interrupted())
            return NULL;
        if (m.verdict[1].status != StatusTimed)
            return arena_printf(t->arena, "the whole model as found: %s: %s",
                                status_word[m.verdict[1].status],
                                m.verdict[1].why);
        memcpy(seconds + (size_t)pairs * pair, m.sample,
               (size_t)m.done * pair * sizeof *seconds);
        pairs += m.done;
        t->report.end_to_end.n = first; /* all pairs so far are analysed */
        for (int k = 0; k < t->works.n && pairs > 0; k++)
            slower |= add_workload(t, k, seconds, pairs, comparison);
    }
    return NULL;
}

/* ---- taking back ---- */

/* Removes the records of reverted tasks and restores the records that these
 * replaced. */
static void undo(Records *r, Arena *a, void *with)
{
    const Tuner *t = with;
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        if (!k->taken_back)
            continue;
        const Record ours = task_record(&t->report, k);
        const Record *before = known_record(t, &ours.key);
        Record *now = records_find(r, &ours);
        if (before) {
            records_put(r, a, before);
        } else if (now && tiling_same(&now->tiling, &ours.tiling)) {
            r->at.n--;
            memmove(now, now + 1,
                    (size_t)(r->at.at + r->at.n - now) * sizeof *now);
        }
    }
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

/* Reverts the tilings that this run found for the tasks of a workload, or for
 * all tasks if w is NULL. Does not revert tilings from older records. Returns
 * the number of reverted tasks. */
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
    return n;
}

/* Reverts the tilings in workloads that are slower, in the results from number
 * `first` on. If the model cannot be used (`bad`), reverts all. Returns the
 * number of reverted tasks, or -1 if nothing is slower. */
static int answer(Tuner *t, int first, const char *bad)
{
    Fault why;
    bool slower = bad;
    int n = bad ? drop(t, NULL, bad) : 0;
    if (bad)
        warning_at((Pos){ 0 }, "%s", bad);
    for (int i = first; i < t->report.end_to_end.n; i++) {
        const EndToEnd *e = &t->report.end_to_end.at[i];
        if (!e->slower)
            continue;
        slower = true;
        n += drop(t, &t->works.at[i - first],
                  arena_printf(t->arena,
                               "end to end, %s is slower with it: %+.1f %% "
                               "(%+.1f..%+.1f) of %d pairs",
                               e->name, 100 * (e->gain.middle - 1),
                               100 * (e->gain.low - 1),
                               100 * (e->gain.high - 1), e->pairs));
    }
    if (n > 0 && t->kept
        && !records_edit(t->arena, t->report.path, undo, t, &why))
        warning_at((Pos){ 0 }, "the records stay: %s", why.text);
    return slower ? n : -1;
}

/* True if a tiling in use is not the default and comes from an older record
 * (`reused`) or from this run (not `reused`). */
static bool any_differs(const Tuner *t, bool reused)
{
    for (int i = 0; i < t->report.task.n; i++)
        if (task_differs(&t->report.task.at[i])
            && t->report.task.at[i].reused == reused)
            return true;
    return false;
}

/* Compares the tuned model with the default one. If a workload is slower,
 * reverts the tilings of its tasks and compares again, until time runs out or
 * no tuned tiling is left. */
void end_to_end(Tuner *t, double until)
{
    TuneReport *r = &t->report;
    bool again = any_differs(t, false) || any_differs(t, true);
    t->changed = r->rejected = false;
    r->end_to_end.n = 0;
    for (int i = 1; again && !interrupted(); i++) {
        const bool ours = any_differs(t, false);
        const int first = r->end_to_end.n;
        const int back = answer(t, first, compare_models(t, until, i));
        r->stale = back == 0 && any_differs(t, true);
        if (back >= 0)
            r->rejected = ours && !any_differs(t, false);
        again = back > 0 && (any_differs(t, false) || any_differs(t, true))
             && until - t->env->now() > 2 * t->builder.each[1];
    }
}
