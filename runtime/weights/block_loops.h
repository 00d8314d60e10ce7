/* block_loops.h: the floats of one block of a quantised tensor, for
 * weight_loops.c, which compiles these loops for several machines. Each
 * function has the signature of block_q4_0() and performs ggml's operations in
 * ggml's order, so the results have ggml's bits. Scales are f16; all products
 * are exact, so only a sum rounds. Bytes are those of the file, at any
 * address. */
#ifndef ATTNC_BLOCK_LOOPS_H
#define ATTNC_BLOCK_LOOPS_H

#include "integer_loops.h"

EACH uint16_t bits_16(const unsigned char *at)
{
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE(16, v);
}

EACH uint32_t bits_32(const unsigned char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE(32, v);
}

EACH float float_of(uint32_t v)
{
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

EACH uint32_t bits_of(float f)
{
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}

/* Converts f16 to f32; a NaN keeps its payload. */
EACH float half_of(uint32_t h)
{
    const uint32_t sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    const uint32_t normal = (rest << 13) + ((127 - 15) << 23);
    const uint32_t infinite = 0x7f800000 | (rest & 0x3ff) << 13; /* infinity
                                                                    or NaN */
    const uint32_t least = bits_of((float)(int32_t)rest * 0x1p-24f);
    const uint32_t large = rest >= 0x7c00 ? infinite : normal;
    return float_of(sign | (rest < 0x0400 ? least : large));
}

EACH float half_at(const unsigned char *at)
{
    return half_of(bits_16(at));
}

/* Splits each of n bytes into numbers of `bits` bits, shifted left. The lowest
 * bits of all bytes are elements 0 to n - 1, the next bits are elements
 * n to 2n - 1. Adds them to `to`, whose bits there are 0. */
EACH void split(const unsigned char *from, int n, int bits, int shift,
                unsigned char *to)
{
    for (int part = 0; part < 8 / bits; part++)
        for (int i = 0; i < n; i++) {
            const int v = from[i] >> part * bits & ((1 << bits) - 1);
            to[part * n + i] = (unsigned char)(to[part * n + i] | v << shift);
        }
}

/* ---- blocks of 32 ---- */

/* Computes n numbers: scale * (q - zero). */
EACH void scaled(const unsigned char *q, int n, float scale, int zero,
                 float *out)
{
    for (int i = 0; i < n; i++)
        out[i] = scale * (float)(q[i] - zero);
}

/* Computes n numbers: scale * q + add. */
EACH void scaled_plus(const unsigned char *q, int n, float scale, float add,
                      float *out)
{
    for (int i = 0; i < n; i++)
        out[i] = scale * (float)q[i] + add;
}

EACH void block_q4_0(const unsigned char *at, float *out)
{
    unsigned char q[32] = { 0 };
    split(at + 2, 16, 4, 0, q);
    scaled(q, 32, half_at(at), 8, out);
}

EACH void block_q4_1(const unsigned char *at, float *out)
{
    unsigned char q[32] = { 0 };
    split(at + 4, 16, 4, 0, q);
    scaled_plus(q, 32, half_at(at), half_at(at + 2), out);
}

/* Reads 32 elements of 5 bits: 4 bytes of highest bits, then the others. */
EACH void five_bits(const unsigned char *at, unsigned char *q)
{
    const uint32_t high = bits_32(at);
    split(at + 4, 16, 4, 0, q);
    for (int i = 0; i < 32; i++)
        q[i] = (unsigned char)(q[i] | (high >> i & 1) << 4);
}

EACH void block_q5_0(const unsigned char *at, float *out)
{
    unsigned char q[32] = { 0 };
    five_bits(at + 2, q);
    scaled(q, 32, half_at(at), 16, out);
}

EACH void block_q5_1(const unsigned char *at, float *out)
{
    unsigned char q[32] = { 0 };
    five_bits(at + 4, q);
    scaled_plus(q, 32, half_at(at), half_at(at + 2), out);
}

EACH void block_q8_0(const unsigned char *at, float *out)
{
    const float scale = half_at(at);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (signed char)at[2 + i];
}

/* Computes 32 numbers from 16 bytes: scale times an entry of a table. */
EACH void looked_up(const unsigned char *from, const signed char *table,
                    float scale, float *out)
{
    for (int i = 0; i < 16; i++) {
        out[i] = scale * table[from[i] & 15];
        out[16 + i] = scale * table[from[i] >> 4];
    }
}

static const signed char table_iq4[16] = { -127, -104, -83, -65, -49, -35,
                                           -22,  -10,  1,   13,  25,  38,
                                           53,   69,   89,  113 };

EACH void block_iq4_nl(const unsigned char *at, float *out)
{
    looked_up(at + 2, table_iq4, half_at(at), out);
}

/* The scale is a power of 2, stored as its exponent, and the table has twice
 * the values of 4-bit floats. Half the scale can be denormal. */
EACH void block_mxfp4(const unsigned char *at, float *out)
{
    static const signed char table[16] = { 0, 1,  2,  3,  4,  6,  8,  12,
                                           0, -1, -2, -3, -4, -6, -8, -12 };
    const uint32_t e = at[0];
    const uint32_t half = e < 2 ? 0x00200000u << e : (e - 1) << 23;
    looked_up(at + 1, table, float_of(half), out);
}

/* ---- blocks of 256, in groups that have scales of their own ---- */

EACH void block_q2_k(const unsigned char *at, float *out)
{
    unsigned char q[256] = { 0 };
    const float scale = half_at(at + 80), least = half_at(at + 82);
    for (int i = 0; i < 2; i++)
        split(at + 16 + 32 * i, 32, 2, 0, q + 128 * i);
    for (int g = 0; g < 16; g++)
        scaled_plus(q + 16 * g, 16, scale * (float)(at[g] & 15),
                    -(least * (float)(at[g] >> 4)), out + 16 * g);
}

/* Byte order: highest bits, the other 2 bits, scales of 6 bits, their scale. */
EACH void block_q3_k(const unsigned char *at, float *out)
{
    unsigned char q[256] = { 0 }, scales[16] = { 0 };
    const float scale = half_at(at + 108);
    split(at, 32, 1, 2, q);
    for (int i = 0; i < 2; i++)
        split(at + 32 + 32 * i, 32, 2, 0, q + 128 * i);
    split(at + 96, 8, 4, 0, scales);
    split(at + 104, 4, 2, 4, scales);
    for (int g = 0; g < 16; g++)
        scaled(q + 16 * g, 16, scale * (float)(scales[g] - 32), 4,
               out + 16 * g);
}

/* Computes 8 groups of 32 numbers. Each has a scale and a minimum of 6 bits:
 * those of the groups 4 to 7 have their upper 2 bits in bytes 0 to 7. */
EACH void groups_of_32(const unsigned char *at, const unsigned char *q,
                       float *out)
{
    const float scale = half_at(at), least = half_at(at + 2);
    const unsigned char *s = at + 4;
    for (int g = 0; g < 8; g++) {
        const int high = g < 4 ? 0 : 4;
        const int a = high ? (s[g + 4] & 15) | s[g - high] >> 6 << 4
                           : s[g] & 63;
        const int b = high ? s[g + 4] >> 4 | s[g] >> 6 << 4 : s[g + 4] & 63;
        scaled_plus(q + 32 * g, 32, scale * (float)a, -(least * (float)b),
                    out + 32 * g);
    }
}

EACH void block_q4_k(const unsigned char *at, float *out)
{
    unsigned char q[256] = { 0 };
    for (int i = 0; i < 4; i++)
        split(at + 16 + 32 * i, 32, 4, 0, q + 64 * i);
    groups_of_32(at, q, out);
}

EACH void block_q5_k(const unsigned char *at, float *out)
{
    unsigned char q[256] = { 0 };
    split(at + 16, 32, 1, 4, q);
    for (int i = 0; i < 4; i++)
        split(at + 48 + 32 * i, 32, 4, 0, q + 64 * i);
    groups_of_32(at, q, out);
}

EACH void block_q6_k(const unsigned char *at, float *out)
{
    unsigned char q[256] = { 0 };
    const float scale = half_at(at + 208);
    for (int i = 0; i < 2; i++) {
        split(at + 64 * i, 64, 4, 0, q + 128 * i);
        split(at + 128 + 32 * i, 32, 2, 4, q + 128 * i);
    }
    for (int g = 0; g < 16; g++)
        scaled(q + 16 * g, 16, scale * (signed char)at[192 + g], 32,
               out + 16 * g);
}

EACH void block_iq4_xs(const unsigned char *at, float *out)
{
    const float scale = half_at(at);
    const int high = bits_16(at + 2);
    for (int g = 0; g < 8; g++) {
        const int low = at[4 + g / 2] >> g % 2 * 4 & 15;
        const int own = (low | (high >> 2 * g & 3) << 4) - 32;
        looked_up(at + 8 + 16 * g, table_iq4, scale * (float)own, out + 32 * g);
    }
}

#endif
