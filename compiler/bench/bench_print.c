/* bench_print.c: a bench report as a text or Markdown table. CSV and JSON have
 * the same numbers and a few more. */
#include "base/table.h"
#include "base/strings.h"
#include "bench/bench_report.h"

#include <math.h>
#include <string.h>

/* ---- tables ---- */
static int width_of(const BenchColumn *c)
{
    const int n = (int)strlen(c->head);
    return n > 8 ? n : 8;
}

typedef struct { /* a table whose rows have a name, numbers, and the bound */
    const TableStyle *style;
    const BenchColumn *column;
    int n;     /* number of number columns */
    int width; /* width of the name */
    FILE *out;
    Arena *arena;
    bool cuts;                     /* longer names are truncated */
    TableFit fit[WorkColumns + 1]; /* widths of columns; last: the bound's */
} Table;

/* Makes a table. On a narrow terminal it drops columns, then shortens names to
 * no less than `least` characters. */
static Table new_table(Arena *a, const TableStyle *style, FILE *out,
                       const BenchColumn *c, int n, int width, int least)
{
    Table t = { .style = style,
                .column = c,
                .n = n,
                .width = width,
                .out = out,
                .arena = a };
    const int room = style->aligned ? table_room(out) : 0;
    const int gap = (int)strlen(style->between);
    for (int i = 0; i < n; i++)
        t.fit[i] = (TableFit){ c[i].head ? width_of(&c[i]) + gap : 0, c[i].rank,
                               true };
    t.fit[n] = (TableFit){ 8 + gap, 3, true };
    const int left = table_fit(t.fit, n + 1, room > 0 ? room - least : 0);
    t.cuts = room > 0;
    if (room > 0 && least + left < width)
        t.width = least + (left > 0 ? left : 0);
    return t;
}

static Table works_table(Arena *a, const TableStyle *style, FILE *out)
{
    return new_table(a, style, out, work_columns, WorkColumns, 8, 8);
}

static Table kernels_table(Arena *a, const TableStyle *style, FILE *out)
{
    return new_table(a, style, out, kernel_columns, KernelColumns, 44, 30);
}

static void put_name(const Table *t, const char *name)
{
    fprintf(t->out, "%s%-*s", t->style->before,
            t->style->aligned ? t->width : 0,
            t->cuts ? cut_middle(t->arena, name, t->width) : name);
}

static void put_head(const Table *t, const char *name)
{
    const bool seen = t->style->aligned;
    int columns = 1;
    fputs(seen ? paint(t->out, PaintHead) : "", t->out);
    put_name(t, name);
    for (int i = 0; i < t->n; i++)
        if (t->column[i].head && t->fit[i].shown) {
            put_cell(t->style, t->column[i].head, width_of(&t->column[i]),
                     t->out);
            columns++;
        }
    if (t->fit[t->n].shown)
        put_cell(t->style, "bound by", 8, t->out);
    fputs(t->style->after, t->out);
    fputs(seen ? paint(t->out, PaintEnd) : "", t->out);
    if (seen)
        return;
    for (int i = 0; i <= columns; i++)
        fprintf(t->out, "|%s", i == 0 ? "---" : "---:");
    fputs("|\n", t->out);
}

static void put_row(const Table *t, const char *name, const double *value,
                    const char *bound)
{
    char text[64];
    put_name(t, name);
    for (int i = 0; i < t->n; i++) {
        const BenchColumn *c = &t->column[i];
        snprintf(text, sizeof text, "%.*f", c->places, value[i]);
        if (c->head && t->fit[i].shown)
            put_cell(t->style, isnan(value[i]) ? "-" : text, width_of(c),
                     t->out);
    }
    if (t->fit[t->n].shown)
        put_cell(t->style, bound, 8, t->out);
    fputs(t->style->after, t->out);
}

/* ---- the model ---- */

/* Prints one length if all are equal, otherwise a list of at most 32. */
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

/* Prints the model and the settings of the run. */
static void put_title(const BenchReport *r, FILE *out)
{
    const Target *t = &r->engine->target;
    const Setup *s = r->setup;
    TilingFrom from;
    const char *tiles = plan_tiles(r->engine->plan, &from);
    fprintf(out,
            "\n%s: %s, %s, tile %s (%s), %d thread%s, batch of %lld, "
            "beam %lld\n",
            r->engine->spec->name, backend_name(r), t->name, tiles,
            from_word[from], r->threads, r->threads == 1 ? "" : "s",
            (long long)s->options.batch, (long long)s->options.beam);
    if (r->engine->spec->layers)
        fprintf(out, "layers %s\n", r->engine->spec->layers);
    fprintf(out, "lengths ");
    put_lengths(s, out);
    fprintf(out, "; FMA peak %.1f GFLOP/s", 1e-9 * r->rates.fma);
    if (t->width > 1)
        fprintf(out, " in vectors of %d", t->width);
    fprintf(out, ", between the runs %.1f\n\n", 1e-9 * r->between);
}

static void put_kernel(const Table *t, const BenchReport *r, int work,
                       const KernelRow *k)
{
    double value[KernelColumns];
    char name[128];
    kernel_values(r, work, k, value);
    if (k->name)
        snprintf(name, sizeof name, "%s%s: %s", t->style->aligned ? "  " : "",
                 k->name, k->op);
    else if (k->op)
        snprintf(name, sizeof name, "%s: %s", k->function, k->op);
    else
        snprintf(name, sizeof name, "%s", k->function);
    put_row(t, name, value, bound_word(kernel_limit(r, work, k).bound));
}

/* Returns the seconds of a run that no kernel accounts for: calls, the search,
 * idle threads. */
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
    const Table table = kernels_table(r->engine->arena, style, out);
    double value[KernelColumns];
    fprintf(out,
            "\n%s by kernel: %.4f ms with a clock that takes %.1f %% of it "
            "(%.0f ns a call)\n\n",
            r->rows.at[work].work.name, 1e3 * t->p50[work],
            100.0 * t->ticks[work] * t->clock / r->threads / t->p50[work],
            1e9 * t->clock);
    put_head(&table, "kernel");
    for (int i = 0; i < list->n; i++)
        put_kernel(&table, r, work, &list->at[i]);
    for (int i = 0; i < KernelColumns; i++)
        value[i] = NAN;
    value[1] = 1e3 * rest;
    value[2] = 100.0 * rest / t->p50[work];
    put_row(&table, "between them", value, "-");
}

static void put_report(const TableStyle *style, const BenchReport *r, FILE *out)
{
    const Table table = works_table(r->engine->arena, style, out);
    double value[WorkColumns];
    put_machine(style, &r->machine, out);
    put_title(r, out);
    put_head(&table, "workload");
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        work_values(r, row, value);
        put_row(&table, row->work.name, value, bound_word(row->limit.bound));
    }
    for (int i = 0; r->kernels.of && i < r->rows.n; i++)
        put_kernels(style, r, i, out);
    const char *busy = bench_busy(r->engine->arena, r);
    if (busy) {
        fputc('\n', out);
        put_wrapped(out, 0, 0, busy);
    }
}

/* ---- the whole ---- */
void bench_print(const BenchReport *r, FILE *out)
{
    switch (r->setup->options.format) {
    case BenchJson:     bench_json(r, out); return;
    case BenchCsv:      bench_csv(r, out); return;
    case BenchMarkdown: put_report(&markdown_table, r, out); return;
    case BenchTable:    put_report(&plain_table, r, out);
    }
}
