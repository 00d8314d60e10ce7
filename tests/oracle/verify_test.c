/* verify_test.c: tests that `attnc verify` can fail. A correct run passes; one
 * wrong value, in the result or inside the model, or a NaN fails. */
#include "oracle/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct { /* a small model, run once with all values kept */
    Engine e;
    Weights fused, unfused;
    Trial t;
    const Sample *x;
    float *out;
} Run;

static Run run;

static bool run_model(const char *spec, const char *const *sets, int nsets,
                      const int64_t *source, const int64_t *target)
{
    EngineOptions o = { .spec = spec,
                        .sets = sets,
                        .nsets = nsets,
                        .seed = 1,
                        .backend = "jit",
                        .keep_all = true };
    run = (Run){ .x = NULL };
    if (engine_open(&run.e, &o))
        return false;
    weights_open(&run.fused, &run.e, run.e.graph);
    weights_open(&run.unfused, &run.e, run.e.unfused);
    run.x = sample_random(run.e.arena, run.e.spec, 1, 2, source, target);
    run.out = arena_alloc(run.e.arena,
                          sizeof(float)
                              * (size_t)(result_rows(run.e.spec, run.x)
                                         * result_columns(run.e.spec)));
    trial_run(&run.t, &run.e, run.x, 0, run.out);
    return true;
}

static int set_up(void **state)
{
    (void)state;
    static const int64_t source[] = { 9, 3 }, target[] = { 5, 7 };
    return run_model("models/tiny.yaml", NULL, 0, source, target) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    trial_free(&run.t);
    weights_close(&run.fused);
    weights_close(&run.unfused);
    engine_close(&run.e);
    return 0;
}

/* Replaces the model of set_up by another one. */
static void run_other(const char *spec, const char *const *sets, int nsets)
{
    static const int64_t rows[] = { 4, 1 };
    tear_down(NULL);
    assert_true(run_model(spec, sets, nsets, rows, rows));
}

/* Counts the ops that did not pass. */
static int ops_failed(void)
{
    OpResults r = { 0 };
    int failed = 0, compared = 0;
    for (int64_t i = 0; i < run.x->sequences; i++)
        verify_ops(&r, &run.fused, &run.t, i, run.out);
    for (int op = 0; op < OpCount; op++)
        if (r.op[op].c.count > 0) {
            failed += !compare_passed(&r.op[op].c);
            compared++;
        }
    assert_true(compared >= 3);
    return failed;
}

static ModelComparison result(void)
{
    ModelResults r = { 0 };
    for (int64_t i = 0; i < run.x->sequences; i++)
        verify_result(&r, &run.unfused, run.x, i, run.out, NULL);
    return verify_end(&r, &run.unfused);
}

static bool result_passed(void)
{
    return result().passed;
}

/* Returns the address of a node's first value in its entry's arena. */
static float *value_at(const char *name)
{
    const Plan *p = run.e.plan;
    int node = graph_find(p->g, name);
    assert_true(node >= 0);
    const Value *v = &p->value[node];
    assert_int_equal(v->place, PlaceArena);
    Entry entry = p->g->nodes.at[node].entry;
    int64_t rows = run.x->start[entry == EntryDecode][2];
    return (float *)run.t.work[entry]
         + affine_at(p->slot.at[v->slot].at, rows, 2, 1);
}

static void test_right(void **state)
{
    (void)state;
    assert_int_equal(ops_failed(), 0);
    assert_true(result_passed());
}

static void test_wrong_result(void **state)
{
    (void)state;
    run.out[100] += 1e-3F;
    assert_int_equal(ops_failed(), 1);
    assert_false(result_passed());
}

static void test_nan_result(void **state)
{
    (void)state;
    run.out[0] = NAN;
    assert_int_equal(ops_failed(), 1);
    assert_false(result_passed());
}

/* Tests that a wrong value is reported for its node and those that read it. */
static void test_wrong_value(void **state)
{
    (void)state;
    value_at("encoder.0.norm1")[3] += 1e-3F;
    assert_true(ops_failed() >= 1);
}

static void test_wrong_attention(void **state)
{
    (void)state;
    value_at("decoder.1.cross_attn.concat")[0] *= 1.001F;
    assert_true(ops_failed() >= 1);
}

static void test_nan_value(void **state)
{
    (void)state;
    value_at("decoder.0.ffn.relu")[7] = NAN;
    assert_true(ops_failed() >= 1);
}

/* Tests that keys of the prefix count, however few queries there are. */
static void test_attention_prefix(void **state)
{
    (void)state;
    static const int64_t queries[] = { 1, 9 }, keys[] = { 7, 3 };
    static const char *const sets[] = { "masking=[causal, prefix]" };
    EngineOptions o = { .spec = "models/attention.yaml",
                        .seed = 1,
                        .backend = "jit",
                        .sets = sets,
                        .nsets = 1 };
    Engine e;
    Trial t = { 0 };
    Weights w;
    ModelResults results = { 0 };
    assert_int_equal(engine_open(&e, &o), ExitDone);
    Sample *x = sample_random(e.arena, e.spec, 1, 2, queries, keys);
    x->prefix = 4;
    float *out = arena_alloc(e.arena, 10 * 512 * sizeof *out);
    trial_run(&t, &e, x, 0, out);
    weights_open(&w, &e, e.unfused);
    for (int i = 0; i < 2; i++)
        verify_result(&results, &w, x, i, out, NULL);
    assert_true(verify_end(&results, &w).passed);
    trial_free(&t);
    weights_close(&w);
    engine_close(&e);
}

/* Checks that the result passes, and that a wrong value or a NaN anywhere
 * fails. */
static void check_result(void)
{
    const int64_t n = result_rows(run.e.spec, run.x)
                    * result_columns(run.e.spec);
    assert_int_equal(ops_failed(), 0);
    assert_true(result_passed());
    for (int64_t i = 0; i < n; i++) {
        const float right = run.out[i];
        run.out[i] = right == 0 ? 1e-9F : right * 1.001F;
        assert_true(result().failed);
        run.out[i] = NAN;
        assert_true(result().failed);
        run.out[i] = right;
    }
    run.out[n - 1] = NAN;
    assert_int_equal(ops_failed(), 1);
}

/* Tests that a single number has no deviation, nor have equal ones. */
static void test_sizes_of_one(void **state)
{
    (void)state;
    static const char *const sets[] = { "kind=encoder-decoder", "kind=encoder",
                                        "kind=decoder", "kind=attention" };
    for (int i = 0; i < 4; i++) {
        run_other("tests/cli/one.yaml", &sets[i], 1);
        check_result();
    }
}

/* Tests a model with one number per sequence, which must vary over sequences.
 */
static void test_one_class(void **state)
{
    (void)state;
    static const char *const sets[] = { "kind=encoder", "head=classify",
                                        "head.classes=1" };
    run_other("models/tiny.yaml", sets, 3);
    assert_int_equal(result_rows(run.e.spec, run.x), 2);
    check_result();
}

/* Tests that zeros are correct if a mask hides all keys. */
static void test_blind(void **state)
{
    (void)state;
    static const char *const sets[] = { "bias=false" };
    run_other("tests/cli/blind.yaml", sets, 1);
    assert_true(run.out[0] == 0);
    check_result();
}

/* Tests a model whose results are always zero: it neither passes nor fails. */
static void test_only_zeros(void **state)
{
    (void)state;
    static const char *const sets[] = { "kind=encoder", "norm.bias=false" };
    run_other("tests/cli/one.yaml", sets, 2);
    assert_true(ops_failed() > 0);
    assert_false(result_passed());
    assert_false(result().failed);
}

/* Tests that most queries of a sample see a key, even if a mask reaches only
 * nearby keys. */
static void test_attention_sample(void **state)
{
    (void)state;
    static const int64_t queries[] = { 65, 2 }, keys[] = { 3, 9 };
    Arena *a = arena_new();
    Spec s = { .kind = KindAttention,
               .d_model = 4,
               .side = { { .max_len = 70 }, { .max_len = 70 } } };
    Sample *x = sample_random(a, &s, 1, 2, queries, keys);
    assert_int_equal(x->start[0][1], 65);
    s.side[SideEncoder].mask.window = 2;
    x = sample_random(a, &s, 1, 2, queries, keys);
    assert_int_equal(x->start[0][1], 6);
    assert_int_equal(x->start[0][2], 8);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_wrong_result),
        cmocka_unit_test(test_nan_result),
        cmocka_unit_test(test_wrong_value),
        cmocka_unit_test(test_wrong_attention),
        cmocka_unit_test(test_nan_value),
        cmocka_unit_test(test_attention_prefix),
        cmocka_unit_test(test_attention_sample),
        cmocka_unit_test(test_sizes_of_one),
        cmocka_unit_test(test_one_class),
        cmocka_unit_test(test_blind),
        cmocka_unit_test(test_only_zeros),
    };
    struct CMUnitTest fresh[sizeof tests / sizeof *tests];
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        fresh[i] = tests[i];
        fresh[i].setup_func = set_up;
        fresh[i].teardown_func = tear_down;
    }
    return cmocka_run_group_tests(fresh, NULL, NULL);
}
