/* loss_test.c: tests the names of a model's matrices, and the dtype of a spec
 * that stores each of them as requested. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "diff/loss.h"

#include <cmocka.h>

static Engine engine;
static Matrices matrices;

static void open_model(const char *const *sets, int n)
{
    const EngineOptions o = {
        .spec = "models/tiny.yaml", .sets = sets, .nsets = n, .seed = 1
    };
    assert_int_equal(engine_plan(&engine, &o), ExitDone);
    matrices = (Matrices){ .arena = engine.arena };
    matrices_of(&matrices, &engine);
}

static int find(const char *key)
{
    for (int i = 0; i < matrices.at.n; i++)
        if (!strcmp(matrices.at.at[i].key, key))
            return i;
    fail_msg("no matrix %s", key);
    return -1;
}

static Dtype stored[64];

static const char *as_yaml(Dtype usual)
{
    return matrices_dtype(&matrices, stored, usual);
}

static void all_are(Dtype d)
{
    assert_in_range(matrices.at.n, 1, 64);
    for (int i = 0; i < 64; i++)
        stored[i] = d;
}

static void test_dtype(void **state)
{
    (void)state;
    open_model(NULL, 0);
    assert_int_equal(matrices.at.n, 33);
    all_are(DtypeBf16);
    assert_string_equal(as_yaml(DtypeBf16), "{default: bf16}");
    stored[find("encoder.0.ffn.w2")] = DtypeF32;
    assert_string_equal(as_yaml(DtypeBf16),
                        "{default: bf16, 'encoder.0.ffn.w2': f32}");
    stored[find("encoder.0.ffn.w1")] = DtypeF32; /* all of that part */
    assert_string_equal(as_yaml(DtypeBf16),
                        "{default: bf16, 'encoder.0.ffn': f32}");
    for (int i = 0; i < matrices.at.n; i++)
        if (!strncmp(matrices.at.at[i].key, "encoder.", 8))
            stored[i] = DtypeF32;
    assert_string_equal(as_yaml(DtypeBf16), "{default: bf16, 'encoder': f32}");
    stored[find("encoder.1.self_attn.q")] = DtypeInt8;
    assert_non_null(strstr(as_yaml(DtypeBf16), "'encoder.0': f32"));
    assert_non_null(strstr(as_yaml(DtypeBf16), "'encoder.1.ffn': f32"));
    assert_non_null(
        strstr(as_yaml(DtypeBf16), "'encoder.1.self_attn.q': int8"));
    engine_close(&engine);
}

/* Tests that a default of int4 stores tables as int8, so that an int4 table has
 * its own key. */
static void test_dtype_of_tables(void **state)
{
    (void)state;
    open_model(NULL, 0);
    all_are(DtypeInt4);
    assert_string_equal(as_yaml(DtypeInt4), "{default: int4, 'target': int4}");
    stored[find("target")] = DtypeInt8;
    assert_string_equal(as_yaml(DtypeInt4), "{default: int4}");
    stored[find("target")] = DtypeF32;
    assert_string_equal(as_yaml(DtypeInt4), "{default: int4, 'target': f32}");
    engine_close(&engine);
}

/* Tests that tensors shared by layers are one matrix, whose key names no layer.
 */
static void test_shared(void **state)
{
    static const char *const sets[] = {
        "kind=encoder", "names={'encoder.{i}.ffn': shared.ffn}"
    };
    (void)state;
    open_model(sets, 2);
    assert_int_equal(matrices.at.n, 1 + 2 * 4 + 2);
    all_are(DtypeBf16);
    stored[find("encoder.{i}.ffn.w1")] = DtypeF32;
    assert_string_equal(as_yaml(DtypeBf16),
                        "{default: bf16, 'encoder.{i}.ffn.w1': f32}");
    engine_close(&engine);
}

static void test_errors(void **state)
{
    static const char *const sets[] = { "dtype=bf16" };
    (void)state;
    assert_true(relative_error(0, 0) == 0);
    assert_true(relative_error(0, 1) == 0);
    assert_true(relative_error(1, 4) == 0.5);
    assert_true(isnan(relative_error((double)NAN, 4)));
    assert_true(fabs(error_decibels(0.1) - 20) < 1e-9);
    open_model(sets, 1);
    matrices_measure(&matrices, &engine);
    const Matrix *m = &matrices.at.at[find("encoder.1.ffn.w1")];
    assert_int_equal(matrix_bytes(m, DtypeF32), 64 * 32 * 4);
    assert_int_equal(matrix_bytes(m, DtypeBf16), 64 * 32 * 2);
    const double error = relative_error(m->lost, m->squares);
    assert_true(error > 0x1p-11 && error < 0x1p-8); /* half of a last bit */
    engine_close(&engine);
}

/* Tests the loss that --keep bounds. */
static void test_share(void **state)
{
    (void)state;
    Loss l = { .kind = LossTokens, .perplexity = { 2, 3 }, .error = 0.25 };
    assert_true(loss_share(&l) == 0.5);
    l.perplexity[1] = (double)NAN;
    assert_true(loss_share(&l) == (double)INFINITY);
    l.kind = LossLabels;
    assert_true(loss_share(&l) == 0.25);
    l.kind = LossRows;
    assert_true(loss_share(&l) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dtype),  cmocka_unit_test(test_dtype_of_tables),
        cmocka_unit_test(test_shared), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
