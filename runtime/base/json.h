/* json.h: jansson's parser, with lack of memory told apart from bad text. */
#ifndef ATTNC_JSON_H
#define ATTNC_JSON_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *path; /* or what it is, for messages */
    const char *text; /* of n bytes */
    size_t n;
    bool followed; /* what is behind the value is somebody else's */
    bool reals;    /* integers, too: 10^30 is none that fits */
} JsonText;
/* False: memory ran out, *why says so of the path. Else *to is the value, to be
 * given to json_decref(), or NULL where the text is refused, as with a member
 * that is there twice: *e says why and where.                               */
bool json_read(json_t **to, const JsonText *from, json_error_t *e, Fault *why);

#endif
