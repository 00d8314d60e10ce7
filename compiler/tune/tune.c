/* tune.c: the tuning of one model: what is measured once, the code of each back
 * end in turn, the report.                                                  */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tuner.h"

/* Of the time: for libtcc's code, whose candidates compile in milliseconds.
 * What it found ranks those of the compiler, which gets the rest.            */
static const double jit_part = 0.3;

/* ------------------------------------------------------------ beginning --- */
static bool find_compiler(Tuner *t, Fault *why)
{
    const EngineOptions *o = &t->engine.options;
    BackendOptions with = { .cc = o->cc, .level = o->level };
    Builder *w = &t->builder;
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
        && (t->builder.jit
            || !backend_load(&e->backend, e->arena, e->plan, BackendCc, &with,
                             why)))
        return false;
    e->bound = aligned_memory(e->arena, e->backend.model->bound_bytes);
    e->backend.model->bind(e->bound, e->packed);
    t->setup = setup_new(e, &t->options->work);
    setup_works(t->setup, &t->works);
    return true;
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

/* Weights, which both back ends take alike, and the machine's rates: those of
 * `first`, where it has them.                                                */
static int share(Tuner *t, const Tuner *first)
{
    TuneReport *r = &t->report;
    if (first && first->engine.packed) {
        t->engine.packed = first->engine.packed;
        r->machine = first->report.machine;
    } else {
        const int code = engine_weights(&t->engine);
        if (code)
            return code;
        tune_world.measure(&r->machine, r->host.threads,
                           fmin(0.5, t->options->budget / 20));
    }
    r->rates = *machine_rates(&r->machine, r->host.threads);
    return ExitDone;
}

/* ExitBackend, with *why: this back end is not here. */
static int begin(Tuner *t, const char *backend, const Tuner *first, Fault *why)
{
    EngineOptions o = t->options->model;
    TuneReport *r = &t->report;
    o.tuned = false;
    o.choices = (Choices){ 0 };
    o.backend = backend;
    if (o.threads < 0)
        o.threads = cores_usable();
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
    if (!load_default(t, why) || !builder_open(&t->builder, why))
        return why->code;
    t->builder.whole_bytes = whole_text(&t->engine, NULL, 0, t->builder.jit).n;
    read_records(t);
    r->options = t->options;
    r->engine = &t->engine;
    tune_shares(r, t->setup, &t->works);
    return ExitDone;
}

/* ------------------------------------------------------------- progress --- */
static struct {          /* one tuning at a time */
    const TuneReport *r; /* of all back ends */
    TuneTask *now;       /* NULL: the whole model */
    double begin, until; /* of the whole tuning */
} showing;

void tune_shows(TuneTask *now)
{
    showing.now = now;
}

void tune_tick(void *tuner)
{
    const double now = tune_now(), all = showing.until - showing.begin;
    (void)tuner;
    tune_world.progress(showing.r, showing.now,
                        fmin(1, (now - showing.begin) / all),
                        showing.until - now);
}

/* --------------------------------------------------------------- report --- */
static int write_svg(const TuneReport *r, Output *file)
{
    size_t n;
    char *text = draw_tune(r, &n);
    return commit_text(file, text, n);
}

static int report(const TuneReport *r, FILE *out, Output *svg,
                  const Fault *unkept)
{
    const TuneOptions *o = r->options;
    tune_progress_end();
    if (o->format == TuneJson)
        tune_json(r, out);
    else
        tune_print(r, out);
    fflush(out);
    const int code = o->svg ? write_svg(r, svg) : ExitDone;
    if (!unkept->code)
        return code;
    report_fault(unkept);
    note_at((Pos){ 0 }, "what was found is not kept: name another file by "
                        "--records");
    return ExitIO;
}

/* ------------------------------------------------------------ back ends --- */
enum { Legs = 2 }; /* the compiler's, libtcc's */

static void end_all(Tuner *t, int n)
{
    while (n-- > 0) { /* the first has the weights of all */
        builder_close(&t[n].builder);
        engine_close(&t[n].engine);
    }
}

/* The back ends that there are: what nobody named need not be here. Returns how
 * many; 0, with *code.                                                       */
static int begin_all(Tuner *t, const TuneOptions *o, int *code)
{
    static const char *const all[Legs] = { "clang", "jit" };
    const char *one = o->model.backend;
    int n = 0;
    for (int i = 0; i < (one ? 1 : Legs); i++) {
        Fault why = { 0 };
        t[n] = (Tuner){ .options = o, .begin = tune_now() };
        const int end = begin(&t[n], one ? one : all[i], n ? &t[0] : NULL,
                              &why);
        if (end == ExitDone) {
            n++;
            continue;
        }
        builder_close(&t[n].builder);
        engine_close(&t[n].engine);
        if (one || end != ExitBackend || !why.code || (i == 0 && o->model.cc)
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

/* One back end's turns; where anything else was found, the whole model; and
 * again, as long as there is anything to try.                               */
static void run_leg(Tuner *t, double until, Fault *unkept)
{
    t->until = until;
    while (schedule_run(t, unkept) || t->changed) {
        tune_shows(NULL);
        if (t->changed)
            end_to_end(t, t->options->exhaustive ? tune_now() + 30 : until);
        if (interrupted() || tune_now() > until)
            return;
    }
}

/* libtcc's code first, then the compiler's; what it leaves libtcc's has. */
static void run_legs(Tuner *t, int n, double until, Fault *unkept)
{
    const double now = tune_now();
    if (n > 1) {
        run_leg(&t[1], now + jit_part * (until - now), unkept);
        t[0].earlier = &t[1].report;
    }
    run_leg(&t[0], until, unkept);
    if (n > 1)
        run_leg(&t[1], until, unkept);
}

int tune_run(const TuneOptions *o, FILE *out)
{
    Tuner leg[Legs];
    const double begin = tune_now(), until = begin + o->budget;
    Fault why, unkept = { 0 };
    Output svg;
    int code = ExitDone;
    if (o->svg && !output_open(&svg, o->svg, &why))
        return report_fault(&why);
    interrupt_watch();
    const int n = begin_all(leg, o, &code);
    for (int i = 0; i < n; i++) {
        leg[i].begin = begin;
        leg[i].last = until;
        leg[i].report.other = i + 1 < n ? &leg[i + 1].report : NULL;
        make_rotating_buffers(&leg[i]);
    }
    if (n > 0) {
        showing.r = &leg[0].report;
        showing.begin = begin;
        showing.until = o->exhaustive ? INFINITY : until;
        run_legs(leg, n, until, &unkept);
        for (int i = 0; i < n; i++) {
            leg[i].report.seconds = tune_now() - begin;
            leg[i].report.interrupted = interrupted();
        }
        code = report(&leg[0].report, out, &svg, &unkept);
    } else if (o->svg) {
        output_cancel(&svg);
    }
    end_all(leg, n);
    interrupt_end();
    return code;
}
