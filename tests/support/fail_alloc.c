/* fail_alloc.c: a library for LD_PRELOAD that makes allocation number FAIL_AT
 * fail and, if FAIL_ON is set, all later ones. It then creates the file
 * FAIL_MARK. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t n);

static atomic_long count;
static long at;
static int on;

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("FAIL_AT");
    on = getenv("FAIL_ON") != NULL;
    at = text ? atol(text) : 0;
    atomic_store(&count, 0);
}

static int fails(void)
{
    const long n = atomic_fetch_add(&count, 1) + 1;
    if (!at || n < at || (n > at && !on))
        return 0;
    if (n == at)
        close(open(getenv("FAIL_MARK"), O_CREAT | O_WRONLY, 0600));
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    return fails() ? NULL : __libc_realloc(old, n);
}
