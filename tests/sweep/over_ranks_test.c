/* over_ranks_test.c: tests what one model costs over N ranks: the gathers and
 * bytes of a layer, the times of calls and the break-evens, on a machine that
 * is made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include "sweep/sweep_parts.h"
#include "sweep/over_ranks.h"

#include <cmocka.h>
#undef fail /* base.h has another one */

/* 100 GFLOP/s, 10 GB/s of memory, no caches. */
static const Machine machine = {
    .cores = 1,
    .rates = { { .threads = 1, .fma = 1e11, .read = { 0, 0, 0, 1e10 } } },
    .counts = 1,
};

/* Products and attention take their seconds at these rates, all else none. */
static double coefficients[Loads];

static Engine engine;

static void plan_of(const char *spec)
{
    const EngineOptions o = { .spec = spec, .seed = 1 };
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    for (int i = 0; i < LoadNorm; i++)
        coefficients[i] = 1;
}

static RankReport report(int64_t ranks, double latency, double rate)
{
    static Link link;
    link = (Link){ ranks, 1, latency, rate };
    return ranks_report(engine.plan, &machine, coefficients, &link);
}

static void near(double x, double y)
{
    if (fabs(x - y) > 1e-9 * fabs(y))
        print_error("%.12g, not %.12g\n", x, y);
    assert_true(fabs(x - y) <= 1e-9 * fabs(y));
}

/* Checks the i-th step that the ranks divide. */
static void check_step(const RankReport *r, int i, const char *name,
                       RankHow how, int64_t times, int64_t columns,
                       double bytes)
{
    assert_true(i < r->step.n);
    const RankStep *s = &r->step.at[i];
    assert_string_equal(s->name, name);
    assert_int_equal(s->how, how);
    assert_int_equal(s->times, times);
    assert_int_equal(s->columns, columns);
    near(s->bytes, bytes);
}

/* d_model 512, d_ff 2048: heads, o, w1 and w2; a decoder layer has heads of its
 * source and o too. Queries, keys and values are not gathered. */
static void test_layers(void **state)
{
    (void)state;
    plan_of("models/transformer-base.yaml");
    for (int64_t n = 2; n <= 5; n++) {
        const RankReport r = report(n, 1e-5, 1e9);
        const double others = (double)(n - 1) / (double)n;
        const double rounds = n > 4 ? 3 : n > 2 ? 2 : 1;
        const RankWork *encoder = &r.layer[StackEncoder],
                       *cross = &r.layer[StackCross],
                       *decoder = &r.layer[StackDecoder];
        assert_int_equal(encoder->layers, 6);
        near(encoder->gathers, 4);
        near(encoder->messages, 4 * rounds);
        near(encoder->bytes, 4 * others * (512 + 512 + 2048 + 512));
        assert_int_equal(cross->layers, 0);
        near(decoder->gathers, 6);
        near(decoder->bytes, 4 * others * (4 * 512 + 2048 + 512));
        assert_int_equal(r.step.n, 15);
        check_step(&r, 0, "encoder_self_attn_qkv", RankOwn, 6, 3 * 512, 0);
        check_step(&r, 3, "encoder_ffn_w1", RankGather, 6, 2048,
                   4 * others * 2048);
        check_step(&r, 5, "cross_attn_kv", RankOwn, 6, 2 * 512, 0);
        check_step(&r, 14, "decoder_logits_matmul", RankGather, 1, 37000,
                   4 * others * 37000);
    }
    engine_close(&engine);
}

/* With integer arithmetic: the maximum of the heads and the sums of o, the
 * maximum of w1's columns and the sums of w2. */
static void test_sums(void **state)
{
    static const char *const sets[] = { "dtype=int8", "arithmetic=int15" };
    const EngineOptions o = {
        .spec = "models/llama-1b.yaml", .seed = 1, .sets = sets, .nsets = 2
    };
    (void)state;
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    const RankReport r = report(4, 1e-5, 1e9);
    const RankWork *decoder = &r.layer[StackDecoder];
    near(decoder->gathers, 4);
    near(decoder->messages, 2 * (1 + 2 + 1 + 2));
    near(decoder->bytes, 2 * 0.75 * 4 * 2 * 2 * (double)engine.spec->d_model);
    assert_int_equal(r.step.n, 8);
    check_step(&r, 1, "decoder_self_attn", RankOwn, 16, 2048, 0);
    check_step(&r, 2, "decoder_self_attn_residual_rows", RankMax, 16, 1, 0);
    check_step(&r, 3, "decoder_self_attn_o", RankSumInt, 16, 2048,
               2 * 0.75 * 4 * 2 * 2048);
    engine_close(&engine);
}

/* With fix.sum_ranks: the sums of o and w2. */
static void test_float_sums(void **state)
{
    static const char *const sets[] = { "fix.sum_ranks=true" };
    const EngineOptions o = {
        .spec = "models/llama-1b.yaml", .seed = 1, .sets = sets, .nsets = 1
    };
    (void)state;
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    const RankReport r = report(4, 1e-5, 1e9);
    const RankWork *decoder = &r.layer[StackDecoder];
    near(decoder->gathers, 2);
    near(decoder->messages, 2 * 2 * 2);
    near(decoder->bytes, 2 * 0.75 * 4 * 2 * (double)engine.spec->d_model);
    assert_int_equal(r.step.n, 6);
    check_step(&r, 2, "decoder_self_attn_o", RankSumFloat, 16, 2048,
               2 * 0.75 * 4 * 2048);
    engine_close(&engine);
}

static void test_calls(void **state)
{
    (void)state;
    plan_of("models/transformer-base.yaml");
    const RankReport r = report(4, 1e-5, 1e9);
    assert_int_equal(r.works, RankWorks);
    for (int i = 0; i < r.works; i++) {
        const RankWork *w = &r.work[i];
        near(w->link, 1e-5 * w->messages + 1e-9 * w->bytes);
        near(w->compute, w->one / 4); /* no other work has a coefficient */
        assert_true(w->gathers == 37 || w->gathers == 24);
    }
    /* the step: 6 decoder layers and the logits, of which one row is 37,000 */
    near(r.work[0].gathers, 6 * 6 + 1);
    near(r.work[0].bytes, 6 * r.layer[StackDecoder].bytes
                              + 4 * 0.75 * (double)engine.spec->target.size);
    near(r.work[1].bytes,
         512 * 6 * (r.layer[StackEncoder].bytes + r.layer[StackCross].bytes));
    near(r.work[2].bytes, 32 * r.work[0].bytes);
    near(r.work[2].messages, r.work[0].messages);
    engine_close(&engine);
}

/* Ranks of one thread share a machine of two cores, whose memory is not twice
 * as fast for both; a third rank has a machine of its own. Products of bf16
 * pairs are divided too. */
static void test_shared_machine(void **state)
{
    static const Machine two = {
        .cores = 2,
        .rates = { { 1, 1e11, 0, 2e11, { 0, 0, 0, 1e10 } },
                   { 2, 2e11, 0, 4e11, { 0, 0, 0, 1.2e10 } } },
        .counts = 2,
    };
    static const char *const sets[] = { "dtype=bf16", "arithmetic=bf16_dp" };
    const EngineOptions o = {
        .spec = "models/llama-110m.yaml", .seed = 1, .sets = sets, .nsets = 2
    };
    (void)state;
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    for (int64_t n = 2; n <= 3; n++) {
        const Link link = { n, 1, 1e-6, 1e10 };
        const RankReport r = ranks_report(engine.plan, &two, coefficients,
                                          &link);
        assert_int_equal(r.rates.threads, 1); /* with an L2 of its own */
        near(r.rates.fma, 1e11);
        near(r.rates.pair, 2e11);
        near(r.rates.read[LevelMemory], 6e9);
        /* little of a prefill waits for memory */
        assert_true(fabs(r.work[1].compute * (double)n / r.work[1].one - 1)
                    < 0.02);
        near(r.work[0].compute * 6e9, r.work[0].one * 1e10 / (double)n);
    }
    engine_close(&engine);
}

/* Each rank makes results of complete sums: it reads the sums and the residual
 * for o and w2 of each layer; what it writes, which is less, takes no time. */
static void test_finish(void **state)
{
    (void)state;
    plan_of("models/llama-110m.yaml");
    const double gathers = report(2, 1e-5, 1e9).work[1].compute;
    engine_close(&engine);
    static const char *const sets[] = { "fix.sum_ranks=true" };
    const EngineOptions o = {
        .spec = "models/llama-110m.yaml", .seed = 1, .sets = sets, .nsets = 1
    };
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    near(report(2, 1e-5, 1e9).work[1].compute, gathers);
    coefficients[LoadMove] = 1;
    const double moved = report(2, 1e-5, 1e9).work[1].compute;
    engine_close(&engine);
    plan_of("models/llama-110m.yaml");
    near((moved - report(2, 1e-5, 1e9).work[1].compute) * 1e10,
         12 * 2 * 2 * 512.0 * 4 * (double)engine.spec->d_model);
    coefficients[LoadMove] = 0;
    engine_close(&engine);
}

/* A slow link never pays; a fast one does for any number. With rising latency,
 * the least number rises. At a low rate, it pays for few sequences alone: their
 * weights are read once, and each has its gathers. */
static void test_break_even(void **state)
{
    (void)state;
    plan_of("models/transformer-base.yaml");
    RankReport r = report(2, 10, 1e3);
    assert_true(r.rows.from > r.rows.to && r.batch.from > r.batch.to);
    r = report(2, 1e-12, 1e15);
    assert_true(r.rows.from == 1 && r.rows.to == r.rows.most);
    assert_true(r.batch.from == 1 && r.batch.to == r.batch.most);
    int64_t before = 1;
    for (double latency = 1e-5; latency < 1e-2; latency *= 2) {
        r = report(2, latency, 1e10);
        assert_true(r.rows.from >= before);
        before = r.rows.from;
    }
    assert_true(before > 1);
    r = report(2, 1e-6, 1e8);
    assert_true(r.batch.from == 1 && r.batch.to > 1
                && r.batch.to < r.batch.most);
    engine_close(&engine);
}

/* A model without steps, and one without a vocabulary. */
static void test_kinds(void **state)
{
    (void)state;
    static const char *const specs[] = { "models/attention.yaml",
                                         "models/tiny.yaml",
                                         "models/gpt-nano-sort.yaml" };
    for (int i = 0; i < 3; i++) {
        plan_of(specs[i]);
        const RankReport r = report(3, 1e-6, 1e9);
        assert_int_equal(r.batch.most == 0, i == 0);
        for (int k = 0; k < r.works; k++)
            assert_true(r.work[k].one > 0 && r.work[k].link > 0);
        engine_close(&engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),         cmocka_unit_test(test_sums),
        cmocka_unit_test(test_float_sums),     cmocka_unit_test(test_calls),
        cmocka_unit_test(test_shared_machine), cmocka_unit_test(test_finish),
        cmocka_unit_test(test_break_even),     cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
