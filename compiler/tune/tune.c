/* tune.c: tunes a model: measures the machine once, tunes the code of each
 * backend, and prints the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "tune/tuner.h"

/* Fraction of the time in which libtcc's code is tuned. Its candidates compile
 * in milliseconds, and their times rank the candidates of the C compiler, which
 * gets the rest of the time. */
static const double jit_part = 0.3;

/* ---- beginning ---- */
static bool find_compiler(Tuner *t, Fault *why)
{
    const EngineOptions *o = &t->engine.options;
    BackendOptions with = { .cc = o->cc, .level = o->level };
    Builder *b = &t->builder;
    ObjectText model;
    b->env = t->env;
    b->jit = backend_kind(o->backend, &with) == BackendJit;
    if (!target_runs_here(&t->engine.target, why))
        return false;
    if (b->jit)
        return true;
    if (!backend_text(&model, t->arena, t->engine.plan, &with, why))
        return false;
    b->cc = model.cc;
    b->whole_bytes = model.text.n;
    return true;
}

/* Reads the records of this host. Only warns if the file is unreadable. */
static void read_records(Tuner *t)
{
    Fault why;
    t->report.path = records_path(t->arena, t->options->records);
    if (t->report.path
        && !records_read(&t->records, t->arena, t->report.path, &why)) {
        end_if_fatal(&why);
        warning_at((Pos){ 0 }, "%s", why.text);
    }
}

/* Sets the weights and the machine's rates, or copies those of the backend
 * `first`. */
static int share(Tuner *t, const Tuner *first)
{
    TuneReport *r = &t->report;
    if (first && first->engine.packed) {
        t->engine.packed = first->engine.packed;
        r->machine = first->report.machine;
    } else {
        t->engine.keeps = true;
        const int code = engine_weights(&t->engine);
        if (code)
            return code;
        t->env->rates(&r->machine, &t->engine.target, r->host.threads,
                      fmin(0.5, t->options->budget / 20));
    }
    r->rates = *machine_rates(&r->machine, r->host.threads);
    return ExitDone;
}

/* Prepares a backend. Returns ExitBackend with *why if it is not installed. */
static int begin(Tuner *t, const char *backend, const Tuner *first, Fault *why)
{
    EngineOptions o = t->options->model;
    TuneReport *r = &t->report;
    o.tuned = false;
    o.choices = (Choices){ 0 };
    o.backend = backend;
    if (o.threads < 0)
        o.threads = attn_cores();
    int code = engine_plan(&t->engine, &o);
    t->arena = r->arena = t->engine.arena;
    if (code)
        return code;
    if (!find_compiler(t, why)
        || !engine_host(t->arena, &o, &t->engine.target, &r->host, why))
        return why->code;
    if (r->host.threads < 1)
        r->host.threads = 1;
    code = share(t, first);
    if (code)
        return code;
    t->setup = setup_new(&t->engine, &t->options->work); /* only counts */
    setup_works(t->setup, &t->works);
    if (!builder_open(&t->builder, why))
        return why->code;
    read_records(t);
    r->options = t->options;
    r->engine = &t->engine;
    r->jit = t->builder.jit;
    tune_shares(r, &t->works);
    return ExitDone;
}

/* ---- report ---- */
static int report(const TuneReport *r, FILE *out, Output *svg,
                  const Fault *unkept)
{
    const TuneOptions *o = r->options;
    if (o->format == TuneJson)
        tune_json(r, out);
    else
        tune_print(r, out);
    fflush(out);
    const int code = o->svg ? commit_text(svg, draw_tune(r)) : ExitDone;
    if (!unkept->code)
        return code;
    report_fault(unkept);
    note_at((Pos){ 0 }, "what was found is not kept: name another file by "
                        "--records");
    return ExitIO;
}

/* ---- back ends ---- */
enum { BackEnds = 2 }; /* the C compiler, and libtcc */

static void end_all(Tuner *t, int n)
{
    while (n-- > 0) { /* backwards, because the first owns the weights of all */
        builder_close(&t[n].builder);
        engine_close(&t[n].engine);
    }
}

/* Prepares the available backends, each as a copy of `like`. A backend that the
 * user did not name may be unavailable. Returns the number of backends, or 0
 * with *code. */
static int begin_all(Tuner *t, const Tuner *like, int *code)
{
    static const char *const all[BackEnds] = { "clang", "jit" };
    const EngineOptions *o = &like->options->model;
    const char *one = o->backend;
    int n = 0;
    for (int i = 0; i < (one ? 1 : BackEnds); i++) {
        Fault why = { 0 };
        t[n] = *like;
        const int end = begin(&t[n], one ? one : all[i], n ? &t[0] : NULL,
                              &why);
        if (end == ExitDone) {
            n++;
            continue;
        }
        builder_close(&t[n].builder);
        engine_close(&t[n].engine);
        if (one || end != ExitBackend || !why.code || (i == 0 && o->cc)
            || (i > 0 && n == 0)) {
            *code = why.code ? report_fault(&why) : end;
            end_all(t, n);
            return 0;
        }
        warning_at((Pos){ 0 }, "%s: the code of %s is not tuned", why.text,
                   all[i]);
    }
    return n;
}

/* Sets the limits of the timed tasks. If a time is below its limit, measures
 * the machine again first. */
static void set_limits(Tuner *t)
{
    TuneReport *r = &t->report;
    if (tune_beats_limits(r)) {
        Machine again;
        t->env->rates(&again, &t->engine.target, r->host.threads,
                      fmin(0.5, t->options->budget / 20));
        machine_keep_better(&r->machine, &again);
        r->rates = *machine_rates(&r->machine, r->host.threads);
    }
    tune_limits(r, &t->works);
}

/* Tunes the tasks of one backend. If anything has changed, compares the
 * complete model. Repeats this while something is left to try. */
static void tune_backend(Tuner *t, double until, Fault *unkept)
{
    const Environment *env = t->env;
    t->until = until;
    while (schedule_run(t, unkept) || t->changed) {
        tuner_shows(t, NULL);
        if (t->changed)
            end_to_end(t, t->options->exhaustive ? env->now() + 30 : until);
        if (interrupted() || env->now() > until)
            return;
    }
}

/* Tunes the code of libtcc, then that of the C compiler. libtcc's code gets any
 * time left after that. */
static void tune_all(Tuner *t, int n, Fault *unkept)
{
    const Environment *env = t->env;
    const double begin = t->begin, until = t->last, now = env->now();
    for (int i = 0; i < n; i++) {
        t[i].report.other = i + 1 < n ? &t[i + 1].report : NULL;
        rotating_buffers(&t[i]);
    }
    if (n > 1) {
        tune_backend(&t[1], now + jit_part * (until - now), unkept);
        t[0].earlier = &t[1].report;
    }
    tune_backend(&t[0], until, unkept);
    if (n > 1)
        tune_backend(&t[1], until, unkept);
    for (int i = 0; i < n; i++) {
        set_limits(&t[i]);
        t[i].report.seconds = env->now() - begin;
        t[i].report.interrupted = interrupted();
    }
}

int tune_on(const Environment *env, const TuneOptions *o, FILE *out)
{
    Tuner t[BackEnds];
    const double begin = env->now(), until = begin + o->budget;
    Progress progress = { .report = &t[0].report,
                          .begin = begin,
                          .until = o->exhaustive ? INFINITY : until };
    const Tuner like = { .env = env,
                         .options = o,
                         .progress = &progress,
                         .begin = begin,
                         .last = until };
    Fault why, unkept = { 0 };
    Output svg;
    int code = ExitDone;
    if (o->svg && !output_open(&svg, o->svg, &why))
        return report_fault(&why);
    interrupt_watch();
    progress_begin("tune");
    const int n = begin_all(t, &like, &code);
    if (n > 0) {
        tune_all(t, n, &unkept);
        terminal_clear();
        code = report(&t[0].report, out, &svg, &unkept);
    } else if (o->svg) {
        output_cancel(&svg);
    }
    end_all(t, n);
    progress_end();
    interrupt_end();
    return code;
}

int tune_run(const TuneOptions *o, FILE *out)
{
    static const Environment here = { seconds_now, machine_measure, spawn_all,
                                      child_measure, tune_progress };
    return tune_on(&here, o, out);
}
