/* row_kernels_test.c: tests norms of every kind, rotary positions, pooling,
 * biases and caps of scores, in all variants, against their definitions in
 * double; all variants give the same bits. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

#define EPS 0x1p-23

enum { Rows = 3, Ld = 200, Size = 130 * Ld, Apart = 80 };

static const char *const kernels[] = { "rms_norm_rows",
                                       "add_rms_norm_rows",
                                       "norm_rows",
                                       "add_norm_rows",
                                       "head_norm_rows",
                                       "l2_norm_rows",
                                       "rotate_row_halves",
                                       "rotate_row_interleaved",
                                       "pool_mean",
                                       "pool_max",
                                       "softcap_rows",
                                       "score_bias_row",
                                       NULL };
static const int64_t sizes[] = { 1, 2, 6, 15, 16, 17, 34, 61, 64, 67 };

static float x[Size], r[Size], y[Size], first[Size], gamma_[Ld], beta_[Ld];
static double want[Size], gate[Size];
static const float *in; /* x, or y if input and output share memory */
static int64_t d;       /* the size under test */
static const Lab *l;

#define kernel(name) lab_function(l, name)

static void expect(int64_t at, double value, double tolerance)
{
    want[at] = value;
    gate[at] = tolerance;
}

/* ---- norms ---- */

/* Expects d elements at `at`: x + share r, scaled by gamma, plus beta if
 * present; both begin at element `own` of theirs. */
static void expect_norm(int64_t at, int64_t own, double share, bool rms,
                        bool has_beta)
{
    double mean = 0, square = 0, most = 0;
    double t[Ld];
    for (int64_t j = 0; j < d; j++) {
        t[j] = (double)x[at + j] + share * (double)r[at + j];
        most = fmax(most, fabs(t[j]));
        mean += rms ? 0 : t[j] / (double)d;
    }
    for (int64_t j = 0; j < d; j++)
        square += (t[j] - mean) * (t[j] - mean) / (double)d;
    const double scale = 1 / sqrt(square + (double)1e-5f);
    for (int64_t j = 0; j < d; j++) {
        const double g = gamma_[own + j];
        const double b = has_beta ? (double)beta_[own + j] : 0;
        const double value = (t[j] - mean) * scale * g;
        expect(at + j, value + b,
               8 * EPS * (fabs(value) + fabs(b) + fabs(most * scale * g)));
    }
}

typedef void Rms(float *, int64_t, const float *, int64_t, const float *,
                 int64_t, int64_t, float);
typedef void AddRms(float *, int64_t, const float *, int64_t, const float *,
                    int64_t, const float *, int64_t, int64_t, float);
typedef void Norm(float *, int64_t, const float *, int64_t, const float *,
                  const float *, int64_t, int64_t, float);
typedef void AddNorm(float *, int64_t, const float *, int64_t, const float *,
                     int64_t, const float *, const float *, int64_t, int64_t,
                     float);
typedef void HeadNorm(float *, int64_t, const float *, int64_t, const float *,
                      const float *, int64_t, int64_t, int64_t, int64_t, float,
                      int64_t);

static void run_rms(void)
{
    ((Rms *)kernel("rms_norm_rows"))(y, Ld, in, Ld, gamma_, Rows, d, 1e-5f);
}

static void run_add_rms(void)
{
    ((AddRms *)kernel("add_rms_norm_rows"))(y, Ld, in, Ld, r, Ld, gamma_, Rows,
                                            d, 1e-5f);
}

static void run_plain(void)
{
    ((Norm *)kernel("norm_rows"))(y, Ld, in, Ld, gamma_, NULL, Rows, d, 1e-5f);
}

static void run_add_plain(void)
{
    ((AddNorm *)kernel("add_norm_rows"))(y, Ld, in, Ld, r, Ld, gamma_, NULL,
                                         Rows, d, 1e-5f);
}

static void expect_rows(double share, bool rms)
{
    for (int64_t i = 0; i < Rows; i++)
        expect_norm(i * Ld, 0, share, rms, false);
}

static void expect_rms(void)
{
    expect_rows(0, true);
}
static void expect_add_rms(void)
{
    expect_rows(1, true);
}
static void expect_plain(void)
{
    expect_rows(0, false);
}
static void expect_add_plain(void)
{
    expect_rows(1, false);
}

/* Two heads in a row. */
static void run_heads(const float *beta, int64_t apart, int64_t rms)
{
    ((HeadNorm *)kernel("head_norm_rows"))(y, Ld, in, Ld, gamma_, beta, apart,
                                           Rows, 2, d, 1e-5f, rms);
}

static void run_head_rms(void)
{
    run_heads(NULL, 0, 1);
}
static void run_head_norm(void)
{
    run_heads(beta_, 0, 0);
}
static void run_each_rms(void)
{
    run_heads(NULL, Apart, 1);
}
static void run_each_norm(void)
{
    run_heads(beta_, Apart, 0);
}

static void expect_heads(int64_t apart, bool rms)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t h = 0; h < 2; h++)
            expect_norm(i * Ld + h * d, h * apart, 0, rms, !rms);
}

static void expect_head_rms(void)
{
    expect_heads(0, true);
}
static void expect_head_norm(void)
{
    expect_heads(0, false);
}
static void expect_each_rms(void)
{
    expect_heads(Apart, true);
}
static void expect_each_norm(void)
{
    expect_heads(Apart, false);
}

static void run_l2(void)
{
    ((void (*)(float *, int64_t, const float *, int64_t, int64_t, int64_t,
               float))kernel("l2_norm_rows"))(y, Ld, in, Ld, Rows, d, 1e-12f);
}

static void expect_l2(void)
{
    for (int64_t i = 0; i < Rows; i++) {
        double square = 0;
        for (int64_t j = 0; j < d; j++)
            square += (double)x[i * Ld + j] * (double)x[i * Ld + j];
        for (int64_t j = 0; j < d; j++) {
            const double value = (double)x[i * Ld + j]
                               / fmax(sqrt(square), (double)1e-12f);
            expect(i * Ld + j, value, 8 * EPS * fabs(value));
        }
    }
}

/* ---- rotary ---- */

typedef void Rotate(float *, const float *, const float *, int64_t, int64_t,
                    int64_t);

/* Returns the rotated columns of each of two heads: an even number, fewer than
 * all of a long head. */
static int64_t turned(void)
{
    return d > 16 ? (d - 3) / 2 * 2 : d / 2 * 2;
}

static void run_rotate(const char *name)
{
    ((Rotate *)kernel(name))(y, in, beta_, 2, d, turned());
}

static void run_halves(void)
{
    run_rotate("rotate_row_halves");
}
static void run_interleaved(void)
{
    run_rotate("rotate_row_interleaved");
}

/* Elements first(j) and first(j) + apart are pair j of a head. */
static void expect_rotated(int64_t step, int64_t apart)
{
    const int64_t half = turned() / 2;
    for (int64_t h = 0; h < 2; h++) {
        for (int64_t j = 0; j < half; j++) {
            const int64_t at = h * d + j * step;
            const double a = x[at], b = x[at + apart];
            const double c = beta_[j], s = beta_[half + j];
            const double size = 4 * EPS
                              * (fabs(a * c) + fabs(b * s) + fabs(a * s)
                                 + fabs(b * c));
            expect(at, a * c - b * s, size);
            expect(at + apart, a * s + b * c, size);
        }
        for (int64_t j = turned(); j < d; j++)
            expect(h * d + j, (double)x[h * d + j], 0);
    }
}

static void expect_halves(void)
{
    expect_rotated(1, turned() / 2);
}
static void expect_interleaved(void)
{
    expect_rotated(2, 1);
}

/* ---- pooling ---- */

static int64_t pool_rows(void) /* no more than x holds */
{
    return d < 65 ? 2 * d - 1 : 129;
}

typedef void Pool(float *, const float *, int64_t, int64_t, int64_t);

static void run_mean(void)
{
    ((Pool *)kernel("pool_mean"))(y, x, Ld, pool_rows(), d);
}

static void run_max(void)
{
    ((Pool *)kernel("pool_max"))(y, x, Ld, pool_rows(), d);
}

static void expect_mean(void)
{
    for (int64_t j = 0; j < d; j++) {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < pool_rows(); i++) {
            sum += (double)x[i * Ld + j];
            size += fabs((double)x[i * Ld + j]);
        }
        const double n = (double)pool_rows();
        expect(j, sum / n, 8 * EPS * size / n);
    }
}

static void expect_max(void)
{
    for (int64_t j = 0; j < d; j++) {
        double most = -HUGE_VAL;
        for (int64_t i = 0; i < pool_rows(); i++)
            most = fmax(most, (double)x[i * Ld + j]);
        expect(j, most, 0);
    }
}

/* ---- scores ---- */

/* The first keys of a chunk; the memory after them, up to 16, is unused. */
static int64_t keys_of(void)
{
    return d < 64 ? d : 64;
}

static void forget_padding(void)
{
    const int64_t keys = keys_of();
    for (int64_t i = 0; i < Rows; i++)
        lab_guard(y + i * 64 + keys, (keys + 15) / 16 * 16 - keys);
}

static void run_cap(void)
{
    memcpy(y, x, Rows * 64 * sizeof *y);
    for (int64_t i = 0; i < Rows; i++)
        lab_guard(y + i * 64 + keys_of(), 64 - keys_of());
    ((void (*)(float *, int64_t, const float *, int64_t, int64_t, int64_t,
               float))kernel("softcap_rows"))(y, 64, y, 64, Rows, keys_of(),
                                              1.5f);
    forget_padding();
}

static void run_bias(void)
{
    memcpy(y, x, Rows * 64 * sizeof *y);
    for (int64_t i = 0; i < Rows; i++)
        lab_guard(y + i * 64 + keys_of(), 64 - keys_of());
    ((void (*)(float *, int64_t, int64_t, const float *))kernel(
        "score_bias_row"))(y, Rows, keys_of(), r + Rows - 1);
    forget_padding();
}

static void expect_cap(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < keys_of(); j++) {
            const double value = 1.5 * tanh((double)x[i * 64 + j] / 1.5);
            expect(i * 64 + j, value, 4 * EPS * fabs(value));
        }
}

static void expect_bias(void)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < keys_of(); j++)
            expect(i * 64 + j, (double)(x[i * 64 + j] + r[Rows - 1 + j - i]),
                   0);
}

/* ---- the test ---- */

static const struct Case {
    const char *name;
    void (*run)(void), (*expect)(void);
    bool in_place;
} cases[] = {
    { "rms_norm_rows", run_rms, expect_rms, true },
    { "add_rms_norm_rows", run_add_rms, expect_add_rms, true },
    { "norm_rows", run_plain, expect_plain, true },
    { "add_norm_rows", run_add_plain, expect_add_plain, true },
    { "head_norm_rows, rms", run_head_rms, expect_head_rms, true },
    { "head_norm_rows", run_head_norm, expect_head_norm, true },
    { "head_norm_rows, each, rms", run_each_rms, expect_each_rms, true },
    { "head_norm_rows, each", run_each_norm, expect_each_norm, true },
    { "l2_norm_rows", run_l2, expect_l2, true },
    { "rotate_row_halves", run_halves, expect_halves, true },
    { "rotate_row_interleaved", run_interleaved, expect_interleaved, true },
    { "pool_mean", run_mean, expect_mean, false },
    { "pool_max", run_max, expect_max, false },
    { "softcap_rows", run_cap, expect_cap, false },
    { "score_bias_row", run_bias, expect_bias, false },
};
enum { Cases = sizeof cases / sizeof *cases };

/* Checks that results are within the gate, and all other memory is unchanged.
 */
static void check(const struct Case *c, bool same_memory)
{
    for (int64_t i = 0; i < Size; i++) {
        const bool fine = !isnan(want[i])
                            ? fabs((double)y[i] - want[i]) <= gate[i]
                        : same_memory ? y[i] == x[i]
                                      : is_canary(y[i]);
        if (!fine)
            fail_msg("%s, %s, d %d: element %d is %a, expected %a +- %g",
                     l->name, c->name, (int)d, (int)i, (double)y[i], want[i],
                     gate[i]);
    }
}

static void check_case(const struct Case *c, bool same_memory)
{
    for (int64_t i = 0; i < Size; i++)
        want[i] = NAN;
    c->expect();
    for (int i = 0; i < n_labs; i++) {
        l = &lab[i];
        in = same_memory ? y : x;
        if (same_memory)
            memcpy(y, x, sizeof y);
        else
            lab_guard(y, Size);
        c->run();
        check(c, same_memory);
        if (i == 0)
            memcpy(first, y, sizeof first);
        if (memcmp(y, first, sizeof y) != 0)
            fail_msg("%s, %s, d %d: other bits than by %s", l->name, c->name,
                     (int)d, lab[0].name);
    }
}

static void test_kernels(void **state)
{
    (void)state;
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

/* Tests that a row of zeros stays zero, and that NaN spreads only within its
 * row. */
static void test_zeros_and_nan(void **state)
{
    (void)state;
    d = 33;
    lab_fill(x, Size, FillUniform);
    memset(x, 0, 33 * sizeof *x);
    x[Ld + 32] = NAN;
    in = x;
    for (int i = 0; i < n_labs; i++) {
        l = &lab[i];
        run_l2();
        assert_true(y[0] == 0 && y[32] == 0);
        assert_true(isnan(y[Ld]) && isnan(y[Ld + 32]) && !isnan(y[2 * Ld]));
        run_rms();
        assert_true(y[0] == 0 && y[32] == 0);
        assert_true(isnan(y[Ld]) && isnan(y[Ld + 32]) && !isnan(y[2 * Ld]));
        ((Pool *)kernel("pool_mean"))(y, x, Ld, 0, 5);
        assert_true(y[0] == 0 && y[4] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_zeros_and_nan),
    };
    lab_fill(gamma_, Ld, FillUniform);
    lab_fill(beta_, Ld, FillUniform);
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
