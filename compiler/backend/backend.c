/* backend.c: loads the model of a plan, compiled by libtcc or by a C
 * compiler. */
#include <dlfcn.h>
#include <string.h>

#include "backend/tier.h"
#include "base/progress.h"
#include "emit/emit.h"

/* ---- processor ---- */
bool target_runs_here(const Target *target, Fault *why)
{
    Cpu here;
    cpu_find(&here);
    const char *lacks = target_lacks(target, &here);
    return !lacks
        || fault(why, ExitBackend,
                 "this processor cannot run code for %s: it "
                 "lacks %s; use --march=native",
                 target->name, lacks);
}

/* ---- loading ---- */
BackendKind backend_kind(const char *name, BackendOptions *o)
{
    if (!name || strcmp(name, "jit") == 0)
        return BackendJit;
    if (strcmp(name, "auto") == 0)
        return BackendAuto;
    if (strcmp(name, "clang") != 0) /* "clang" means the first clang found, like
                                     * NULL */
        o->cc = name;
    return BackendCc;
}

bool backend_text(ObjectText *to, Arena *a, const Plan *p,
                  const BackendOptions *o, Fault *why)
{
    EmitOptions emit = { .mode = EmitModel, .timers = o->timers };
    *to = (ObjectText){
        .symbol = arena_printf(a, "%s_model", p->prefix),
        .what = arena_printf(a, "%s for %s", p->prefix, p->target.name),
        .cc = { .compiler = cc_find(a, o->cc, why),
                .level = o->level ? o->level : "2",
                .march = p->target.march,
                .features = p->target.features },
    };
    if (!to->cc.compiler)
        return false;
    to->text.at = emit_model(a, p, &emit, &to->text.n);
    return true;
}

static bool load_jit(Backend *b, Arena *a, const Plan *p,
                     const BackendOptions *o, Fault *why)
{
    EmitOptions emit = { .mode = EmitJit, .timers = o->timers };
    size_t n;
    const char *text = emit_model(a, p, &emit, &n);
    const char *symbol = arena_printf(a, "%s_model", p->prefix);
    return (o->perf ? jit_load_named : jit_load)(&b->jit, &b->model, text,
                                                 symbol, &p->target, why);
}

static bool load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                 const BackendOptions *o, Fault *why)
{
    ObjectText text;
    *b = (Backend){ 0 };
    if (!target_runs_here(&p->target, why))
        return false;
    if (kind != BackendCc)
        return load_jit(b, a, p, o, why);
    if (!backend_text(&text, a, p, o, why)
        || !objcache_load(a, b, &text, NULL, why))
        return false;
    if (o->perf)
        objcache_names(b);
    return true;
}

bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why)
{
    progress_begin(kind == BackendCc ? "" : "libtcc");
    const bool ok = load(b, a, p, kind, o, why);
    progress_end();
    return ok;
}

void backend_unload(Backend *b)
{
    tier_close(b->tier);
    jit_unload(&b->jit);
    if (b->library)
        dlclose(b->library);
    *b = (Backend){ 0 };
}

void *backend_bind(const Backend *b, Arena *a, const void *packed)
{
    if (b->tier)
        return tier_bind(b->tier, packed);
    const uintptr_t align = ATTN_ALIGN;
    const uintptr_t at = (uintptr_t)arena_alloc(a, (size_t)b->model->bound_bytes
                                                       + align);
    void *bound = (void *)((at + align - 1) / align * align);
    b->model->bind(bound, packed);
    return bound;
}
