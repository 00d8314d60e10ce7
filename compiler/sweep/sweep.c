/* sweep.c: a sweep from its options to its report: all variants are planned,
 * then those that can be made are timed, the shortest first.                 */
#include <math.h>
#include <stdlib.h>

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

/* ---------------------------------------------------------------- times --- */
/* That the whole of a variant is thought to take. */
static double thought(const Row *r)
{
    double sum = 0;
    for (int i = 0; i < WorkKinds; i++)
        if (r->work[i].there)
            sum += r->work[i].estimate;
    return sum;
}

typedef struct {
    int row;
    double seconds;
} Turn;
typedef VEC(Turn) Turns;

static int by_seconds(const void *a, const void *b)
{
    const Turn *x = a, *y = b;
    return x->seconds < y->seconds ? -1
         : x->seconds > y->seconds ? 1
                                   : x->row - y->row;
}

/* Those that can be made, the shortest first. */
static Turns turns_of(const Sweep *s)
{
    Turns turns = { 0 };
    for (int i = 0; i < s->rows.n; i++)
        if (s->rows.at[i].state == RowPlanned)
            vec_push(s->arena, &turns, ((Turn){ i, thought(&s->rows.at[i]) }));
    if (turns.n)
        qsort(turns.at, (size_t)turns.n, sizeof *turns.at, by_seconds);
    return turns;
}

/* A round of a variant: to make it, and its runs. */
static double round_seconds(const Sweep *s, const Turn *t)
{
    const double made = 0.03, runs = 8, less = 3; /* than it takes */
    return made + fmax(s->options->work.seconds, runs * less * t->seconds);
}

static void time_all(Sweep *s)
{
    const Turns turns = turns_of(s);
    double all = 0, done = 0;
    for (int i = 0; i < turns.n; i++)
        all += round_seconds(s, &turns.at[i]);
    for (int i = 0; i < turns.n && !s->interrupted; i++) {
        Row *r = &s->rows.at[turns.at[i].row];
        const double next = done + round_seconds(s, &turns.at[i]);
        progress_step(variant_text(s->arena, &s->axes, r->variant), done / all,
                      next / all);
        s->interrupted = !child_row(s, r, facts_times);
        done = next;
    }
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
    if (s->times)
        machine_measure(&s->machine, most_threads(s), machine_time);
    progress_step("planning", 0, s->times ? 0.05 : 1);
    progress_begin("");
    const bool planned = plan_all(s);
    progress_end();
    if (planned && s->times) {
        progress_step("timing", 0.05, 1);
        progress_begin("");
        time_all(s);
        progress_end();
    }
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

static int report(Sweep *s, FILE *out)
{
    const int code = refused_code(s);
    front_mark(s);
    terminal_clear();
    sweep_print(s, out);
    fflush(out);
    if (code)
        error_at((Pos){ 0 }, "no variant could be made");
    return code;
}

int sweep_run(const SweepOptions *o, FILE *out)
{
    Sweep s = { .options = o, .arena = arena_new() };
    axes_read(s.arena, o, &s.axes);
    read_columns(&s);
    grid_make(s.arena, o, &s.axes, &s.variants);
    for (int i = 0; i < s.variants.n; i++)
        vec_push(s.arena, &s.rows, ((Row){ .variant = &s.variants.at[i] }));
    interrupt_watch();
    run_all(&s);
    const int code = report(&s, out);
    interrupt_end();
    arena_free(s.arena);
    return code;
}
