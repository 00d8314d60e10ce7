/* emit_test.c: tests the writer (placeholders, scopes, indentation by braces,
 * literals), the choice of kernels, and targets. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/emit.h"
#include "emit/tile/needs.h"
#include "emit/tile/kernel_pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static Arena *arena;

static void assert_text(const Emit *e, const char *expected)
{
    size_t n;
    const char *text = emit_text(e, &n);
    assert_string_equal(arena_strndup(arena, text, n), expected);
}

static void test_put_indents_by_braces(void **state)
{
    (void)state;
    Emit *e = emit_new(arena);
    put(e, "void f(void)\n{\n");
    put(e, "for (;;) {\n");
    put(e, "if (x)\n    y();\n");
    assert_int_equal(emit_depth(e), 2);
    put(e, "} else {\n    z();\n");
    put(e, "}\n\n#if 1\n}\n");
    put(e, "int g;\n");
    assert_text(e, "void f(void)\n{\n    for (;;) {\n        if (x)\n"
                   "            y();\n    } else {\n        z();\n    }\n\n"
                   "#if 1\n}\nint g;\n");
}

static void test_let_has_scopes(void **state)
{
    (void)state;
    Emit *e = emit_new(arena);
    let(e, "n", "%d", 3);
    const int mark = emit_mark(e);
    let(e, "n", "%s", "five");
    let(e, "nn", "%c", 'x');
    put(e, "$n $nn[$n];\n");
    emit_reset(e, mark);
    put(e, "$n\n");
    assert_text(e, "five x[five];\n3\n");
}

static void test_comment_breaks_between_words(void **state)
{
    (void)state;
    Emit *e = emit_new(arena);
    let(e, "x", "%s", "model_open");
    put_comment(e, "As $x().");
    put(e, "{\n");
    put_comment(e, "Seventy columns are not eighty, so that this line of words "
                   "goes on here.");
    put(e, "}\n");
    assert_text(e, "/* As model_open(). */\n{\n"
                   "    /* Seventy columns are not eighty, so that this line "
                   "of words goes on\n     * here. */\n}\n");
}

static void test_literals(void **state)
{
    (void)state;
    assert_string_equal(c_float(arena, 1.5), "0x1.8p+0f");
    assert_string_equal(c_float(arena, -0.1), "(-0x1.99999ap-4f)");
    assert_string_equal(c_string(arena, "a b?\"\\\n\xc3\0z", 10),
                        "\"a b\\077\\042\\134\\012\\303\\000z\"");
    assert_string_equal(c_string(arena, "", 0), "\"\"");
}

static Target target(const char *march, int width)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, march, width, NULL, &why));
    return t;
}

static const char *text_of(Kernels *k)
{
    size_t n;
    Emit *e = emit_new(arena);
    emit_kernels(k, e);
    const char *text = emit_text(e, &n);
    return arena_strndup(arena, text, n);
}

/* Tests that each kernel asked for, and each that it needs, is emitted once, in
 * any order of requests. */
static void test_kernels_are_a_set(void **state)
{
    (void)state;
    const Target t = target("x86-64-v3", 0);
    const TileKey small = { .mr = 1,
                            .nr = 16,
                            .width = 8,
                            .epilogue = EpBias | EpAct,
                            .act = ActRelu };
    const TileKey large = { .mr = 6, .nr = 16, .width = 8 };
    Kernels *a = kernels_new(arena, &t, false);
    assert_string_equal(use_tile(a, small), "tile_1x16_bias_relu");
    use_tile(a, large);
    use_kernel(a, "scale_rows");
    use_tile(a, small);
    Kernels *b = kernels_new(arena, &t, false);
    use_kernel(b, "scale_rows");
    use_tile(b, large);
    use_tile(b, small);
    const char *text = text_of(a);
    assert_string_equal(text, text_of(b));
    assert_int_equal(kernels_count(a), 3);
    assert_string_equal(kernels_nth(a, 2), "scale_rows");
    assert_null(strstr(text, "v_exp"));
    assert_null(strstr(text, "//:"));
    assert_true(strstr(text, "TILE(tile_6x16,")
                < strstr(text, "TILE(tile_1x16_bias"));
}

/* Tests that exactly the pieces marked as kernels can be requested, with any
 * activation, and are prebuilt. */
static void test_lines_are_the_list(void **state)
{
    (void)state;
    const Target t = target("native", 0);
    const Pieces all = pieces_of(arena, &t);
    int kernels = 0;
    for (int i = 0; i < all.list.n; i++) {
        const Piece *p = &all.list.at[i];
        kernels += p->kernel;
        if (p->kernel != (kernel_find(&t, p->name) != NULL))
            fail_msg("%s: kernel %d", p->name, p->kernel);
    }
    assert_true(kernels > 30);
    Kernels *k = kernels_new(arena, &t, false);
    use_all_kernels(k);
    assert_int_equal(kernels_count(k), kernels);
    assert_true(index_find(&all.names, "gate_rows_silu") >= 0);
    assert_true(index_find(&all.names, "gate_rows_ACT") < 0);
}

/* One function names epilogues, whoever asks for the name. */
static void test_epilogues_have_one_name(void **state)
{
    (void)state;
    const Epilogue all = { EpBias | EpAct | EpResidual, ActGeluTanh, DtypeBf16,
                           ArithmeticF32, false };
    assert_string_equal(epilogue_suffix(arena, all),
                        "_bf16_bias_gelu_tanh_residual");
    assert_string_equal(epilogue_suffix(arena, (Epilogue){ 0 }), "");
    assert_string_equal(epilogue_suffix(arena,
                                        (Epilogue){ .parts = EpAccumulate }),
                        "_accumulate");
    assert_string_equal(tile_name(arena, (TileKey){ .mr = 2,
                                                    .nr = 32,
                                                    .dtype = all.dtype,
                                                    .epilogue = all.parts,
                                                    .act = all.act }),
                        "tile_2x32_bf16_bias_gelu_tanh_residual");
    assert_string_equal(tile_name(arena,
                                  (TileKey){ .mr = 2,
                                             .nr = 32,
                                             .dtype = DtypeInt8,
                                             .arithmetic = ArithmeticInt8,
                                             .epilogue = EpAny }),
                        "tile_2x32_int8_dot_any");
    assert_string_equal(tile_name(arena,
                                  (TileKey){ .mr = 6,
                                             .nr = 64,
                                             .dtype = DtypeInt4,
                                             .arithmetic = ArithmeticInt15 }),
                        "tile_6x64_int4_dot2");
}

static void test_jit_gets_prototypes(void **state)
{
    (void)state;
    const Target t = target("generic", 0);
    Kernels *k = kernels_new(arena, &t, true);
    use_kernel(k, "log_sum_exp");
    use_kernel(k, "product_panels");
    const char *text = text_of(k), *types = "float log_sum_exp(const float *x, "
                                            "int64_t n);\n"
                                            "struct shape {";
    assert_memory_equal(text, types, strlen(types));
    assert_non_null(strstr(text, "};\n\nvoid product_panels("
                                 "const struct shape *s, "));
    assert_null(strstr(text, "typedef")); /* what kernels need alone */
}

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *march;
        int width, w, mr, nr;
    } rows[] = {
        { "x86-64-v4", 0, 16, 6, 64 }, { "x86-64-v4", 8, 8, 6, 16 },
        { "x86-64-v3", 0, 8, 6, 16 },  { "x86-64-v3", 4, 4, 3, 16 },
        { "x86-64-v2", 0, 4, 3, 16 },  { "armv8-a", 0, 4, 6, 16 },
        { "generic", 0, 1, 4, 16 },    { "x86-64-v4", 1, 1, 4, 16 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Target t = target(rows[i].march, rows[i].width);
        assert_int_equal(t.width, rows[i].w);
        assert_int_equal(t.mr, rows[i].mr);
        assert_int_equal(t.nr, rows[i].nr);
    }
    TargetNames names;
    assert_true(target("x86-64-v3", 0).fma);
    assert_false(target("x86-64-v2", 0).fma);
    assert_non_null(strstr(target_list(&names), target("native", 0).march));
}

static void test_bad_targets(void **state)
{
    (void)state;
    static const struct {
        const char *march;
        int width;
        const char *tile;
    } rows[] = {
        { "x86-64-v5", 0, NULL }, { "", 0, NULL },
        { "generic", 4, NULL },   { "x86-64-v3", 16, NULL },
        { "x86-64-v4", 2, NULL }, { "x86-64-v4", -1, NULL },
        { "native", 0, "" },      { "native", 0, "6" },
        { "native", 0, "0x16" },  { "native", 0, "17x16" },
        { "native", 0, "6x8" },   { "native", 0, "6x80" },
        { "native", 0, "6x64x" }, { "native", 0, " 6x64" },
        { "native", 0, "-6x64" }, { "native", 0, "99999999999x16" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Target t;
        Fault why = { 0 };
        assert_false(
            target_find(&t, rows[i].march, rows[i].width, rows[i].tile, &why));
        assert_int_equal(why.code, ExitUsage);
        assert_true(why.text[0]);
    }
    Target t;
    Fault why;
    assert_true(target_find(&t, "native", 0, "12x32", &why));
    assert_int_equal(t.mr, 12);
    assert_int_equal(t.nr, 32);
    assert_int_equal(t.tile_from, FromOption);
}

static int open_arena(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_indents_by_braces),
        cmocka_unit_test(test_let_has_scopes),
        cmocka_unit_test(test_comment_breaks_between_words),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_kernels_are_a_set),
        cmocka_unit_test(test_lines_are_the_list),
        cmocka_unit_test(test_epilogues_have_one_name),
        cmocka_unit_test(test_jit_gets_prototypes),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_bad_targets),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
