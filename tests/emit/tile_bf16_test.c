/* tile_bf16_test.c: tests that tiles of bf16_dp and of bf16x3 give the same
 * bits by all compilers, and bf16_dp by vdpbf16ps, also for rows and weights
 * that hold denormals, infinities and NaN. Any processor with that instruction
 * runs code for znver4. */
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

enum { Stride = 96, Wide = 64, High = 6, C = 80 };

#define DP .dtype = DtypeBf16, .arithmetic = ArithmeticBf16Dp
#define X3 .dtype = DtypeBf16x2, .arithmetic = ArithmeticBf16x3
static TileKey tiles[] = {
    { .mr = 5, .nr = 64, DP },
    { .mr = 1, .nr = 16, DP },
    { .mr = 6, .nr = 16, .epilogue = EpPrefetch, DP },
    { .mr = 2, .nr = 48, .epilogue = EpAccumulate, DP },
    { .mr = 3, .nr = 64, X3 },
    { .mr = 1, .nr = 16, .epilogue = EpPrefetch, X3 },
    { .mr = 2, .nr = 48, .epilogue = EpAccumulate, X3 },
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
static const char *const kernels[] = { "round_rows_bf16", "split_rows_bf16",
                                       NULL };
typedef void RoundRows(uint16_t *, int64_t, const float *, int64_t, int64_t,
                       int64_t, int64_t);
typedef void SplitRows(uint32_t *, int64_t, const float *, int64_t, int64_t,
                       int64_t, int64_t);

static float a[High * Stride], b[Wide * Stride];
static _Alignas(64) uint16_t a_bf16[High * Stride], w_bf16[Wide * Stride],
    b_bf16[Wide * Stride];
static _Alignas(64) uint32_t a_two[High * Stride], w_two[Wide * Stride],
    b_two[Wide * Stride];
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

/* Splits the rows and the weights by the lab, 32 k of first numbers and as many
 * second ones in turn. */
static void pack_two(const Lab *l, int64_t depth)
{
    SplitRows *split_rows = (SplitRows *)lab_function(l, kernels[1]);
    const int64_t stored = dtype_stored(DtypeBf16x2, depth);
    split_rows(a_two, Stride, a, Stride, High, depth, stored);
    split_rows(w_two, Stride, b, Stride, Wide, depth, stored);
    for (int64_t j = 0; j < Wide; j++)
        for (int64_t k = 0; k < stored * 2; k++)
            ((uint16_t *)b_two)[j / 16 * stored * 32 + k / 2 * 32 + j % 16 * 2
                                + k % 2] =
                ((uint16_t *)w_two)[j * Stride * 2 + k];
}

/* ---- tiles ---- */

static void run_tile(const Lab *l, TileKey key, int64_t depth)
{
    const bool two = key.dtype == DtypeBf16x2;
    const int64_t column = two ? dtype_stored(DtypeBf16x2, depth)
                               : depth + depth % 2;
    const int64_t rows = two ? (int64_t)a_two : (int64_t)a_bf16;
    const int64_t panels = two ? (int64_t)b_two : (int64_t)b_bf16;
    key.width = l->target.width;
    lab_call_tile(l, key,
                  (int64_t[]){ rows, Stride, panels, column * 16, depth,
                               (int64_t)c, C, 0, 0, C, ActNone, panels, 16,
                               16 });
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
        pack_two(&lab[i], depth);
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

/* Tests both numbers of bf16x2: of an infinity, of NaN and of what rounds to
 * infinity the second one is 0, and numbers below 2^-55 are 0. */
static void test_split(void **state)
{
    static const struct {
        float x;
        uint16_t first, second;
    } known[] = {
        { 1.0f, 0x3f80, 0 },
        { -0x1.004p+0f, 0xbf80, 0xba80 },
        { 0x1.01p+0f, 0x3f80, 0x3b80 }, /* a tie: to even */
        { 0x1.03p+0f, 0x3f82, 0xbb80 },
        { 0x1.000402p+0f, 0x3f80, 0x3880 }, /* 2^-14 + 2^-23 */
        { INFINITY, 0x7f80, 0 },
        { -INFINITY, 0xff80, 0 },
        { 0x1.fffffep+127f, 0x7f80, 0 },
        { 0x1.fep+127f, 0x7f7f, 0 },
        { 0x1p-55f, 0x2400, 0 },
        { -0x1.fffffep-56f, 0, 0 },
        { 0x1.004p-46f, 0x2880, 0 },
        { 0x1.004p-45f, 0x2900, 0x2400 },
        { 0x1p-140f, 0, 0 },
    };
    enum { Known = sizeof known / sizeof *known };
    float x[Known + 1];
    uint32_t y[64];
    (void)state;
    for (int i = 0; i < Known; i++)
        x[i] = known[i].x;
    x[Known] = NAN;
    for (int l = 0; l < n_labs; l++) {
        const uint16_t *first = (uint16_t *)y, *second = first + 32;
        SplitRows *split_rows = (SplitRows *)lab_function(&lab[l], kernels[1]);
        memset(y, 1, sizeof y);
        split_rows(y, 64, x, 64, 1, Known + 1, 32);
        for (int i = 0; i < Known; i++)
            if (first[i] != known[i].first || second[i] != known[i].second)
                fail_msg("%s: %a becomes %04x, %04x", lab[l].name, (double)x[i],
                         first[i], second[i]);
        assert_true(isnan(bf16_float(first[Known])) && second[Known] == 0);
        for (int i = Known + 1; i < 32; i++)
            assert_true(first[i] == 0 && second[i] == 0);
        assert_int_equal(y[32], 0x01010101);
    }
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
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_instruction),
    };
    lab_way = ways;
    lab_of.kernels = kernels;
    lab_of.tiles = tiles;
    lab_of.n_tiles = Tiles;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
