/* progress.c: how far a tuning is, on stderr. */
#define _POSIX_C_SOURCE 200809L  /* isatty */
#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "base/text.h"
#include "tune/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const double often = 0.1; /* seconds from line to line */
enum { MostBar = 24, ShortName = 12 };

/* Of the terminal; 0: there is none that can write over a line. */
static int terminal_columns(void)
{
    const char *term = getenv("TERM");
    struct winsize size;
    if (!isatty(STDERR_FILENO) || !term || !*term || !strcmp(term, "dumb"))
        return 0;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

static const char *bar(Arena *a, double done, int columns)
{
    char text[MostBar + 1] = "";
    const int size = columns < 8 * MostBar ? columns / 8 : MostBar;
    for (int i = 0; i < size; i++)
        text[i] = i < lround(done * (double)size) ? '#' : '.';
    return arena_printf(a, "[%s] ", text);
}

static const char *left_text(Arena *a, double left)
{
    if (!isfinite(left) || left < 0)
        return "";
    if (left < 99.5)
        return arena_printf(a, "  %.0f s left", left);
    return arena_printf(a, "  %.0f min left", left / 60);
}

/* "  1.93 ms +3.1 %" behind what goes before: the best so far, which is the
 * default, or faster.                                                        */
static const char *best_text(Arena *a, const char *before, const TuneTask *t)
{
    const bool found = t->finished && t->incumbent > 0;
    const int at = found || t->lead >= t->candidate.n ? t->incumbent : t->lead;
    const Candidate *best = at >= 0 && at < t->candidate.n
                              ? &t->candidate.at[at]
                              : NULL;
    if (!best || !isfinite(best->seconds))
        return "";
    return arena_printf(a, "%s%s %s", before, seconds_text(a, best->seconds),
                        gain_text(a, found    ? task_gain(t)
                                     : at > 0 ? fmax(1, best->gain)
                                              : 1));
}

/* Tasks that are finished, and the one that is worked on: "3/12 ". */
static const char *count_text(Arena *a, const TuneReport *r,
                              const TuneTask *now)
{
    int n = !now->finished, all = 0;
    for (; r; r = r->other) {
        for (int i = 0; i < r->task.n; i++)
            n += r->task.at[i].finished;
        all += r->task.n;
    }
    return arena_printf(a, "%d/%d ", n, all);
}

/* ", libtcc", where another back end has the same tasks. */
static const char *of_text(Arena *a, const TuneReport *r, const TuneTask *t)
{
    for (const TuneReport *at = r; at && r->other; at = at->other)
        if (at->task.n > 0 && t >= at->task.at && t < at->task.at + at->task.n)
            return arena_printf(a, ", %s", backend_word(at));
    return "";
}

/* The last column stays free: a terminal may go to the next line there. What
 * has no room is left out, the best first, then the bar.                     */
char *tune_progress_line(Arena *a, const Progress *p, double done, double left,
                         int columns)
{
    const TuneReport *r = p->report;
    const TuneTask *now = p->now;
    const double part = done > 0 ? fmin(done, 1) : 0; /* and of NAN 0 */
    const char *begin = bar(a, part, columns), *end = left_text(a, left);
    const char *best = now ? best_text(a, "  ", now) : "";
    const char *name = now ? arena_printf(a, "%s%s",
                                          task_text(a, &now->task->key),
                                          of_text(a, r, now))
                           : "end to end";
    const char *of = now ? count_text(a, r, now) : "";
    int room = columns - 1 - (int)strlen(of) - (int)strlen(end);
    const int beside = (int)strlen(begin) + (int)strlen(best);
    if (room - beside < ShortName)
        best = "";
    if (room - (int)strlen(begin) < ShortName)
        begin = "";
    room -= (int)strlen(begin) + (int)strlen(best);
    room = room < 0 ? 0 : room;
    char *line = arena_printf(a, "%s%s%-*.*s%s%s", begin, of, room, room, name,
                              best, end);
    if ((int)strlen(line) >= columns)
        line[columns > 0 ? columns - 1 : 0] = '\0';
    return line;
}

/* For those who read it later, or in a file. */
static void end_line(Arena *a, const TuneReport *r, const TuneTask *t)
{
    const Candidate *best = task_best(t);
    const char *tiling = best ? tiling_text(a, &best->tiling) : "";
    fprintf(stderr, "attnc: tune %s%s: %s%s%s%s%s\n", count_text(a, r, t),
            task_text(a, &t->task->key),
            t->reused          ? "as recorded"
            : t->incumbent > 0 ? "found"
                               : "the default stays",
            *tiling ? ", " : "", tiling,
            t->reused || t->incumbent == 0 ? "" : best_text(a, ", ", t),
            of_text(a, r, t));
    fflush(stderr);
}

void tune_progress(Progress *p, double done, double left)
{
    const double time = machine_seconds();
    const int width = terminal_columns();
    TuneTask *now = p->now;
    if (width > 0 ? p->open && time - p->shown < often
                  : !now || !now->finished || now->said)
        return;
    Arena *a = arena_new();
    if (width > 0)
        fprintf(stderr, "\r%s\033[K",
                tune_progress_line(a, p, done, left, width));
    else
        end_line(a, p->report, now);
    fflush(stderr);
    p->open = width > 0;
    p->shown = time;
    if (now)
        now->said = now->finished;
    arena_free(a);
}

void tune_progress_end(Progress *p)
{
    if (p->open)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    p->open = false;
}

/* ------------------------------------------------------------ a tuning --- */
void tuner_tick(void *tuner)
{
    const Tuner *t = tuner;
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
