/* objcache.c: caches compiled shared objects under a hash of the text, the
 * flags and the compiler. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"

static bool load_object(Backend *b, const char *path, const char *symbol,
                        Fault *why)
{
    errno = 0;
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *at = lib ? dlsym(lib, symbol) : NULL;
    if (!at) {
        fault(why, errno == ENOMEM ? ExitResource : ExitBackend,
              "cannot load the compiled model: %s", dlerror());
        if (lib)
            dlclose(lib);
        return false;
    }
    const struct attn_model *(*get)(void);
    memcpy(&get, &at, sizeof get);
    b->library = lib;
    b->model = get();
    return true;
}

/* Returns the hash of everything that affects the object's contents. */
static CacheKey key_of(Arena *a, const ObjectText *t, const char *version)
{
    const char *flags = cc_flags(a, &t->cc, CcShared);
    return cache_key((CachePiece[]){ { version, strlen(version) },
                                     { flags, strlen(flags) },
                                     { t->text.at, t->text.n } },
                     3);
}

bool objcache_find(Arena *a, Backend *b, CacheKey key, const char *symbol)
{
    CacheEntry e;
    Fault unused;
    if (!cache_get(&e, a, CacheObject, key, CacheVerified))
        return false;
    const bool ok = load_object(b, e.path, symbol, &unused);
    cache_close(&e); /* a loaded object stays valid if its file is removed */
    return ok;
}

/* Caches the object. A failure is only a warning. */
static void keep(Arena *a, const char *object, CacheKey key, const char *what)
{
    File f;
    Fault why;
    if (!file_read_for(UseOwn, &f, object, SIZE_MAX - 1, &why))
        return;
    const CachePut put = { CacheObject, key, .what = what, .at = f.at,
                           .bytes = f.size };
    if (cache_put(a, &put, &why) == CacheFailed)
        warning_at((Pos){ 0 }, "%s: compiled models are not kept", why.text);
    file_close(&f);
}

/* Loads the new object. Prefers the file in the cache, because profilers and
 * debuggers read it. */
static bool load_made(Arena *a, Backend *b, const char *object, CacheKey key,
                      const char *symbol, const char *what, Fault *why)
{
    Backend kept = { 0 };
    if (!load_object(b, object, symbol, why))
        return false;
    keep(a, object, key, what);
    if (objcache_find(a, &kept, key, symbol)) {
        dlclose(b->library);
        *b = kept;
    }
    return true;
}

/* Compiles in a temporary directory, so that a full or read-only cache does no
 * harm. An object that fails to load is not cached. */
static bool make(Arena *a, Backend *b, const ObjectText *t, CacheKey key,
                 const char *version, Fault *why)
{
    TempFolder temp;
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, "%s: cannot make a folder: %s; set TMPDIR",
                     temp_root(), strerror(errno));
    const char *object = arena_printf(a, "%s/model.so", temp.path);
    const char *what = arena_printf(a, "%s, %s -O%s", t->what, version,
                                    t->cc.level);
    interrupt_watch(); /* an interrupt must not leave the directory behind */
    const bool ok = cc_compile(a, &t->cc, CcShared, t->text, object, why)
                 && load_made(a, b, object, key, t->symbol, what, why);
    temp_close(&temp);
    interrupt_end();
    return ok;
}

bool objcache_load(Arena *a, Backend *b, const ObjectText *t, CacheKey *key,
                   Fault *why)
{
    const char *version = cc_version(a, t->cc.compiler, why);
    if (!version)
        return false;
    const CacheKey own = key_of(a, t, version);
    if (key)
        *key = own;
    return objcache_find(a, b, own, t->symbol)
        || make(a, b, t, own, version, why);
}

void objcache_names(const Backend *b)
{
    Dl_info of;
    const char *path = dladdr(b->model, &of) ? of.dli_fname : "";
    if (access(path, R_OK) == 0)
        note_once("functions of the C compiler's code are in %s, where "
                  "profilers and debuggers look for them",
                  path);
    else
        note_once("functions of the C compiler's code have no names here: its "
                  "object is in no cache");
}
