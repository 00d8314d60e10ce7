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

//: max1
static inline float max1(float a, float b)
{
    return a > b ? a : b;
}
