/* small_m_test.c: tests that rows 1 to 9 have the same bits from the loop nests
 * for a small M, one by one, and from those for many rows, together: by the JIT
 * and by a compiler at every width, for odd sizes and all epilogues. */
/* limit: 300 s */
#define _GNU_SOURCE /* mkdtemp */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"

enum { Lengths = 9 };

/* Numbers of panels: 3 for QKV's 42 columns, 2 for W^O, 4 and 1; with bias,
 * activation, residual, or none. */
static const char *const specs[] = {
    "attnc: 1\nname: small\nkind: encoder\nd_model: 20\nh: 2\nd_k: 7\nd_ff: 50\n"
    "N: 2\nmax_len: 12\nvocab: {size: 40}\nnorm: {type: rms, place: pre}\n"
    "activation: gelu\nbias: false\n",
    "attnc: 1\nname: small\nkind: decoder\nd_model: 12\nh: 3\nd_k: 4\n"
    "d_ff: 70\ndtype: bf16\nN: 1\nmax_len: 12\nvocab: {size: 77}\n"
    "norm: {type: layer, place: pre}\nactivation: relu\n",
    "attnc: 1\nname: small\nkind: encoder\nd_model: 20\nh: 2\nd_k: 7\nd_ff: 90\n"
    "dtype: int4\narithmetic: int8\nN: 2\nmax_len: 12\nvocab: {size: 40}\n"
    "norm: {type: rms, place: pre}\nactivation: gelu\n",
    "attnc: 1\nname: small\nkind: decoder\nd_model: 12\nh: 3\nd_k: 4\n"
    "d_ff: 70\ndtype: int4\narithmetic: int15\nN: 1\nmax_len: 12\n"
    "vocab: {size: 77}\nnorm: {type: layer, place: pre}\nactivation: relu\n",
    "attnc: 1\nname: small\nkind: encoder\nd_model: 20\nh: 2\nd_k: 7\nd_ff: 50\n"
    "dtype: int4g64\nN: 2\nmax_len: 12\nvocab: {size: 40}\n"
    "norm: {type: layer, place: post}\nactivation: relu\n",
    "attnc: 1\nname: small\nkind: encoder\nd_model: 20\nh: 2\nd_k: 7\nd_ff: 130\n"
    "dtype: {default: int4g64, embedding: int4g64}\narithmetic: int8\nN: 2\n"
    "max_len: 12\nvocab: {size: 40}\nnorm: {type: rms, place: pre}\n"
    "activation: gelu\n",
    /* more rows than one unpacked block has */
    "attnc: 1\nname: small\nkind: encoder\nd_model: 20\nh: 2\nd_k: 7\n"
    "d_ff: 2900\ndtype: int8\narithmetic: int8\nN: 1\nmax_len: 12\n"
    "vocab: {size: 40}\nnorm: {type: layer, place: post}\nactivation: relu\n",
};

/* Results of the first way, for a spec. */
enum { MostNumbers = 45 * 77 };
static float first[MostNumbers];

static void check_lengths(Engine *e, const char *what, bool is_first)
{
    int64_t length[Lengths];
    for (int i = 0; i < Lengths; i++)
        length[i] = i + 1;
    const Sample *all = sample_random(e->arena, e->spec, 3, Lengths, length,
                                      length);
    const int64_t columns = result_columns(e->spec);
    const int64_t size = result_rows(e->spec, all) * columns;
    float *want = arena_alloc(e->arena, (size_t)size * sizeof *want);
    float *got = arena_alloc(e->arena, (size_t)size * sizeof *got);
    Trial t = { 0 };
    trial_run(&t, e, all, 0, want);
    assert_true(size <= MostNumbers);
    if (is_first)
        memcpy(first, want, (size_t)size * sizeof *want);
    if (memcmp(first, want, (size_t)size * sizeof *want))
        fail_msg("%s: other bits than by the first way", what);
    for (int i = 0; i < Lengths; i++) {
        const Sample *one = sample_one(e->arena, e->spec, all, i);
        const int64_t from = result_first(e->spec, all, i) * columns;
        Trial alone = { 0 };
        trial_run(&alone, e, one, 0, got);
        if (memcmp(want + from, got,
                   (size_t)(result_rows(e->spec, one) * columns) * sizeof *got))
            fail_msg("%s: %d rows differ from the same among many", what,
                     i + 1);
        trial_free(&alone);
    }
    trial_free(&t);
}

static void test_small_m(void **state)
{
    (void)state;
    static const struct {
        const char *backend;
        int width;
        const char *march;
    } ways[] = {
        { "jit", 0, NULL },          { "clang", 16, NULL },
        { "clang", 8, NULL },        { "clang", 4, NULL },
        { "clang", 1, NULL },        { "jit", 0, "x86-64-v3" },
        { "clang", 8, "x86-64-v3" },
    };
    Fault why;
    Cpu here;
    Target native, other;
    int cases = 0;
    cpu_find(&here);
    assert_true(target_find(&native, "native", 0, NULL, &why));
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            Engine e;
            EngineOptions o = {
                .spec = scratch_file("small.yaml", specs[s], strlen(specs[s])),
                .backend = ways[w].backend,
                .width = ways[w].width,
                .march = ways[w].march,
                .level = "0",
                .small_m = true,
            };
            const char *march = ways[w].march ? ways[w].march : "native";
            if (ways[w].width > native.width
                || !target_find(&other, march, 0, NULL, &why)
                || target_lacks(&other, &here))
                continue;
            assert_int_equal(engine_open(&e, &o), ExitDone);
            assert_int_equal(e.plan->small_m, e.target.width > 1);
            check_lengths(&e, ways[w].backend, w == 0);
            engine_close(&e);
            cases++;
        }
    assert_true(cases > 1);
}

/* Tests that only weights too large for a cache have these loop nests. */
static void test_which_have_them(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        bool small_m;
    } models[] = {
        { "models/tiny.yaml", false },
        { "models/transformer-base.yaml", true },
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Engine e;
        EngineOptions o = { .spec = models[i].spec, .march = "x86-64-v4" };
        assert_int_equal(engine_plan(&e, &o), ExitDone);
        assert_int_equal(e.plan->small_m, models[i].small_m);
        engine_close(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_m, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_which_have_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
