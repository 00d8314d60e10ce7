/* json.h: jansson's parser, with out-of-memory told apart from invalid text. */
#ifndef ATTNC_JSON_H
#define ATTNC_JSON_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *path; /* or a description, for messages */
    const char *text; /* n bytes */
    size_t n;
    bool followed; /* other text may follow the value */
    bool reals;    /* read integers as reals, because 10^30 does not fit */
} JsonText;
/* Parses a text. Returns false, with a message in *why, if memory ran out.
 * Otherwise *to is the value, which the caller passes to json_decref(), or NULL
 * if the text is invalid (duplicate members are): *e then has the reason and
 * place.                                                                    */
bool json_read(json_t **to, const JsonText *from, json_error_t *e, Fault *why);

#endif
