/* engine_host.c: finds the target, compiler and number of threads that the
 * options select. */
#include "engine/tiers.h"

/* Returns "libtcc", or the C compiler's version and -O level; NULL if that
 * compiler is not installed. */
static const char *compiler_name(Arena *a, const EngineOptions *o, Fault *why)
{
    BackendOptions with = { .cc = o->cc, .level = o->level };
    if (backend_kind(o->backend, &with) != BackendCc)
        return "libtcc";
    const char *path = cc_find(a, with.cc, why);
    const char *version = path ? cc_version(a, path, why) : NULL;
    return version ? arena_printf(a, "%s -O%s", version,
                                  with.level ? with.level : "2")
                   : NULL;
}

int engine_threads(const EngineOptions *o)
{
    const int64_t n = o->threads < 0 ? attn_cores() : o->threads;
    return n < 1 ? 1 : (int)n;
}

bool engine_host(Arena *a, const EngineOptions *o, const Target *t, Host *to,
                 Fault *why)
{
    const char *compiler = compiler_name(a, o, why);
    if (compiler)
        *to = host_here(a, t, engine_threads(o), compiler);
    return compiler != NULL;
}

static bool is_jit(const EngineOptions *o)
{
    BackendOptions unused = { 0 };
    return backend_kind(o->backend, &unused) != BackendCc;
}

bool engine_target(const EngineOptions *o, Target *t, Fault *why)
{
    if (!target_find(t, o->march ? o->march : "native", o->width, o->tile, why))
        return false;
    if (o->small_m)
        t->small_m_bytes = 0;
    if (is_jit(o)) /* with libtcc, special loop nests cost more than they
                    * gain */
        t->near_small_m = 0;
    if (o->part_work)
        t->part_work = o->part_work;
    return true;
}
