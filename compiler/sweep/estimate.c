/* estimate.c: how long a workload will take, from its plan alone. */
#include <math.h>

#include "sweep/parts.h"

/* What the machine needs at least: FLOPs and bytes over its rates. It is too
 * little, but of two variants the one that takes longer is told.             */
double estimate_work(const Sweep *s, const Setup *setup, const Work *w)
{
    const Machine *m = s->machine;
    if (m->counts == 0)
        return NAN;
    return work_limit(m, machine_rates(m, setup->threads), w, INFINITY).seconds;
}
