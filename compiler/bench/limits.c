/* limits.c: what the machine needs at least for what a call costs. */
#include "bench/bench.h"

Limit limit_of(const Machine *m, const Rates *r, Cost c, double set,
               double calls)
{
    const Level from = machine_level(m, set);
    const Level near = machine_level(m, calls > 0 ? c.values / calls : 0);
    const double far = c.weights + c.cached;
    const double weights = r->read[from] > 0 ? far / r->read[from] : 0;
    const double values = r->read[near] > 0 ? c.values / r->read[near] : 0;
    const double sums = c.flops / r->fma;
    if (sums >= weights + values)
        return (Limit){ sums, "FMA" };
    return (Limit){ weights + values,
                    level_name[weights >= values ? from : near] };
}

Limit work_limit(const Machine *m, const Rates *r, const Work *w)
{
    Limit all = { 0, "FMA" };
    double most = 0.0, by[Levels + 1] = { 0 };
    for (int i = 0; i < w->calls.n; i++) {
        Cost c = w->calls.at[i];
        c.values = 0; /* they need not leave the nearest cache */
        const Limit limit = limit_of(m, r, c, c.weights + c.cached, 1);
        int k = 0;
        while (k < Levels && limit.bound != level_name[k])
            k++;
        by[k] += limit.seconds;
        all.seconds += limit.seconds;
        if (by[k] > most)
            all.bound = limit.bound;
        most = by[k] > most ? by[k] : most;
    }
    return all;
}
