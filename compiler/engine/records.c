/* records.c: what `attnc tune` found for this machine, for the plan of
 * one model.                                                                 */
#include <string.h>

#include "engine/engine.h"

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
                                  with.level ? with.level : "2")
                   : NULL;
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
    e->choices = o->choices;
    if (!o->tuned)
        return ExitDone;
    const char *path = records_path(e->arena, o->records);
    if (o->records && !records_named(&e->records, e->arena, path, &why))
        return report_fault(&why);
    if (!o->records && !records_read(&e->records, e->arena, path, &why)) {
        warning_once("%s: the default tiles are used", why.text);
        return ExitDone;
    }
    if (any_of(&e->records, e->arena, e)
        && engine_host(e->arena, o, &e->target, &here, &why))
        e->choices = records_choices(e->arena, &e->records, &here);
    return ExitDone;
}

static bool is_task(const Plan *p, const TaskKey *key)
{
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, key))
            return true;
    return false;
}

/* ------------------------------------------------------- what would be --- */
/* A run of ours beside a host that has records of its model. */
typedef struct {
    const Engine *e;
    Host here;
    const Host *there;
    const char *options; /* that make the run one of that host: " .." */
    const char *own;     /* what it has in their place: ", .." */
} Beside;

/* False: the command takes no such option. */
static bool offer(Beside *b, Offers option, const char *word, const char *own)
{
    Arena *a = b->e->arena;
    b->options = arena_printf(a, "%s %s", b->options, word);
    b->own = arena_printf(a, "%s, %s", b->own, own);
    return (b->e->options.offers & option) != 0;
}

static bool offer_isa(Beside *b)
{
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    char march[64];
    int width = 0, usual = b->e->target.width;
    Target t;
    Fault unused;
    if (!strcmp(b->here.isa, b->there->isa))
        return true;
    if (sscanf(b->there->isa, "%63[^/]/%d", march, &width) < 1
        || !target_find(&t, march, width, NULL, &unused)
        || !target_runs_here(&t, &unused))
        return false;
    bool can = true;
    if (strcmp(t.march, b->e->target.march) != 0) {
        can = offer(b, OfferMarch, arena_printf(a, "--march=%s", t.march),
                    b->e->target.name);
        usual = o->width;
    }
    if (t.width != usual && (usual || width))
        can &= offer(b, OfferWidth, arena_printf(a, "--width=%d", t.width),
                     arena_printf(a, "%d", b->e->target.width));
    return can;
}

static bool offer_threads(Beside *b)
{
    Arena *a = b->e->arena;
    return b->here.threads == b->there->threads
        || offer(b, OfferThreads,
                 arena_printf(a, "--threads=%d", b->there->threads),
                 arena_printf(a, "%d", b->here.threads));
}

/* What an option calls the compiler of `there`; NULL: it is not here. */
static const char *compiler_word(const Beside *b, size_t version_bytes)
{
    static const char *const known[] = { NULL, "gcc", "cc" };
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    Fault unused;
    for (int i = 0; i < 3; i++) {
        const char *path = cc_find(a, known[i], &unused);
        const char *version = path ? cc_version(a, path, &unused) : NULL;
        if (!version || strlen(version) != version_bytes
            || memcmp(version, b->there->compiler, version_bytes) != 0)
            continue;
        return i == 0 && !o->cc && (o->offers & OfferBackend)
                 ? "clang"
                 : strrchr(path, '/') + 1;
    }
    return NULL;
}

/* Bytes before the level; of libtcc, all. */
static size_t version_bytes(const char *compiler)
{
    const char *end = compiler + strlen(compiler);
    for (const char *at = compiler; (at = strstr(at, " -O")); at++)
        end = at;
    return (size_t)(end - compiler);
}

static bool offer_compiler(Beside *b)
{
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    const char *there = b->there->compiler, *here = b->here.compiler;
    const size_t n = version_bytes(there);
    const char *level = there[n] ? there + n + 3 : "";
    const char *usual = o->level ? o->level : "2";
    bool can = true;
    if (n != version_bytes(here) || memcmp(there, here, n) != 0) {
        const bool backend = o->offers & OfferBackend;
        const char *word = !*level ? "jit" : compiler_word(b, n);
        const char *own = backend ? (o->backend ? o->backend : "jit")
                        : o->cc   ? o->cc
                                  : "clang";
        can = word && (*level || backend)
           && offer(b, backend ? OfferBackend : OfferCc,
                    arena_printf(a, backend ? "--backend=%s" : "--cc=%s", word),
                    own);
    }
    return can
        && (!*level || !strcmp(level, usual)
            || offer(b, OfferLevel, arena_printf(a, "-O%s", level),
                     arena_printf(a, "-O%s", usual)));
}

/* The members of a host that a run can choose. */
static bool (*const offers[])(Beside *b) = { offer_isa, offer_compiler,
                                             offer_threads };

static bool same_machine(const Host *a, const Host *b)
{
    return !strcmp(a->cpu, b->cpu) && !strcmp(a->caches, b->caches);
}

/* Can options make the run one of that host? */
static bool can_be(Beside *b, const Host *there)
{
    b->there = there;
    b->options = b->own = "";
    bool can = same_machine(&b->here, there);
    for (size_t i = 0; can && i < sizeof offers / sizeof *offers; i++)
        can = offers[i](b);
    return can;
}

/* How much of two hosts is the same. */
static int likeness(const Host *a, const Host *b)
{
    return 8 * same_machine(a, b) + 2 * !strcmp(a->compiler, b->compiler)
         + 2 * !strcmp(a->isa, b->isa) + (a->threads == b->threads);
}

/* The host nearest to this one, and less near than `most`, that has records of
 * the plan's tasks; `faster`: where something was found.                     */
static const Host *nearest_host(const Engine *e, const Host *here, int most,
                                bool faster)
{
    const Host *best = NULL;
    for (int i = 0; i < e->records.at.n; i++) {
        const Record *r = &e->records.at.at[i];
        const int like = likeness(&r->host, here);
        if (like < most && is_task(e->plan, &r->key)
            && (!faster || r->ns < r->usual_ns)
            && (!best || like > likeness(best, here)))
            best = &r->host;
    }
    return best;
}

/* One line, where an option would let the run use records of its model. */
static bool say_option(const Engine *e, const Host *here)
{
    Beside b = { .e = e, .here = *here };
    const Host *at;
    for (int most = 99; (at = nearest_host(e, here, most, true)) != NULL;
         most = likeness(at, here))
        if (can_be(&b, at)) {
            note_once("tuned for%s; this run uses %s", b.options, b.own + 2);
            return true;
        }
    return false;
}

void engine_say_others(const Engine *e)
{
    const EngineOptions *o = &e->options;
    const Choices *c = &e->choices;
    Host here;
    Fault why;
    for (int i = 0; i < c->n; i++)
        if (is_task(e->plan, &c->at[i].key))
            return;
    if (!o->tuned || (!o->records && !o->offers)
        || !nearest_host(e, &(Host){ "", "", "", 0, "" }, 99, false)
        || !engine_host(e->arena, o, &e->target, &here, &why)
        || say_option(e, &here) || !o->records)
        return;
    warning_once("%s: its records of this model are not for %s; the nearest "
                 "are for %s",
                 quote(o->records), host_text(e->arena, &here),
                 host_text(e->arena, nearest_host(e, &here, 99, false)));
}
