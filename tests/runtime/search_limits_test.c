/* search_limits_test.c: tests lengths, bad arguments and numbers, scoring. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_case.h"

/* ---- limits ---- */

static void test_limits(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (int64_t beam = 1; beam <= 3; beam += 2) {
        case_make(c, ATTN_ENCODER_DECODER, 9, 1, beam, 4);
        c->f.end_bias = -100.0f;
        c->o.max_output = 3; /* tokens, no end */
        assert_int_equal(case_run(c), 0);
        assert_int_equal(c->out[0].n, 3);
        assert_int_equal(c->out[0].ended, 0);
        free(c->memory);

        c->o.max_output = 0; /* source rows + 5 */
        c->o.max_output_plus = 5;
        assert_int_equal(case_run(c), 0);
        assert_int_equal(c->out[0].n, 9);
        free(c->memory);

        c->o.max_output_plus = -1; /* 20 positions: start, 19 */
        c->f.model.max_target = 20;
        assert_int_equal(case_run(c), 0);
        assert_int_equal(c->out[0].n, 20);
        free(c->memory);

        c->prefix_n = 3; /* the prefix is the answer */
        c->prefix[0] = 5;
        c->o.max_output = 3;
        assert_int_equal(case_run(c), 0);
        assert_int_equal(c->found[0], 1);
        assert_int_equal(c->out[0].n, 3);
        assert_int_equal(c->out[0].tokens[0], 5);
        free(c->memory);

        c->o.max_output = 2; /* shorter than the prefix */
        assert_int_equal(case_run(c), ATTN_ERROR_LENGTH);
    }
    free(c);
}

/* Tests that without a source only a decoder that reads a start token has an
 * answer. */
static void test_empty(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (int64_t beam = 1; beam <= 3; beam += 2)
        for (int decoder = 0; decoder < 2; decoder++)
            for (int start = -1; start < 2; start += 2) {
                if (!decoder && start < 0)
                    continue; /* such a search does not exist */
                case_make(c, decoder ? ATTN_DECODER : ATTN_ENCODER_DECODER, 9,
                          1, beam, 0);
                c->f.end_bias = -100.0f;
                c->o.start = start;
                c->sentences = 3; /* 0, 2 and 0 rows */
                c->start[2] = c->start[3] = 2;
                c->ids[0] = c->ids[1] = 4;
                assert_int_equal(case_run(c), 0);
                assert_int_equal(c->found[0], decoder && start >= 0);
                assert_int_equal(c->found[1], 1);
                assert_int_equal(c->found[2], c->found[0]);
                if (c->found[0] > 0)
                    assert_int_equal(c->out[0].n, 20);
                free(c->memory);
            }
    case_make(c, ATTN_DECODER, 9, 1, 1, 0); /* an empty source */
    assert_true(attn_search_asks(&c->f.model, &c->o, 0));
    c->o.max_output_plus = 0;
    assert_false(attn_search_asks(&c->f.model, &c->o, 0));
    free(c);
}

static void test_refused(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    case_make(c, ATTN_ENCODER_DECODER, 9, 1, 2, 4);
    int64_t bytes = case_bytes(c);
    char *memory = malloc((size_t)bytes);
    const struct attn_search_request small = {
        .model = &c->f.model,
        .bound = &c->f,
        .o = &c->o,
        .sentences = 1,
        .ids = c->ids,
        .start = c->start,
        .memory = memory,
        .bytes = bytes - 1,
    };
    assert_int_equal(attn_search(&small, c->out, c->found), ATTN_ERROR_ROOM);
    free(memory);
    c->ids[2] = 50; /* no such id */
    assert_int_equal(case_run(c), ATTN_ERROR_ID);
    free(c->memory);
    c->ids[2] = 0;
    c->start[1] = 301; /* longer than max_source */
    assert_int_equal(case_run(c), ATTN_ERROR_LENGTH);
    free(c->memory);
    c->start[1] = 4;
    c->prefix_n = 1;
    c->prefix[0] = 9;
    assert_int_equal(case_run(c), ATTN_ERROR_ID);
    c->prefix_n = 0;
    c->o.ends = c->prefix;
    c->o.ends_count = 1;
    assert_int_equal(case_run(c), ATTN_ERROR_ID);
    free(c);
}

static void test_sizes_refused(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    case_make(c, ATTN_ENCODER_DECODER, 9, 1, 2, 4);
    assert_true(case_bytes(c) > 0);
    c->o.beam = 0;
    assert_int_equal(case_bytes(c), ATTN_ERROR_OPTION);
    c->o.beam = 2;
    c->o.start = -1;
    assert_int_equal(case_bytes(c), ATTN_ERROR_ID);
    c->o.start = 1;
    c->f.model.kind = ATTN_ENCODER;
    assert_int_equal(case_bytes(c), ATTN_ERROR_KIND);
    c->f.model.kind = ATTN_ENCODER_DECODER;
    const int64_t tokens = case_bytes(c);
    c->f.model.input_width = 300; /* memory for a copy of them */
    assert_true(case_bytes(c) > tokens);
    c->f.model.input_width = 0;
    assert_int_equal(attn_search_bytes(&c->f.model, &c->o, INT64_MAX, 1, 1),
                     ATTN_ERROR_COUNT);
    c->f.model.target_vocab = INT64_MAX / 8;
    assert_int_equal(case_bytes(c), ATTN_ERROR_COUNT);
    free(c);
}

/* ---- bad numbers ---- */

/* Tests that NaN, or only -INFINITY, is reported because no token can be
 * chosen. */
static void test_nan(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (int64_t beam = 1; beam <= 3; beam++) {
        case_make(c, ATTN_ENCODER_DECODER, 9, 1, beam, 4);
        for (int never = 0; never < 2; never++) {
            c->f.nan_every = !never;
            c->f.never_every = never;
            assert_int_equal(case_run(c), 0);
            assert_int_equal(c->found[0], ATTN_ERROR_FINITE);
            free(c->memory);
        }
    }
    free(c);
}

/* Calls attn_score_pairs() with the case's first `rows` ids after start token
 * 1, in memory that is `missing` bytes too small. */
static int score_of(Case *c, int64_t rows, const int32_t *target, int64_t n,
                    int64_t missing, float *log_probability)
{
    const struct attn_score_pair pair = {
        .source = c->ids, .source_n = rows, .target = target, .target_n = n
    };
    struct attn_score_request r = {
        .model = &c->f.model,
        .bound = &c->f,
        .start = 1,
        .pair = &pair,
        .pairs = 1,
        .log_probability = log_probability,
    };
    const int64_t bytes = attn_score_bytes(&r);
    r.bytes = bytes - missing;
    r.memory = malloc((size_t)bytes);
    memset(r.memory, 0xff, (size_t)bytes);
    const int wrong = attn_score_pairs(&r);
    free(r.memory);
    return wrong;
}

/* ---- score ---- */

static void test_score_of_nan(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    const int32_t target[] = { 3, 2 };
    float log_probability[2];
    case_make(c, ATTN_ENCODER_DECODER, 9, 1, 1, 4);
    c->f.nan_every = 1;
    assert_int_equal(score_of(c, 4, target, 2, 0, log_probability), 0);
    assert_true(isnan(log_probability[0]) && isnan(log_probability[1]));
    free(c);
}

static void test_score(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (uint32_t seed = 0; seed < 20; seed++) {
        int64_t kind = seed % 2 ? ATTN_DECODER : ATTN_ENCODER_DECODER;
        case_make(c, kind, 9, seed, 1, 66);
        c->f.end_bias = -2.0f;
        c->o.max_output = 100;
        assert_int_equal(case_run(c), 0);

        int32_t target[200];
        float log_probability[200], sum = 0.0f;
        int64_t n = c->out[0].n;
        memcpy(target, c->out[0].tokens, (size_t)n * sizeof *target);
        if (c->out[0].ended)
            target[n++] = c->o.end;
        assert_int_equal(score_of(c, 66, target, n, 0, log_probability), 0);
        for (int64_t i = 0; i < n; i++)
            sum += log_probability[i];
        assert_memory_equal(&sum, &c->out[0].log_probability, sizeof sum);

        assert_int_equal(score_of(c, 66, target, n, 1, log_probability),
                         ATTN_ERROR_ROOM);
        target[0] = 9;
        assert_int_equal(score_of(c, 66, target, n, 0, log_probability),
                         ATTN_ERROR_ID);
        free(c->memory);
    }
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sizes_refused),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_score_of_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
