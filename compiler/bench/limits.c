/* limits.c: what the machine needs at least for what a call costs. */
#include "bench/bench.h"

const char *bound_word(int bound)
{
    return bound == BoundFma ? "FMA" : level_name[bound];
}

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
        return (Limit){ sums, BoundFma };
    return (Limit){ weights + values, weights >= values ? from : near };
}

Limit work_limit(const Machine *m, const Rates *r, const Work *w)
{
    Limit all = { 0, BoundFma };
    double most = 0.0, by[Levels + 1] = { 0 };
    for (int i = 0; i < w->calls.n; i++) {
        Cost c = w->calls.at[i];
        c.values = 0; /* they need not leave the nearest cache */
        const Limit limit = limit_of(m, r, c, c.weights + c.cached, 1);
        double *own = &by[limit.bound];
        *own += limit.seconds;
        all.seconds += limit.seconds;
        if (*own > most)
            all.bound = limit.bound;
        most = *own > most ? *own : most;
    }
    return all;
}
