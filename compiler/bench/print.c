/* print.c: a bench report as a table or markdown. csv and json show the
 * same numbers, and some more.                                               */
#include "bench/report.h"

#include <math.h>
#include <string.h>

/* -------------------------------------------------------------- tables --- */
static int width_of(const BenchColumn *c)
{
    const int n = (int)strlen(c->head);
    return n > 8 ? n : 8;
}

/* A head: the name's column, those of numbers, and "bound by". */
static void put_head(const TableStyle *style, const char *name, int width,
                     const BenchColumn *c, int n, FILE *out)
{
    int columns = 1;
    fprintf(out, "%s%-*s", style->before, style->aligned ? width : 0, name);
    for (int i = 0; i < n; i++)
        if (c[i].head) {
            put_cell(style, c[i].head, width_of(&c[i]), out);
            columns++;
        }
    put_cell(style, "bound by", 8, out);
    fputs(style->after, out);
    if (style->aligned)
        return;
    for (int i = 0; i <= columns; i++)
        fprintf(out, "|%s", i == 0 ? "---" : "---:");
    fputs("|\n", out);
}

static void put_row(const TableStyle *style, const char *name, int width,
                    const BenchColumn *c, const double *value, int n,
                    const char *bound, FILE *out)
{
    char text[64];
    fprintf(out, "%s%-*s", style->before, style->aligned ? width : 0, name);
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%.*f", c[i].places, value[i]);
        if (c[i].head)
            put_cell(style, isnan(value[i]) ? "-" : text, width_of(&c[i]), out);
    }
    put_cell(style, bound, 8, out);
    fputs(style->after, out);
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
    fprintf(out,
            "\n%s: %s, %s, tile %s (%s), %d thread%s, batch of %lld, "
            "beam %lld\n",
            r->engine->spec->name, backend_name(r), t->name, tiles, from,
            r->threads, r->threads == 1 ? "" : "s", (long long)s->options.batch,
            (long long)s->options.beam);
    fprintf(out, "lengths ");
    put_lengths(s, out);
    fprintf(out, "; FMA peak between the runs: %.1f GFLOP/s\n\n",
            1e-9 * r->rates.fma);
}

static void put_kernel(const TableStyle *style, const BenchReport *r, int work,
                       const KernelRow *k, FILE *out)
{
    double value[KernelColumns];
    char name[128];
    kernel_values(r, work, k, value);
    if (k->name)
        snprintf(name, sizeof name, "%s%s: %s", style->aligned ? "  " : "",
                 k->name, k->op);
    else if (k->op)
        snprintf(name, sizeof name, "%s: %s", k->function, k->op);
    else
        snprintf(name, sizeof name, "%s", k->function);
    put_row(style, name, 44, kernel_columns, value, KernelColumns,
            bound_word(kernel_limit(r, work, k).bound), out);
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

static void put_kernels(const TableStyle *style, const BenchReport *r, int work,
                        FILE *out)
{
    const KernelTimes *t = &r->kernels;
    const KernelList *list = &t->of[work];
    const double rest = between(r, work);
    double value[KernelColumns];
    fprintf(out,
            "\n%s by kernel: %.4f ms with a clock, of which %.1f %% are "
            "the clock's (%.0f ns a call)\n\n",
            r->rows.at[work].work.name, 1e3 * t->p50[work],
            100.0 * t->ticks[work] * t->clock / r->threads / t->p50[work],
            1e9 * t->clock);
    put_head(style, "kernel", 44, kernel_columns, KernelColumns, out);
    for (int i = 0; i < list->n; i++)
        put_kernel(style, r, work, &list->at[i], out);
    for (int i = 0; i < KernelColumns; i++)
        value[i] = NAN;
    value[1] = 1e3 * rest;
    value[2] = 100.0 * rest / t->p50[work];
    put_row(style, "between them", 44, kernel_columns, value, KernelColumns,
            "-", out);
}

static void put_report(const TableStyle *style, const BenchReport *r, FILE *out)
{
    double value[WorkColumns];
    put_machine(style, &r->machine, out);
    put_title(r, out);
    put_head(style, "workload", 8, work_columns, WorkColumns, out);
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        work_values(r, row, value);
        put_row(style, row->work.name, 8, work_columns, value, WorkColumns,
                bound_word(row->limit.bound), out);
    }
    for (int i = 0; r->kernels.of && i < r->rows.n; i++)
        put_kernels(style, r, i, out);
}

/* ----------------------------------------------------------- the whole --- */
void bench_print(const BenchReport *r, FILE *out)
{
    switch (r->setup->options.format) {
    case BenchJson:     bench_json(r, out); return;
    case BenchCsv:      bench_csv(r, out); return;
    case BenchMarkdown: put_report(&markdown_table, r, out); return;
    case BenchTable:    put_report(&plain_table, r, out);
    }
}
