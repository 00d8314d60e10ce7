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

/* Without what this run wrote, with what was there before. */
static void undo(Records *r, Arena *a, void *with)
{
    const Tuner *t = with;
    int kept = 0;
    for (int i = 0; i < r->at.n; i++) {
        bool ours = false;
        for (int k = 0; k < t->fresh.n; k++)
            ours |= same_place(&t->fresh.at[k], &r->at.at[i])
                 && tiling_same(&t->fresh.at[k].tiling, &r->at.at[i].tiling);
        if (!ours)
            r->at.at[kept++] = r->at.at[i];
    }
    r->at.n = kept;
    for (int k = 0; k < t->before.n; k++)
        records_put(r, a, &t->before.at[k]);
}

static void take_back(Tuner *t)
{
    Fault why;
    t->report.rejected = true;
    if (t->report.path && t->fresh.n > 0
        && !records_edit(t->arena, t->report.path, undo, t, &why))
        warning_at((Pos){ 0 }, "the records stay: %s", why.text);
}

void tune_end(Tuner *t, double until)
{
    Mades made = { 0 };
    double *sample;
    Verdict tuned;
    if (!differs(t) || interrupted() || !build_both(t, &made, until))
        return;
    const int turns = run_both(t, &made, until, &sample, &tuned);
    if (interrupted())
        return;
    if (tuned.fate != FateTimed) {
        warning_at((Pos){ 0 }, "the whole model as found: %s: %s",
                   fate_word[tuned.fate], tuned.why);
        take_back(t);
        return;
    }
    bool slower = false;
    for (int i = 0; i < t->works.n && turns > 0; i++) {
        add_end(t, i, sample, turns);
        slower |= turns >= LeastEnd
               && t->report.end.at[i].gain.high < 1;
    }
    if (slower)
        take_back(t);
}
