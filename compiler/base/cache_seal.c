/* cache_seal.c: the seal at the end of a cache file: what the file is, and the
 * hashes that prove it complete. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/cache_file.h"

static const char magic[16] = "ATTNC-CACHE-001";

const char *const cache_ending[CacheKinds] = {
    [CacheObject] = "so",
    [CacheWeights] = "weights",
    [CacheNote] = "note",
};

static uint64_t hash_of_seal(const CacheSeal *s, const char *what)
{
    return XXH3_64bits_withSeed(what, s->what_n,
                                XXH3_64bits(s, offsetof(CacheSeal, own)));
}

bool cache_seal_read(CacheSeal *s, const void *file, size_t n)
{
    const char *at = file;
    if (n < sizeof *s)
        return false;
    memcpy(s, at + n - sizeof *s, sizeof *s);
    return memcmp(s->magic, magic, sizeof magic) == 0
        && s->bytes <= n - sizeof *s && s->bytes + s->what_n == n - sizeof *s
        && s->own == hash_of_seal(s, at + s->bytes);
}

bool cache_content_matches(const CacheSeal *s, const void *file)
{
    const XXH128_hash_t h = XXH3_128bits(file, s->bytes);
    return h.high64 == s->content[0] && h.low64 == s->content[1];
}

CacheSeal cache_seal_of(const CachePut *p)
{
    const XXH128_hash_t h = XXH3_128bits(p->at, p->bytes);
    CacheSeal s = { .content = { h.high64, h.low64 },
                    .bytes = p->bytes,
                    .made = (int64_t)time(NULL),
                    .what_n = (uint32_t)strlen(p->what),
                    .kind = (uint32_t)p->kind };
    memcpy(s.magic, magic, sizeof magic);
    s.own = hash_of_seal(&s, p->what);
    return s;
}

bool cache_file_is_ours(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid()
        && (st->st_mode & 022) == 0;
}
