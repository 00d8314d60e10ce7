/* seed.c: weights for a model that has none, the same on every machine.
 *
 * Element i of a tensor is a function of its name, the seed and i alone. The
 * deviates are exact: a sum of four 16-bit integers, scaled (kurtosis 2.7
 * where the normal distribution has 3), since log and cos of libm differ in
 * their last bits from machine to machine.                                  */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "seed.h"

static uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Mean 0, variance 1. */
static double deviate(uint64_t key, int64_t i)
{
    uint64_t v = splitmix64(key + (uint64_t)i * 0x9e3779b97f4a7c15u);
    int sum = (int)((v & 0xffff) + (v >> 16 & 0xffff) + (v >> 32 & 0xffff)
                    + (v >> 48));
    /* a uniform integer below n has variance (n^2 - 1) / 12 */
    return (sum - 2 * 65535) / sqrt((65536.0 * 65536.0 - 1) / 3);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* A matrix keeps the variance of its input; the rows of a table of embeddings
 * get unit variance by the factor sqrt(d_model); a norm stays near identity.
 * The sum is of two floats, so that no compiler fuses it with the product.  */
void seeded_floats(const PackItem *item, uint64_t seed, int64_t first,
                   int64_t n, float *out)
{
    uint64_t key = XXH64(item->name, strlen(item->name), seed);
    bool vector = item->layout == PackVector;
    double deviation = vector ? 0.02 : 1 / sqrt((double)item->k);
    float mean = vector && !ends_in(item->name, ".bias") ? 1 : 0;
    for (int64_t i = 0; i < n; i++)
        out[i] = mean + (float)(deviation * deviate(key, first + i));
}
