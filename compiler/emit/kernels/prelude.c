/* prelude.c: begins every emitted file with kernels. */

//: includes
#include <math.h>
#include <stdint.h>

//: fma1 when: fma
static inline float fma1(float a, float b, float c)
{
    return fmaf(a, b, c);
}

//: fma1 when: nofma
static inline float fma1(float a, float b, float c)
{
    return a * b + c;
}

//: widen1
/* Widens a bf16 number, which is the upper half of a float. */
static inline float widen1(uint16_t x)
{
    union { uint32_t bits; float f; } u;
    u.bits = (uint32_t)x << 16;
    return u.f;
}

//: max1
static inline float max1(float a, float b)
{
    return a > b ? a : b;
}

//: copy_bytes
static inline void copy_bytes(void *to, const void *from, int64_t n)
{
    uint8_t *y = (uint8_t *)to;
    const uint8_t *x = (const uint8_t *)from;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i];
}

//: int4_bytes
/* Returns the bytes of k int4 numbers in a panel. Two groups, of `shared`
 * numbers each, lie together, then the steps and offsets of each. */
static inline int64_t int4_bytes(int64_t k, int64_t shared)
{
    return (k + 2 * shared - 1) / (2 * shared) * (16 * shared + 64);
}

//: int4_steps needs: int4_bytes
/* Returns the steps of k's group, a byte a column; offsets follow. */
static inline const uint8_t *int4_steps(const uint8_t *panel, int64_t k,
                                        int64_t shared)
{
    return panel + int4_bytes(k + 1, shared) - 64 + k / shared % 2 * 32;
}

//: int4_line needs: int4_steps
/* Returns the line of k. */
static inline const uint8_t *int4_line(const uint8_t *panel, int64_t k,
                                       int64_t shared)
{
    const int64_t in = k % (2 * shared);
    return panel + int4_bytes(k - in, shared) + in / 8 * 64;
}
