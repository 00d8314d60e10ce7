/* run_input_test.c: tests attnc run --input --output: tensors by their names in
 * the graph, and messages about those that do not fit. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

/* Runs `attnc run SPEC --input in --output out`; its exit code. */
static int run_spec(Spawned *s, const char *spec, const char *tap)
{
    return RUN(s, "", attnc(), "run", spec, "--input", in_dir("in"), "--output",
               in_dir("out"), tap ? "--tap" : NULL, tap);
}

static void give(const TensorOut *t, int n)
{
    Fault why;
    assert_true(safetensors_write(in_dir("in"), t, n, &why));
}

static const float rows[12 * 8] = { 1, 0, 0, 0, 0, 0, 0, 2, [9] = 3, [20] = 1 };

static TensorOut tensor(const char *name, int64_t n, int64_t columns)
{
    return (TensorOut){
        .name = name, .rank = 2, .dim = { n, columns }, .data = rows
    };
}

/* Tests that an image equals the same numbers given as rows. */
static void test_image(void **state)
{
    (void)state;
    static float pixels[108];
    float out[2][10 * 16];
    for (int i = 0; i < 108; i++)
        pixels[i] = (float)(i * 7 % 11) - 5;
    for (int k = 0; k < 2; k++) {
        const TensorOut lines = { .name = "source.values",
                                  .rank = 2,
                                  .dim = { 9, 12 },
                                  .data = pixels },
                        image = { .name = "source.values",
                                  .rank = 3,
                                  .dim = { 3, 6, 6 },
                                  .data = pixels };
        Spawned s;
        Fault why;
        give(k ? &image : &lines, 1);
        assert_int_equal(run_spec(&s, "tests/torch/patches.yaml", NULL), 0);
        Safetensors *file = safetensors_open(in_dir("out"), &why);
        assert_non_null(file);
        const Tensor *t = safetensors_find(file, "output");
        assert_int_equal(t->elements, 10 * 16);
        tensor_floats(t, 0, 10 * 16, out[k]);
        safetensors_close(file);
    }
    assert_memory_equal(out[0], out[1], sizeof out[0]);
}

/* Tests one key: softmax is 1, so every query returns the value unchanged. */
static void test_one_key(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    give((TensorOut[]){ tensor("query", 3, 8), tensor("key", 1, 8),
                        tensor("value", 1, 8) },
         3);
    FILE *spec = fopen(in_dir("spec.yaml"), "w");
    fputs("attnc: 1\nname: bare\nkind: attention\nd_model: 8\nh: 2\n"
          "max_len: 16\nprojections: false\n",
          spec);
    fclose(spec);
    assert_int_equal(run_spec(&s, in_dir("spec.yaml"), NULL), 0);
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    assert_int_equal(safetensors_count(out), 1);
    const Tensor *t = safetensors_find(out, "output");
    assert_non_null(t);
    assert_int_equal(t->dim[0], 3);
    float got[3 * 8];
    tensor_floats(t, 0, 3 * 8, got);
    for (int i = 0; i < 3 * 8; i++)
        assert_true(got[i] == rows[i % 8]);
    safetensors_close(out);
}

/* Tests that the weights of a softmax can be written, and sum to 1. */
static void test_tap(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    give((TensorOut[]){ tensor("query", 2, 8), tensor("key", 3, 8),
                        tensor("value", 3, 8) },
         3);
    assert_int_equal(run_spec(&s, "tests/cli/block.yaml", "weights"), 0);
    assert_non_null(strstr(s.tail, "weights is kept"));
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    const Tensor *t = safetensors_find(out, "weights");
    assert_non_null(t);
    assert_int_equal(t->rank, 3);
    float w[2 * 2 * 3];
    assert_int_equal(t->elements, 2 * 2 * 3);
    tensor_floats(t, 0, 2 * 2 * 3, w);
    for (int i = 0; i < 2 * 2; i++)
        assert_true(fabsf(w[3 * i] + w[3 * i + 1] + w[3 * i + 2] - 1) < 1e-6f);
    safetensors_close(out);
}

static TensorOut whole(const char *name, int64_t n, const int32_t *ids)
{
    return (TensorOut){
        .name = name, .rank = 1, .dim = { n }, .data = ids, .is_int = true
    };
}

typedef struct { /* tensors that are refused, and why */
    const char *spec;
    TensorOut t[3];
    const char *says;
} Bad;

static void assert_refused(const Bad *bad)
{
    Spawned s;
    int n = 0;
    while (n < 3 && bad->t[n].name)
        n++;
    give(bad->t, n);
    assert_int_equal(run_spec(&s, bad->spec, NULL), ExitInput);
    if (!strstr(s.tail, bad->says))
        fail_msg("'%s' is not in: %s", bad->says, s.tail);
    assert_int_equal(files(dir), 1); /* no output */
}

static void test_bad_rows(void **state)
{
    (void)state;
    static const char block[] = "tests/cli/block.yaml";
    const Bad bad[] = {
        { block,
          { tensor("query", 1, 8), tensor("key", 1, 8), tensor("v", 1, 8) },
          "tensor 'value' is missing" },
        { block,
          { tensor("query", 1, 7), tensor("key", 1, 8), tensor("value", 1, 8) },
          "shape f32[n, 8] is needed" },
        { block,
          { tensor("query", 1, 8), tensor("key", 2, 8), tensor("value", 1, 8) },
          "'value': as many rows as 'key' has, 2, are needed" },
        { block,
          { tensor("query", 0, 8), tensor("key", 1, 8), tensor("value", 1, 8) },
          "1 to 16 rows are possible, it has 0" },
        { "tests/torch/real_input.yaml",
          { tensor("source.ids", 1, 5) },
          "tensor 'source.values' is missing" },
        { "tests/torch/real_input.yaml",
          { tensor("source.values", 3, 4) },
          "'source.values': shape f32[n, 5] is needed" },
        { "tests/torch/class_token.yaml",
          { tensor("source.values", 12, 5) },
          "1 to 11 rows are possible beside the class token, which max_len "
          "counts, it has 12" },
        { "tests/torch/patches.yaml",
          { { .name = "source.values",
              .rank = 3,
              .dim = { 3, 2, 2 },
              .data = rows } },
          "shape f32[n, 12] is needed" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(&bad[i]);
}

static void test_bad_ids(void **state)
{
    (void)state;
    static const int32_t ids[3] = { 1, 0, 4 }, bad_ids[3] = { 3, 11, -1 };
    static const char pools[] = "tests/torch/pool_mean.yaml",
                      sees_prefix[] = "tests/torch/prefix.yaml";
    const TensorOut source = whole("source.ids", 3, ids),
                    target = whole("target.ids", 3, ids);
    const Bad bad[] = {
        { "tests/cli/small.yaml",
          { whole("source.ids", 3, bad_ids) },
          "element 1 is no id below 11" },
        { "tests/cli/small.yaml",
          { tensor("source.ids", 1, 2) },
          "ids, I32 or I64 of shape [n], are needed" },
        { pools,
          { source, whole("source.types", 3, ids) },
          "'source.types': element 2 is no id below 2" },
        { pools,
          { source, whole("source.types", 2, ids) },
          "'source.types': as many rows as 'source.ids' has, 3, are needed" },
        { sees_prefix,
          { target, whole("prefix", 2, ids) },
          "'prefix': one number of rows is needed" },
        { sees_prefix,
          { target, whole("prefix", 1, bad_ids + 2) },
          "'prefix': element 0 is no id below" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(&bad[i]);
}

/* Tests that tensors that the model does not use are reported and ignored. */
static void test_more_tensors(void **state)
{
    (void)state;
    static const int32_t ids[3] = { 3, 10, 1 };
    Spawned s;
    give((TensorOut[]){ whole("source.ids", 3, ids),
                        whole("source.typos", 3, ids) },
         2);
    assert_int_equal(run_spec(&s, "tests/torch/pool_mean.yaml", NULL), 0);
    assert_non_null(strstr(s.tail, "warning: "));
    assert_non_null(strstr(s.tail, "1 tensor is not among the model's "
                                   "inputs"));
    give((TensorOut[]){ whole("source.ids", 3, ids),
                        whole("source.types", 3, (int32_t[3]){ 0 }) },
         2);
    assert_int_equal(run_spec(&s, "tests/torch/pool_mean.yaml", NULL), 0);
    assert_string_equal(s.tail, "");
}

/* Calls of the lengths that `fix` makes constant alone. */
static void test_fixed(void **state)
{
    (void)state;
    static const char model[] = "attnc: 1\nname: fixed\nkind: encoder\n"
                                "vocab: {size: 11}\nd_model: 8\nh: 2\nN: 1\n"
                                "d_ff: 8\nmax_len: 12\nfix: {source: %d}\n";
    static const int32_t ids[3] = { 1, 0, 4 };
    Spawned s;
    for (int n = 2; n <= 3; n++) {
        FILE *spec = fopen(in_dir("spec.yaml"), "w");
        fprintf(spec, model, n);
        fclose(spec);
        give((TensorOut[]){ whole("source.ids", 3, ids) }, 1);
        assert_int_equal(run_spec(&s, in_dir("spec.yaml"), NULL),
                         n == 3 ? ExitDone : ExitInput);
        assert_true(n == 3
                    || strstr(s.tail, "'source.ids': 2 rows are needed, which "
                                      "`fix` makes constant"));
    }
    assert_int_equal(RUN(&s, "", attnc(), "run", in_dir("spec.yaml"), "--input",
                         in_dir("in"), "--output", in_dir("out"), "--fix",
                         "batch=2"),
                     ExitInput);
    assert_non_null(strstr(s.tail, "it is one sequence, fix.batch makes"));
}

/* Computes logits of the targets, whose first three tokens are a prefix. */
static void logits_of(const char *set, float out[3 * 11])
{
    static const int32_t ids[4] = { 1, 0, 4, 3 };
    Spawned s;
    Fault why;
    give((TensorOut[]){ whole("target.ids", 3, ids),
                        whole("prefix", 1, ids + 3) },
         2);
    assert_int_equal(RUN(&s, "", attnc(), "run", "tests/torch/prefix.yaml",
                         "--input", in_dir("in"), "--output", in_dir("out"),
                         "--set", set),
                     0);
    assert_string_equal(s.tail, "");
    Safetensors *file = safetensors_open(in_dir("out"), &why);
    assert_non_null(file);
    const Tensor *t = safetensors_find(file, "logits");
    assert_int_equal(t->elements, 3 * 11);
    tensor_floats(t, 0, 3 * 11, out);
    safetensors_close(file);
}

/* Tests that a prefix set in a row of `layers` equals one set in the spec. */
static void test_prefix_of_a_layer(void **state)
{
    (void)state;
    float spec[3 * 11], row[3 * 11];
    logits_of("masking=[causal, prefix]", spec);
    logits_of("masking=causal,layers=[{masking: [causal, prefix]}]", row);
    assert_memory_equal(spec, row, sizeof row);
}

static void test_no_such_tap(void **state)
{
    (void)state;
    Spawned s;
    give((TensorOut[]){ tensor("query", 2, 8), tensor("key", 3, 8),
                        tensor("value", 3, 8) },
         3);
    assert_int_equal(run_spec(&s, "tests/cli/block.yaml", "q.weight"),
                     ExitUsage);
    assert_int_equal(files(dir), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_image),       TEST(test_one_key),
        TEST(test_tap),         TEST(test_bad_rows),
        TEST(test_bad_ids),     TEST(test_more_tensors),
        TEST(test_no_such_tap), TEST(test_prefix_of_a_layer),
        TEST(test_fixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
