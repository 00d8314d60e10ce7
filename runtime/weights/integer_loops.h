/* integer_loops.h: the loops that quantise weights, for weight_loops.c, which
 * compiles them for several machines. They process 16 columns in parallel, one
 * per lane. No sum crosses lanes and no operation is contracted, so the bits
 * are the same for vectors of any width. */
#ifndef ATTNC_INTEGER_LOOPS_H
#define ATTNC_INTEGER_LOOPS_H

#include <float.h>
#include <string.h>

#include "weight_loops.h"

#define EACH static inline __attribute__((always_inline))

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(bits, v) __builtin_bswap##bits(v)
#else
#define LITTLE(bits, v) (v)
#endif

typedef float Lanes __attribute__((vector_size(4 * ATTN_PANEL)));
typedef uint32_t Bits __attribute__((vector_size(4 * ATTN_PANEL)));

/* Adding this to a number below 2^22 rounds it: the low bits of the sum are the
 * nearest integer (ties to even). Subtracting it again gives that integer as a
 * float. */
#define ROUNDING      12582912.0f
#define ROUNDING_BITS 0x4b400000u

EACH void load(Lanes *x, const float *at)
{
    memcpy(x, at, sizeof *x);
}

EACH void store(const Lanes *x, float *at)
{
    memcpy(at, x, sizeof *x);
}

/* Sets each lane of *x to the larger of x and y; least() sets it to the
 * smaller. If x is NaN, the result is y. */
EACH void most(Lanes *x, const Lanes *y)
{
    const Bits more = (Bits)(*x > *y);
    *x = (Lanes)((more & (Bits)*x) | (~more & (Bits)*y));
}

EACH void least(Lanes *x, const Lanes *y)
{
    const Bits less = (Bits)(*x < *y);
    *x = (Lanes)((less & (Bits)*x) | (~less & (Bits)*y));
}

EACH void between(Lanes *x, const Lanes *low, const Lanes *high)
{
    most(x, low);
    least(x, high);
}

EACH void nearest(Lanes *x)
{
    *x = *x + ROUNDING - ROUNDING;
}

EACH void store_bits(const Bits *x, unsigned char *at)
{
    for (int c = 0; c < ATTN_PANEL; c++) {
        const uint32_t v = LITTLE(32, (*x)[c]);
        memcpy(at + 4 * c, &v, sizeof v);
    }
}

/* Updates the largest magnitude of each column. */
EACH void largest_any(const float *x, int64_t stride, int64_t n, float *largest)
{
    Lanes all;
    load(&all, largest);
    for (int64_t k = 0; k < n; k++) {
        Lanes v;
        load(&v, x + k * stride);
        v = (Lanes)((Bits)v & 0x7fffffff);
        most(&v, &all);
        all = v;
    }
    store(&all, largest);
}

/* Quantises x: *w is the integer as a float, *bits has the integer in its low
 * bits, and *x becomes the remainder. */
EACH void int8_of(Lanes *x, const Lanes *step, const Lanes *per_step, Lanes *w,
                  Bits *bits)
{
    const Lanes zero = { 0 }, low = zero - 127.0f, high = zero + 127.0f;
    *w = *x * *per_step;
    between(w, &low, &high);
    *w += ROUNDING;
    *bits = (Bits)*w;
    *w -= ROUNDING;
    *x -= *w * *step;
}

typedef struct {
    Lanes error, along, squares;
} VectorSums;

EACH void add_squares(VectorSums *s, const Lanes *left, const Lanes *w)
{
    s->error += *left * *left;
    s->along += *left * *w;
    s->squares += *w * *w;
}

EACH void store_sums(const VectorSums *s, LaneSums *sums)
{
    store(&s->error, sums->error);
    store(&s->along, sums->along);
    store(&s->squares, sums->squares);
}

EACH void int8_sums_any(const float *x, int64_t stride, int64_t n,
                        const Step *step, LaneSums *sums)
{
    VectorSums all = { 0 };
    Lanes s, per_step;
    load(&s, step->step);
    load(&per_step, step->per_step);
    for (int64_t k = 0; k < n; k++) {
        Lanes left, w;
        Bits bits;
        load(&left, x + k * stride);
        int8_of(&left, &s, &per_step, &w, &bits);
        add_squares(&all, &left, &w);
    }
    store_sums(&all, sums);
}

EACH void int8_any(const float *x, int64_t stride, int64_t n, const Step *step,
                   unsigned char *lines, LaneSums *sums)
{
    VectorSums all = { 0 };
    Bits total = { 0 };
    Lanes s, per_step;
    load(&s, step->step);
    load(&per_step, step->per_step);
    for (int k = 0; k < ATTN_GROUP; k += 4) {
        Bits line = { 0 };
        for (int i = 0; i < 4; i++) {
            Lanes left = { 0 }, w;
            Bits bits;
            if (k + i < n)
                load(&left, x + (k + i) * stride);
            int8_of(&left, &s, &per_step, &w, &bits);
            add_squares(&all, &left, &w);
            total += bits - ROUNDING_BITS;
            line |= (bits & 255) << (unsigned)(8 * i);
        }
        store_bits(&line, lines + k / 4 * 4 * ATTN_PANEL);
    }
    store_sums(&all, sums);
    memcpy(sums->total, &total, sizeof total);
}

/* A block of int4 numbers approximates x by (q - 8) step + offset, with q in 0
 * .. 15. Step and offset are integers such that all these values are in -127 ..
 * 127. */
typedef struct {
    Lanes step, offset, error; /* squared error of the block */
} Group;

EACH void int4_error(const Lanes *x, int n, Group *g)
{
    const Lanes zero = { 0 }, low = zero - 8.0f, high = zero + 7.0f;
    const Lanes inverse = 1.0f / g->step;
    g->error = zero;
    for (int k = 0; k < n; k++) {
        Lanes q = (x[k] - g->offset) * inverse;
        between(&q, &low, &high);
        nearest(&q);
        const Lanes e = x[k] - (q * g->step + g->offset);
        g->error += e * e;
    }
}

EACH void keep_better(Group *g, const Group *other)
{
    const Bits better = (Bits)(other->error < g->error);
    g->step = (Lanes)((better & (Bits)other->step) | (~better & (Bits)g->step));
    g->offset = (Lanes)((better & (Bits)other->offset)
                        | (~better & (Bits)g->offset));
    g->error = (Lanes)((better & (Bits)other->error)
                       | (~better & (Bits)g->error));
}

/* Tries steps near a 15th of the range and offsets near its middle, and keeps
 * the best.                                                                 */
EACH void int4_search(const Lanes *x, int n, Group *best)
{
    const Lanes zero = { 0 }, one = zero + 1.0f, sixteen = zero + 16.0f;
    Lanes low = zero, high = zero;
    if (n > 0)
        low = high = x[0];
    for (int k = 1; k < n; k++) {
        Lanes v = x[k];
        least(&v, &low);
        low = v;
        v = x[k];
        most(&v, &high);
        high = v;
    }
    Lanes first_step = (high - low) * (1 / 15.0f);
    nearest(&first_step);
    *best = (Group){ one, zero, zero + FLT_MAX };
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 9; j++) {
            Group g = { .step = first_step + (float)(i - 1) };
            between(&g.step, &one, &sixteen);
            const Lanes first = 8.0f * g.step - 127.0f;
            const Lanes last = 127.0f - 7.0f * g.step;
            g.offset = (low + high + g.step * (0.25f * (float)j)) * 0.5f;
            nearest(&g.offset);
            between(&g.offset, &first, &last);
            int4_error(x, n, &g);
            keep_better(best, &g);
        }
}

EACH void store_bytes(const Lanes *x, unsigned char *at)
{
    const Bits v = (Bits)(*x + ROUNDING);
    for (int c = 0; c < ATTN_PANEL; c++)
        at[c] = (unsigned char)v[c];
}

/* Packs the numbers of a block as nibbles. Each output line holds eight numbers
 * of each column. */
EACH void int4_lines(const Lanes *u, int n, int shared, const Group *g,
                     const Lanes *step, unsigned char *lines, VectorSums *sums,
                     Bits *total)
{
    const Lanes zero = { 0 }, low = zero - 8.0f, high = zero + 7.0f;
    const Lanes inverse = 1.0f / g->step;
    Bits line = { 0 };
    for (int k = 0; k < shared; k++) {
        Lanes q = zero, left = zero, w;
        if (k < n) {
            q = (u[k] - g->offset) * inverse;
            between(&q, &low, &high);
            nearest(&q);
        }
        w = q * g->step + g->offset;
        if (k < n) {
            left = (u[k] - w) * *step;
            add_squares(sums, &left, &w);
        }
        *total += (Bits)(w + ROUNDING) - ROUNDING_BITS;
        line |= ((Bits)(q + (8.0f + ROUNDING)) & 15)
             << (unsigned)(8 * (k % 4) + k / 4 % 2 * 4);
        if (k % 8 == 7) {
            store_bits(&line, lines + k / 8 * 4 * ATTN_PANEL);
            line ^= line;
        }
    }
}

EACH void int4_any(const float *x, int64_t stride, int64_t n, const Step *step,
                   int shared, unsigned char *lines, LaneSums *sums)
{
    unsigned char *ends = lines + ATTN_GROUP / 2 * ATTN_PANEL;
    VectorSums all = { 0 };
    Bits total = { 0 };
    Lanes s, per_step, u[ATTN_GROUP];
    load(&s, step->step);
    load(&per_step, step->per_step);
    for (int first = 0; first < ATTN_GROUP; first += shared) {
        int count = 0;
        Group g;
        for (; count < shared && first + count < n; count++) {
            load(&u[count], x + (first + count) * stride);
            u[count] *= per_step;
        }
        int4_search(u, count, &g);
        int4_lines(u, count, shared, &g, &s, lines, &all, &total);
        store_bytes(&g.step, ends);
        store_bytes(&g.offset, ends + ATTN_PANEL);
        lines += shared / 2 * ATTN_PANEL;
        ends += 2 * ATTN_PANEL;
    }
    store_sums(&all, sums);
    memcpy(sums->total, &total, sizeof total);
}

#endif
