/* cache_file.h: what a file of the cache is, for those who write, read and
 * list them.                                                                 */
#ifndef ATTNC_CACHE_FILE_H
#define ATTNC_CACHE_FILE_H

#include <sys/stat.h>

#include "base/user_cache.h"

typedef struct { /* the last bytes of a file: content, `what`, this */
    char magic[16];
    uint64_t content[2]; /* hash of the content */
    uint64_t bytes;      /* of the content */
    int64_t made;        /* seconds since 1970 */
    uint32_t what_n;     /* bytes of `what` */
    uint32_t kind;
    uint64_t own; /* hash of `what` and of all before this */
} CacheSeal;

CacheSeal cache_seal_of(const CachePut *p);
/* The seal of a whole file; false: it has none. */
bool cache_seal_read(CacheSeal *s, const void *file, size_t n);
bool cache_content_matches(const CacheSeal *s, const void *file);
/* A file of ours that nobody else could write. */
bool cache_file_is_ours(const struct stat *st);

/* What the name of such a file ends in. */
extern const char *const cache_ending[CacheKinds];

#endif
