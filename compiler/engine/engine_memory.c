/* engine_memory.c: aligned memory for weights and values. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "engine/engine.h"

enum { HugePage = 2 << 20 };

/* Requests huge pages: they make reading all weights once per step a third
 * faster. madvise() may fail, because ordinary pages work too. */
static void want_huge_pages(void *at, int64_t bytes)
{
#if defined MADV_HUGEPAGE
    madvise(at, (size_t)bytes / HugePage * HugePage, MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}

void *aligned_memory(Arena *a, int64_t bytes)
{
    const uintptr_t align = bytes < HugePage ? ATTN_ALIGN : HugePage;
    if (bytes < 0)
        fail(ExitResource, "sizes overflow: use smaller lengths or batches");
    uintptr_t at = (uintptr_t)arena_alloc(a, (size_t)bytes + align);
    void *memory = (void *)((at + align - 1) / align * align);
    if (align == HugePage)
        want_huge_pages(memory, bytes);
    return memory;
}
