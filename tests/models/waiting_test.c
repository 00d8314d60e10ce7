/* waiting_test.c: tests attention over many pages. With vectors of 16 floats it
 * pipelines the softmax (emit/attention/waiting.c); it must give the bits of
 * other widths, by libtcc and by a C compiler: with masks, biases and caps, for
 * complete and partial tiles and pages. A key with a large score is in the last
 * page, so that maxima rise. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "backend/backend.h"
#include "runtime/rt.h"
#include <cmocka.h>

#include "support/aot.h"
#include "support/skip.h"

enum { Width = 80, Most = 331 };

static void write_spec(const char *fields)
{
    FILE *spec = fopen(in_dir("spec.yaml"), "w");
    assert_non_null(spec);
    fprintf(spec,
            "attnc: 1\nname: bare\nkind: attention\nd_model: %d\nh: 2\n"
            "max_len: %d\nprojections: false\n%s",
            Width, Most, fields);
    assert_int_equal(fclose(spec), 0);
}

/* Returns the bits of the file of --output. */
static const float *output(int n)
{
    Fault why;
    Safetensors *out = safetensors_open(in_dir("out"), &why);
    assert_non_null(out);
    const Tensor *t = safetensors_find(out, "output");
    assert_non_null(t);
    assert_int_equal(t->elements, Width * n);
    float *all = arena_alloc(a, sizeof *all * (size_t)t->elements);
    tensor_floats(t, 0, t->elements, all);
    safetensors_close(out);
    return all;
}

static void write_input(int n)
{
    static const char *const names[] = { "query", "key", "value" };
    static float rows[3][Width * Most];
    unsigned random = 1;
    TensorOut t[3];
    Fault why;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < Width * n; j++) {
            random = random * 1664525 + 1013904223;
            rows[i][j] = (float)(random >> 8) * 0x1p-23f - 1;
        }
        t[i] = (TensorOut){
            .name = names[i], .rank = 2, .dim = { n, Width }, .data = rows[i]
        };
    }
    for (int j = 0; j < Width; j++)
        rows[1][Width * (n - 1) + j] = 5 * rows[0][j];
    assert_true(safetensors_write(in_dir("in"), t, 3, &why));
}

static void same_bits(const char *fields, int n)
{
    static const char *const ways[][2] = {
        { "--backend", "clang" }, { "--backend", "jit" }, { "--width", "8" },
        { "--width", "4" },       { "--width", "1" },
    };
    const float *first = NULL;
    write_spec(fields);
    write_input(n);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_true(WORKS(attnc(), "run", in_dir("spec.yaml"), "--input",
                          in_dir("in"), "--output", in_dir("out"),
                          "--no-records", ways[i][0], ways[i][1]));
        const float *found = output(n);
        first = first ? first : found;
        assert_memory_equal(found, first, sizeof *first * Width * (size_t)n);
    }
    assert_true(WORKS(attnc(), "verify", in_dir("spec.yaml"), "--rows",
                      arena_printf(a, "%d", n)));
}

static void test_all_keys(void **state)
{
    (void)state;
    static const int n[] = { 64, 69, 128, 173, Most };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++)
        same_bits("", n[i]);
}

static void test_masks(void **state)
{
    (void)state;
    same_bits("masking: causal\n", 128);
    same_bits("masking: causal\n", Most);
    same_bits("masking: [{window: 150}]\n", Most);
    same_bits("masking: [causal, {window: 70}]\n", Most);
    same_bits("masking: [{block: 100}]\n", Most);
}

static void test_scores(void **state)
{
    (void)state;
    same_bits("attention: {softcap: 2}\n", 200);
    same_bits("attention: {softcap: 2}\nmasking: causal\n", Most);
}

/* Compares each op of an encoder with the oracle. */
static void test_biases(void **state)
{
    (void)state;
    static const char *const masking[] = { "none", "causal" };
    for (int i = 0; i < 2; i++) {
        FILE *spec = fopen(in_dir("spec.yaml"), "w");
        assert_non_null(spec);
        fprintf(spec,
                "attnc: 1\nname: biased\nkind: encoder\nd_model: 32\nh: 2\n"
                "d_ff: 16\nN: 1\nmax_len: 200\nvocab: {size: 20}\n"
                "positions: alibi\nmasking: %s\n",
                masking[i]);
        assert_int_equal(fclose(spec), 0);
        assert_true(
            WORKS(attnc(), "verify", in_dir("spec.yaml"), "--rows", "200"));
    }
}

/* Flags that make code for AVX-512 run on machines without it. */
#define SANITIZED_CC                                                          \
    "clang-19", "-w", "-O0", "-march=x86-64-v3", "-D__AVX512F__",             \
        "-D__builtin_cpu_supports(x)=1", "-fsanitize=pointer-overflow",       \
        "-fno-sanitize-recover=all", "-std=c11"

/* Tests that code for AVX-512 does no arithmetic on NULL, for any number of
 * rows, even if none is pending. */
static void test_no_null(void **state)
{
    (void)state;
    static const int n[] = { 1, 6, 13, 64, 70, Most };
    Spawned s;
    if (RUN(&s, "int main(void) { return 0; }", SANITIZED_CC, "-x", "c", "-",
            "-o", in_dir("m"))
            != 0
        || RUN(&s, "", in_dir("m")) != 0)
        SKIP("no clang-19 that makes x86-64-v3 with sanitizers runs here");
    write_spec("");
    assert_true(WORKS(attnc(), "compile", in_dir("spec.yaml"),
                      "--march=x86-64-v4", "-o", in_dir("m.c")));
    assert_true(WORKS(SANITIZED_CC, "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        Buffer rows = { .arena = a };
        for (int j = 0; j < 3 * n[i]; j++) { /* queries, keys, values */
            for (int k = 0; k < Width; k++)
                buffer_printf(&rows, "%d ", (j + k) * 7 % 11 - 5);
            buffer_printf(&rows, (j + 1) % n[i] ? "\n" : "\n\n");
        }
        if (RUN(&s, rows.at, in_dir("m")) != 0)
            fail_msg("%d rows: %s", n[i], s.tail);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all_keys), TEST(test_masks),   TEST(test_scores),
        TEST(test_biases),   TEST(test_no_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
