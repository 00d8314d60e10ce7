/* tune.c: the tuning of one model: what is measured once, the order of its
 * tasks, the time that each gets, and what is kept.                         */
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune_parts.h"

static const double least_share = 0.005; /* of the model's time: below that a
                                            task is left alone */
enum { EndPairs = 24 };          /* that should be compared at the end */

/* ------------------------------------------------------------ beginning --- */
static bool find_compiler(Tuner *t, Fault *why)
{
    const EngineOptions *o = &t->options->model;
    BackendOptions with = { .cc = o->cc, .level = o->level };
    Workshop *w = &t->shop;
    w->jit = backend_kind(o->backend, &with) == BackendJit;
    if (!target_runs_here(&t->engine.target, why))
        return false;
    if (w->jit)
        return true;
    w->cc = (CcOptions){ .compiler = cc_find(t->arena, with.cc, why),
                         .level = with.level ? with.level : "2",
                         .march = t->engine.target.march,
                         .features = t->engine.target.features };
    return w->cc.compiler != NULL;
}

/* The model by default, on one thread, for sizes and counts: by libtcc at once,
 * where the system lets it.                                                  */
static bool load_default(Tuner *t, Fault *why)
{
    Engine *e = &t->engine;
    BackendOptions with = { .cc = e->options.cc, .level = e->options.level };
    if (!backend_load(&e->backend, e->arena, e->plan, BackendJit, &with, why)
        && !backend_load(&e->backend, e->arena, e->plan, BackendCc, &with,
                         why))
        return false;
    e->bound = aligned_memory(e->arena, e->backend.model->bound_bytes);
    e->backend.model->bind(e->bound, e->packed);
    t->setup = setup_new(e, &t->options->work);
    setup_works(t->setup, &t->works);
    return true;
}

static void measure_machine(Tuner *t)
{
    TuneReport *r = &t->report;
    machine_measure(&r->machine, r->host.threads,
                    fmin(0.5, t->options->budget / 20));
    r->rates = *machine_rates(&r->machine, r->host.threads);
}

/* What is known of this host already. A file that can't be read is said, and
 * nothing is known.                                                          */
static void read_records(Tuner *t)
{
    Fault why;
    t->report.path = records_path(t->arena, t->options->records);
    if (t->report.path
        && !records_read(&t->records, t->arena, t->report.path, &why))
        warning_at((Pos){ 0 }, "%s", why.text);
}

static int begin(Tuner *t)
{
    EngineOptions o = t->options->model;
    Fault why;
    o.tuned = false;
    o.choices = (Choices){ 0 };
    if (o.threads < 0)
        o.threads = cores_usable();
    int code = engine_plan(&t->engine, &o);
    t->arena = t->report.arena = t->engine.arena;
    if (code)
        return code;
    if (!find_compiler(t, &why)
        || !engine_host(t->arena, &o, &t->engine.target, &t->report.host, &why))
        return report_fault(&why);
    if (t->report.host.threads < 1)
        t->report.host.threads = 1;
    code = engine_weights(&t->engine);
    if (code)
        return code;
    if (!load_default(t, &why) || !workshop_open(&t->shop, &why))
        return report_fault(&why);
    t->shop.whole_bytes = whole_text(&t->engine, NULL, 0, t->shop.jit).n;
    read_records(t);
    measure_machine(t);
    t->report.options = t->options;
    t->report.engine = &t->engine;
    tune_shares(&t->report, t->setup, &t->works);
    return ExitDone;
}

Model tune_model(Tuner *t, const Task *task)
{
    const Plan *p = t->engine.plan;
    const int threads = t->report.host.threads;
    return (Model){ .plan = p, .machine = &t->report.machine,
                    .rates = &t->report.rates, .task = task,
                    .shape = task_shape(p, task), .threads = threads,
                    .uses = task_uses(t->arena, p, task, t->setup, &t->works,
                                      threads) };
}

/* One ring a dtype, before any child: they share it. */
static void make_rings(Tuner *t)
{
    int64_t bytes[2] = { 0, 0 };
    for (int i = 0; i < t->report.task.n; i++) {
        const TuneTask *k = &t->report.task.at[i];
        if (k->task->key.kind > TaskAttention || k->share < least_share)
            continue;
        const Model m = tune_model(t, k->task);
        const int64_t need = task_ring_bytes(&m);
        int64_t *most = &bytes[k->task->key.dtype];
        *most = need > *most ? need : *most;
    }
    for (int i = 0; i < 2; i++)
        if (bytes[i] > 0)
            ring_make(&t->ring[i], t->arena, (Dtype)i, bytes[i]);
}

/* ------------------------------------------------------------- progress --- */
typedef struct { Tuner *t; const TuneTask *now; } Showing;
static Showing showing;          /* one tuning at a time */

void tune_tick(void *tuner)
{
    const Tuner *t = tuner;
    const double all = t->until - t->begin;
    const double done = (machine_seconds() - t->begin) / all;
    if (showing.now)
        tune_progress(&t->report, showing.now, fmin(1, done));
}

/* -------------------------------------------------------------- records --- */
static const Record *known(const Tuner *t, const TaskKey *key)
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
    return (Candidate){ .tiling = *tiling, .fate = FateTimed,
                        .predicted = NAN, .seconds = ns * 1e-9,
                        .spread = r->spread, .samples = r->samples,
                        .when = NAN };
}

/* What an earlier run found stands. */
static bool reuse(Tuner *t, TuneTask *task)
{
    const Record *r = t->options->again ? NULL : known(t, &task->task->key);
    const Tiling *usual = &task->task->usual;
    if (!r)
        return false;
    vec_push(t->arena, &task->candidate, recorded(usual, r->usual_ns, r));
    if (!tiling_same(&r->tiling, usual)) {
        vec_push(t->arena, &task->candidate, recorded(&r->tiling, r->ns, r));
        task->champion = 1;
    }
    const double gain = r->usual_ns / r->ns;
    task->gain = (Interval){ gain, gain, gain };
    task->reused = task->finished = true;
    return true;
}

static Record record_of(const Tuner *t, const TuneTask *task)
{
    const Candidate *usual = &task->candidate.at[0];
    const Candidate *best = &task->candidate.at[task->champion];
    return (Record){ .host = t->report.host, .key = task->task->key,
                     .tiling = best->tiling, .ns = best->seconds * 1e9,
                     .usual_ns = usual->seconds * 1e9,
                     .samples = task->pairs > 0 ? task->pairs : best->samples,
                     .spread = best->spread };
}

static bool keep(Tuner *t, const TuneTask *task, Fault *why)
{
    const Record one = record_of(t, task), *old = known(t, &one.key);
    if (!records_add(t->arena, t->report.path, &one, 1, why))
        return false;
    if (task->champion == 0)     /* nothing that could be taken back */
        return true;
    vec_push(t->arena, &t->fresh, one);
    if (old)
        vec_push(t->arena, &t->before, *old);
    return true;
}

/* ------------------------------------------------------------ the tasks --- */
/* Tasks that are timed alone first, then those that take the whole model; those
 * with the largest share first.                                              */
static int by_turn(const void *a, const void *b)
{
    const TuneTask *x = *(TuneTask *const *)a, *y = *(TuneTask *const *)b;
    const bool whole = x->task->key.kind > TaskAttention;
    const bool other = y->task->key.kind > TaskAttention;
    if (whole != other)
        return whole - other;
    return (x->share < y->share) - (x->share > y->share);
}

/* How its time is worth dividing, up to what a search of its kind can use: few
 * rows have a handful of candidates, each of a whole model takes long to
 * compile.                                                                   */
static double worth(const TuneTask *k, int threads)
{
    static const double least[TaskKinds] = {
        [TaskMatmul] = 0.05, [TaskFew] = 0.015, [TaskAttention] = 0.05,
        [TaskRows] = 0.08, [TaskSplit] = 0.12
    };
    static const double most[TaskKinds] = {
        [TaskMatmul] = 1, [TaskFew] = 0.02, [TaskAttention] = 1,
        [TaskRows] = 0.15, [TaskSplit] = 0.12
    };
    const TaskKind kind = k->task->key.kind;
    if (k->share < least_share || (kind == TaskSplit && threads < 2))
        return 0;
    return fmin(fmax(k->share, least[kind]), most[kind]);
}

/* Is there time to compile the default and another one, and to run them? */
static bool enough(const Tuner *t, const TuneTask *task, double until)
{
    const double now = machine_seconds();
    if (task->task->key.kind <= TaskAttention)
        return now < until;
    return now + 3 * t->shop.each[1] < until;
}

static void run_task(Tuner *t, TuneTask *task, double until, Fault *why)
{
    showing.now = task;
    tune_tick(t);
    if (!reuse(t, task)) {
        if (!enough(t, task, until))
            return;
        tune_task(t, task, until);
        if (task->finished && !why->code)    /* the first failure is said */
            keep(t, task, why);
    }
    if (task->champion > 0)
        vec_push(t->arena, &t->choice, ((Choice){ task->task->key,
                 task->candidate.at[task->champion].tiling }));
    tune_tick(t);
}

/* Parts of the time, for turn[]; where that of a whole model would be too
 * short, the others have it. Returns their sum.                              */
static double divide_time(const Tuner *t, TuneTask *const *turn, double *own,
                          double seconds)
{
    const int n = t->report.task.n, threads = t->report.host.threads;
    double sum = 0, kept = 0;
    for (int i = 0; i < n; i++)
        sum += own[i] = worth(turn[i], threads);
    for (int i = 0; i < n; i++) {
        if (turn[i]->task->key.kind > TaskAttention
            && seconds * own[i] / sum < 3 * t->shop.each[1])
            own[i] = 0;
        kept += own[i];
    }
    return kept;
}

/* What the comparison at the end should take, in seconds: two models compiled
 * side by side, and runs of both, at about twice their limits.               */
static double end_time(const Tuner *t)
{
    const double budget = t->options->budget;
    double run = 0;
    for (int i = 0; i < t->works.n; i++)
        run += 2 * work_limit(&t->report.machine, &t->report.rates,
                              &t->works.at[i]).seconds;
    const double all = 2 * t->shop.each[1] + 2 * EndPairs * run;
    return fmin(fmax(all, 0.15 * budget), 0.5 * budget);
}

/* What a task leaves goes to the next ones, at last to the whole models. */
static void run_tasks(Tuner *t, Fault *why)
{
    const TuneOptions *o = t->options;
    const int n = t->report.task.n, threads = t->report.host.threads;
    TuneTask **turn = arena_alloc(t->arena, (size_t)(n + 1) * sizeof *turn);
    double *own = arena_alloc(t->arena, (size_t)(n + 1) * sizeof *own);
    double until = t->until - end_time(t);
    for (int i = 0; i < n; i++)
        turn[i] = &t->report.task.at[i];
    qsort(turn, (size_t)n, sizeof *turn, by_turn);
    double left = divide_time(t, turn, own, until - machine_seconds());
    for (int i = 0; i < n && !interrupted(); i++) {
        const double now = machine_seconds();
        const double part = own[i] > 0 ? own[i] / left : 1;
        if (worth(turn[i], threads) > 0)
            run_task(t, turn[i], o->exhaustive ? now + 1e6
                                 : now + fmax(0, until - now) * part, why);
        left -= own[i];
        until = t->until - end_time(t);
    }
}

/* --------------------------------------------------------------- report --- */
static int write_svg(const TuneReport *r, Output *file)
{
    size_t n;
    char *text = draw_tune(r, &n);
    return commit_text(file, text, n);
}

static int report(Tuner *t, FILE *out, Output *svg, const Fault *unkept)
{
    TuneReport *r = &t->report;
    r->seconds = machine_seconds() - t->begin;
    r->interrupted = interrupted();
    tune_progress_end();
    if (t->options->format == TuneJson)
        tune_json(r, out);
    else
        tune_print(r, out);
    fflush(out);
    const int code = t->options->svg ? write_svg(r, svg) : ExitDone;
    if (!unkept->code)
        return code;
    report_fault(unkept);
    note_at((Pos){ 0 }, "what was found is not kept: name another file by "
            "--records");
    return ExitIO;
}

int tune_run(const TuneOptions *o, FILE *out)
{
    Tuner t = { .options = o, .begin = machine_seconds() };
    Fault why, unkept = { 0 };
    Output svg;
    if (o->svg && !output_open(&svg, o->svg, &why))
        return report_fault(&why);
    interrupt_watch();
    t.until = t.begin + o->budget;
    int code = begin(&t);
    if (!code) {
        make_rings(&t);
        run_tasks(&t, &unkept);
        showing.now = NULL;
        tune_end(&t, o->exhaustive ? machine_seconds() + 30 : t.until);
        code = report(&t, out, &svg, &unkept);
    } else if (o->svg) {
        output_cancel(&svg);
    }
    workshop_close(&t.shop);
    engine_close(&t.engine);
    interrupt_end();
    return code;
}
