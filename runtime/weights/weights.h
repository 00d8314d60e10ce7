/* weights.h: the elements of the tensors of a model, for what packs them. */
#ifndef ATTNC_WEIGHTS_H
#define ATTNC_WEIGHTS_H

#include "weight_loops.h"

typedef struct { /* one tensor: a file's, the seed's, a table or filled */
    const PackItem *item;
    const Tensor *t; /* of the file, or NULL */
    uint64_t seed;
    const Loops *loops;
    bool bad; /* an element of the file that was read is not finite */
} Elements;

Elements elements_of(const PackItem *item, const Safetensors *file,
                     uint64_t seed);
/* Of rows row .. row + rows - 1 the elements first .. first + n - 1, without
 * the factor that a pass folded into it; `stride` from a row to the next.   */
void elements_read(Elements *e, int64_t row, int64_t rows, int64_t first,
                   int64_t n, float *out, int64_t stride);
/* Of one column the elements row .. row + n - 1: at the file's rate where it
 * has the tensor transposed.                                                */
void elements_column(Elements *e, int64_t column, int64_t row, int64_t n,
                     float *out);

#endif
