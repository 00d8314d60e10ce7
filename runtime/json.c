/* json.c: jansson calls what it could not allocate for a syntax error, or
 * leaves it out: so its allocations are watched.                            */
#include <stdlib.h>

#include "json.h"

static _Thread_local bool ran_out; /* since json_read() began */

static void *watched_malloc(size_t n)
{
    void *at = malloc(n);
    ran_out = ran_out || !at;
    return at;
}

bool json_read(json_t **to, const char *path, const char *text, size_t n,
               size_t flags, json_error_t *e, Fault *why)
{
    json_set_alloc_funcs(watched_malloc, free);
    ran_out = false;
    *to = json_loadb(text, n, flags, e);
    if (!ran_out)
        return true;
    json_decref(*to);
    *to = NULL;
    return fault(why, ExitResource, "%s: out of memory for its JSON", path);
}
