/* tables.c: tables of positions: computed in double, rounded once, since angles
 * in float are wrong by more than everything else together.                 */
#include <math.h>

#include "rt.h"

/* PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos of the same; with
 * `tensor2tensor` the exponent is i / (d/2 - 1), with `halves` all sines stand
 * before all cosines [Vaswani et al. 2017, section 3.5].                    */
static double sinusoid(const PackItem *item, int64_t row, int64_t column)
{
    int64_t d = item->k, half = (d + 1) / 2;
    int64_t i = item->halves ? column % half : column / 2;
    bool cosine = item->halves ? column >= half : column % 2 != 0;
    double exponent = item->tensor2tensor
                        ? (double)i / (double)(half > 1 ? half - 1 : 1)
                        : 2.0 * (double)i / (double)d;
    double angle = (double)(item->position + row) / pow(item->base, exponent);
    return cosine ? cos(angle) : sin(angle);
}

/* Cosines of the k/2 angles of a position, then their sines [Su et al. 2021,
 * equation 34].                                                             */
static double rotary(const PackItem *item, int64_t row, int64_t column)
{
    int64_t half = item->k / 2;
    double angle = (double)row * item->rate[column % half];
    return item->factor * (column < half ? cos(angle) : sin(angle));
}

/* 2^(-8i/n) for n heads, a power of two; else those of the next lower power,
 * then every other of the next higher.                                      */
double alibi_slope(int64_t head, int64_t heads)
{
    int64_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return pow(2, -8.0 * (double)(head + 1) / (double)power);
    return pow(2, -4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

/* Row: a head; column: the distance key - query, from -(length - 1). */
static double alibi(const PackItem *item, int64_t row, int64_t column)
{
    double distance = (double)(column - (item->length - 1));
    return -item->factor * alibi_slope(row, item->rows) * fabs(distance);
}

float table_element(const PackItem *item, int64_t row, int64_t column)
{
    switch (item->table) {
    case TableSinusoid: return (float)sinusoid(item, row, column);
    case TableRotary:   return (float)rotary(item, row, column);
    case TableAlibi:    return (float)alibi(item, row, column);
    case TableNone:     break;
    }
    return 0;
}

int64_t relative_bucket(int64_t distance, int64_t buckets, int64_t max_distance,
                        bool bidirectional)
{
    int64_t first = 0, n = distance < 0 ? -distance : distance;
    if (bidirectional) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
    } else if (distance > 0) {
        n = 0;
    }
    int64_t exact = buckets / 2;
    if (n < exact)
        return first + n;
    double log_part = log((double)n / (double)exact)
                    / log((double)max_distance / (double)exact);
    /* whole powers fall on the edge of a bucket: they belong to the next */
    int64_t far = exact
                + (int64_t)(log_part * (double)(buckets - exact) + 1e-9);
    return first + (far < buckets - 1 ? far : buckets - 1);
}
