/* tables.c: computes position tables, in double and rounded once, because float
 * angles would cause more error than all other computations together. */
#include <math.h>

#include "runtime/rt.h"

/* Sinusoid and rotary tables are computed column by column, ALiBi row by row,
 * so that common factors are computed once. */
typedef struct { /* some rows of a table, starting at column `first` */
    int64_t row, rows, first, n;
    float *out;
    int64_t stride; /* floats between rows */
} Piece;

/* Computes PE(pos, 2i) = sin(pos / base^(2i/d)) and PE(pos, 2i+1), the cos of
 * the same angle. With `tensor2tensor` the exponent is i / (d/2 - 1); with
 * `halves` all sines precede all cosines [Vaswani et al. 2017, section 3.5]. */
static void sinusoid(const PackItem *item, int64_t column, const Piece *p,
                     float *out)
{
    int64_t d = item->k, half = (d + 1) / 2;
    int64_t i = item->halves ? column % half : column / 2;
    bool cosine = item->halves ? column >= half : column % 2 != 0;
    double exponent = item->tensor2tensor
                        ? (double)i / (double)(half > 1 ? half - 1 : 1)
                        : 2.0 * (double)i / (double)d;
    double length = pow(item->base, exponent);
    for (int64_t r = 0; r < p->rows; r++, out += p->stride) {
        double angle = (double)(item->position + p->row + r) / length;
        *out = (float)(cosine ? cos(angle) : sin(angle));
    }
}

/* Returns the factor of a position. */
static double grown(const PackItem *item, int64_t position)
{
    const double steps = item->growth > 0 ? (double)(position / item->length)
                                          : 0;
    return item->factor * (1 + item->growth * log(1 + steps));
}

/* Writes the cosines of k/2 angles of each position, then their sines [Su et
 * al. 2021, equation 34]. */
static void rotary(const PackItem *item, int64_t column, const Piece *p,
                   float *out)
{
    int64_t half = item->k / 2;
    double rate = item->rate[column % half];
    for (int64_t r = 0; r < p->rows; r++, out += p->stride) {
        double angle = (double)(p->row + r) * rate;
        *out = (float)(grown(item, p->row + r)
                       * (column < half ? cos(angle) : sin(angle)));
    }
}

/* Returns the slope of a head, counted from 0: 2^(-8 (head + 1) / n) if the
 * number n of heads is a power of two. Otherwise the first heads have the
 * slopes for the next lower power, and the others every other slope for the
 * next higher. */
double alibi_slope(int64_t head, int64_t heads)
{
    int64_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return pow(2, -8.0 * (double)(head + 1) / (double)power);
    return pow(2, -4.0 * (double)(2 * (head - power) + 1) / (double)power);
}

/* Computes the biases of a head, one for each distance key - query, starting at
 * -(length - 1). */
static void alibi(const PackItem *item, int64_t head, const Piece *p,
                  float *out)
{
    double slope = -item->factor * alibi_slope(head, item->rows);
    for (int64_t i = 0; i < p->n; i++) {
        double distance = (double)(p->first + i - (item->length - 1));
        out[i] = (float)(slope * fabs(distance));
    }
}

void table_floats(const PackItem *item, int64_t row, int64_t rows,
                  int64_t first, int64_t n, float *out, int64_t stride)
{
    const Piece p = { row, rows, first, n, out, stride };
    for (int64_t i = 0; i < n && item->table == TableSinusoid; i++)
        sinusoid(item, first + i, &p, out + i);
    for (int64_t i = 0; i < n && item->table == TableRotary; i++)
        rotary(item, first + i, &p, out + i);
    for (int64_t r = 0; r < rows && item->table == TableAlibi; r++)
        alibi(item, row + r, &p, out + r * stride);
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
    /* 1e-9 because an exact power is on the edge of a bucket and belongs to the
     * next one */
    int64_t far = exact
                + (int64_t)(log_part * (double)(buckets - exact) + 1e-9);
    return first + (far < buckets - 1 ? far : buckets - 1);
}
