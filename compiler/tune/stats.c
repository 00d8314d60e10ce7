/* stats.c: tests if one tiling is faster than another, and by how much. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tuner.h"

static int by_magnitude(const void *a, const void *b)
{
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Sets rank[] to twice the ranks of the sorted differences, because ties then
 * have integer ranks. */
static void double_ranks(const double *d, int n, int *rank)
{
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && !(fabs(d[j]) > fabs(d[i])); j++)
            ;
        for (int k = i; k < j; k++)
            rank[k] = i + 1 + j;
    }
}

/* Returns the probability that the sum of the positive ranks is at least
 * `from`. ways[s] counts the choices of signs with sum s. A double can
 * represent 2^200, and the rounding of sums is negligible. */
static double tail(const int *rank, int n, int from)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most += rank[i];
    Arena *a = arena_new();
    double *ways = arena_alloc(a, ((size_t)most + 1) * sizeof *ways), sum = 0;
    ways[0] = 1;
    for (int i = 0; i < n; i++)
        for (int s = most; s >= rank[i]; s--)
            ways[s] += ways[s - rank[i]];
    for (int s = most; s >= from; s--)
        sum += ways[s];
    arena_free(a);
    return ldexp(sum, -n);
}

double signed_rank(const double *difference, int n)
{
    double d[MostPairs];
    int rank[MostPairs], left = 0, sum = 0;
    for (int i = 0; i < n && left < MostPairs; i++)
        if (difference[i] < 0 || difference[i] > 0)
            d[left++] = difference[i];
    if (left == 0)
        return 1.0;
    qsort(d, (size_t)left, sizeof *d, by_magnitude);
    double_ranks(d, left, rank);
    for (int i = 0; i < left; i++)
        sum += d[i] > 0 ? rank[i] : 0;
    return tail(rank, left, sum);
}

double faster_by_chance(const double *ratio, int n, int sign)
{
    double d[MostPairs];
    for (int i = 0; i < n; i++)
        d[i] = sign * log(ratio[i]);
    return signed_rank(d, n);
}

Interval median_interval(const double *x, int n)
{
    int64_t low, high;
    if (n == 0)
        return (Interval){ NAN, NAN, NAN };
    Arena *a = arena_new();
    double *s = arena_alloc(a, (size_t)n * sizeof *s);
    memcpy(s, x, (size_t)n * sizeof *s);
    qsort(s, (size_t)n, sizeof *s, by_number);
    median_ranks(n, &low, &high);
    const Interval i = { s[low], (s[(n - 1) / 2] + s[n / 2]) / 2, s[high] };
    arena_free(a);
    return i;
}
