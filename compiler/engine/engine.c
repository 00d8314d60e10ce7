/* engine.c: the pipeline of one model, as straight calls. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/engine.h"

enum { HugePage = 2 << 20 };

/* Weights that are read once a step come a third faster from huge pages. A
 * kernel that has none gives others.                                        */
static void want_huge_pages(void *at, int64_t bytes)
{
#if defined MADV_HUGEPAGE
    madvise(at, (size_t)bytes / HugePage * HugePage, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

void *aligned_memory(Arena *a, int64_t bytes)
{
    const uintptr_t align = bytes < HugePage ? ATTN_ALIGN : HugePage;
    if (bytes < 0)
        fail(ExitResource, "sizes overflow: use smaller lengths or batches");
    uintptr_t at = (uintptr_t)arena_alloc(a, (size_t)bytes + align);
    void *memory = (void *)((at + align - 1) / align * align);
    if (align == HugePage)
        want_huge_pages(memory, bytes);
    return memory;
}

/* ------------------------------------------------------ spec to plan --- */
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
    e->spec = spec_load(e->arena, o->spec, o->sets, o->nsets);
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

static bool is_jit(const EngineOptions *o)
{
    BackendOptions unused = { 0 };
    return backend_kind(o->backend, &unused) == BackendJit;
}

int engine_plan(Engine *e, const EngineOptions *o)
{
    Fault why;
    int code = engine_graph(e, o, stderr);
    if (code)
        return code;
    if (!target_find(&e->target, o->march ? o->march : "native", o->width,
                     o->tile, &why))
        return report_fault(&why);
    if (o->few)
        e->target.few_bytes = 0;
    if (is_jit(o)) /* libtcc's loops cost more than is gained */
        e->target.near_few = 0;
    if (o->part_work)
        e->target.part_work = o->part_work;
    code = engine_choices(e);
    if (code)
        return code;
    e->plan = plan_model(e->arena, e->graph, &e->target, e->choices,
                         o->keep_all);
    engine_say_others(e);
    return ExitDone;
}

/* ---------------------------------------------- weights, vocabularies --- */
void print_report(Report *r)
{
    for (const char *line = r->text; line && *line;) {
        int n = (int)strcspn(line, "\n");
        fprintf(stderr, "attnc: %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
    report_free(r);
}

int engine_file(Engine *e, Report *report)
{
    Fault why;
    const char *path = e->options.weights;
    if (!path && e->spec->weights)
        path = spec_path(e->arena, e->spec->weights_pos, e->spec->weights);
    if (!path)
        return ExitDone;
    e->file = safetensors_open(path, &why);
    if (!e->file)
        return report_fault(&why);
    if (weights_check(&e->plan->pack, e->file, report))
        return ExitDone;
    if (report->cut)
        fail(ExitResource, "%s: out of memory while it is checked", path);
    return ExitInput;
}

int engine_weights(Engine *e)
{
    Report report = { 0 };
    int code = engine_file(e, &report);
    print_report(&report);
    if (code)
        return code;
    e->packed = aligned_memory(e->arena, e->plan->pack.bytes);
    weights_pack(&e->plan->pack, e->file, e->options.seed, e->packed);
    return ExitDone;
}

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

/* ---------------------------------------------------------------- run --- */
static void open_pool(Engine *e, int64_t threads)
{
    if (threads < 0)
        threads = cores_usable();
    if (threads < 2)
        return;
    e->pool = pool_open(threads);
    if (!e->pool)
        fail(ExitResource, "out of memory for %lld threads",
             (long long)threads);
    e->parallel = pool_parallel(e->pool);
    if (pool_refused(e->pool))
        warning_at((Pos){ 0 }, "--threads %lld: the system gives %lld (%s)",
                   (long long)threads, (long long)e->parallel->parts,
                   pool_refused(e->pool));
}

int engine_open(Engine *e, const EngineOptions *o)
{
    Fault why;
    int code = engine_plan(e, o);
    if (!code)
        code = engine_weights(e);
    if (!code)
        code = engine_vocab(e);
    if (code)
        return code;
    BackendOptions with = { .cc = o->cc, .level = o->level };
    BackendKind kind = backend_kind(o->backend, &with);
    if (!backend_load(&e->backend, e->arena, e->plan, kind, &with, &why))
        return report_fault(&why);
    const struct attn_model *m = e->backend.model;
    if (m->weights_bytes != e->plan->pack.bytes)
        die("the compiled model takes %lld bytes of weights, the plan %lld",
            (long long)m->weights_bytes, (long long)e->plan->pack.bytes);
    e->bound = aligned_memory(e->arena, m->bound_bytes);
    m->bind(e->bound, e->packed);
    open_pool(e, o->threads);
    return ExitDone;
}

void engine_close(Engine *e)
{
    pool_close(e->pool);
    backend_unload(&e->backend);
    if (e->file)
        safetensors_close(e->file);
    free(e->source.block);
    free(e->target_vocab.block);
    arena_free(e->arena);
    *e = (Engine){ 0 };
}
