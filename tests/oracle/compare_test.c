/* compare_test.c: tests the comparison itself. Each gate passes its rounding
 * and nothing more; a NaN never passes. */
#include "oracle/gates.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static bool one_passes(double want, double got, double tolerance)
{
    Comparison c = { 0 };
    double g = got;
    compare_values(&c, &want, &g, &tolerance, 1);
    return compare_passed(&c);
}

static void test_values(void **state)
{
    (void)state;
    assert_true(one_passes(1, 1, 0));
    assert_true(one_passes(1, 1.5, 0.5));
    assert_false(one_passes(1, 1.5, 0.25));
    assert_false(one_passes(1, 1 + F32_EPS, 0));
    assert_true(one_passes(HUGE_VAL, HUGE_VAL, 0));
    assert_false(one_passes(HUGE_VAL, -HUGE_VAL, 1));
    assert_false(one_passes(1, HUGE_VAL, 1e30));
}

static void test_nan_fails(void **state)
{
    (void)state;
    assert_false(one_passes(1, NAN, 1));
    assert_false(one_passes(NAN, 1, 1));
    assert_false(one_passes(NAN, NAN, 1));
    assert_false(one_passes(1, 1.5, NAN));
    assert_false(one_passes(HUGE_VAL, NAN, HUGE_VAL));
}

static void test_nothing_fails(void **state)
{
    (void)state;
    Comparison none = { 0 };
    assert_false(compare_passed(&none));
    double want[20] = { 1, 2 }, tolerance[20] = { 0 };
    double got[20] = { 1, 2 };
    Comparison enough = { 0 }, zeros = { 0 };
    compare_values(&enough, want, got, tolerance, 20);
    assert_true(compare_passed(&enough));
    compare_values(&zeros, want + 1, got + 1, tolerance, 19);
    assert_false(compare_passed(&zeros));
}

static void test_worst(void **state)
{
    (void)state;
    double want[4] = { 1, 2, 3, 4 }, tolerance[4] = { 1, 1, 1, 1 };
    double got[4] = { 1, 2.25, 3.5, 4 };
    Comparison c = { 0 };
    assert_true(compare_values(&c, want, got, tolerance, 4));
    assert_int_equal(c.worst, 2);
    assert_true(c.ratio == 0.5 && c.want == 3 && c.got == 3.5);
    assert_int_equal(c.failed, 0);
    double nan[4] = { 1, NAN, 9, 4 };
    assert_true(compare_values(&c, want, nan, tolerance, 4));
    assert_int_equal(c.worst, 1);
    assert_int_equal(c.failed, 2);
}

static void test_model(void **state)
{
    (void)state;
    double want[8] = { 1, -2, 3, 0.5, -1, 2, -3, 0.25 };
    float got[8];
    for (int i = 0; i < 8; i++)
        got[i] = (float)(want[i] * (1 + 1e-6));
    assert_true(compare_model(want, got, 2, 4).passed);
    got[6] += 1e-3F;
    ModelComparison far = compare_model(want, got, 2, 4);
    assert_false(far.passed);
    assert_int_equal(far.worst, 6);
    got[6] = NAN;
    assert_false(compare_model(want, got, 2, 4).passed);
    got[6] = INFINITY;
    assert_false(compare_model(want, got, 2, 4).passed);
    assert_false(compare_model(want, got, 0, 4).passed);
    double zeros[8] = { 0 };
    float same[8] = { 0 };
    ModelComparison nothing = compare_model(zeros, same, 2, 4);
    assert_false(nothing.passed);
    assert_false(nothing.failed);
    assert_int_equal(nothing.zeros, 8);
}

/* Tests that errors are relative to the value's size if all values are equal.
 */
static void test_model_without_spread(void **state)
{
    (void)state;
    const double third[3] = { 1 / 3.0, 1 / 3.0, 1 / 3.0 };
    float got[3] = { 1 / 3.0F, 1 / 3.0F, 1 / 3.0F };
    for (int n = 1; n <= 3; n++) {
        ModelComparison c = compare_model(third, got, n, 1);
        assert_true(c.passed && c.max_error > 0 && c.max_error < 1e-7);
    }
    assert_true(compare_model(third, got, 1, 3).passed);
    got[0] = 1 / 3.0F * 1.00002F; /* NMSE: 4e-10 */
    assert_true(compare_model(third, got, 1, 1).failed);
    got[0] = NAN;
    assert_true(compare_model(third, got, 1, 1).failed);
    assert_true(compare_model(third, got, 3, 1).failed);
    const double nothing = 0, nan = NAN;
    got[0] = 1e-30F;
    assert_true(compare_model(&nothing, got, 1, 1).failed);
    assert_true(compare_model(&nan, got, 1, 1).failed);
}

/* Tests that errors are relative to the spread if values vary, however little.
 */
static void test_model_small_spread(void **state)
{
    (void)state;
    const double want[2] = { 1, 1 + 4 * F32_EPS };
    float got[2] = { 1, (float)want[1] };
    assert_true(compare_model(want, got, 2, 1).passed);
    got[0] += (float)F32_EPS;
    assert_true(compare_model(want, got, 2, 1).failed);
}

/* Tests that a NaN in the first row is not hidden by a valid second row. */
static void test_model_first_row(void **state)
{
    (void)state;
    double want[4] = { 1, 2, 3, 4 };
    float got[4] = { NAN, 2, 3, 4 };
    ModelComparison c = compare_model(want, got, 2, 2);
    assert_true(isnan(c.divergence) && isnan(c.nmse));
    assert_false(c.passed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_nan_fails),
        cmocka_unit_test(test_nothing_fails),
        cmocka_unit_test(test_worst),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_model_without_spread),
        cmocka_unit_test(test_model_small_spread),
        cmocka_unit_test(test_model_first_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
