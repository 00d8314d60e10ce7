/* real_models_test.c: tests the oracle on other projects' trained models,
 * against the numbers published with them or computed by a NumPy reference in
 * double. Skipped if their files, which are not part of the repository, are
 * absent. */
#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/expected.h"
#include "support/oracle_model.h"
#include "support/partials.h"

/* ---- stories260K ---- */

static double log_prob(const double *logits, int64_t n, int64_t token)
{
    double max = logits[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        max = fmax(max, logits[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(logits[i] - max);
    return logits[token] - max - log(sum);
}

static void check_score(OracleModel *m, const json_t *text)
{
    int32_t ids[MostOracleRows];
    int64_t n = json_ids(json_object_get(text, "ids"), ids, MostOracleRows);
    const json_t *want = json_object_get(text, "token_log_probs");
    m->in.ids[EntryDecode] = ids;
    oracle_model_run(m, 0, n);
    const double *logits = oracle_value(m, "logits", n * 512);
    for (int64_t i = 0; i < n - 1; i++) {
        double p = json_real_value(json_array_get(want, (size_t)i));
        double got = log_prob(logits + i * 512, 512, ids[i + 1]);
        if (!(fabs(got - p) <= 2e-6))
            fail_msg("token %d: %.9g, not %.9g", (int)i, got, p);
    }
}

static void stories(bool fused)
{
    const char *expected = data_file("stories260K", "expected.json");
    const char *weights = data_file("stories260K", "model.safetensors");
    json_t *root = json_file(expected);
    const json_t *t = json_object_get(root, "tensors"), *text;
    OracleModel m;
    int32_t ids[MostOracleRows];
    int64_t n = json_ids(json_object_get(t, "input_ids"), ids, 512);
    oracle_model_open(&m, "models/stories260K.yaml", weights, fused);
    m.in.ids[EntryDecode] = ids;
    oracle_model_run(&m, 0, n);
    assert_tensor(json_object_get(t, "logits"),
                  oracle_value(&m, "logits", n * 512) + (n - 1) * 512, 512,
                  2e-6);
    size_t i;
    json_array_foreach(json_object_get(root, "score"), i, text)
        check_score(&m, text);
    oracle_model_close(&m);
    json_decref(root);
}

static void test_stories(void **state)
{
    (void)state;
    stories(false);
}

static void test_stories_fused(void **state)
{
    (void)state;
    stories(true);
}

/* ---- gpt-nano-sort ---- */

static void check_partial(const OracleModel *m, const Tensor *t,
                          const char *node, int run)
{
    int64_t size = t->elements / SortRuns;
    oracle_near(oracle_value(m, node, size), t, run * size, size, 2e-5, node);
}

static void test_sort(void **state)
{
    (void)state;
    Fault why;
    OracleModel m;
    const char *weights = data_file("gpt-nano-sort", "model.safetensors");
    Safetensors *file = safetensors_open(data_file("gpt-nano-sort",
                                                   "partials.safetensors"),
                                         &why);
    assert_non_null(file);
    oracle_model_open(&m, "models/gpt-nano-sort.yaml", weights, false);
    const int32_t *ids =
        (const int32_t *)(const void *)safetensors_find(file, "input_ids")->at;
    for (int run = 0; run < SortRuns; run++) {
        m.in.ids[EntryDecode] = ids + run * SortRows;
        oracle_model_run(&m, 0, SortRows);
        for (int i = 0; i < Partials; i++)
            check_partial(&m, safetensors_find(file, partials[i].tensor),
                          partials[i].node, run);
    }
    oracle_model_close(&m);
    safetensors_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_stories_fused),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
