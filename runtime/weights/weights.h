/* weights.h: access to the elements of a model's tensors, for the packer. */
#ifndef ATTNC_WEIGHTS_H
#define ATTNC_WEIGHTS_H

#include "weight_loops.h"

typedef struct { /* a tensor whose elements come from a file, the seed, a
                    formula or a constant */
    const PackItem *item;
    const Tensor *t; /* the tensor in the file, or NULL */
    uint64_t seed;
    const Loops *loops;
    bool bad; /* an element read from the file is not finite */
} Elements;

Elements elements_of(const PackItem *item, const Safetensors *file,
                     uint64_t seed);
/* Reads elements first .. first + n - 1 of rows row .. row + rows - 1, without
 * the factor that a pass folded into the tensor. Output rows are `stride`
 * floats apart. */
void elements_read(Elements *e, int64_t row, int64_t rows, int64_t first,
                   int64_t n, float *out, int64_t stride);
/* Reads elements row .. row + n - 1 of one column; fast if the file stores the
 * tensor transposed. */
void elements_column(Elements *e, int64_t column, int64_t row, int64_t n,
                     float *out);

#endif
