/* tile_bf16_test.c: tests that tiles of bf16_dp give the same bits by FMAs and
 * by vdpbf16ps, also for rows and weights that hold denormals, infinities and
 * NaN. Any processor with that instruction runs code for znver4. */
/* limit: 300 s */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"
#include "support/skip.h"

enum { MostK = 70, Stride = 72, Wide = 64, High = 6, C = 80 };

#define DP .dtype = DtypeBf16, .arithmetic = ArithmeticBf16Dp
static TileKey tiles[] = {
    { .mr = 5, .nr = 64, DP },
    { .mr = 1, .nr = 16, DP },
    { .mr = 6, .nr = 16, .epilogue = EpPrefetch, DP },
    { .mr = 2, .nr = 48, .epilogue = EpAccumulate, DP },
};
enum { Tiles = sizeof tiles / sizeof *tiles };

static const LabWay ways[] = {
    { "gcc", "x86-64-v4", 16, NULL },
    { "clang-19", "x86-64-v3", 8, NULL },
    { "tcc", "generic", 1, NULL },
    { "clang-19", "znver4", 16, NULL },
    { "gcc", "znver4", 16, NULL },
    { "clang-19", "znver4", 8, NULL },
    { "gcc", "znver4", 8, NULL },
    { "clang-19", "znver4", 4, NULL },
    { "gcc", "znver4", 4, NULL },
    { "clang-19", "armv8-a", 4, NULL },
    { "aarch64-linux-gnu-gcc", "armv8-a", 4, NULL },
    { NULL, NULL, 0, NULL },
};
static const char *const kernels[] = { "round_rows_bf16", NULL };
typedef void RoundRows(uint16_t *, int64_t, const float *, int64_t, int64_t,
                       int64_t, int64_t);

static float a[High * Stride], b[Wide * Stride];
static _Alignas(64) uint16_t a_bf16[High * Stride], w_bf16[Wide * Stride],
    b_bf16[Wide * Stride];
static float c[High * C], want[High * C];

/* ---- data ---- */

typedef enum {
    BitsAny,    /* any float: NaN and infinities are some of them */
    BitsFinite, /* of all sizes: products overflow, or are denormals */
    BitsNear,   /* about 2^-55, below which numbers become 0 */
    BitsNormal, /* sums that cancel */
    BitsKinds
} Bits;

static float number(Bits kind)
{
    union {
        uint32_t bits;
        float f;
    } u = { lab_random() };
    const uint32_t size = kind == BitsAny    ? lab_random() % 256
                        : kind == BitsFinite ? lab_random() % 255
                        : kind == BitsNear   ? 127 - 59 + lab_random() % 8
                                             : 125 + lab_random() % 4;
    u.bits = (u.bits & 0x7fffff) | size << 23 | lab_random() << 31;
    return u.f;
}

static void fill(Bits kind)
{
    for (int64_t i = 0; i < High * Stride; i++)
        a[i] = number(kind);
    for (int64_t i = 0; i < Wide * Stride; i++)
        b[i] = number(kind);
}

/* Rounds the rows and the weights by the lab. B has panels of 16 columns, of
 * two k side by side. */
static void pack(const Lab *l, int64_t depth)
{
    RoundRows *round_rows = (RoundRows *)lab_function(l, kernels[0]);
    const int64_t column = depth + depth % 2;
    round_rows(a_bf16, Stride, a, Stride, High, depth, Stride);
    round_rows(w_bf16, Stride, b, Stride, Wide, depth, Stride);
    for (int64_t j = 0; j < Wide; j++)
        for (int64_t k = 0; k < column; k++)
            b_bf16[j / 16 * column * 16 + k / 2 * 32 + j % 16 * 2 + k % 2] =
                w_bf16[j * Stride + k];
    for (int64_t i = 0; i < High * C; i++) /* sums so far */
        c[i] = bf16_float(a_bf16[i % Stride]);
}

/* ---- tiles ---- */

static void run_tile(const Lab *l, TileKey key, int64_t depth)
{
    const int64_t column = depth + depth % 2;
    key.width = l->target.width;
    lab_call_tile(l, key,
                  (int64_t[]){ (int64_t)a_bf16, Stride, (int64_t)b_bf16,
                               column * 16, depth, (int64_t)c, C, 0, 0, C,
                               ActNone, (int64_t)b_bf16, 16, 16 });
}

/* NaN is one number: which of its bits an FMA gives is the compiler's order of
 * operands. */
static void check(const Lab *l, const TileKey *key, Bits kind, int64_t depth)
{
    for (int64_t i = 0; i < High * C; i++)
        if (isnan(want[i]) ? !isnan(c[i]) : memcmp(&want[i], &c[i], 4) != 0)
            fail_msg("%s: %s, numbers %d, k %d: element %d is %a, not %a",
                     l->name, tile_name(lab_arena, *key), (int)kind, (int)depth,
                     (int)i, (double)c[i], (double)want[i]);
}

static void run_all(int t, Bits kind, int64_t depth)
{
    fill(kind);
    for (int i = 0; i < n_labs; i++) {
        pack(&lab[i], depth);
        run_tile(&lab[i], tiles[t], depth);
        if (i == 0)
            memcpy(want, c, sizeof want);
        check(&lab[i], &tiles[t], kind, depth);
    }
}

static void test_same_bits(void **state)
{
    (void)state;
    static const int64_t depths[] = { 1, 2, 7, 64, 67 };
    for (int t = 0; t < Tiles; t++)
        for (int kind = 0; kind < BitsKinds; kind++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
                for (int times = 0; times < 20; times++)
                    run_all(t, (Bits)kind, depths[d]);
}

/* Tests that the text has the instruction, so that the test above ran it. */
static void test_instruction(void **state)
{
    (void)state;
    int ran = 0;
    size_t n;
    for (int i = 0; i < n_labs; i++) {
        if (!lab[i].target.pairs)
            continue;
        assert_non_null(strstr(lab_text(lab_arena, &lab[i].target, kernels,
                                        tiles, Tiles, "", &n),
                               "_dpbf16_ps("));
        ran++;
    }
    if (!ran)
        SKIP("this processor has no avx512_bf16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_instruction),
    };
    lab_way = ways;
    lab_of.kernels = kernels;
    lab_of.tiles = tiles;
    lab_of.n_tiles = Tiles;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
