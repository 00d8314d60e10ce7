/* core_test.c: tests the small parts of the core: memory, exp and log, length
 * penalties, logits processors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/core.h"

/* ---- memory ---- */

static void test_memory(void **unused)
{
    (void)unused;
    struct attn_memory m;
    attn_memory_open(&m, NULL);
    assert_null(attn_take(&m, 3, 5));
    assert_int_equal(m.used, 64);
    assert_null(attn_take(&m, 0, 8));
    assert_null(attn_take(&m, 65, 1));
    assert_int_equal(attn_memory_bytes(&m), 64 + 128 + 64);
    assert_null(attn_take(&m, INT64_MAX / 4, 4));
    assert_int_equal(attn_memory_bytes(&m), -1);
    attn_take(&m, 1, 1); /* stays so */
    assert_int_equal(attn_memory_bytes(&m), -1);

    static char room[256];
    for (int shift = 0; shift < 64; shift++) {
        attn_memory_open(&m, room + shift);
        char *a = attn_take(&m, 1, 1), *b = attn_take(&m, 1, 1);
        assert_int_equal((uintptr_t)a % 64, 0);
        assert_int_equal(b - a, 64);
        assert_true(a >= room + shift);
        assert_true(a + m.used <= room + shift + attn_memory_bytes(&m));
    }
}

/* ---- exp and log ---- */

/* Returns the distance in ulps of the exact value's float. */
static double ulps(float got, double want)
{
    int exponent;
    frexp(want, &exponent);
    if (exponent < -125)
        exponent = -125;
    return fabs((double)got - want) / ldexp(1.0, exponent - 24);
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void test_exp(void **unused)
{
    (void)unused;
    double worst = 0.0;
    for (float x = -87.3f; x < 88.7f; x += 0.00037f) {
        double off = ulps(attn_exp(x), exp((double)x));
        if (!(off <= worst))
            worst = off;
    }
    assert_true(worst <= 1.5);
    assert_true(attn_exp(0.0f) == 1.0f);
    assert_true(attn_exp(-INFINITY) == 0.0f);
    assert_true(attn_exp(-88.0f) == 0.0f);
    assert_true(attn_exp(INFINITY) == INFINITY);
    assert_true(attn_exp(88.73f) == INFINITY);
    assert_true(isfinite(attn_exp(0x1.62e42ep+6f)));
    assert_true(isnan(attn_exp(NAN)));
}

static void test_log(void **unused)
{
    (void)unused;
    double worst = 0.0;
    for (uint32_t bits = 1; bits < 0x7f800000u; bits += 8009) {
        float x = float_of(bits);
        double off = ulps(attn_log(x), log((double)x));
        if (!(off <= worst))
            worst = off;
    }
    assert_true(worst <= 2.0);
    assert_true(attn_log(1.0f) == 0.0f);
    assert_true(attn_log(0.0f) == -INFINITY);
    assert_true(attn_log(INFINITY) == INFINITY);
    assert_true(isnan(attn_log(-1.0f)));
    assert_true(isnan(attn_log(NAN)));
}

static void test_log_probability(void **unused)
{
    (void)unused;
    assert_true(attn_log_probability(1.0f, 3.0f) == -2.0f);
    assert_true(attn_log_probability(3.0f, 2.9999998f) == 0.0f);
    assert_true(attn_log_probability(-INFINITY, 3.0f) == -INFINITY);
    assert_true(isnan(attn_log_probability(NAN, 3.0f)));
}

/* ---- penalty ---- */

static void test_length_penalty(void **unused)
{
    (void)unused;
    static const struct {
        float alpha;
        int64_t length;
        double divisor;
    } row[] = {
        { 0.6f, 1, 1.0 },
        { 0.6f, 10, 1.732862107887866 },
        { 0.6f, 20, 2.354362083745639 },
        { 0.6f, 50, 3.778564704056578 },
        { 0.3f, 10, 1.316382204334238 },
        { 0.3f, 50, 1.943853056189325 },
    };
    struct attn_search_options o = { .penalty = ATTN_PENALTY_GNMT };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        o.alpha = row[i].alpha;
        double got = attn_length_divisor(&o, row[i].length);
        assert_true(fabs(got - row[i].divisor) <= 1e-6 * row[i].divisor);
    }
    o.penalty = ATTN_PENALTY_POWER;
    o.alpha = 1.0f;
    assert_true(attn_length_divisor(&o, 7) == 7.0f);
    o.alpha = 0.5f;
    assert_true(fabs(attn_length_divisor(&o, 7) - sqrt(7.0)) <= 1e-6);
    o.alpha = 0.0f;
    assert_true(attn_length_divisor(&o, 7) == 1.0f);
    o.penalty = ATTN_PENALTY_NONE;
    o.alpha = 0.6f;
    assert_true(attn_length_divisor(&o, 7) == 1.0f);
}

/* ---- processors ---- */

enum { Vocab = 8, End = 2 };
static float logits[Vocab];

static void process_row(const struct attn_search_options *o,
                        const int32_t *tokens, int64_t lead, int64_t n)
{
    int32_t order[Vocab];
    const struct attn_process_row r = {
        o, logits, Vocab, tokens, lead, n, order
    };
    attn_process_logits(&r);
}

/* Processes logits 1 .. 7 and -8 after `n` tokens. */
static void process(const struct attn_process *p, const int32_t *tokens,
                    int64_t n)
{
    for (int i = 0; i < Vocab; i++)
        logits[i] = (float)(i + 1);
    logits[Vocab - 1] = -8.0f;
    const struct attn_search_options o = { .end = End, .process = *p };
    process_row(&o, tokens, 0, n);
}

/* `ids`: the forbidden ones, as digits. */
static void assert_forbidden(const char *ids)
{
    for (int i = 0; i < Vocab; i++)
        assert_int_equal(logits[i] == -INFINITY, strchr(ids, '0' + i) != NULL);
}

static void test_nothing(void **unused)
{
    (void)unused;
    const struct attn_process p = { 0 };
    const int32_t tokens[] = { 1, 1, 1 };
    process(&p, tokens, 3);
    for (int i = 0; i < Vocab - 1; i++)
        assert_true(logits[i] == (float)(i + 1));
    process(&p, NULL, 0);
}

static void test_min_length(void **unused)
{
    (void)unused;
    const struct attn_process p = { .min_length = 2 };
    const int32_t tokens[] = { 1, 1 };
    process(&p, tokens, 0);
    assert_forbidden("2");
    process(&p, tokens, 1);
    assert_forbidden("2");
    process(&p, tokens, 2);
    assert_forbidden("");
}

/* Tests which tokens count: those of the answer, or all. */
static void test_lead(void **unused)
{
    (void)unused;
    const int32_t tokens[] = { 1, 1, 1, 1 };
    struct attn_search_options o = { .end = End };
    for (int64_t least = 0; least <= 4; least++)
        for (int64_t lead = 0; lead <= 3; lead++) {
            process(&o.process, NULL, 0);
            o.process.min_length = least;
            process_row(&o, tokens, lead, 3);
            assert_forbidden(3 - lead < least ? "2" : "");
            o.process = (struct attn_process){ .min_total = least };
            process(&(struct attn_process){ 0 }, NULL, 0);
            process_row(&o, tokens, lead, 3);
            assert_forbidden(3 < least ? "2" : "");
            o.process = (struct attn_process){ 0 };
        }
    o.process.no_repeat_ngram = 1;
    process(&(struct attn_process){ 0 }, NULL, 0);
    process_row(&o, tokens, 2, 2);
    assert_forbidden("1");
}

static void test_repetition(void **unused)
{
    (void)unused;
    const struct attn_process p = { .repetition_penalty = 2.0f };
    const int32_t tokens[] = { 3, 7, 3, 99 }; /* twice is once */
    process(&p, tokens, 4);
    assert_true(logits[3] == 2.0f);
    assert_true(logits[7] == -16.0f);
    assert_true(logits[4] == 5.0f);
}

static void test_ngram(void **unused)
{
    (void)unused;
    struct attn_process p = { .no_repeat_ngram = 3 };
    const int32_t tokens[] = { 1, 3, 4, 1, 3, 5, 1, 3 };
    process(&p, tokens, 8);
    assert_forbidden("45");
    process(&p, tokens, 4);
    assert_forbidden("");
    process(&p, tokens, 2);
    assert_forbidden("");
    p.no_repeat_ngram = 1;
    process(&p, tokens, 4);
    assert_forbidden("134");
    process(&p, tokens, 0);
    assert_forbidden("");
    p.no_repeat_ngram = 2;
    process(&p, tokens, 4);
    assert_forbidden("3");
}

static void test_suppress(void **unused)
{
    (void)unused;
    const int32_t list[] = { 1, 6, 3, 4, 5, 0, 2, 4, 7 };
    struct attn_process p = { .suppress = list, .suppress_size = 9 };
    const int32_t tokens[] = { 1, 4, 5, 4 };
    process(&p, tokens, 0);
    assert_forbidden("6");
    process(&p, tokens, 1);
    assert_forbidden("6");
    process(&p, tokens, 3);
    assert_forbidden("60");
    process(&p, tokens, 4);
    assert_forbidden("67");
    p.suppress_size = 8; /* the last one is truncated */
    process(&p, tokens, 4);
    assert_forbidden("6");
}

/* Tests logits that are too large, NaN, or all not finite. */
static void test_finite(void **unused)
{
    (void)unused;
    float x[150];
    for (int n = 1; n <= 150; n += 1 + n / 2)
        for (int at = 0; at < n; at++) {
            for (int i = 0; i < n; i++)
                x[i] = -INFINITY;
            assert_int_equal(attn_logits_finite(x, n), 0);
            x[at] = -3.4e38f;
            assert_int_equal(attn_logits_finite(x, n), 1);
            x[n - 1 - at] = INFINITY;
            assert_int_equal(attn_logits_finite(x, n), 0);
            x[n - 1 - at] = NAN;
            assert_int_equal(attn_logits_finite(x, n), 0);
        }
}

static void test_forbid(void **unused)
{
    (void)unused;
    const int32_t list[] = { 0, 1, 2, -1, 8 }; /* two are no tokens */
    const struct attn_process p = { .forbid = list, .forbid_count = 5 };
    struct attn_search_options o = { .end = End, .process = p };
    process(&p, NULL, 0);
    assert_forbidden(""); /* no probability changes */
    attn_forbid_logits(&o, logits, Vocab);
    assert_forbidden("01");
    o.end = 3;
    attn_forbid_logits(&o, logits, Vocab);
    assert_forbidden("012");
    process(&p, NULL, 0);
    o.end = 1; /* allowed as the end token */
    attn_forbid_logits(&o, logits, Vocab);
    assert_forbidden("02");
    process(&p, NULL, 0);
    o.ends = list; /* as another end, too */
    o.ends_count = 1;
    attn_forbid_logits(&o, logits, Vocab);
    assert_forbidden("2");
}

static void test_ends(void **unused)
{
    (void)unused;
    const int32_t ends[] = { 4, 6 };
    const struct attn_search_options o = { .end = End,
                                           .ends = ends,
                                           .ends_count = 2,
                                           .process = { .min_length = 2 } };
    for (int64_t t = -1; t < Vocab; t++)
        assert_int_equal(attn_ends(&o, t), t == End || t == 4 || t == 6);
    for (int64_t n = 1; n <= 2; n++) {
        process(&o.process, NULL, 2);
        process_row(&o, ends, 0, n);
        assert_forbidden(n < 2 ? "246" : "");
    }
}

/* Tests that such tokens are suppressed only directly after forced tokens. */
static void test_suppress_first(void **unused)
{
    (void)unused;
    const int32_t ids[] = { 0, 5 }, before[] = { 3, 3, 3, 3, 3, 3 };
    struct attn_search_options o = { .end = End,
                                     .process = { .suppress_first = ids,
                                                  .suppress_first_count = 2 } };
    for (o.prefix_n = 0; o.prefix_n < 3; o.prefix_n++)
        for (int64_t n = 0; n < 3; n++) {
            process(&(struct attn_process){ 0 }, NULL, 0);
            process_row(&o, before, 0, n);
            assert_forbidden(n == o.prefix_n ? "05" : "");
            process(&(struct attn_process){ 0 }, NULL, 0);
            process_row(&o, before, n, 2 * n); /* a prompt of n */
            assert_forbidden(n == o.prefix_n ? "05" : "");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_log_probability),
        cmocka_unit_test(test_length_penalty),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_min_length),
        cmocka_unit_test(test_lead),
        cmocka_unit_test(test_repetition),
        cmocka_unit_test(test_ngram),
        cmocka_unit_test(test_suppress),
        cmocka_unit_test(test_finite),
        cmocka_unit_test(test_forbid),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_suppress_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
