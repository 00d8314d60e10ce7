/* bench_machine.c: `attnc bench --machine`: prints the machine's measured rates
 * as a table, JSON or comma-separated values, and next to them the figures from
 * which the target's default tilings are derived. */
#include "base/put_json.h"
#include "base/strings.h"
#include "bench/bench_report.h"

#include <math.h>

/* ---- rates ---- */

/* clang-format off */
enum { Others = 3 }; /* rates that do not belong to a memory level */
static const BenchColumn rate_columns[Others + Levels] = {
    { "FMA f32 GFLOP/s", "fma_gflop_per_s",   1, 0 },
    { "dot int8 GOP/s",  "dot_gop_per_s",     1, 0 },
    { "bf16 GFLOP/s",    "bf16_gflop_per_s",  1, 0 },
    { "L1 GB/s",         "read_l1_gb_s",      1, 0 },
    { "L2 GB/s",         "read_l2_gb_s",      1, 0 },
    { "L3 GB/s",         "read_l3_gb_s",      1, 0 },
    { "memory GB/s",     "read_memory_gb_s",  1, 0 },
};
/* clang-format on */

static void rate_values(const Rates *r, double value[Others + Levels])
{
    value[0] = 1e-9 * r->fma;
    value[1] = 1e-9 * r->dot;
    value[2] = 1e-9 * r->pair;
    for (int i = 0; i < Levels; i++)
        value[Others + i] = 1e-9 * r->read[i];
}

const char *cache_sizes(Arena *a, const Machine *m)
{
    return arena_printf(a, "L1 %s, L2 %s, L3 %s",
                        bytes_text(a, (double)m->cache[LevelL1], true, 0),
                        bytes_text(a, (double)m->cache[LevelL2], true, 0),
                        bytes_text(a, (double)m->cache[LevelL3], true, 0));
}

static void put_cell(bool markdown, int column, const char *text, FILE *out)
{
    const int width = column < Others ? 15 : 11;
    fprintf(out, "%s%*s", markdown ? " | " : "  ", markdown ? 0 : width, text);
}

void put_machine(bool markdown, const Machine *m, FILE *out)
{
    const char *before = markdown ? "| " : "",
               *after = markdown ? " |\n" : "\n";
    Arena *a = arena_new();
    double value[Others + Levels];
    char name[16];
    fprintf(out, "%s, %d core%s; %s\n\n", m->cpu, m->cores,
            m->cores == 1 ? "" : "s", cache_sizes(a, m));
    arena_free(a);
    fprintf(out, "%s%-8s", before, "threads");
    for (int i = 0; i < Others + Levels; i++)
        put_cell(markdown, i, rate_columns[i].head, out);
    fputs(after, out);
    if (markdown)
        fputs("|---|---:|---:|---:|---:|---:|---:|---:|\n", out);
    for (int i = 0; i < m->counts; i++) {
        snprintf(name, sizeof name, "%d", m->rates[i].threads);
        fprintf(out, "%s%-8s", before, name);
        rate_values(&m->rates[i], value);
        for (int k = 0; k < Others + Levels; k++) {
            char text[32];
            snprintf(text, sizeof text, "%.1f", value[k]);
            put_cell(markdown, k, text, out);
        }
        fputs(after, out);
    }
    fprintf(out, "\nWith arithmetic: f32, weights in bf16 or integers are "
                 "widened to f32: FMA is\ntheir peak. With bf16_dp it is the "
                 "higher one of bf16 and FMA.\n");
}

static void machine_csv(const Machine *m, FILE *out)
{
    double value[Others + Levels];
    fprintf(out, "threads");
    for (int i = 0; i < Others + Levels; i++)
        fprintf(out, ",%s", rate_columns[i].json);
    for (int i = 0; i < m->counts; i++) {
        fprintf(out, "\n%d", m->rates[i].threads);
        rate_values(&m->rates[i], value);
        for (int k = 0; k < Others + Levels; k++)
            fprintf(out, ",%.1f", value[k]);
    }
    fputc('\n', out);
}

void machine_json(const Machine *m, Buffer *out)
{
    double value[Others + Levels];
    buffer_printf(out, "{");
    json_put_text(out, "cpu", m->cpu);
    json_put_count(out, "cores", m->cores);
    for (int i = LevelL1; i < LevelMemory; i++)
        buffer_printf(out, ", \"l%d_bytes\": %zu", i + 1, m->cache[i]);
    buffer_printf(out, ",\n  \"rates\": [");
    for (int i = 0; i < m->counts; i++) {
        rate_values(&m->rates[i], value);
        buffer_printf(out, "%s\n   {", i ? "," : "");
        json_put_count(out, "threads", m->rates[i].threads);
        for (int k = 0; k < Others + Levels; k++)
            json_put_fixed(out, rate_columns[k].json, value[k], 1);
        buffer_printf(out, "}");
    }
    buffer_printf(out, "]}");
}

void machine_print(const Machine *m, BenchFormat format, FILE *out)
{
    if (format == BenchCsv) {
        machine_csv(m, out);
    } else if (format == BenchJson) {
        Buffer b = { .arena = arena_new() };
        machine_json(m, &b);
        fprintf(out, "%s\n", b.at);
        arena_free(b.arena);
    } else {
        put_machine(format == BenchMarkdown, m, out);
    }
}

/* ---- target ---- */
typedef struct {
    const char *name;
    double row, here; /* figure in target.c; measured value; NAN: unknown */
    int places;       /* decimal places with which `here` is printed */
} Figure;

enum { Figures = 7 };

/* Pairs each figure of target.c with the measured value: cache sizes in KiB,
 * rates of one thread per clock cycle. */
static void figures_of(const Machine *m, const Target *t, Figure f[Figures])
{
    const Rates *r = machine_rates(m, 1);
    const double cycle = m->clock > 0 ? m->clock : NAN;
    f[0] = (Figure){ "whole FMAs a cycle", t->fmas,
                     r->fma / 2 / t->width / cycle, 2 };
    for (int i = LevelL1; i < LevelMemory; i++)
        f[1 + i] = (Figure){
            (const char *[]){ "KiB of L1", "KiB of L2", "KiB of L3" }[i],
            (double)(t->cache[i] >> 10), (double)(m->cache[i] >> 10), 0
        };
    f[4] = (Figure){ "bytes a cycle from L3", t->near, r->read[LevelL3] / cycle,
                     1 };
    f[5] = (Figure){ "bytes a cycle from memory", t->far,
                     r->read[LevelMemory] / cycle, 1 };
    f[6] = (Figure){ "bf16_dp beside FMA", t->pairs ? 2 : 1,
                     fmax(r->pair / r->fma, 1), 2 };
}

void target_print(const Machine *m, const Target *t, bool markdown, FILE *out)
{
    Figure f[Figures];
    const char *bar = markdown ? "|" : "";
    figures_of(m, t, f);
    fprintf(out, "\nTarget %s, %s.\n\n", t->name,
            t->met ? t->met
                   : "which nobody has met: its figures are the maker's");
    fprintf(out, "%s%-26s%s%10s%s%10s%s\n", bar, "figure", bar, "row", bar,
            "here", bar);
    if (markdown)
        fputs("|---|---:|---:|\n", out);
    for (int i = 0; i < Figures; i++) {
        fprintf(out, "%s%-26s%s%10.0f%s", bar, f[i].name, bar, f[i].row, bar);
        if (isnan(f[i].here))
            fprintf(out, "%10s%s\n", "-", bar);
        else
            fprintf(out, "%10.*f%s\n", f[i].places, f[i].here, bar);
    }
    fputs("\nWhere they differ by half, or attnc tune finds more than 2 % over "
          "the default,\nthe row in machine/target.c is wrong.\n",
          out);
}
