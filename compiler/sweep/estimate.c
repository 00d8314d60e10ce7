/* estimate.c: predicts the time of a workload from the plan: the sum of its
 * features, each multiplied by its coefficient on this host
 * (cost_coefficients.c). */
#include <math.h>
#include <string.h>

#include "sweep/sweep_parts.h"

void estimate_begin(Sweep *s)
{
    Fault why;
    if (!engine_target(&s->options->model, &s->target, &why))
        fail(why.code, "%s", why.text);
    rates_find(s->arena, s->machine, &s->target, s->threads, s->times);
}

void estimate_next(Sweep *s, const Row *r)
{
    if (r->host && !s->speeds.host)
        coefficients_read(s->arena, r->host, &s->speeds);
}

const char *engine_host_name(Arena *a, const Engine *e)
{
    Host host;
    Fault unused;
    return engine_host(a, &e->options, &e->target, &host, &unused)
             ? host_text(a, &host)
             : NULL;
}

void estimate_row(const Sweep *s, Row *r, const Engine *e, const Setup *setup,
                  const Works *works)
{
    const Machine *m = s->machine;
    Coefficients own = s->speeds;
    if (!s->estimates)
        return;
    r->host = engine_host_name(s->arena, e);
    if (r->host && (!own.host || strcmp(r->host, own.host) != 0))
        coefficients_read(s->arena, r->host, &own);
    for (int i = 0; r->host && i < works->n; i++) {
        const Work *w = &works->at[i];
        RowWork *to = &r->work[work_of(setup, w)];
        for (int k = 0; k < w->loads.n; k++)
            load_add(m, machine_rates(m, setup->threads), &w->loads.at[k],
                     to->load);
        to->estimate = coefficients_seconds(own.c, to->load);
    }
}

/* ---- learn ---- */
static bool is_known(const RowWork *w)
{
    const double error = w->time.n > 0 ? summary_error(&w->time) : -1;
    return error >= 0 && error < 0.1;
}

static bool same_host(const Row *a, const Row *b)
{
    return a->host && b->host && !strcmp(a->host, b->host);
}

static void add_row(const Sweep *s, const Row *r, TimedList *to)
{
    for (int k = 0; k < WorkKinds; k++) {
        const RowWork *w = &r->work[k];
        Timed t = { .seconds = w->time.p50 };
        memcpy(t.load, w->load, sizeof t.load);
        if (w->there && is_known(w))
            vec_push(s->arena, to, t);
    }
}

void estimate_learn(const Sweep *s)
{
    for (int first = 0; first < s->rows.n; first++) {
        const Row *of = &s->rows.at[first];
        TimedList list = { 0 };
        int before = 0;
        while (before < first && !same_host(&s->rows.at[before], of))
            before++;
        if (before < first)
            continue;
        for (int i = first; i < s->rows.n; i++)
            if (same_host(&s->rows.at[i], of))
                add_row(s, &s->rows.at[i], &list);
        if (list.n)
            coefficients_cache(s->arena, of->host, &list);
    }
}
