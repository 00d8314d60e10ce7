/* merge.h: weights made from several files: an adapter merged into a model, and
 * the mean of checkpoints. The output is f32; tensors of integers, such as a
 * table of position ids, are left out. */
#ifndef ATTNC_IMPORT_MERGE_H
#define ATTNC_IMPORT_MERGE_H

#include "base/base.h"

/* lora.c: writes the tensors of `base` to `path`, after adding the products of
 * the adapter in the folder `adapter`: W + scale B A (Hu et al. 2021, section
 * 4.1), in double precision, rounded once. Rejects adapters that do more than
 * that. */
bool merge_lora(Arena *a, const Safetensors *base, const char *adapter,
                const char *path, Fault *why);
/* average.c: writes the mean of n files with the same tensors, in double
 * precision, rounded once ("Attention Is All You Need", section 6.1). */
bool merge_mean(Arena *a, const Safetensors *const *file, int n,
                const char *path, Fault *why);

#endif
