/* seed.h: random weights from a seed, for weights.c. */
#ifndef ATTNC_SEED_H
#define ATTNC_SEED_H

#include "runtime/rt.h"

/* Writes elements first .. first + n - 1 of the tensor, row-major. */
void seeded_floats(const PackItem *item, uint64_t seed, int64_t first,
                   int64_t n, float *out);

#endif
