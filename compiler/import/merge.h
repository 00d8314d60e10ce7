/* merge.h: weights that are made of several files and written as one: an
 * adapter's, and the mean of checkpoints. All are f32; what is no number with a
 * point, as a table of positions' ids, is left out.                         */
#ifndef ATTNC_IMPORT_MERGE_H
#define ATTNC_IMPORT_MERGE_H

#include "base/base.h"

/* lora.c: the tensors of `base`, and on those that the adapter in the folder
 * `adapter` names its product: W + scale B A (Hu et al. 2021, section 4.1), in
 * double precision, rounded once; written to `path`. An adapter that is more
 * than that is refused.                                                     */
bool merge_lora(Arena *a, const Safetensors *base, const char *adapter,
                const char *path, Fault *why);
/* average.c: the mean of n files of the same tensors, in double precision,
 * rounded once ("Attention Is All You Need", section 6.1).                  */
bool merge_mean(Arena *a, const Safetensors *const *file, int n,
                const char *path, Fault *why);

#endif
