/* backend.c: a plan becomes a loaded model, by libtcc or by a C compiler. */
#include <dlfcn.h>
#include <string.h>

#include "backend.h"
#include "emit.h"

/* ----------------------------------------------------------- processor --- */
#if defined __x86_64__
static bool has_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_v4(void)
{
    return has_v3() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static bool runs(const char *march)
{
    if (strcmp(march, "x86-64-v4") == 0)
        return has_v4();
    if (strcmp(march, "x86-64-v3") == 0)
        return has_v3();
    return strncmp(march, "x86-64", 6) == 0 || strcmp(march, "generic") == 0;
}
#else
static bool runs(const char *march)
{
    Fault unused;
    Target here;
    return strcmp(march, "generic") == 0 ||
           (target_find(&here, "native", 0, NULL, &unused) &&
            strcmp(here.march, march) == 0);
}
#endif

bool target_runs_here(const Target *target, Fault *why)
{
    return runs(target->march) ||
           fault(why, ExitBackend, "this processor cannot run code for %s: "
                 "use --march=native", target->march);
}

/* ------------------------------------------------------------- loading --- */
BackendKind backend_kind(const char *name, BackendOptions *o)
{
    if (!name || strcmp(name, "jit") == 0)
        return BackendJit;
    if (strcmp(name, "clang") != 0)      /* "clang": the preferred one */
        o->cc = name;
    return BackendCc;
}

bool backend_load(Backend *b, Arena *a, const Plan *p, BackendKind kind,
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
                     .march = p->target.march };
    cc.compiler = cc_find(a, o->cc, why);
    return cc.compiler && objcache_load(a, &b->library, &b->model, text, n,
                                        symbol, &cc, why);
}

void backend_unload(Backend *b)
{
    jit_unload(&b->jit);
    if (b->library)
        dlclose(b->library);
    *b = (Backend){ 0 };
}
