/* measure_dots.c: loops that measure dot products in registers. Those of
 * integers multiply 8-bit numbers if one instruction can sum four such
 * products, otherwise 16-bit numbers. */
#define _GNU_SOURCE /* syscall */
#include "machine/dots.h"

#if defined __x86_64__
#include <immintrin.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* Twelve independent sums are enough to fill all units of every machine
 * (latency times units). */
#define DOT_LOOP(name, features, vector, zero, ones, dot)                     \
    __attribute__((target(features))) static int name(int64_t steps)          \
    {                                                                         \
        const vector x = ones(1), y = ones(2);                                \
        vector a = zero(), b = a, c = a, d = a, e = a;                        \
        vector f = a, g = a, h = a, i = a, j = a, k = a, l = a;               \
        for (int64_t step = 0; step < steps; step++) {                        \
            a = dot(a, x, y), b = dot(b, x, y), c = dot(c, x, y);             \
            d = dot(d, x, y), e = dot(e, x, y), f = dot(f, x, y);             \
            g = dot(g, x, y), h = dot(h, x, y), i = dot(i, x, y);             \
            j = dot(j, x, y), k = dot(k, x, y), l = dot(l, x, y);             \
            __asm__ volatile(""                                               \
                             : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e),   \
                               "+v"(f), "+v"(g), "+v"(h), "+v"(i), "+v"(j),   \
                               "+v"(k), "+v"(l));                             \
        }                                                                     \
        union {                                                               \
            vector all;                                                       \
            int one;                                                          \
        } sum = { a };                                                        \
        return sum.one;                                                       \
    }

#define MADD_512(sum, x, y) _mm512_add_epi32(sum, _mm512_madd_epi16(x, y))
#define MADD_256(sum, x, y) _mm256_add_epi32(sum, _mm256_madd_epi16(x, y))
#define PAIR_512(sum, x, y) _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(y))
#define PAIR_256(sum, x, y) _mm256_dpbf16_ps(sum, (__m256bh)(x), (__m256bh)(y))

DOT_LOOP(vnni_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512,
         _mm512_set1_epi32, _mm512_dpbusd_epi32)
DOT_LOOP(vnni_256, "avx2,avxvnni", __m256i, _mm256_setzero_si256,
         _mm256_set1_epi32, _mm256_dpbusd_avx_epi32)
DOT_LOOP(madd_512, "avx512f,avx512bw", __m512i, _mm512_setzero_si512,
         _mm512_set1_epi32, MADD_512)
DOT_LOOP(madd_256, "avx2", __m256i, _mm256_setzero_si256, _mm256_set1_epi32,
         MADD_256)
DOT_LOOP(pair_512, "avx512f,avx512bf16", __m512, _mm512_setzero_ps,
         _mm512_set1_ps, PAIR_512)
DOT_LOOP(pair_256, "avx512f,avx512vl,avx512bf16", __m256, _mm256_setzero_ps,
         _mm256_set1_ps, PAIR_256)

/* Four independent sums are enough for the unit of AMX. */
__attribute__((target("amx-tile,amx-int8"))) static int amx_loop(int64_t steps)
{
    static const struct {
        uint8_t palette, row, none[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = { .palette = 1,
                 .bytes = { 64, 64, 64, 64, 64, 64 },
                 .rows = { 16, 16, 16, 16, 16, 16 } };
    _Alignas(64) static const uint8_t ones[64] = { 1 };
    _Alignas(64) int32_t sum[16][16];
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, ones, 0);
    _tile_loadd(5, ones, 0);
    for (int64_t step = 0; step < steps; step++) {
        _tile_dpbusd(0, 4, 5);
        _tile_dpbusd(1, 4, 5);
        _tile_dpbusd(2, 4, 5);
        _tile_dpbusd(3, 4, 5);
    }
    _tile_stored(0, sum, 64);
    _tile_release();
    return sum[0][0];
}

/* Asks the system for AMX; returns false if this process may not use it. */
static bool amx_allowed(void)
{
#ifdef __linux__
    enum { RequestPermission = 0x1023, TileData = 18 };
    return syscall(SYS_arch_prctl, RequestPermission, TileData) == 0;
#else
    return false;
#endif
}

/* True if code for `t` may use vectors of `width` floats and the feature.
 * `feature` NULL: no feature beyond the instruction set is needed. */
static bool may(const Target *t, int width, const char *feature)
{
    return !t || t->width == 1
        || (t->width >= width && (!feature || target_has(t, feature)));
}
#endif

DotLoop dot_loop(const Target *t)
{
#if defined __x86_64__
    Cpu cpu;
    cpu_find(&cpu);
    if (t && t->amx && amx_allowed())
        return (DotLoop){ amx_loop, 4 * 16 * 16 * 64 };
    if (cpu.has & ATTN_CPU_AVX512VNNI && may(t, 16, "avx512vnni"))
        return (DotLoop){ vnni_512, 12 * 64 };
    if (cpu.has & ATTN_CPU_AVXVNNI && may(t, 8, "avxvnni"))
        return (DotLoop){ vnni_256, 12 * 32 };
    if (cpu.has & ATTN_CPU_V4 && may(t, 16, NULL))
        return (DotLoop){ madd_512, 12 * 32 };
    if (cpu.has & ATTN_CPU_V3 && may(t, 8, NULL))
        return (DotLoop){ madd_256, 12 * 16 };
#else
    (void)t;
#endif
    return (DotLoop){ 0 };
}

DotLoop pair_loop(const Target *t)
{
#if defined __x86_64__
    Cpu cpu;
    cpu_find(&cpu);
    if (cpu.has & ATTN_CPU_AVX512BF16 && may(t, 16, "avx512bf16"))
        return (DotLoop){ pair_512, 12 * 32 };
    if (cpu.has & ATTN_CPU_AVX512BF16 && may(t, 8, "avx512bf16"))
        return (DotLoop){ pair_256, 12 * 16 };
#else
    (void)t;
#endif
    return (DotLoop){ 0 };
}
