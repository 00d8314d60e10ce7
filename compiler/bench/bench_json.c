/* bench_json.c: a bench report as json. */
#include "bench/bench_report.h"

#include <math.h>

static void numbers_json(const BenchColumn *c, const double *value, int n,
                         FILE *out)
{
    for (int i = 0; i < n; i++)
        if (isnan(value[i]))
            fprintf(out, ", \"%s\": null", c[i].json);
        else
            fprintf(out, ", \"%s\": %.*f", c[i].json, c[i].places, value[i]);
}

static void put_ids(const char *key, const int32_t *ids, int64_t n, FILE *out)
{
    fprintf(out, ",\n \"%s\": [", key);
    for (int64_t i = 0; ids && i < n; i++)
        fprintf(out, "%s%d", i > 0 ? ", " : "", ids[i]);
    fputc(']', out);
}

static void put_work(const BenchReport *r, const BenchRow *row, FILE *out)
{
    double value[WorkColumns];
    work_values(r, row, value);
    fprintf(out, "  {\"workload\": \"%s\"", row->work.name);
    numbers_json(work_columns, value, WorkColumns, out);
    fprintf(out, ", \"bound\": \"%s\", \"checksum\": \"%016llx\"}",
            bound_word(row->limit.bound),
            (unsigned long long)row->work.checksum);
}

static void kernel_json(const BenchReport *r, int work, const KernelRow *k,
                        FILE *out)
{
    double value[KernelColumns];
    kernel_values(r, work, k, value);
    fprintf(out, "  {\"workload\": \"%s\", \"function\": \"%s\", ",
            r->rows.at[work].work.name, k->function);
    if (k->name)
        fprintf(out, "\"kernel\": \"%s\"", k->name);
    else
        fprintf(out, "\"kernel\": null");
    if (k->op)
        fprintf(out, ", \"op\": \"%s\"", k->op);
    numbers_json(kernel_columns, value, KernelColumns, out);
    fprintf(out, ", \"bound\": \"%s\"}",
            bound_word(kernel_limit(r, work, k).bound));
}

/* A kernel without a name of its own is a function: the sum of its kernels. */
static void kernels_json(const BenchReport *r, FILE *out)
{
    const KernelTimes *t = &r->kernels;
    bool any = false;
    fprintf(out, ",\n \"clock_ns\": %.1f, \"kernels\": [\n", 1e9 * t->clock);
    for (int work = 0; work < r->rows.n; work++)
        for (int i = 0; i < t->of[work].n; i++) {
            fputs(any ? ",\n" : "", out);
            kernel_json(r, work, &t->of[work].at[i], out);
            any = true;
        }
    fputc(']', out);
}

void bench_json(const BenchReport *r, FILE *out)
{
    const Target *t = &r->engine->target;
    const Setup *s = r->setup;
    const BenchOptions *o = &s->options;
    TilingFrom from;
    const char *tiles = plan_tiles(r->engine->plan, &from);
    fprintf(out,
            "{\"model\": \"%s\", \"backend\": \"%s\", \"march\": \"%s\", "
            "\"tile\": \"%s\", \"tile_from\": \"%s\", "
            "\"threads\": %d, \"batch\": %lld, \"beam\": %lld, "
            "\"steps\": %lld,\n",
            r->engine->spec->name, backend_name(r), t->name, tiles,
            from_word[from], r->threads, (long long)o->batch,
            (long long)o->beam, (long long)o->steps);
    fputc(' ', out);
    if (r->engine->spec->layers) {
        put_json_text("layers", r->engine->spec->layers, out);
        fprintf(out, ",\n ");
    }
    put_json_text("cpu", r->machine.cpu, out);
    fprintf(out, ",\n \"machine\": ");
    machine_json(&r->machine, out);
    fprintf(out,
            ",\n \"fma_gflop_per_s\": %.1f, "
            "\"fma_between_gflop_per_s\": %.1f,\n \"rows\": [\n",
            1e-9 * r->rates.fma, 1e-9 * r->between);
    for (int i = 0; i < r->rows.n; i++) {
        put_work(r, &r->rows.at[i], out);
        fprintf(out, "%s", i + 1 < r->rows.n ? ",\n" : "]");
    }
    if (r->kernels.of)
        kernels_json(r, out);
    /* Of the first sentence, so that another program can be compared. */
    put_ids("lengths", s->rows, o->batch, out);
    put_ids("source", setup_source(s, 0), s->rows[0], out);
    put_ids("answer", setup_answer(s, 0), o->steps, out);
    fprintf(out, "}\n");
}
