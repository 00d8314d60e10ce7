/* engine.c: the pipeline of one model, as straight calls. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "engine/engine.h"
#include "engine/kept_weights.h"
#include "engine/tiers.h"
#include "tokenizer/tokenizer.h"

/* ---- spec to graph ---- */
static int keep_taps(Graph *g, const EngineOptions *o)
{
    for (int i = 0; i < o->ntaps; i++) {
        int node = graph_find(g, o->taps[i]);
        if (node < 0) {
            error_at((Pos){ 0 }, "--tap: the graph has no tensor '%s'",
                     quote(o->taps[i]));
            note_at((Pos){ 0 }, "attnc graph --stage built lists the names");
            return ExitUsage;
        }
        g->nodes.at[node].keep = true;
    }
    return ExitDone;
}

static bool known_pass(const char *name, const char *option)
{
    const char *names[64];
    int n = 0;
    for (; n < n_passes && n < 64; n++) {
        names[n] = passes[n].name;
        if (strcmp(names[n], name) == 0)
            return true;
    }
    const char *near = nearest(name, names, n);
    error_at((Pos){ 0 }, "%s: there is no pass '%s'%s%s%s", option, quote(name),
             near ? ": did you mean " : "", near ? near : "", near ? "?" : "");
    return false;
}

static int check_passes(const PassOptions *p)
{
    bool ok = !p->after || known_pass(p->after, "--after");
    for (int i = 0; i < p->nskip; i++)
        if (strcmp(p->skip[i], "all") != 0)
            ok &= known_pass(p->skip[i], "--skip");
    for (int i = 0; i < p->ndump; i++)
        ok &= known_pass(p->dump[i], "--dump");
    return ok ? ExitDone : ExitUsage;
}

int engine_graph(Engine *e, const EngineOptions *o, FILE *log)
{
    *e = (Engine){ .arena = arena_new(), .options = *o };
    int code = check_passes(&o->passes);
    if (code)
        return code;
    e->spec = spec_read(e->arena, o->spec, o->text, o->sets, o->nsets);
    if (!e->spec)
        return ExitInput;
    e->unfused = build_graph(e->arena, e->spec);
    if (!names_fit(e->unfused))
        return ExitInput;
    e->graph = graph_copy(e->arena, e->unfused);
    code = keep_taps(e->graph, o);
    if (code)
        return code;
    return run_passes(e->graph, &o->passes, log) ? ExitDone : ExitInput;
}

/* ---- choices ---- */

/* Is there a record of this machine, target and number of threads, whatever
 * its compiler? To ask a compiler for its version takes milliseconds.        */
static bool any_of(const Records *r, Arena *a, const Engine *e)
{
    if (r->at.n == 0)
        return false;
    Host here = host_here(a, &e->target, engine_threads(&e->options), "");
    for (int i = 0; i < r->at.n; i++) {
        here.compiler = r->at.at[i].host.compiler;
        if (host_same(&here, &r->at.at[i].host))
            return true;
    }
    return false;
}

/* The choices of a plan: by the records where the options say so. */
static int find_choices(Engine *e)
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

/* ---- records of others ---- */
static bool is_task(const Plan *p, const TaskKey *key)
{
    for (int i = 0; i < p->task.n; i++)
        if (task_same(&p->task.at[i].key, key))
            return true;
    return false;
}

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
    const HostParts there = host_parts(a, b->there);
    int usual = b->e->target.width;
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
        usual = o->width;
    }
    if (t.width != usual && (usual || there.width))
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

/* What an option calls the compiler of such a version; NULL: it is not here. */
static const char *compiler_word(const Beside *b, const char *version)
{
    static const char *const known[] = { NULL, "gcc", "cc" };
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    Fault unused;
    for (int i = 0; i < 3; i++) {
        const char *path = cc_find(a, known[i], &unused);
        const char *here = path ? cc_version(a, path, &unused) : NULL;
        if (!here || strcmp(here, version) != 0)
            continue;
        return i == 0 && !o->cc && (o->offers & OfferBackend)
                 ? "clang"
                 : strrchr(path, '/') + 1;
    }
    return NULL;
}

static bool offer_compiler(Beside *b)
{
    const EngineOptions *o = &b->e->options;
    Arena *a = b->e->arena;
    const HostParts there = host_parts(a, b->there);
    const HostParts here = host_parts(a, &b->here);
    const char *usual = o->level ? o->level : "2";
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
        && (!there.level || !strcmp(there.level, usual)
            || offer(b, OfferLevel, arena_printf(a, "-O%s", there.level),
                     arena_printf(a, "-O%s", usual)));
}

/* The members of a host that a run can choose. */
static bool (*const offers[])(Beside *b) = { offer_isa, offer_compiler,
                                             offer_threads };

/* Can options make the run one of that host? */
static bool can_be(Beside *b, const Host *there)
{
    b->there = there;
    b->options = b->own = "";
    bool can = host_same_machine(&b->here, there);
    for (size_t i = 0; can && i < sizeof offers / sizeof *offers; i++)
        can = offers[i](b);
    return can;
}

/* How much of two hosts is the same. */
static int likeness(const Host *a, const Host *b)
{
    return 8 * host_same_machine(a, b) + 2 * host_same_compiler(a, b)
         + 2 * host_same_isa(a, b) + (a->threads == b->threads);
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

/* A line to stderr, where there are records of the plan's tasks, but none for
 * this host: a note with the options by which they would be used, or, of a file
 * that was named, a warning for what the nearest are.                       */
static void say_others(const Engine *e)
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

/* ---- plan ---- */
int engine_plan(Engine *e, const EngineOptions *o)
{
    Fault why;
    int code = engine_graph(e, o, stderr);
    if (code)
        return code;
    if (!engine_target(o, &e->target, &why))
        return report_fault(&why);
    code = find_choices(e);
    if (code)
        return code;
    e->plan = plan_model(e->arena, e->graph, &e->target, e->choices,
                         o->keep_all);
    say_others(e);
    return ExitDone;
}

/* ---- vocabularies ---- */
static int load_vocab(Engine *e, VocabBlock *v, const SpecVocab *from,
                      VocabSplit split, bool append_end)
{
    const Spec *s = e->spec;
    Fault why;
    VocabTokens tokens = {
        .split = split == SplitSpaces,
        .append_end = append_end,
        .start = (int32_t)s->token_start,
        .end = (int32_t)s->token_end,
        .pad = (int32_t)s->token_pad,
        .unknown = (int32_t)(from == &s->target ? s->token_unknown_target
                                                : s->token_unknown),
    };
    if (!from->file)
        return ExitDone;
    v->block = vocab_load(spec_path(e->arena, from->file_pos, from->file),
                          from->size, &tokens, &v->bytes, &why);
    return v->block ? ExitDone : report_fault(&why);
}

int engine_vocab(Engine *e)
{
    const Spec *s = e->spec;
    int code = load_vocab(e, &e->source, &s->source, s->split_source,
                          s->append_end);
    return code ? code
                : load_vocab(e, &e->target_vocab, &s->target, s->split_target,
                             false);
}

/* ---- run ---- */
static void open_pool(Engine *e, int64_t threads)
{
    if (threads < 0)
        threads = attn_cores();
    if (threads < 2)
        return;
    e->pool = attn_pool_open(threads);
    if (!e->pool)
        fail(ExitResource, "out of memory for %lld threads",
             (long long)threads);
    e->parallel = attn_pool_parallel(e->pool);
    if (attn_pool_refused(e->pool))
        warning_at((Pos){ 0 }, "--threads %lld: the system gives %lld (%s)",
                   (long long)threads, (long long)e->parallel->parts,
                   attn_pool_refused(e->pool));
}

static int open_model(Engine *e, const EngineOptions *o)
{
    Fault why;
    int code = engine_plan(e, o);
    if (!code && o->fits)
        code = o->fits(e->spec, o->command);
    if (!code) /* before there are threads, and weights in memory */
        code = engine_tiers(e);
    e->keeps = true;
    if (!code)
        code = engine_weights(e);
    if (!code)
        code = engine_vocab(e);
    if (code)
        return code;
    BackendOptions with = { .cc = o->cc, .level = o->level, .perf = o->perf };
    BackendKind kind = backend_kind(o->backend, &with);
    if (!e->backend.model
        && !backend_load(&e->backend, e->arena, e->plan, kind, &with, &why))
        return report_fault(&why);
    const struct attn_model *m = e->backend.model;
    if (m->weights_bytes != e->plan->pack.bytes)
        die("the compiled model takes %lld bytes of weights, the plan %lld",
            (long long)m->weights_bytes, (long long)e->plan->pack.bytes);
    e->bound = backend_bind(&e->backend, e->arena, e->packed);
    open_pool(e, o->threads);
    return ExitDone;
}

int engine_open(Engine *e, const EngineOptions *o)
{
    progress_begin("opening the model");
    const int code = open_model(e, o);
    progress_end();
    return code;
}

void engine_close(Engine *e)
{
    attn_pool_close(e->pool);
    backend_unload(&e->backend);
    weights_keep(e);
    cache_close(&e->kept);
    if (e->file)
        safetensors_close(e->file);
    free(e->source.block);
    free(e->target_vocab.block);
    arena_free(e->arena);
    *e = (Engine){ 0 };
}
