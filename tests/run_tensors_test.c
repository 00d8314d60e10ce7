/* run_tensors_test: attnc run --input --output: numbers by graph name, and
 * what is said about those that do not fit.                                 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "../compiler/backend.h"

#include <cmocka.h>

#include "fake_programs.h"

/* Runs `attnc run SPEC --input in --output out`; its exit code. */
static int run(Spawned *s, const char *spec, const char *tap)
{
    const char *program = getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
    const char *argv[] = { find_program(a, program), "run", spec, "--input",
                           in_dir("in"), "--output", in_dir("out"),
                           tap ? "--tap" : NULL, tap, NULL };
    Fault why;
    assert_non_null(argv[0]);
    if (spawn(s, argv, "", 0, 60, &why))
        return 0;
    const char *code = strstr(why.text, "exit code ");
    assert_non_null(code);
    return atoi(code + strlen("exit code "));
}

static void give(const TensorOut *t, int n)
{
    Fault why;
    assert_true(safetensors_write(in_dir("in"), t, n, &why));
}

static const float rows[3 * 8] = { 1, 0, 0, 0, 0, 0, 0, 2, [9] = 3, [20] = 1 };

static TensorOut tensor(const char *name, int64_t n, int64_t columns)
{
    return (TensorOut){ .name = name, .rank = 2, .dim = { n, columns },
                        .data = rows };
}

/* One key: the softmax is 1, so every query gets the value as it is. */
static void test_one_key(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    give((TensorOut[]){ tensor("query", 3, 8), tensor("key", 1, 8),
                        tensor("value", 1, 8) }, 3);
    FILE *spec = fopen(in_dir("spec.yaml"), "w");
    fputs("attnc: 1\nname: bare\nkind: attention\nd_model: 8\nh: 2\n"
          "max_len: 16\nprojections: false\n", spec);
    fclose(spec);
    assert_int_equal(run(&s, in_dir("spec.yaml"), NULL), 0);
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

/* The weights of a softmax can be seen, and sum to 1. */
static void test_tap(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    give((TensorOut[]){ tensor("query", 2, 8), tensor("key", 3, 8),
                        tensor("value", 3, 8) }, 3);
    assert_int_equal(run(&s, "tests/cli/block.yaml", "weights"), 0);
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

static void test_bad_tensors(void **state)
{
    (void)state;
    static const int32_t ids[3] = { 3, 11, -1 };
    TensorOut id = { .name = "source.ids", .rank = 1, .dim = { 3 },
                     .data = ids, .is_int = true };
    const struct { const char *spec; TensorOut t[3]; const char *says; }
    bad[] = {
        { "tests/cli/block.yaml",
          { tensor("query", 1, 8), tensor("key", 1, 8), tensor("v", 1, 8) },
          "tensor 'value' is missing" },
        { "tests/cli/block.yaml",
          { tensor("query", 1, 7), tensor("key", 1, 8),
            tensor("value", 1, 8) }, "shape f32[n, 8] is needed" },
        { "tests/cli/block.yaml",
          { tensor("query", 1, 8), tensor("key", 2, 8),
            tensor("value", 1, 8) }, "as many values as keys" },
        { "tests/cli/block.yaml",
          { tensor("query", 0, 8), tensor("key", 1, 8),
            tensor("value", 1, 8) }, "1 to 16 are possible" },
        { "tests/cli/small.yaml",
          { id, tensor("b", 1, 1), tensor("c", 1, 1) },
          "element 1 is no id below 11" },
        { "tests/cli/small.yaml",
          { tensor("source.ids", 1, 2), tensor("b", 1, 1),
            tensor("c", 1, 1) }, "I32 or I64 of shape [n]" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Spawned s;
        give(bad[i].t, 3);
        assert_int_equal(run(&s, bad[i].spec, NULL), ExitInput);
        assert_non_null(strstr(s.tail, bad[i].says));
        assert_int_equal(files(dir), 1);         /* no output */
    }
}

static void test_no_such_tap(void **state)
{
    (void)state;
    Spawned s;
    give((TensorOut[]){ tensor("query", 2, 8), tensor("key", 3, 8),
                        tensor("value", 3, 8) }, 3);
    assert_int_equal(run(&s, "tests/cli/block.yaml", "q.weight"), ExitUsage);
    assert_int_equal(files(dir), 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_one_key), TEST(test_tap), TEST(test_bad_tensors),
        TEST(test_no_such_tap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
