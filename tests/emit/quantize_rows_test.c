/* quantize_rows_test.c: tests the conversion of float rows to integers and to
 * bf16, in all variants, against its definition element by element; all
 * variants give the same bytes. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

enum { Rows = 14, MostK = 130, Ldx = 133, Stored = 192 };
enum { Ldy = 2 * Stored + 64, Guard = 0xa5 };

static const char *const kernels[] = { "quantize_rows_int8",
                                       "quantize_rows_int15", "round_rows_bf16",
                                       NULL };
static const LabWay ways[] = {
    { NULL, "x86-64-v4", 16, NULL },
    { NULL, "x86-64-v3", 8, NULL },
    { NULL, "x86-64-v2", 4, NULL },
    { NULL, "armv8-a", 4, NULL },
    { "clang-19", "x86-64-v4", 16, NULL },
    { "gcc", "x86-64-v4", 16, NULL },
    { "clang-19", "x86-64-v3", 8, NULL },
    { "gcc", "x86-64-v3", 8, NULL },
    { "gcc", "x86-64-v2", 4, NULL },
    { "clang-19", "armv8-a", 4, NULL },
    { "aarch64-linux-gnu-gcc", "armv8-a", 4, NULL },
    { "clang-19", "x86-64-v3", 1, NULL },
    { "tcc", "generic", 1, NULL },
    { NULL, NULL, 0, NULL },
};

static float x[Rows * Ldx];
static _Alignas(64) uint8_t y[Rows * Ldy], want[Rows * Ldy];

/* Fills difficult rows, followed by NaN. */
static void fill(int64_t k)
{
    static const float ends[] = { 0x1p-149f, 0x1p-126f,   0x1p-101f, 0x1p-100f,
                                  0x1p+120f, 0x1.8p+125f, -INFINITY, NAN };
    lab_fill(x, Rows * Ldx, FillUniform);
    for (int64_t r = 0; r < Rows; r++)
        for (int64_t j = 0; j < k; j++) {
            float *at = &x[r * Ldx + j];
            switch (r) {
            case 0: *at = j % 2 ? -0.0f : 0.0f; break;
            case 1: /* halves of a unit; the first is the largest */
            case 2:
                *at = (r == 1 ? 0.5f : 1.0f) * (float)(j % 255 - 127);
                break;
            case 3:  *at = j == 0 ? -127.0f : 0.5f * (float)(j % 61); break;
            case 4:  *at = j == 0 ? 16256.0f : (float)(j - 64) * 63.5f; break;
            case 5:  *at = j == k - 1 ? 3e38f : *at; break;
            default: *at *= ends[r - 6]; break;
            }
        }
    /* finite except for one number */
    for (int64_t r = 12; r < 14; r++)
        for (int64_t j = 0; j < k; j++)
            x[r * Ldx + j] = j == k / 2 ? ends[r - 6] : (float)j;
    for (int64_t r = 0; r < Rows; r++)
        for (int64_t j = k; j < Ldx; j++)
            x[r * Ldx + j] = NAN;
}

/* Computes row r by definition, with the rounding of doubles. */
static void expect_row(int64_t r, int64_t k, int64_t stored, int planes)
{
    const float *row = x + r * Ldx, most = planes == 2 ? 16256.0f : 127.0f;
    uint8_t *to = want + r * Ldy;
    float top = 0.0f, scale = 0.0f;
    bool finite = true;
    for (int64_t j = 0; j < k; j++) {
        finite &= isfinite(row[j]) != 0;
        top = fabsf(row[j]) > top ? fabsf(row[j]) : top;
    }
    if (!finite)
        memcpy(&scale, &(uint32_t){ 0x7fc00000 }, 4);
    else if (top >= 0x1p-100f)
        scale = top / most;
    memset(to, 128, (size_t)stored);
    memset(to + stored, 0, (size_t)(planes - 1) * (size_t)stored);
    for (int64_t j = 0; j < k && finite && scale != 0.0f; j++) {
        const float inverse = most / top, product = row[j] * inverse;
        const int v = (int)rint((double)product);
        assert_true(abs(v) <= (int)most);
        if (planes == 1) {
            to[j] = (uint8_t)(v + 128);
        } else {
            const int high = (int)floor((double)v / 128);
            to[j] = (uint8_t)(high + 128);
            to[stored + j] = (uint8_t)(v - 128 * high);
        }
    }
    memcpy(to + planes * stored, &scale, 4);
}

static void check(const Lab *l, int64_t k, int planes)
{
    const int64_t stored = (k + 63) / 64 * 64, end = planes * stored;
    for (int64_t r = 0; r < Rows; r++) {
        const uint8_t *a = y + r * Ldy, *b = want + r * Ldy;
        float unit;
        memcpy(&unit, a + end, 4);
        if (memcmp(a, b, (size_t)end) != 0)
            for (int64_t j = 0; j < end; j++)
                if (a[j] != b[j])
                    fail_msg("%s: k %d, row %d: byte %d is %d, expected %d",
                             l->name, (int)k, (int)r, (int)j, a[j], b[j]);
        if (memcmp(a + end, b + end, 4) != 0)
            fail_msg("%s: k %d, row %d: scale %a", l->name, (int)k, (int)r,
                     (double)unit);
        for (int64_t j = end + 4; j < Ldy; j++)
            assert_int_equal(a[j], Guard);
    }
}

typedef void Quantize(uint8_t *, int64_t, const float *, int64_t, int64_t,
                      int64_t, int64_t);

static void run(int planes)
{
    static const int64_t sizes[] = { 1, 3, 4, 15, 16, 17, 31, 63, 64, 65, 130 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t k = sizes[s], stored = (k + 63) / 64 * 64;
        fill(k);
        for (int64_t r = 0; r < Rows; r++)
            expect_row(r, k, stored, planes);
        for (int i = 0; i < n_labs; i++) {
            Quantize *quantize = (Quantize *)lab_function(&lab[i],
                                                          kernels[planes - 1]);
            memset(y, Guard, sizeof y);
            quantize(y, Ldy, x, Ldx, Rows, k, stored);
            check(&lab[i], k, planes);
        }
    }
}

static void test_int8(void **state)
{
    (void)state;
    run(1);
}

static void test_int15(void **state)
{
    (void)state;
    run(2);
}

/* Tests rows in bf16; numbers below 2^-55 become 0. */
static void test_bf16(void **state)
{
    typedef void Round(uint16_t *, int64_t, const float *, int64_t, int64_t,
                       int64_t, int64_t);
    static uint16_t got[Rows * Ldy];
    (void)state;
    for (int64_t k = 1; k <= MostK; k += 43) {
        const int64_t stored = (k + 31) / 32 * 32;
        fill(k);
        for (int64_t j = 0; j < k; j++)
            x[j] = (float)(j - 8) * 0x1p-55f / 8; /* around the least */
        for (int i = 0; i < n_labs; i++) {
            Round *round = (Round *)lab_function(&lab[i], "round_rows_bf16");
            memset(got, Guard, sizeof got);
            round(got, Ldy, x, Ldx, Rows, k, stored);
            for (int64_t j = 0; j < Rows * Ldy; j++) {
                const float at = x[j / Ldy * Ldx + j % Ldy % Ldx];
                const uint16_t near = fabsf(at) < 0x1p-55f ? 0 : bf16_of(at);
                const int expected = j % Ldy < k      ? near
                                   : j % Ldy < stored ? 0
                                                      : Guard * 257;
                if (got[j] != expected)
                    fail_msg("%s: k %d: number %d of %a is %x", lab[i].name,
                             (int)k, (int)j, (double)at, got[j]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_int15),
        cmocka_unit_test(test_bf16),
    };
    lab_way = ways;
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
