/* library_room.c: the message and the memory of a handle. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "library/library.h"

int64_t library_error(attnc_handle *h, int64_t error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->why, sizeof h->why, fmt, ap);
    va_end(ap);
    return error;
}

int64_t library_error_at(attnc_handle *h, int64_t error, const char *what,
                         int64_t i)
{
    char why[sizeof h->why];
    memcpy(why, h->why, sizeof why);
    return library_error(h, error, "%s %lld: %.*s", what, (long long)i,
                         (int)sizeof why - 40, why);
}

void library_keep_error(void *handle, const struct attnc_message *m)
{
    attnc_handle *h = handle;
    if (m->severity <= ATTNC_SEVERITY_INTERNAL && !h->why[0])
        library_error(h, 0, "%s", m->text);
}

void *library_room(attnc_handle *h, struct library_room *r, int64_t bytes)
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
    *r = (struct library_room){ at, more };
    return at;
}

int64_t library_copy(attnc_handle *h, int64_t at, const int32_t *ids, int64_t n)
{
    if (n < 0 || n > ATTN_MOST)
        return library_error(h, ATTNC_ERROR_COUNT, "%s",
                             attn_error_text(ATTN_ERROR_COUNT));
    if (n > 0 && !ids)
        return library_error(h, ATTNC_ERROR_NULL, "a pointer is NULL");
    int32_t *to = library_room(h, &h->ids, (at + n + 1) * (int64_t)sizeof *to);
    if (!to)
        return ATTNC_ERROR_MEMORY;
    if (n > 0)
        memcpy(to + at, ids, (size_t)n * sizeof *to);
    return 0;
}

const char *attnc_error(const attnc_handle *h)
{
    return h ? h->why : "out of memory";
}
