/* gguf.h: reads llama.cpp's .gguf files: tensors and metadata. */
#ifndef ATTNC_GGUF_H
#define ATTNC_GGUF_H

#include <jansson.h>

#include "runtime/rt.h"

/* True if the file begins like a .gguf file; false if it cannot be read. */
bool is_gguf(const char *path);
/* Maps a file and lists its tensors. Shapes have the slowest dimension first,
 * the reverse of the order in the file. Returns NULL, with a fault, on
 * errors. */
Safetensors *gguf_open(const char *path, Fault *why);
/* Returns all metadata, including lists, as a JSON object. Supports versions 2
 * and 3, little-endian. Returns NULL, with a fault, on errors. */
json_t *gguf_metadata(const char *path, Fault *why);

#endif
