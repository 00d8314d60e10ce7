/* sweep_schedule.c: decides which variant is timed next. First, each variant is
 * timed once, the shortest first. While the budget lasts, the next one is the
 * variant on or near the Pareto front with the least certain time. */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/progress.h"
#include "sweep/sweep_parts.h"

/* fraction of the budget for the first round; seconds to start a child; upper
 * bound of a run's time, relative to its prediction; relative half-width of an
 * interval that is narrow enough */
static const double first_part = 0.7, made = 0.02, more = 1.5,
                    well_known = 0.01;
enum { LeastRuns = 7 };

/* ---- order ---- */

/* Returns an upper bound for the seconds of a run of all workloads. */
static double thought(const Row *r)
{
    double sum = 0;
    for (int i = 0; i < WorkKinds; i++)
        if (r->work[i].there)
            sum += r->work[i].estimate;
    return more * sum;
}

typedef struct {
    int row;
    double seconds; /* upper bound for a run of all workloads */
} Turn;

static int by_seconds(const void *a, const void *b)
{
    const Turn *x = a, *y = b;
    return x->seconds < y->seconds ? -1
         : x->seconds > y->seconds ? 1
                                   : x->row - y->row;
}

typedef VEC(Turn) Turns;

/* Returns the planned rows that have not been timed, the shortest first. */
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

/* ---- memory ---- */

/* Rejects variants that need more memory than the machine has, because it would
 * start to swap. */
static void refuse_large(Sweep *s)
{
    const double bytes = (double)sysconf(_SC_PHYS_PAGES)
                       * (double)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < s->rows.n; i++) {
        Row *r = &s->rows.at[i];
        if (r->state != RowPlanned || !(r->memory > bytes))
            continue;
        r->state = RowRefused;
        r->code = ExitResource;
        r->message = arena_printf(s->arena,
                                  "it needs %.1f GB, this machine has %.1f",
                                  1e-9 * r->memory, 1e-9 * bytes);
    }
}

/* ---- first round ---- */

/* Returns the seconds of a round of one variant with at least `runs` runs. */
static double round_seconds(const Sweep *s, const Turn *t, int64_t runs)
{
    return made + fmax(s->runs_seconds, (double)(runs + 1) * t->seconds);
}

static double all_seconds(const Sweep *s, const Turns *turns, int64_t runs)
{
    double sum = 0;
    for (int i = 0; i < turns->n; i++)
        sum += round_seconds(s, &turns->at[i], runs);
    return sum;
}

/* Reduces the number of runs of all variants if the budget is not enough. */
static void fit_budget(Sweep *s, const Turns *turns)
{
    const double budget = first_part * s->options->budget;
    if (s->options->budget <= 0 || s->runs > 0)
        return;
    if (all_seconds(s, turns, LeastRuns) > budget)
        s->runs_seconds = fmax(1e-3, budget / (2 * turns->n) - made);
    for (int64_t runs = LeastRuns;
         runs > 1 && all_seconds(s, turns, runs) > budget; runs--)
        s->runs = runs - 1;
}

static bool time_row(Sweep *s, Row *r)
{
    s->interrupted = !child_row(s, r, facts_times);
    if (s->interrupted)
        return false;
    keep_row(s, r);
    live_row(s, r);
    return true;
}

/* Times each variant once. Returns false if the budget is used up, or after a
 * signal. */
static bool first_round(Sweep *s)
{
    const Turns turns = turns_of(s);
    const double budget = s->options->budget;
    double done = 0;
    fit_budget(s, &turns);
    const double all = all_seconds(s, &turns, s->runs ? s->runs : LeastRuns);
    for (int i = 0; i < turns.n; i++) {
        Row *r = &s->rows.at[turns.at[i].row];
        const double now = seconds_now() - s->begin;
        const double next = done
                          + round_seconds(s, &turns.at[i],
                                          s->runs ? s->runs : LeastRuns);
        if (budget > 0 && now > budget)
            return false;
        progress_step(variant_text(s->arena, &s->axes, r->variant), done / all,
                      next / all);
        if (!time_row(s, r))
            return false;
        done = next;
    }
    return true;
}

/* ---- next rounds ---- */
static double error_of(const Row *r)
{
    const RowWork *w = row_main(r);
    const double error = w ? summary_error(&w->time) : 0;
    return error < 0 ? 1 : error;
}

/* Returns the row with the least certain time. Rows that may be on the front,
 * if their times are at the better ends of their intervals, come first. NULL if
 * all times are certain enough. */
static Row *least_known(Sweep *s)
{
    Row *best = NULL;
    bool near = false;
    for (int i = 0; i < s->rows.n; i++) {
        Row *r = &s->rows.at[i];
        if (r->state != RowTimed || error_of(r) <= well_known)
            continue;
        const bool is_near = front_near(s, r);
        if (!best || is_near > near
            || (is_near == near && error_of(r) > error_of(best))) {
            best = r;
            near = is_near;
        }
    }
    return best;
}

static void next_rounds(Sweep *s)
{
    const double budget = s->options->budget;
    double longest = 0;
    s->runs = 0;
    s->runs_seconds = s->options->work.seconds;
    for (Row *r; (r = least_known(s));) {
        const double begin = seconds_now() - s->begin;
        /* expected seconds of the next round */
        const double will = fmax(made + s->runs_seconds,
                                 made + (LeastRuns + 1) * thought(r));
        if (begin + fmax(will, longest / 2) > budget)
            return;
        progress_step(variant_text(s->arena, &s->axes, r->variant),
                      begin / budget, (begin + will) / budget);
        if (!time_row(s, r))
            return;
        longest = fmax(longest, seconds_now() - s->begin - begin);
    }
}

void sweep_times(Sweep *s)
{
    s->runs = s->options->work.repetitions;
    s->runs_seconds = s->options->work.seconds;
    refuse_large(s);
    live_head(s);
    if (first_round(s) && s->options->budget > 0)
        next_rounds(s);
    live_end(s);
}
