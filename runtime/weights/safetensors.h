/* safetensors.h: shared by safetensors.c, one file of tensors, and shards.c,
 * several files with an index.                                              */
#ifndef ATTNC_SAFETENSORS_H
#define ATTNC_SAFETENSORS_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *name; /* as in the index */
    char *path;
    Safetensors *file;
} Shard;

struct Safetensors {
    File file;      /* for an index, only the path is set */
    json_t *header; /* or the index; owns the names */
    Tensor *tensor; /* sorted by name after the checks */
    int count;
    size_t data;  /* offset of the tensors in the file */
    Shard *shard; /* files of an index */
    int shards;
};

/* Opens a single file, not an index. Returns NULL, with a fault, on errors. */
Safetensors *safetensors_file(const char *path, Fault *why);
void safetensors_sort(Safetensors *s);

#endif
