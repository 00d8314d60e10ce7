/* shards.h: the files behind an index of tensors; for safetensors.c. */
#ifndef ATTNC_SHARDS_H
#define ATTNC_SHARDS_H

#include <jansson.h>

#include "rt.h"

typedef struct {
    const char *name;            /* as the index has it */
    char *path;
    Safetensors *file;
} Shard;
typedef struct {
    json_t *index;               /* owns the names */
    Shard *shard;
    int count;
} Shards;
bool shards_open(Shards *s, const char *index, Fault *why);
void shards_close(Shards *s);    /* does nothing to a Shards of zeros */

#endif
