/* count_alloc.h: replaces malloc() and its like by functions that count blocks,
 * and of which one fails: allocation `fails_at` since `count` was 0. Not under
 * a sanitizer, which has its own. */
#ifndef ATTNC_COUNT_ALLOC_H
#define ATTNC_COUNT_ALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(default) /* for the C library's own calls too */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *at);

static long blocks;          /* allocated now */
static long count, fails_at; /* of the current attempt; 0: none fails */

static bool fails(void)
{
    if (++count != fails_at)
        return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *at)
{
    blocks += at != NULL;
    return at;
}

void *malloc(size_t n)
{
    return fails() ? NULL : counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *old, size_t n)
{
    if (fails())
        return NULL;
    return old ? __libc_realloc(old, n) : counted(__libc_malloc(n));
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails() ? NULL : counted(__libc_memalign(alignment, n));
}

void free(void *at)
{
    blocks -= at != NULL;
    __libc_free(at);
}

#pragma GCC visibility pop

#endif
