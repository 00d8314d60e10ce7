/* memory.h: splits the caller's memory into arrays, and hashes memory. */
#ifndef ATTN_MEMORY_1
#define ATTN_MEMORY_1

#include "compiled_model.h"

#ifndef ATTN_API
#define ATTN_API
#endif

/* ---- memory.c ---- */

/* Lays out arrays in the caller's memory, each aligned to 64 bytes. If `base`
 * is NULL, only counts bytes, so that the same code computes sizes. */
struct attn_memory {
    char *base;
    int64_t used; /* bytes so far; -1: the size overflowed */
};
enum { ATTN_ALIGN = 64 };
ATTN_API void *attn_take(struct attn_memory *m, int64_t count, int64_t size);
/* Starts at the first aligned byte of `memory`. attn_memory_bytes() includes
 * the bytes that this may skip. */
ATTN_API void attn_memory_open(struct attn_memory *m, void *memory);
ATTN_API int64_t attn_memory_bytes(const struct attn_memory *m);
ATTN_API int64_t attn_min(int64_t a, int64_t b);
ATTN_API int64_t attn_max(int64_t a, int64_t b);
/* Returns the number of parts for which an arena needs space; 1 if p is
 * NULL. */
ATTN_API int64_t attn_parts(const struct attn_parallel *p);

/* ---- hash.c ---- */

/* Returns the XXH64 of a block at any address. Words are read in the machine's
 * byte order.                                                               */
ATTN_API uint64_t attn_hash(const void *block, int64_t bytes, uint64_t seed);

#endif
