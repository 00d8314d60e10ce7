/* engine_records.c: what `attnc tune` found for this machine, for the plan of
 * one model.                                                                 */
#include "engine.h"

/* ---------------------------------------------------------------- host --- */
/* "libtcc", or what the C compiler says that it is, and the level. NULL: there
 * is no such compiler.                                                       */
static const char *compiler_name(Arena *a, const EngineOptions *o, Fault *why)
{
    BackendOptions with = { .cc = o->cc, .level = o->level };
    if (backend_kind(o->backend ? o->backend : "jit", &with) == BackendJit)
        return "libtcc";
    const char *path = cc_find(a, with.cc, why);
    const char *version = path ? cc_version(a, path, why) : NULL;
    return version ? arena_printf(a, "%s -O%s", version,
                                  with.level ? with.level : "2") : NULL;
}

static int threads_of(const EngineOptions *o)
{
    const int64_t n = o->threads < 0 ? cores_usable() : o->threads;
    return n < 1 ? 1 : (int)n;
}

bool engine_host(Arena *a, const EngineOptions *o, const Target *t, Host *to,
                 Fault *why)
{
    const char *compiler = compiler_name(a, o, why);
    if (compiler)
        *to = host_here(a, t, threads_of(o), compiler);
    return compiler != NULL;
}

/* ------------------------------------------------------------- choices --- */
/* Is there a record of this machine, target and number of threads, whatever
 * its compiler? To ask a compiler for its version takes milliseconds.        */
static bool any_of(const Records *r, Arena *a, const Engine *e)
{
    if (r->at.n == 0)
        return false;
    Host here = host_here(a, &e->target, threads_of(&e->options), "");
    for (int i = 0; i < r->at.n; i++) {
        here.compiler = r->at.at[i].host.compiler;
        if (host_same(&here, &r->at.at[i].host))
            return true;
    }
    return false;
}

int engine_choices(Engine *e)
{
    Fault why;
    Host here;
    const EngineOptions *o = &e->options;
    e->target.choices = o->choices;
    if (!o->tuned)
        return ExitDone;
    const char *path = records_path(e->arena, o->records);
    if (o->records && !records_named(&e->records, e->arena, path, &why))
        return report_fault(&why);
    if (!o->records && !records_read(&e->records, e->arena, path, &why)) {
        warning_once("%s: the default tiles are used", why.text);
        return ExitDone;
    }
    if (any_of(&e->records, e->arena, e) &&
        engine_host(e->arena, o, &e->target, &here, &why))
        e->target.choices = records_choices(e->arena, &e->records, &here);
    return ExitDone;
}

static bool is_task(const Plan *p, const TaskKey *key)
{
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, key))
            return true;
    return false;
}

void engine_say_others(const Engine *e)
{
    const Choices *c = &e->target.choices;
    const Records *r = &e->records;
    for (int i = 0; i < c->n; i++)
        if (is_task(e->plan, &c->at[i].key))
            return;
    for (int i = 0; e->options.records && i < r->at.n; i++)
        if (is_task(e->plan, &r->at.at[i].key)) {
            warning_once("%s: its records of this model are of another "
                         "machine, compiler or number of threads: %s",
                         quote(e->options.records),
                         host_text(e->arena, &r->at.at[i].host));
            return;
        }
}
