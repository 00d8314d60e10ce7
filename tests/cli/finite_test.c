/* finite_test.c: tests that weights with a NaN are rejected. If weights of any
 * kind of model are too large, a text has no answer and numbers are printed as
 * they are, both with a message: from attnc, from the program of an emitted
 * file, and from generate(). */
/* limit: 300 s */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

static const char *kind; /* of models/tiny.yaml */

/* Writes weights that are all `value`; with `nan`, an element of an encoder's
 * ffn.w1 is NaN instead.                                                    */
static void write_weights_of(float value, bool nan)
{
    Fault why;
    Engine e = { 0 };
    const char *set = arena_printf(a, "kind=%s", kind);
    EngineOptions o = { .spec = "models/tiny.yaml", .sets = &set, .nsets = 1 };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const PackList *p = &e.plan->pack;
    TensorOut *t = arena_alloc(a, (size_t)p->count * sizeof *t);
    int n = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *it = &p->item[i];
        int64_t elements = it->rows * it->k;
        if (it->table || it->alias)
            continue;
        float *x = arena_alloc(a, (size_t)elements * sizeof *x);
        for (int64_t j = 0; j < elements; j++)
            x[j] = value;
        if (nan && strcmp(it->from.name, "encoder.0.ffn.w1.weight") == 0)
            x[it->k + 2] = NAN;
        t[n++] = (TensorOut){ .name = it->from.name,
                              .rank = 2,
                              .dim = { it->rows, it->k },
                              .data = x };
        if (it->layout == PackVector) {
            t[n - 1].rank = 1;
            t[n - 1].dim[0] = it->k;
        }
    }
    assert_true(n > 10);
    assert_true(safetensors_write(in_dir("large"), t, n, &why));
    engine_close(&e);
}

/* Writes weights as large as a float can be. */
static void write_weights(void)
{
    write_weights_of(FLT_MAX, false);
}

/* Runs a shell line: $A is attnc, $S the model, $M $W the program. */
static int sh(Spawned *s, const char *input, const char *line)
{
    return RUN(s, input, "/bin/sh", "-c",
               arena_printf(a,
                            "D=%s A=%s M=%s W=%s; S=\"models/tiny.yaml "
                            "--set kind=%s --weights=$D/large\"; %s",
                            dir, attnc(), in_dir("m"), in_dir("m.weights"),
                            kind, line));
}

static void assert_says(const char *input, const char *line, int code,
                        const char *out, const char *says)
{
    Spawned s;
    int found = sh(&s, input, line);
    if (found != code || (out && strcmp(s.out, out)) || !strstr(s.tail, says))
        fail_msg("%s: %s: %d %s%s", kind, line, found, s.out, s.tail);
}

static void build(const char *of)
{
    Spawned s;
    kind = of;
    write_weights();
    if (sh(&s, "", "$A compile $S --march=native -o $D/m.c") != 0)
        fail_msg("%s", s.tail);
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
}

/* ---- text ---- */
#define WRONG "the model's results are not finite: check the weights\n"

static void check_text(const char *of)
{
    static const char lines[] = "3 4\n48\n5\n";
    build(of);
    assert_says(lines, "$A run $S --ids", 3, "\n\n\n",
                "<stdin>:1: error: " WRONG "<stdin>:3: error: " WRONG);
    assert_says(lines, "$A run $S --ids --beam=1 --scores", 3, "\n\n\n",
                "<stdin>:3: error: " WRONG);
    assert_says(lines, "$A run $S --ids --beam=4 --nbest=2", 3, "",
                "<stdin>:3: error: " WRONG);
    assert_says(lines, "$A run $S --ids --temperature=1", 3, "\n\n\n",
                "<stdin>:3: error: " WRONG);
    assert_says("", "$A run $S --ids --prompt='3 4'", 3, "\n",
                "attnc: error: --prompt: " WRONG);
    assert_says("3 4\n", "$A run $S --ids --attention=$D/a.json", 3, "",
                "attnc: error: --attention: " WRONG);
    assert_says("3\t4 5\n", "$A score $S --ids", 3, "\n",
                "<stdin>:1: error: " WRONG);
    assert_says(lines, "$M $W", 3, "\n\n\n",
                "<stdin>:1: error: " WRONG "<stdin>:3: error: " WRONG);
    assert_says("", "$M $W --prompt '3 4'", 3, "\n",
                "m: error: --prompt: " WRONG);
}

static void test_text(void **state)
{
    (void)state;
    check_text("encoder-decoder");
    check_text("decoder");
}

/* Returns the header's name for it. */
static void test_generate(void **state)
{
    (void)state;
    static const char driver[] =
        "#include <stdio.h>\n"
        "#include \"m.h\"\n"
        "int main(void)\n"
        "{\n"
        "    static double bound[1 << 13];\n"
        "    static char work[1 << 22];\n"
        "    struct attn_search_options o;\n"
        "    struct attn_stream s;\n"
        "    struct attn_hypothesis h[2];\n"
        "    const int32_t ids[] = { 3, 4 }, start[] = { 0, 1, 2 };\n"
        "    int64_t bytes, found[2];\n"
        "    const void *file = tiny_embedded(&bytes);\n"
        "    if (tiny_bind(bound, file, bytes))\n"
        "        return 3;\n"
        "    tiny_options(&o);\n"
        "    if (tiny_search(bound, &o, 2, ids, start, work, sizeof work,\n"
        "                      h, found))\n"
        "        return 4;\n"
        "    if (found[0] != ATTN_ERROR_FINITE || found[1] != found[0])\n"
        "        return 5;\n"
        "    if (tiny_stream_open(&s, bound, &o, ids, 2, 9, 1, work,\n"
        "                         sizeof work))\n"
        "        return 6;\n"
        "    return tiny_stream_next(&s) != ATTN_ERROR_FINITE;\n"
        "}\n";
    Spawned s;
    Fault why;
    kind = "decoder";
    write_weights();
    assert_int_equal(sh(&s, "",
                        "$A compile $S --march=native --embed "
                        "-o $D/m.c"),
                     0);
    assert_true(write_file(in_dir("x.c"), driver, strlen(driver), &why));
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      in_dir("x.c"), in_dir("m.c"), "-lm", "-o", in_dir("x")));
    assert_int_equal(sh(&s, "", "$D/x"), 0);
}

/* ---- NaN ---- */
#define ONE_NAN "tensor 'encoder.0.ffn.w1.weight': 1 of 2048 values are NaN"

/* Tests that NaN weights are rejected unless they are allowed. Then NaN passes
 * the relu of its layer, and the line whose results it reaches is rejected. */
static void test_nan(void **state)
{
    static const char *const dtypes[] = { "f32", "bf16" };
    static const char refused[] = ONE_NAN ", the first at [1, 2]; --allow-nan "
                                          "permits them\n";
    static const char allowed[] = ONE_NAN " or infinite, the first at [1, 2]\n";
    (void)state;
    kind = "encoder-decoder";
    write_weights_of(0.01f, true);
    for (int i = 0; i < 2; i++) {
        const char *line = arena_printf(a, "$A run $S --ids --set dtype=%s",
                                        dtypes[i]);
        assert_says("3 4\n", line, 3, "", refused);
        assert_says("3 4\n", arena_printf(a, "%s --allow-nan", line), 3, "\n",
                    WRONG);
        line = arena_printf(a, "$A compile $S --set dtype=%s -o $D/m.c",
                            dtypes[i]);
        assert_says("", line, 3, "", refused);
        assert_says("", arena_printf(a, "%s --allow-nan", line), 0, "",
                    allowed);
    }
    assert_says("", "$A tensors $S", 3, "", refused);
    assert_says("", "$A compile $S --set dtype=int8 --allow-nan -o $D/m.c", 3,
                "", "the first at [1, 2]; int8 has no such numbers\n");
}

/* ---- numbers ---- */
static void test_numbers(void **state)
{
    (void)state;
    static const int32_t ids[] = { 3, 4 };
    const TensorOut source = { .name = "source.ids",
                               .rank = 1,
                               .dim = { 2 },
                               .data = ids,
                               .is_int = true };
    const TensorOut target = { .name = "target.ids",
                               .rank = 1,
                               .dim = { 2 },
                               .data = ids,
                               .is_int = true };
    Fault why;
    build("encoder");
    assert_true(safetensors_write(in_dir("in"), &source, 1, &why));
    assert_says("", "$A run $S --input $D/in --output $D/out", 0, "",
                "attnc: warning: output: 64 of 64 numbers are not finite\n");
    assert_int_equal(access(in_dir("out"), R_OK), 0);
    assert_says("3 4\n\n5\n", "$M $W | tr -d -- '-a-z \\n'", 0, "",
                "m: warning: <stdin>:1: 64 of 64 numbers are not finite\n");
    assert_says("3 4\n\n5\n", "$M $W | tr -d -- '-a-z \\n'", 0, "",
                "m: warning: <stdin>:3: 32 of 32 numbers are not finite\n");
    kind = "decoder";
    write_weights();
    assert_true(safetensors_write(in_dir("in"), &target, 1, &why));
    assert_says("", "$A run $S --input $D/in --output $D/out", 0, "",
                "attnc: warning: logits: 96 of 96 numbers are not finite\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_text),
        TEST(test_generate),
        TEST(test_numbers),
        TEST(test_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
