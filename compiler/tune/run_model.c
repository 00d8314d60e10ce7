/* run_model.c: whole models that differ in their tilings, on the workloads of
 * attnc bench: for what is no part of one task, and for the end.            */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

enum { MostWorks = 4 };
static const double least_seconds = 0.0005; /* of one reading */

typedef struct { /* a model, in the child */
    Engine engine;
    Backend backend;
    Setup *setup;
    Works works;
} LoadedModel;

struct WholeRun {
    const TuneReport *r;
    BenchOptions options; /* settled */
    int works;
    double weight[MostWorks];
    bool each;
    const Codes *code; /* by candidate */
    /* in the child: */
    LoadedModel *at; /* by candidate */
    Pool *pool;
    void *expected[MostWorks];
    int64_t repeats[MostWorks]; /* 0: unknown */
};

Code whole_text(const Engine *e, const Choice *choice, int n, bool jit)
{
    const EmitOptions emit = { .mode = jit ? EmitJit : EmitAot };
    Code m = { 0 };
    const Plan *p = plan_model(e->arena, e->graph, &e->target,
                               (Choices){ .at = choice, .n = n }, false);
    m.text = emit_model(e->arena, p, &emit, &m.n);
    return m;
}

WholeRun *whole_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Codes *code)
{
    WholeRun *w = arena_alloc(r->arena, sizeof *w);
    *w = (WholeRun){ .r = r,
                     .options = s->options,
                     .each = each,
                     .works = works->n,
                     .code = code };
    if (works->n > MostWorks)
        die("a model has %d workloads", works->n);
    for (int i = 0; i < works->n; i++)
        w->weight[i] = work_weight(s, &works->at[i]);
    return w;
}

/* --------------------------------------------------------- in the child --- */
static bool whole_begin(void *with, Fault *why)
{
    WholeRun *w = with;
    w->at = arena_alloc(w->r->arena, (size_t)w->code->n * sizeof *w->at);
    if (w->r->host.threads < 2)
        return true;
    w->pool = pool_open(w->r->host.threads);
    return w->pool || fault(why, ExitResource, "no threads");
}

static bool load(LoadedModel *v, const Code *code, const char *symbol,
                 Fault *why)
{
    if (!code->object)
        return jit_load(&v->backend.jit, &v->backend.model, code->text, symbol,
                        &v->engine.target, why);
    const struct attn_model *(*get)(void);
    void *library = dlopen(code->object, RTLD_NOW | RTLD_LOCAL);
    void *at = library ? dlsym(library, symbol) : NULL;
    if (!at)
        return fault(why, ExitBackend, "cannot load it: %s", dlerror());
    memcpy(&get, &at, sizeof get);
    v->backend.model = get();
    return true;
}

static bool whole_open(void *with, int candidate, Fault *why)
{
    WholeRun *w = with;
    LoadedModel *v = &w->at[candidate];
    v->engine = *w->r->engine;
    Engine *e = &v->engine;
    const char *symbol = arena_printf(e->arena, "%s_model", e->plan->prefix);
    if (!load(v, &w->code->at[candidate], symbol, why))
        return false;
    const struct attn_model *m = v->backend.model;
    if (m->weights_bytes != e->plan->pack.bytes)
        return fault(why, ExitInternal, "it takes other weights");
    e->backend = v->backend;
    e->bound = aligned_memory(e->arena, m->bound_bytes);
    m->bind(e->bound, e->packed);
    e->parallel = w->pool ? pool_parallel(w->pool) : NULL;
    v->setup = setup_new(e, &w->options);
    setup_works(v->setup, &v->works);
    return true;
}

static int64_t count_strange(const Work *w)
{
    const float *x = w->result;
    int64_t strange = 0;
    for (size_t i = 0; w->floats && i < w->result_bytes / sizeof *x; i++)
        strange += !isfinite(x[i]);
    return strange;
}

static void compare(Verdict *v, const Work *w, const void *expected)
{
    if (!memcmp(expected, w->result, w->result_bytes))
        return;
    const int64_t strange = count_strange(w);
    v->status = strange ? StatusNaN : StatusWrong;
    if (strange)
        snprintf(v->why, sizeof v->why, "%s: %lld values are no numbers",
                 w->name, (long long)strange);
    else
        snprintf(v->why, sizeof v->why, "%s leaves another result", w->name);
}

static void whole_check(void *with, int candidate, Verdict *v)
{
    WholeRun *w = with;
    LoadedModel *one = &w->at[candidate];
    for (int i = 0; i < w->works && v->status == StatusTimed; i++) {
        const Work *k = &one->works.at[i];
        k->run(one->setup);
        if (candidate > 0 && tune_plant)
            tune_plant(NULL, candidate, (void *)(uintptr_t)k->result);
        if (candidate > 0) {
            compare(v, k, w->expected[i]);
            continue;
        }
        w->expected[i] = arena_alloc(w->r->arena, k->result_bytes);
        memcpy(w->expected[i], k->result, k->result_bytes);
    }
}

static double time_runs(const Work *w, Setup *s, int64_t n)
{
    const double begin = machine_seconds();
    for (int64_t i = 0; i < n; i++)
        w->run(s);
    return (machine_seconds() - begin) / (double)n;
}

static void whole_time(void *with, int candidate, double *seconds)
{
    WholeRun *w = with;
    LoadedModel *v = &w->at[candidate];
    double sum = 0;
    for (int i = 0; i < w->works; i++) {
        const Work *k = &v->works.at[i];
        if (!w->each && w->weight[i] <= 0)
            continue;
        for (int64_t n = 1; w->repeats[i] == 0; n *= 2)
            if (time_runs(k, v->setup, n) * (double)n > least_seconds)
                w->repeats[i] = n;
        const double one = time_runs(k, v->setup, w->repeats[i]);
        sum += w->weight[i] * one;
        if (w->each)
            seconds[i] = one;
    }
    if (!w->each)
        *seconds = sum;
}

ChildWork whole_run_work(WholeRun *w)
{
    return (ChildWork){ .with = w,
                        .parts = w->each ? w->works : 1,
                        .begin = whole_begin,
                        .open = whole_open,
                        .check = whole_check,
                        .time = whole_time };
}
