/* scalar.c: has the operations of vector.c for one float at a time, in plain
 * C11 that any compiler takes, tcc too. The results are bit-identical. */

//: W
enum { W = 1 };                  /* floats in a vector */

//: v needs: W
typedef float v;
#define INLINE static inline

//: v_load needs: v
INLINE v v_load(const float *p)
{
    return *p;
}

//: v_load_aligned needs: v
INLINE v v_load_aligned(const float *p)
{
    return *p;
}

//: no_number
/* The byte of a number that another rank multiplies. */
enum { NoNumber = 128 };

//: v_prefetch
#define v_prefetch(p) ((void)(p))

//: v_prefetch_near
#define v_prefetch_near(p) ((void)(p))

//: v_store needs: v
INLINE void v_store(float *p, v x)
{
    *p = x;
}

//: v_splat needs: v
INLINE v v_splat(float x)
{
    return x;
}

//: v_fma when: fma needs: v
/* Returns a b + c, rounded once. */
INLINE v v_fma(v a, v b, v c)
{
    return fmaf(a, b, c);
}

//: v_fma when: nofma needs: v
/* Returns a b + c, rounded twice: this target cannot fuse them. */
INLINE v v_fma(v a, v b, v c)
{
    return a * b + c;
}

//: v_max needs: v
/* Returns b if a is NaN. */
INLINE v v_max(v a, v b)
{
    return a > b ? a : b;
}

//: v_zero_below needs: v
/* Returns y, or 0 if x < least. */
INLINE v v_zero_below(v y, v x, v least)
{
    if (x < least)
        y = 0.0f;
    return y;
}

//: v_power_of_2 needs: v
/* Returns 2^n of t = n + 127 + 1.5 * 2^23, n in -126 .. 127; 0 if n is -127. */
INLINE v v_power_of_2(v t)
{
    union { float f; uint32_t bits; } u;
    u.f = t;
    u.bits = u.bits << 23;
    return u.f;
}

//: v_mantissa needs: v
/* Returns m of x = 2^k m, from sqrt(1/2) to sqrt(2), for a normal x > 0. NaN
 * and infinity give any numbers that are finite. */
INLINE v v_mantissa(v x, v *k)
{
    union { float f; int32_t bits; } u;
    u.f = x;
    const int32_t above = u.bits - 0x3f3504f3;      /* sqrt(1/2) */
    *k = (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;
    return u.f;
}

//: transpose_4x4 needs: v
/* Transposes 4 numbers of 4 rows of x. Rows of y are 16 apart. */
INLINE void transpose_4x4(float *y, const float *x, int64_t ldx)
{
    for (int64_t i = 0; i < 4; i++)
        for (int64_t r = 0; r < 4; r++)
            y[i * 16 + r] = x[r * ldx + i];
}

//: lane_max needs: max1
/* Returns the largest of 16 lanes, folded to four, then one. */
INLINE float lane_max(const float *lane)
{
    float top[4];
    for (int64_t i = 0; i < 4; i++)
        top[i] = max1(max1(lane[i], lane[i + 4]),
                      max1(lane[i + 8], lane[i + 12]));
    return max1(max1(top[0], top[1]), max1(top[2], top[3]));
}

//: v_bf16 needs: v
/* Rounds to bf16, to the nearest even, and returns it in the upper half.
 * Numbers below 2^-55 become 0: then no product and no sum is a denormal, which
 * units for bf16 would flush. */
typedef uint32_t v_bits;
INLINE v_bits v_bf16(v x)
{
    union { float f; uint32_t bits; } u;
    u.f = x;
    const uint32_t size = u.bits & 0x7fffffff;
    const uint32_t near = u.bits + 0x7fff + (u.bits >> 16 & 1);
    const uint32_t nan = u.bits | 0x400000;
    return (size > 0x7f800000 ? nan : size < 0x24000000 ? 0 : near)
         & 0xffff0000u;
}

//: v_put_bf16 needs: v_bf16
INLINE void v_put_bf16(uint16_t *y, v_bits x)
{
    *y = (uint16_t)(x >> 16);
}

//: v_widen_bf16 needs: v widen1
INLINE v v_widen_bf16(const uint16_t *x)
{
    return widen1(*x);
}

//: v_widen_int8 needs: v
INLINE v v_widen_int8(const int8_t *x)
{
    return (float)*x;
}
