/* dots.c: integer arithmetic in vectors. 4 W bytes hold four numbers of each of
 * W columns; a column has a 32-bit lane. Sums of products of bytes are exact,
 * so all instructions below give the same bits. */

//: intrinsics when: x86
#include <immintrin.h>

//: intrinsics when: dotprod
#include <arm_neon.h>

//: UNROLLED
/* Unrolls the short loop after it, so that its index is a constant. */
#if defined __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#define UNROLLED _Pragma("GCC unroll 8")
#else
#define UNROLLED
#endif

//: v_columns needs: v
/* Holds one byte of each of W columns, in memory. */
typedef uint8_t v_columns __attribute__((vector_size(W), may_alias));

//: v_words needs: v
/* Holds four bytes of each of W columns, in memory. */
typedef int32_t v_words __attribute__((vector_size(4 * W), may_alias));

INLINE v_int v_load_words(const void *p)
{
    return *(const v_words *)p;
}

//: v_zero needs: v
INLINE v_int v_zero(const void *p)
{
    (void)p;
    return (v_int){0};
}

//: v_spread needs: v_words
/* v_spread() returns four bytes of a row in the lane of every column. */
typedef int32_t v_word __attribute__((may_alias));
INLINE v_int v_spread(const uint8_t *p)
{
    return (v_int){0} + *(const v_word *)p;
}

//: v_float needs: v
INLINE v v_float(v_int x)
{
    return __builtin_convertvector(x, v);
}

//: v_columns_at needs: v_columns
/* Returns a byte of each of W columns, widened to 32 bits. */
INLINE v_bits v_columns_at(const void *p)
{
    return __builtin_convertvector(*(const v_columns *)p, v_bits);
}

//: v_both needs: v_float v_fma v_splat
/* Returns 128 high + low. */
INLINE v v_both(v_int high, v_int low)
{
    return v_fma(v_splat(128.0f), v_float(high), v_float(low));
}

//: v_number8 needs: v_words v_float
/* Returns number i of the four of each column. */
INLINE v v_number8(const uint8_t *p, int64_t i, v step, v base)
{
    const v_bits words = (v_bits)v_load_words(p);
    (void)step;
    (void)base;
    return v_float((v_int)(words << (24 - 8 * i)) >> 24);
}

//: v_step4 needs: v_columns_at v_float
/* An int4 number n in 0 .. 15 means (n - 8) step + offset. v_number4() computes
 * it as (1 + n / 16) v_step4 + v_base4; each of these is exact. */
INLINE v v_step4(const uint8_t *p)
{
    return v_float((v_int)(v_columns_at(p) << 4));
}

INLINE v v_base4(const uint8_t *p)
{
    const v_int offset = (v_int)(v_columns_at(p + 16) << 24) >> 24;
    return v_float(offset - (v_int)v_columns_at(p) * 24);
}

//: v_number4 needs: v_step4 v_fma
/* Returns number i of eight; its four bits become the first of a mantissa. */
INLINE v v_number4(const uint8_t *p, int64_t i, v step, v base)
{
    const v_bits words = (v_bits)v_load_words(p);
    const int64_t at = i % 4 * 8 + i / 4 * 4;
    const v_bits n = at < 19 ? words << (19 - at) : words >> (at - 19);
    return v_fma((v)((n & 0x780000) | 0x3f800000), step, base);
}

//: float_line needs: UNROLLED v_store
/* Writes n numbers of each column, as floats, one after the other. */
typedef v panel_number(const uint8_t *line, int64_t i, v step, v base);
INLINE void float_line(float *y, int64_t n, panel_number *number,
                       const uint8_t *line, v step, v base)
{
    UNROLLED
    for (int64_t i = 0; i < n; i++)
        v_store(y + i * 16, number(line, i, step, base));
}

//: kernel float_int8 needs: float_line v_number8 copy_bytes
/* Copies a panel of int8 as floats, in the order of f32, then its scales. */
static void float_int8(int8_t *to, const void *panel, int64_t k)
{
    const uint8_t *p = (const uint8_t *)panel;
    const v none = {0};
    float *y = (float *)to;
    for (int64_t c = 0; c < 16; c += W) {
        for (int64_t i = 0; i + 4 <= k; i += 4)
            float_line(y + i * 16 + c, 4, v_number8, p + i * 16 + c * 4, none,
                       none);
        float_line(y + k / 4 * 64 + c, k % 4, v_number8,
                   p + k / 4 * 64 + c * 4, none, none);
    }
    copy_bytes(y + k * 16, p + (k + 63) / 64 * 1024, 64);
}

//: float_groups needs: float_line v_number4 copy_bytes int4_line int4_steps
/* Copies a panel of int4 as floats, which are whole numbers. */
INLINE void float_group(float *y, int64_t n, const uint8_t *line,
                        const uint8_t *steps)
{
    for (int64_t c = 0; c < 16; c += W) {
        const v step = v_step4(steps + c), base = v_base4(steps + c);
        for (int64_t i = 0; i + 8 <= n; i += 8)
            float_line(y + i * 16 + c, 8, v_number4, line + i * 8 + c * 4, step,
                       base);
        float_line(y + n / 8 * 128 + c, n % 8, v_number4,
                   line + n / 8 * 64 + c * 4, step, base);
    }
}

static void float_groups(float *y, const uint8_t *panel, int64_t k,
                         int64_t shared)
{
    for (int64_t g = 0; g < k; g += 32)
        float_group(y + g * 16, k - g < 32 ? k - g : 32,
                    int4_line(panel, g, shared), int4_steps(panel, g, shared));
    copy_bytes(y + k * 16, panel + int4_bytes(k, shared), 64);
}

//: kernel float_int4 needs: float_groups
static void float_int4(int8_t *to, const void *panel, int64_t k)
{
    float_groups((float *)to, (const uint8_t *)panel, k, 32);
}

//: kernel float_int4g64 needs: float_groups
static void float_int4g64(int8_t *to, const void *panel, int64_t k)
{
    float_groups((float *)to, (const uint8_t *)panel, k, 64);
}

//: v_halves needs: v
typedef uint16_t v_halves __attribute__((vector_size(4 * W)));

//: v_unpack4 needs: v_words v_columns_at v_halves
/* v_unpack4() returns numbers i .. i + 3 of eight as bytes, i = 0 or 4. A lane
 * of steps has the step in both halves, one of bases has offset - 8 step in all
 * four bytes. n step fits a byte, so it carries nothing into the next. */
typedef uint8_t v_bytes __attribute__((vector_size(4 * W)));
INLINE v_int v_steps(const uint8_t *p)
{
    return (v_int)(v_columns_at(p) * 0x10001);
}

INLINE v_int v_bases(const uint8_t *p)
{
    const v_bits base = v_columns_at(p + 16) - v_columns_at(p) * 8;
    return (v_int)((base & 255) * 0x1010101);
}

INLINE v_int v_unpack4(const uint8_t *p, int64_t i, v_int steps, v_int bases)
{
    const v_halves n = (v_halves)(v_load_words(p) >> i & 0xf0f0f0f);
    return (v_int)((v_bytes)(n * (v_halves)steps) + (v_bytes)bases);
}

//: v_store_words needs: v_words
INLINE void v_store_words(void *p, v_int x)
{
    *(v_words *)p = x;
}

//: unpack_lines needs: v_unpack4 v_store_words
/* Unpacks 32 k of a panel of int4, from `line` on, to int8. */
static void unpack_lines(int8_t *to, const uint8_t *line, const uint8_t *step)
{
    for (int64_t c = 0; c < 16; c += W) {
        const v_int steps = v_steps(step + c), bases = v_bases(step + c);
        for (int64_t i = 0; i < 4; i++) {
            const uint8_t *four = line + i * 64 + c * 4;
            int8_t *two = to + i * 128 + c * 4;
            v_store_words(two, v_unpack4(four, 0, steps, bases));
            v_store_words(two + 64, v_unpack4(four, 4, steps, bases));
        }
    }
}

//: unpack_groups needs: unpack_lines int4_steps int4_line copy_bytes
/* Unpacks a panel of int4 to one of int8. */
static void unpack_groups(int8_t *to, const uint8_t *panel, int64_t k,
                          int64_t shared)
{
    const int64_t stored = (k + 63) / 64 * 64;
    for (int64_t g = 0; g < stored; g += 32)
        unpack_lines(to + g * 16, int4_line(panel, g, shared),
                     int4_steps(panel, g, shared));
    copy_bytes(to + stored * 16, panel + int4_bytes(k, shared), 128);
}

//: v_put_wide when: wide needs: v_store_words v_halves
/* Stores four numbers of each column in 16 bits: a line of the even ones, then
 * one of the odd ones. */
typedef int16_t v_shorts __attribute__((vector_size(4 * W)));
INLINE void v_put_wide(void *p, v_int x)
{
    v_store_words(p, (v_int)((v_shorts)((v_halves)x << 8) >> 8));
    v_store_words((char *)p + 64, (v_int)((v_shorts)x >> 8));
}

//: kernel widen_int8 when: wide needs: v_put_wide copy_bytes
/* Widens a panel of int8 to 16 bits. */
static void widen_int8(int8_t *to, const void *panel, int64_t k)
{
    const int8_t *from = (const int8_t *)panel;
    const int64_t stored = (k + 63) / 64 * 64;
    for (int64_t i = 0; i < stored * 16; i += 64)
        for (int64_t c = 0; c < 64; c += 4 * W)
            v_put_wide(to + 2 * i + c, v_load_words(from + i + c));
    copy_bytes(to + stored * 32, from + stored * 16, 128);
}

//: widen_lines when: wide needs: v_unpack4 v_put_wide
/* Widens 32 k of a panel of int4, from `line` on, to 16 bits. */
static void widen_lines(int8_t *to, const uint8_t *line, const uint8_t *step)
{
    for (int64_t c = 0; c < 16; c += W) {
        const v_int steps = v_steps(step + c), bases = v_bases(step + c);
        for (int64_t i = 0; i < 4; i++) {
            const uint8_t *four = line + i * 64 + c * 4;
            int8_t *two = to + i * 256 + c * 4;
            v_put_wide(two, v_unpack4(four, 0, steps, bases));
            v_put_wide(two + 128, v_unpack4(four, 4, steps, bases));
        }
    }
}

//: widen_groups when: wide needs: widen_lines int4_steps int4_line copy_bytes
/* Widens a panel of int4 to 16 bits. */
static void widen_groups(int8_t *to, const uint8_t *panel, int64_t k,
                         int64_t shared)
{
    const int64_t stored = (k + 63) / 64 * 64;
    for (int64_t g = 0; g < stored; g += 32)
        widen_lines(to + g * 32, int4_line(panel, g, shared),
                    int4_steps(panel, g, shared));
    copy_bytes(to + stored * 32, panel + int4_bytes(k, shared), 128);
}

//: kernel widen_int4 when: wide needs: widen_groups
static void widen_int4(int8_t *to, const void *panel, int64_t k)
{
    widen_groups(to, (const uint8_t *)panel, k, 32);
}

//: kernel widen_int4g64 when: wide needs: widen_groups
static void widen_int4g64(int8_t *to, const void *panel, int64_t k)
{
    widen_groups(to, (const uint8_t *)panel, k, 64);
}

//: v_dot_wide when: wide w8 needs: intrinsics v_words
/* Adds two products of 16-bit numbers to each column's sum. */
INLINE v_int v_dot_wide(v_int sum, v_int x, v_int w)
{
    return sum + (v_int)_mm256_madd_epi16((__m256i)x, (__m256i)w);
}

//: v_dot_wide when: wide w4 needs: intrinsics v_words
/* Adds two products of 16-bit numbers to each column's sum. */
INLINE v_int v_dot_wide(v_int sum, v_int x, v_int w)
{
    return sum + (v_int)_mm_madd_epi16((__m128i)x, (__m128i)w);
}

//: v_dot when: vnni w16 needs: intrinsics v_words
/* Adds four products of a row's bytes and weights to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}

//: v_dot when: vnni w8 needs: intrinsics v_words
/* Adds four products of a row's bytes and weights to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)_mm256_dpbusd_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
}

//: v_dot when: vnni w4 needs: intrinsics v_words
/* Adds four products of a row's bytes and weights to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)_mm_dpbusd_epi32((__m128i)sum, (__m128i)x, (__m128i)w);
}

//: v_dot when: avxvnni w8 needs: intrinsics v_words
/* Adds four products of a row's bytes and weights to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x,
                                          (__m256i)w);
}

//: v_dot when: avxvnni w4 needs: intrinsics v_words
/* Adds four products of a row's bytes and weights to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)_mm_dpbusd_avx_epi32((__m128i)sum, (__m128i)x, (__m128i)w);
}

//: v_dot when: maddubs w16 needs: intrinsics v_words
/* Adds four products of bytes in -127 .. 127 to each column's sum: |w| times x
 * with the sign of w. Sums of two products fit 16 bits. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    const __mmask64 less = _mm512_movepi8_mask((__m512i)w);
    const __m512i q = _mm512_mask_sub_epi8((__m512i)x, less,
                                           _mm512_setzero_si512(), (__m512i)x);
    const __m512i two = _mm512_maddubs_epi16(_mm512_abs_epi8((__m512i)w), q);
    return sum + (v_int)_mm512_madd_epi16(two, _mm512_set1_epi16(1));
}

//: v_dot when: maddubs w8 needs: intrinsics v_words
/* Adds four products of bytes in -127 .. 127 to each column's sum: |w| times x
 * with the sign of w. Sums of two products fit 16 bits. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    const __m256i q = _mm256_sign_epi8((__m256i)x, (__m256i)w);
    const __m256i two = _mm256_maddubs_epi16(_mm256_abs_epi8((__m256i)w), q);
    return sum + (v_int)_mm256_madd_epi16(two, _mm256_set1_epi16(1));
}

//: v_dot when: maddubs w4 needs: intrinsics v_words
/* Adds four products of bytes in -127 .. 127 to each column's sum: |w| times x
 * with the sign of w. Sums of two products fit 16 bits. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    const __m128i q = _mm_sign_epi8((__m128i)x, (__m128i)w);
    const __m128i two = _mm_maddubs_epi16(_mm_abs_epi8((__m128i)w), q);
    return sum + (v_int)_mm_madd_epi16(two, _mm_set1_epi16(1));
}

//: v_dot when: dotprod w4 needs: intrinsics v_words
/* Adds four products of bytes in -127 .. 127 to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    return (v_int)vdotq_s32((int32x4_t)sum, (int8x16_t)x, (int8x16_t)w);
}

//: v_dot when: plain needs: v_words
/* Adds four products of bytes in -127 .. 127 to each column's sum. */
INLINE v_int v_dot(v_int sum, v_int x, v_int w)
{
    const v_bits a = (v_bits)x, b = (v_bits)w;
    for (int i = 0; i < 32; i += 8)
        sum += ((v_int)(a << i) >> 24) * ((v_int)(b << i) >> 24);
    return sum;
}

//: v_row when: signed needs: v_spread v_zero
/* Returns q from a row's bytes q + 128, so sums start with 0. */
INLINE v_int v_row(const uint8_t *p)
{
    return v_spread(p) ^ (int32_t)0x80808080;
}
#define v_start v_zero

//: no_number when: signed
/* The byte of a number that another rank multiplies. */
enum { NoNumber = 128 };

//: v_row when: unsigned needs: v_spread
/* Sums start with -128 times the sum of the weights, because a row's bytes are
 * q + 128. */
#define v_row v_spread
#define v_start v_load_words

//: no_number when: unsigned
/* The byte of a number that another rank multiplies: sums of its products are
 * 0, and that rank's have the 128 that sums start with. */
enum { NoNumber = 0 };

//: v_nibbles needs: v_words
/* Returns numbers i .. i + 3 of eight of int4 as stored, i = 0 or 4. */
INLINE v_int v_nibbles(const uint8_t *p, int64_t i, v_int step, v_int offset)
{
    (void)step;
    (void)offset;
    return v_load_words(p) >> i & 0xf0f0f0f;
}

//: v_dot_group when: w16 maddubs needs: intrinsics v_words
/* v_dot_group() adds products of bytes and nibbles to two 16-bit sums a column,
 * which hold 32 k. v_times_group() multiplies both and adds them. */
INLINE v_int v_dot_group(v_int part, v_int x, v_int n)
{
    const __m512i two = _mm512_maddubs_epi16((__m512i)n, (__m512i)x);
    return (v_int)_mm512_add_epi16((__m512i)part, two);
}
INLINE v_int v_times_group(v_int part, v_int factor)
{
    return (v_int)_mm512_madd_epi16((__m512i)part, (__m512i)factor);
}

//: v_dot_group when: w8 maddubs needs: intrinsics v_words
/* v_dot_group() adds products of bytes and nibbles to two 16-bit sums a column,
 * which hold 32 k. v_times_group() multiplies both and adds them. */
INLINE v_int v_dot_group(v_int part, v_int x, v_int n)
{
    const __m256i two = _mm256_maddubs_epi16((__m256i)n, (__m256i)x);
    return (v_int)_mm256_add_epi16((__m256i)part, two);
}
INLINE v_int v_times_group(v_int part, v_int factor)
{
    return (v_int)_mm256_madd_epi16((__m256i)part, (__m256i)factor);
}

//: v_dot_group when: w4 maddubs needs: intrinsics v_words
/* v_dot_group() adds products of bytes and nibbles to two 16-bit sums a column,
 * which hold 32 k. v_times_group() multiplies both and adds them. */
INLINE v_int v_dot_group(v_int part, v_int x, v_int n)
{
    const __m128i two = _mm_maddubs_epi16((__m128i)n, (__m128i)x);
    return (v_int)_mm_add_epi16((__m128i)part, two);
}
INLINE v_int v_times_group(v_int part, v_int factor)
{
    return (v_int)_mm_madd_epi16((__m128i)part, (__m128i)factor);
}

//: v_group when: maddubs needs: v_dot_group v_columns_at v_nibbles
/* Return step, or offset - 8 step, in both halves of a lane. */
INLINE v_int v_group_step(const uint8_t *p)
{
    return (v_int)(v_columns_at(p) * 0x10001);
}

INLINE v_int v_group_base(const uint8_t *p)
{
    const v_bits offset = (v_bits)((v_int)(v_columns_at(p + 16) << 24) >> 24);
    return (v_int)(((offset - v_columns_at(p) * 8) & 0xffff) * 0x10001);
}

//: row_peak needs: v_load load_some
/* Returns the bits of the largest |x|; those of NaN compare as the largest. */
static int32_t row_peak(const float *x, int64_t k)
{
    v_int top = {0};
    int32_t all = 0;
    for (int64_t i = 0; i < k; i += W) {
        const v_int bits = (v_int)load_some(x + i, k - i) & 0x7fffffff;
        const v_int larger = bits > top;
        top = (bits & larger) | (top & ~larger);
    }
    for (int64_t i = 0; i < W; i++)
        all = top[i] > all ? top[i] : all;
    return all;
}

//: v_pair needs: v
/* Returns two bf16 numbers of a row in the lane of every column. */
typedef uint32_t v_two __attribute__((may_alias));
INLINE v_bits v_pair(const uint16_t *p)
{
    return (v_bits){0} + *(const v_two *)p;
}

//: v_dp when: nopairs needs: v_fma
/* Adds the second product of two, then the first, to each column's sum. A bf16
 * number is the upper half of a float. */
INLINE v v_dp(v sum, v_bits x, v_bits w)
{
    sum = v_fma((v)(x & 0xffff0000u), (v)(w & 0xffff0000u), sum);
    return v_fma((v)(x << 16), (v)(w << 16), sum);
}

//: v_dp when: pairs w16 needs: intrinsics v
/* Adds the second product of two, then the first, to each column's sum. */
INLINE v v_dp(v sum, v_bits x, v_bits w)
{
    return (v)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)w);
}

//: v_dp when: pairs w8 needs: intrinsics v
/* Adds the second product of two, then the first, to each column's sum. */
INLINE v v_dp(v sum, v_bits x, v_bits w)
{
    return (v)_mm256_dpbf16_ps((__m256)sum, (__m256bh)x, (__m256bh)w);
}

//: v_dp when: pairs w4 needs: intrinsics v
/* Adds the second product of two, then the first, to each column's sum. */
INLINE v v_dp(v sum, v_bits x, v_bits w)
{
    return (v)_mm_dpbf16_ps((__m128)sum, (__m128bh)x, (__m128bh)w);
}

//: v_bf16_rest needs: v_bf16
/* Rounds to bf16 what x has beyond `near`, its own bf16; 0 if that is not
 * finite. */
INLINE v_bits v_bf16_rest(v x, v_bits near)
{
    const v_bits wide = near & 0x7f800000;
    return v_bf16(x - (v)near) & (v_bits)(wide != 0x7f800000);
}

//: v_nearest needs: v_splat
/* Rounds x, |x| < 2^22, to an integer, ties to even. The result is the low 22
 * bits of x + 1.5 * 2^23. */
INLINE v_bits v_nearest(v x)
{
    return (v_bits)(x + v_splat(0x1.8p+23f));
}

//: v_put_columns needs: v_columns
/* Stores the lowest byte of each lane. */
INLINE void v_put_columns(uint8_t *y, v_bits x)
{
    *(v_columns *)y = __builtin_convertvector(x & 255, v_columns);
}

//: v_put_int8 needs: v_nearest v_put_columns
INLINE void v_put_int8(uint8_t *y, v x)
{
    v_put_columns(y, v_nearest(x) ^ 128);
}

//: v_put_int15 needs: v_nearest v_put_columns
INLINE void v_put_int15(uint8_t *y, uint8_t *low, v x, int zero)
{
    const v_bits near = v_nearest(x);
    v_put_columns(y, near >> 7 ^ 128);
    v_put_columns(low, (near & 127) | zero);
}
