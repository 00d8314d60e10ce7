/* json.h: jansson's parser, which here distinguishes lack of memory from
 * invalid text. */
#ifndef ATTNC_JSON_H
#define ATTNC_JSON_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *path; /* path of the file, or a description, for messages */
    const char *text; /* the text, n bytes */
    size_t n;
    bool followed; /* other text may follow the value */
    bool reals;    /* read integers as reals, because some (10^30) do not fit */
} JsonText;
/* Parses a text. Returns false, with a message in *why, if memory ran out.
 * Otherwise sets *to to the value, which the caller passes to json_decref(). If
 * the text is invalid, *to is NULL and *e has the reason and the place.
 * Duplicate members make a text invalid. */
bool json_read(json_t **to, const JsonText *from, json_error_t *e, Fault *why);

#endif
