/* engine.c: the pipeline of one model, from spec to compiled code. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/console.h"
#include "base/progress.h"
#include "engine/engine.h"
#include "engine/cached_weights.h"
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

/* Lets the last rows of the model be its result. */
static void drop_head(Spec *s)
{
    s->head = HeadRows;
    s->head_pool = PoolNone;
    s->head_normalize = false;
    s->head_width = s->second_width = 0;
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
    if (o->hidden)
        drop_head(e->spec);
    e->unfused = build_graph(e->arena, e->spec);
    if (!o->hidden && !names_fit(e->unfused)) /* some are of the head */
        return ExitInput;
    e->graph = graph_copy(e->arena, e->unfused);
    code = keep_taps(e->graph, o);
    if (code)
        return code;
    return run_passes(e->graph, &o->passes, log) ? ExitDone : ExitInput;
}

/* ---- choices ---- */

/* Returns true if there is a record for this machine, target and number of
 * threads with any compiler. Used before asking a compiler for its version,
 * because that takes milliseconds. */
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

/* Sets the tilings of the plan: those of the records if the options ask for
 * them. Returns an exit code. */
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
        end_if_fatal(&why);
        warning_once("%s: the default tiles are used", why.text);
        return ExitDone;
    }
    if (any_of(&e->records, e->arena, e)
        && engine_host(e->arena, o, &e->target, &here, &why))
        e->choices = records_choices(e->arena, &e->records, &here);
    return ExitDone;
}

/* ---- plan ---- */
int engine_plan(Engine *e, const EngineOptions *o)
{
    Fault why;
    int code = engine_graph(e, o, console_log());
    if (code)
        return code;
    if (!engine_target(o, &e->target, &why))
        return report_fault(&why);
    code = find_choices(e);
    if (code)
        return code;
    e->plan = plan_model(e->arena, e->graph, &e->target, e->choices,
                         o->keep_all);
    advise_on_records(e);
    return ExitDone;
}

int engine_plans(Engine *e, const TargetList *t, const Plan **to)
{
    for (int i = 0; i < t->n; i++) {
        EngineOptions o = e->options;
        Target target;
        Choices choices;
        Fault why;
        o.march = t->at[i];
        if (!engine_target(&o, &target, &why)
            || !engine_choices(e, e->arena, &o, &target, &choices, &why))
            return report_fault(&why);
        to[i] = plan_model(e->arena, e->graph, &target, choices, o.keep_all);
        if (to[i]->pack.hash != e->plan->pack.hash)
            die("the weights of %s are packed as no others are", target.name);
    }
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
    if (!v->block)
        return report_fault(&why);
    arena_owns(e->arena, v->block, free);
    return ExitDone;
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
static void close_pool(void *pool)
{
    attn_pool_close(pool);
}

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
    arena_owns(e->arena, e->pool, close_pool);
    e->parallel = attn_pool_parallel(e->pool);
    if (attn_pool_refused(e->pool))
        warning_at((Pos){ 0 }, "--threads %lld: the system gives %lld (%s)",
                   (long long)threads, (long long)e->parallel->parts,
                   attn_pool_refused(e->pool));
}

static void unload(void *backend)
{
    backend_unload(backend);
}

/* Compiles the model, unless engine_tiers() has. Returns an exit code. */
static int load_code(Engine *e, const EngineOptions *o)
{
    Fault why;
    BackendOptions with = { .cc = o->cc, .level = o->level, .perf = o->perf };
    BackendKind kind = backend_kind(o->backend, &with);
    return e->backend.model
                || backend_load(&e->backend, e->arena, e->plan, kind, &with,
                                &why)
             ? ExitDone
             : report_fault(&why);
}

static int open_model(Engine *e, const EngineOptions *o)
{
    int code = engine_plan(e, o);
    if (!code && o->fits)
        code = o->fits(e->spec, o->command);
    /* The arena unloads the code: no allocation may fail between the loading
     * and the copy. */
    Backend *owned = arena_alloc(e->arena, sizeof *owned);
    arena_owns(e->arena, owned, unload);
    if (!code) /* load code first: its compiler is forked before threads start
                * and weights are loaded */
        code = engine_tiers(e);
    *owned = e->backend;
    e->keeps = true;
    if (!code)
        code = engine_weights(e);
    if (!code)
        code = engine_vocab(e);
    if (!code)
        code = load_code(e, o);
    *owned = e->backend;
    if (code)
        return code;
    const struct attn_model *m = e->backend.model;
    if (m->weights_bytes != e->plan->pack.bytes)
        die("the compiled model takes %lld bytes of weights, the plan %lld",
            (long long)m->weights_bytes, (long long)e->plan->pack.bytes);
    e->bound = backend_bind(&e->backend, e->arena, e->packed);
    if (m->amx_allowed && !m->amx_allowed())
        note_once("this processor or its system does not allow AMX: products "
                  "take longer, with the same bits");
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

static uint64_t vocabulary_hash(const VocabBlock *v)
{
    return attn_hash(v->block, v->bytes, 0);
}

int engine_open_drafter(Engine *small, const Engine *e, const char *path,
                        struct attn_drafter *to)
{
    EngineOptions o = e->options;
    o.spec = path;
    o.text = NULL;
    o.nsets = o.ntaps = 0;
    o.weights = NULL;
    o.fits = NULL;
    o.threads = 1; /* it is called with the threads of `e` */
    o.offers = 0;
    const int code = engine_open(small, &o);
    if (code)
        return code;
    *to = (struct attn_drafter){ small->backend.model, small->bound };
    const char *wrong = attn_drafter_wrong(e->backend.model, to);
    if (!wrong && e->target_vocab.block && small->target_vocab.block
        && vocabulary_hash(&e->target_vocab)
               != vocabulary_hash(&small->target_vocab))
        wrong = "its vocabulary has other tokens, or other special ones";
    if (wrong)
        error_at((Pos){ 0 }, "--draft=%s: %s", path, wrong);
    return wrong ? ExitInput : ExitDone;
}

void engine_close(Engine *e)
{
    weights_cache(e);
    arena_free(e->arena);
    *e = (Engine){ 0 };
}
