/* sweep_columns.c: the columns of a sweep's report, which all formats share. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sweep/sweep_parts.h"

/* ---- figures ---- */

/* Returns a number from the plan; `at` is the offset of its member in Row. */
static double get_planned(const Row *r, int at)
{
    double value;
    memcpy(&value, (const char *)r + at, sizeof value);
    return r->state == RowRefused ? NAN : value;
}

/* Returns workload `which`, or NULL if it was not timed. */
static const RowWork *timed_work(const Row *r, int which)
{
    const RowWork *w = which < WorkKinds ? &r->work[which] : row_main(r);
    return r->state != RowRefused && w && w->time.n > 0 ? w : NULL;
}

static double get_time(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? w->time.p50 : NAN;
}

/* Returns the predicted seconds of a workload. */
static double get_predicted(const Row *r, int which)
{
    const RowWork *w = which < WorkKinds ? &r->work[which] : row_main(r);
    return r->state != RowRefused && w && w->there ? w->estimate : NAN;
}

/* Returns the relative error of the prediction for a workload. */
static double get_miss(const Row *r, int which)
{
    return fabs(get_predicted(r, which) / get_time(r, which) - 1);
}

static double get_low(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? w->time.low : NAN;
}

static double get_high(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? w->time.high : NAN;
}

static double get_error(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    const double error = w ? summary_error(&w->time) : -1;
    return error < 0 ? NAN : error;
}

static double get_tokens(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? w->tokens / w->time.p50 : NAN;
}

static double get_limit(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? w->limit / w->time.p50 : NAN;
}

static double get_runs(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? (double)w->time.n : NAN;
}

static const char *get_bound(const Row *r, int which)
{
    const RowWork *w = timed_work(r, which);
    return w ? bound_word(w->bound) : "";
}

/* Returns a number of Table 1 of the paper; `at` is the offset of its member.
 * NAN if the layer does not mix rows. */
static double get_mixing(const Row *r, int at)
{
    const bool mixes = r->state != RowRefused && r->mixing.complexity
                    && *r->mixing.complexity;
    double value;
    memcpy(&value, (const char *)&r->mixing + at, sizeof value);
    return mixes ? value : NAN;
}

static const char *get_complexity(const Row *r, int which)
{
    (void)which;
    const bool mixes = r->state != RowRefused && r->mixing.complexity;
    return mixes ? r->mixing.complexity : "";
}

static double get_exponent(const Row *r, int which)
{
    return timed_work(r, which) ? r->exponent : NAN;
}

static const char *get_field(const Row *r, int which)
{
    return r->state == RowRefused || !r->fields ? "" : r->fields[which];
}

enum { WorkMain = WorkKinds };

/* clang-format off */
#define TIME(name, work, rank)                                                \
    { name, name "_ms", name " ms", UnitSeconds, get_time, NULL, work,      \
      -1, rank, NeedsTimes },                                                 \
    { name "_low", name "_low_ms", name " low", UnitSeconds, get_low, NULL, \
      work, -1, 20, NeedsTimes },                                             \
    { name "_high", name "_high_ms", name " high", UnitSeconds, get_high,   \
      NULL, work, -1, 20, NeedsTimes }

#define PREDICTED(name, head, work)                                           \
    { name, name "_ms", head, UnitSeconds, get_predicted, NULL, work,       \
      -1, 3, NeedsEstimates }

static const SweepColumn all[] = {
    { "parameters", "parameters", "parameters", UnitCount, get_planned,
      NULL, offsetof(Row, parameters), -1, 0, NeedsPlan },
    { "weights", "weights_bytes", "weights MB", UnitBytes, get_planned,
      NULL, offsetof(Row, weights), -1, 6, NeedsPlan },
    { "memory", "memory_bytes", "memory MB", UnitBytes, get_planned,
      NULL, offsetof(Row, memory), -1, 4, NeedsPlan },
    { "flops", "flops", "MFLOP", UnitFlops, get_planned,
      NULL, offsetof(Row, flops), -1, 5, NeedsPlan },
    TIME("encode", WorkEncode, 7),
    TIME("prefill", WorkPrefill, 7),
    TIME("step", WorkStep, 3),
    TIME("search", WorkSearch, 0),
    TIME("latency", WorkMain, 0),
    PREDICTED("encode_predicted", "encode ms", WorkEncode),
    PREDICTED("prefill_predicted", "prefill ms", WorkPrefill),
    PREDICTED("step_predicted", "step ms", WorkStep),
    PREDICTED("search_predicted", "search ms", WorkSearch),
    PREDICTED("predicted", "predicted ms", WorkMain),
    { "missed", "missed_percent", "missed by %", UnitPart, get_miss,
      NULL, WorkMain, -1, 11, NeedsTimes },
    { "error", "error_percent", "+- %", UnitPart, get_error,
      NULL, WorkMain, -1, 8, NeedsTimes },
    { "tokens", "tokens_per_s", "tokens/s", UnitRate, get_tokens,
      NULL, WorkMain, 1, 2, NeedsTimes },
    { "limit", "limit_percent", "% of limit", UnitPart, get_limit,
      NULL, WorkMain, 1, 1, NeedsTimes },
    { "bound", "bound", "bound by", UnitWord, NULL,
      get_bound, WorkMain, 0, 9, NeedsTimes },
    { "runs", "runs", "runs", UnitCount, get_runs,
      NULL, WorkMain, 0, 10, NeedsTimes },
    { "complexity", "complexity", "complexity", UnitWord, NULL,
      get_complexity, 0, 0, 0, NeedsPlan },
    { "operations", "operations", "operations", UnitCount, get_mixing,
      NULL, offsetof(Mixing, operations), -1, 2, NeedsPlan },
    { "sequential", "sequential", "sequential", UnitCount, get_mixing,
      NULL, offsetof(Mixing, sequential), -1, 0, NeedsPlan },
    { "path", "path", "path", UnitCount, get_mixing,
      NULL, offsetof(Mixing, path), -1, 0, NeedsPlan },
    { "layer_flops", "layer_flops", "layer MFLOP", UnitFlops, get_mixing,
      NULL, offsetof(Mixing, flops), -1, 1, NeedsPlan },
    { "exponent", "exponent", "time ~ n^", UnitPower, get_exponent,
      NULL, WorkMain, -1, 0, NeedsTimes },
};
/* clang-format on */
enum { AllColumns = sizeof all / sizeof *all };

static const char default_columns[] =
    "parameters,weights,memory,flops,encode,prefill,step,search,error,tokens,"
    "limit,bound,predicted,missed";
static const char default_predicted[] =
    "parameters,weights,memory,flops,encode_predicted,prefill_predicted,"
    "step_predicted,search_predicted";
static const char default_exact[] =
    "parameters,weights,memory,flops,encode,encode_low,encode_high,prefill,"
    "prefill_low,prefill_high,step,step_low,step_high,search,search_low,"
    "search_high,tokens,limit,bound,runs,predicted";

/* ---- choice ---- */
static _Noreturn void unknown_column(Arena *a, const char *option,
                                     const char *name)
{
    const char *names[AllColumns];
    const char *list = "";
    for (int i = 0; i < AllColumns; i++) {
        names[i] = all[i].name;
        list = arena_printf(a, "%s%s%s", list, i ? ", " : "", all[i].name);
    }
    const char *near = nearest(name, names, AllColumns);
    near = near ? near : spec_field_near(a, name);
    if (near)
        fail(ExitUsage, "%s '%s': there is no such column: did you mean %s?",
             option, quote(name), near);
    fail(ExitUsage, "%s '%s': a field of the spec, or one of %s", option,
         quote(name), list);
}

/* Returns the column of a spec field, and adds the key to `fields` if it is not
 * there. */
static SweepColumn field_column(Arena *a, const char *key, Words *fields)
{
    int at = 0;
    while (at < fields->n && strcmp(fields->at[at], key) != 0)
        at++;
    if (at == fields->n)
        vec_push(a, fields, key);
    return (SweepColumn){ .name = key,
                          .json = key,
                          .head = key,
                          .kind = UnitWord,
                          .word = get_field,
                          .which = at };
}

static SweepColumn find(Arena *a, const char *option, const char *name,
                        Words *fields)
{
    for (int i = 0; i < AllColumns; i++)
        if (!strcmp(all[i].name, name))
            return all[i];
    if (!spec_field_one(name))
        unknown_column(a, option, name);
    return field_column(a, name, fields);
}

void columns_read(Arena *a, const char *list, const char *option, Columns *to,
                  Words *fields)
{
    for (const char *at = list;;) {
        const size_t n = strcspn(at, ",");
        const char *name = arena_strndup(a, at, n);
        const SweepColumn c = find(a, option, name, fields);
        for (int i = 0; i < to->n; i++)
            if (!strcmp(to->at[i].name, name))
                fail(ExitUsage, "%s: %s is there twice", option, name);
        vec_push(a, to, c);
        if (!at[n])
            return;
        at += n + 1;
    }
}

const char *columns_default(bool exact, bool predict)
{
    return predict ? default_predicted
         : exact   ? default_exact
                   : default_columns;
}

/* The two rows after a time are the two ends of its interval. */
void column_ends(const SweepColumn *c, const SweepColumn **low,
                 const SweepColumn **high)
{
    *low = *high = NULL;
    for (int i = 0; c->get == get_time && i + 2 < AllColumns; i++)
        if (all[i].get == get_time && all[i].which == c->which) {
            *low = &all[i + 1];
            *high = &all[i + 2];
        }
}

/* ---- texts ---- */
bool column_has(const SweepColumn *c, const Row *r)
{
    return c->word ? *c->word(r, c->which) : !isnan(c->get(r, c->which));
}

/* Returns a number with four significant digits; three if it is below 1. */
static const char *short_number(Arena *a, double x)
{
    const int size = x > 0 ? (int)floor(log10(x)) : 0; /* 0 for numbers from 1
                                                        * to 9.99 */
    const int places = size >= 0 ? 3 - size : 2 - size;
    return arena_printf(a, "%.*f", places < 0 ? 0 : places > 6 ? 6 : places, x);
}

const char *column_text(Arena *a, const SweepColumn *c, const Row *r)
{
    if (!column_has(c, r))
        return "";
    if (c->word)
        return c->word(r, c->which);
    const double x = c->get(r, c->which);
    switch (c->kind) {
    case UnitCount:   return arena_grouped(a, (int64_t)x);
    case UnitFlops:
    case UnitBytes:   return short_number(a, 1e-6 * x);
    case UnitSeconds: return short_number(a, 1e3 * x);
    case UnitRate:    return arena_grouped(a, (int64_t)fmin(x + 0.5, 1e18));
    case UnitPower:   return arena_printf(a, "%.2f", x);
    default:          return arena_printf(a, "%.1f", 100 * x);
    }
}

const char *column_exact(Arena *a, const SweepColumn *c, const Row *r)
{
    if (!column_has(c, r))
        return "";
    if (c->word)
        return c->word(r, c->which);
    const double x = c->get(r, c->which);
    switch (c->kind) {
    case UnitSeconds: return arena_printf(a, "%.6f", 1e3 * x);
    case UnitPart:    return arena_printf(a, "%.2f", 100 * x);
    case UnitRate:    return arena_printf(a, "%.1f", x);
    case UnitPower:   return arena_printf(a, "%.3f", x);
    default:          return arena_printf(a, "%.0f", x);
    }
}
