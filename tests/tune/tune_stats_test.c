/* tune_stats_test.c: tests the significance test, medians, and intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "tune/tuner.h"

#include <cmocka.h>

static void assert_near(double x, double expected)
{
    assert_true(fabs(x - expected) < 1e-12);
}

/* Compares with hand-counted signs, and with Wilcoxon's tables. */
static void test_signed_rank(void **state)
{
    (void)state;
    assert_near(signed_rank((double[]){ 1, 2, 3, 4, 5 }, 5), 1 / 32.0);
    assert_near(signed_rank((double[]){ -1, -2, -3 }, 3), 1);
    assert_near(signed_rank((double[]){ -1, -2, 3 }, 3), 5 / 8.0);
    assert_near(signed_rank((double[]){ 1, 2, 3, -4, 5 }, 5), 7 / 32.0);
    assert_near(signed_rank((double[]){ 2, 2 }, 2), 1 / 4.0); /* ties */
    assert_near(signed_rank((double[]){ 2, -2 }, 2), 3 / 4.0);
    assert_near(signed_rank((double[]){ 0, 0, 0 }, 3), 1); /* zeros */
    assert_near(signed_rank((double[]){ 0, 1, 2, 0 }, 4), 1 / 4.0);
    double all[60];
    for (int i = 0; i < 60; i++)
        all[i] = i + 1;
    assert_near(signed_rank(all, 60) * ldexp(1, 60), 1);
    all[0] = -1; /* rank sums of at least 1830 - 1: two cases */
    assert_near(signed_rank(all, 60) * ldexp(1, 60), 2);
}

/* Tests that at most TUNE_ALPHA of the tasks with nothing to gain pass. */
static void test_level(void **state)
{
    (void)state;
    uint64_t seed = 9;
    int passed = 0;
    for (int task = 0; task < 20000; task++) {
        double d[20];
        for (int i = 0; i < 20; i++)
            d[i] = (double)bench_random(&seed) / 1073741824.0 - 1.0;
        passed += signed_rank(d, 20) <= TUNE_ALPHA;
    }
    assert_true(passed > 20000 * TUNE_ALPHA / 2);
    assert_true(passed < 20000 * TUNE_ALPHA * 1.3);
}

static void test_medians(void **state)
{
    (void)state;
    const double x[] = { 9, 1, 8, 2, 7, 3, 6, 4 };
    const Interval i = median_interval(x, 8);
    assert_near(i.middle, 5);
    assert_near(i.low, 1); /* ranks 1 and 8: 99.2 % of 8 */
    assert_near(i.high, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signed_rank),
        cmocka_unit_test(test_level),
        cmocka_unit_test(test_medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
