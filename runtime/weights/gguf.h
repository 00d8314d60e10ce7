/* gguf.h: files of llama.cpp: tensors, and what their metadata say. */
#ifndef ATTNC_GGUF_H
#define ATTNC_GGUF_H

#include <jansson.h>

#include "runtime/rt.h"

/* By its first bytes; false where it cannot be read. */
bool is_gguf(const char *path);
/* The file's tensors, mapped; NULL and a fault. Shapes are as in other files,
 * the slowest dimension first, against the order that the format has.       */
Safetensors *gguf_open(const char *path, Fault *why);
/* All keys and values, lists among them, as a map; NULL and a fault. Versions 2
 * and 3 of the format, little-endian.                                       */
json_t *gguf_metadata(const char *path, Fault *why);

#endif
