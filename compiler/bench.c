/* bench.c: times the workloads of a model and checks what they leave.
 *
 * All workloads and a slice of the machine's own limit run in turn, so that
 * what disturbs one disturbs all. Medians are compared with medians.         */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <xxhash.h>

static const int64_t least_runs = 7, most_runs = 2000;
static const double slice = 0.002;

typedef struct { double *at; int64_t n; } Times;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that `part` of the sorted times do not exceed. */
static double quantile(const Times *t, double part)
{
    const int64_t i = (int64_t)ceil(part * (double)t->n) - 1;
    return t->at[i < 0 ? 0 : i];
}

static uint64_t checksum(const Work *w)
{
    const float *x = w->result;
    for (size_t i = 0; w->floats && i < w->result_bytes / sizeof *x; i++)
        if (!isfinite(x[i]))
            die("bench: %s: number %zu of the result is not finite", w->name,
                i);
    return XXH3_64bits(w->result, w->result_bytes);
}

static double time_once(const Work *w, Setup *s)
{
    const double begin = machine_seconds();
    w->run(s);
    return machine_seconds() - begin;
}

/* The first run of each: warms up, sets the checksum. Returns the seconds. */
static double first_runs(BenchReport *r, Setup *s)
{
    const double begin = machine_seconds();
    for (int i = 0; i < r->rows.n; i++) {
        BenchRow *row = &r->rows.at[i];
        row->work.run(s);
        row->checksum = checksum(&row->work);
    }
    return machine_seconds() - begin;
}

static int64_t runs_for(const BenchReport *r, double seconds)
{
    if (r->options.repetitions > 0)
        return r->options.repetitions;
    const double turns = r->options.seconds * r->rows.n / (seconds + slice);
    const int64_t runs = turns < 1e6 ? (int64_t)turns : most_runs;
    return runs < least_runs ? least_runs
         : runs > most_runs ? most_runs : runs;
}

static void run_all(BenchReport *r, Setup *s, Times *times, int64_t runs)
{
    for (int64_t k = 0; k < runs; k++) {
        for (int i = 0; i < r->rows.n; i++) {
            const BenchRow *row = &r->rows.at[i];
            times[i].at[times[i].n++] = time_once(&row->work, s);
            if (checksum(&row->work) != row->checksum)
                die("bench: %s: run %lld left another result", row->work.name,
                    (long long)k);
        }
        Times *limit = &times[r->rows.n];
        limit->at[limit->n++] = machine_fma_rate(slice);
    }
}

static void summarise(BenchReport *r, Times *times)
{
    for (int i = 0; i <= r->rows.n; i++)
        qsort(times[i].at, (size_t)times[i].n, sizeof(double), by_size);
    for (int i = 0; i < r->rows.n; i++) {
        BenchRow *row = &r->rows.at[i];
        row->runs = times[i].n;
        row->best = times[i].at[0];
        row->p50 = quantile(&times[i], 0.50);
        row->p95 = quantile(&times[i], 0.95);
    }
    r->machine.fma = quantile(&times[r->rows.n], 0.50);
}

void bench_run(const Engine *e, const BenchOptions *o, FILE *out)
{
    Arena *a = e->arena;
    BenchReport r = { .engine = e, .options = *o };
    Works works = {0};
    Setup *s = setup_new(e, &r.options);
    setup_works(s, &works);
    r.setup = s;
    for (int i = 0; i < works.n; i++) {
        const BenchRow row = { .work = works.at[i] };
        vec_push(a, &r.rows, row);
    }
    machine_measure(&r.machine, fmin(0.1, o->seconds / 10));
    const int64_t runs = runs_for(&r, first_runs(&r, s));
    Times *times = arena_alloc(a, (size_t)(works.n + 1) * sizeof *times);
    for (int i = 0; i <= works.n; i++)
        times[i].at = arena_alloc(a, (size_t)runs * sizeof(double));
    run_all(&r, s, times, runs);
    summarise(&r, times);
    bench_print(&r, out);
}
