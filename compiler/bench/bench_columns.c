/* bench_columns.c: the columns shared by all formats of a bench report, and
 * their numbers. */
#include "bench/bench_report.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const BenchColumn work_columns[WorkColumns] = {
    { "rows",         "rows",             0, 1 },
    { "p50 ms",       "p50_ms",           4, 0 },
    { NULL,           "low_ms",           4, 0 },
    { NULL,           "high_ms",          4, 0 },
    { "+- %",         "interval_percent", 2, 4 },
    { "p95 ms",       "p95_ms",           4, 7 },
    { "best ms",      "best_ms",          4, 6 },
    { "tokens/s",     "tokens_per_s",     0, 2 },
    { "MFLOP",        "mflop",            2, 9 },
    { NULL,           "weights_mb",       3, 0 },
    { NULL,           "cache_mb",         3, 0 },
    { "GFLOP/s",      "gflop_per_s",      1, 5 },
    { "% of peak",    "percent_peak",     1, 8 },
    { "weights GB/s", "weights_gb_s",     1, 10 },
    { "% of limit",   "percent_limit",    1, 0 },
    { "runs",         "runs",             0, 11 },
};
/* clang-format on */

/* clang-format off */
const BenchColumn kernel_columns[KernelColumns] = {
    { "calls",        "calls",            0, 5 },
    { "ms",           "ms",               4, 0 },
    { "% of time",    "percent_time",     1, 0 },
    { "MFLOP",        "mflop",            2, 7 },
    { "MB",           "mb",               2, 8 },
    { "FLOP/byte",    "flop_per_byte",    2, 9 },
    { "GFLOP/s",      "gflop_per_s",      1, 4 },
    { "GB/s",         "gb_per_s",         1, 6 },
    { "% of limit",   "percent_limit",    1, 0 },
};
/* clang-format on */

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
        1e-6 * cost_operations(w->sum),
        1e-6 * w->sum.weights,
        1e-6 * w->sum.cached,
        1e-9 * cost_operations(w->sum) / t->p50,
        100.0 * operations_seconds(&r->rates, w->sum) / t->p50,
        1e-9 * w->sum.weights / t->p50,
        100.0 * row->limit.seconds / t->p50,
        (double)t->n,
    };
    memcpy(value, values, sizeof values);
}

Demand kernel_demand(const BenchReport *r, int work, const KernelRow *k)
{
    return (Demand){ k->cost, r->rows.at[work].work.set, k->calls };
}

Limit kernel_limit(const BenchReport *r, int work, const KernelRow *k)
{
    const Demand d = kernel_demand(r, work, k);
    return limit_of(&r->machine, &r->rates, &d, k->seconds);
}

void kernel_values(const BenchReport *r, int work, const KernelRow *k,
                   double value[KernelColumns])
{
    const double bytes = cost_bytes(k->cost);
    const Limit limit = kernel_limit(r, work, k);
    const double values[KernelColumns] = {
        k->calls,
        1e3 * k->seconds,
        100.0 * k->seconds / r->kernels.p50[work],
        1e-6 * cost_operations(k->cost),
        1e-6 * bytes,
        ratio(cost_operations(k->cost), bytes),
        1e-9 * ratio(cost_operations(k->cost), k->seconds),
        1e-9 * ratio(bytes, k->seconds),
        100.0 * ratio(limit.seconds, k->seconds),
    };
    memcpy(value, values, sizeof values);
}

const char *backend_name(const BenchReport *r)
{
    const char *name = r->engine->options.backend;
    return name ? name : "jit";
}
