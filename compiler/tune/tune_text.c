/* tune_text.c: words and numbers that all forms of the report share. */
#include <math.h>
#include <stdarg.h>

#include "base/strings.h"
#include "tune/tune_report.h"

const char *const status_word[Statuses] = {
    [StatusRanked] = "ranked", [StatusTimed] = "timed",
    [StatusFailed] = "failed", [StatusCrashed] = "crashed",
    [StatusHung] = "hung",     [StatusWrong] = "wrong",
    [StatusNaN] = "nan",
};

void print_wrapped(FILE *out, int column, int indent, const char *fmt, ...)
{
    Arena *a = arena_new();
    va_list ap;
    va_start(ap, fmt);
    const char *words = arena_vprintf(a, fmt, ap);
    va_end(ap);
    fprintf(out, "%*s", column, "");
    put_wrapped(out, column, indent, words);
    arena_free(a);
}

/* Returns the backend's name as in --backend, but "libtcc" for "jit". */
const char *backend_word(const TuneReport *r)
{
    const char *name = r->engine->options.backend;
    return r->jit ? "libtcc" : name && *name ? name : "clang";
}

const char *task_text(Arena *a, const TaskKey *k)
{
    return plain_text(a, arena_printf(a, "%s %s %s%s%s", task_word[k->kind],
                                      k->shape, dtype_word[k->dtype],
                                      *k->epilogue ? " " : "", k->epilogue));
}

char *gain_text(Arena *a, double ratio)
{
    if (!isfinite(ratio) || ratio <= 0)
        return arena_strdup(a, "-");
    if (ratio >= 2)
        return arena_printf(a, ratio < 100 ? "%.2fx" : "%.2gx", ratio);
    return arena_printf(a, "%+.1f %%", 100 * (ratio - 1));
}

const Candidate *task_default(const TuneTask *t)
{
    return t->candidate.n > 0 ? &t->candidate.at[0] : NULL;
}

const Candidate *task_best(const TuneTask *t)
{
    return t->incumbent >= 0 && t->incumbent < t->candidate.n
             ? &t->candidate.at[t->incumbent]
             : NULL;
}

const Candidate *task_stands(const TuneTask *t)
{
    return t->taken_back ? task_default(t) : task_best(t);
}

bool is_whole_model(const TuneTask *t)
{
    return t->task->key.kind > TaskAttention;
}

bool task_differs(const TuneTask *t)
{
    return t->incumbent > 0 && !t->taken_back;
}

double task_gain(const TuneTask *t)
{
    const Candidate *by_default = task_default(t), *best = task_best(t);
    if (t->gain.middle > 0)
        return t->gain.middle;
    return by_default && best && best->seconds > 0
             ? by_default->seconds / best->seconds
             : NAN;
}

Record task_record(const TuneReport *r, const TuneTask *t)
{
    const Candidate *best = task_best(t);
    const double ns = 1e9 * best->seconds;
    return (Record){ .host = r->host,
                     .key = t->task->key,
                     .tiling = best->tiling,
                     .ns = ns,
                     .usual_ns = task_gain(t) * ns,
                     .samples = t->pairs,
                     .spread = best->spread };
}

int task_count(const TuneTask *t, bool is(const Candidate *c))
{
    int n = 0;
    for (int i = 0; i < t->candidate.n; i++)
        n += is(&t->candidate.at[i]);
    return n;
}

bool was_timed(const Candidate *c)
{
    return c->status == StatusTimed && c->seconds > 0 && isfinite(c->seconds);
}

bool was_removed(const Candidate *c)
{
    return c->status > StatusTimed;
}

double task_fastest(const TuneTask *t)
{
    double best = INFINITY;
    for (int i = 0; i < t->candidate.n; i++)
        if (was_timed(&t->candidate.at[i]))
            best = fmin(best, t->candidate.at[i].seconds);
    return best;
}

const char *task_state(const TuneTask *t)
{
    if (t->reused)
        return "as recorded";
    if (!t->finished && !(t->share > 0))
        return "no calls";
    if (!t->finished)
        return task_count(t, was_timed) + task_count(t, was_removed) > 0
                 ? "not finished"
                 : "not tried";
    return t->taken_back     ? "taken back"
         : t->incumbent == 0 ? "the default stays"
                             : NULL;
}

const char *tiling_difference(Arena *a, const Tiling *t, const Tiling *than)
{
    Tiling rest = { 0 };
    for (int i = 0; i < TilingParameters; i++)
        if (tiling_get(t, i) != tiling_get(than, i))
            tiling_set(&rest, i, tiling_get(t, i));
    return tiling_text(a, &rest);
}

/* ---- the machine ---- */
const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

void host_print(const Host *h, const Machine *m, const Rates *r, FILE *out)
{
    Arena *a = arena_new();
    const char *read = "", *caches = cache_sizes(a, m);
    print_wrapped(out, 0, 4, "%s, %s, %d thread%s, %s", plain_text(a, h->cpu),
                  plain_text(a, h->isa), h->threads, plural(h->threads),
                  plain_text(a, h->compiler));
    for (int i = 0; r && i < Levels; i++)
        if (r->read[i] > 0)
            read = arena_printf(a, "%s, %s %.1f", read, level_name[i],
                                1e-9 * r->read[i]);
    if (r)
        print_wrapped(out, 0, 4, "%s; %s%.1f GFLOP/s; reads%s GB/s", caches,
                      r->threads > 1 ? "the threads together: " : "",
                      1e-9 * r->fma, *read ? read + 1 : " -");
    else
        print_wrapped(out, 0, 4, "%s", caches);
    arena_free(a);
}
