/* kernels_test.c: tests the pieces of compiler/emit/kernels/, in all variants,
 * against their definitions in double; all variants give the same bits. */
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

#define EPS 0x1p-23

enum { Rows = 3, Ld = 272, Size = 8192 };

/* Input and expected output of one call. */
static _Alignas(64) float x[Size], r[Size], gamma_[Ld], beta_[Ld];
static _Alignas(64) float y[Size], first[Size];
static double want[Size], gate[Size];
static int64_t d;     /* the size under test */
static bool in_place; /* y is the memory of x */
static const Lab *l;

#define kernel(name) lab_function(l, name)

/* Expects element (i, j) of the result, of rows Ld apart. */
static void expect(int64_t i, int64_t j, double value, double tolerance)
{
    want[i * Ld + j] = value;
    gate[i * Ld + j] = tolerance;
}

/* ---- the rows ---- */

static const float *source(void)
{
    if (in_place)
        memcpy(y, x, sizeof y);
    return in_place ? y : x;
}

static void run_norm(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, const float *,
               const float *, int64_t, int64_t,
               float))kernel("norm_rows"))(y, Ld, source(), Ld, gamma_, beta_,
                                           Rows, d, 1e-6f);
}

static void run_add_norm(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, const float *, int64_t,
               const float *, const float *, int64_t, int64_t,
               float))kernel("add_norm_rows"))(y, Ld, source(), Ld, r, Ld,
                                               gamma_, beta_, Rows, d, 1e-6f);
}

/* the bound has 8 roundings of the mean, and of the result */
static void expect_norm_of(const double *row, int64_t i, double largest)
{
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < d; j++)
        mean += row[j] / (double)d;
    for (int64_t j = 0; j < d; j++)
        variance += (row[j] - mean) * (row[j] - mean) / (double)d;
    const double scale = 1 / sqrt(variance + (double)1e-6f);
    for (int64_t j = 0; j < d; j++) {
        const double t = (row[j] - mean) * scale, g = gamma_[j];
        expect(i, j, t * g + beta_[j],
               8 * EPS
                   * (fabs(t * g) + fabs(largest * scale * g)
                      + fabs((double)beta_[j])));
    }
}

static void expect_norm_sum(double share) /* of the residual */
{
    double row[Ld];
    for (int64_t i = 0; i < Rows; i++) {
        double largest = 0;
        for (int64_t j = 0; j < d; j++) {
            row[j] = (double)x[i * Ld + j] + share * (double)r[i * Ld + j];
            largest = fmax(largest, fabs(row[j]));
        }
        expect_norm_of(row, i, largest);
    }
}

static void expect_norm(void)
{
    expect_norm_sum(0);
}
static void expect_add_norm(void)
{
    expect_norm_sum(1);
}

static void run_scale(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, int64_t, int64_t,
               float))kernel("scale_rows"))(y, Ld, source(), Ld, Rows, d, 0.3f);
}

static void run_clip(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, int64_t, int64_t,
               float))kernel("clip_rows"))(y, Ld, source(), Ld, Rows, d, 0.3f);
}

static void run_add(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, const float *, int64_t,
               int64_t, int64_t))kernel("add_rows"))(y, Ld, source(), Ld, r, Ld,
                                                     Rows, d);
}

static void run_bias(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, const float *, int64_t,
               int64_t))kernel("bias_rows"))(y, Ld, source(), Ld, beta_, Rows,
                                             d);
}

static void run_scale_columns(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, const float *, int64_t,
               int64_t))kernel("scale_columns"))(y, Ld, source(), Ld, beta_,
                                                 Rows, d);
}

typedef void Map(float *, int64_t, const float *, int64_t, int64_t, int64_t);

static void run_relu(void)
{
    ((Map *)kernel("activate_rows_relu"))(y, Ld, source(), Ld, Rows, d);
}

static void run_copy(void)
{
    ((Map *)kernel("copy_rows"))(y, Ld, source(), Ld, Rows, d);
}

/* Tests one head of x for three of y. */
typedef void CopyHeads(float *, int64_t, int64_t, const float *, int64_t,
                       int64_t, int64_t, int64_t, int64_t);

enum { Heads = 3 };

static void run_copy_heads(void)
{
    ((CopyHeads *)kernel("copy_heads"))(y, Heads * Ld, Ld, x, Ld, 0, Rows,
                                        Heads, d);
}

static void expect_copy_heads(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t h = 0; h < Heads; h++)
            for (int64_t j = 0; j < d; j++)
                expect(i * Heads + h, j, (double)x[i * Ld + j], 0);
}

/* Taps of rows 0, 1 and 2; w is in panels, like r. Computed by one call, and by
 * two. */
enum { Taps = 3 };

typedef void DepthwiseRows(float *, int64_t, int64_t, const float *const *,
                           int64_t, const float *, int64_t, const float *,
                           int64_t, int64_t, int64_t);

static void find_taps(const float **tap)
{
    static const float zeros[Ld];
    for (int i = 0; i < 4 * Taps; i++)
        tap[i] = i % 4 + i / 4 < Rows ? x + (i % 4 + i / 4) * Ld : zeros;
}

static void run_depthwise(void)
{
    const float *tap[4 * Taps];
    find_taps(tap);
    ((DepthwiseRows *)kernel("depthwise_rows"))(y, Ld, Rows, tap, Taps, r,
                                                16 * Taps, beta_, 0, 0, d);
}

static void run_depthwise_again(void)
{
    DepthwiseRows *run = (DepthwiseRows *)kernel("depthwise_rows");
    const float *tap[4 * Taps];
    find_taps(tap);
    run(y, Ld, Rows, tap, 1, r, 16 * Taps, NULL, 0, 0, d);
    run(y, Ld, Rows, tap + 4, Taps - 1, r + 16, 16 * Taps, beta_, 1, 0, d);
}

static void expect_depthwise(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < d; j++) {
            double sum = beta_[j], size = fabs(sum);
            for (int64_t t = 0; i + t < Rows && t < Taps; t++) {
                const double term = (double)x[(i + t) * Ld + j]
                                  * r[j / 16 * 16 * Taps + 16 * t + j % 16];
                sum += term;
                size += fabs(term);
            }
            expect(i, j, sum, 4 * EPS * size);
        }
}

/* Kernels with at most one rounding, whose results must be exact. */
static float at(const float *m, int64_t i, int64_t j)
{
    return m[i * Ld + j];
}

static float scaled(int64_t i, int64_t j)
{
    return at(x, i, j) * 0.3f;
}
static float added(int64_t i, int64_t j)
{
    return at(x, i, j) + at(r, i, j);
}
static float scaled_columns(int64_t i, int64_t j)
{
    return x[i * Ld + j] * beta_[j];
}

static float biased(int64_t i, int64_t j)
{
    return at(x, i, j) + beta_[j];
}
static float copied(int64_t i, int64_t j)
{
    return at(x, i, j);
}
static float positive(int64_t i, int64_t j)
{
    return fmaxf(at(x, i, j), 0);
}
static float embedded_16(int64_t i, int64_t j)
{
    return fmaf(22.6f, x[16 * j + i], beta_[j]);
}
static float embedded_1(int64_t i, int64_t j)
{
    return 22.6f * at(x, i, j);
}

static float clipped(int64_t i, int64_t j)
{
    return fminf(fmaxf(at(x, i, j), -0.3f), 0.3f);
}

typedef void Embed(float *, const float *, int64_t, int64_t, float,
                   const float *);

static void run_embed_panels(void)
{
    for (int64_t i = 0; i < Rows; i++)
        ((Embed *)kernel("embed_row"))(y + i * Ld, x + i, 16, d, 22.6f, beta_);
}

static void run_embed_rows(void)
{
    for (int64_t i = 0; i < Rows; i++)
        ((Embed *)kernel("embed_row"))(y + i * Ld, x + i * Ld, 1, d, 22.6f,
                                       NULL);
}

static void run_mask(void)
{
    for (int64_t i = 0; i < Rows; i++)
        ((void (*)(float *, const float *, int64_t, int64_t))kernel(
            "mask_row"))(y + i * Ld, source() + i * Ld, d, i * 5);
}

static void expect_mask(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < d; j++)
            expect(i, j, j < i * 5 ? (double)at(x, i, j) : -HUGE_VAL, 0);
}

/* Row 1 begins with -inf; row 2 is nothing else. */
static void run_softmax(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        for (int64_t j = 0; j < d && j < i * i * Ld; j += i == 1 ? Ld : 1)
            x[i * Ld + j] = -INFINITY;
        ((void (*)(float *, const float *, int64_t))kernel(
            "softmax_row"))(y + i * Ld, source() + i * Ld, d);
    }
}

static double exp_sum(int64_t i, double *max)
{
    double sum = 0;
    *max = -HUGE_VAL;
    for (int64_t j = 0; j < d; j++)
        *max = fmax(*max, (double)at(x, i, j));
    for (int64_t j = 0; j < d && *max > -HUGE_VAL; j++)
        sum += exp((double)at(x, i, j) - *max);
    return sum;
}

static void expect_softmax(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        double max;
        const double sum = exp_sum(i, &max);
        for (int64_t j = 0; j < d; j++) {
            const double p = sum > 0 ? exp((double)at(x, i, j) - max) / sum : 0;
            expect(i, j, p, 64 * EPS * p + DBL_MIN);
        }
    }
}

static void run_sigmoid(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        if (i == 1)
            x[Ld] = -INFINITY;
        ((void (*)(float *, const float *, int64_t))kernel(
            "sigmoid_row"))(y + i * Ld, source() + i * Ld, d);
    }
}

static void expect_sigmoid(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < d; j++) {
            const double p = 1 / (1 + exp(-(double)at(x, i, j)));
            expect(i, j, p, 8 * EPS * p);
        }
}

/* Uses rows of x as queries, and three panels of r as keys. */
static void run_additive(void)
{
    ((void (*)(int64_t, const float *, int64_t, const float *, int64_t, int64_t,
               int64_t, float *, int64_t, const float *))
         kernel("additive_scores"))(Rows, x, Ld, r, attn_min(d, 16) * 16,
                                    attn_min(d, 16), 3, y, Ld, beta_);
}

static void expect_additive(void)
{
    const int64_t d_k = attn_min(d, 16);
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < 48; j++) {
            double sum = 0, size = 0;
            for (int64_t c = 0; c < d_k; c++) {
                const double k = (double)r[(j / 16 * d_k + c) * 16 + j % 16];
                const double t = tanh((double)x[i * Ld + c] + k);
                sum += (double)beta_[c] * t;
                size += fabs((double)beta_[c]);
            }
            expect(i, j, sum, 8e-7 * size + 16 * EPS * size);
        }
}

static const float sink = 0.75f;

static void run_softmax_sink(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        for (int64_t j = 0; j < d && j < i * i * Ld; j += i == 1 ? Ld : 1)
            x[i * Ld + j] = -INFINITY;
        ((void (*)(float *, const float *, int64_t, float))kernel(
            "softmax_sink_row"))(y + i * Ld, source() + i * Ld, d, sink);
    }
}

static void expect_softmax_sink(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        double max;
        const double keys = exp_sum(i, &max);
        const double sum = exp((double)sink) + (keys > 0 ? keys * exp(max) : 0);
        for (int64_t j = 0; j < d; j++) {
            const double p = exp((double)at(x, i, j)) / sum;
            expect(i, j, p, 64 * EPS * p + DBL_MIN);
        }
    }
}

static void run_log_sum_exp(void)
{
    for (int64_t i = 0; i < Rows; i++)
        y[i * Ld] = ((float (*)(const float *, int64_t))kernel(
            "log_sum_exp"))(x + i * Ld, d);
}

static void expect_log_sum_exp(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        double max;
        const double sum = exp_sum(i, &max);
        expect(i, 0, max + log(sum), 8 * EPS * (fabs(max) + log(sum) + 1));
    }
}

/* ---- pages ---- */

/* Panels of a page: element (p, k) is at base + p / 16 * 16 * depth + k * 16 +
 * p % 16 of y. */
static void run_pack_keys(void)
{
    const int64_t d_k = d < 60 ? d : 60, at_[] = { 0, 1, 16, 61 };
    const int64_t rows[] = { 1, 15, 45, 3 };
    for (int i = 0; i < 4; i++)
        ((void (*)(float *, const float *, int64_t, int64_t, int64_t,
                   int64_t))kernel("pack_keys"))(y, x + at_[i] * 61, 61,
                                                 rows[i], d_k, at_[i]);
}

static void expect_pack_keys(void)
{
    const int64_t d_k = d < 60 ? d : 60;
    for (int64_t p = 0; p < 64; p++)
        for (int64_t k = 0; k < d_k; k++)
            expect(0, p / 16 * d_k * 16 + k * 16 + p % 16,
                   (double)x[p * 61 + k], 0);
}

static void run_pack_values(void)
{
    const int64_t d_v = d < 60 ? d : 60;
    for (int64_t p = 3; p < 64; p += 21)
        ((void (*)(float *, const float *, int64_t, int64_t, int64_t,
                   int64_t))kernel("pack_values"))(y, x + p * 61, 61,
                                                   p < 45 ? 21 : 19, d_v, p);
}

static void expect_pack_values(void)
{
    const int64_t d_v = d < 60 ? d : 60;
    for (int64_t p = 3; p < 64; p++)
        for (int64_t j = 0; j < (d_v + 15) / 16 * 16; j++)
            expect(0, j / 16 * 1024 + p * 16 + j % 16,
                   j < d_v ? (double)x[p * 61 + j] : 0, 0);
}

/* ---- the test ---- */

/* clang-format off */
static const struct Case {
    const char *name;
    void (*run)(void);
    void (*expect)(void);        /* or, for exact results: */
    float (*exact)(int64_t i, int64_t j);
    bool in_place;               /* y may be x */
} cases[] = {
    { "norm_rows",     run_norm,         expect_norm,        NULL,  true },
    { "add_norm_rows", run_add_norm,     expect_add_norm,    NULL,  true },
    { "scale_rows",    run_scale,        NULL, scaled,              true },
    { "clip_rows",     run_clip,         NULL, clipped,             true },
    { "add_rows",      run_add,          NULL, added,               true },
    { "bias_rows",     run_bias,         NULL, biased,              true },
    { "scale_columns", run_scale_columns, NULL, scaled_columns,     true },
    { "activate_rows_relu", run_relu,         NULL, positive,            true },
    { "copy_rows",     run_copy,         NULL, copied,              true },
    { "copy_heads",    run_copy_heads,   expect_copy_heads,  NULL,  false },
    { "embed_row",     run_embed_panels, NULL, embedded_16,         false },
    { "embed_row",     run_embed_rows,   NULL, embedded_1,          false },
    { "pack_keys",     run_pack_keys,    expect_pack_keys,   NULL,  false },
    { "pack_values",   run_pack_values,  expect_pack_values, NULL,  false },
    { "mask_row",      run_mask,         expect_mask,        NULL,  false },
    { "depthwise_rows", run_depthwise,   expect_depthwise,   NULL,  false },
    { "depthwise_rows", run_depthwise_again, expect_depthwise, NULL, false },
    { "softmax_row",   run_softmax,      expect_softmax,     NULL,  false },
    { "sigmoid_row",   run_sigmoid,      expect_sigmoid,     NULL,  false },
    { "additive_scores", run_additive,   expect_additive,    NULL,  false },
    { "softmax_sink_row", run_softmax_sink, expect_softmax_sink, NULL, false },
    { "log_sum_exp",   run_log_sum_exp,  expect_log_sum_exp, NULL,  false },
};
/* clang-format on */
enum { Cases = sizeof cases / sizeof *cases };

static const char *const kernels[] = {
    "norm_rows",          "add_norm_rows", "scale_rows",
    "clip_rows",          "add_rows",      "bias_rows",
    "activate_rows_relu", "copy_rows",     "embed_row",
    "pack_keys",          "pack_values",   "mask_row",
    "softmax_row",        "log_sum_exp",   "softmax_sink_row",
    "depthwise_rows",     "scale_columns", "sigmoid_row",
    "additive_scores",    "copy_heads",    NULL
};

/* Checks that results are within the gate, and all other memory is unchanged.
 */
static void check(const struct Case *c, bool whole)
{
    for (int64_t i = 0; i < Size; i++) {
        if (isnan(want[i]) && !whole)
            continue;
        const bool fine = isnan(want[i])
                            ? is_canary(y[i])
                            : (double)y[i] == want[i]
                                  || fabs((double)y[i] - want[i]) <= gate[i];
        if (!fine)
            fail_msg("%s, %s, d %d: element %d is %a, expected %a +- %g",
                     l->name, c->name, (int)d, (int)i, (double)y[i], want[i],
                     gate[i]);
    }
}

static void expect_case(const struct Case *c)
{
    if (c->expect)
        c->expect();
    for (int64_t i = 0; c->exact && i < Rows; i++)
        for (int64_t j = 0; j < d; j++)
            expect(i, j, (double)c->exact(i, j), 0);
}

static void check_case(const struct Case *c, bool same_memory)
{
    in_place = same_memory;
    for (int64_t i = 0; i < Size; i++)
        want[i] = NAN;
    for (int i = 0; i < n_labs; i++) {
        l = &lab[i];
        lab_guard(y, Size);
        c->run();
        if (i == 0)
            expect_case(c);
        check(c, !same_memory);
        if (i == 0)
            memcpy(first, y, sizeof first);
        for (int64_t k = 0; k < Size; k++)
            if (memcmp(&y[k], &first[k], 4) != 0 && y[k] != first[k])
                fail_msg("%s, %s, d %d: element %d is %a, but %a by %s",
                         l->name, c->name, (int)d, (int)k, (double)y[k],
                         (double)first[k], lab[0].name);
    }
}

static void test_rows(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 15, 16, 17, 33, 61, 64, 256, 257 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int fill = 0; fill < Fills; fill++)
            for (int c = 0; c < Cases; c++) {
                d = sizes[s];
                lab_fill(x, Size, (Fill)fill);
                lab_fill(r, Size, (Fill)fill);
                check_case(&cases[c], false);
                if (cases[c].in_place)
                    check_case(&cases[c], true);
            }
}

/* Tests that NaN inputs result in NaN, which no norm may lose. */
static void test_nan(void **state)
{
    (void)state;
    d = 33;
    lab_fill(x, Size, FillUniform);
    x[32] = NAN;
    for (int i = 0; i < n_labs; i++) {
        l = &lab[i];
        run_norm();
        assert_true(isnan(y[0]) && isnan(y[32]) && !isnan(y[Ld]));
        run_log_sum_exp();
        assert_true(isnan(y[0]) && !isnan(y[Ld]));
        run_relu();
        assert_true(isnan(y[32]) && !isnan(y[0]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_nan),
    };
    lab_fill(gamma_, Ld, FillUniform);
    lab_fill(beta_, Ld, FillUniform);
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
