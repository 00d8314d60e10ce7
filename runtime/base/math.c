/* math.c: exp and log, because C libraries differ in their last bits. Both are
 * bit-identical to the functions in the kernels; attn_exp also covers results
 * up to the largest float. */
#include "runtime/core.h"

#include <math.h>

/* Computes e^x. x = n ln 2 + r with r in -ln 2 / 2 .. ln 2 / 2, where ln 2 is
 * split into two parts [Cody and Waite 1980]; e^r = 1 + r + r^2 P(r), with P
 * minimax. The result is 0 below the smallest normal number. */
ATTN_API float attn_exp(float x)
{
    union {
        float f;
        uint32_t bits;
    } scale;
    float shift = 0x1.8p+23f; /* adding this rounds to an integer */
    float twice = 1.0f;
    if (x < -0x1.5d589ep+6f)
        return 0.0f;
    if (x > 0x1.62e42ep+6f)
        return INFINITY;
    float t = fmaf(x, 0x1.715476p+0f, shift);
    float n = t - shift;
    float r = fmaf(n, -0x1.62e4p-1f, x);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6a4ce4p-10f;
    p = fmaf(p, r, 0x1.123988p-7f);
    p = fmaf(p, r, 0x1.5558bp-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    p = fmaf(p, r, 0x1.fffffcp-2f);
    p = fmaf(p, r * r, r);
    if (n > 127.0f) { /* 2^128 is not a float */
        t = t - 1.0f;
        twice = 2.0f;
    }
    scale.f = t;
    scale.bits = (scale.bits + 127) << 23;
    return fmaf(p, scale.f, scale.f) * twice;
}

/* Computes ln x. x = 2^k m with m in sqrt(1/2) .. sqrt(2), f = m - 1, s = f /
 * (2 + f): ln m = 2 s + s^3 R(s^2) = f - s (f - s^2 R), with R minimax. */
ATTN_API float attn_log(float x)
{
    union {
        float f;
        int32_t bits;
    } u;
    float k = 0.0f;
    if (x == 0.0f)
        return -INFINITY;
    if (!(x > 0.0f))
        return (x - x) / (x - x); /* returns NaN */
    if (x == INFINITY)
        return x;
    if (x < 0x1p-126f) { /* a subnormal number */
        x = x * 0x1p+25f;
        k = -25.0f;
    }
    u.f = x;
    int32_t above = u.bits - 0x3f3504f3; /* bits of sqrt(1/2) */
    k += (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;
    float f = u.f - 1.0f;
    float s = f / (2.0f + f);
    float z = s * s;
    float r = fmaf(z, 0x1.31dfeap-2f, 0x1.995edap-2f);
    r = fmaf(z, r, 0x1.55557ap-1f);
    float low = fmaf(k, -0x1.7f7d1cp-20f, s * fmaf(-z, r, f));
    return fmaf(k, 0x1.62e4p-1f, f - low);
}

ATTN_API float attn_log_probability(float logit, float log_sum_exp)
{
    float p = logit - log_sum_exp;
    if (p > 0.0f)
        p = 0.0f;
    return p;
}

/* True if any element is above `least`. Contains no branch, so that compilers
 * vectorise it. */
ATTN_API int attn_any_above(const float *x, int64_t n, float least)
{
    int any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= x[i] > least;
    return any;
}
