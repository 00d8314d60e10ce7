/* bench_print.c: a bench report as a table, markdown, csv or json. All four
 * show the same columns.                                                     */
#include "bench.h"

typedef struct {
    const char *head;            /* for people */
    const char *json;            /* for programs */
    int places;                  /* after the point */
} Column;

static const Column columns[] = {
    { "rows",         "rows",         0 },
    { "p50 ms",       "p50_ms",       4 },
    { "p95 ms",       "p95_ms",       4 },
    { "best ms",      "best_ms",      4 },
    { "tokens/s",     "tokens_per_s", 0 },
    { "MFLOP",        "mflop",        2 },
    { "GFLOP/s",      "gflop_per_s",  1 },
    { "% of peak",    "percent_peak", 1 },
    { "weights GB/s", "weights_gb_s", 1 },
    { "runs",         "runs",         0 }
};
enum { Columns = sizeof columns / sizeof columns[0] };

/* The numbers of a row, in the order of the columns. */
static void row_values(const BenchReport *r, const BenchRow *row,
                       double value[Columns])
{
    const Work *w = &row->work;
    const double values[Columns] = {
        w->rows,
        1e3 * row->p50,
        1e3 * row->p95,
        1e3 * row->best,
        w->tokens / row->p50,
        1e-6 * w->flops,
        1e-9 * w->flops / row->p50,
        100.0 * w->flops / row->p50 / r->machine.fma,
        1e-9 * w->bytes / row->p50,
        (double)row->runs
    };
    for (int i = 0; i < Columns; i++)
        value[i] = values[i];
}

/* One row's cells: `before` each number, as wide as `width`. */
static void print_values(const BenchReport *r, const BenchRow *row,
                         const char *before, int width, FILE *out)
{
    double value[Columns];
    row_values(r, row, value);
    for (int i = 0; i < Columns; i++)
        fprintf(out, "%s%*.*f", before, width, columns[i].places, value[i]);
}

static const char *backend_name(const BenchReport *r)
{
    const char *name = r->engine->options.backend;
    return name ? name : "jit";
}

/* Two lines that say what ran, and on what. */
static void print_title(const BenchReport *r, FILE *out)
{
    const Target *t = &r->engine->target;
    const Machine *m = &r->machine;
    fprintf(out, "%s: %s, %s, tile %dx%d (%s), one thread, batch of %lld\n",
            r->engine->spec->name, backend_name(r), t->march,
            t->mr, t->nr, t->tile_from,
            (long long)r->options.batch);
    fprintf(out, "%s: FMA peak %.1f GFLOP/s (measured between the "
            "runs); reads L2 %.0f, L3 %.0f, memory %.1f GB/s\n",
            m->cpu, 1e-9 * m->fma, 1e-9 * m->read_l2, 1e-9 * m->read_l3,
            1e-9 * m->read_memory);
}

static void print_table(const BenchReport *r, FILE *out)
{
    print_title(r, out);
    fprintf(out, "\n%-8s", "");
    for (int i = 0; i < Columns; i++)
        fprintf(out, "  %12s", columns[i].head);
    fputc('\n', out);
    for (int i = 0; i < r->rows.n; i++) {
        fprintf(out, "%-8s", r->rows.at[i].work.name);
        print_values(r, &r->rows.at[i], "  ", 12, out);
        fputc('\n', out);
    }
}

static void print_markdown(const BenchReport *r, FILE *out)
{
    print_title(r, out);
    fprintf(out, "\n| workload |");
    for (int i = 0; i < Columns; i++)
        fprintf(out, " %s |", columns[i].head);
    fprintf(out, "\n|---|");
    for (int i = 0; i < Columns; i++)
        fprintf(out, "---|");
    for (int i = 0; i < r->rows.n; i++) {
        fprintf(out, "\n| %s", r->rows.at[i].work.name);
        print_values(r, &r->rows.at[i], " | ", 0, out);
        fprintf(out, " |");
    }
    fputc('\n', out);
}

static void print_csv(const BenchReport *r, FILE *out)
{
    fprintf(out, "model,workload");
    for (int i = 0; i < Columns; i++)
        fprintf(out, ",%s", columns[i].json);
    for (int i = 0; i < r->rows.n; i++) {
        fprintf(out, "\n%s,%s", r->engine->spec->name,
                r->rows.at[i].work.name);
        print_values(r, &r->rows.at[i], ",", 0, out);
    }
    fputc('\n', out);
}

static void print_ids(const char *key, const int32_t *ids, int64_t n,
                      FILE *out)
{
    fprintf(out, ",\n \"%s\": [", key);
    for (int64_t i = 0; ids && i < n; i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", ids[i]);
    fputc(']', out);
}

static void print_json_row(const BenchReport *r, const BenchRow *row,
                           FILE *out)
{
    double value[Columns];
    row_values(r, row, value);
    fprintf(out, "  {\"workload\": \"%s\"", row->work.name);
    for (int i = 0; i < Columns; i++)
        fprintf(out, ", \"%s\": %.*f", columns[i].json, columns[i].places,
                value[i]);
    fprintf(out, ", \"checksum\": \"%016llx\"}",
            (unsigned long long)row->checksum);
}

/* A name that the spec let through has no character that JSON escapes; the
 * processor's own name may have.                                             */
static void print_json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text >= ' ' && *text != '"' && *text != '\\')
            fputc(*text, out);
    fputc('"', out);
}

static void print_json(const BenchReport *r, FILE *out)
{
    const Target *t = &r->engine->target;
    const Machine *m = &r->machine;
    fprintf(out, "{\"model\": \"%s\", \"backend\": \"%s\", \"march\": \"%s\", "
            "\"tile\": \"%dx%d\", \"threads\": 1, \"batch\": %lld,\n",
            r->engine->spec->name, backend_name(r), t->march,
            t->mr, t->nr, (long long)r->options.batch);
    fprintf(out, " \"cpu\": ");
    print_json_text(m->cpu, out);
    fprintf(out, ", \"fma_gflop_per_s\": %.1f, \"read_l2_gb_s\": %.1f, "
            "\"read_l3_gb_s\": %.1f, \"read_memory_gb_s\": %.1f,\n"
            " \"rows\": [\n", 1e-9 * m->fma, 1e-9 * m->read_l2,
            1e-9 * m->read_l3, 1e-9 * m->read_memory);
    for (int i = 0; i < r->rows.n; i++) {
        print_json_row(r, &r->rows.at[i], out);
        fprintf(out, "%s", i + 1 < r->rows.n ? ",\n" : "]");
    }
    /* Of the first sentence, so that another program can be compared. */
    print_ids("source", setup_source(r->setup, 0), r->options.rows, out);
    print_ids("answer", setup_answer(r->setup, 0), r->options.steps, out);
    fprintf(out, "}\n");
}

void bench_print(const BenchReport *r, FILE *out)
{
    static void (*const print[])(const BenchReport *, FILE *) = {
        [BenchTable] = print_table, [BenchJson] = print_json,
        [BenchCsv] = print_csv, [BenchMarkdown] = print_markdown };
    print[r->options.format](r, out);
}
