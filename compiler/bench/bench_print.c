/* bench_print.c: prints a bench report as a text or Markdown table. CSV and
 * JSON contain the same numbers and a few more. */
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

typedef struct { /* a table whose rows have a name, numbers, and a bound */
    TextTable text;
    const BenchColumn *column;
    int n;     /* number of columns with numbers */
    bool cuts; /* true: names that are too long are truncated */
} Table;

/* Makes a table. If the terminal is narrow, drops columns, then shortens names
 * to `least` characters or more. */
static Table new_table(Arena *a, bool markdown, FILE *out, const BenchColumn *c,
                       int n, int width, int least)
{
    Table t = { text_table(a, out, markdown, n + 2), c, n, false };
    TableFit *fit = t.text.fit + 1;
    const int room = markdown ? 0 : table_room(out);
    for (int i = 0; i < n; i++)
        fit[i] = (TableFit){ c[i].head ? width_of(&c[i]) + 2 : 0, c[i].rank,
                             true };
    fit[n] = (TableFit){ 8 + 2, 3, true };
    const int left = table_fit(fit, n + 1, room > 0 ? room - least : 0);
    for (int i = 0; i < n; i++)
        fit[i].shown = fit[i].shown && c[i].head;
    t.cuts = room > 0;
    if (room > 0 && least + left < width)
        width = least + (left > 0 ? left : 0);
    t.text.fit[0].width = width + 2;
    t.text.left[0] = true;
    return t;
}

static Table works_table(Arena *a, bool markdown, FILE *out)
{
    return new_table(a, markdown, out, work_columns, WorkColumns, 8, 8);
}

static Table kernels_table(Arena *a, bool markdown, FILE *out)
{
    return new_table(a, markdown, out, kernel_columns, KernelColumns, 44, 30);
}

static void put_name(const TextTable *t, const char *name, bool cuts)
{
    fputs(t->markdown ? "|" : "", t->out);
    table_cell(t, 0,
               cuts ? cut_middle(t->arena, name, t->fit[0].width - 2) : name);
}

static void put_head(const Table *t, const char *name)
{
    FILE *out = t->text.out;
    const bool seen = !t->text.markdown;
    fputs(seen ? paint(out, PaintHead) : "", out);
    put_name(&t->text, name, t->cuts);
    for (int i = 0; i < t->n; i++)
        if (t->column[i].head)
            table_cell(&t->text, i + 1, t->column[i].head);
    table_cell(&t->text, t->n + 1, "bound by");
    fprintf(out, "\n%s", seen ? paint(out, PaintEnd) : "");
    table_rule(&t->text);
}

static void put_row(const Table *t, const char *name, const double *value,
                    const char *bound)
{
    char text[64];
    put_name(&t->text, name, t->cuts);
    for (int i = 0; i < t->n; i++) {
        snprintf(text, sizeof text, "%.*f", t->column[i].places, value[i]);
        table_cell(&t->text, i + 1, isnan(value[i]) ? "-" : text);
    }
    table_cell(&t->text, t->n + 1, bound);
    fputc('\n', t->text.out);
}

/* ---- the model ---- */

/* Prints the length if all are equal, otherwise up to 32 lengths. */
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
        snprintf(name, sizeof name, "%s%s: %s", t->text.markdown ? "" : "  ",
                 k->name, k->op);
    else if (k->op)
        snprintf(name, sizeof name, "%s: %s", k->function, k->op);
    else
        snprintf(name, sizeof name, "%s", k->function);
    put_row(t, name, value, bound_word(kernel_limit(r, work, k).bound));
}

/* Returns the seconds of a run that belong to no kernel, e.g. calls, the
 * search, idle threads. */
static double between(const BenchReport *r, int work)
{
    double seconds = r->kernels.p50[work];
    const KernelList *list = &r->kernels.of[work];
    for (int i = 0; i < list->n; i++)
        if (!list->at[i].name)
            seconds -= list->at[i].seconds;
    return seconds > 0 ? seconds : 0;
}

static void put_kernels(bool markdown, const BenchReport *r, int work,
                        FILE *out)
{
    const KernelTimes *t = &r->kernels;
    const KernelList *list = &t->of[work];
    const double rest = between(r, work);
    const Table table = kernels_table(r->engine->arena, markdown, out);
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

static void put_report(bool markdown, const BenchReport *r, FILE *out)
{
    const Table table = works_table(r->engine->arena, markdown, out);
    double value[WorkColumns];
    put_machine(markdown, &r->machine, out);
    put_title(r, out);
    put_head(&table, "workload");
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        work_values(r, row, value);
        put_row(&table, row->work.name, value, bound_word(row->limit.bound));
    }
    for (int i = 0; r->kernels.of && i < r->rows.n; i++)
        put_kernels(markdown, r, i, out);
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
    case BenchMarkdown: put_report(true, r, out); return;
    case BenchTable:    put_report(false, r, out);
    }
}
