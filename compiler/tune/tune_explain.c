/* tune_explain.c: explains why a tiling is fast, in sentences with numbers:
 * what fits in registers and caches, and which rate of the machine is the
 * limit. */
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
    Target target;         /* target of the record; `registers` is 0 if the
                            * target is unknown */
    Tiling by, by_default; /* recorded tiling; default tiling, or 0 if
                            * unknown */
    double k, n;           /* sizes of a product, or d_k and d_v; n is rounded
                            * up to panels */
    double size;           /* bytes of a weight */
    const char *text;      /* clauses of the sentence so far */
} Why;

static void add_reason(Why *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add_reason(Why *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    w->text = arena_printf(w->a, "%s%s%s", w->text, *w->text ? "; " : "",
                           arena_vprintf(w->a, fmt, ap));
    va_end(ap);
}

/* ---- numbers ---- */

/* Returns the read rate of a level of memory; NAN if not measured. */
static double level_rate(const Why *w, Level from)
{
    return w->r && w->r->read[from] > 0 ? w->r->read[from] : NAN;
}

static const char *size_text(const Why *w, double bytes)
{
    return bytes_text(w->a, bytes, true, 2);
}

/* Returns the name of the nearest level that holds this many bytes. */
static const char *level_of(const Why *w, double bytes)
{
    return level_name[machine_level(w->m, bytes)];
}

/* Adds a clause on whether arithmetic hides the time of reading from the level
 * `from`. Each byte is used in `flops` operations. */
static void say_bound(Why *w, const char *what, Level from, double flops)
{
    const double need = w->r ? w->r->fma / level_rate(w, from) : NAN;
    const bool hides = flops >= need;
    if (isfinite(need))
        add_reason(w,
                   "each byte of %s from %s is used for %.3g FLOP where %.2g "
                   "keep the FMAs busy, so that %s decide%s",
                   what, level_name[from], flops, need,
                   hides ? "these" : level_name[from], hides ? "" : "s");
}

/* ---- products ---- */
static int sums(const Why *w, const Tiling *t)
{
    return t->mr * t->nr / w->target.width;
}

static void say_registers(Why *w)
{
    const Tiling *t = &w->by, *than = &w->by_default;
    const int held = sums(w, t), row = t->nr / w->target.width;
    if (w->target.registers == 0 || held == 0)
        return;
    if (held + row > w->target.registers)
        add_reason(w,
                   "sums and a row of panels need %d registers of %d, so some "
                   "wait in memory",
                   held + row, w->target.registers);
    else
        add_reason(w, "%d of %d registers hold sums, %d a row of panels", held,
                   w->target.registers, row);
    add_reason(w, "%.2g FMAs for each load", (double)held / (row + t->mr));
    if (sums(w, than) > 0 && (t->mr != than->mr || t->nr != than->nr))
        w->text = arena_printf(
            w->a, "%s, by default %.2g", w->text,
            sums(w, than) / (than->nr / w->target.width + than->mr + 0.0));
}

/* Returns the number of summands that a tile processes at a time. */
static double block_of(const Why *w, const Tiling *t)
{
    return t->k ? fmin(t->k, w->k) : w->k;
}

/* Adds a clause that names the cache that holds the panels which the tiles of
 * one column read repeatedly. */
static void say_panels(Why *w)
{
    const Tiling *t = &w->by, *than = &w->by_default;
    const double bytes = t->nr * block_of(w, t) * w->size;
    const double by_default = than->nr * block_of(w, than) * w->size;
    const Level in = machine_level(w->m, bytes);
    if (t->nr == 0)
        return;
    add_reason(w, "panels of %d x %.0f (%s) stay in %s for all rows", t->nr,
               block_of(w, t), size_text(w, bytes), level_name[in]);
    if (by_default > 0 && machine_level(w->m, by_default) != in)
        w->text = arena_printf(w->a, "%s, by default (%s) in %s", w->text,
                               size_text(w, by_default),
                               level_of(w, by_default));
    if (t->mr > 0)
        say_bound(w, "them", in, 2.0 * t->mr / w->size);
}

/* Returns the steps over the columns as text, e.g. "10 x 48 + 32" for 512
 * columns. */
static const char *steps_text(const Why *w, int nr)
{
    int64_t left = (int64_t)w->n;
    const char *text = "";
    for (int step = nr; step > 0 && left > 0;
         step = step > 2 * ATTN_PANEL ? 2 * ATTN_PANEL : ATTN_PANEL) {
        const int64_t times = left / step;
        const char *plus = *text ? " + " : "";
        left -= times * step;
        if (times > 1)
            text = arena_printf(w->a, "%s%s%lld x %d", text, plus,
                                (long long)times, step);
        else if (times == 1)
            text = arena_printf(w->a, "%s%s%d", text, plus, step);
    }
    return text;
}

static void say_columns(Why *w, int64_t n)
{
    const int now = w->by.nr, before = w->by_default.nr;
    const int64_t all = (int64_t)w->n;
    if (now > 0 && before > 0 && now != before
        && (all % now != 0 || all % before != 0))
        add_reason(w, "%lld columns are %s, by default %s", (long long)n,
                   steps_text(w, now), steps_text(w, before));
}

static void why_matmul(Why *w, const int64_t *size)
{
    const double bytes = w->k * w->n * w->size;
    const int tiles = w->by.prefetch - 1;
    say_registers(w);
    say_panels(w);
    say_columns(w, size[1]);
    if (tiles >= 0)
        add_reason(w, "%s of weights lie in %s, %s%s", size_text(w, bytes),
                   level_of(w, bytes),
                   tiles == 0   ? "and nothing is prefetched"
                   : tiles == 1 ? "so one tile prefetches two panels"
                                : arena_printf(w->a,
                                               "so up to %d tiles share the "
                                               "prefetch of two panels",
                                               tiles),
                   tiles == 0 ? "" : " of the next columns");
    if (w->by.panels != w->by_default.panels && w->by.panels > 0)
        add_reason(w, "a thread takes %d of %.0f panels, or multiples",
                   w->by.panels, w->n / 16);
}

/* Explains the tiling of a small-M product, whose time is mostly that of
 * reading W once. */
static void why_small_m(Why *w, const int64_t *size)
{
    const double bytes = w->k * w->n * w->size;
    const double rate = level_rate(w, machine_level(w->m, bytes));
    const int most = w->by.small_m - 1;
    const int streams = w->by.streams ? w->by.streams : 1;
    (void)size;
    if (most > 0 && w->target.registers > 0)
        add_reason(w,
                   "up to %d row%s read the weights once, with sums in %d of "
                   "%d registers",
                   most, plural(most),
                   most * ATTN_PANEL * streams / w->target.width,
                   w->target.registers);
    else if (most == 0)
        add_reason(w, "any number of rows is fastest as tiles");
    if (isfinite(rate) && w->r->fma > 0)
        add_reason(w,
                   "%s of weights come from %s in %s, which the sums of %.2g "
                   "rows take too",
                   size_text(w, bytes), level_of(w, bytes),
                   seconds_text(w->a, bytes / rate),
                   w->size * w->r->fma / rate / 2);
    if (w->by.streams > 0)
        add_reason(w, "they are read in %d stream%s", streams, plural(streams));
}

static void why_attention(Why *w, const int64_t *size)
{
    const int32_t keys = w->by.keys ? w->by.keys : ATTN_PAGE;
    const double kept = 4.0 * w->by.queries * (keys + w->n);
    (void)size;
    say_registers(w);
    if (w->by.queries == 0)
        return;
    add_reason(w,
               "scores and outputs of %d queries and %d keys (%s) stay in %s "
               "beside those keys and their values (%s)",
               w->by.queries, keys, size_text(w, kept), level_of(w, kept),
               size_text(w, 4 * keys * (w->k + w->n)));
    say_bound(w, "keys and values", LevelMemory, w->by.queries / 2.0);
}

/* ---- rows, threads ---- */
static void why_rows(Why *w, const int64_t *size)
{
    double widest = 0, weights = 0;
    for (int i = 0; i + 1 < MostSizes && size[i + 1] > 0; i += 2) {
        weights += (double)size[i] * (double)round16(size[i + 1]) * w->size;
        widest = fmax(widest,
                      (double)(size[i] > size[i + 1] ? size[i] : size[i + 1]));
    }
    const double bytes = 4.0 * w->by.rows * widest;
    if (w->by.rows == 0 || widest <= 0)
        return;
    add_reason(w,
               "%d rows of up to %.0f floats (%s) stay in %s from one step to "
               "the next",
               w->by.rows, widest, size_text(w, bytes), level_of(w, bytes));
    say_bound(w, arena_printf(w->a, "the %s of weights", size_text(w, weights)),
              machine_level(w->m, weights), 2.0 * w->by.rows / w->size);
}

static void why_split(Why *w, const int64_t *size)
{
    const double flops = w->by.work, by_default = w->by_default.work;
    const double one = w->r ? w->r->fma / w->r->threads : NAN;
    (void)size;
    if (flops <= 0)
        return;
    add_reason(w,
               "another thread joins for each %.3g MFLOP, which one works on "
               "for %s at its peak",
               1e-6 * flops, seconds_text(w->a, flops / one));
    if (by_default > 0 && w->by.work != w->by_default.work)
        add_reason(w, "by default %s", seconds_text(w->a, by_default / one));
}

/* `size` is the numbers of the task's shape, followed by zeros. */
static void (*const why[TaskKinds])(Why *w, const int64_t *size) = {
    [TaskMatmul] = why_matmul,       [TaskSmallM] = why_small_m,
    [TaskAttention] = why_attention, [TaskRows] = why_rows,
    [TaskSplit] = why_split,
};

/* ---- a record ---- */

/* Finds the target of a record's instruction set, trying the one named `name`
 * first. Returns false if the target is unknown. */
static bool find_target(Arena *a, Target *t, const Host *h, const char *name)
{
    const HostParts is = host_parts(a, h);
    Fault unused;
    const bool has = name && target_find(t, name, 0, NULL, &unused)
                  && !strcmp(t->march, is.march);
    return target_find(t, has ? name : is.march, is.width, NULL, &unused);
}

/* Returns the parameters of `t` that differ from those of `than`, e.g. "8x48
 * prefetch=2". */
static const char *difference(Arena *a, const Tiling *t, const Tiling *than)
{
    const bool tile = (t->mr != than->mr || t->nr != than->nr) && t->mr
                   && t->nr;
    Tiling own = *t;
    for (int i = 0; i < TilingParameters; i++)
        if (i == Tiling_mr || i == Tiling_nr || !tiling_get(than, i))
            tiling_set(&own, i, tiling_get(than, i));
    const char *text = tiling_difference(a, &own, than);
    return tile ? arena_printf(a, "%dx%d%s%s", t->mr, t->nr, *text ? " " : "",
                               text)
                : text;
}

static const char *choice_text(const Why *w)
{
    const char *to = difference(w->a, &w->by, &w->by_default);
    const char *from = difference(w->a, &w->by_default, &w->by);
    const char *all = tiling_text(w->a, &w->by);
    const Record *r = w->record;
    const bool both = *to && *from;
    if (!both && r->usual_ns <= r->ns)
        return arena_printf(w->a, "as by default, %s", all);
    return arena_printf(w->a, "%s%s%s, %s in %s (%d pair%s)", both ? to : all,
                        both ? " instead of " : "", both ? from : "",
                        gain_text(w->a, r->usual_ns / r->ns),
                        seconds_text(w->a, 1e-9 * r->ns), r->samples,
                        plural(r->samples));
}

char *explain_record(Arena *a, const Record *r, const Tiling *by_default,
                     const char *target, const Machine *m)
{
    int64_t size[MostSizes] = { 0 };
    const bool sizes = record_sizes(r, size) >= 2;
    Why w = { .a = a,
              .m = m,
              .r = m->counts > 0 ? machine_rates(m, r->host.threads) : NULL,
              .record = r,
              .by = r->tiling,
              .k = sizes ? (double)size[0] : 0,
              .n = sizes ? (double)round16(size[1]) : 0,
              .text = "",
              .size = dtype_number_bytes(r->key.dtype) };
    if (!find_target(a, &w.target, &r->host, target))
        w.target = (Target){ .width = 1 };
    else if (!by_default && w.k > 0)
        w.by_default = tiling_with_defaults(&w.target, &r->key, size[0],
                                            w.by_default);
    if (by_default)
        w.by_default = *by_default;
    why[r->key.kind](&w, size);
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
            print_wrapped(out, 0, 4, "%s",
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
        print_wrapped(out, 0, 4,
                      "For %s, %d thread%s, %s:", plain_text(a, h->isa),
                      h->threads, plural(h->threads),
                      plain_text(a, h->compiler));
        explain_host(a, r, h, target, m, out);
    }
    if (r->at.n == 0)
        fputs("\nThere are no records yet: attnc tune makes them.\n", out);
    if (others)
        fprintf(out, "\n%d record%s of another machine: not used here.\n",
                others, others == 1 ? " is" : "s are");
    arena_free(a);
}
