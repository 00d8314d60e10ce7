/* backend.c: a plan becomes a loaded model, by libtcc or by a C compiler. */
#include <dlfcn.h>
#include <string.h>

#include "backend/backend.h"
#include "base/progress.h"
#include "emit/emit.h"

/* ----------------------------------------------------------- processor --- */
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

/* ------------------------------------------------------------- loading --- */
BackendKind backend_kind(const char *name, BackendOptions *o)
{
    if (!name || strcmp(name, "jit") == 0)
        return BackendJit;
    if (strcmp(name, "clang") != 0) /* "clang": the preferred one */
        o->cc = name;
    return BackendCc;
}

static bool load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                 const BackendOptions *o, Fault *why)
{
    *b = (Backend){ 0 };
    if (!target_runs_here(&p->target, why))
        return false;
    EmitOptions emit = { .mode = kind == BackendJit ? EmitJit : EmitAot,
                         .timers = o->timers };
    size_t n;
    const char *text = emit_model(a, p, &emit, &n);
    const char *symbol = arena_printf(a, "%s_model", p->prefix);
    if (kind == BackendJit)
        return jit_load(&b->jit, &b->model, text, symbol, &p->target, why);
    CcOptions cc = { .level = o->level ? o->level : "2",
                     .march = p->target.march,
                     .features = p->target.features };
    cc.compiler = cc_find(a, o->cc, why);
    return cc.compiler
        && objcache_load(a, b, (CText){ text, n }, symbol, &cc,
                         arena_printf(a, "%s for %s", p->prefix,
                                      p->target.name),
                         why);
}

bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
                  const BackendOptions *o, Fault *why)
{
    progress_begin(kind == BackendJit ? "libtcc" : "");
    const bool ok = load(b, a, p, kind, o, why);
    progress_end();
    return ok;
}

void backend_unload(Backend *b)
{
    jit_unload(&b->jit);
    if (b->library)
        dlclose(b->library);
    *b = (Backend){ 0 };
}
