/* memory.h: the caller's memory, cut into arrays; and hashes of it. */
#ifndef ATTN_MEMORY_1
#define ATTN_MEMORY_1

#include "compiled_model.h"

#ifndef ATTN_API
#define ATTN_API
#endif

/* ---- memory.c ---- */

/* Cuts the caller's memory into arrays of 64-byte alignment. With base NULL it
 * only counts, so sizes are computed by the code that lays out.             */
struct attn_memory {
    char *base;
    int64_t used; /* bytes; -1: sizes overflow */
};
enum { ATTN_ALIGN = 64 };
ATTN_API void *attn_take(struct attn_memory *m, int64_t count, int64_t size);
/* `memory` from its first aligned byte on (attn_memory_bytes allows for it). */
ATTN_API void attn_memory_open(struct attn_memory *m, void *memory);
ATTN_API int64_t attn_memory_bytes(const struct attn_memory *m);
ATTN_API int64_t attn_min(int64_t a, int64_t b);
ATTN_API int64_t attn_max(int64_t a, int64_t b);
/* Parts that an arena needs room for; NULL: 1. */
ATTN_API int64_t attn_parts(const struct attn_parallel *p);

/* ---- hash.c ---- */

/* XXH64 of a block at any address. Words are read as this machine has them. */
ATTN_API uint64_t attn_hash(const void *block, int64_t bytes, uint64_t seed);

#endif
