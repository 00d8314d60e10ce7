/* bench_csv.c: prints a bench report as comma-separated values: a table of
 * workloads, an empty line, and a table of kernels. */
#include "bench/bench_report.h"

#include <math.h>

static void put_csv(const double *value, const BenchColumn *c, int n, FILE *out)
{
    for (int i = 0; i < n; i++)
        if (isnan(value[i]))
            fputc(',', out);
        else
            fprintf(out, ",%.*f", c[i].places, value[i]);
}

static void works_csv(const BenchReport *r, FILE *out)
{
    double value[WorkColumns];
    fprintf(out, "model,workload");
    for (int i = 0; i < WorkColumns; i++)
        fprintf(out, ",%s", work_columns[i].json);
    fprintf(out, ",bound\n");
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        fprintf(out, "%s,%s", r->engine->spec->name, row->work.name);
        work_values(r, row, value);
        put_csv(value, work_columns, WorkColumns, out);
        fprintf(out, ",%s\n", bound_word(row->limit.bound));
    }
}

static void kernels_csv(const BenchReport *r, FILE *out)
{
    double value[KernelColumns];
    fprintf(out, "\nmodel,workload,function,kernel,op");
    for (int i = 0; i < KernelColumns; i++)
        fprintf(out, ",%s", kernel_columns[i].json);
    fprintf(out, ",bound\n");
    for (int work = 0; work < r->rows.n; work++)
        for (int i = 0; i < r->kernels.of[work].n; i++) {
            const KernelRow *k = &r->kernels.of[work].at[i];
            fprintf(out, "%s,%s,%s,%s,%s", r->engine->spec->name,
                    r->rows.at[work].work.name, k->function,
                    k->name ? k->name : "", k->op ? k->op : "");
            kernel_values(r, work, k, value);
            put_csv(value, kernel_columns, KernelColumns, out);
            fprintf(out, ",%s\n", bound_word(kernel_limit(r, work, k).bound));
        }
}

void bench_csv(const BenchReport *r, FILE *out)
{
    works_csv(r, out);
    if (r->kernels.of)
        kernels_csv(r, out);
}
