/* user_cache.c: finds cache files, and writes new ones under a temporary name
 * before renaming them. A mapped file stays readable when it is removed or
 * replaced. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cache_file.h"
#include "base/user_dir.h"

CacheKey cache_key(const CachePiece *pieces, int n)
{
    CacheKey key;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        fail(ExitResource, "out of memory");
    XXH3_128bits_reset(state);
    for (int i = 0; i < n; i++) {
        const uint64_t bytes = pieces[i].n;
        XXH3_128bits_update(state, &bytes, sizeof bytes);
        XXH3_128bits_update(state, pieces[i].at, pieces[i].n);
    }
    const XXH128_hash_t h = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    snprintf(key.hex, sizeof key.hex, "%016llx%016llx",
             (unsigned long long)h.high64, (unsigned long long)h.low64);
    return key;
}

static const char *path_of(Arena *a, const char *folder, CacheKind kind,
                           CacheKey key)
{
    return arena_printf(a, "%s/%s.%s", folder, key.hex, cache_ending[kind]);
}

/* ---- get ---- */
static bool is_sealed(const CacheEntry *e, CacheKind kind, CacheCheck check)
{
    CacheSeal s;
    return cache_seal_read(&s, e->file.at, e->file.size)
        && s.kind == (uint32_t)kind
        && (check == CacheSize || cache_content_matches(&s, e->file.at));
}

bool cache_get(CacheEntry *e, Arena *a, CacheKind kind, CacheKey key,
               CacheCheck check)
{
    struct stat st;
    Fault unused;
    const char *folder = user_dir(a);
    *e = (CacheEntry){ 0 };
    if (!folder || !user_dir_trusted(folder))
        return false;
    e->path = path_of(a, folder, kind, key);
    if (lstat(e->path, &st) != 0 || !cache_file_is_ours(&st)
        || !file_map_for(UseOwn, &e->file, e->path, &unused))
        return false;
    if (!is_sealed(e, kind, check)) {
        cache_close(e);
        return false;
    }
    CacheSeal s;
    cache_seal_read(&s, e->file.at, e->file.size);
    e->at = e->file.at;
    e->bytes = s.bytes;
    utimensat(AT_FDCWD, e->path, NULL, AT_SYMLINK_NOFOLLOW);
    return true;
}

void cache_close(CacheEntry *e)
{
    file_close(&e->file);
    *e = (CacheEntry){ 0 };
}

/* ---- put ---- */
static bool write_all(const CachePut *p, const char *path, Fault *why)
{
    Output o;
    const CacheSeal s = cache_seal_of(p);
    if (!output_open_for(UseOwn, &o, path, why)
        || !output_write(&o, p->at, p->bytes, why)
        || !output_write(&o, p->what, s.what_n, why)
        || !output_write(&o, &s, sizeof s, why))
        return false;
    fchmod(o.fd, p->kind == CacheObject ? 0700 : 0600);
    /* Without fsync, a power failure may leave an empty file. CacheVerified
     * detects that by the hash. */
    return (p->sync ? output_commit : output_commit_unsynced)(&o, why);
}

bool cache_takes(size_t bytes)
{
    return bytes <= cache_limit();
}

CachePutResult cache_put(Arena *a, const CachePut *p, Fault *why)
{
    const char *folder = user_dir(a);
    CacheList removed;
    if (!cache_takes(p->bytes + strlen(p->what) + sizeof(CacheSeal)))
        return CacheNot;
    if (!folder) {
        fault(why, ExitIO, "no HOME");
        return CacheFailed;
    }
    if (!user_dir_make(a, folder)) {
        fault(why, ExitIO, "%s is not a folder that only you can write",
              quote(folder));
        return CacheFailed;
    }
    const char *path = path_of(a, folder, p->kind, p->key);
    outputs_sweep(path);
    if (!write_all(p, path, why))
        return CacheFailed;
    cache_clean(&removed, a, NULL, NULL, cache_limit(), false);
    return CacheNew;
}

void cache_remove(Arena *a, CacheKind kind, CacheKey key)
{
    const char *folder = user_dir(a);
    if (folder && user_dir_trusted(folder))
        unlink(path_of(a, folder, kind, key));
}
