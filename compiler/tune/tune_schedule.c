/* tune_schedule.c: decides the order of the tasks of a tuning and the time for
 * each, and records the results. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tuner.h"

static const double least_share = 0.005; /* tasks of smaller share come last */
static const double most_whole = 0.4;    /* largest fraction of the time for
                                          * tasks whose candidates are complete
                                          * models */
enum {
    EndPairs = 24
}; /* number of pairs that the end-to-end comparison aims at */

void schedule_buffers(Tuner *t)
{
    int64_t bytes[Dtypes] = { 0 };
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        if (k->task->key.kind > TaskAttention || k->share <= 0)
            continue;
        const CostModel m = cost_model(t, k->task);
        const int64_t need = rotating_buffer_bytes(&m);
        int64_t *most = &bytes[k->task->key.dtype];
        *most = need > *most ? need : *most;
    }
    for (int i = 0; i < Dtypes; i++)
        if (bytes[i] > 0)
            rotating_buffer_make(&t->weights[i], t->arena, (Dtype)i, bytes[i]);
}

/* ---- records ---- */
static const Record *known_task(const Tuner *t, const TaskKey *key)
{
    for (int i = 0; i < t->records.at.n; i++) {
        const Record *r = &t->records.at.at[i];
        if (host_same(&r->host, &t->report.host) && task_same(&r->key, key)
            && tiling_valid(&r->tiling, key->kind))
            return r;
    }
    return NULL;
}

static Candidate recorded(const Tiling *tiling, double ns, const Record *r)
{
    return (Candidate){ .tiling = *tiling,
                        .status = StatusTimed,
                        .predicted = NAN,
                        .gain = NAN,
                        .seconds = ns * 1e-9,
                        .spread = r->spread,
                        .samples = r->samples,
                        .when = NAN };
}

/* Takes the result of a task from the records. Returns false if there is
 * none. */
static bool reuse(Tuner *t, TuneTask *task)
{
    const Record *r = t->options->again ? NULL
                                        : known_task(t, &task->task->key);
    const Tiling *by_default = &task->task->defaults;
    if (!r || r->samples < least_pairs_of(task->task->key.kind))
        return false;
    vec_push(t->arena, &task->candidate, recorded(by_default, r->usual_ns, r));
    if (!tiling_same(&r->tiling, by_default)) {
        vec_push(t->arena, &task->candidate, recorded(&r->tiling, r->ns, r));
        task->incumbent = 1;
    }
    const double gain = r->usual_ns / r->ns;
    task->gain = (Interval){ gain, gain, gain };
    task->reused = task->finished = true;
    return true;
}

static Record record_of(const Tuner *t, const TuneTask *task)
{
    const Candidate *best = &task->candidate.at[task->incumbent];
    return (Record){ .host = t->report.host,
                     .key = task->task->key,
                     .tiling = best->tiling,
                     .ns = best->seconds * 1e9,
                     .usual_ns = best->seconds * task->gain.middle * 1e9,
                     .samples = task->pairs,
                     .spread = best->spread };
}

/* Records the decision on a task. It replaces an earlier one of this run. */
static void keep(Tuner *t, const TuneTask *task, Fault *why)
{
    if (task->pairs < least_pairs_of(task->task->key.kind))
        return;
    const Record one = record_of(t, task), *old = known_task(t, &one.key);
    if (!records_add(t->arena, t->report.path, &one, 1, why)
        || task->incumbent == 0) /* the default needs no record */
        return;
    if (old && !records_find(&t->fresh, &one))
        records_put(&t->before, t->arena, old);
    records_put(&t->fresh, t->arena, &one);
}

/* ---- the tasks ---- */

/* Sorts tasks: those timed alone come before those whose candidates are
 * complete models, and larger shares come first. */
static int by_turn(const void *a, const void *b)
{
    const TuneTask *x = *(TuneTask *const *)a, *y = *(TuneTask *const *)b;
    const bool whole_model = x->task->key.kind > TaskAttention;
    const bool other = y->task->key.kind > TaskAttention;
    if (whole_model != other)
        return whole_model - other;
    return (x->share < y->share) - (x->share > y->share);
}

/* Returns the weight by which the first pass gives time to a task. It is
 * bounded for tasks of the complete model, whose candidates take long to
 * compile. Time that a task does not use goes to the tasks after it. */
static double worth(const TuneTask *k)
{
    static const double least[TaskKinds] = {
        [TaskMatmul] = 0.05, [TaskSmallM] = 0.05, [TaskAttention] = 0.05,
        [TaskRows] = 0.08,   [TaskSplit] = 0.12,
    };
    static const double most[TaskKinds] = {
        [TaskMatmul] = 1,  [TaskSmallM] = 1,   [TaskAttention] = 1,
        [TaskRows] = 0.15, [TaskSplit] = 0.12,
    };
    const TaskKind kind = k->task->key.kind;
    return fmin(fmax(k->share, least[kind]), most[kind]);
}

/* True if the task has anything left to try. */
static bool is_open(const Tuner *t, const TuneTask *k)
{
    return !k->reused && !k->spent && k->share > 0
        && (k->task->key.kind != TaskSplit || t->report.host.threads > 1);
}

/* Chooses the tasks of a pass: first those with a large share of the model's
 * time, then those not decided, then all that may improve. */
static int choose_open(const Tuner *t, int pass, TuneTask **turn)
{
    int n = 0;
    for (int all = 0; all < 2 && n == 0; all++)
        for (int i = 0; i < t->report.task.n; i++) {
            TuneTask *k = &t->report.task.at[i];
            if (is_open(t, k)
                && (pass > 0 ? all || !k->finished : k->share >= least_share))
                turn[n++] = k;
        }
    qsort(turn, (size_t)n, sizeof *turn, by_turn);
    return n;
}

/* ---- time ---- */

/* Returns the seconds of a run of the workloads: as measured or, before that,
 * twice their limits. `all`: includes workloads composed of others. */
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

/* Returns the seconds that end_to_end() needs: to compile two models and to run
 * them in pairs. */
static double end_to_end_time(const Tuner *t)
{
    const double budget = t->options->budget;
    const double all = 2 * t->builder.each[1]
                     + 2 * EndPairs * time_of_run(t, true);
    return fmin(fmax(all, 0.05 * budget), 0.5 * budget);
}

/* Returns when the search must end. As long as nothing was found, most of the
 * remaining time goes to the search. */
static double search_end(const Tuner *t)
{
    const double end = end_to_end_time(t), left = t->until - t->env->now();
    return t->until - (t->changed ? end : fmin(end, left / 4));
}

/* Returns the seconds that a turn must have to be useful. */
static double least_turn(const Tuner *t, const TuneTask *k)
{
    const TaskKind kind = k->task->key.kind;
    const double pairs = least_pairs_of(kind);
    return kind <= TaskAttention
             ? 0.005 * t->options->budget
             : 3 * t->builder.each[1] + 2 * pairs * time_of_run(t, false);
}

/* Divides the time among the tasks. In the first pass, tasks of the complete
 * model get the least time that is useful, if enough is left for the others.
 * Returns the sum of the weights. */
static double divide_time(const Tuner *t, TuneTask *const *turn, int n,
                          double *own, int pass)
{
    const double seconds = search_end(t) - t->env->now();
    double sum = 0, kept = 0, whole_model = 0;
    for (int i = 0; i < n; i++)
        sum += own[i] = worth(turn[i]);
    for (int i = 0; i < n; i++) {
        const double need = least_turn(t, turn[i]);
        if (pass == 0 && turn[i]->task->key.kind > TaskAttention
            && seconds * own[i] / sum < need) {
            own[i] = whole_model + need < most_whole * seconds
                       ? need * sum / seconds
                       : 0;
            whole_model += own[i] > 0 ? need : 0;
        }
        kept += own[i];
    }
    return kept;
}

/* ---- turns ---- */
static void choose(Tuner *t, const TuneTask *task)
{
    const Choice one = { task->task->key,
                         task->candidate.at[task->incumbent].tiling };
    int i = 0;
    while (i < t->choice.n && !task_same(&t->choice.at[i].key, &one.key))
        i++;
    if (i == t->choice.n)
        vec_push(t->arena, &t->choice, one);
    else
        t->choice.at[i] = one;
    t->changed = true;
}

static void run_task(Tuner *t, TuneTask *task, double until, Fault *why)
{
    const bool finished = task->finished;
    const int incumbent = task->incumbent;
    tuner_shows(t, task);
    search_task(t, task, until);
    const bool other = task->incumbent != incumbent;
    if (task->finished && (other || !finished) && !why->code)
        keep(t, task, why); /* only the first failure to record is reported */
    if (other)
        choose(t, task);
    tuner_tick(t);
}

/* Gives each open task a turn; unused time goes to the next. Returns false if
 * no task is open or no time is left. */
static bool run_pass(Tuner *t, int pass, Fault *why)
{
    const size_t all = (size_t)t->report.task.n + 1;
    TuneTask **turn = arena_alloc(t->arena, all * sizeof *turn);
    double *own = arena_alloc(t->arena, all * sizeof *own);
    const int n = choose_open(t, pass, turn);
    double left = divide_time(t, turn, n, own, pass);
    bool any = false;
    for (int i = 0; i < n && !interrupted(); i++) {
        const double now = t->env->now(), time = search_end(t) - now;
        const double part = own[i] > 0 ? own[i] / left : 1;
        left -= own[i];
        if (t->options->exhaustive)
            run_task(t, turn[i], now + 1e6, why);
        else if (time < least_turn(t, turn[i]))
            continue;
        else
            run_task(t, turn[i],
                     now + fmax(time * part, least_turn(t, turn[i])), why);
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
        if (k->incumbent > 0)
            choose(t, k);
        tuner_shows(t, k);
    }
    for (;; t->pass++) {
        const bool more = run_pass(t, t->pass, why);
        any |= more;
        if (!more && t->pass > 0)
            return any;
    }
}
