/* sweep_schedule.c: which variant is timed next. First each of them once, the
 * shortest first; then, as long as a budget lasts, again and again the one of
 * which more times tell most: on the front, or near to it, the least known. */
#define _DEFAULT_SOURCE /* _SC_PHYS_PAGES */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/progress.h"
#include "sweep/sweep_parts.h"

/* Of a budget, for the first round; what a child takes before it runs; what
 * runs take at most, in estimates of them; half of an interval that is known
 * well enough. */
static const double first_part = 0.7, made = 0.02, more = 1.5,
                    well_known = 0.01;
enum { LeastRuns = 7 };

/* ---- order ---- */

/* Seconds of one run of all of its workloads, as they are thought to take. */
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
    double seconds; /* of a run */
} Turn;

static int by_seconds(const void *a, const void *b)
{
    const Turn *x = a, *y = b;
    return x->seconds < y->seconds ? -1
         : x->seconds > y->seconds ? 1
                                   : x->row - y->row;
}

typedef VEC(Turn) Turns;

/* Those that are not timed and can be, the shortest first. */
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

/* What needs more memory than there is would take it from all others. */
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

/* Of one variant, with so many runs at least. */
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

/* Where the budget is short, fewer runs of all. */
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

/* False: the budget is over, or a signal came. */
static bool first_round(Sweep *s)
{
    const Turns turns = turns_of(s);
    const double budget = s->options->budget;
    double done = 0;
    fit_budget(s, &turns);
    const double all = all_seconds(s, &turns, s->runs ? s->runs : LeastRuns);
    for (int i = 0; i < turns.n; i++) {
        Row *r = &s->rows.at[turns.at[i].row];
        const double now = machine_seconds() - s->begin;
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

/* The least known of the rows that would be of the front if their time were at
 * the good end of its interval; of the others where these are known well. NULL:
 * all are.                                                                   */
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
        const double begin = machine_seconds() - s->begin;
        /* as long as all that it ran before, once: half of its error */
        const double will = fmax(made + s->runs_seconds,
                                 made + (LeastRuns + 1) * thought(r));
        if (begin + fmax(will, longest / 2) > budget)
            return;
        progress_step(variant_text(s->arena, &s->axes, r->variant),
                      begin / budget, (begin + will) / budget);
        if (!time_row(s, r))
            return;
        longest = fmax(longest, machine_seconds() - s->begin - begin);
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
