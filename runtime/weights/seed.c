/* seed.c: weights for a model that has none, the same on every machine.
 *
 * Element i of a tensor is a function of its name, the seed and i alone. The
 * deviates are exact: a sum of four 16-bit integers, scaled (kurtosis 2.7
 * where the normal distribution has 3), since log and cos of libm differ in
 * their last bits from machine to machine.                                  */
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

/* A matrix keeps the variance of its input; the rows of a table of embeddings
 * get unit variance by the factor sqrt(d_model); a norm stays near identity. */
void seeded_floats(const PackItem *item, uint64_t seed, int64_t first,
                   int64_t n, float *out)
{
    uint64_t key = XXH64(item->name, strlen(item->name), seed);
    bool vector = item->layout == PackVector;
    double deviation = vector ? 0.02 : 1 / sqrt((double)item->k);
    float mean = vector && !ends_in(item->name, ".bias") ? 1 : 0;
    loops()->deviates(key, first, n, deviation, mean, out);
}
