/* json.c: reads JSON with jansson. Jansson reports a failed allocation as a
 * syntax error or not at all, so this file watches the allocations. */
#include <stdlib.h>

#include "json.h"

/* True if an allocation failed since json_read() began. It is thread-local
 * because jansson passes no context to its allocator. */
static _Thread_local bool ran_out;

static void *watched_malloc(size_t n)
{
    void *at = malloc(n);
    ran_out = ran_out || !at;
    return at;
}

bool json_read(json_t **to, const JsonText *from, json_error_t *e, Fault *why)
{
    const size_t more = from->followed ? JSON_DISABLE_EOF_CHECK : 0;
    const size_t reals = from->reals ? JSON_DECODE_INT_AS_REAL : 0;
    json_set_alloc_funcs(watched_malloc, free);
    ran_out = false;
    *to = json_loadb(from->text, from->n, JSON_REJECT_DUPLICATES | more | reals,
                     e);
    if (!ran_out)
        return true;
    json_decref(*to);
    *to = NULL;
    return fault(why, ExitResource, "%s: out of memory for its JSON",
                 from->path);
}
