/* merge.h: computes weights from several files: an adapter merged into a model,
 * or the mean of checkpoints. The output is f32, without integer tensors such
 * as tables of position ids. */
#ifndef ATTNC_IMPORT_MERGE_H
#define ATTNC_IMPORT_MERGE_H

#include "base/base.h"

/* lora.c: merges the adapter in the folder `adapter` into the tensors of
 * `base`, W + scale B A (Hu et al. 2021, section 4.1), and writes them to
 * `path`. Computes in double precision and rounds once. Rejects adapters that
 * compute anything else. */
bool merge_lora(Arena *a, const Safetensors *base, const char *adapter,
                const char *path, Fault *why);
/* average.c: writes the mean of n files that have the same tensors. Computes in
 * double precision and rounds once ("Attention Is All You Need", section
 * 6.1). Rejects values that are not finite. */
bool merge_mean(Arena *a, const Safetensors *const *file, int n,
                const char *path, Fault *why);

#endif
