/* weight_loops.c: the loops over all numbers of the weights. Each is written
 * once, as plain C that compilers vectorise, and is compiled for several
 * machines.
 *
 * Tensors may begin at any byte, and files are little-endian. */
#include <math.h>
#include <string.h>

#include "block_loops.h"

/* ---- numbers ---- */
EACH uint64_t bits_64(const unsigned char *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return LITTLE(64, v);
}

EACH double double_of(uint64_t v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

EACH uint16_t nearest_bf16(float x)
{
    const uint32_t v = bits_of(x);
    const uint32_t nearest = v + 0x7fff + (v >> 16 & 1);
    /* a NaN whose payload is only in the dropped bits must stay a NaN */
    const uint32_t nan = v & 0x7f0000 ? v : v | 0x400000;
    return (uint16_t)(((v & 0x7fffffff) > 0x7f800000 ? nan : nearest) >> 16);
}

/* Copies the elements of a block from element i on, but not past `end`. Returns
 * their number. */
EACH int64_t copy_block(const float *block, int64_t elements, int64_t i,
                        int64_t end, float *out)
{
    const int64_t skip = i % elements, all = elements - skip;
    const int64_t n = end - i < all ? end - i : all;
    memcpy(out, block + skip, (size_t)n * sizeof *out);
    return n;
}

#define FLOATS_OF_BLOCKS(number, name, elements, bytes, floats)               \
    case St##name:                                                            \
        for (int64_t i = 0; i < n;) {                                         \
            floats(at + (first + i) / elements * bytes, block);               \
            i += copy_block(block, elements, first + i, first + n, out + i);  \
        }                                                                     \
        break;

EACH void floats_any(StType type, const unsigned char *at, int64_t first,
                     int64_t n, float *out)
{
    float block[BlockMost];
    switch (type) {
    case StF32:
        for (at += 4 * first; n > 0; n--, at += 4)
            *out++ = float_of(bits_32(at));
        break;
    case StF16:
        at += 2 * first;
        for (int64_t i = 0; i < n; i++)
            out[i] = half_of(bits_16(at + 2 * i));
        break;
    case StBF16:
        at += 2 * first;
        for (int64_t i = 0; i < n; i++)
            out[i] = float_of((uint32_t)bits_16(at + 2 * i) << 16);
        break;
    case StF64:
        at += 8 * first;
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)double_of(bits_64(at + 8 * i));
        break;
    case StI32:
        at += 4 * first;
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(int32_t)bits_32(at + 4 * i);
        break;
    case StI64:
        at += 8 * first;
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)(int64_t)bits_64(at + 8 * i);
        break;
        BLOCK_TYPES(FLOATS_OF_BLOCKS)
    case StOther: /* weights_check() rejects these types */
        for (int64_t i = 0; i < n; i++)
            out[i] = NAN;
        break;
    }
}

/* ---- floats ---- */
EACH int64_t not_finite_any(const float *x, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += (bits_of(x[i]) & 0x7f800000) == 0x7f800000;
    return count;
}

EACH void change_any(float *x, int64_t n, float scale, float add)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = fmaf(x[i], scale, add);
}

EACH void scale_any(float *x, int64_t n, float scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= scale;
}

EACH void bf16_any(const float *x, int64_t n, uint16_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = nearest_bf16(x[i]);
}

EACH void bf16_rest_any(const float *x, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t near = (uint32_t)nearest_bf16(x[i]) << 16;
        const float rest = x[i] - float_of(near);
        out[i] = (near & 0x7f800000) == 0x7f800000 ? 0.0f : rest;
    }
}

EACH void bf16_pairs_any(const float *x, int64_t n, uint32_t *out)
{
    for (int64_t i = 0; i < n / 2; i++)
        for (int64_t c = 0; c < ATTN_PANEL; c++) {
            const float *at = x + i * 2 * ATTN_PANEL + c;
            out[i * ATTN_PANEL + c] = nearest_bf16(at[0])
                                    | (uint32_t)nearest_bf16(at[ATTN_PANEL])
                                          << 16;
        }
    for (int64_t c = 0; c < ATTN_PANEL && n % 2; c++)
        out[n / 2 * ATTN_PANEL + c] = nearest_bf16(x[(n - 1) * ATTN_PANEL + c]);
}

/* Transposes 8 rows of 8 numbers in three steps: pairs, groups of four, then
 * halves of a vector. */
#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define EIGHTS 8
#endif
#endif
#if defined EIGHTS
typedef float Eight __attribute__((vector_size(32)));
#define LOW(a, b)   __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH(a, b)  __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOWS(a, b)  __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGHS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define LAST(a, b)  __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15)

EACH void transpose_eight(const float *x, int64_t stride, float *out)
{
    Eight r[8], s[8], t[8];
    for (int i = 0; i < 8; i++)
        memcpy(&r[i], x + i * stride, sizeof *r);
    for (int i = 0; i < 8; i += 2) {
        s[i] = LOW(r[i], r[i + 1]);
        s[i + 1] = HIGH(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        t[i] = LOWS(s[i], s[i + 2]);
        t[i + 1] = HIGHS(s[i], s[i + 2]);
        t[i + 2] = LOWS(s[i + 1], s[i + 3]);
        t[i + 3] = HIGHS(s[i + 1], s[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = FIRST(t[i], t[i + 4]);
        r[i + 4] = LAST(t[i], t[i + 4]);
    }
    for (int i = 0; i < 8; i++)
        memcpy(out + (int64_t)i * ATTN_PANEL, &r[i], sizeof *r);
}
#endif

EACH void transpose_any(const float *x, int64_t stride, int64_t n, float *out)
{
    int64_t k = 0;
#if defined EIGHTS
    for (; k + EIGHTS <= n; k += EIGHTS)
        for (int r = 0; r < ATTN_PANEL; r += EIGHTS)
            transpose_eight(x + r * stride + k, stride,
                            out + k * ATTN_PANEL + r);
#endif
    for (; k < n; k++)
        for (int r = 0; r < ATTN_PANEL; r++)
            out[k * ATTN_PANEL + r] = x[r * stride + k];
}

/* ---- deviates ---- */
EACH uint64_t splitmix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns a deviate with mean 0 and variance 1: the sum of four 16-bit
 * integers, added two at a time. A uniform integer below n has the variance
 * (n^2 - 1) / 12. */
EACH double deviate(uint64_t v, double deviation_of_sum)
{
    const uint64_t both = 0x0000ffff0000ffff;
    const uint64_t two = (v & both) + (v >> 16 & both);
    const int sum = (int)((uint32_t)two + (uint32_t)(two >> 32));
    return (sum - 2 * 65535) / deviation_of_sum;
}

EACH void deviates_any(uint64_t key, int64_t first, int64_t n, double deviation,
                       float mean, float *out)
{
    const double of_sum = sqrt((65536.0 * 65536.0 - 1) / 3);
    key += (uint64_t)first * 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t v = splitmix64(key + (uint64_t)i * 0x9e3779b97f4a7c15u);
        out[i] = mean + (float)(deviation * deviate(v, of_sum));
    }
}

/* ---- machines ---- */
#define LOOPS(name, target)                                                   \
    target static void name##_floats(StType type, const unsigned char *at,    \
                                     int64_t first, int64_t n, float *out)    \
    {                                                                         \
        floats_any(type, at, first, n, out);                                  \
    }                                                                         \
    target static int64_t name##_not_finite(const float *x, int64_t n)        \
    {                                                                         \
        return not_finite_any(x, n);                                          \
    }                                                                         \
    target static void name##_change(float *x, int64_t n, float s, float a)   \
    {                                                                         \
        change_any(x, n, s, a);                                               \
    }                                                                         \
    target static void name##_scale(float *x, int64_t n, float s)             \
    {                                                                         \
        scale_any(x, n, s);                                                   \
    }                                                                         \
    target static void name##_bf16(const float *x, int64_t n, uint16_t *out)  \
    {                                                                         \
        bf16_any(x, n, out);                                                  \
    }                                                                         \
    target static void name##_bf16_rest(const float *x, int64_t n, float *out) \
    {                                                                         \
        bf16_rest_any(x, n, out);                                             \
    }                                                                         \
    target static void name##_bf16_pairs(const float *x, int64_t n,           \
                                         uint32_t *out)                       \
    {                                                                         \
        bf16_pairs_any(x, n, out);                                            \
    }                                                                         \
    target static void name##_transpose(const float *x, int64_t stride,       \
                                        int64_t n, float *out)                \
    {                                                                         \
        transpose_any(x, stride, n, out);                                     \
    }                                                                         \
    target static void name##_deviates(uint64_t key, int64_t first,           \
                                       int64_t n, double deviation,           \
                                       float mean, float *out)                \
    {                                                                         \
        deviates_any(key, first, n, deviation, mean, out);                    \
    }                                                                         \
    target static void name##_largest(const float *x, int64_t stride,         \
                                      int64_t n, float *largest)              \
    {                                                                         \
        largest_any(x, stride, n, largest);                                   \
    }                                                                         \
    target static void name##_int8_sums(const float *x, int64_t stride,       \
                                        int64_t n, const Step *s,             \
                                        LaneSums *sums)                       \
    {                                                                         \
        int8_sums_any(x, stride, n, s, sums);                                 \
    }                                                                         \
    target static void name##_int8(const float *x, int64_t stride, int64_t n, \
                                   const Step *s, unsigned char *lines,       \
                                   LaneSums *sums)                            \
    {                                                                         \
        int8_any(x, stride, n, s, lines, sums);                               \
    }                                                                         \
    target static void name##_int4(const float *x, int64_t stride, int64_t n, \
                                   const Step *s, int shared,                 \
                                   unsigned char *lines, LaneSums *sums)      \
    {                                                                         \
        int4_any(x, stride, n, s, shared, lines, sums);                       \
    }                                                                         \
    static const Loops name = { .floats = name##_floats,                      \
                                .not_finite = name##_not_finite,              \
                                .change = name##_change,                      \
                                .scale = name##_scale,                        \
                                .bf16 = name##_bf16,                          \
                                .bf16_rest = name##_bf16_rest,                \
                                .bf16_pairs = name##_bf16_pairs,              \
                                .transpose = name##_transpose,                \
                                .deviates = name##_deviates,                  \
                                .largest = name##_largest,                    \
                                .int8_sums = name##_int8_sums,                \
                                .int8 = name##_int8,                          \
                                .int4 = name##_int4 }

LOOPS(plain, );

#if defined __x86_64__
#define AVX2   __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl")))
LOOPS(avx2, AVX2);
LOOPS(avx512, AVX512);

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl");
}
#endif

const Loops *loops_of(int vectors)
{
    switch (vectors) {
    case 0: return &plain;
#if defined __x86_64__
    case 1: return has_avx2() ? &avx2 : NULL;
    case 2: return has_avx512() ? &avx512 : NULL;
#endif
    default: return NULL;
    }
}

const Loops *loops(void)
{
    int widest = 0;
    while (loops_of(widest + 1))
        widest++;
    return loops_of(widest);
}
