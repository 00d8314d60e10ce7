/* sweep.c: a sweep from its options to its report: all variants are planned,
 * then those that can be made are timed.                                     */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <math.h>
#include <sys/mman.h>

#include "base/progress.h"
#include "sweep/parts.h"

/* Of the machine's rates: enough to tell variants apart, and their limits. */
static const double machine_time = 0.2;

/* -------------------------------------------------------------- columns --- */
static bool needs_times(const Columns *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i].timed)
            return true;
    return false;
}

static void refuse_worthless(const Columns *front)
{
    for (int i = 0; i < front->n; i++)
        if (front->at[i].better == 0)
            fail(ExitUsage, "--front: no %s is better than another",
                 front->at[i].name);
    if (front->n != 2)
        fail(ExitUsage, "--front takes two columns: parameters,latency");
}

/* What is shown says whether anything must run; the usual front and order are
 * of times where there are any.                                              */
static void read_columns(Sweep *s)
{
    const SweepOptions *o = s->options;
    Arena *a = s->arena;
    const bool exact = o->format == BenchJson || o->format == BenchCsv;
    columns_read(a, o->columns ? o->columns : columns_usual(exact), "--columns",
                 &s->columns, &s->fields);
    if (o->sort)
        columns_read(a, o->sort, "--sort", &s->sort, &s->fields);
    if (o->front)
        columns_read(a, o->front, "--front", &s->front, &s->fields);
    if (s->sort.n > 1)
        fail(ExitUsage, "--sort takes one column");
    s->times = needs_times(&s->columns) || needs_times(&s->sort)
            || needs_times(&s->front);
    if (s->times && !o->sort)
        columns_read(a, "latency", "--sort", &s->sort, &s->fields);
    if (s->times && !o->front)
        columns_read(a, "parameters,latency", "--front", &s->front, &s->fields);
    if (s->front.n)
        refuse_worthless(&s->front);
}

/* ----------------------------------------------------------------- plan --- */
static bool plan_all(Sweep *s)
{
    Arena *a = s->arena;
    for (int i = 0; i < s->rows.n && !s->interrupted; i++) {
        Row *r = &s->rows.at[i];
        progress_step(variant_text(a, &s->axes, r->variant),
                      (double)i / s->rows.n, (i + 1.0) / s->rows.n);
        s->interrupted = !child_row(s, r, facts_plan);
    }
    return !s->interrupted;
}

/* ----------------------------------------------------------- the whole --- */
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
    if (s->times)
        machine_measure(s->machine, s->threads, machine_time);
    progress_step("planning", 0, s->times ? 0.05 : 1);
    progress_begin("");
    const bool planned = plan_all(s);
    progress_end();
    if (planned && s->times) {
        keep_take(s);
        progress_step("timing", 0.05, 1);
        progress_begin("");
        sweep_times(s);
        progress_end();
    }
    keep_close(s);
    progress_end();
}

/* What none of them could be made for. */
static int refused_code(const Sweep *s)
{
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[i].state != RowRefused)
            return ExitDone;
    return s->rows.at[0].code;
}

/* Those for which there was no time. */
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

static int report(Sweep *s, FILE *out)
{
    const int code = refused_code(s);
    front_mark(s);
    terminal_clear();
    sweep_print(s, out);
    fflush(out);
    say_left(s);
    if (code)
        error_at((Pos){ 0 }, "no variant could be made");
    return code ? code : s->unkept ? ExitIO : ExitDone;
}

int sweep_run(const SweepOptions *o, FILE *out)
{
    Sweep s = { .options = o,
                .out = out,
                .arena = arena_new(),
                .begin = machine_seconds(),
                .kept = -1 };
    s.machine = mmap(NULL, sizeof *s.machine, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.machine == MAP_FAILED)
        fail(ExitResource, "out of memory");
    axes_read(s.arena, o, &s.axes);
    s.threads = most_threads(&s);
    read_columns(&s);
    grid_make(s.arena, o, &s.axes, &s.variants);
    for (int i = 0; i < s.variants.n; i++)
        vec_push(s.arena, &s.rows, ((Row){ .variant = &s.variants.at[i] }));
    interrupt_watch();
    run_all(&s);
    const int code = report(&s, out);
    munmap(s.machine, sizeof *s.machine);
    interrupt_end();
    arena_free(s.arena);
    return code;
}
