/* tiers.c: --backend=auto: runs libtcc's code first, then a C compiler's code
 * for the same graph, with tilings from the records of that compiler. */
#include <string.h>

#include "backend/tier.h"
#include "engine/tiers.h"

static bool is_auto(const EngineOptions *o)
{
    BackendOptions unused = { 0 };
    return backend_kind(o->backend, &unused) == BackendAuto;
}

/* Returns the path of the named compiler, or of the first one installed; NULL
 * if there is none. */
static const char *find_compiler(Arena *a, const EngineOptions *o, Fault *why)
{
    return o->cc ? cc_find(a, o->cc, why) : cc_nth(a, 0, why);
}

/* Returns the engine's options, with `compiler` as the backend. */
static EngineOptions options_of(const Engine *e, const char *compiler)
{
    EngineOptions o = e->options;
    o.backend = compiler;
    o.cc = NULL;
    return o;
}

bool engine_choices(const Engine *e, Arena *a, const EngineOptions *o,
                    const Target *t, Choices *to, Fault *why)
{
    Host here;
    *to = o->choices;
    if (!o->tuned || e->records.at.n == 0)
        return true;
    if (!engine_host(a, o, t, &here, why))
        return false;
    *to = records_choices(a, &e->records, &here);
    return true;
}

static int tuned_tasks(const Plan *p, const Choices *c)
{
    int n = 0;
    for (int i = 0; i < p->task.n; i++)
        for (int k = 0; k < c->n; k++)
            if (task_same(&p->task.at[i].key, &c->at[k].key)) {
                n++;
                break;
            }
    return n;
}

static const char *tuned_text(Arena *a, const Plan *p, const Choices *c)
{
    return arena_printf(a, "%d of %d tasks as attnc tune found",
                        tuned_tasks(p, c), p->task.n);
}

bool engine_tuned_later(const Engine *e)
{
    Target t;
    Choices c;
    Fault unused;
    const char *path = is_auto(&e->options)
                         ? find_compiler(e->arena, &e->options, &unused)
                         : NULL;
    const EngineOptions o = options_of(e, path);
    return path && engine_target(&o, &t, &unused)
        && engine_choices(e, e->arena, &o, &t, &c, &unused)
        && tuned_tasks(e->plan, &c) > 0;
}

typedef struct {
    const Engine *e;
    const char *compiler;
} Second;

/* Runs in the process that compiles: plans the graph again for the C compiler
 * and emits the text. */
static bool second_text(void *with, Arena *a, ObjectText *to,
                        const char **about, Fault *why)
{
    const Second *s = with;
    const EngineOptions o = options_of(s->e, s->compiler);
    const BackendOptions by = { .cc = s->compiler, .level = o.level };
    Target t;
    Choices c;
    if (!engine_target(&o, &t, why)
        || !engine_choices(s->e, a, &o, &t, &c, why))
        return false;
    const Plan *p = plan_model(a, s->e->graph, &t, c, false);
    *about = arena_printf(a, "; %s", tuned_text(a, p, &c));
    return backend_text(to, a, p, &by, why);
}

int engine_tiers(Engine *e)
{
    const EngineOptions *o = &e->options;
    Fault why;
    if (!is_auto(o))
        return ExitDone;
    if (!target_runs_here(&e->target, &why))
        return report_fault(&why);
    Second s = { e, find_compiler(e->arena, o, &why) };
    if (!s.compiler && o->cc)
        return report_fault(&why);
    if (o->verbose)
        note_once("libtcc: %s", tuned_text(e->arena, e->plan, &e->choices));
    if (o->ntaps || o->keep_all || !s.compiler) {
        /* the caller reads values in the layout of libtcc's plan */
        if (o->verbose)
            note_once("%s: libtcc's code runs alone",
                      s.compiler ? "values of the graph are asked for"
                                 : "there is no C compiler (clang, gcc, cc)");
        return ExitDone;
    }
    const TierOptions with = {
        .text = second_text,
        .with = &s,
        .compiler = s.compiler,
        .level = o->level ? o->level : "2",
        .records = o->tuned ? records_path(e->arena, o->records) : NULL,
        .verbose = o->verbose,
        .perf = o->perf,
        .guard = o->guard,
    };
    return tier_load(&e->backend, e->arena, e->plan, &with, &why)
             ? ExitDone
             : report_fault(&why);
}
