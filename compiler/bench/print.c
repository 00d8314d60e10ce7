/* print.c: a bench report as a table or markdown. csv and json show the
 * same numbers, and some more.                                               */
#include "bench/bench.h"

#include <math.h>
#include <string.h>

const BenchColumn work_columns[WorkColumns] = {
    { "rows",         "rows",             0 },
    { "p50 ms",       "p50_ms",           4 },
    { NULL,           "low_ms",           4 },
    { NULL,           "high_ms",          4 },
    { "+- %",         "interval_percent", 2 },
    { "p95 ms",       "p95_ms",           4 },
    { "best ms",      "best_ms",          4 },
    { "tokens/s",     "tokens_per_s",     0 },
    { "MFLOP",        "mflop",            2 },
    { NULL,           "weights_mb",       3 },
    { NULL,           "cache_mb",         3 },
    { "GFLOP/s",      "gflop_per_s",      1 },
    { "% of peak",    "percent_peak",     1 },
    { "weights GB/s", "weights_gb_s",     1 },
    { "% of limit",   "percent_limit",    1 },
    { "runs",         "runs",             0 }
};

const BenchColumn kernel_columns[KernelColumns] = {
    { "calls",        "calls",            0 },
    { "ms",           "ms",               4 },
    { "% of time",    "percent_time",     1 },
    { "MFLOP",        "mflop",            2 },
    { "MB",           "mb",               2 },
    { "FLOP/byte",    "flop_per_byte",    2 },
    { "GFLOP/s",      "gflop_per_s",      1 },
    { "GB/s",         "gb_per_s",         1 },
    { "% of limit",   "percent_limit",    1 }
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

void work_values(const BenchReport *r, const BenchRow *row,
                 double value[WorkColumns])
{
    const Work *w = &row->work;
    const Summary *t = &row->time;
    const double error = summary_error(t);
    const double values[WorkColumns] = {
        w->rows,
        1e3 * t->p50,
        1e3 * t->low,
        1e3 * t->high,
        error < 0 ? NAN : 100.0 * error,
        1e3 * t->p95,
        1e3 * t->best,
        w->tokens / t->p50,
        1e-6 * w->sum.flops,
        1e-6 * w->sum.weights,
        1e-6 * w->sum.cached,
        1e-9 * w->sum.flops / t->p50,
        100.0 * w->sum.flops / t->p50 / r->rates.fma,
        1e-9 * w->sum.weights / t->p50,
        100.0 * row->limit.seconds / t->p50,
        (double)t->n
    };
    memcpy(value, values, sizeof values);
}

Limit kernel_limit(const BenchReport *r, int work, const Kernel *k)
{
    return limit_of(&r->machine, &r->rates, k->cost,
                    r->rows.at[work].work.set, k->calls);
}

void kernel_values(const BenchReport *r, int work, const Kernel *k,
                   double value[KernelColumns])
{
    const double bytes = cost_bytes(k->cost);
    const Limit limit = kernel_limit(r, work, k);
    const double values[KernelColumns] = {
        k->calls,
        1e3 * k->seconds,
        100.0 * k->seconds / r->kernels.p50[work],
        1e-6 * k->cost.flops,
        1e-6 * bytes,
        ratio(k->cost.flops, bytes),
        1e-9 * ratio(k->cost.flops, k->seconds),
        1e-9 * ratio(bytes, k->seconds),
        100.0 * ratio(limit.seconds, k->seconds)
    };
    memcpy(value, values, sizeof values);
}

const char *backend_name(const BenchReport *r)
{
    const char *name = r->engine->options.backend;
    return name ? name : "jit";
}

/* -------------------------------------------------------------- tables --- */
typedef struct {                 /* how a table of people looks */
    const char *before, *between, *after;
    bool aligned;
} Look;
static const Look plain = { "", "  ", "\n", true };
static const Look markdown = { "| ", " | ", " |\n", false };

static int width_of(const BenchColumn *c)
{
    const int n = (int)strlen(c->head);
    return n > 8 ? n : 8;
}

static void put_cell(const Look *look, const char *text, int width, FILE *out)
{
    fprintf(out, "%s%*s", look->between, look->aligned ? width : 0, text);
}

/* A head: the name's column, those of numbers, and "bound by". */
static void put_head(const Look *look, const char *name, int width,
                     const BenchColumn *c, int n, FILE *out)
{
    int columns = 1;
    fprintf(out, "%s%-*s", look->before, look->aligned ? width : 0, name);
    for (int i = 0; i < n; i++)
        if (c[i].head) {
            put_cell(look, c[i].head, width_of(&c[i]), out);
            columns++;
        }
    put_cell(look, "bound by", 8, out);
    fputs(look->after, out);
    if (look->aligned)
        return;
    for (int i = 0; i <= columns; i++)
        fprintf(out, "|%s", i == 0 ? "---" : "---:");
    fputs("|\n", out);
}

static void put_row(const Look *look, const char *name, int width,
                    const BenchColumn *c, const double *value, int n,
                    const char *bound, FILE *out)
{
    char text[64];
    fprintf(out, "%s%-*s", look->before, look->aligned ? width : 0, name);
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%.*f", c[i].places, value[i]);
        if (c[i].head)
            put_cell(look, isnan(value[i]) ? "-" : text, width_of(&c[i]), out);
    }
    put_cell(look, bound, 8, out);
    fputs(look->after, out);
}

const char *size_text(char text[32], size_t bytes)
{
    if (bytes >= 1 << 20)
        snprintf(text, 32, "%zu MiB", bytes >> 20);
    else
        snprintf(text, 32, "%zu KiB", bytes >> 10);
    return text;
}

/* --------------------------------------------------------- the machine --- */
static const BenchColumn rate_columns[1 + Levels] = {
    { "FMA f32 GFLOP/s", "fma_gflop_per_s",   1 },
    { "L1 GB/s",         "read_l1_gb_s",      1 },
    { "L2 GB/s",         "read_l2_gb_s",      1 },
    { "L3 GB/s",         "read_l3_gb_s",      1 },
    { "memory GB/s",     "read_memory_gb_s",  1 }
};

static void rate_values(const Rates *r, double value[1 + Levels])
{
    value[0] = 1e-9 * r->fma;
    for (int i = 0; i < Levels; i++)
        value[1 + i] = 1e-9 * r->read[i];
}

static void put_machine(const Look *look, const Machine *m, FILE *out)
{
    char size[LevelMemory][32];
    double value[1 + Levels];
    char name[16];
    fprintf(out, "%s, %d core%s; L1 %s, L2 %s, L3 %s\n\n", m->cpu, m->cores,
            m->cores == 1 ? "" : "s", size_text(size[0], m->cache[LevelL1]),
            size_text(size[1], m->cache[LevelL2]),
            size_text(size[2], m->cache[LevelL3]));
    fprintf(out, "%s%-8s", look->before, "threads");
    for (int i = 0; i <= Levels; i++)
        put_cell(look, rate_columns[i].head, 12, out);
    fputs(look->after, out);
    if (!look->aligned)
        fputs("|---|---:|---:|---:|---:|---:|\n", out);
    for (int i = 0; i < m->counts; i++) {
        snprintf(name, sizeof name, "%d", m->rates[i].threads);
        fprintf(out, "%s%-8s", look->before, name);
        rate_values(&m->rates[i], value);
        for (int k = 0; k <= Levels; k++) {
            char text[32];
            snprintf(text, sizeof text, "%.1f", value[k]);
            put_cell(look, text, k == 0 ? 15 : 12, out);
        }
        fputs(look->after, out);
    }
    fprintf(out, "\nbf16 weights are widened to f32 and multiplied so: the "
            "same peak.\n");
}

static void machine_csv(const Machine *m, FILE *out)
{
    double value[1 + Levels];
    fprintf(out, "threads");
    for (int i = 0; i <= Levels; i++)
        fprintf(out, ",%s", rate_columns[i].json);
    for (int i = 0; i < m->counts; i++) {
        fprintf(out, "\n%d", m->rates[i].threads);
        rate_values(&m->rates[i], value);
        for (int k = 0; k <= Levels; k++)
            fprintf(out, ",%.1f", value[k]);
    }
    fputc('\n', out);
}

void machine_print(const Machine *m, BenchFormat format, FILE *out)
{
    if (format == BenchCsv) {
        machine_csv(m, out);
    } else if (format == BenchJson) {
        machine_json(m, out);
        fputc('\n', out);
    } else {
        put_machine(format == BenchMarkdown ? &markdown : &plain, m, out);
    }
}

/* ----------------------------------------------------------- the model --- */
/* One where all are equal, else as many as a line holds. */
static void put_lengths(const Setup *s, FILE *out)
{
    const int64_t n = s->options.batch;
    bool equal = true;
    for (int64_t i = 1; i < n; i++)
        equal &= s->rows[i] == s->rows[0];
    fprintf(out, "%d", s->rows[0]);
    for (int64_t i = 1; !equal && i < n && i < 32; i++)
        fprintf(out, ",%d", s->rows[i]);
    if (!equal && n > 32)
        fprintf(out, "..");
}

/* What ran, and on what. */
static void put_title(const BenchReport *r, FILE *out)
{
    const Target *t = &r->engine->target;
    const Setup *s = r->setup;
    const char *from, *tiles = plan_tiles(r->engine->plan, &from);
    fprintf(out, "\n%s: %s, %s, tile %s (%s), %d thread%s, batch of %lld, "
            "beam %lld\n", r->engine->spec->name, backend_name(r), t->name,
            tiles, from, r->threads,
            r->threads == 1 ? "" : "s", (long long)s->options.batch,
            (long long)s->options.beam);
    fprintf(out, "lengths ");
    put_lengths(s, out);
    fprintf(out, "; FMA peak between the runs: %.1f GFLOP/s\n\n",
            1e-9 * r->rates.fma);
}

static void put_kernel(const Look *look, const BenchReport *r, int work,
                       const Kernel *k, FILE *out)
{
    double value[KernelColumns];
    char name[128];
    kernel_values(r, work, k, value);
    if (k->name)
        snprintf(name, sizeof name, "%s%s: %s", look->aligned ? "  " : "",
                 k->name, k->op);
    else if (k->op)
        snprintf(name, sizeof name, "%s: %s", k->function, k->op);
    else
        snprintf(name, sizeof name, "%s", k->function);
    put_row(look, name, 44, kernel_columns, value, KernelColumns,
            kernel_limit(r, work, k).bound, out);
}

/* What no kernel took: the calls themselves, the search, waiting threads. */
static double between(const BenchReport *r, int work)
{
    double seconds = r->kernels.p50[work];
    const KernelList *list = &r->kernels.of[work];
    for (int i = 0; i < list->n; i++)
        if (!list->at[i].name)
            seconds -= list->at[i].seconds;
    return seconds > 0 ? seconds : 0;
}

static void put_kernels(const Look *look, const BenchReport *r, int work,
                        FILE *out)
{
    const KernelTimes *t = &r->kernels;
    const KernelList *list = &t->of[work];
    const double rest = between(r, work);
    double value[KernelColumns];
    fprintf(out, "\n%s by kernel: %.4f ms with a clock, of which %.1f %% are "
            "the clock's (%.0f ns a call)\n\n", r->rows.at[work].work.name,
            1e3 * t->p50[work],
            100.0 * t->ticks[work] * t->clock / r->threads / t->p50[work],
            1e9 * t->clock);
    put_head(look, "kernel", 44, kernel_columns, KernelColumns, out);
    for (int i = 0; i < list->n; i++)
        put_kernel(look, r, work, &list->at[i], out);
    for (int i = 0; i < KernelColumns; i++)
        value[i] = NAN;
    value[1] = 1e3 * rest;
    value[2] = 100.0 * rest / t->p50[work];
    put_row(look, "between them", 44, kernel_columns, value, KernelColumns,
            "-", out);
}

static void put_report(const Look *look, const BenchReport *r, FILE *out)
{
    double value[WorkColumns];
    put_machine(look, &r->machine, out);
    put_title(r, out);
    put_head(look, "workload", 8, work_columns, WorkColumns, out);
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        work_values(r, row, value);
        put_row(look, row->work.name, 8, work_columns, value, WorkColumns,
                row->limit.bound, out);
    }
    for (int i = 0; r->kernels.of && i < r->rows.n; i++)
        put_kernels(look, r, i, out);
}

/* ----------------------------------------------------------- the whole --- */
void bench_print(const BenchReport *r, FILE *out)
{
    switch (r->setup->options.format) {
    case BenchJson:
        bench_json(r, out);
        return;
    case BenchCsv:
        bench_csv(r, out);
        return;
    case BenchMarkdown:
        put_report(&markdown, r, out);
        return;
    case BenchTable:
        put_report(&plain, r, out);
    }
}
