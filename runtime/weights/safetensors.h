/* safetensors.h: what safetensors.c, a file of tensors, and shards.c, several
 * behind an index, both know.                                               */
#ifndef ATTNC_SAFETENSORS_H
#define ATTNC_SAFETENSORS_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *name; /* as the index has it */
    char *path;
    Safetensors *file;
} Shard;

struct Safetensors {
    File file;      /* of an index: its path alone */
    json_t *header; /* or the index; owns the names */
    Tensor *tensor; /* sorted by name once the file is checked */
    int count;
    size_t data;  /* where the tensors begin in the file */
    Shard *shard; /* of an index: where its tensors are */
    int shards;
};

/* One file, which is no index. */
Safetensors *safetensors_file(const char *path, Fault *why);
void safetensors_sort(Safetensors *s);

#endif
