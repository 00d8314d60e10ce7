/* user_cache.h: a cache, in user_dir(), of files that can be rebuilt, such as
 * compiled objects and packed weights. A file is named KEY.so or similar; KEY
 * is a hash of everything that determines the contents. The contents are
 * followed by a seal: a one-line description, and hashes of both. A rename
 * publishes a complete file; a truncated or changed file counts as absent. If
 * the total size exceeds the limit, the least recently used files are
 * removed. */
#ifndef ATTNC_USER_CACHE_H
#define ATTNC_USER_CACHE_H

#include "base/base.h"

typedef enum {
    CacheObject,  /* a shared object */
    CacheWeights, /* weights packed for a plan */
    CacheNote,    /* a line of text that is expensive to compute */
    CacheKinds
} CacheKind;

typedef struct { /* 32 hexadecimal digits and '\0' */
    char hex[33];
} CacheKey;
typedef struct {
    const void *at;
    size_t n;
} CachePiece;
/* Returns a hash of the pieces and their lengths. */
CacheKey cache_key(const CachePiece *pieces, int n);

/* ---- user_cache.c ---- */
typedef enum {
    CacheVerified, /* checks the content's hash: about 10 GB/s */
    CacheSize      /* checks only the seal and the size */
} CacheCheck;

typedef struct {
    const char *path; /* path for dlopen(); the file may be removed by now */
    const void *at;   /* the content: read-only memory, aligned to a page */
    size_t bytes;
    File file;
} CacheEntry;
/* Finds and maps a file and marks it as just used. Returns false, without a
 * message, if the file is missing or cannot be trusted. The mapping lasts until
 * cache_close(), even if the file is removed. */
bool cache_get(CacheEntry *e, Arena *a, CacheKind kind, CacheKey key,
               CacheCheck check);
void cache_close(CacheEntry *e);

typedef struct {
    CacheKind kind;
    CacheKey key;
    const char *what; /* one-line description for people */
    const void *at;
    size_t bytes;
    bool sync; /* flush to disk before renaming; required if readers check only
                * CacheSize */
} CachePut;
typedef enum {
    CacheNew,
    CacheNot,   /* larger than the limit; no message is needed */
    CacheFailed /* failed, with the reason in *why */
} CachePutResult;
/* Writes a file. Any number of processes may put and get files at the same
 * time. */
CachePutResult cache_put(Arena *a, const CachePut *p, Fault *why);
/* True if a file of this size fits within the limit. */
bool cache_takes(size_t bytes);
void cache_remove(Arena *a, CacheKind kind, CacheKey key);

/* ---- cache_list.c ---- */

/* Returns the limit for the total size in bytes: ATTNC_CACHE_LIMIT, e.g.
 * "500M", or 2 GiB. */
uint64_t cache_limit(void);

typedef enum {
    CacheSound,   /* passed the checks that were made */
    CacheDamaged, /* truncated, changed, or from another version of attnc */
    CacheOpen,    /* other users can write the file */
    CacheLeft,    /* left by a writer that was killed more than an hour ago */
    CacheForeign  /* not a file of the cache; never touched */
} CacheState;
typedef struct {
    const char *name, *what; /* `what` may be "" */
    CacheKind kind;          /* kind of file; unset for names without a key */
    CacheState state;
    uint64_t bytes;
    int64_t made, used_ns; /* time of writing in seconds and of last use in
                              nanoseconds, since 1970 */
} CacheFile;
typedef struct {
    const char *folder; /* NULL if the folder is missing or not trusted */
    VEC(CacheFile) at;  /* most recently used first */
    uint64_t bytes;     /* total size without foreign files */
} CacheList;
/* Lists the folder. If `whole` is true, also checks the hashes of the
 * contents. */
void cache_list(CacheList *l, Arena *a, bool whole);
/* Removes the files for which `is` returns true (NULL: none), then the least
 * recently used files until the rest is within `limit`. Stores what it removed
 * in *removed. Never removes foreign files. */
void cache_clean(CacheList *removed, Arena *a,
                 bool (*is)(const CacheFile *f, const void *with),
                 const void *with, uint64_t limit, bool dry_run);
const char *cache_kind_name(CacheKind kind);

#endif
