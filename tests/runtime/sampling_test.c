/* sampling_test.c: tests the random numbers, shares of draws under temperature
 * and its limits, equal logits, and options out of range. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/core.h"

static void test_random(void **unused)
{
    (void)unused;
    /* by another implementation of SplitMix64, in Python */
    assert_true(attn_random(0, 0) == 0x1.4e0dba5e9a32fp-1);
    assert_true(attn_random(0, 1) == 0x1.6705460be8829p-1);
    assert_true(attn_random(42, 7) == 0x1.782d47a99890cp-1);
    double sum = 0.0;
    for (int i = 0; i < 100000; i++) {
        double u = attn_random(7, i);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 0.005);
}

/* Tests shares of 40000 draws: each within 5 standard deviations of p. */
static void assert_shares(const struct attn_sampling *o, const float *logits,
                          const double *p, int n)
{
    const int draws = 40000;
    int count[8] = { 0 };
    int32_t order[8];
    for (int i = 0; i < draws; i++)
        count[attn_sample(o, logits, n, i, order)]++;
    for (int i = 0; i < n; i++) {
        double share = (double)count[i] / draws;
        if (!(fabs(share - p[i]) <= 5 * sqrt(p[i] * (1 - p[i]) / draws)))
            fail_msg("token %d: share %g, probability %g", i, share, p[i]);
    }
}

static void test_shares(void **unused)
{
    (void)unused;
    float x[5];
    const double p[] = { .1, .4, .2, 0, .3 }; /* a forbidden one */
    for (int i = 0; i < 5; i++)
        x[i] = (float)log(p[i]);
    static const struct {
        struct attn_sampling o;
        double p[5];
    } cases[] = {
        { { .temperature = 1 }, { .1, .4, .2, 0, .3 } },
        { { .temperature = 1, .top_k = 9 }, { .1, .4, .2, 0, .3 } },
        { { .temperature = 1, .top_k = 1 }, { 0, 1, 0, 0, 0 } },
        { { .temperature = 1, .top_k = 2 }, { 0, 4. / 7, 0, 0, 3. / 7 } },
        { { .temperature = 1, .top_p = .6f }, { 0, 4. / 7, 0, 0, 3. / 7 } },
        { { .temperature = 1, .top_p = .1f }, { 0, 1, 0, 0, 0 } },
        { { .temperature = 1, .top_p = 1 }, { .1, .4, .2, 0, .3 } },
        { { .temperature = 1, .min_p = .6f }, { 0, 4. / 7, 0, 0, 3. / 7 } },
        { { .temperature = 1, .min_p = .4f },
          { 0, 4. / 9, 2. / 9, 0, 3. / 9 } },
        { { .temperature = 1, .top_k = 2, .top_p = .5f }, { 0, 1, 0, 0, 0 } },
        { { .temperature = .5f }, { 1. / 30, 16. / 30, 4. / 30, 0, 9. / 30 } },
        { { .temperature = 1e-30f }, { 0, 1, 0, 0, 0 } },
        { { .temperature = 0 }, { 0, 1, 0, 0, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_shares(&cases[i].o, x, cases[i].p, 5);
}

/* Tests that equal logits are in the order of their ids, for any number of
 * them. */
static void test_equal_logits(void **unused)
{
    (void)unused;
    enum { N = 1000 };
    static float x[N];
    static int32_t order[N];
    int seen[3] = { 0 };
    for (int i = 0; i < N; i++)
        x[i] = i % 10 == 7 ? 2.0f : 1.0f;
    const struct attn_sampling o = { .temperature = 1, .top_k = 3 };
    for (int i = 0; i < 200; i++) {
        int64_t token = attn_sample(&o, x, N, i, order);
        assert_true(token == 7 || token == 17 || token == 27);
        seen[token / 10]++;
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    const struct attn_sampling greedy = { .temperature = 0 };
    assert_int_equal(attn_sample(&greedy, x, N, 0, order), 7);
    for (int i = 0; i < N; i++)
        x[i] = -INFINITY;
    assert_int_equal(attn_sample(&o, x, N, 0, order), -1);
    assert_int_equal(attn_sample(&greedy, x, N, 0, order), -1);
}

/* Tests that the first of the largest logits is found at any position of a row
 * of any length; NaN never is. */
static void test_best(void **unused)
{
    (void)unused;
    enum { Most = 3 * ATTN_BLOCK };
    const struct attn_sampling greedy = { .temperature = 0 };
    float x[Most];
    for (int n = 1; n <= Most; n++)
        for (int at = 0; at < n; at += 7) {
            for (int i = 0; i < n; i++)
                x[i] = i % 5 ? (float)(i % 3) : NAN;
            x[at] = x[n - 1] = 3.0f;
            assert_int_equal(attn_sample(&greedy, x, n, 0, NULL), at);
        }
}

static void test_ranges(void **unused)
{
    (void)unused;
    static const struct attn_sampling bad[] = {
        { .temperature = -1 },
        { .temperature = NAN },
        { .temperature = INFINITY },
        { .top_p = 1.1f },
        { .top_p = -1 },
        { .top_p = NAN },
        { .min_p = 2 },
        { .min_p = NAN },
        { .top_k = -1 },
    };
    const struct attn_sampling good = {
        .temperature = 1e9f, .top_p = 1, .min_p = 1, .top_k = 1
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(attn_sampling_fits(&bad[i]));
    assert_true(attn_sampling_fits(&good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),       cmocka_unit_test(test_shares),
        cmocka_unit_test(test_equal_logits), cmocka_unit_test(test_best),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
