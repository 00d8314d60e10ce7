/* library_room.c: the message and the memory of a handle. */
#include <stdarg.h>
#include <stdlib.h>

#include "library/library.h"

int64_t library_error(attnc_handle *h, int64_t error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->why, sizeof h->why, fmt, ap);
    va_end(ap);
    return error;
}

void *library_room(attnc_handle *h, struct room *r, int64_t bytes)
{
    if (bytes <= r->bytes && r->at)
        return r->at;
    const int64_t more = attn_max(bytes, r->bytes + r->bytes / 2);
    void *at = realloc(r->at, (size_t)attn_max(more, 64));
    if (!at) {
        library_error(h, ATTNC_ERROR_MEMORY,
                      "out of memory (%lld bytes wanted)", (long long)more);
        return NULL;
    }
    *r = (struct room){ at, more };
    return at;
}

const char *attnc_error(const attnc_handle *h)
{
    return h ? h->why : "out of memory";
}
