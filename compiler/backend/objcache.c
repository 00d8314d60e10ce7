/* objcache.c: shared objects compiled once, kept by content.
 *
 * $XDG_CACHE_HOME/attnc/KEY.so, KEY a hash of the text, flags and compiler.
 * A 32-byte trailer behind the object (loaders do not look there) holds a hash
 * of the object's bytes: one rename puts both in place, and what was cut or
 * changed is compiled again. A folder or file that others could have written
 * is not used.                                                              */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "backend/backend.h"
#include "base/user_dir.h"

typedef struct {
    char magic[16];
    uint64_t high, low;
} Trailer;
static const char trailer_magic[16] = "ATTNC-OBJECT-01";

static const char *hex(Arena *a, XXH128_hash_t h)
{
    return arena_printf(a, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
}

/* The cache's folder, made when absent. NULL, with a warning: none usable. */
static const char *cache_folder(Arena *a)
{
    const char *path = user_dir(a);
    if (path && user_dir_make(a, path))
        return path;
    if (!path)
        warning_at((Pos){ 0 }, "no HOME: compiled models are not kept");
    else
        warning_at((Pos){ 0 },
                   "%s is not a folder that only you can write: "
                   "compiled models are not kept",
                   quote(path));
    return NULL;
}

/* ------------------------------------------------------------ contents --- */
static bool seal_matches(const char *file, size_t n)
{
    Trailer t;
    memcpy(&t, file + n - sizeof t, sizeof t);
    XXH128_hash_t h = XXH3_128bits(file, n - sizeof t);
    return memcmp(t.magic, trailer_magic, sizeof t.magic) == 0
        && t.high == h.high64 && t.low == h.low64;
}

/* Is there an object, ours, as it was sealed? */
static bool usable(Arena *a, const char *path)
{
    const char *file;
    size_t n;
    Fault unused;
    return user_dir_read(a, path, SIZE_MAX, &file, &n, &unused)
        && n > sizeof(Trailer) && seal_matches(file, n);
}

/* A copy of the object, and its seal, under its name in the cache: a reader
 * sees a whole one or none, and two writers at once do no harm.             */
static bool keep(const char *path, const char *object, Fault *why)
{
    File f;
    Output o;
    if (!file_read(&f, object, SIZE_MAX - 1, why))
        return false;
    XXH128_hash_t h = XXH3_128bits(f.at, f.size);
    Trailer t = { .high = h.high64, .low = h.low64 };
    memcpy(t.magic, trailer_magic, sizeof t.magic);
    outputs_sweep(path);
    bool ok = output_open(&o, path, why) && output_write(&o, f.at, f.size, why)
           && output_write(&o, &t, sizeof t, why) && fchmod(o.fd, 0700) == 0
           && output_commit(&o, why);
    file_close(&f);
    return ok;
}

/* ------------------------------------------------------------- loading --- */
/* Everything that decides the object's bytes. */
static const char *key_of(Arena *a, CText text, const CcOptions *o, Fault *why)
{
    const char *version = cc_version(a, o->compiler, why);
    if (!version)
        return NULL;
    const char *with = arena_printf(a, "%s\n%s\n", version,
                                    cc_flags(a, o, CcShared));
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        fail(ExitResource, "out of memory");
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, with, strlen(with));
    XXH3_128bits_update(state, text.at, text.n);
    XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return hex(a, h);
}

static bool load(Backend *b, const char *path, const char *symbol, Fault *why)
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

/* The object's name in the cache; NULL, with *why or a warning: none. */
static const char *path_of(Arena *a, CText text, const CcOptions *o, Fault *why)
{
    const char *folder = cache_folder(a);
    const char *key = folder ? key_of(a, text, o, why) : NULL;
    return key ? arena_printf(a, "%s/%s.so", folder, key) : NULL;
}

/* The object that was made is `path` in the cache; or, where that is NULL or
 * cannot be written, stays where it was made until it is loaded.             */
static bool keep_and_load(Backend *b, const char *object, const char *path,
                          const char *symbol, Fault *why)
{
    const bool kept = path && keep(path, object, why);
    if (path && !kept)
        warning_at((Pos){ 0 }, "%s: compiled models are not kept", why->text);
    const bool ok = load(b, kept ? path : object, symbol, why);
    if (kept && !ok)
        unlink(path);
    return ok;
}

/* Compiles among the temporary files, so that a cache that is full or cannot
 * be written does no harm.                                                  */
bool objcache_load(Arena *a, Backend *b, CText text, const char *symbol,
                   const CcOptions *o, Fault *why)
{
    const char *path = path_of(a, text, o, why);
    if (path && usable(a, path))
        return load(b, path, symbol, why);
    TempFolder temp;
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, "%s: cannot make a folder: %s; set TMPDIR",
                     temp_root(), strerror(errno));
    const char *object = arena_printf(a, "%s/model.so", temp.path);
    interrupt_watch(); /* so that the folder goes */
    const bool ok = cc_compile(a, o, CcShared, text, object, why)
                 && keep_and_load(b, object, path, symbol, why);
    temp_close(&temp);
    interrupt_end();
    return ok;
}
