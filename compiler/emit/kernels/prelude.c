/* prelude.c: what every emitted file with kernels begins with.              */

//: float_rules
/* Products and sums are fused where it is written and nowhere else, so that
 * all compilers give the same bits. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC optimize ("fp-contract=off")
#endif

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
/* A number in bf16, which is the upper half of a float. */
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
