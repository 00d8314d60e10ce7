/* no_key_test.c: tests that rows whose mask allows no key get zeros from
 * attention: fused and unfused, by the JIT, by clang, without vectors, and by
 * the oracle. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

enum { Width = 8, Most = 130 };

/* Row i sees no key if i is a multiple of 3, else the first and the last. 130
 * keys are three pages; no row sees a key of the middle one. */
static void write_spec(int n)
{
    FILE *mask = fopen(in_dir("mask.txt"), "w");
    FILE *spec = fopen(in_dir("spec.yaml"), "w");
    assert_true(mask && spec);
    for (int i = 0; i < n; i++)
        for (int key = 0; key < n; key++)
            fprintf(mask, "%d%s", i % 3 && (key == 0 || key == n - 1),
                    key == n - 1 ? "\n" : "");
    fprintf(spec,
            "attnc: 1\nname: bare\nkind: attention\nd_model: %d\nh: 2\n"
            "max_len: %d\nprojections: false\nmasking: [{file: mask.txt}]\n",
            Width, n);
    assert_int_equal(fclose(mask), 0);
    assert_int_equal(fclose(spec), 0);
}

/* Sets all values to one, so that every sum of weights is visible. */
static void write_ones(int n)
{
    static const char *const names[] = { "query", "key", "value" };
    static float ones[Width * Most];
    TensorOut t[3];
    Fault why;
    for (int i = 0; i < Width * Most; i++)
        ones[i] = 1;
    for (int i = 0; i < 3; i++)
        t[i] = (TensorOut){
            .name = names[i], .rank = 2, .dim = { n, Width }, .data = ones
        };
    assert_true(safetensors_write(in_dir("in"), t, 3, &why));
}

static void expect_rows(int n)
{
    Fault why;
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    const Tensor *t = safetensors_find(out, "output");
    assert_non_null(t);
    assert_int_equal(t->elements, Width * n);
    for (int i = 0; i < Width * n; i++) {
        float got;
        tensor_floats(t, i, 1, &got);
        if (i / Width % 3 == 0)
            assert_true(got == 0);
        else
            assert_true(fabsf(got - 1) < 1e-6f);
    }
    safetensors_close(out);
}

static void zeros_for(int n)
{
    static const char *const ways[][2] = {
        { "--backend", "jit" },
        { "--backend", "clang" },
        { "--skip", "all" },
        { "--march", "generic" },
    };
    write_spec(n);
    write_ones(n);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_true(WORKS(attnc(), "run", in_dir("spec.yaml"), "--input",
                          in_dir("in"), "--output", in_dir("out"), ways[i][0],
                          ways[i][1]));
        expect_rows(n);
    }
    /* every op compared with the oracle, in each way */
    assert_true(WORKS(attnc(), "verify", in_dir("spec.yaml"), "--rows",
                      arena_printf(a, "%d", n)));
}

static void test_one_page(void **state)
{
    (void)state;
    zeros_for(5);
}

static void test_pages(void **state)
{
    (void)state;
    zeros_for(Most);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = { TEST(test_one_page), TEST(test_pages) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
