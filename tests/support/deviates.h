/* deviates.h: random numbers with the distributions of weights. */
#ifndef ATTNC_DEVIATES_H
#define ATTNC_DEVIATES_H

#include <math.h>
#include <stdint.h>

static uint64_t random_ = 1;

static inline double uniform(void) /* 0 to 1, xorshift */
{
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (double)(random_ >> 11) * 0x1p-53;
}

static inline int64_t below(int64_t n)
{
    return (int64_t)(uniform() * (double)n);
}

static inline double gaussian(void)
{
    const double u = uniform() + 0x1p-60;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * uniform());
}

static inline double student(void) /* with 5 degrees of freedom */
{
    double squares = 0;
    for (int i = 0; i < 5; i++) {
        const double g = gaussian();
        squares += g * g;
    }
    return gaussian() / sqrt(squares / 5);
}

#endif
