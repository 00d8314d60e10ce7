/* tune_progress.c: shows the progress of a tuning on stderr. */
#include "base/progress.h"
#include "base/strings.h"
#include "tune/tuner.h"

#include <math.h>
#include <string.h>

enum { ShortName = 12 };

/* Returns the best time so far after the text `before`, as in " 1.93 ms +3.1
 * %". It is never slower than the default's. */
static const char *best_text(Arena *a, const char *before, const TuneTask *t)
{
    const bool found = t->finished && t->incumbent > 0;
    const int at = found || t->lead >= t->candidate.n ? t->incumbent : t->lead;
    if (at < 0 || at >= t->candidate.n
        || !isfinite(t->candidate.at[at].seconds))
        return "";
    const Candidate *best = &t->candidate.at[at];
    return arena_printf(a, "%s%s %s", before, seconds_text(a, best->seconds),
                        gain_text(a, found    ? task_gain(t)
                                     : at > 0 ? fmax(1, best->gain)
                                              : 1));
}

/* Returns the number of finished tasks, counting the current one, and of all
 * tasks: "3/12 ". Sets *of to the task's backend as a suffix, e.g. ", libtcc",
 * if several backends are tuned; otherwise to "". */
static const char *count_text(Arena *a, const TuneReport *r,
                              const TuneTask *now, const char **of)
{
    const bool several = r->other;
    int n = !now->finished, all = 0;
    for (*of = ""; r; r = r->other)
        for (int i = 0; i < r->task.n; i++, all++) {
            n += r->task.at[i].finished;
            if (several && now == &r->task.at[i])
                *of = arena_printf(a, ", %s", backend_word(r));
        }
    return arena_printf(a, "%d/%d ", n, all);
}

/* If the line is too long, drops the best time, then the bar. */
char *tune_progress_line(Arena *a, const Progress *p, double done, double left,
                         int columns)
{
    const TuneTask *now = p->now;
    const char *begin = progress_bar(a, done, columns), *of = "";
    const char *end = progress_left(a, left);
    const char *best = now ? best_text(a, "  ", now) : "";
    const char *count = now ? count_text(a, p->report, now, &of) : "";
    const char *name = now ? task_text(a, &now->task->key) : "end to end";
    const int room = columns - 1 - (int)strlen(count) - (int)strlen(end)
                   - (int)strlen(begin);
    if (room - (int)strlen(best) < ShortName)
        best = "";
    if (room < ShortName)
        begin = "";
    return progress_line(a, arena_printf(a, "%s%s", begin, count),
                         arena_printf(a, "%s%s", name, of),
                         arena_printf(a, "%s%s", best, end), columns);
}

/* Prints the final line of a task on its own, for a log. */
static void end_line(Arena *a, const TuneReport *r, const TuneTask *t)
{
    const Candidate *best = task_best(t);
    const char *tiling = best ? tiling_text(a, &best->tiling) : "", *of;
    const char *count = count_text(a, r, t, &of), *state = task_state(t);
    fprintf(stderr, "attnc: tune %s%s: %s%s%s%s%s\n", count,
            task_text(a, &t->task->key), state ? state : "found",
            *tiling ? ", " : "", tiling,
            t->reused || t->incumbent == 0 ? "" : best_text(a, ", ", t), of);
    fflush(stderr);
}

void tune_progress(Progress *p, double done, double left)
{
    TuneTask *now = p->now;
    const int columns = progress_due();
    const bool ends = now && now->finished && !now->said;
    if (progress_is_off() || (progress_terminal() ? columns == 0 : !ends))
        return;
    Arena *a = arena_new();
    if (columns > 0)
        progress_show(tune_progress_line(a, p, done, left, columns));
    else
        end_line(a, p->report, now);
    if (now)
        now->said = now->finished;
    arena_free(a);
}

/* ---- a tuning ---- */
void tuner_tick(Tuner *t)
{
    Progress *p = t->progress;
    const double now = t->env->now(), all = p->until - p->begin;
    t->env->progress(p, fmin(1, (now - p->begin) / all), p->until - now);
}

void tuner_shows(Tuner *t, TuneTask *now)
{
    t->progress->now = now;
    if (now)
        tuner_tick(t);
}
