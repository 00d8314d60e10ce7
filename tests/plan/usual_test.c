/* usual_test.c: tests the default tilings of each machine, which follow from
 * its row and the shape. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"
#include "tune/tuner.h"

#include <cmocka.h>

#include "support/fake_programs.h"

static const TaskKey floats = { .kind = TaskMatmul,
                                .shape = "",
                                .epilogue = "" };

static Target target(const char *name)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, name, 0, NULL, &why));
    return t;
}

static void test_tilings(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t k;
        int mr, nr, block;
    } rows[] = {
        { "znver4", 512, 6, 64, 512 },
        { "znver4", 2048, 6, 64, 2048 },
        { "znver4", 8192, 6, 64, 512 },
        { "x86-64-v4", 512, 6, 64, 512 },
        { "sapphirerapids", 128, 6, 64, 128 },
        { "sapphirerapids", 512, 14, 32, 512 },
        { "sapphirerapids", 2048, 14, 32, 256 },
        { "sapphirerapids", 8192, 14, 32, 256 },
        { "skylake-avx512", 2048, 14, 32, 128 },
        { "x86-64-v3", 2048, 6, 16, 2048 },
        { "haswell", 2048, 6, 16, 256 },
        { "generic", 512, 4, 16, 512 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Target t = target(rows[i].name);
        const Tiling by = tiling_with_defaults(&t, &floats, rows[i].k,
                                               (Tiling){ 0 });
        assert_int_equal(by.mr, rows[i].mr);
        assert_int_equal(by.nr, rows[i].nr);
        assert_int_equal(by.k, rows[i].block);
    }
    for (int i = 0; target_name(i); i++) {
        const Target t = target(target_name(i));
        for (int64_t k = 1; k <= 65536; k += k / 3 + 1) {
            const Tiling by = tiling_with_defaults(&t, &floats, k,
                                                   (Tiling){ 0 });
            assert_true(tiling_valid(&by, TaskMatmul));
            assert_true(!t.fma || tiling_fits(&t, &by));
        }
    }
    const TaskKey dots = { .kind = TaskMatmul,
                           .shape = "",
                           .epilogue = "dot",
                           .dtype = DtypeInt4,
                           .arithmetic = ArithmeticInt8 };
    const Target v4 = target("x86-64-v4");
    assert_int_equal(tiling_with_defaults(&v4, &dots, 2048, (Tiling){ 0 }).mr,
                     10);
    assert_int_equal(tiling_with_defaults(&v4, &dots, 64, (Tiling){ 0 }).nr,
                     32);
    const Tiling chosen = { .nr = 64 }; /* no tile mixes two sources */
    const Target t = target("sapphirerapids");
    assert_int_equal(tiling_with_defaults(&t, &floats, 512, chosen).mr, 6);
}

/* Tests that a record is explained by comparison with its own machine's
 * default. */
static void test_explained(void **state)
{
    (void)state;
    const Target t = target("sapphirerapids");
    const Machine m = { .cache = { 49152, 2 << 20, 32 << 20 } };
    const Record r = {
        .host = { .isa = "x86-64-v4", .threads = 1, .compiler = "libtcc" },
        .ns = 1e6,
        .usual_ns = 1e6,
        .samples = 24,
        .key = { .kind = TaskMatmul, .shape = "512x512", .epilogue = "" },
        .tiling = tiling_with_defaults(&t, &floats, 512, (Tiling){ 0 }),
    };
    assert_non_null(
        strstr(explain_record(a, &r, NULL, t.name, &m), ": as by default"));
    assert_non_null(strstr(explain_record(a, &r, NULL, NULL, &m),
                           ": 14x32 panels=2 instead of 6x64"));
    assert_non_null(strstr(explain_record(a, &r, NULL, "haswell", &m),
                           ": 14x32 panels=2 instead of 6x64"));
}

/* Tests the rows of a block, which depend on the cost of reading its weights
 * again. */
static void test_rows(void **state)
{
    (void)state;
    const int64_t layer = 4 << 20, large = 256 << 20;
    const Target amd = target("znver4"), intel = target("sapphirerapids");
    const Target tall = target("znver5");
    assert_int_equal(target_row_block(&amd, layer, layer / 4), 48);
    assert_int_equal(target_row_block(&amd, large, large / 4), 96);
    assert_int_equal(target_row_block(&amd, large, large / 2), 48);
    assert_int_equal(target_row_block(&amd, 0, 0), 48);
    assert_int_equal(target_row_block(&tall, layer, layer / 4), 96);
    assert_int_equal(target_row_block(&tall, large, large / 4), 144);
    assert_int_equal(target_row_block(&intel, layer, layer / 4), 288);
    assert_int_equal(target_row_block(&intel, layer, layer / 2), 144);
}

/* Tests that rows that a tile reads together do not share the sets of L1. */
static void test_strides(void **state)
{
    (void)state;
    static const char spec[] =
        "attnc: 1\nname: wide\nkind: encoder\n"
        "d_model: 1024\nh: 8\nd_ff: 2048\nN: 1\nmax_len: 16\n"
        "vocab: {size: 20}\n";
    FILE *f = fopen(in_dir("wide.yaml"), "w");
    assert_true(f && fputs(spec, f) >= 0 && fclose(f) == 0);
    EngineOptions o = { .spec = in_dir("wide.yaml") };
    Engine e;
    int values = 0;
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    for (int i = 0; i < e.graph->nodes.n; i++) {
        const Value *v = &e.plan->value[i];
        if (v->place != PlaceArena || e.graph->nodes.at[i].type.rank != 2)
            continue;
        assert_int_not_equal(v->stride % 1024, 0);
        assert_int_equal(v->stride % 16, 0);
        values++;
    }
    assert_true(values > 3);
    engine_close(&e);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_tilings),
        TEST(test_rows),
        TEST(test_explained),
        TEST(test_strides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
