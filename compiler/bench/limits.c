/* limits.c: computes the minimum time that the machine needs for the cost of a
 * call. It is a lower bound: a memory level counts only the bytes that cannot
 * fit in nearer caches, and levels, reads, writes and arithmetic all
 * overlap. */
#include "bench/bench.h"

#include <math.h>

const char *bound_word(int bound)
{
    static const char *const unit[] = { "FMA", "dot", "bf16" };
    return bound < Levels ? level_name[bound] : unit[bound - BoundFma];
}

/* Returns the fraction of `set` bytes that miss a cache of `room` bytes, if all
 * bytes are read equally often. */
static double part_beyond(double set, double room)
{
    return set > room ? 1 - room / set : 0;
}

/* L1 and L2 exist once per thread. Caches count as exclusive: the bytes in a
 * cache need not be in nearer ones. */
Limit limit_within(const Machine *m, const Rates *r, const Demand *d,
                   Level farthest)
{
    const Cost *c = &d->cost;
    const double far = c->weights + c->cached;
    const double near = cost_traffic(c) - far - c->again;
    const double calls = d->calls > 0 ? d->calls : 1;
    Limit limit = { operations_seconds(r, *c), operations_bound(r, *c) };
    double room = 0;
    for (int i = LevelL1; i <= (int)farthest; i++) {
        const double bytes = i == LevelL1
                               ? far + near + c->again
                               : far * part_beyond(d->set, room)
                                     + near * part_beyond(near / calls, room)
                                     + c->again * part_beyond(c->scan, room);
        if (r->read[i] > 0 && bytes / r->read[i] > limit.seconds)
            limit = (Limit){ bytes / r->read[i], i };
        if (i < LevelMemory)
            room += (double)m->cache[i] * (i < LevelL3 ? r->threads : 1);
    }
    return limit;
}

Limit limit_of(const Machine *m, const Rates *r, const Demand *d,
               double seconds)
{
    int farthest = LevelMemory;
    Limit limit = limit_within(m, r, d, LevelMemory);
    while (limit.seconds > seconds && farthest > LevelL1)
        limit = limit_within(m, r, d, (Level)--farthest);
    return limit;
}

/* Returns the sum of the calls' limits. `bound` is the one with the largest
 * share. */
static Limit calls_limit(const Machine *m, const Rates *r, const Work *w,
                         Level farthest)
{
    Limit all = { 0, BoundFma };
    double most = 0.0, by[Bounds] = { 0 };
    for (int i = 0; i < w->calls.n; i++) {
        Demand d = { .cost = w->calls.at[i], .calls = 1 };
        d.set = d.cost.weights + d.cost.cached;
        d.cost.values = d.cost.written = 0; /* values may stay in registers */
        const Limit limit = limit_within(m, r, &d, farthest);
        double *own = &by[limit.bound];
        *own += limit.seconds;
        all.seconds += limit.seconds;
        if (*own > most)
            all.bound = limit.bound;
        most = *own > most ? *own : most;
    }
    return all;
}

Limit work_limit(const Machine *m, const Rates *r, const Work *w,
                 double seconds)
{
    int farthest = LevelMemory;
    Limit limit = calls_limit(m, r, w, LevelMemory);
    while (limit.seconds > seconds && farthest > LevelL1)
        limit = calls_limit(m, r, w, (Level)--farthest);
    return limit;
}

void rates_raise(Rates *r, double more)
{
    r->fma *= more;
    r->dot *= more;
    r->pair *= more;
}

void rates_reach(Rates *r, const Cost *c, double seconds)
{
    if (seconds <= 0)
        return;
    rates_raise(r, fmax(1, operations_seconds(r, *c) / seconds));
    r->read[LevelL1] = fmax(r->read[LevelL1], cost_traffic(c) / seconds);
}
