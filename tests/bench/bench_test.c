/* bench_test.c: tests the counts and the output of attnc bench. No test checks
 * a time, only that numbers are present and consistent with each other and with
 * the method. */
/* limit: 900 s */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_report.h"

#include <cmocka.h> /* after ours: it defines fail() */

static const char g2p[] = "models/g2p-en/g2p-en.yaml";
enum { Rows = 10, Steps = 4 };
static const double d = 128, d_ff = 512, layers = 3, phones = 42, n = Rows;

static const char *lengths = "10"; /* of the sentences: Rows */
static int64_t beam = 1, threads = 1;

/* Runs the bench of a model, with a field or NULL, and returns what it printed
 * (to be freed).                                                            */
static char *bench_text(const char *spec, const char *set, BenchFormat format,
                        int64_t batch)
{
    const EngineOptions with = {
        .spec = spec, .sets = &set, .nsets = set != NULL, .threads = threads
    };
    const BenchOptions bench = { .lengths = lengths,
                                 .steps = Steps,
                                 .batch = batch,
                                 .beam = beam,
                                 .repetitions = 2,
                                 .seconds = 0.01,
                                 .format = format };
    Engine e = { 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(engine_open(&e, &with), ExitDone);
    assert_int_equal(bench_run(&e, &bench, out), ExitDone);
    engine_close(&e);
    fclose(out);
    return text;
}

static json_t *report_with(const char *spec, const char *set, int64_t batch)
{
    json_error_t error;
    char *text = bench_text(spec, set, BenchJson, batch);
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!report)
        fail_msg("%s in %s", error.text, text);
    free(text);
    return report;
}

static json_t *report_of(const char *spec, int64_t batch)
{
    return report_with(spec, NULL, batch);
}

static const json_t *row_of(const json_t *report, const char *workload)
{
    const json_t *rows = json_object_get(report, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "workload")),
                   workload)
            == 0)
            return row;
    }
    fail_msg("no workload %s", workload);
    return NULL;
}

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

/* Returns the MFLOPs of the products only; the bench adds a few percent for
 * biases, norms and others. */
static double encode_mflop(void)
{
    const double layer = 2.0 * n * d * (4 * d + 2 * d_ff) + 4.0 * n * n * d;
    const double cross = 2.0 * n * d * 2 * d;
    return 1e-6 * layers * (layer + cross);
}

static double step_mflop(double past)
{
    const double weights = 4 * d + 2 * d + 2 * d_ff;
    const double layer = 2.0 * d * weights + 4.0 * d * (past + 1) + 4.0 * d * n;
    return 1e-6 * (layers * layer + 2.0 * d * phones);
}

static double search_mflop(void)
{
    double sum = encode_mflop();
    for (int past = 0; past < Steps; past++)
        sum += step_mflop(past);
    return sum;
}

static void assert_counts(const json_t *report, const char *workload,
                          double products)
{
    const double counted = number(row_of(report, workload), "mflop");
    if (!(counted >= products - 0.01 && counted <= products * 1.05))
        fail_msg("%s: %f MFLOP, the products alone are %f", workload, counted,
                 products);
}

static void counts_by_hand(void **state)
{
    (void)state;
    json_t *one = report_of(g2p, 1);
    assert_counts(one, "encode", encode_mflop());
    assert_counts(one, "step", step_mflop(Steps / 2));
    assert_counts(one, "search", search_mflop());
    json_t *three = report_of(g2p, 3);
    assert_counts(three, "encode", 3 * encode_mflop());
    assert_counts(three, "step", 3 * step_mflop(Steps / 2));
    json_decref(one);
    json_decref(three);
}

/* One block of d_model 512: four projections, scores and context. */
static void attention_by_hand(void **state)
{
    (void)state;
    json_t *report = report_of("models/attention.yaml", 1);
    assert_counts(report, "encode",
                  1e-6 * (4 * 2.0 * n * 512 * 512 + 4.0 * n * n * 512));
    json_decref(report);
}

/* Tests the pairs that a mask allows out of 10 x 10, counted by hand. */
static void masks_by_hand(void **state)
{
    static const struct {
        const char *set;
        double keys;
    } cases[] = {
        { "masking=causal", 5.5 },
        { "masking=[{window: 2}]", 2.8 },
        { "masking=[causal, {window: 3}]", 2.7 },
        { "masking=[{block: 5}]", 5 },
        { "masking=[causal, {block: 5}]", 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *report = report_with("models/attention.yaml", cases[i].set, 1);
        const double got = number(row_of(report, "encode"), "mflop");
        const double want = 1e-6 * (4 * n * 512 * (2 * 512 + cases[i].keys));
        /* and the biases of the four projections, one for each output */
        if (fabs(got - want - 4e-6 * n * 512) > 0.006)
            fail_msg("%s: %f MFLOP, not %f", cases[i].set, got, want);
        json_decref(report);
    }
}

/* Tests that a causal encoder's 45 masked pairs of 10 x 10 are not counted. */
static void masked_encoder(void **state)
{
    (void)state;
    json_t *whole = report_of(g2p, 1);
    json_t *masked = report_with(g2p, "masking.encoder=causal", 1);
    const double less = number(row_of(whole, "encode"), "mflop")
                      - number(row_of(masked, "encode"), "mflop");
    assert_true(fabs(less - 1e-6 * layers * 4 * 45 * d) < 0.002);
    json_decref(whole);
    json_decref(masked);
}

/* Tests that matrices take half of their bytes in bf16, biases and norms all.
 */
static void bytes_of_weights(void **state)
{
    (void)state;
    const double linear = d * (4 * d + 2 * d + 2 * d_ff);
    json_t *whole = report_of(g2p, 1);
    json_t *half = report_with(g2p, "dtype=bf16", 1);
    const double encoded = number(row_of(whole, "encode"), "weights_mb");
    const double rounded = number(row_of(half, "encode"), "weights_mb");
    const double matrices = 4e-6 * layers * linear;
    assert_true(encoded > matrices && encoded < 1.02 * matrices);
    assert_true(fabs(encoded - rounded - matrices / 2) < 0.01);
    json_decref(whole);
    json_decref(half);
}

/* Tests the bytes of keys and values in a step: the sources' once for all
 * hypotheses, and each hypothesis' own. */
static void bytes_of_caches(void **state)
{
    (void)state;
    const double position = layers * 2 * d * 4e-6;
    const double past = Steps / 2 + 1;
    beam = 3;
    json_t *report = report_of(g2p, 2);
    const double got = number(row_of(report, "step"), "cache_mb");
    assert_true(fabs(got - 2 * position * (n + 3 * past)) < 0.001);
    assert_true(number(row_of(report, "encode"), "cache_mb") == 0);
    json_decref(report);
    beam = 1;
}

/* Tests that the limits are for the same number of threads. */
static void threads_of_report(void **state)
{
    (void)state;
    threads = 2;
    json_t *report = report_of(g2p, 3);
    assert_int_equal(number(report, "threads"), 2);
    const json_t *rates = json_object_get(json_object_get(report, "machine"),
                                          "rates");
    bool any = false;
    for (size_t i = 0; i < json_array_size(rates); i++)
        any |= number(json_array_get(rates, i), "threads") == 2;
    assert_true(any);
    json_decref(report);
    threads = 1;
}

static void rates_agree(void **state)
{
    (void)state;
    json_t *report = report_of(g2p, 1);
    const json_t *row = row_of(report, "encode");
    const double rate = number(row, "mflop") / number(row, "p50_ms");
    assert_true(fabs(rate - number(row, "gflop_per_s")) <= 0.02 * rate + 0.1);
    assert_true(number(row, "best_ms") <= number(row, "p50_ms"));
    assert_true(number(row, "p50_ms") <= number(row, "p95_ms"));
    assert_int_equal(number(row, "runs"), 2);
    assert_true(number(report, "fma_gflop_per_s") > 0.0);
    json_decref(report);
}

static void answers_repeat(void **state)
{
    (void)state;
    json_t *a = report_of(g2p, 1), *b = report_of(g2p, 1);
    assert_int_equal(json_array_size(json_object_get(a, "source")), Rows);
    assert_int_equal(json_array_size(json_object_get(a, "answer")), Steps);
    assert_true(
        json_equal(json_object_get(a, "answer"), json_object_get(b, "answer")));
    assert_string_equal(
        json_string_value(json_object_get(row_of(a, "step"), "checksum")),
        json_string_value(json_object_get(row_of(b, "step"), "checksum")));
    json_decref(a);
    json_decref(b);
}

/* Tests that kernels' counts add up to their function's and those to the
 * workload's, and that each is called once per layer and block of 48 rows. */
static void kernels_add_up(void **state)
{
    (void)state;
    json_t *report = report_of(g2p, 3);
    const json_t *list = json_object_get(report, "kernels");
    const char *const works[] = { "encode", "step", "search" };
    for (int i = 0; i < 3; i++) {
        double whole = 0.0, parts = 0.0, alone = 0.0;
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *x = json_array_get(list, k);
            if (strcmp(json_string_value(json_object_get(x, "workload")),
                       works[i])
                != 0)
                continue;
            assert_true(number(x, "calls") >= 1);
            assert_true(number(x, "ms") >= 0);
            if (!json_is_null(json_object_get(x, "kernel")))
                parts += number(x, "mflop");
            else
                whole += number(x, "mflop");
            if (json_is_null(json_object_get(x, "kernel"))
                && json_object_get(x, "op"))
                alone += number(x, "mflop");
        }
        const double sum = number(row_of(report, works[i]), "mflop");
        assert_true(sum > 0.1 && parts > 0.1);
        assert_true(fabs(whole - sum) < 0.3);
        assert_true(fabs(alone + parts - sum) < 0.3);
    }
    json_decref(report);
}

/* Tests that each sentence counts by its own length. */
static void ragged_batches(void **state)
{
    (void)state;
    double sum = 0.0;
    lengths = "10,3,7";
    json_t *all = report_of(g2p, 0);
    assert_int_equal(json_array_size(json_object_get(all, "lengths")), 3);
    assert_int_equal(number(row_of(all, "encode"), "rows"), 20);
    for (int i = 0; i < 3; i++) {
        lengths = (const char *[]){ "10", "3", "7" }[i];
        json_t *one = report_of(g2p, 1);
        sum += number(row_of(one, "encode"), "mflop");
        json_decref(one);
    }
    assert_true(fabs(number(row_of(all, "encode"), "mflop") - sum) < 0.03);
    json_decref(all);
    lengths = "10";
}

/* Tests that from the second step on each hypothesis has a row. */
static void beams_by_hand(void **state)
{
    (void)state;
    double products = 2 * (encode_mflop() + step_mflop(0));
    for (int past = 1; past < Steps; past++)
        products += 2 * 3 * step_mflop(past);
    beam = 3;
    json_t *report = report_of(g2p, 2);
    assert_counts(report, "search", products);
    assert_int_equal(number(row_of(report, "step"), "rows"), 6);
    json_decref(report);
    beam = 1;
}

/* Tests that pooling makes one row of a sentence, here for one product, and
 * reads all of its rows once. */
static void pooled_rows(void **state)
{
    (void)state;
    const char *set[] = { "head.pool=mean" };
    const EngineOptions with = { .spec = "tests/torch/classify.yaml",
                                 .sets = set,
                                 .nsets = 1 };
    Engine e = { 0 };
    bool any = false;
    assert_int_equal(engine_plan(&e, &with), ExitDone);
    for (int i = 0; i < e.graph->nodes.n; i++) {
        const Node *at = &e.graph->nodes.at[i];
        const Type t = at->type;
        if (t.rank != 2 || t.dim[0].sym != SymS)
            continue;
        assert_true(node_flops(e.graph, i, 100, 100)
                    == node_flops(e.graph, i, 1, 1)
                           + (at->pool == PoolMean ? 99 * t.dim[1].c : 0));
        any |= node_flops(e.graph, i, 1, 1) > 0;
    }
    assert_true(any);
    engine_close(&e);
}

static void other_formats(void **state)
{
    (void)state;
    static const struct {
        BenchFormat format;
        const char *has;
    } cases[] = {
        { BenchTable, "\nencode by kernel: " },
        { BenchTable, "\n  ffn_w1: linear 128x512  " },
        { BenchTable, "% of peak" },
        { BenchMarkdown, "\n| search | " },
        { BenchMarkdown, "\n| cross_attn_kv: linear 128x256 | 3 | " },
        { BenchCsv, "\ng2p-en,step,1," },
        { BenchCsv, "\ng2p-en,step,decoder_logits_matmul,," },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = bench_text(g2p, NULL, cases[i].format, 1);
        if (!strstr(text, cases[i].has))
            fail_msg("no '%s' in\n%s", cases[i].has, text);
        free(text);
    }
}

/* Tests encoders of numeric rows with logits, classes, or a single row. */
static void encoders_of_all_forms(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "real_input", "class_token", "masked_words", "pool_mean", "classify",
    };
    for (int i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/torch/%s.yaml", specs[i]);
        json_t *report = report_of(path, 3);
        assert_int_equal(json_array_size(json_object_get(report, "rows")), 1);
        assert_non_null(row_of(report, "encode"));
        json_decref(report);
    }
    json_t *both = report_of("tests/cli/real.yaml", 2);
    assert_non_null(row_of(both, "encode"));
    assert_non_null(row_of(both, "step"));
    json_decref(both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_hand),
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(ragged_batches),
        cmocka_unit_test(beams_by_hand),
        cmocka_unit_test(pooled_rows),
        cmocka_unit_test(attention_by_hand),
        cmocka_unit_test(masks_by_hand),
        cmocka_unit_test(masked_encoder),
        cmocka_unit_test(bytes_of_weights),
        cmocka_unit_test(bytes_of_caches),
        cmocka_unit_test(threads_of_report),
        cmocka_unit_test(rates_agree),
        cmocka_unit_test(answers_repeat),
        cmocka_unit_test(encoders_of_all_forms),
        cmocka_unit_test(other_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
