/* search_test.c: tests search and batches against slow, single searches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_case.h"
#include "support/fake_search.h"

enum { Results = 8, Outputs = 1 + 3 + 9 + 27 + 81 };

/* Start, pad, and the end, which may be written all the same. */
static const int32_t unwritten[] = { 1, 0, 2 };
static const int32_t more_ends[] = { 3, 1 };

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void assert_same(const struct attn_hypothesis *h, const Answer *a,
                        bool scored)
{
    assert_int_equal(h->n, a->n);
    assert_memory_equal(h->tokens, a->token, (size_t)h->n * sizeof(int32_t));
    assert_int_equal(h->ended, a->ended);
    if (!scored)
        return;
    assert_memory_equal(&h->score, &a->score, sizeof h->score);
    assert_memory_equal(&h->log_probability, &a->sum, sizeof a->sum);
}

static void assert_slow_agrees(const Case *c)
{
    Answer *best = calloc(64, sizeof *best);
    for (int64_t i = 0; i < c->sentences; i++) {
        int64_t n = c->start[i + 1] - c->start[i];
        if (c->o.max_input > 0 && n > c->o.max_input)
            n = c->o.max_input;
        int64_t lead = attn_search_lead(&c->f.model, &c->o, n);
        int64_t limit = attn_search_limit(&c->f.model, &c->o, n, lead);
        if (!attn_search_asks(&c->f.model, &c->o, n)) {
            assert_int_equal(c->found[i], 0);
            continue;
        }
        const struct attn_search_options o = case_options(c);
        int64_t found = slow_search(&c->f, &o, c->ids + c->start[i], n,
                                    c->prefix, c->prefix_n, limit, best);
        assert_int_equal(c->found[i], found);
        for (int64_t r = 0; r < found; r++)
            assert_same(&c->out[i * c->o.results + r], &best[r],
                        c->o.beam > 1 || c->o.want_scores);
    }
    free(best);
}

static void case_random(Case *c, uint32_t seed)
{
    uint32_t s = seed * 2654435761u;
    int64_t kind = random_below(&s, 3) ? ATTN_ENCODER_DECODER : ATTN_DECODER;
    case_make(c, kind, 4 + random_below(&s, 20), seed, 1 + random_below(&s, 6),
              0);
    c->f.end_bias = (float)random_below(&s, 7) - 3.0f;
    c->f.spread = (float)random_below(&s, 5); /* 0: all are equal */
    c->f.never_every = random_below(&s, 4) ? 0 : 3;
    c->o.rule = random_below(&s, 2);
    /* the slow search does not stop early, so it would find more answers */
    if (c->o.rule == ATTN_RULE_RECORDED && random_below(&s, 3) == 0)
        c->f.nan_every = 1 + (int)random_below(&s, 400);
    c->o.penalty = random_below(&s, 3);
    c->o.alpha = (float)random_below(&s, 6) * 0.3f - 0.3f;
    c->o.results = 1 + random_below(&s, (uint32_t)c->o.beam);
    c->o.patience = 1.0f + 0.5f * (float)random_below(&s, 3);
    c->o.max_output = 3 + random_below(&s, 12);
    if (random_below(&s, 3) == 0)
        c->o.max_output_plus = 3 + random_below(&s, 5);
    c->o.max_input = random_below(&s, 3) ? 0 : 70;
    c->o.want_scores = random_below(&s, 2);
    c->o.process.min_length = random_below(&s, 4);
    c->o.process.no_repeat_ngram = random_below(&s, 3);
    c->o.process.min_total = seed % 4 ? 0 : random_below(&s, 20);
    c->o.process.repetition_penalty = seed % 5 ? 0.0f : 1.3f;
    c->o.process.log_probabilities = seed % 3 == 0;
    c->o.process.forbid = unwritten;
    c->o.process.forbid_count = random_below(&s, 4);
    c->o.ends = more_ends;
    c->o.ends_count = random_below(&s, 3);
    c->o.process.suppress_first = more_ends;
    c->o.process.suppress_first_count = random_below(&s, 3);
    c->prefix_n = random_below(&s, 4) ? 0 : 1 + random_below(&s, 3);
    for (int i = 0; i < c->prefix_n; i++)
        c->prefix[i] = (int32_t)random_below(&s, 4);
    c->sentences = 1 + random_below(&s, Sentences);
    for (int64_t i = 0; i < c->sentences; i++) {
        int32_t n = (int32_t)random_below(&s, i % 2 ? 150 : 12);
        c->start[i + 1] = c->start[i] + n;
        for (int32_t j = 0; j < n; j++)
            c->ids[c->start[i] + j] = (int32_t)
                random_below(&s, (uint32_t)c->f.model.target_vocab);
    }
}

/* Tests the rules; for the exact one, the slow search never stops early. */
static void test_against_slow(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (uint32_t seed = 0; seed < 700; seed++) {
        case_random(c, seed);
        assert_int_equal(case_run(c), 0);
        assert_slow_agrees(c);
        free(c->memory);
    }
    free(c);
}

/* Tests code with constant numbers of sequences and rows per call: the padding
 * changes no answer. Forced tokens and prompts are read row by row. */
static void test_fixed_calls(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (uint32_t seed = 0; seed < 300; seed++) {
        case_random(c, seed);
        c->f.model.fixed_batch = c->sentences * c->o.beam + seed % 3;
        c->f.model.fixed_target = seed / 3 % 2;
        assert_int_equal(case_run(c), 0);
        assert_slow_agrees(c);
        free(c->memory);
    }
    case_make(c, ATTN_ENCODER_DECODER, 9, 1, 2, 3);
    c->f.model.fixed_batch = 1;
    assert_int_equal(case_run(c), ATTN_ERROR_FIXED);
    free(c->memory);
    free(c);
}

/* Tests several pages; hypotheses share the full ones. */
static void test_long(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    for (uint32_t seed = 0; seed < 6; seed++) {
        case_make(c, seed % 2 ? ATTN_DECODER : ATTN_ENCODER_DECODER, 9, seed,
                  1 + seed, 70);
        c->f.end_bias = -5.0f;
        c->o.rule = seed / 2 % 2;
        c->o.penalty = ATTN_PENALTY_GNMT;
        c->o.results = c->o.beam;
        c->o.max_output = 200;
        assert_int_equal(case_run(c), 0);
        assert_true(c->out[0].n > 60);
        assert_slow_agrees(c);
        free(c->memory);
    }
    free(c);
}

/* ---- enumeration ---- */

static void enumerate(Slow *s, Answer *a)
{
    float logits[64];
    if (a->n == s->limit) {
        slow_record(s, a, -1, a->sum);
        return;
    }
    slow_logits(s, a, logits);
    for (int32_t t = 0; t < s->f->model.target_vocab; t++) {
        Answer longer = *a;
        float sum = a->sum + logits[t];
        longer.token[longer.n++] = t;
        longer.sum = sum;
        if (t == s->o->end)
            slow_record(s, a, t, sum);
        else
            enumerate(s, &longer);
    }
}

/* Tests that a beam as wide as the tree finds the best of all outputs. */
static void test_against_enumeration(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    Slow s = { .limit = 4 };
    s.answers = calloc(Outputs, sizeof *s.answers);
    for (uint32_t seed = 0; seed < 30; seed++) {
        Answer none = { .n = 0 };
        case_make(c, ATTN_ENCODER_DECODER, 4, seed, 256, 3);
        c->o.results = Results;
        c->o.max_output = s.limit;
        c->o.penalty = seed % 3;
        c->o.alpha = 0.6f;
        assert_int_equal(case_run(c), 0);

        s.f = &c->f;
        s.o = &c->o;
        s.source = c->ids;
        s.source_n = 3;
        s.count = 0;
        enumerate(&s, &none);
        assert_int_equal(s.count, Outputs);
        qsort(s.answers, (size_t)s.count, sizeof *s.answers, answer_order);
        assert_int_equal(c->found[0], Results);
        for (int i = 0; i < Results; i++)
            assert_same(&c->out[i], &s.answers[i], true);
        free(c->memory);
    }
    free(s.answers);
    free(c);
}

/* Tests the divisors of a sum of log-probabilities: of GNMT, ((5 + n) / 6) to
 * the power of alpha; of ATTN_PENALTY_POWER, n to the power of
 * alpha. */
static void test_divisors(void **unused)
{
    static const struct {
        int64_t penalty, n;
        float alpha;
        double divisor;
    } cases[] = {
        { ATTN_PENALTY_NONE, 9, 0.6f, 1 },
        { ATTN_PENALTY_GNMT, 1, 0.6f, 1 },
        { ATTN_PENALTY_GNMT, 7, 1, 2 },
        { ATTN_PENALTY_GNMT, 13, 0.6f, 1.933182045 }, /* 3^0.6 */
        { ATTN_PENALTY_POWER, 9, 1, 9 },
        { ATTN_PENALTY_POWER, 9, 0.5f, 3 },
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_search_options o = { .penalty = cases[i].penalty,
                                               .alpha = cases[i].alpha };
        const double got = (double)attn_length_divisor(&o, cases[i].n);
        assert_true(fabs(got - cases[i].divisor) < 1e-6 * cases[i].divisor);
    }
}

/* Tests that the exact rule stops before the limit if it can. */
static void test_stops(void **unused)
{
    (void)unused;
    Case *c = malloc(sizeof *c);
    int64_t calls = 0;
    case_make(c, ATTN_ENCODER_DECODER, 9, 3, 4, 3);
    c->f.end_bias = 6.0f;
    c->f.calls = &calls;
    c->o.max_output = 200;
    assert_int_equal(case_run(c), 0);
    assert_true(calls < 20);
    free(c->memory);
    free(c);
}

/* ---- batch ---- */

static void test_batch_is_each_alone(void **unused)
{
    (void)unused;
    Case *all = malloc(sizeof *all), *one = malloc(sizeof *one);
    for (uint32_t seed = 5000; seed < 5060; seed++) {
        case_random(all, seed);
        assert_int_equal(case_run(all), 0);
        for (int64_t i = 0; i < all->sentences; i++) {
            case_random(one, seed);
            one->sentences = 1;
            one->start[1] = all->start[i + 1] - all->start[i];
            memcpy(one->ids, all->ids + all->start[i],
                   (size_t)one->start[1] * sizeof *one->ids);
            assert_int_equal(case_run(one), 0);
            assert_int_equal(one->found[0], all->found[i]);
            for (int64_t r = 0; r < one->found[0]; r++) {
                const struct attn_hypothesis *a = &one->out[r];
                const struct attn_hypothesis *b =
                    &all->out[i * all->o.results + r];
                assert_int_equal(a->n, b->n);
                assert_memory_equal(a->tokens, b->tokens,
                                    (size_t)a->n * sizeof(int32_t));
                assert_memory_equal(&a->score, &b->score, sizeof a->score);
            }
            free(one->memory);
        }
        free(all->memory);
    }
    free(all);
    free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_slow),
        cmocka_unit_test(test_fixed_calls),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_against_enumeration),
        cmocka_unit_test(test_divisors),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_batch_is_each_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
