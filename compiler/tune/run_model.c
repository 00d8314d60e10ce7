/* run_model.c: times complete models with different tilings on the workloads of
 * attnc bench. Used for tilings that cannot be timed with a single task, and
 * for the end-to-end comparison. */
#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "tune/tuner.h"

enum { MostWorks = 4 };
static const double least_seconds = 0.0005; /* minimum duration of one reading
                                             * of the clock */

typedef struct { /* a model that the child has loaded */
    Engine engine;
    Backend backend;
    Setup *setup;
    Works works;
} LoadedModel;

struct ModelRun {
    const TuneReport *r;
    BenchOptions options; /* options with all defaults applied */
    int works;
    double weight[MostWorks];
    bool each;
    const Codes *code; /* code of the candidates */
    /* used only in the child: */
    LoadedModel *at; /* models of the candidates */
    struct attn_pool *pool;
    void *expected[MostWorks];
    int64_t repeats[MostWorks]; /* runs per reading; 0: not yet known */
};

Code model_code(const Engine *e, const Choice *choice, int n, bool jit)
{
    const EmitOptions emit = { .mode = jit ? EmitJit : EmitModel };
    Code m = { 0 };
    const Plan *p = plan_model(e->arena, e->graph, &e->target,
                               (Choices){ .at = choice, .n = n }, false);
    m.text = emit_model(e->arena, p, &emit, &m.n);
    return m;
}

ModelRun *model_run_new(const TuneReport *r, const Setup *s, const Works *works,
                        bool each, const Codes *code)
{
    ModelRun *w = arena_alloc(r->arena, sizeof *w);
    *w = (ModelRun){ .r = r,
                     .options = s->options,
                     .each = each,
                     .works = works->n,
                     .code = code };
    if (works->n > MostWorks)
        die("a model has %d workloads", works->n);
    for (int i = 0; i < works->n; i++)
        w->weight[i] = works->at[i].per_answer;
    return w;
}

/* ---- in the child ---- */
static bool model_begin(void *with, Fault *why)
{
    ModelRun *w = with;
    w->at = arena_alloc(w->r->arena, (size_t)w->code->n * sizeof *w->at);
    if (w->r->host.threads < 2)
        return true;
    w->pool = attn_pool_open(w->r->host.threads);
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

static bool model_open(void *with, int candidate, Fault *why)
{
    ModelRun *w = with;
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
    e->parallel = w->pool ? attn_pool_parallel(w->pool) : NULL;
    v->setup = setup_new(e, &w->options);
    setup_works(v->setup, &v->works);
    return true;
}

static Result model_result(void *with, int candidate, int i)
{
    ModelRun *w = with;
    LoadedModel *one = &w->at[candidate];
    const Work *k = &one->works.at[i];
    k->run(one->setup);
    return (Result){ .name = k->name,
                     .at = (void *)(uintptr_t)k->result,
                     .bytes = k->result_bytes,
                     .floats = k->floats };
}

static double time_runs(const Work *w, Setup *s, int64_t n)
{
    const double begin = seconds_now();
    for (int64_t i = 0; i < n; i++)
        w->run(s);
    return (seconds_now() - begin) / (double)n;
}

static void model_time(void *with, int candidate, double *seconds)
{
    ModelRun *w = with;
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

ChildWork model_run_work(ModelRun *w)
{
    return (ChildWork){ .with = w,
                        .results = w->works,
                        .parts = w->each ? w->works : 1,
                        .begin = model_begin,
                        .open = model_open,
                        .result = model_result,
                        .time = model_time };
}
