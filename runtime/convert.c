/* convert.c: elements of a tensor, of whatever type, as floats.
 *
 * Tensors may begin at any byte, and the format is little-endian: elements are
 * put together byte by byte, which compilers turn into plain loads.         */
#include <math.h>
#include <string.h>

#include "rt.h"

static uint64_t bits(const unsigned char *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static float float_of(uint32_t v)
{
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

static double double_of(uint64_t v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

/* The same number with the wider exponent; a NaN keeps its payload. */
static float half_of(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16;
    uint32_t rest = h & 0x7fff;
    if (rest >= 0x7c00) /* infinity, NaN */
        return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400)
        return float_of(sign | ((rest << 13) + ((127 - 15) << 23)));
    float f = (float)rest * 0x1p-24f; /* zero and denormals, exact */
    return sign ? -f : f;
}

uint16_t bf16_of(float x)
{
    uint32_t v;
    memcpy(&v, &x, sizeof v);
    if (!isnan(x))
        v += 0x7fff + (v >> 16 & 1);
    else if (!(v & 0x7f0000)) /* what tells it from infinity is below */
        v |= 0x400000;
    return (uint16_t)(v >> 16);
}

float bf16_float(uint16_t x)
{
    return float_of((uint32_t)x << 16);
}

/* Blocks of 32 elements: the scale, then the elements in 8 bits; or in 4, above
 * 8, element i and i + 16 in one byte. The products are exact.               */
static float element_q8(const unsigned char *at, int64_t i)
{
    const unsigned char *block = at + i / 32 * 34;
    return half_of((uint32_t)bits(block, 2)) * (signed char)block[2 + i % 32];
}

static float element_q4(const unsigned char *at, int64_t i)
{
    const unsigned char *block = at + i / 32 * 18;
    const unsigned both = block[2 + i % 16];
    const int four = (int)(i % 32 < 16 ? both & 15 : both >> 4);
    return half_of((uint32_t)bits(block, 2)) * (float)(four - 8);
}

static float element(StType type, const unsigned char *at, int64_t i)
{
    switch (type) {
    case StF32:   return float_of((uint32_t)bits(at + 4 * i, 4));
    case StF16:   return half_of((uint32_t)bits(at + 2 * i, 2));
    case StBF16:  return bf16_float((uint16_t)bits(at + 2 * i, 2));
    case StF64:   return (float)double_of(bits(at + 8 * i, 8));
    case StI32:   return (float)(int32_t)bits(at + 4 * i, 4);
    case StI64:   return (float)(int64_t)bits(at + 8 * i, 8);
    case StQ8:    return element_q8(at, i);
    case StQ4:    return element_q4(at, i);
    case StOther: break;
    }
    return NAN; /* refused by weights_check */
}

void tensor_floats(const Tensor *t, int64_t first, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = element(t->type, t->at, first + i);
}

int64_t tensor_not_finite(const Tensor *t)
{
    int64_t count = 0;
    if (t->type == StI32 || t->type == StI64 || t->type == StOther)
        return 0;
    for (int64_t i = 0; i < t->elements; i++)
        count += !isfinite(element(t->type, t->at, i));
    return count;
}
