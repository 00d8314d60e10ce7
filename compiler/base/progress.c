/* progress.c: one terminal line that shows the progress of a long task. */
#define _POSIX_C_SOURCE 200809L /* for clock_gettime */
#include "base/progress.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/console.h"

static const double patience = 2.0, often = 0.1; /* seconds before the line
                                                    appears, and between
                                                    redraws */
enum { Deepest = 6, MostBar = 24 };

typedef struct {
    const char *what;
    char step[160];        /* name of the current step, or "" */
    double from, to, done; /* fractions of the task: start and end of the
                            * current step, and the part done */
    double begin;          /* start time in seconds */
} WorkShown;

double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Global, because the terminal is global too. */
static struct {
    WorkShown work[Deepest];
    int depth;       /* number of open tasks, including those beyond Deepest */
    int fd;          /* descriptor of the terminal; -1: none */
    bool off, other; /* off: progress_off() was called; other:
                        progress_use() replaced fd and clock */
    double begin, shown; /* start of the outer task; time of the last redraw */
    double (*now)(void);
    ProgressSink *sink;
    void *with;
} line = { .fd = -1, .now = seconds_now };

void quiet(void)
{
    progress_off();
    notes_off();
}

void progress_on(void)
{
    line.off = false;
}

void progress_off(void)
{
    terminal_clear();
    line.off = true;
}

bool progress_is_off(void)
{
    return line.off;
}

void progress_use(int fd, double (*now)(void))
{
    terminal_clear();
    line.fd = fd;
    line.now = now;
    line.other = true;
    line.off = false;
    line.depth = 0;
}

/* ---- parts ---- */
static char *progress_bar(Arena *a, double done, int columns)
{
    char text[MostBar + 1] = "";
    const double part = done > 0 ? fmin(done, 1) : 0; /* NAN counts as 0 */
    const int size = columns < 8 * MostBar ? columns / 8 : MostBar;
    for (int i = 0; i < size; i++)
        text[i] = i < lround(part * (double)size) ? '#' : '.';
    return arena_printf(a, "[%s] ", text);
}

static const char *progress_left(Arena *a, double seconds)
{
    if (!isfinite(seconds) || seconds < 0)
        return "";
    if (seconds < 99.5)
        return arena_printf(a, "  %.0f s left", seconds);
    return arena_printf(a, "  %.0f min left", seconds / 60);
}

/* Returns the line, which leaves the last column free, because a terminal may
 * wrap there. */
static char *progress_line(Arena *a, const char *begin, const char *text,
                           const char *end, int columns)
{
    const int room = columns - 1 - (int)strlen(begin) - (int)strlen(end);
    const int n = room > 0 ? room : 0;
    char *all = arena_printf(a, "%s%-*.*s%s", begin, n, n, text, end);
    if ((int)strlen(all) >= columns)
        all[columns > 0 ? columns - 1 : 0] = '\0';
    return all;
}

/* ---- line ---- */
bool progress_terminal(void)
{
    return line.fd >= 0 && !line.off && line.depth > 0;
}

static int innermost(void)
{
    return (line.depth < Deepest ? line.depth : Deepest) - 1;
}

/* Returns the completed fraction of the outermost task for which it is known,
 * and stores that task's start time in *begin. The nested tasks determine how
 * much of a task's current step is done. Returns NAN if no fraction is
 * known. */
static double known_done(double *begin)
{
    double known = NAN, inner = NAN;
    for (int i = innermost(); i >= 0; i--) {
        const WorkShown *w = &line.work[i];
        const bool step = i < innermost() && !isnan(inner);
        inner = step ? w->from + (w->to - w->from) * inner : w->done;
        if (isnan(inner))
            continue;
        known = inner;
        *begin = w->begin;
    }
    return known;
}

/* Returns the names of all open tasks and their steps, e.g. "verify, clang,
 * unfused". */
static const char *works_text(Arena *a)
{
    const char *text = "";
    for (int i = 0; i <= innermost(); i++) {
        const WorkShown *w = &line.work[i];
        for (int k = 0; k < 2; k++) {
            const char *word = k ? w->step : w->what;
            text = arena_printf(a, "%s%s%s", text, *text && *word ? ", " : "",
                                word);
        }
    }
    return text;
}

void progress_draw(int fd, const ProgressState *p)
{
    const int columns = p->seconds < patience || !terminal_is_ours(fd)
                          ? 0
                          : terminal_columns(fd);
    if (columns <= 0)
        return;
    Arena *a = arena_new();
    const char *begin = "", *end = arena_printf(a, "  %.0f s", p->seconds);
    if (p->done > 0) {
        begin = arena_printf(a, "%s%3.0f %%  ",
                             columns < 60 ? ""
                                          : progress_bar(a, p->done, columns),
                             floor(100 * fmin(p->done, 1) + 1e-6));
        end = progress_left(a, p->left);
    }
    call_on_signal(terminal_clear);
    terminal_line(fd, progress_line(a, begin, p->text, end, columns));
    arena_free(a);
}

/* Extrapolates the time left from the fraction done so far. */
static void show_works(double now)
{
    Arena *a = arena_new();
    double since = line.begin;
    const double done = known_done(&since);
    const ProgressState state = {
        .done = done,
        .seconds = now - line.begin,
        .left = done > 0 ? (now - since) * (1 - fmin(done, 1)) / done : NAN,
        .text = works_text(a),
    };
    line.shown = now;
    if (line.sink)
        line.sink(line.with, &state);
    else
        progress_draw(line.fd, &state);
    arena_free(a);
}

void progress_to(ProgressSink *sink, void *with)
{
    line.sink = sink;
    line.with = with;
    line.depth = 0;
}

void progress_tick(void)
{
    const double now = line.now();
    const bool soon = now - line.shown < often;
    if (line.sink ? line.depth > 0 && !soon
                  : progress_terminal() && now - line.begin >= patience
                        && !(terminal_has_line() && soon))
        show_works(now);
}

/* ---- works ---- */
void progress_begin(const char *what)
{
    if (line.depth++ == 0) {
        const int fd = console_shown(console_log());
        if (!line.other)
            line.fd = terminal_rewrites(fd) ? fd : -1;
        line.begin = line.now();
    }
    if (line.depth <= Deepest)
        line.work[line.depth - 1] = (WorkShown){ .what = what,
                                                 .from = NAN,
                                                 .to = NAN,
                                                 .done = NAN,
                                                 .begin = line.now() };
    progress_tick();
}

void progress_end(void)
{
    if (line.depth == 0 || --line.depth > 0)
        return;
    terminal_clear();
}

void progress_step(const char *text, double from, double to)
{
    if (line.depth == 0 || line.depth > Deepest)
        return;
    WorkShown *w = &line.work[line.depth - 1];
    snprintf(w->step, sizeof w->step, "%s", text ? text : "");
    w->from = w->done = from;
    w->to = to;
    progress_tick();
}

void progress_at(double done)
{
    if (line.depth == 0 || line.depth > Deepest)
        return;
    line.work[line.depth - 1].done = done;
    progress_tick();
}
