/* tune_schedule.c: decides in which order the tasks of a tuning are searched
 * and how long each search may take, and records the results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tuner.h"

static const double least_share = 0.005; /* tasks of smaller share come last */
static const double most_whole = 0.4;    /* maximum fraction of the time for
                                          * tasks whose candidates are complete
                                          * models */
enum {
    EndPairs = 24
}; /* number of pairs wanted for the end-to-end comparison */

/* ---- records ---- */
static void add_recorded(Tuner *t, TuneTask *task, const Tiling *tiling,
                         double ns, const Record *r)
{
    const Candidate c = { .tiling = *tiling,
                          .status = StatusTimed,
                          .predicted = NAN,
                          .gain = NAN,
                          .seconds = ns * 1e-9,
                          .spread = r->spread,
                          .samples = r->samples,
                          .when = NAN };
    vec_push(t->arena, &task->candidate, c);
}

/* Takes a task's result from the records. Returns false if there is none. */
static bool reuse(Tuner *t, TuneTask *task)
{
    const TaskKey *key = &task->task->key;
    const Record *r = t->options->again ? NULL : known_record(t, key);
    const Tiling *by_default = &task->task->defaults;
    if (!r || r->samples < least_pairs_of(key->kind))
        return false;
    add_recorded(t, task, by_default, r->usual_ns, r);
    if (!tiling_same(&r->tiling, by_default)) {
        add_recorded(t, task, &r->tiling, r->ns, r);
        task->incumbent = 1;
    }
    const double gain = r->usual_ns / r->ns;
    task->gain = (Interval){ gain, gain, gain };
    task->reused = task->finished = true;
    return true;
}

/* Records the decision on a task, which replaces an earlier one of this run. */
static void keep(Tuner *t, const TuneTask *task, Fault *why)
{
    const Record one = task_record(&t->report, task);
    if (task->pairs >= least_pairs_of(task->task->key.kind))
        t->kept |= records_add(t->arena, t->report.path, &one, 1, why);
}

/* ---- the tasks ---- */
typedef struct {
    TuneTask *task;
    double own; /* weight of its time relative to that of the others */
} Turn;

/* Sorts tasks: first those timed alone, then those whose candidates are
 * complete models; among equals, larger shares first. */
static int by_turn(const void *a, const void *b)
{
    const TuneTask *x = ((const Turn *)a)->task, *y = ((const Turn *)b)->task;
    if (is_whole_model(x) != is_whole_model(y))
        return is_whole_model(x) - is_whole_model(y);
    return (x->share < y->share) - (x->share > y->share);
}

/* Returns the weight with which the first pass assigns time to a task. It is
 * bounded for tasks whose candidates are complete models, because these take
 * long to compile. The time that a task does not use goes to the next ones. */
static double worth(const TuneTask *k)
{
    static const double least[TaskKinds] = {
        [TaskRows] = 0.08, [TaskSplit] = 0.12
    };
    static const double most[TaskKinds] = {
        [TaskRows] = 0.15, [TaskSplit] = 0.12
    };
    const TaskKind kind = k->task->key.kind;
    return is_whole_model(k) ? fmin(fmax(k->share, least[kind]), most[kind])
                             : fmin(fmax(k->share, 0.05), 1);
}

/* Chooses the tasks of a pass that have something left to try: in the first
 * pass, those with a large share of the model's time; later, undecided ones or,
 * if there are none, all. */
static int choose_open(const Tuner *t, int pass, Turn *turn)
{
    int n = 0;
    for (int all = 0; all < 2 && n == 0; all++)
        for (int i = 0; i < t->report.task.n; i++) {
            TuneTask *k = &t->report.task.at[i];
            const bool useful = k->task->key.kind != TaskSplit
                             || t->report.host.threads > 1;
            if (!k->reused && !k->spent && k->share > 0 && useful
                && (pass > 0 ? all || !k->finished : k->share >= least_share))
                turn[n++] = (Turn){ k, worth(k) };
        }
    qsort(turn, (size_t)n, sizeof *turn, by_turn);
    return n;
}

/* ---- time ---- */

/* Returns the seconds of a run of the workloads: as measured, or else twice
 * their limits. `all` includes workloads that are sums of others. */
static double time_of_run(const Tuner *t, bool all)
{
    double run = 0;
    if (t->run > 0)
        return all ? 2 * t->run : t->run;
    for (int i = 0; i < t->works.n; i++)
        if (all || !t->works.at[i].of_others)
            run += 2
                 * work_limit(&t->report.machine, &t->report.rates,
                              &t->works.at[i], INFINITY)
                       .seconds;
    return run;
}

/* Returns the time at which the search must end so that end_to_end() has time
 * to compile two models and run them in pairs. If nothing has been found yet,
 * most of the remaining time goes to the search. */
static double search_end(const Tuner *t)
{
    const double budget = t->options->budget, left = t->until - t->env->now();
    const double all = 2 * t->builder.each[1]
                     + 2 * EndPairs * time_of_run(t, true);
    const double end = fmin(fmax(all, 0.05 * budget), 0.5 * budget);
    return t->until - (t->changed ? end : fmin(end, left / 4));
}

/* Returns the minimum seconds with which a turn is useful. */
static double least_turn(const Tuner *t, const TuneTask *k)
{
    const double pairs = least_pairs_of(k->task->key.kind);
    return is_whole_model(k)
             ? 3 * t->builder.each[1] + 2 * pairs * time_of_run(t, false)
             : 0.005 * t->options->budget;
}

/* Divides the time among the tasks. In the first pass, tasks whose candidates
 * are complete models get at least the minimum useful time, if enough is left
 * for the others. Returns the sum of the weights. */
static double divide_time(const Tuner *t, Turn *turn, int n, int pass)
{
    const double seconds = search_end(t) - t->env->now();
    double sum = 0, kept = 0, whole_model = 0;
    for (int i = 0; i < n; i++)
        sum += turn[i].own;
    for (int i = 0; i < n; i++) {
        const double need = least_turn(t, turn[i].task);
        double *own = &turn[i].own;
        if (pass == 0 && is_whole_model(turn[i].task)
            && seconds * *own / sum < need) {
            *own = whole_model + need < most_whole * seconds
                     ? need * sum / seconds
                     : 0;
            whole_model += *own > 0 ? need : 0;
        }
        kept += *own;
    }
    return kept;
}

/* ---- turns ---- */
static void run_task(Tuner *t, TuneTask *task, double until, Fault *why)
{
    const bool finished = task->finished;
    const int incumbent = task->incumbent;
    tuner_shows(t, task);
    search_task(t, task, until);
    const bool other = task->incumbent != incumbent;
    if (task->finished && (other || !finished) && !why->code)
        keep(t, task, why); /* later failures to record are not reported */
    t->changed |= other;
    tuner_tick(t);
}

/* Gives each open task a turn; time that it does not use goes to the next.
 * Returns false if no task is open or no time is left. */
static bool run_pass(Tuner *t, int pass, Fault *why)
{
    Turn *turn = arena_alloc(t->arena,
                             ((size_t)t->report.task.n + 1) * sizeof *turn);
    const int n = choose_open(t, pass, turn);
    double left = divide_time(t, turn, n, pass);
    bool any = false;
    for (int i = 0; i < n && !interrupted(); i++) {
        TuneTask *task = turn[i].task;
        const double now = t->env->now(), time = search_end(t) - now;
        const double own = turn[i].own, least = least_turn(t, task);
        const double part = time * (own > 0 ? own / left : 1);
        left -= own;
        if (!t->options->exhaustive && time < least)
            continue;
        run_task(t, task,
                 now + (t->options->exhaustive ? 1e6 : fmax(part, least)), why);
        any = true;
    }
    return any;
}

bool schedule_run(Tuner *t, Fault *why)
{
    bool any = false;
    for (int i = 0; i < t->report.task.n; i++) {
        TuneTask *k = &t->report.task.at[i];
        if (k->reused || k->search || !reuse(t, k))
            continue;
        t->changed |= k->incumbent > 0;
        tuner_shows(t, k);
    }
    for (;; t->pass++) {
        const bool more = run_pass(t, t->pass, why);
        any |= more;
        if (!more && t->pass > 0)
            return any;
    }
}
