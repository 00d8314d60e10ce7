/* sweep_facts.c: fills in the row of a variant in a child process: first facts
 * of the plan, then times. */
#include <math.h>

#include "sweep/sweep_parts.h"

enum {
    MostRuns = 500, /* maximum runs in a round; more add no precision */
    MostAgain = 2   /* maximum number of repeated measurements of rates */
};
static const double same = 0.02, again_seconds = 0.1;

static const char *const *field_texts(const Sweep *s, const Spec *spec)
{
    const size_t n = (size_t)s->fields.n;
    const char **text = arena_alloc(s->arena, n * sizeof *text + 1);
    for (int i = 0; i < s->fields.n; i++)
        text[i] = spec_field_text(s->arena, spec, s->fields.at[i]);
    return text;
}

static void take_plan(const Sweep *s, Row *r, const Engine *e,
                      const Setup *setup, const Works *works)
{
    r->hash = arena_printf(s->arena, "%016llx",
                           (unsigned long long)e->spec->hash);
    r->size = workload_size(setup);
    r->parameters = (double)e->plan->parameters;
    r->weights = (double)e->plan->pack.bytes;
    r->memory = setup->bytes + r->weights;
    r->fields = field_texts(s, e->spec);
    for (int i = 0; i < works->n; i++) {
        const Work *w = &works->at[i];
        r->work[work_of(setup, w)] = (RowWork){ .there = true,
                                                .cost = w->sum,
                                                .tokens = w->tokens,
                                                .estimate = NAN,
                                                .limit = NAN,
                                                .bound = BoundFma };
    }
    r->mixing = layer_mixing(e->plan->g, setup->longest);
    r->flops = row_main(r) ? cost_operations(row_main(r)->cost) : 0;
    estimate_row(s, r, e, setup, works);
}

int facts_plan(const Sweep *s, const Variant *v, Row *r)
{
    const EngineOptions model = workload_model(s, v);
    const BenchOptions work = variant_work(s->options, &s->axes, v);
    Engine e;
    Works works = { 0 };
    const int code = engine_plan(&e, &model);
    if (code)
        return code;
    Setup *setup = setup_new(&e, &work);
    setup_works(setup, &works);
    take_plan(s, r, &e, setup, &works);
    return ExitDone;
}

/* True if any workload was faster than the machine's rates allow. */
static bool any_beaten(const Sweep *s, const Setup *setup, const Works *works,
                       const Times *times)
{
    const Machine *m = s->machine;
    const Rates *rates = machine_rates(m, setup->threads);
    bool beaten = false;
    for (int i = 0; i < works->n; i++) {
        const double limit =
            work_limit(m, rates, &works->at[i], INFINITY).seconds;
        beaten |= limit > (1 + same) * times_summary(&times[i]).best;
    }
    return beaten;
}

/* Measures the machine again if a run was faster than the rates allow, because
 * the machine must have been busy when they were measured. */
static void measure_again(const Sweep *s, const Setup *setup,
                          const Works *works, const Times *times)
{
    for (int i = 0; i < MostAgain && any_beaten(s, setup, works, times); i++) {
        Machine again;
        machine_measure(&again, &s->target, s->threads, again_seconds);
        machine_keep_better(s->machine, &again);
    }
}

/* Sets the times of a workload. If it is still faster than the rates allow,
 * raises the rates. */
static void take_times(const Sweep *s, Row *r, const Setup *setup,
                       const Work *w, const Times *times)
{
    const Machine *m = s->machine;
    Rates rates = *machine_rates(m, setup->threads);
    RowWork *to = &r->work[work_of(setup, w)];
    Cost c = w->sum;
    to->times = *times;
    to->time = times_summary(times);
    c.values = c.written = 0; /* values may stay in registers */
    rates_reach(&rates, &c, to->time.best);
    const Limit limit = work_limit(m, &rates, w, to->time.p50);
    to->limit = limit.seconds;
    to->bound = limit.bound;
    to->results = arena_printf(s->arena, "%016llx",
                               (unsigned long long)w->checksum);
}

int facts_times(const Sweep *s, const Variant *v, Row *r)
{
    const EngineOptions model = workload_model(s, v);
    BenchOptions work = variant_work(s->options, &s->axes, v);
    work.repetitions = s->runs;
    work.most = MostRuns;
    Engine e;
    Works works = { 0 };
    const int code = engine_open(&e, &model);
    if (code)
        return code;
    Setup *setup = setup_new(&e, &work);
    setup_works(setup, &works);
    const size_t n = (size_t)works.n + 1;
    Times *times = arena_alloc(s->arena, n * sizeof *times);
    setup->options.seconds = s->runs_seconds / works.n;
    take_plan(s, r, &e, setup, &works);
    bench_workloads(setup, &works, times);
    measure_again(s, setup, &works, times);
    for (int i = 0; i < works.n; i++)
        take_times(s, r, setup, &works.at[i], &times[i]);
    return ExitDone;
}
