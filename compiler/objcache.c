/* objcache.c: shared objects compiled once, kept by content.
 *
 * $XDG_CACHE_HOME/attnc/KEY.so, KEY a hash of the text, flags and compiler.
 * A 32-byte trailer behind the object (loaders do not look there) holds a hash
 * of the object's bytes: one rename puts both in place, and what was cut or
 * changed is compiled again. A folder or file that others could have written
 * is not used.                                                              */
#define _GNU_SOURCE              /* O_DIRECTORY, O_NOFOLLOW, mkdtemp */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "backend.h"

typedef struct { char magic[16]; uint64_t high, low; } Trailer;
static const char trailer_magic[16] = "ATTNC-OBJECT-01";

static const char *hex(Arena *a, XXH128_hash_t h)
{
    return arena_printf(a, "%016llx%016llx", (unsigned long long)h.high64,
                        (unsigned long long)h.low64);
}

/* -------------------------------------------------------------- trust --- */
static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

static bool trusted_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && is_ours(&st) &&
              access(path, W_OK) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* The cache's folder, made when absent. NULL, with a warning: none usable. */
static const char *cache_folder(Arena *a)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!base || *base != '/')
        base = home && *home == '/' ? arena_printf(a, "%s/.cache", home) : NULL;
    if (!base) {
        warning_at((Pos){ 0 }, "no HOME: compiled models are not kept");
        return NULL;
    }
    const char *path = arena_printf(a, "%s/attnc", base);
    mkdir(base, 0700);
    mkdir(path, 0700);
    if (trusted_folder(path))
        return path;
    warning_at((Pos){ 0 }, "%s is not a folder that only you can write: "
               "compiled models are not kept", quote(path));
    return NULL;
}

/* ------------------------------------------------------------ contents --- */
static bool read_all(int fd, char *to, size_t n)
{
    while (n > 0) {
        ssize_t r = read(fd, to, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return false;
        to += r;
        n -= (size_t)r;
    }
    return true;
}

static bool seal_matches(const char *file, size_t n)
{
    Trailer t;
    memcpy(&t, file + n - sizeof t, sizeof t);
    XXH128_hash_t h = XXH3_128bits(file, n - sizeof t);
    return memcmp(t.magic, trailer_magic, sizeof t.magic) == 0 &&
           t.high == h.high64 && t.low == h.low64;
}

/* Is there an object, ours, as it was sealed? */
static bool usable(Arena *a, const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              is_ours(&st) && st.st_size > (off_t)sizeof(Trailer);
    if (ok) {
        size_t n = (size_t)st.st_size;
        char *file = arena_alloc(a, n);
        ok = read_all(fd, file, n) && seal_matches(file, n);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool append_seal(const char *path, Fault *why)
{
    File f;
    if (!file_read(&f, path, SIZE_MAX - 1, why))
        return false;
    XXH128_hash_t h = XXH3_128bits(f.at, f.size);
    Trailer t = { .high = h.high64, .low = h.low64 };
    memcpy(t.magic, trailer_magic, sizeof t.magic);
    file_close(&f);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, &t, sizeof t) == (ssize_t)sizeof t;
    if (fd >= 0 && close(fd) != 0)
        ok = false;
    return ok || fault(why, ExitIO, "%s: cannot write: %s", path,
                       strerror(errno));
}

/* ------------------------------------------------------------- loading --- */
/* Everything that decides the object's bytes. */
static const char *key_of(Arena *a, const char *text, size_t n,
                          const CcOptions *o, Fault *why)
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
    XXH3_128bits_update(state, text, n);
    XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return hex(a, h);
}

static bool load(void **library, const struct attn_model **model,
                 const char *path, const char *symbol, Fault *why)
{
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *at = lib ? dlsym(lib, symbol) : NULL;
    if (!at) {
        fault(why, ExitBackend, "cannot load the compiled model: %s",
              dlerror());
        if (lib)
            dlclose(lib);
        return false;
    }
    const struct attn_model *(*get)(void);
    memcpy(&get, &at, sizeof get);
    *library = lib;
    *model = get();
    return true;
}

/* Compiles beside the final name, seals, renames: a reader sees a whole
 * object or none, and two compilers at once do no harm.                     */
static bool make_object(Arena *a, const char *path, const char *text, size_t n,
                        const CcOptions *o, Fault *why)
{
    const char *temp = arena_printf(a, "%s.%ld", path, (long)getpid());
    bool ok = cc_compile(a, o, CcShared, text, n, temp, why) &&
              chmod(temp, 0700) == 0 && append_seal(temp, why);
    if (ok && rename(temp, path) != 0)
        ok = fault(why, ExitIO, "%s: cannot rename: %s", path,
                   strerror(errno));
    if (!ok)
        unlink(temp);
    return ok;
}

/* Without a cache: a private folder that is gone when the object is loaded. */
static bool load_uncached(Arena *a, void **library,
                          const struct attn_model **model, const char *text,
                          size_t n, const char *symbol, const CcOptions *o,
                          Fault *why)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(a, "%s/attnc-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return fault(why, ExitIO, "%s: cannot make a folder: %s", dir,
                     strerror(errno));
    const char *path = arena_printf(a, "%s/model.so", dir);
    bool ok = make_object(a, path, text, n, o, why) &&
              load(library, model, path, symbol, why);
    unlink(path);
    rmdir(dir);
    return ok;
}

bool objcache_load(Arena *a, void **library, const struct attn_model **model,
                   const char *text, size_t n, const char *symbol,
                   const CcOptions *o, Fault *why)
{
    const char *folder = cache_folder(a);
    if (!folder)
        return load_uncached(a, library, model, text, n, symbol, o, why);
    const char *key = key_of(a, text, n, o, why);
    if (!key)
        return false;
    const char *path = arena_printf(a, "%s/%s.so", folder, key);
    if (usable(a, path) || make_object(a, path, text, n, o, why))
        return load(library, model, path, symbol, why);
    if (why->code != ExitIO)
        return false;
    warning_at((Pos){ 0 }, "%s: compiled models are not kept", why->text);
    return load_uncached(a, library, model, text, n, symbol, o, why);
}
