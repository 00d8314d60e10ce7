/* tune_print.c: prints the results of a tuning as text. tune_json.c prints the
 * same numbers and all candidates. */
#include "base/strings.h"
#include "tune/tune_report.h"

#include <math.h>
#include <string.h>

enum { NameWidth = 32, EndWidth = 26, MostRemoved = 20 };

/* ---- numbers ---- */
static const char *percent_text(Arena *a, const char *format, double part)
{
    return isfinite(part) && fabs(part) < 1e3
             ? arena_printf(a, format, 100 * part)
             : "-";
}

/* Returns a gain and its interval as percentages: "+3.1 (+2.7..+3.6)". */
static const char *interval_text(Arena *a, const Interval *i)
{
    const char *middle = percent_text(a, "%+.1f", i->middle - 1);
    if (!(i->middle > 0))
        return "-";
    if (!isfinite(i->low) || !isfinite(i->high))
        return middle;
    return arena_printf(a, "%s (%s..%s)", middle,
                        percent_text(a, "%+.1f", i->low - 1),
                        percent_text(a, "%+.1f", i->high - 1));
}

/* ---- tasks ---- */
static void put_head(FILE *out)
{
    static const char *const heads[2][6] = {
        { "task", "% of", "a run", "% of", "bound", "gain in %" },
        { "", "time", "", "limit", "by", "(95 % interval)" },
    };
    fputc('\n', out);
    for (int i = 0; i < 2; i++)
        fprintf(out, "%s%-*s %4s %7s %5s %-6s %s%s\n", paint(out, PaintHead),
                NameWidth, heads[i][0], heads[i][1], heads[i][2], heads[i][3],
                heads[i][4], heads[i][5], paint(out, PaintEnd));
}

/* Returns the parameters of `to` that differ from those of `from`. */
static const char *changes(Arena *a, const Tiling *from, const Tiling *to)
{
    const char *text = "";
    for (int i = 0; i < TilingParameters; i++)
        if (tiling_get(from, i) != tiling_get(to, i))
            text = arena_printf(a, "%s%s%s=%d", text, *text ? " " : "",
                                tiling_parameters[i].name, tiling_get(to, i));
    return text;
}

static void put_tiling(Arena *a, const TuneTask *t, FILE *out)
{
    const Candidate *by_default = task_default(t), *best = task_best(t);
    if (!by_default || !best)
        return;
    const char *from = tiling_text(a, &by_default->tiling);
    const char *to = changes(a, &by_default->tiling, &best->tiling);
    fputs("    ", out);
    put_wrapped(out, 4, 8, *to ? arena_printf(a, "%s -> %s", from, to) : from);
}

/* Prints the numbers on which the search based its decision. */
static void put_search(Arena *a, const TuneTask *t, FILE *out)
{
    const int n = t->candidate.n, timed = task_count(t, was_timed);
    const int removed = task_count(t, was_removed);
    if (t->reused || n == 0)
        return;
    const char *line = arena_printf(a, "%d of %s candidate%s timed", timed,
                                    arena_grouped(a, n), plural(n));
    if (removed)
        line = arena_printf(a, "%s, %d removed", line, removed);
    if (t->pairs > 0 && t->incumbent > 0)
        line = arena_printf(a, "%s; p %.2g of %d pair%s", line, t->p_value,
                            t->pairs, plural(t->pairs));
    fputs("    ", out);
    put_wrapped(out, 4, 8, line);
    if (!t->taken_back)
        return;
    fputs("    ", out);
    put_wrapped(out, 4, 8,
                arena_printf(a, "found %s; taken back: %s",
                             interval_text(a, &t->gain),
                             plain_text(a, t->taken_back)));
}

static void put_task(Arena *a, const TuneTask *t, FILE *out)
{
    const Candidate *best = task_best(t);
    const double seconds = best ? best->seconds : NAN;
    const char *name = task_text(a, &t->task->key), *state = task_state(t);
    const bool wide = strlen(name) > NameWidth;
    if (wide)
        fprintf(out, "%s\n", name);
    fprintf(out, "%-*s %4s %7s %5s %-6s %s\n", NameWidth, wide ? "" : name,
            percent_text(a, "%.1f", t->share), seconds_text(a, seconds),
            percent_text(a, "%.0f", t->limit > 0 ? t->limit / seconds : NAN),
            t->bound ? t->bound : "-",
            state ? state : interval_text(a, &t->gain));
    put_tiling(a, t, out);
    put_search(a, t, out);
}

/* Prints a sentence that explains each tiling that is not the default. */
static void put_why(Arena *a, const TuneReport *r, FILE *out)
{
    for (int i = 0; i < r->task.n; i++) {
        const TuneTask *t = &r->task.at[i];
        const Candidate *by_default = task_default(t), *best = task_best(t);
        if (!t->finished || !by_default || !best || !task_differs(t))
            continue;
        const double gain = task_gain(t), ns = 1e9 * best->seconds;
        const Record record = { .host = r->host,
                                .key = t->task->key,
                                .tiling = best->tiling,
                                .ns = ns,
                                .usual_ns = gain * ns,
                                .samples = t->pairs };
        fputc('\n', out);
        put_wrapped(out, 0, 4,
                    explain_record(a, &record, &by_default->tiling, NULL,
                                   &r->machine));
    }
}

static void put_removed(Arena *a, const TuneReport *r, FILE *out)
{
    int n = 0;
    for (int i = 0; i < r->task.n; i++) {
        const TuneTask *t = &r->task.at[i];
        for (int k = 0; k < t->candidate.n; k++) {
            const Candidate *c = &t->candidate.at[k];
            if (!was_removed(c) || n++ >= MostRemoved)
                continue;
            if (n == 1)
                fputs("\nremoved, and never chosen:\n", out);
            fputs("    ", out);
            put_wrapped(
                out, 4, 8,
                arena_printf(a, "%s, %s: %s%s%s", task_text(a, &t->task->key),
                             tiling_text(a, &c->tiling), status_word[c->status],
                             *c->why ? ", " : "", plain_text(a, c->why)));
        }
    }
    if (n > MostRemoved)
        fprintf(out, "    and %d more, which --format json lists\n",
                n - MostRemoved);
}

/* ---- end to end ---- */
static void put_ends(Arena *a, const TuneReport *r, FILE *out)
{
    for (int i = 0; i < r->end_to_end.n; i++) {
        const EndToEnd *e = &r->end_to_end.at[i];
        if (i == 0 || e->comparison != r->end_to_end.at[i - 1].comparison)
            fprintf(out, "\n%-*s %9s %9s  %s\n", EndWidth,
                    i == 0 ? "end to end" : "without what is slower", "default",
                    "tuned", "gain in % (95 % interval)");
        fprintf(out, "%-*s %9s %9s  %s, %d pair%s\n", EndWidth, e->name,
                seconds_text(a, e->by_default), seconds_text(a, e->tuned),
                interval_text(a, &e->gain), e->pairs, plural(e->pairs));
    }
}

/* Returns the commands and options that make use of the result. */
static const char *users(Arena *a, const TuneReport *r)
{
    const EngineOptions *o = &r->engine->options;
    const Host *h = &r->host;
    const char *with = "", *cc = "";
    if (o->march && strcmp(o->march, "native") != 0)
        with = arena_printf(a, " --march=%s", plain_text(a, o->march));
    if (o->width)
        with = arena_printf(a, "%s --width=%d", with, o->width);
    if (r->jit)
        return arena_printf(a,
                            "attnc run, score, bench and verify%s use what "
                            "was found, on %d thread%s.",
                            with, h->threads, plural(h->threads));
    if (o->level)
        with = arena_printf(a, "%s -O%s", with, plain_text(a, o->level));
    if (strcmp(backend_word(r), "clang") != 0 || o->cc)
        cc = arena_printf(a, " --cc=%s",
                          plain_text(a, o->cc ? o->cc : backend_word(r)));
    return arena_printf(a,
                        "attnc compile%s%s uses what was found, and so do "
                        "run, score, bench and verify with%s --backend=%s%s, "
                        "on %d thread%s.",
                        cc, with, with, backend_word(r), o->cc ? cc : "",
                        h->threads, plural(h->threads));
}

typedef struct { /* number of tasks with each result */
    int reused, decided, found, back, stand;
} Tally;

static Tally tally(const TuneReport *r)
{
    Tally n = { 0 };
    for (int i = 0; i < r->task.n; i++) {
        const TuneTask *t = &r->task.at[i];
        n.reused += t->reused;
        n.decided += t->finished && !t->reused;
        n.found += t->incumbent > 0;
        n.back += t->incumbent > 0 && t->taken_back;
        n.stand += task_differs(t);
    }
    return n;
}

static void put_back(Arena *a, const TuneReport *r, const Tally *n, FILE *out)
{
    if (r->rejected)
        put_wrapped(out, 0, 0,
                    "Rejected: end to end, what was found is slower "
                    "than the default. The new records were taken back; what "
                    "was there before stands.");
    else if (n->back)
        put_wrapped(
            out, 0, 0,
            arena_printf(
                a,
                "%d of %d that were found %s "
                "taken back: end to end they are slower than the default.",
                n->back, n->found, n->back == 1 ? "was" : "were"));
    if (r->stale)
        put_wrapped(out, 0, 0,
                    "What was recorded before is slower than the "
                    "default, end to end: --again times all.");
}

static void put_outcome(Arena *a, const TuneReport *r, FILE *out)
{
    const Tally n = tally(r);
    fputc('\n', out);
    if (!n.found && n.decided > 0)
        put_wrapped(out, 0, 0,
                    "Nothing is faster than the default, beyond "
                    "chance.");
    put_back(a, r, &n, out);
    if (r->path && !r->rejected) {
        const int new = n.decided - n.back;
        put_wrapped(out, 0, 0,
                    arena_printf(a, "%s new record%s in %s",
                                 new > 0 ? arena_grouped(a, new) : "no",
                                 plural(new), plain_text(a, r->path)));
    }
    if (n.stand)
        put_wrapped(out, 0, 0, users(a, r));
    if (n.reused)
        put_wrapped(
            out, 0, 0,
            arena_printf(a,
                         "%d of %d task%s %s recorded "
                         "before, and not timed again; --again times all.",
                         n.reused, r->task.n, plural(r->task.n),
                         n.reused == 1 ? "was" : "were"));
    if (r->interrupted)
        put_wrapped(
            out, 0, 0,
            arena_printf(
                a,
                "Interrupted with %d of %d "
                "task%s finished; the next run goes on with the others.",
                n.decided + n.reused, r->task.n, plural(r->task.n)));
}

static void put_backend(Arena *a, const TuneReport *r, FILE *out)
{
    if (r->task.n > 0)
        put_head(out);
    for (int i = 0; i < r->task.n; i++)
        put_task(a, &r->task.at[i], out);
    put_removed(a, r, out);
    put_why(a, r, out);
    put_ends(a, r, out);
    put_outcome(a, r, out);
}

/* Returns half of the interval's width relative to its middle; 0 if that has no
 * meaning. */
static double interval_error(const Interval *i)
{
    const double most = 10, error = (i->high - i->low) / 2 / i->middle;
    return i->middle > 0 && error < most ? error : 0;
}

static void put_busy(Arena *a, const TuneReport *r, FILE *out)
{
    double widest = 0;
    for (const TuneReport *o = r; o; o = o->other) {
        for (int i = 0; i < o->task.n; i++)
            if (!o->task.at[i].reused && o->task.at[i].pairs > 0)
                widest = fmax(widest, interval_error(&o->task.at[i].gain));
        for (int i = 0; i < o->end_to_end.n; i++)
            widest = fmax(widest, interval_error(&o->end_to_end.at[i].gain));
    }
    const char *busy = busy_text(a, "gains", widest, 1, "--budget");
    if (busy) {
        fputc('\n', out);
        put_wrapped(out, 0, 0, busy);
    }
}

/* Prints why the default budget is too short, and how to raise it. */
static void put_budget(const TuneReport *r, FILE *out)
{
    if (r->options->budget > (double)TuneBudget || r->interrupted)
        return;
    fputc('\n', out);
    put_wrapped(
        out, 0, 0,
        "By default a tuning is short: 30 specs gained less than 1 % in the "
        "mean beside the default tilings; --budget=2m searches on.");
}

void tune_print(const TuneReport *r, FILE *out)
{
    Arena *a = arena_new();
    fprintf(out, "%s: %d task%s, tuned in %s\n", r->engine->spec->name,
            r->task.n, plural(r->task.n), seconds_text(a, r->seconds));
    host_print(&r->host, &r->machine, &r->rates, out);
    for (const TuneReport *o = r; o; o = o->other) {
        if (r->other) {
            fputc('\n', out);
            put_wrapped(out, 0, 4,
                        arena_printf(a, "== code of %s",
                                     plain_text(a, o->host.compiler)));
        }
        put_backend(a, o, out);
    }
    put_budget(r, out);
    put_busy(a, r, out);
    arena_free(a);
}
