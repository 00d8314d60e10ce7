/* sweep.c: runs a sweep from options to report: plans all variants, then times
 * the valid ones. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <sys/mman.h>

#include "base/progress.h"
#include "sweep/sweep_parts.h"

/* ---- columns ---- */
static bool any_needs(const Sweep *s, ColumnNeeds needs)
{
    const Columns *of[] = { &s->columns, &s->sort, &s->pareto, &s->drawn };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (int k = 0; k < of[i]->n; k++)
            if (of[i]->at[k].needs >= needs)
                return true;
    return false;
}

static void refuse_worthless(const Columns *pareto)
{
    for (int i = 0; i < pareto->n; i++)
        if (pareto->at[i].better == 0)
            fail(ExitUsage, "--front: no %s is better than another",
                 pareto->at[i].name);
    if (pareto->n != 2)
        fail(ExitUsage, "--front takes two columns: parameters,latency");
}

/* Reads the columns, which determine if variants must run. By default, the
 * front and the sort order use times if any are shown. */
static void read_columns(Sweep *s)
{
    const SweepOptions *o = s->options;
    Arena *a = s->arena;
    const bool exact = o->format == BenchJson || o->format == BenchCsv;
    columns_read(a,
                 o->columns ? o->columns : columns_default(exact, o->predict),
                 "--columns", &s->columns, &s->fields);
    if (o->sort)
        columns_read(a, o->sort, "--sort", &s->sort, &s->fields);
    if (o->pareto)
        columns_read(a, o->pareto, "--front", &s->pareto, &s->fields);
    draw_read(s);
    if (s->sort.n > 1)
        fail(ExitUsage, "--sort takes one column");
    s->times = any_needs(s, NeedsTimes);
    s->estimates = any_needs(s, NeedsEstimates);
    if (s->times && o->predict)
        fail(ExitUsage, "--predict runs nothing: it has no columns of times: "
                        "take predicted, prefill_predicted ..");
    if (s->estimates && !o->sort)
        columns_read(a, s->times ? "latency" : "predicted", "--sort", &s->sort,
                     &s->fields);
    if (s->estimates && !o->pareto)
        columns_read(a,
                     s->times ? "parameters,latency" : "parameters,predicted",
                     "--front", &s->pareto, &s->fields);
    if (s->pareto.n)
        refuse_worthless(&s->pareto);
}

/* ---- plan ---- */
static bool plan_all(Sweep *s)
{
    Arena *a = s->arena;
    for (int i = 0; i < s->rows.n && !s->interrupted; i++) {
        Row *r = &s->rows.at[i];
        progress_step(variant_text(a, &s->axes, r->variant),
                      (double)i / s->rows.n, (i + 1.0) / s->rows.n);
        s->interrupted = !child_row(s, r, facts_plan);
        estimate_next(s, r);
    }
    return !s->interrupted;
}

/* ---- the whole ---- */
static int most_threads(const Sweep *s)
{
    int most = engine_threads(&s->options->model);
    for (int i = 0; i < s->axes.n; i++)
        for (int k = 0; k < s->axes.at[i].value.n; k++)
            if (s->axes.at[i].kind == AxisThreads)
                most = (int)
                    fmax(most, (double)axis_number(&s->axes.at[i],
                                                   s->axes.at[i].value.at[k]));
    return most;
}

static void run_all(Sweep *s)
{
    progress_begin("sweep");
    keep_open(s);
    if (s->estimates)
        estimate_begin(s);
    progress_step("planning", 0, s->times ? 0.05 : 1);
    progress_begin("");
    const bool planned = plan_all(s);
    progress_end();
    if (planned && s->options->svg && !s->options->layers)
        draw_check(s);
    if (planned && s->times) {
        keep_take(s);
        progress_step("timing", 0.05, 1);
        progress_begin("");
        sweep_times(s);
        estimate_learn(s);
        progress_end();
    }
    progress_end();
}

/* Returns the first row's exit code if all rows were rejected, otherwise
 * ExitDone. */
static int refused_code(const Sweep *s)
{
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[i].state != RowRefused)
            return ExitDone;
    return s->rows.at[0].code;
}

/* Warns about variants that were not timed. */
static void say_left(const Sweep *s)
{
    int left = 0;
    for (int i = 0; i < s->rows.n; i++)
        left += s->rows.at[i].state <= RowPlanned;
    if (left == 0 || !s->times)
        return;
    warning_once("%d of %d variants were not timed: %s", left, s->rows.n,
                 s->interrupted ? "interrupted" : "the --budget is over");
    if (!s->options->resume)
        note_once("--resume FILE keeps rows, and goes on from them");
}

static int write_svg(const Sweep *s, Output *file)
{
    const char *text = s->options->layers ? draw_compare(s) : draw_sweep(s);
    if (text)
        return commit_text(file, text);
    output_cancel(file);
    error_at((Pos){ 0 }, "--svg: there is nothing to draw: no variant has both "
                         "numbers");
    return ExitInput;
}

static int report(Sweep *s, FILE *out, Output *svg)
{
    const int code = refused_code(s);
    front_mark(s);
    compare_exponents(s);
    terminal_clear();
    sweep_print(s, out);
    fflush(out);
    say_left(s);
    if (s->options->predict && s->speeds.host && s->speeds.times == 0)
        note_once("no times of models are kept for %s: these are guesses; each "
                  "sweep that runs makes later ones better",
                  s->speeds.host);
    if (code)
        error_at((Pos){ 0 }, "no variant could be made: %s",
                 s->rows.at[0].message);
    const int drawn = s->options->svg && !code ? write_svg(s, svg) : ExitDone;
    if (s->options->svg && code)
        output_cancel(svg);
    return code ? code : drawn ? drawn : s->unkept ? ExitIO : ExitDone;
}

static int run_and_report(Sweep *s, FILE *out)
{
    Output svg;
    Fault why;
    if (s->options->svg && !output_open(&svg, s->options->svg, &why))
        return report_fault(&why);
    interrupt_watch();
    run_all(s);
    const int code = report(s, out, &svg);
    interrupt_end();
    return code;
}

static void unmap(void *machine)
{
    munmap(machine, sizeof(Machine));
}

int sweep_run(const SweepOptions *o, FILE *out)
{
    Sweep s = { .options = o,
                .out = out,
                .arena = arena_new(),
                .begin = seconds_now(),
                .kept = -1 };
    s.machine = mmap(NULL, sizeof *s.machine, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.machine == MAP_FAILED)
        fail(ExitResource, "out of memory");
    arena_owns(s.arena, s.machine, unmap);
    axes_read(s.arena, o, &s.axes);
    s.threads = most_threads(&s);
    read_columns(&s);
    grid_make(s.arena, o, &s.axes, &s.variants);
    for (int i = 0; i < s.variants.n; i++)
        vec_push(s.arena, &s.rows, ((Row){ .variant = &s.variants.at[i] }));
    const int code = run_and_report(&s, out);
    arena_free(s.arena);
    return code;
}
