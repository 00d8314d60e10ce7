/* seed.c: random weights for a model without a file, equal on every machine.
 *
 * Element i of a tensor depends only on the tensor's name, the seed and i. The
 * deviates are exact: each is a scaled sum of four 16-bit integers (kurtosis
 * 2.7; the normal distribution has 3), because log and cos of C libraries
 * differ in their last bits. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "weight_loops.h"
#include "seed.h"

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Chooses the deviation so that a matrix preserves the variance of its input,
 * the rows of an embedding table get unit variance from the factor
 * sqrt(d_model), and a norm stays near the identity. */
void seeded_floats(const PackItem *item, uint64_t seed, int64_t first,
                   int64_t n, float *out)
{
    uint64_t key = XXH64(item->name, strlen(item->name), seed);
    bool vector = item->layout == PackVector;
    double deviation = vector ? 0.02 : 1 / sqrt((double)item->k);
    float mean = vector && !ends_in(item->name, ".bias") ? 1 : 0;
    loops()->deviates(key, first, n, deviation, mean, out);
}
