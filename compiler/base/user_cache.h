/* user_cache.h: files that can be made again, kept by content in user_dir()
 * from run to run: compiled objects, packed weights. A file is KEY.so or the
 * like, KEY a hash of all that decides its content. Behind the content is a
 * seal: what it is, for people, and hashes of both; one rename puts all in
 * place, and what was cut or changed counts as absent. What was used longest
 * ago is removed where the files together are more than the limit. */
#ifndef ATTNC_USER_CACHE_H
#define ATTNC_USER_CACHE_H

#include "base/base.h"

typedef enum {
    CacheObject,  /* a shared object */
    CacheWeights, /* weights as a plan packs them */
    CacheNote,    /* a line of text that costs much to find out */
    CacheKinds
} CacheKind;

typedef struct { /* 32 digits and '\0' */
    char hex[33];
} CacheKey;
typedef struct {
    const void *at;
    size_t n;
} CachePiece;
/* Of these pieces, each with its length. */
CacheKey cache_key(const CachePiece *pieces, int n);

/* ---- user_cache.c ---- */
typedef enum {
    CacheWhole, /* the content's hash is looked at: about 10 GB a second */
    CacheSize   /* the seal and the size alone */
} CacheCheck;

typedef struct {
    const char *path; /* of the file, for dlopen(), where it is still there */
    const void *at;   /* the content, read-only, from a page's start */
    size_t bytes;
    File file;
} CacheEntry;
/* Finds and maps it; it is the last used one from now on. False, in silence:
 * there is none, or none that can be believed. What is mapped stays until
 * cache_close(), should the file be removed meanwhile.                       */
bool cache_get(CacheEntry *e, Arena *a, CacheKind kind, CacheKey key,
               CacheCheck check);
void cache_close(CacheEntry *e);

typedef struct {
    CacheKind kind;
    CacheKey key;
    const char *what; /* one line for people */
    const void *at;
    size_t bytes;
    bool sync; /* it is on the disk before it has its name: what is got by
                  CacheSize needs that */
} CachePut;
typedef enum {
    CacheKept,
    CacheNot,   /* the limit is less than that: nothing to be said */
    CacheFailed /* with *why */
} CachePutResult;
/* Any number of processes may put and get at once. */
CachePutResult cache_put(Arena *a, const CachePut *p, Fault *why);
/* Would so many bytes be kept? */
bool cache_takes(size_t bytes);
void cache_remove(Arena *a, CacheKind kind, CacheKey key);

/* ---- cache_list.c ---- */

/* Of all files, bytes: ATTNC_CACHE_LIMIT, as "500M"; else 2 GiB. */
uint64_t cache_limit(void);

typedef enum {
    CacheSound,   /* sealed, as far as was looked */
    CacheDamaged, /* cut, changed, or of another version of attnc */
    CacheOpen,    /* others could have written it, or it is no file */
    CacheLeft,    /* a writer was killed, an hour ago or more */
    CacheForeign  /* no file of the cache: it is never touched */
} CacheState;
typedef struct {
    const char *name, *what; /* what "": it cannot be said */
    CacheKind kind;          /* of those that have a key */
    CacheState state;
    uint64_t bytes;
    int64_t made, used_ns; /* seconds, nanoseconds since 1970 */
} CacheFile;
typedef struct {
    const char *folder; /* NULL: there is none, or none of ours */
    VEC(CacheFile) at;  /* what was used last comes first */
    uint64_t bytes;     /* of all but foreign ones */
} CacheList;
/* What is in the folder; where `whole`, the contents' hashes are looked at. */
void cache_list(CacheList *l, Arena *a, bool whole);
/* Removes what `is` says, and then what was used longest ago, until the rest
 * is within `limit`; `removed` gets the files. Foreign ones are left. NULL:
 * none is.                                                                  */
void cache_clean(CacheList *removed, Arena *a,
                 bool (*is)(const CacheFile *f, const void *with),
                 const void *with, uint64_t limit, bool dry_run);
const char *cache_kind_name(CacheKind kind);

#endif
