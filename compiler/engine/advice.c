/* advice.c: prints a hint if the tuning database has entries for the model but
 * only for other hosts. The hint names the options that make this run match
 * such a host, or describes the most similar host. */
#include <string.h>

#include "engine/tiers.h"

static bool is_task(const Plan *p, const TaskKey *key)
{
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, key))
            return true;
    return false;
}

/* A comparison of this host with another one that has tuning records for this
 * run's model. */
typedef struct {
    const Engine *e;
    Host here;
    const Host *there;
    const char *options; /* options to add so that this run matches `there`,
                          * each preceded by a space */
    const char *own;     /* current values of these options, each preceded by a
                          * comma */
} Beside;

/* Adds an option to the hint. Returns false if the command does not accept the
 * option. */
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
    const HostParts there = host_parts(a, b->there);
    int own_width = b->e->target.width;
    Target t;
    Fault unused;
    if (host_same_isa(&b->here, b->there))
        return true;
    if (!target_find(&t, there.march, there.width, NULL, &unused)
        || !target_runs_here(&t, &unused))
        return false;
    bool can = true;
    if (strcmp(t.march, b->e->target.march) != 0) {
        can = offer(b, OfferMarch, arena_printf(a, "--march=%s", t.march),
                    b->e->target.name);
        own_width = o->width;
    }
    if (t.width != own_width && (own_width || there.width))
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

/* Returns the value of --cc that selects the compiler with this version, or
 * NULL if that compiler is not installed. */
static const char *compiler_word(const Beside *b, const char *version)
{
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    Fault unused;
    const char *path, *clang = cc_find(a, NULL, &unused);
    for (int i = 0; (path = cc_nth(a, i, &unused)) != NULL; i++) {
        const char *here = cc_version(a, path, &unused);
        if (here && !strcmp(here, version))
            return clang && !strcmp(path, clang) && !o->cc
                        && (o->offers & OfferBackend)
                     ? "clang"
                     : base_name(path);
    }
    return NULL;
}

static bool offer_compiler(Beside *b)
{
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    const HostParts there = host_parts(a, b->there);
    const HostParts here = host_parts(a, &b->here);
    const char *own_level = o->level ? o->level : "2";
    bool can = true;
    if (strcmp(there.version, here.version) != 0) {
        const bool backend = o->offers & OfferBackend;
        const char *word = there.jit ? "jit" : compiler_word(b, there.version);
        const char *own = backend ? (o->backend ? o->backend : "jit")
                        : o->cc   ? o->cc
                                  : "clang";
        can = word && (!there.jit || backend)
           && offer(b, backend ? OfferBackend : OfferCc,
                    arena_printf(a, backend ? "--backend=%s" : "--cc=%s", word),
                    own);
    }
    return can
        && (!there.level || !strcmp(there.level, own_level)
            || offer(b, OfferLevel, arena_printf(a, "-O%s", there.level),
                     arena_printf(a, "-O%s", own_level)));
}

/* one function per property of a host that an option can change */
static bool (*const offers[])(Beside *b) = { offer_isa, offer_compiler,
                                             offer_threads };

/* Returns true if options can make this run match the host `there`, and stores
 * these options in b->options. */
static bool can_be(Beside *b, const Host *there)
{
    b->there = there;
    b->options = b->own = "";
    bool can = host_same_machine(&b->here, there);
    for (size_t i = 0; can && i < sizeof offers / sizeof *offers; i++)
        can = offers[i](b);
    return can;
}

/* Returns a score for the similarity of two hosts. */
static int likeness(const Host *a, const Host *b)
{
    return 8 * host_same_machine(a, b) + 2 * host_same_compiler(a, b)
         + 2 * host_same_isa(a, b) + (a->threads == b->threads);
}

/* Returns the host most similar to `here` that has records for the plan's tasks
 * and a likeness() below `most`. If `faster` is set, ignores records that do
 * not beat the default tiling. */
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

/* Prints a note if options would let this run use the records for its model.
 * Returns false otherwise. */
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

void advise_on_records(const Engine *e)
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
        || engine_tuned_later(e)
        || !engine_host(e->arena, o, &e->target, &here, &why)
        || say_option(e, &here) || !o->records)
        return;
    warning_once("%s: its records of this model are not for %s; the nearest "
                 "are for %s",
                 quote(o->records), host_text(e->arena, &here),
                 host_text(e->arena, nearest_host(e, &here, 99, false)));
}
