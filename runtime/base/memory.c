/* memory.c: lays out consecutive arrays in the caller's memory. */
#include "runtime/core.h"

/* Maximum number of bytes, far below INT64_MAX, so that a few sums of sizes
 * cannot overflow. */
static const int64_t memory_most = INT64_MAX / 16;

ATTN_API int64_t attn_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

ATTN_API int64_t attn_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

ATTN_API void attn_memory_open(struct attn_memory *m, void *memory)
{
    m->base = NULL;
    m->used = 0;
    if (memory) {
        uintptr_t past = (uintptr_t)memory % ATTN_ALIGN;
        m->base = (char *)memory;
        if (past > 0)
            m->base += ATTN_ALIGN - past;
    }
}

ATTN_API void *attn_take(struct attn_memory *m, int64_t count, int64_t size)
{
    int64_t at = m->used;
    if (at < 0)
        return NULL;
    if (count < 0 || size < 0
        || (size > 0 && count > (memory_most - at) / size)) {
        m->used = -1;
        return NULL;
    }
    m->used = (at + count * size + ATTN_ALIGN - 1) / ATTN_ALIGN * ATTN_ALIGN;
    return m->base ? m->base + at : NULL;
}

ATTN_API int64_t attn_memory_bytes(const struct attn_memory *m)
{
    return m->used < 0 ? -1 : m->used + ATTN_ALIGN;
}

ATTN_API int64_t attn_parts(const struct attn_parallel *p)
{
    if (p)
        return attn_max(p->parts, 1);
    return 1;
}
