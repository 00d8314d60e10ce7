/* safetensors.h: declarations shared by safetensors.c, which reads one file of
 * tensors, and shards.c, which reads several files listed in an index. */
#ifndef ATTNC_SAFETENSORS_H
#define ATTNC_SAFETENSORS_H

#include <jansson.h>

#include "runtime/rt.h"

typedef struct {
    const char *name; /* name in the index */
    char *path;
    char *names; /* the names of its tensors, if they begin with its folder */
    Safetensors *file;
} Shard;

struct Safetensors {
    File file;      /* for an index, only the path is set */
    json_t *header; /* JSON of the header or of the index; owns the names */
    Tensor *tensor; /* sorted by name after the checks */
    int count;
    size_t data;  /* offset of the tensors in the file */
    Shard *shard; /* the files that an index lists */
    int shards;
};

/* Opens a single file, not an index. Returns NULL with a fault on errors. */
Safetensors *safetensors_file(const char *path, Fault *why);
void safetensors_sort(Safetensors *s);

#endif
