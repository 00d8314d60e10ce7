/* json.h: jansson's parser, with lack of memory told apart from bad text. */
#ifndef ATTNC_JSON_H
#define ATTNC_JSON_H

#include <jansson.h>

#include "rt.h"

/* False: memory ran out, *why says so of `path`. Else *to is the value, to be
 * given to json_decref(), or NULL where the text is refused: *e says why and
 * where. `flags` are those of json_loadb().                                 */
bool json_read(json_t **to, const char *path, const char *text, size_t n,
               size_t flags, json_error_t *e, Fault *why);

#endif
