/* tune_report.c: prints the report of a tuning, as text, or as JSON with the
 * same numbers and all candidates. docs/tuning.md describes both. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tune/tune_report.h"

enum { NameWidth = 32, EndWidth = 26, MostRemoved = 20 };

/* ---- numbers ---- */
static const char *percent_text(Arena *a, const char *format, double part)
{
    return isfinite(part) && fabs(part) < 1e3
             ? arena_printf(a, format, 100 * part)
             : "-";
}

/* Returns a gain and its interval in percent: "+3.1 (+2.7..+3.6)". */
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

static void put_tiling(Arena *a, const TuneTask *t, FILE *out)
{
    const Candidate *by_default = task_default(t), *best = task_best(t);
    if (!by_default || !best)
        return;
    const char *to = tiling_difference(a, &best->tiling, &by_default->tiling);
    print_wrapped(out, 4, 8, "%s%s%s", tiling_text(a, &by_default->tiling),
                  *to ? " -> " : "", to);
}

/* Prints the numbers on which the search based its decision. */
static void put_search(Arena *a, const TuneTask *t, FILE *out)
{
    const int n = t->candidate.n, removed = task_count(t, was_removed);
    const bool decided = t->pairs > 0 && t->incumbent > 0;
    if (t->reused || n == 0)
        return;
    print_wrapped(out, 4, 8, "%d of %s candidate%s timed%s%s",
                  task_count(t, was_timed), arena_grouped(a, n), plural(n),
                  removed ? arena_printf(a, ", %d removed", removed) : "",
                  decided ? arena_printf(a, "; p %.2g of %d pair%s", t->p_value,
                                         t->pairs, plural(t->pairs))
                          : "");
    if (t->taken_back)
        print_wrapped(out, 4, 8, "found %s; taken back: %s",
                      interval_text(a, &t->gain), plain_text(a, t->taken_back));
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

/* Prints a sentence for each tiling that is not the default, which explains
 * it. */
static void put_why(Arena *a, const TuneReport *r, FILE *out)
{
    for (int i = 0; i < r->task.n; i++) {
        const TuneTask *t = &r->task.at[i];
        const Candidate *by_default = task_default(t), *best = task_best(t);
        if (!t->finished || !by_default || !best || !task_differs(t))
            continue;
        const Record record = task_record(r, t);
        fputc('\n', out);
        print_wrapped(out, 0, 4, "%s",
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
            print_wrapped(out, 4, 8, "%s, %s: %s%s%s",
                          task_text(a, &t->task->key),
                          tiling_text(a, &c->tiling), status_word[c->status],
                          *c->why ? ", " : "", plain_text(a, c->why));
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

/* Prints the commands and options that use the result. */
static void put_users(Arena *a, const TuneReport *r, FILE *out)
{
    const EngineOptions *o = &r->engine->options;
    const int threads = r->host.threads;
    const char *with = "", *cc = "";
    if (o->march && strcmp(o->march, "native") != 0)
        with = arena_printf(a, " --march=%s", plain_text(a, o->march));
    if (o->width)
        with = arena_printf(a, "%s --width=%d", with, o->width);
    if (r->jit) {
        print_wrapped(
            out, 0, 0,
            "attnc run, score, bench and verify%s use what was found, on "
            "%d thread%s.",
            with, threads, plural(threads));
        return;
    }
    if (o->level)
        with = arena_printf(a, "%s -O%s", with, plain_text(a, o->level));
    if (strcmp(backend_word(r), "clang") != 0 || o->cc)
        cc = arena_printf(a, " --cc=%s",
                          plain_text(a, o->cc ? o->cc : backend_word(r)));
    print_wrapped(
        out, 0, 0,
        "attnc compile%s%s uses what was found, and so do run, score, "
        "bench and verify with%s --backend=%s%s, on %d thread%s.",
        cc, with, with, backend_word(r), o->cc ? cc : "", threads,
        plural(threads));
}

static void put_outcome(Arena *a, const TuneReport *r, FILE *out)
{
    int reused = 0, decided = 0, found = 0, stand = 0; /* numbers of tasks */
    for (int i = 0; i < r->task.n; i++) {
        const TuneTask *t = &r->task.at[i];
        reused += t->reused;
        decided += t->finished && !t->reused;
        found += t->incumbent > 0;
        stand += task_differs(t);
    }
    const int back = found - stand, new = decided - back;
    fputc('\n', out);
    if (!found && decided > 0)
        print_wrapped(out, 0, 0,
                      "Nothing is faster than the default, beyond chance.");
    if (r->rejected)
        print_wrapped(
            out, 0, 0,
            "Rejected: end to end, what was found is slower than the "
            "default. The new records were taken back; what was there "
            "before stands.");
    else if (back)
        print_wrapped(
            out, 0, 0,
            "%d of %d that were found %s taken back: end to end they are "
            "slower than the default.",
            back, found, back == 1 ? "was" : "were");
    if (r->stale)
        print_wrapped(
            out, 0, 0,
            "What was recorded before is slower than the default, end to "
            "end: --again times all.");
    if (r->path && !r->rejected)
        print_wrapped(out, 0, 0, "%s new record%s in %s",
                      new > 0 ? arena_grouped(a, new) : "no", plural(new),
                      plain_text(a, r->path));
    if (stand)
        put_users(a, r, out);
    if (reused)
        print_wrapped(
            out, 0, 0,
            "%d of %d task%s %s recorded before, and not timed again; "
            "--again times all.",
            reused, r->task.n, plural(r->task.n), reused == 1 ? "was" : "were");
    if (r->interrupted)
        print_wrapped(out, 0, 0,
                      "Interrupted with %d of %d task%s finished; the next run "
                      "goes on with the others.",
                      decided + reused, r->task.n, plural(r->task.n));
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

/* Returns half of the interval's width relative to its middle; 0 if that is
 * undefined. */
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
        print_wrapped(out, 0, 0, "%s", busy);
    }
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
            print_wrapped(out, 0, 4, "== code of %s",
                          plain_text(a, o->host.compiler));
        }
        put_backend(a, o, out);
    }
    if (r->options->budget <= (double)TuneBudget && !r->interrupted) {
        fputc('\n', out);
        print_wrapped(out, 0, 0,
                      "By default a tuning is short: 30 specs gained less than "
                      "1 %% in the mean beside the default tilings; "
                      "--budget=2m searches on.");
    }
    put_busy(a, r, out);
    arena_free(a);
}

/* ---- JSON ---- */
static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *text(Arena *a, const char *s)
{
    return s ? json_string(plain_text(a, s)) : json_null();
}

static json_t *interval(const Interval *i)
{
    return i->middle > 0
             ? json_pack("{so so so}", "low", number(i->low), "middle",
                         number(i->middle), "high", number(i->high))
             : json_null();
}

static json_t *candidate(Arena *a, const Candidate *c)
{
    const bool known = c->seconds > 0;
    return json_pack("{so ss so so so so si si so}", "tiling",
                     tiling_json(&c->tiling), "status", status_word[c->status],
                     "why", text(a, *c->why ? c->why : NULL), "predicted_s",
                     number(c->predicted), "seconds",
                     number(known ? c->seconds : NAN), "spread",
                     number(known ? c->spread : NAN), "samples", c->samples,
                     "rung", c->rung, "when_s",
                     number(known || was_removed(c) ? c->when : NAN));
}

static json_t *chosen(const Candidate *c)
{
    return c ? tiling_json(&c->tiling) : json_null();
}

static json_t *task(Arena *a, const TuneTask *t)
{
    const TaskKey *k = &t->task->key;
    const Candidate *best = task_stands(t);
    json_t *all = json_array();
    for (int i = 0; i < t->candidate.n; i++)
        json_array_append_new(all, candidate(a, &t->candidate.at[i]));
    return json_pack("{ss so so ss so so so so so so so so so so si sb sb so}",
                     "kind", task_word[k->kind], "shape", text(a, k->shape),
                     "epilogue", text(a, k->epilogue), "dtype",
                     dtype_word[k->dtype], "share", number(t->share), "limit_s",
                     number(t->limit), "bound", text(a, t->bound), "seconds",
                     number(best ? best->seconds : NAN), "default",
                     chosen(task_default(t)), "chosen", chosen(best), "found",
                     chosen(task_best(t)), "taken_back", text(a, t->taken_back),
                     "gain", interval(&t->gain), "p",
                     number(t->pairs > 0 ? t->p_value : NAN), "pairs", t->pairs,
                     "reused", t->reused, "finished", t->finished, "candidates",
                     all);
}

/* Returns the results of one backend. */
static json_t *backend(Arena *a, const TuneReport *r)
{
    const Host *h = &r->host;
    json_t *tasks = json_array(), *ends = json_array();
    for (int i = 0; i < r->task.n; i++)
        json_array_append_new(tasks, task(a, &r->task.at[i]));
    for (int i = 0; i < r->end_to_end.n; i++) {
        const EndToEnd *e = &r->end_to_end.at[i];
        json_array_append_new(
            ends, json_pack("{so so so so si si}", "workload", text(a, e->name),
                            "default_s", number(e->by_default), "tuned_s",
                            number(e->tuned), "gain", interval(&e->gain),
                            "pairs", e->pairs, "comparison", e->comparison));
    }
    return json_pack("{s{so so so si so} sb sb so so}", "host", "cpu",
                     text(a, h->cpu), "caches", text(a, h->caches), "isa",
                     text(a, h->isa), "threads", h->threads, "compiler",
                     text(a, h->compiler), "rejected", r->rejected, "stale",
                     r->stale, "tasks", tasks, "end_to_end", ends);
}

void tune_json(const TuneReport *r, FILE *out)
{
    Arena *a = arena_new();
    const TuneOptions *o = r->options;
    Buffer machine = { .arena = a };
    json_t *others = json_array(), *first = backend(a, r);
    machine_json(&r->machine, &machine); /* with the keys of attnc bench */
    json_t *all = json_pack("{so so? so so sb sb sb so}", "model",
                            text(a, r->engine->spec->name), "machine",
                            json_loads(machine.at, 0, NULL), "seconds",
                            number(r->seconds), "budget_s", number(o->budget),
                            "again", o->again, "exhaustive", o->exhaustive,
                            "interrupted", r->interrupted, "records",
                            text(a, r->path));
    for (r = r->other; r; r = r->other)
        json_array_append_new(others, backend(a, r));
    json_object_update(all, first);
    json_object_set_new(all, "others", others);
    char *s = json_dumps(all, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    if (!s)
        fail(ExitResource, "out of memory");
    fprintf(out, "%s\n", s);
    free(s);
    json_decref(first);
    json_decref(all);
    arena_free(a);
}
