/* bench_test.c: what attnc bench counts and prints. No test asks for a time:
 * only that numbers are there, agree with each other and with the method.    */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../compiler/bench.h"

#include <cmocka.h>              /* after ours: it defines fail() */

static const char g2p[] = "models/g2p-en/g2p-en.yaml";
enum { Rows = 10, Steps = 4 };
static const double d = 128, d_ff = 512, layers = 3, phones = 42, n = Rows;

static void machine_rates(void **state)
{
    (void)state;
    ReadBlock b;
    const double begin = machine_seconds();
    assert_true(machine_fma_rate(0.001) > 1e6);
    assert_true(read_block_make(&b, 1 << 16));
    assert_true(machine_read_rate(&b, 0.001) > 1e6);
    read_block_free(&b);
    assert_null(b.at);
    assert_true(machine_seconds() > begin);
}

/* Runs the bench of a model, with a field or NULL, and returns what it printed
 * (to be freed).                                                            */
static char *bench_text(const char *spec, const char *set, BenchFormat format,
                        int64_t batch)
{
    const EngineOptions with = { .spec = spec, .sets = &set,
                                 .nsets = set != NULL };
    const BenchOptions bench = { .rows = Rows, .steps = Steps,
                                 .batch = batch, .repetitions = 2,
                                 .seconds = 0.01, .format = format };
    Engine e = { 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(engine_open(&e, &with), ExitDone);
    bench_run(&e, &bench, out);
    engine_close(&e);
    fclose(out);
    return text;
}

static json_t *bench_json_with(const char *spec, const char *set,
                               int64_t batch)
{
    json_error_t error;
    char *text = bench_text(spec, set, BenchJson, batch);
    json_t *report = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!report)
        fail_msg("%s in %s", error.text, text);
    free(text);
    return report;
}

static json_t *bench_json(const char *spec, int64_t batch)
{
    return bench_json_with(spec, NULL, batch);
}

static const json_t *row_of(const json_t *report, const char *workload)
{
    const json_t *rows = json_object_get(report, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(json_string_value(json_object_get(row, "workload")),
                   workload) == 0)
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

/* The products' operations alone, in millions; the bench also counts biases,
 * norms and the like, which are a few percent more.                          */
static double encode_mflop(void)
{
    const double layer = 2.0 * n * d * (4 * d + 2 * d_ff)
                         + 4.0 * n * n * d;
    const double cross = 2.0 * n * d * 2 * d;
    return 1e-6 * layers * (layer + cross);
}

static double step_mflop(double past)
{
    const double weights = 4 * d + 2 * d + 2 * d_ff;
    const double layer = 2.0 * d * weights + 4.0 * d * (past + 1)
                         + 4.0 * d * n;
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
    json_t *one = bench_json(g2p, 1);
    assert_counts(one, "encode", encode_mflop());
    assert_counts(one, "step", step_mflop(Steps / 2));
    assert_counts(one, "search", search_mflop());
    json_t *three = bench_json(g2p, 3);
    assert_counts(three, "encode", 3 * encode_mflop());
    assert_counts(three, "step", 3 * step_mflop(Steps / 2));
    json_decref(one);
    json_decref(three);
}

/* One block of d_model 512: four projections, scores and context. */
static void attention_by_hand(void **state)
{
    (void)state;
    json_t *report = bench_json("models/attention.yaml", 1);
    assert_counts(report, "encode",
                  1e-6 * (4 * 2.0 * n * 512 * 512 + 4.0 * n * n * 512));
    json_decref(report);
}

/* Of 10 x 10 scores, those that the mask lets through, to a whole key a row. */
static void masks_by_hand(void **state)
{
    static const struct { const char *set; double keys; } cases[] = {
        { "masking=causal", 6 }, { "masking=[{window: 2}]", 3 },
        { "masking=[causal, {window: 3}]", 3 }, { "masking=[{block: 5}]", 5 },
        { "masking=[causal, {block: 5}]", 3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *report = bench_json_with("models/attention.yaml",
                                         cases[i].set, 1);
        const double got = number(row_of(report, "encode"), "mflop");
        const double want = 1e-6 * (4 * n * 512 * (2 * 512 + cases[i].keys));
        /* and the biases of the four projections, one for each output */
        if (fabs(got - want - 4e-6 * n * 512) > 0.006)
            fail_msg("%s: %f MFLOP, not %f", cases[i].set, got, want);
        json_decref(report);
    }
}

static void rates_agree(void **state)
{
    (void)state;
    json_t *report = bench_json(g2p, 1);
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
    json_t *a = bench_json(g2p, 1), *b = bench_json(g2p, 1);
    assert_int_equal(json_array_size(json_object_get(a, "source")), Rows);
    assert_int_equal(json_array_size(json_object_get(a, "answer")), Steps);
    assert_true(json_equal(json_object_get(a, "answer"),
                           json_object_get(b, "answer")));
    assert_string_equal(
        json_string_value(json_object_get(row_of(a, "step"), "checksum")),
        json_string_value(json_object_get(row_of(b, "step"), "checksum")));
    json_decref(a);
    json_decref(b);
}

static int lines(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void other_formats(void **state)
{
    (void)state;
    static const struct { BenchFormat format; const char *has; int lines; }
        cases[] = {
            { BenchTable, "% of peak", 7 },
            { BenchMarkdown, "\n| search | ", 8 },
            { BenchCsv, "\ng2p-en,step,1,", 4 },
        };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = bench_text(g2p, NULL, cases[i].format, 1);
        assert_non_null(strstr(text, cases[i].has));
        assert_int_equal(lines(text), cases[i].lines);
        free(text);
    }
}

/* Rows of numbers go in; logits, classes, one row of all come out. */
static void encoders_of_all_forms(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "real_input", "class_token", "masked_words", "pool_mean", "classify",
    };
    for (int i = 0; i < 5; i++) {
        char path[64];
        snprintf(path, sizeof path, "tests/golden/%s.yaml", specs[i]);
        json_t *report = bench_json(path, 3);
        assert_int_equal(json_array_size(json_object_get(report, "rows")), 1);
        assert_non_null(row_of(report, "encode"));
        json_decref(report);
    }
    json_t *both = bench_json("tests/cli/real.yaml", 2);
    assert_non_null(row_of(both, "encode"));
    assert_non_null(row_of(both, "step"));
    json_decref(both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_rates),
        cmocka_unit_test(counts_by_hand),
        cmocka_unit_test(attention_by_hand),
        cmocka_unit_test(masks_by_hand),
        cmocka_unit_test(rates_agree),
        cmocka_unit_test(answers_repeat),
        cmocka_unit_test(encoders_of_all_forms),
        cmocka_unit_test(other_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
