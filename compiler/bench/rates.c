/* rates.c: checks the machine's rates against the runs. If a run is faster than
 * its limit, other programs disturbed the measurement of the rates, which are
 * then too low. */
#include "bench/bench_report.h"

#include <math.h>

enum { MostAgain = 3 };
/* tolerance of a limit; signs of a busy machine: error of a median, and
 * fraction of the FMA rate */
static const double same = 0.02, wide = 0.05, slow = 0.85;

/* True if the run was faster than its limit. */
static bool is_beaten(double limit, double seconds)
{
    return seconds > 0 && limit > (1 + same) * seconds;
}

static bool any_beaten(const BenchReport *r)
{
    const Machine *m = &r->machine;
    bool beaten = false;
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        const Limit l = work_limit(m, &r->rates, &row->work, INFINITY);
        beaten |= is_beaten(l.seconds, row->time.best);
        for (int k = 0; r->kernels.of && k < r->kernels.of[i].n; k++) {
            const KernelRow *kernel = &r->kernels.of[i].at[k];
            const Demand d = kernel_demand(r, i, kernel);
            beaten |= is_beaten(limit_of(m, &r->rates, &d, INFINITY).seconds,
                                kernel->seconds);
        }
    }
    return beaten;
}

static bool grew(const Rates *r, const Rates *before)
{
    bool more = r->fma > (1 + same) * before->fma
             || r->dot > (1 + same) * before->dot
             || r->pair > (1 + same) * before->pair;
    for (int i = 0; i < Levels; i++)
        more |= r->read[i] > (1 + same) * before->read[i];
    return more;
}

/* Raises the rates to the highest that any run reached. */
static void reach_all(BenchReport *r)
{
    for (int i = 0; i < r->rows.n; i++) {
        const BenchRow *row = &r->rows.at[i];
        Cost c = row->work.sum;
        c.values = c.written = 0; /* values may stay in registers */
        rates_reach(&r->rates, &c, row->time.best);
        for (int k = 0; r->kernels.of && k < r->kernels.of[i].n; k++)
            rates_reach(&r->rates, &r->kernels.of[i].at[k].cost,
                        r->kernels.of[i].at[k].seconds);
    }
}

void bench_limits(BenchReport *r, double seconds)
{
    bool more = true;
    for (r->again = 0; more && r->again < MostAgain && any_beaten(r);
         r->again++) {
        const Rates before = r->rates;
        Machine again;
        machine_measure(&again, r->target, r->threads, seconds);
        machine_keep_better(&r->machine, &again);
        rates_keep_better(&r->rates, machine_rates(&r->machine, r->threads));
        more = grew(&r->rates, &before);
    }
    reach_all(r);
    for (int i = 0; i < r->rows.n; i++) {
        BenchRow *row = &r->rows.at[i];
        row->limit = work_limit(&r->machine, &r->rates, &row->work,
                                row->time.p50);
    }
}

/* ---- busy ---- */
const char *busy_text(Arena *a, const char *what, double error, double part,
                      const char *more)
{
    const char *times = "", *rate = "";
    if (!(error > wide) && !(part < slow))
        return NULL;
    if (error > wide)
        times = arena_printf(a, " %s are known to +-%.0f %% only", what,
                             100 * error);
    if (part < slow)
        rate = arena_printf(
            a, "%s between the runs it did %.0f %% of its FMA peak",
            *times ? ", and" : "", 100 * part);
    return arena_printf(a,
                        "This machine is busy:%s%s. End what else runs on it, "
                        "or give %s more.",
                        times, rate, more);
}

const char *bench_busy(Arena *a, const BenchReport *r)
{
    double widest = 0;
    for (int i = 0; i < r->rows.n; i++)
        widest = fmax(widest, summary_error(&r->rows.at[i].time));
    return busy_text(a, "medians", widest, r->between / r->rates.fma,
                     "--seconds");
}
