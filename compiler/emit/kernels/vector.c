/* vector.c: has the operations that kernels.c uses, for W floats at once, by
 * the compilers' vector extension. scalar.c has them for one float.
 *
 * A line `//: name` starts a piece; attnc prints the pieces that a model uses,
 * in the order of this file. `when:` names targets, `needs:` other pieces;
 * the emitter itself asks for `//: kernel name`. */

//: W when: w16
enum { W = 16 };                 /* floats in a vector */

//: W when: w8
enum { W = 8 };                  /* floats in a vector */

//: W when: w4
enum { W = 4 };                  /* floats in a vector */

//: v needs: W
typedef float v __attribute__((vector_size(4 * W)));
typedef float v_any __attribute__((vector_size(4 * W), aligned(4)));
typedef int32_t v_int __attribute__((vector_size(4 * W)));
typedef uint32_t v_bits __attribute__((vector_size(4 * W)));
#define INLINE static inline __attribute__((always_inline))

//: v_load needs: v
INLINE v v_load(const float *p)
{
    return *(const v_any *)p;
}

//: v_load_aligned needs: v
INLINE v v_load_aligned(const float *p)
{
    return *(const v *)p;
}

//: v_store needs: v
INLINE void v_store(float *p, v x)
{
    *(v_any *)p = x;
}

//: ROLLED
/* Keeps a loop from being unrolled, because its sums fill all registers. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED
#endif

//: v_prefetch
/* Prefetches the cache line at p into L2. */
#if defined __GNUC__
#define v_prefetch(p) __builtin_prefetch(p, 0, 2)
#else
#define v_prefetch(p) ((void)(p))
#endif

//: v_prefetch_near
/* Prefetches the cache line at p into L1. */
#if defined __GNUC__
#define v_prefetch_near(p) __builtin_prefetch(p, 0, 3)
#else
#define v_prefetch_near(p) ((void)(p))
#endif

//: v_splat when: w16 needs: v
INLINE v v_splat(float x)
{
    return (v){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

//: v_splat when: w8 needs: v
INLINE v v_splat(float x)
{
    return (v){x, x, x, x, x, x, x, x};
}

//: v_splat when: w4 needs: v
INLINE v v_splat(float x)
{
    return (v){x, x, x, x};
}

//: v_fma when: fma needs: v
/* Returns a b + c, rounded once. */
#if defined __has_builtin
#if __has_builtin(__builtin_elementwise_fma)
#define v_fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif
#endif
#ifndef v_fma
INLINE v v_fma(v a, v b, v c)
{
    v r = c; /* without a value gcc may warn of it */
    for (int i = 0; i < W; i++)
        r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
}
#endif

//: v_fma when: nofma needs: v
/* Returns a b + c, rounded twice: this target cannot fuse them. */
INLINE v v_fma(v a, v b, v c)
{
    return a * b + c;
}

//: v_max needs: v
/* Returns a > b ? a : b in each lane, so b if a is NaN. */
INLINE v v_max(v a, v b)
{
    const v_int larger = a > b;
    return (v)(((v_int)a & larger) | ((v_int)b & ~larger));
}

//: v_zero_below needs: v
/* Returns y, or 0 in each lane in which x < least. */
INLINE v v_zero_below(v y, v x, v least)
{
    const v_int below = x < least;
    return (v)((v_int)y & ~below);
}

//: v_power_of_2 needs: v
/* Returns 2^n of t = n + 127 + 1.5 * 2^23, n in -126 .. 127; 0 if n is -127. */
INLINE v v_power_of_2(v t)
{
    return (v)((v_bits)t << 23);
}

//: v_mantissa needs: v
/* Returns m of x = 2^k m, from sqrt(1/2) to sqrt(2), for a normal x > 0. NaN
 * and infinity give any numbers that are finite. */
INLINE v v_mantissa(v x, v *k)
{
    const v_int above = (v_int)x - 0x3f3504f3;      /* sqrt(1/2) */
    *k = __builtin_convertvector(above >> 23, v);
    return (v)((above & 0x007fffff) + 0x3f3504f3);
}

//: quad
/* A quad is four floats at any address. */
typedef float quad __attribute__((vector_size(16), aligned(4)));

//: transpose_4x4 needs: v quad
/* Transposes 4 numbers of 4 rows of x. Rows of y are 16 apart. */
INLINE void transpose_4x4(float *y, const float *x, int64_t ldx)
{
    const quad a = *(const quad *)x;
    const quad b = *(const quad *)(x + ldx);
    const quad c = *(const quad *)(x + 2 * ldx);
    const quad d = *(const quad *)(x + 3 * ldx);
    for (int64_t i = 0; i < 4; i++)
        *(quad *)(y + i * 16) = (quad){a[i], b[i], c[i], d[i]};
}

//: lane_max needs: v quad
/* Returns the largest of 16 lanes, folded to four, then one. Vectors have four
 * lanes because a wider one would have to be split. */
typedef int32_t quad_int __attribute__((vector_size(16), aligned(4)));

INLINE quad quad_max(quad a, quad b)
{
    const quad_int larger = a > b;
    return (quad)(((quad_int)a & larger) | ((quad_int)b & ~larger));
}

INLINE float lane_max(const float *lane)
{
    const quad *q = (const quad *)lane;
    const quad a = quad_max(quad_max(q[0], q[1]), quad_max(q[2], q[3]));
    const float b = a[0] > a[1] ? a[0] : a[1];
    const float c = a[2] > a[3] ? a[2] : a[3];
    return b > c ? b : c;
}

//: v_bf16 needs: v
/* Rounds to bf16, to the nearest even, and returns it in the upper half.
 * Numbers below 2^-55 become 0: then no product and no sum is a denormal, which
 * units for bf16 would flush. */
INLINE v_bits v_bf16(v x)
{
    const v_bits bits = (v_bits)x;
    const v_int size = (v_int)(bits & 0x7fffffff);
    const v_bits nan = (v_bits)(size > 0x7f800000);
    const v_bits kept = (v_bits)(size >= 0x24000000);
    const v_bits near = bits + 0x7fff + (bits >> 16 & 1);
    const v_bits all = ((near & ~nan) | ((bits | 0x400000) & nan)) & kept;
    return all & 0xffff0000u;
}

//: v_put_bf16 needs: v
typedef uint16_t v_half
    __attribute__((vector_size(2 * W), aligned(2), may_alias));
INLINE void v_put_bf16(uint16_t *y, v_bits x)
{
    *(v_half *)y = __builtin_convertvector(x >> 16, v_half);
}

//: v_widen_bf16 needs: v_put_bf16 v_bf16
INLINE v v_widen_bf16(const uint16_t *x)
{
    return (v)(__builtin_convertvector(*(const v_half *)x, v_bits) << 16);
}

//: v_widen_int8 needs: v
typedef int8_t v_byte
    __attribute__((vector_size(W), aligned(1), may_alias));
INLINE v v_widen_int8(const int8_t *x)
{
    return __builtin_convertvector(
        __builtin_convertvector(*(const v_byte *)x, v_int), v);
}
