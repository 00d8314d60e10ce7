/* engine_records.c: what `attnc tune` found for this machine, for the plan of
 * one model.                                                                 */
#include <string.h>

#include "engine.h"

/* ---------------------------------------------------------------- host --- */
/* "libtcc", or what the C compiler says that it is, and the level. NULL: there
 * is no such compiler.                                                       */
static const char *compiler_name(Arena *a, const EngineOptions *o, Fault *why)
{
    BackendOptions with = { .cc = o->cc, .level = o->level };
    if (backend_kind(o->backend, &with) == BackendJit)
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

/* How much of two hosts is the same. */
static int likeness(const Host *a, const Host *b)
{
    return 4 * (!strcmp(a->cpu, b->cpu) && !strcmp(a->caches, b->caches)) +
           2 * !strcmp(a->compiler, b->compiler) + 2 * !strcmp(a->isa, b->isa)
           + (a->threads == b->threads);
}

/* The host nearest to this one that has a record of the plan's tasks. */
static const Host *nearest_host(const Engine *e, const Host *here)
{
    const Host *best = NULL;
    for (int i = 0; i < e->records.at.n; i++) {
        const Record *r = &e->records.at.at[i];
        if (is_task(e->plan, &r->key) &&
            (!best || likeness(&r->host, here) > likeness(best, here)))
            best = &r->host;
    }
    return best;
}

void engine_say_others(const Engine *e)
{
    const EngineOptions *o = &e->options;
    const Choices *c = &e->target.choices;
    Host here;
    Fault why;
    for (int i = 0; i < c->n; i++)
        if (is_task(e->plan, &c->at[i].key))
            return;
    if (!o->tuned || !o->records ||
        !engine_host(e->arena, o, &e->target, &here, &why))
        return;
    const Host *other = nearest_host(e, &here);
    if (other)
        warning_once("%s: its records of this model are not for %s; the "
                     "nearest are for %s", quote(o->records),
                     host_text(e->arena, &here), host_text(e->arena, other));
}
