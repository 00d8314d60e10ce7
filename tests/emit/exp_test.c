/* exp_test.c: tests exp, powers of 2 and log over all magnitudes of floats, bit
 * for bit against the runtime's. ATTNC_FULL=1: over all floats. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

static const char exp_log[] =
    "void exp_all(float *y, const float *x, int64_t n);\n"
    "void exp_all(float *y, const float *x, int64_t n)\n"
    "{\n"
    "    for (int64_t i = 0; i < n; i += W)\n"
    "        v_store(y + i, v_exp(v_load(x + i)));\n"
    "}\n"
    "\n"
    "void exp2_all(float *y, const float *x, int64_t n);\n"
    "void exp2_all(float *y, const float *x, int64_t n)\n"
    "{\n"
    "    for (int64_t i = 0; i < n; i += W)\n"
    "        v_store(y + i, v_exp2(v_load(x + i)));\n"
    "}\n"
    "\n"
    "void log_all(float *y, const float *x, int64_t n);\n"
    "void log_all(float *y, const float *x, int64_t n)\n"
    "{\n"
    "    for (int64_t i = 0; i < n; i++)\n"
    "        y[i] = log1(x[i]);\n"
    "}\n"
    "\n";

static const char *const kernels[] = { "softmax_page", "log_sum_exp", NULL };

typedef void Map(float *, const float *, int64_t);

enum { Floats = 4096 };

static double ulps(float got, double want)
{
    return fabs((double)got - want) / ldexp(1, ilogb(want) - 23);
}

static void check_exp(float x_, float got)
{
    const double want = exp((double)x_);
    if (isnan(x_))
        assert_true(isnan(got));
    else if (x_ <= 88.0f && want < 0x1p-126)
        assert_true(got == 0);
    else if (x_ <= 88.0f && !(ulps(got, want) <= 1.5))
        fail_msg("exp(%a) is %a, expected %a", (double)x_, (double)got, want);
}

static void check_log(float x_, float got)
{
    const double want = log((double)x_);
    if (isnan(x_) || x_ < 0)
        assert_true(isnan(got));
    else if (isinf(want) || want == 0)
        assert_true((double)got == want);
    else if (!(ulps(got, want) <= 2))
        fail_msg("log(%a) is %a, expected %a", (double)x_, (double)got, want);
}

/* 2^x for x <= 127. */
static void check_exp2(float x_, float got)
{
    const double want = exp2((double)x_);
    if (isnan(x_))
        assert_true(isnan(got));
    else if (x_ < -126.5f)
        assert_true(got == 0);
    else if (x_ <= 127.0f && !(ulps(got, want) <= 1))
        fail_msg("exp2(%a) is %a, expected %a", (double)x_, (double)got, want);
}

static bool same_bits(float a, float b)
{
    return memcmp(&a, &b, 4) == 0 || (isnan(a) && isnan(b));
}

static void fill_bits(float in[Floats], uint64_t from, uint64_t step)
{
    for (uint64_t i = 0; i < Floats; i++) {
        const uint32_t bits = (uint32_t)(from + i * step);
        memcpy(&in[i], &bits, 4);
    }
}

static uint64_t bits_step(void)
{
    return getenv("ATTNC_FULL") ? 1 : 9973;
}

static void test_exp2(void **state)
{
    (void)state;
    static float in[Floats], e[MaxLabs][Floats];
    const int a = lab_emitted();
    for (uint64_t from = 0; from < 1ull << 32; from += Floats * bits_step()) {
        fill_bits(in, from, bits_step());
        for (int i = a; i < n_labs; i++) {
            Map *exp2_all;
            copy_function(&exp2_all, &lab[i], "exp2_all");
            exp2_all(e[i], in, Floats);
        }
        for (int k = 0; k < Floats; k++) {
            check_exp2(in[k], e[a][k]);
            for (int i = a + 1; i < n_labs; i++)
                assert_true(in[k] > 127.0f || same_bits(e[i][k], e[a][k]));
        }
    }
}

/* Tests floats `step` apart by their bits, in blocks; all labs agree bit for
 * bit. */
static void test_exp_log(void **state)
{
    (void)state;
    static float in[Floats], e[MaxLabs][Floats], g[MaxLabs][Floats];
    for (uint64_t from = 0; from < 1ull << 32; from += Floats * bits_step()) {
        fill_bits(in, from, bits_step());
        for (int i = lab_emitted(); i < n_labs; i++) {
            Map *exp_all, *log_all;
            copy_function(&exp_all, &lab[i], "exp_all");
            copy_function(&log_all, &lab[i], "log_all");
            exp_all(e[i], in, Floats);
            log_all(g[i], in, Floats);
        }
        for (int k = 0; k < Floats; k++) {
            const int a = lab_emitted();
            check_exp(in[k], e[a][k]);
            check_log(in[k], g[a][k]);
            assert_true(in[k] > 88.0f || same_bits(attn_exp(in[k]), e[a][k]));
            assert_true(same_bits(attn_log(in[k]), g[a][k]));
            for (int i = a + 1; i < n_labs; i++) {
                assert_true(in[k] > 88.0f || same_bits(e[i][k], e[a][k]));
                assert_true(same_bits(g[i][k], g[a][k]));
            }
        }
    }
}

static void test_exp_points(void **state)
{
    (void)state;
    const float in[16] = { 0.0f, -0.0f, -INFINITY, -FLT_MAX, -87.5f, 88.0f };
    for (int i = lab_emitted(); i < n_labs; i++) {
        Map *exp_all;
        float out[16];
        copy_function(&exp_all, &lab[i], "exp_all");
        exp_all(out, in, 16);
        assert_true(out[0] == 1 && out[1] == 1);
        assert_true(out[2] == 0 && out[3] == 0 && out[4] == 0);
        assert_true(out[5] > 1.65e38f && out[5] < 1.66e38f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exp2),
        cmocka_unit_test(test_exp_log),
        cmocka_unit_test(test_exp_points),
    };
    lab_of.kernels = kernels;
    lab_of.more = exp_log;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
