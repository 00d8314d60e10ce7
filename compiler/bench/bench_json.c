/* bench_json.c: prints a bench report as JSON. */
#include "base/put_json.h"
#include "bench/bench_report.h"

static void numbers_json(const BenchColumn *c, const double *value, int n,
                         Buffer *out)
{
    for (int i = 0; i < n; i++)
        json_put_fixed(out, c[i].json, value[i], c[i].places);
}

static void put_ids(const char *key, const int32_t *ids, int64_t n, Buffer *out)
{
    buffer_printf(out, ",\n ");
    json_put_key(out, key);
    buffer_printf(out, "[");
    for (int64_t i = 0; ids && i < n; i++)
        buffer_printf(out, "%s%d", i > 0 ? ", " : "", ids[i]);
    buffer_printf(out, "]");
}

static void put_work(const BenchReport *r, const BenchRow *row, Buffer *out)
{
    double value[WorkColumns];
    work_values(r, row, value);
    buffer_printf(out, "  {");
    json_put_text(out, "workload", row->work.name);
    numbers_json(work_columns, value, WorkColumns, out);
    json_put_text(out, "bound", bound_word(row->limit.bound));
    buffer_printf(out, ", \"checksum\": \"%016llx\"}",
                  (unsigned long long)row->work.checksum);
}

static void kernel_json(const BenchReport *r, int work, const KernelRow *k,
                        Buffer *out)
{
    double value[KernelColumns];
    kernel_values(r, work, k, value);
    buffer_printf(out, "  {");
    json_put_text(out, "workload", r->rows.at[work].work.name);
    json_put_text(out, "function", k->function);
    json_put_text(out, "kernel", k->name);
    if (k->op)
        json_put_text(out, "op", k->op);
    numbers_json(kernel_columns, value, KernelColumns, out);
    json_put_text(out, "bound", bound_word(kernel_limit(r, work, k).bound));
    buffer_printf(out, "}");
}

/* Adds the kernels. One without a name is an emitted function; its time is the
 * sum of the kernels in it. */
static void kernels_json(const BenchReport *r, Buffer *out)
{
    const KernelTimes *t = &r->kernels;
    const char *between = "";
    buffer_printf(out, ",\n \"clock_ns\": %.1f, \"kernels\": [\n",
                  1e9 * t->clock);
    for (int work = 0; work < r->rows.n; work++)
        for (int i = 0; i < t->of[work].n; i++) {
            buffer_printf(out, "%s", between);
            kernel_json(r, work, &t->of[work].at[i], out);
            between = ",\n";
        }
    buffer_printf(out, "]");
}

void bench_json(const BenchReport *r, FILE *to)
{
    const Setup *s = r->setup;
    const BenchOptions *o = &s->options;
    Buffer b = { .arena = r->engine->arena }, *out = &b;
    TilingFrom from;
    const char *tiles = plan_tiles(r->engine->plan, &from);
    buffer_printf(out, "{");
    json_put_text(out, "model", r->engine->spec->name);
    json_put_text(out, "backend", backend_name(r));
    json_put_text(out, "march", r->engine->target.name);
    json_put_text(out, "tile", tiles);
    json_put_text(out, "tile_from", from_word[from]);
    json_put_count(out, "threads", r->threads);
    json_put_count(out, "batch", o->batch);
    json_put_count(out, "beam", o->beam);
    json_put_count(out, "steps", o->steps);
    buffer_printf(out, ",\n ");
    if (r->engine->spec->layers) {
        json_put_text(out, "layers", r->engine->spec->layers);
        buffer_printf(out, ",\n ");
    }
    json_put_text(out, "cpu", r->machine.cpu);
    buffer_printf(out, ",\n \"machine\": ");
    machine_json(&r->machine, out);
    buffer_printf(out, ",\n ");
    json_put_fixed(out, "fma_gflop_per_s", 1e-9 * r->rates.fma, 1);
    json_put_fixed(out, "fma_between_gflop_per_s", 1e-9 * r->between, 1);
    buffer_printf(out, ",\n \"rows\": [\n");
    for (int i = 0; i < r->rows.n; i++) {
        put_work(r, &r->rows.at[i], out);
        buffer_printf(out, i + 1 < r->rows.n ? ",\n" : "]");
    }
    if (r->kernels.of)
        kernels_json(r, out);
    /* lengths of the batch and ids of its first sentence, so that another
     * program can repeat the run */
    put_ids("lengths", s->rows, o->batch, out);
    put_ids("source", setup_source(s, 0), s->rows[0], out);
    put_ids("answer", setup_answer(s, 0), o->steps, out);
    fprintf(to, "%s}\n", b.at);
}
