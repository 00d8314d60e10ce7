/* tune_progress.c: prints the progress of a tuning on stderr. */
#include "base/console.h"
#include "base/progress.h"
#include "base/strings.h"
#include "tune/tuner.h"

#include <math.h>
#include <string.h>

/* Returns the best time so far, after the text `before`, as in " 1.93 ms +3.1
 * %". It is the default's time if no candidate is faster. */
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

/* Returns the numbers of finished tasks, with the current one, and of all
 * tasks: "3/12 ". Sets *of to the task's backend as a suffix, e.g. ", libtcc",
 * if several backends are tuned, else to "". */
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

char *tune_progress_text(Arena *a, const Progress *p)
{
    const TuneTask *now = p->now;
    const char *of;
    if (!now)
        return arena_strdup(a, "end to end");
    const char *count = count_text(a, p->report, now, &of);
    return arena_printf(a, "%s%s%s%s", count, task_text(a, &now->task->key), of,
                        best_text(a, "  ", now));
}

/* Prints the last line of a task by itself, for a log. */
static void end_line(Arena *a, const TuneReport *r, const TuneTask *t)
{
    const Candidate *best = task_best(t);
    const char *tiling = best ? tiling_text(a, &best->tiling) : "", *of;
    const char *count = count_text(a, r, t, &of), *state = task_state(t);
    fprintf(console_log(), "attnc: tune %s%s: %s%s%s%s%s\n", count,
            task_text(a, &t->task->key), state ? state : "found",
            *tiling ? ", " : "", tiling,
            t->reused || t->incumbent == 0 ? "" : best_text(a, ", ", t), of);
}

void tune_progress(Progress *p, double done)
{
    Arena *a = arena_new();
    TuneTask *now = p->now;
    progress_step(tune_progress_text(a, p), done, done);
    if (now && now->finished && !now->said && !progress_terminal()
        && !progress_is_off())
        end_line(a, p->report, now);
    if (now)
        now->said = now->finished;
    arena_free(a);
}

void tuner_tick(Tuner *t)
{
    Progress *p = t->progress;
    t->env->progress(p, fmin(1, (t->env->now() - p->begin)
                                    / (p->until - p->begin)));
}

void tuner_shows(Tuner *t, TuneTask *now)
{
    t->progress->now = now;
    tuner_tick(t);
}
