/* json.h: jansson's parser, extended to distinguish lack of memory from invalid
 * text. */
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
/* Parses a text. Returns false with a message in *why if memory runs out.
 * Otherwise sets *to to the value, which the caller frees with json_decref().
 * If the text is invalid, sets *to to NULL, and *e to the reason and the
 * position. Duplicate members make a text invalid. */
bool json_read(json_t **to, const JsonText *from, json_error_t *e, Fault *why);

#endif
