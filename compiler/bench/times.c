/* times.c: statistics of repeated times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The number of times, out of n, that are below the true median has the
 * distribution binomial(n, 1/2). The ranks are the innermost ones outside of
 * which lies a probability of at most 2.5 % on each side [Conover, Practical
 * Nonparametric Statistics, section 3.2]. */
bool median_ranks(int64_t n, int64_t *low, int64_t *high)
{
    double sum = 0.0;
    int64_t k = -1;
    /* with lgamma(), because 2^-n underflows for large n */
    while (k + 1 < n) {
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 2)
                   - lgamma((double)(n - k)) - (double)n * log(2.0));
        if (sum > 0.025)
            break;
        k++;
    }
    *low = k < 0 ? 0 : k;
    *high = n - 1 - *low;
    return k >= 0;
}

/* Returns a quantile by nearest rank: the smallest time that at least a
 * fraction `part` of the times do not exceed. */
static double quantile(const double *sorted, int64_t n, double part)
{
    const int64_t i = (int64_t)ceil(part * (double)n) - 1;
    return sorted[i < 0 ? 0 : i];
}

Summary times_summary(const Times *t)
{
    Arena *a = arena_new();
    const size_t bytes = (size_t)t->n * sizeof(double);
    double *x = arena_alloc(a, bytes);
    int64_t low, high;
    memcpy(x, t->at, bytes);
    qsort(x, (size_t)t->n, sizeof *x, by_number);
    median_ranks(t->n, &low, &high);
    const Summary s = { .n = t->n,
                        .best = x[0],
                        .p50 = quantile(x, t->n, 0.50),
                        .p95 = quantile(x, t->n, 0.95),
                        .low = x[low],
                        .high = x[high] };
    arena_free(a);
    return s;
}

double summary_error(const Summary *s)
{
    int64_t low, high;
    return median_ranks(s->n, &low, &high) ? (s->high - s->low) / 2.0 / s->p50
                                           : -1.0;
}
