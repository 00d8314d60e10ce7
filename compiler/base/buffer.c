/* buffer.c: a growable text buffer. */
#include <stdarg.h>
#include <string.h>

#include "base/base.h"

/* Makes room for n more bytes and the final '\0'. Returns the end of the
 * text. */
static char *room(Buffer *b, size_t n)
{
    while ((size_t)(b->cap - b->n) <= n)
        vec_grow(b->arena, (void **)&b->at, b->cap, &b->cap, 1);
    return b->at + b->n;
}

void buffer_add(Buffer *b, const char *s, size_t n)
{
    char *to = room(b, n);

    if (n)
        memcpy(to, s, n);
    to[n] = '\0';
    b->n += (int)n;
}

void buffer_printf(Buffer *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        die("bad format: %s", fmt);
    char *to = room(b, (size_t)n);
    va_start(ap, fmt);
    vsnprintf(to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->n += n;
}
