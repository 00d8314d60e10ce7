/* bench.c: times the workloads of a model and checks that their results stay
 * the same.
 *
 * The workloads and a slice of the machine benchmark run in turn, so that a
 * disturbance affects all of them. Only medians are compared with each
 * other. */
#include "base/progress.h"
#include "bench/bench_report.h"

#include <math.h>
#include <stdlib.h>

static const int64_t least_runs = 7, most_runs = 20000;
static const double slice = 0.002, good_error = 0.01;

static double time_once(const Work *w, Setup *s)
{
    const double begin = seconds_now();
    w->run(s);
    return seconds_now() - begin;
}

/* Runs each workload once to warm up, and records the checksum of its
 * result. */
static void first_runs(Works *works, Setup *s)
{
    for (int i = 0; i < works->n; i++) {
        works->at[i].run(s);
        works->at[i].checksum = work_checksum(&works->at[i]);
    }
}

static void run_turn(Setup *s, const Works *works, Times *times)
{
    for (int i = 0; i < works->n; i++) {
        const Work *w = &works->at[i];
        vec_push(s->arena, &times[i], time_once(w, s));
        if (work_checksum(w) != w->checksum)
            die("bench: %s: run %d left another result", w->name, times[i].n);
    }
    if (!s->options.no_limit)
        vec_push(s->arena, &times[works->n],
                 machine_fma_rate(&s->engine->target, s->threads, slice));
}

static bool all_known(const Times *times, int works)
{
    for (int i = 0; i < works; i++) {
        const Summary s = times_summary(&times[i]);
        const double error = summary_error(&s);
        if (error < 0 || error > good_error)
            return false;
    }
    return true;
}

/* Runs the workloads for the number of repetitions in the options or, without
 * one, until each median is accurate enough or the time is up. */
static void run_all(Setup *s, const Works *works, Times *times)
{
    const BenchOptions *o = &s->options;
    const double begin = seconds_now();
    const double most = o->seconds * works->n;
    const double turns = (double)o->repetitions;
    const int64_t limit = o->most > 0 ? o->most : most_runs;
    int64_t look = least_runs;
    for (int64_t n = 1;; n++) {
        run_turn(s, works, times);
        const double passed = seconds_now() - begin;
        progress_at(turns > 0 ? (double)n / turns : fmin(1, passed / most));
        if (o->repetitions > 0 && n < o->repetitions && !interrupted())
            continue;
        if (n == o->repetitions || (n >= least_runs && passed >= most)
            || n == limit || interrupted())
            return;
        if (n < look || passed < most / 10)
            continue;
        if (all_known(times, works->n))
            return;
        look = n + n / 5 + 1;
    }
}

void bench_workloads(Setup *s, Works *works, Times *times)
{
    first_runs(works, s);
    run_all(s, works, times);
}

static void make_rows(BenchReport *r, const Works *works,
                      const Summary *summary)
{
    for (int i = 0; i < works->n; i++) {
        BenchRow row = { .work = works->at[i], .time = summary[i] };
        vec_push(r->engine->arena, &r->rows, row);
    }
}

static double most_seconds(double seconds)
{
    return fmin(1.0, seconds); /* the part that measures the machine */
}

/* Shows which part of the bench begins, with an upper bound of its duration in
 * seconds. */
static void show_part(const BenchOptions *o, int works, int part)
{
    static const char *const names[] = { "the machine", "workloads",
                                         "kernels" };
    const double runs = o->seconds * works;
    const double seconds[] = { most_seconds(o->seconds), runs,
                               o->no_kernels ? 0 : runs / 2 };
    double before = 0, all = 0;
    for (int i = 0; i < 3; i++) {
        before += i < part ? seconds[i] : 0;
        all += seconds[i];
    }
    progress_step(names[part], before / all, (before + seconds[part]) / all);
}

static void measure(BenchReport *r, Setup *s)
{
    const Engine *e = r->engine;
    const BenchOptions *o = &s->options;
    Works works = { 0 };
    setup_works(s, &works);
    const size_t n = (size_t)works.n + 1;
    Times *times = arena_alloc(e->arena, n * sizeof *times);
    Summary *summary = arena_alloc(e->arena, n * sizeof *summary);
    r->setup = s;
    r->threads = s->threads;
    show_part(o, works.n, 0);
    machine_measure(&r->machine, r->target, s->threads,
                    most_seconds(o->seconds));
    r->rates = *machine_rates(&r->machine, s->threads);
    show_part(o, works.n, 1);
    progress_begin("");
    bench_workloads(s, &works, times);
    progress_end();
    for (size_t i = 0; i < n; i++)
        summary[i] = times_summary(&times[i]);
    r->between = summary[works.n].p50;
    for (int i = 0; i < times[works.n].n; i++)
        r->rates.fma = fmax(r->rates.fma, times[works.n].at[i]);
    show_part(o, works.n, 2);
    if (!o->no_kernels)
        bench_kernels(&r->kernels, s, &works, summary);
    make_rows(r, &works, summary);
    bench_limits(r, most_seconds(o->seconds));
}

int bench_run(const Engine *e, const BenchOptions *o, FILE *out)
{
    BenchReport r = { .engine = e, .target = &e->target };
    Fault why;
    Setup *s = setup_new(e, o);
    Output *file = arena_alloc(e->arena, sizeof *file);
    if (o->svg && !output_open(file, o->svg, &why))
        return report_fault(&why);
    progress_begin("bench");
    measure(&r, s);
    progress_end();
    bench_print(&r, out);
    return o->svg ? commit_text(file, draw_roofline(&r)) : ExitDone;
}

int bench_machine(const BenchOptions *o, FILE *out)
{
    Machine m;
    Target t;
    Fault why;
    machine_measure(&m, NULL, 1, most_seconds(o->seconds));
    machine_print(&m, o->format, out);
    if (!target_find(&t, "native", 0, NULL, &why))
        return report_fault(&why);
    if (o->format == BenchTable || o->format == BenchMarkdown)
        target_print(&m, &t, o->format == BenchMarkdown, out);
    return ExitDone;
}
