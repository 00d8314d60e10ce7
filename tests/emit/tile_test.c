/* tile_test.c: tests tile functions, in all variants, against the defined sum:
 * over k in order, with one rounding each. */
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

enum {
    MostK = 96,
    Stride = 104,
    Wide = 64,
    High = 16,
    C = 80,
    Full = EpBias | EpAct | EpResidual
};

/* Shapes and epilogues: each bit alone, all of them, the edges of mr and nr. */
static TileKey tiles[] = {
    { .mr = 6, .nr = 64, .epilogue = 0 },
    { .mr = 6, .nr = 64, .epilogue = Full, .act = ActRelu },
    { .mr = 6, .nr = 16, .epilogue = EpBias },
    { .mr = 6, .nr = 16, .epilogue = EpAny },
    { .mr = 1, .nr = 16, .epilogue = EpAct, .act = ActRelu },
    { .mr = 1, .nr = 16, .epilogue = EpAccumulate },
    { .mr = 1, .nr = 16, .epilogue = Full, .act = ActRelu },
    { .mr = 1, .nr = 64, .epilogue = EpBias | EpAct, .act = ActRelu },
    { .mr = 1, .nr = 64, .epilogue = EpAny },
    { .mr = 1, .nr = 32, .epilogue = EpBias | EpAct, .act = ActGelu },
    { .mr = 2, .nr = 32, .epilogue = Full, .act = ActSilu },
    { .mr = 6, .nr = 64, .epilogue = EpAct, .act = ActGeluTanh },
    { .mr = 2, .nr = 48, .epilogue = EpResidual },
    { .mr = 3, .nr = 32, .epilogue = EpAccumulate },
    { .mr = 12, .nr = 32, .epilogue = EpBias | EpResidual },
    { .mr = 16, .nr = 16, .epilogue = EpAny },
    { .mr = 6, .nr = 64, .dtype = DtypeBf16 },
    { .mr = 1, .nr = 64, .epilogue = EpAny, .dtype = DtypeBf16 },
    { .mr = 1, .nr = 16, .epilogue = EpBias, .dtype = DtypeBf16 },
    { .mr = 3, .nr = 32, .epilogue = Full, .act = ActGelu, .dtype = DtypeBf16 },
    { .mr = 5, .nr = 64, .dtype = DtypeBf16, .arithmetic = ArithmeticBf16Dp },
    { .mr = 6,
      .nr = 16,
      .epilogue = EpBias | EpPrefetch,
      .dtype = DtypeBf16,
      .arithmetic = ArithmeticBf16Dp },
    { .mr = 2,
      .nr = 32,
      .epilogue = EpAccumulate,
      .dtype = DtypeBf16,
      .arithmetic = ArithmeticBf16Dp },
    { .mr = 3, .nr = 64, .dtype = DtypeBf16, .arithmetic = ArithmeticBf16Amx },
    { .mr = 6,
      .nr = 16,
      .epilogue = EpBias | EpPrefetch,
      .dtype = DtypeBf16,
      .arithmetic = ArithmeticBf16Amx },
    { .mr = 2,
      .nr = 32,
      .epilogue = EpAccumulate,
      .dtype = DtypeBf16,
      .arithmetic = ArithmeticBf16Amx },
    { .mr = 3, .nr = 64, .dtype = DtypeBf16x2, .arithmetic = ArithmeticBf16x3 },
    { .mr = 6,
      .nr = 16,
      .epilogue = EpBias | EpPrefetch,
      .dtype = DtypeBf16x2,
      .arithmetic = ArithmeticBf16x3 },
    { .mr = 2,
      .nr = 32,
      .epilogue = EpAccumulate,
      .dtype = DtypeBf16x2,
      .arithmetic = ArithmeticBf16x3 },
    { .mr = 8, .nr = 32, .epilogue = EpPrefetch },
    { .mr = 5, .nr = 16, .epilogue = EpPrefetch },
    { .mr = 6, .nr = 32, .epilogue = EpPrefetch, .dtype = DtypeBf16 },
};
enum { Tiles = sizeof tiles / sizeof *tiles };

static const char *const kernels[] = {
    "activate_rows_relu", "activate_rows_gelu", "activate_rows_gelu_tanh",
    "activate_rows_silu", "embed_row_bf16",     NULL
};
typedef void Activate(float *, int64_t, const float *, int64_t, int64_t,
                      int64_t);

static _Alignas(64) float a[High * Stride], b[Wide * MostK];
static _Alignas(64) uint16_t a_bf16[High * Stride], b_bf16[Wide * MostK];
/* bf16x2: a and b hold the first numbers, these the second ones, and the words
 * both. */
static float a_rest[High * Stride], b_rest[Wide * MostK];
static _Alignas(64) uint32_t a_two[High * Stride], b_two[Wide * MostK];
static _Alignas(64) float bias[Wide], residual[High * C];
static _Alignas(64) float c[(High + 1) * C], want[(High + 1) * C];

/* B has panels of 16 columns, k-major; returns element (k, j). */
static float *b_at(int64_t depth, int64_t k, int64_t j)
{
    return &b[j / 16 * depth * 16 + k * 16 + j % 16];
}

/* Returns the bf16 numbers of a column of a panel: groups of 32. */
static int64_t column_bf16(int64_t depth)
{
    return dtype_stored(DtypeBf16, depth);
}

static float activated(const Lab *l, Activation act, float x)
{
    Activate *f;
    void *p = lab_find(l, arena_printf(lab_arena, "activate_rows_%s",
                                       act_text[act].plain));
    assert_non_null(p);
    memcpy(&f, &p, sizeof f);
    f(&x, 1, &x, 1, 1, 1);
    return x;
}

/* Returns the sum of products k .. k + 31 of a row of x and a column of panels:
 * that of the even ones and that of the odd ones. */
static float sum_of_32(const float *x, const float *w, int64_t depth, int64_t k,
                       int64_t j)
{
    float of[2] = { 0, 0 };
    for (int64_t n = k; n < depth && n < k + 32; n++)
        of[n % 2] = fmaf(x[n], w[b_at(depth, n, j) - b], of[n % 2]);
    return of[0] + of[1];
}

/* Returns x plus a row of A times a column of B, by definition. */
static float product(int64_t depth, int64_t i, int64_t j, float x,
                     Arithmetic by)
{
    const bool three = by == ArithmeticBf16x3;
    const float *row = a + i * Stride, *rest = a_rest + i * Stride;
    for (int64_t k = 0; k < depth && (three || by == ArithmeticBf16Amx);
         k += 32) {
        if (three)
            x += sum_of_32(row, b_rest, depth, k, j);
        x += sum_of_32(row, b, depth, k, j);
        if (three)
            x += sum_of_32(rest, b, depth, k, j);
    }
    if (three || by == ArithmeticBf16Amx)
        return x;
    const int64_t block = by == ArithmeticBf16Dp ? 2 : 1;
    for (int64_t k = 0; k < depth; k += block)
        for (int64_t at = k + block - 1; at >= k; at--)
            if (at < depth)
                x = fmaf(row[at], *b_at(depth, at, j), x);
    return x;
}

/* Computes one output by definition. Applies only the epilogue's own bits; for
 * EpAny, `parts` selects them. */
static float expected(const Lab *l, int64_t depth, int64_t i, int64_t j,
                      float start, int parts, Activation act, Arithmetic by)
{
    float x = product(depth, i, j, start, by);
    if (parts & EpBias)
        x += bias[j];
    if (parts & EpAct)
        x = activated(l, act, x);
    if (parts & EpResidual)
        x += residual[i * C + j];
    return x;
}

/* Compares bit for bit, with the canaries around the block; +0 equals -0. */
static void check_block(const char *who, const char *tile, int64_t depth)
{
    for (int64_t i = 0; i < (High + 1) * C; i++) {
        const bool same = is_canary(want[i]) ? is_canary(c[i])
                                             : c[i] == want[i];
        if (!same)
            fail_msg("%s: %s, k %d: element %d is %a, expected %a", who, tile,
                     (int)depth, (int)i, (double)c[i], (double)want[i]);
    }
}

/* Rounds B to numbers that are exact in bf16, and stores them as bf16: in
 * panels, two k side by side. */
static void round_b(int64_t depth)
{
    memset(b_bf16, 0, sizeof b_bf16);
    for (int64_t k = 0; k < depth; k++)
        for (int64_t j = 0; j < Wide; j++) {
            const uint16_t near = bf16_of(*b_at(depth, k, j));
            b_bf16[j / 16 * column_bf16(depth) * 16 + k / 2 * 32 + j % 16 * 2
                   + k % 2] = near;
            *b_at(depth, k, j) = bf16_float(near);
        }
}

/* Rounds A likewise, with zeros from k = depth on. */
static void round_a(int64_t depth)
{
    for (int64_t i = 0; i < High * Stride; i++) {
        a_bf16[i] = i % Stride < depth ? bf16_of(a[i]) : 0;
        a[i] = bf16_float(a_bf16[i]);
    }
}

static void split(uint16_t *two, float *x, float *rest)
{
    two[0] = bf16_of(*x);
    two[32] = bf16_of(*x - bf16_float(two[0]));
    *x = bf16_float(two[0]);
    *rest = bf16_float(two[32]);
}

/* Splits A and B into two numbers of bf16, with zeros from k = depth on. */
static void split_both(int64_t depth)
{
    const int64_t column = dtype_stored(DtypeBf16x2, depth);
    memset(a_two, 0, sizeof a_two);
    memset(b_two, 0, sizeof b_two);
    for (int64_t k = 0; k < depth; k++) {
        for (int64_t i = 0; i < High; i++) {
            const int64_t at = i * Stride + k;
            split((uint16_t *)(a_two + at - k % 32) + k % 32, &a[at],
                  &a_rest[at]);
        }
        for (int64_t j = 0; j < Wide; j++) {
            uint16_t two[33], *to = (uint16_t *)b_two + j / 16 * column * 32
                                  + k / 32 * 1024 + k % 32 / 2 * 32 + j % 16 * 2
                                  + k % 2;
            float *from = b_at(depth, k, j);
            split(two, from, &b_rest[from - b]);
            to[0] = two[0];
            to[512] = two[32];
        }
    }
}

/* Parts as run-time arguments: absent ones are NULL. */
static void call_tile(const Lab *l, TileKey key, int parts, Activation act,
                      int64_t depth)
{
    const bool bf16 = key.dtype == DtypeBf16;
    const bool two = key.dtype == DtypeBf16x2;
    const void *panels = bf16 ? (void *)b_bf16 : two ? (void *)b_two : b;
    const int64_t column = bf16 || two ? column_bf16(depth) : depth;
    key.width = l->target.width;
    key.prebuilt = !l->object;
    lab_call_tile(l, key,
                  (int64_t[]){
                      key.arithmetic == ArithmeticF32 ? (int64_t)a
                      : two                           ? (int64_t)a_two
                                                      : (int64_t)a_bf16,
                      Stride, (int64_t)panels, column * 16, depth, (int64_t)c,
                      C, parts & EpBias ? (int64_t)bias : 0,
                      parts & EpResidual ? (int64_t)residual : 0, C,
                      parts & EpAct ? act : ActNone, (int64_t)panels, 16, 16 });
}

static void run_tile(const Lab *l, TileKey key, int parts, Activation act,
                     int64_t depth)
{
    if (key.dtype == DtypeBf16)
        round_b(depth);
    if (key.dtype == DtypeBf16x2)
        split_both(depth);
    else if (key.arithmetic != ArithmeticF32)
        round_a(depth);
    const bool from_c = key.epilogue & EpAccumulate;
    lab_guard(c, (High + 1) * C);
    lab_guard(want, (High + 1) * C);
    for (int64_t i = 0; i < key.mr; i++)
        for (int64_t j = 0; j < key.nr; j++) {
            const float start = from_c ? (float)(i - j) * 0.5f : 0.0f;
            if (from_c)
                c[i * C + j] = start;
            want[i * C + j] = expected(l, depth, i, j, start, parts, act,
                                       key.arithmetic);
        }
    call_tile(l, key, parts, act, depth);
    check_block(l->name, tile_name(lab_arena, key), depth);
}

/* Runs a key in all its forms: EpAny has eight, each with and without
 * activation. */
static void run_key(const Lab *l, TileKey key)
{
    static const int64_t depths[] = { 0, 1, 2, 7, 64, 67 };
    static const Activation turn[] = {
        [EpAct] = ActGelu,
        [EpAct | EpBias] = ActRelu,
        [EpAct | EpResidual] = ActGeluTanh,
        [Full] = ActSilu,
    };
    for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
        for (int fill = 0; fill < Fills; fill++) {
            lab_fill(a, High * Stride, (Fill)fill);
            lab_fill(b, Wide * MostK, (Fill)fill);
            if (key.epilogue != EpAny)
                run_tile(l, key, key.epilogue, key.act, depths[d]);
            else
                for (int parts = 0; parts <= Full; parts++)
                    run_tile(l, key, parts, turn[parts], depths[d]);
        }
}

static void test_emitted_tiles(void **state)
{
    (void)state;
    int cases = 0;
    for (int i = 0; i < n_labs; i++)
        for (int t = 0; lab[i].object && t < Tiles; t++, cases++)
            run_key(&lab[i], tiles[t]);
    assert_true(cases > 0);
}

/* Tests that every tile that --tile can choose is prebuilt and correct. */
static void test_prebuilt_tiles(void **state)
{
    (void)state;
    TileKey key = { .epilogue = EpAny };
    int cases = 0;
    for (int i = 0; i < n_labs; i++)
        for (key.mr = 1; !lab[i].object && key.mr <= High; key.mr++)
            for (key.nr = 16; key.nr <= Wide; key.nr += 16, cases++) {
                key.dtype = DtypeBf16;
                key.epilogue = EpAny;
                run_tile(&lab[i], key, Full, ActSilu, 7);
                key.arithmetic = ArithmeticBf16Dp;
                run_tile(&lab[i], key, Full, ActSilu, 7);
                key.arithmetic = ArithmeticBf16Amx;
                run_tile(&lab[i], key, Full, ActSilu, 67);
                key.arithmetic = ArithmeticBf16x3;
                key.dtype = DtypeBf16x2;
                run_tile(&lab[i], key, Full, ActSilu, 67);
                key.arithmetic = ArithmeticF32;
                key.dtype = DtypeF32;
                run_tile(&lab[i], key, Full, ActRelu, 67);
                run_tile(&lab[i], key, Full, ActGelu, 3);
                key.epilogue = EpAccumulate | EpPrefetch;
                run_tile(&lab[i], key, 0, ActNone, 5);
            }
    assert_true(cases > 0);
}

/* Tests integers below 2^24, which are exact: the reference needs no FMA. */
static void test_integers(void **state)
{
    (void)state;
    lab_fill(a, High * Stride, FillInteger);
    lab_fill(b, Wide * MostK, FillInteger);
    for (int64_t i = 0; i < 6; i++)
        for (int64_t j = 0; j < Wide; j++) {
            int64_t sum = 0;
            for (int64_t k = 0; k < 67; k++)
                sum += (int64_t)a[i * Stride + k] * (int64_t)*b_at(67, k, j);
            const float got = expected(&lab[0], 67, i, j, 0.0f, 0, ActNone,
                                       ArithmeticF32);
            assert_true(got == (float)sum);
        }
    for (int i = 0; i < n_labs; i++)
        if (lab[i].object)
            run_tile(&lab[i], tiles[0], 0, ActNone, 67);
}

/* Tests targets without FMA, which round each product: within a gate. */
static void test_without_fma(void **state)
{
    (void)state;
    Lab old = { .name = "prebuilt x86-64-v2" };
    Fault why;
    if (!lab_can_run("x86-64-v2"))
        SKIP("not an x86-64 processor");
    assert_true(target_find(&old.target, "x86-64-v2", 0, NULL, &why));
    lab_fill(a, High * Stride, FillUniform);
    lab_fill(b, Wide * MostK, FillUniform);
    call_tile(&old, (TileKey){ .mr = 3, .nr = 16, .epilogue = EpAny }, 0,
              ActNone, 67);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 16; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < 67; k++) {
                const double t = (double)a[i * Stride + k]
                               * (double)*b_at(67, k, j);
                sum += t;
                size += fabs(t);
            }
            const double error = fabs((double)c[i * C + j] - sum);
            assert_true(error <= 8 * 0x1p-23 * size);
        }
}

/* Tests that a NaN in A or B reaches only its outputs. */
static void test_nan_stays_in_its_row(void **state)
{
    (void)state;
    lab_fill(a, High * Stride, FillUniform);
    lab_fill(b, Wide * MostK, FillUniform);
    a[2 * Stride + 3] = NAN;
    for (int i = 0; i < n_labs; i++) {
        if (!lab[i].object || !lab_find(&lab[i], "tile_6x64"))
            continue;
        call_tile(&lab[i], (TileKey){ .mr = 6, .nr = 64 }, 0, ActNone, 64);
        for (int64_t r = 0; r < 6; r++)
            for (int64_t j = 0; j < Wide; j++)
                assert_int_equal(isnan(c[r * C + j]) != 0, r == 2);
    }
}

/* Tests tokens from a table of 64, in panels or in rows, with and without a
 * position. */
static void test_look_up(void **state)
{
    typedef void LookUp(float *, const uint16_t *, int64_t, int64_t, float,
                        const float *);
    enum { D = 37 };
    (void)state;
    lab_fill(b, Wide * MostK, FillUniform);
    round_b(D);
    static uint16_t row[D];
    for (int i = 0; i < n_labs; i++)
        for (int64_t id = 0; id < 64; id++) {
            LookUp *look_up = (LookUp *)lab_function(&lab[i], "embed_row_bf16");
            lab_guard(c, D + 1);
            for (int64_t k = 0; k < D; k++)
                row[k] = bf16_of(*b_at(D, k, id));
            look_up(c, b_bf16 + id / 16 * 16 * column_bf16(D) + id % 16 * 2, 16,
                    D, 1.7f, bias);
            look_up(c + C, row, 1, D, 1.7f, NULL);
            assert_true(is_canary(c[D]));
            for (int64_t k = 0; k < D; k++) {
                assert_true(c[k] == fmaf(1.7f, *b_at(D, k, id), bias[k]));
                assert_true(c[C + k] == 1.7f * *b_at(D, k, id));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emitted_tiles),
        cmocka_unit_test(test_prebuilt_tiles),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_without_fma),
        cmocka_unit_test(test_nan_stays_in_its_row),
        cmocka_unit_test(test_look_up),
    };
    lab_fill(bias, Wide, FillUniform);
    lab_fill(residual, High * C, FillUniform);
    lab_of.kernels = kernels;
    lab_of.tiles = tiles;
    lab_of.n_tiles = Tiles;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
