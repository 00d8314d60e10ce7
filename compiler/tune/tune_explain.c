/* tune_explain.c: explains why a tiling is fast, in sentences with numbers:
 * what fits registers and caches, and which of the machine's rates limits
 * it. */
#include "base/strings.h"
#include "tune/tune_report.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct {
    Arena *a;
    const Machine *m;
    const Rates *r; /* rates for the record's threads; NULL: not measured */
    const Record *record;
    Target target;         /* target of the record; its `registers` is 0 if
                            * unknown here */
    Tiling by, by_default; /* the recorded and the default tiling; the latter is
                            * 0 if unknown */
    int64_t k, n;          /* sizes of a product, or d_k and d_v */
    double size;           /* bytes of a weight */
    const char *text;      /* the clauses of the sentence so far */
} Why;

static void add_reason(Why *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_reason(Why *w, const char *fmt, ...)
{
    char clause[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(clause, sizeof clause, fmt, ap);
    va_end(ap);
    w->text = arena_printf(w->a, "%s%s%s", w->text, *w->text ? "; " : "",
                           clause);
}

/* ---- numbers ---- */

/* Returns the read rate of a level of memory; NAN if not measured. */
static double level_rate(const Why *w, Level from)
{
    return w->r && w->r->read[from] > 0 ? w->r->read[from] : NAN;
}

static double whole16(int64_t n)
{
    return (double)round16(n);
}

static int32_t or_else(int32_t parameter, int64_t otherwise)
{
    return parameter ? parameter
                     : (int32_t)(otherwise < INT32_MAX ? otherwise : INT32_MAX);
}

/* Adds a clause that tells if arithmetic hides the time of reading from the
 * level `from`. Each byte read is used for `flops` operations. */
static void say_bound(Why *w, const char *what, Level from, double flops)
{
    const double need = w->r ? w->r->fma / level_rate(w, from) : NAN;
    if (!isfinite(need))
        return;
    add_reason(w,
               "each byte of %s from %s is used for %.3g FLOP where %.2g keep "
               "the FMAs busy, so that %s decide%s",
               what, level_name[from], flops, need,
               flops >= need ? "these" : level_name[from],
               flops >= need ? "" : "s");
}

/* ---- products ---- */
static int sums(const Why *w, const Tiling *t)
{
    return t->mr * t->nr / w->target.width;
}

static void say_registers(Why *w)
{
    const int sums_held = sums(w, &w->by), row = w->by.nr / w->target.width;
    const double loads = row + w->by.mr, fmas = sums_held;
    if (w->target.registers == 0 || sums_held == 0)
        return;
    if (sums_held + row > w->target.registers)
        add_reason(w,
                   "sums and a row of panels need %d registers of %d, so some "
                   "wait in memory",
                   sums_held + row, w->target.registers);
    else
        add_reason(w, "%d of %d registers hold sums, %d a row of panels",
                   sums_held, w->target.registers, row);
    const int by_default = sums(w, &w->by_default);
    const double before = w->by_default.nr / w->target.width + w->by_default.mr;
    const bool other = w->by.mr != w->by_default.mr
                    || w->by.nr != w->by_default.nr;
    if (by_default > 0 && other)
        add_reason(w, "%.2g FMAs for each load, by default %.2g", fmas / loads,
                   by_default / before);
    else
        add_reason(w, "%.2g FMAs for each load", fmas / loads);
}

static double panel_bytes(const Why *w, const Tiling *t)
{
    const int32_t k = or_else(t->k, w->k);
    return (double)t->nr * (double)(k < w->k ? k : w->k) * w->size;
}

/* Adds a clause that names the cache with the panels that the tiles of one
 * column read repeatedly. */
static void say_panels(Why *w)
{
    const double bytes = panel_bytes(w, &w->by);
    const double by_default = panel_bytes(w, &w->by_default);
    const Level in = machine_level(w->m, bytes);
    const Level before = machine_level(w->m, by_default);
    const int32_t k = or_else(w->by.k, w->k);
    const char *beside = "";
    if (w->by.nr == 0)
        return;
    if (by_default > 0 && before != in)
        beside = arena_printf(w->a,
                              ", by default (%s) in "
                              "%s",
                              bytes_text(w->a, by_default, true, 2),
                              level_name[before]);
    add_reason(w, "panels of %d x %lld (%s) stay in %s for all rows%s",
               w->by.nr, (long long)(k < w->k ? k : w->k),
               bytes_text(w->a, bytes, true, 2), level_name[in], beside);
    if (w->by.mr > 0)
        say_bound(w, "them", in, 2.0 * w->by.mr / w->size);
}

/* Returns the steps over the columns: for 512 columns, "10 x 48 + 32". */
static const char *steps_text(const Why *w, int nr)
{
    int64_t left = (int64_t)whole16(w->n);
    const char *text = "";
    for (int step = nr; step > 0 && left > 0;
         step = step > 2 * ATTN_PANEL ? 2 * ATTN_PANEL : ATTN_PANEL) {
        const int64_t times = left / step;
        left -= times * step;
        if (times)
            text = arena_printf(w->a, times > 1 ? "%s%s%lld x %d" : "%s%s",
                                text, *text ? " + " : "", (long long)times,
                                step);
        if (times == 1)
            text = arena_printf(w->a, "%s%d", text, step);
    }
    return text;
}

static void say_columns(Why *w)
{
    const int64_t n = (int64_t)whole16(w->n);
    if (w->by.nr == 0 || w->by_default.nr == 0 || w->by.nr == w->by_default.nr
        || (n % w->by.nr == 0 && n % w->by_default.nr == 0))
        return;
    add_reason(w, "%lld columns are %s, by default %s", (long long)w->n,
               steps_text(w, w->by.nr), steps_text(w, w->by_default.nr));
}

static void say_prefetch(Why *w)
{
    const double bytes = (double)w->k * whole16(w->n) * w->size;
    const Level in = machine_level(w->m, bytes);
    if (w->by.prefetch > 1)
        add_reason(w, "%s of weights lie in %s, so %s of the next columns",
                   bytes_text(w->a, bytes, true, 2), level_name[in],
                   w->by.prefetch == 2
                       ? "one tile prefetches two panels"
                       : arena_printf(
                             w->a,
                             "up to %d tiles share the prefetch of two panels",
                             w->by.prefetch - 1));
    else if (w->by.prefetch == 1)
        add_reason(w, "%s of weights lie in %s, and nothing is prefetched",
                   bytes_text(w->a, bytes, true, 2), level_name[in]);
}

static void why_matmul(Why *w)
{
    say_registers(w);
    say_panels(w);
    say_columns(w);
    say_prefetch(w);
    if (w->by.panels != w->by_default.panels && w->by.panels > 0)
        add_reason(w, "a thread takes %d of %.0f panels, or multiples",
                   w->by.panels, whole16(w->n) / 16);
}

/* Explains the tiling of a small-M product, whose time is that of reading W
 * once. */
static void why_small_m(Why *w)
{
    const double bytes = (double)w->k * whole16(w->n) * w->size;
    const Level in = machine_level(w->m, bytes);
    const int most = w->by.small_m - 1, streams = or_else(w->by.streams, 1);
    if (most > 0 && w->target.registers > 0)
        add_reason(
            w,
            "up to %d row%s read the weights once, with sums in %d of %d "
            "registers",
            most, most == 1 ? "" : "s",
            most * ATTN_PANEL * streams / w->target.width, w->target.registers);
    else if (w->by.small_m == 1)
        add_reason(w, "any number of rows is fastest as tiles");
    if (isfinite(level_rate(w, in)) && w->r->fma > 0)
        add_reason(
            w,
            "%s of weights come from %s in %s, which the sums of %.2g rows "
            "take too",
            bytes_text(w->a, bytes, true, 2), level_name[in],
            seconds_text(w->a, bytes / level_rate(w, in)),
            w->size * w->r->fma / level_rate(w, in) / 2);
    if (w->by.streams > 0)
        add_reason(w, "they are read in %d stream%s", streams,
                   streams == 1 ? "" : "s");
}

static void why_attention(Why *w)
{
    const int32_t keys = or_else(w->by.keys, ATTN_PAGE);
    const double pair = (double)w->k + whole16(w->n);
    const double kept = 4.0 * w->by.queries * (keys + whole16(w->n));
    say_registers(w);
    if (w->by.queries == 0)
        return;
    add_reason(w,
               "scores and outputs of %d queries and %d keys (%s) stay in %s "
               "beside those keys and their values (%s)",
               w->by.queries, keys, bytes_text(w->a, kept, true, 2),
               level_name[machine_level(w->m, kept)],
               bytes_text(w->a, 4 * keys * pair, true, 2));
    say_bound(w, "keys and values", LevelMemory, w->by.queries / 2.0);
}

/* ---- rows, threads ---- */
static void why_rows(Why *w)
{
    double widest = 0, weights = 0;
    int64_t size[MostSizes];
    const int sizes = record_sizes(w->record, size);
    for (int i = 0; i + 1 < sizes; i += 2) {
        const int64_t k = size[i], n = size[i + 1];
        weights += (double)k * whole16(n) * w->size;
        widest = fmax(widest, (double)(k > n ? k : n));
    }
    const double bytes = 4.0 * w->by.rows * widest;
    const Level in = machine_level(w->m, weights);
    if (w->by.rows == 0 || widest <= 0)
        return;
    add_reason(
        w,
        "%d rows of up to %.0f floats (%s) stay in %s from one step to the "
        "next",
        w->by.rows, widest, bytes_text(w->a, bytes, true, 2),
        level_name[machine_level(w->m, bytes)]);
    say_bound(w,
              arena_printf(w->a, "the %s of weights",
                           bytes_text(w->a, weights, true, 2)),
              in, 2.0 * w->by.rows / w->size);
}

static void why_split(Why *w)
{
    const double flops = w->by.work, by_default = w->by_default.work;
    const double one = w->r ? w->r->fma / w->r->threads : NAN;
    if (flops <= 0)
        return;
    add_reason(
        w,
        "another thread joins for each %.3g MFLOP, which one works on for "
        "%s at its peak",
        1e-6 * flops, seconds_text(w->a, flops / one));
    if (by_default > 0 && w->by.work != w->by_default.work)
        add_reason(w, "by default %s", seconds_text(w->a, by_default / one));
}

static void (*const why[TaskKinds])(Why *w) = {
    [TaskMatmul] = why_matmul,       [TaskSmallM] = why_small_m,
    [TaskAttention] = why_attention, [TaskRows] = why_rows,
    [TaskSplit] = why_split,
};

/* ---- a record ---- */

/* Finds the target of a record's instruction set; tries the one with this name
 * first. Returns false if it is unknown here. */
static bool find_target(Arena *a, Target *t, const Host *h, const char *name)
{
    const HostParts is = host_parts(a, h);
    Fault unused;
    const bool has = name && target_find(t, name, 0, NULL, &unused)
                  && !strcmp(t->march, is.march);
    return target_find(t, has ? name : is.march, is.width, NULL, &unused);
}

/* Returns the parameters of `t` that differ from those of `than`, such as "8x48
 * prefetch=2". */
static const char *difference(Arena *a, const Tiling *t, const Tiling *than)
{
    const bool tile = t->mr != than->mr || t->nr != than->nr;
    Tiling rest = { 0 };
    for (int i = 0; i < TilingParameters; i++)
        if (i != Tiling_mr && i != Tiling_nr && tiling_get(than, i)
            && tiling_get(t, i) != tiling_get(than, i))
            tiling_set(&rest, i, tiling_get(t, i));
    const char *text = tiling_text(a, &rest);
    if (!tile || t->mr == 0 || t->nr == 0)
        return text;
    return arena_printf(a, "%dx%d%s%s", t->mr, t->nr, *text ? " " : "", text);
}

static const char *choice_text(const Why *w)
{
    const char *to = difference(w->a, &w->by, &w->by_default);
    const char *from = difference(w->a, &w->by_default, &w->by);
    const char *all = tiling_text(w->a, &w->by);
    const Record *r = w->record;
    const char *gain = arena_printf(w->a, ", %s in %s (%d pair%s)",
                                    gain_text(w->a, r->usual_ns / r->ns),
                                    seconds_text(w->a, 1e-9 * r->ns),
                                    r->samples, r->samples == 1 ? "" : "s");
    if (*to && *from)
        return arena_printf(w->a, "%s instead of %s%s", to, from, gain);
    if (r->usual_ns > r->ns) /* the default of `small_m` depends on the plan */
        return arena_printf(w->a, "%s%s", all, gain);
    return arena_printf(w->a, "as by default, %s", all);
}

char *explain_record(Arena *a, const Record *r, const Tiling *by_default,
                     const char *target, const Machine *m)
{
    Why w = { .a = a,
              .m = m,
              .record = r,
              .by = r->tiling,
              .text = "",
              .size = dtype_number_bytes(r->key.dtype) };
    int64_t size[MostSizes];
    if (m->counts > 0)
        w.r = machine_rates(m, r->host.threads);
    if (record_sizes(r, size) >= 2) {
        w.k = size[0];
        w.n = size[1];
    }
    if (!find_target(a, &w.target, &r->host, target))
        w.target = (Target){ .width = 1 };
    else if (!by_default && w.k > 0)
        w.by_default = tiling_with_defaults(&w.target, &r->key, w.k,
                                            w.by_default);
    if (by_default)
        w.by_default = *by_default;
    why[r->key.kind](&w);
    return arena_printf(a, "%s: %s%s%s.", task_text(a, &r->key),
                        choice_text(&w), *w.text ? ": " : "", w.text);
}

/* ---- records ---- */
static bool first_of_host(const Records *r, int i)
{
    for (int k = 0; k < i; k++)
        if (host_same(&r->at.at[k].host, &r->at.at[i].host))
            return false;
    return true;
}

static void explain_host(Arena *a, const Records *r, const Host *h,
                         const char *target, const Machine *m, FILE *out)
{
    for (int i = 0; i < r->at.n; i++)
        if (host_same(&r->at.at[i].host, h)) {
            fputc('\n', out);
            put_wrapped(out, 0, 4,
                        explain_record(a, &r->at.at[i], NULL, target, m));
        }
}

void records_explain(const Records *r, const Host *here, const char *target,
                     const Machine *m, FILE *out)
{
    Arena *a = arena_new();
    int others = 0;
    host_print(here, m, m->counts > 0 ? machine_rates(m, here->threads) : NULL,
               out);
    explain_host(a, r, here, target, m, out);
    for (int i = 0; i < r->at.n; i++) {
        const Host *h = &r->at.at[i].host;
        const bool same = host_same_machine(h, here);
        others += !same;
        if (!same || host_same(h, here) || !first_of_host(r, i))
            continue;
        fputc('\n', out);
        put_wrapped(out, 0, 4,
                    arena_printf(a, "For %s, %d thread%s, %s:",
                                 plain_text(a, h->isa), h->threads,
                                 h->threads == 1 ? "" : "s",
                                 plain_text(a, h->compiler)));
        explain_host(a, r, h, target, m, out);
    }
    if (r->at.n == 0)
        fputs("\nThere are no records yet: attnc tune makes them.\n", out);
    if (others)
        fprintf(out, "\n%d record%s of another machine: not used here.\n",
                others, others == 1 ? " is" : "s are");
    arena_free(a);
}
