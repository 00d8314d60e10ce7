/* cache_file.h: the format of cache files, for the code that reads, writes and
 * lists them. */
#ifndef ATTNC_CACHE_FILE_H
#define ATTNC_CACHE_FILE_H

#include <sys/stat.h>

#include "base/user_cache.h"

typedef struct { /* trailer of a cache file, after the content and `what` */
    char magic[16];
    uint64_t content[2]; /* hash of the content */
    uint64_t bytes;      /* size of the content */
    int64_t made;        /* seconds since 1970 */
    uint32_t what_n;     /* length of `what` in bytes */
    uint32_t kind;
    uint64_t own; /* hash of `what` and of all members above */
} CacheSeal;

CacheSeal cache_seal_of(const CachePut *p);
/* Reads and checks the seal of a complete file. Returns false if it has no
 * valid seal. */
bool cache_seal_read(CacheSeal *s, const void *file, size_t n);
bool cache_content_matches(const CacheSeal *s, const void *file);
/* True if st is a regular file of this user that nobody else can write. */
bool cache_file_is_ours(const struct stat *st);

/* File name extension of each kind, without the dot. */
extern const char *const cache_ending[CacheKinds];

#endif
