/* bf16_model_test.c: tests models with bf16 weights: they have the same bits as
 * with f32 weights rounded before, a bounded distance from unrounded ones, and
 * programs by every compiler. In bf16_dp they have the same bits by FMAs and by
 * vdpbf16ps, and so has bf16x3 by all vectors and by AMX. */
/* limit: 300 s */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "oracle/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/skip.h"

/* ---- the numbers ---- */
typedef struct { /* a model that ran on a sample */
    Engine e;
    const Sample *x;
    float *out;
    int64_t size;
} Ran;

static void ran_by(Ran *r, const char *spec, const char *set, EngineOptions o)
{
    static const int64_t source[] = { 9, 70 }, target[] = { 5, 67 };
    Trial t = { 0 };
    o.spec = spec;
    o.sets = &set;
    o.nsets = 1;
    o.seed = 5;
    assert_int_equal(engine_open(&r->e, &o), ExitDone);
    r->x = sample_random(r->e.arena, r->e.spec, 1, 2, source, target);
    r->size = result_rows(r->e.spec, r->x) * result_columns(r->e.spec);
    r->out = arena_alloc(r->e.arena, (size_t)r->size * sizeof *r->out);
    trial_run(&t, &r->e, r->x, 0, r->out);
    trial_free(&t);
}

/* The factor of the scores is not folded, in both formats. */
static void ran_open(Ran *r, const char *spec, const char *set,
                     const char *weights)
{
    static const char *const skip[] = { "fold-scale" };
    ran_by(r, spec, set,
           (EngineOptions){ .passes = { .skip = skip, .nskip = 1 },
                            .weights = weights,
                            .backend = "jit" });
}

/* Writes the model's weights to a file, in f32. */
static const char *write_weights(const Engine *e)
{
    const PackList *p = &e->plan->pack;
    TensorOut *t = arena_alloc(a, (size_t)p->count * sizeof *t);
    int n = 0;
    Fault why;
    for (int64_t i = 0; i < p->count; i++) {
        const PackItem *it = &p->item[i];
        if (it->table || it->alias)
            continue;
        float *x = arena_alloc(a, (size_t)(it->rows * it->k) * sizeof *x);
        weights_tensor(it, NULL, e->options.seed, x);
        t[n++] = it->layout == PackVector
                   ? (TensorOut){ .name = it->from.name,
                                  .rank = 1,
                                  .dim = { it->k },
                                  .data = x }
                   : (TensorOut){ .name = it->from.name,
                                  .rank = 2,
                                  .dim = { it->rows, it->k },
                                  .data = x };
    }
    assert_true(safetensors_write(in_dir("rounded"), t, n, &why));
    return in_dir("rounded");
}

static void test_rounded_before(void **state)
{
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/attention.yaml",
                                         "tests/cli/real.yaml" };
    (void)state;
    for (int i = 0; i < 3; i++) {
        Ran bf16, f32;
        ran_open(&bf16, specs[i], "dtype=bf16", NULL);
        ran_open(&f32, specs[i], "dtype=f32", write_weights(&bf16.e));
        assert_int_equal(bf16.size, f32.size);
        assert_memory_equal(bf16.out, f32.out,
                            (size_t)f32.size * sizeof *f32.out);
        if (bf16.e.spec->d_model >= 32) /* else panels of bf16 are padded */
            assert_true(bf16.e.plan->pack.bytes < f32.e.plan->pack.bytes);
        assert_true(bf16.e.plan->pack.hash != f32.e.plan->pack.hash);
        assert_true(bf16.e.spec->hash != f32.e.spec->hash);
        engine_close(&bf16.e);
        engine_close(&f32.e);
    }
}

static ModelComparison
beside(const Ran *r, void (*open)(Weights *, const Engine *, const Graph *))
{
    ModelResults results = { 0 };
    Weights w;
    open(&w, &r->e, r->e.unfused);
    for (int64_t i = 0; i < r->x->sequences; i++)
        verify_result(&results, &w, r->x, i, r->out, NULL);
    const ModelComparison worst = verify_end(&results, &w);
    weights_close(&w);
    return worst;
}

/* Tests that results are as close to those of the bf16 weights as with f32, and
 * differ from those of f32 weights only within the gates of bf16, which a wrong
 * value exceeds. */
static void test_gates(void **state)
{
    Ran r;
    (void)state;
    ran_open(&r, "models/tiny.yaml", "dtype=bf16", NULL);
    assert_true(beside(&r, weights_open).passed);
    ModelComparison c = beside(&r, weights_open_f32);
    assert_true(c.passed);
    hold_to(&c, &arithmetic_gates[ArithmeticF32]);
    assert_true(c.failed);
    r.out[7] += 3.0f;
    assert_true(beside(&r, weights_open_f32).failed);
    r.out[7] = NAN;
    assert_true(beside(&r, weights_open_f32).failed);
    engine_close(&r.e);
}

/* Tests that models have the same bits by FMAs and by vdpbf16ps, which code for
 * znver4 has. */
static void test_pairs(void **state)
{
    static const char *const specs[] = { g2p, "models/tiny.yaml",
                                         "tests/cli/real.yaml" };
    static const char *const by[][2] = { { "clang", "2" },
                                         { "clang", "0" },
                                         { "gcc", "2" } };
    static const char dp[] = "dtype=bf16,arithmetic=bf16_dp";
    Target pairs;
    Fault why;
    (void)state;
    assert_true(target_find(&pairs, "znver4", 0, NULL, &why));
    assert_true(pairs.pairs);
    if (!target_runs_here(&pairs, &why))
        SKIP("%s", why.text);
    for (int i = 0; i < 9; i++) {
        Ran fma, pair;
        ran_by(&fma, specs[i / 3], dp,
               (EngineOptions){ .march = "x86-64-v3", .backend = "jit" });
        ran_by(&pair, specs[i / 3], dp,
               (EngineOptions){ .march = "znver4",
                                .backend = by[i % 3][0],
                                .level = by[i % 3][1] });
        assert_int_equal(fma.size, pair.size);
        assert_memory_equal(fma.out, pair.out,
                            (size_t)fma.size * sizeof *fma.out);
        engine_close(&fma.e);
        engine_close(&pair.e);
    }
}

/* Tests that models in bf16x3 have the same bits for all vectors, by libtcc and
 * compilers, with a table of tokens that a product reads too, and that they are
 * within the gates of bf16x3 of f32, if not as near as f32. */
static void test_three(void **state)
{
    static const char *const specs[] = { g2p, "models/tiny.yaml",
                                         "tests/cli/real.yaml" };
    static const EngineOptions ways[] = {
        { .backend = "jit" },
        { .march = "x86-64-v3", .backend = "clang", .level = "1" },
        { .march = "x86-64-v3", .width = 4, .backend = "gcc", .level = "0" },
        { .march = "generic", .backend = "gcc", .level = "1" },
        { .march = "sapphirerapids", .backend = "jit" },
    };
    static const char three[] = "arithmetic=bf16x3";
    (void)state;
    for (int i = 0; i < 3; i++) {
        Ran first, other;
        ran_by(&first, specs[i], three,
               (EngineOptions){ .march = "x86-64-v3", .backend = "jit" });
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            Target t;
            Fault why;
            const char *march = ways[w].march;
            if (march
                && (!target_find(&t, march, 0, NULL, &why)
                    || !target_runs_here(&t, &why)))
                continue;
            ran_by(&other, specs[i], three, ways[w]);
            assert_int_equal(first.size, other.size);
            assert_memory_equal(first.out, other.out,
                                (size_t)first.size * sizeof *first.out);
            engine_close(&other.e);
        }
        const ModelComparison c = beside(&first, weights_open_f32);
        assert_true(c.passed);
        assert_true(i != 1 || c.max_error > 1e-5);
        engine_close(&first.e);
    }
}

/* ---- programs ---- */
static const char words[] = "hello\nzygote\nthe\n";

/* Returns the output of the program of m.c, compiled by `cc`; NULL: not
 * compiled. */
static const char *says(const char *cc, const char *march, const char *weights)
{
    Spawned s;
    if (!WORKS(cc, "-O1", "-std=c11", march, "-Wall", "-Werror", QUIET,
               "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")))
        return NULL;
    assert_int_equal(RUN(&s, words, in_dir("m"), weights), 0);
    return arena_strdup(a, s.out);
}

/* Runs the last compiled program with weights in f32. */
static void refuses_f32(void)
{
    Spawned s;
    emit(g2p, "--march=generic", "--set=dtype=f32");
    assert_int_equal(RUN(&s, words, in_dir("m"), in_dir("m.weights")), 3);
    assert_non_null(strstr(s.tail, "its weights are f32, this program's bf16"));
    assert_non_null(strstr(s.tail, "pack it again: attnc compile g2p-en.yaml"));
}

/* Checks that programs by all compilers give the words of `attnc run`. */
static void check_programs(const char *set)
{
    Spawned s;
    assert_int_equal(RUN(&s, words, attnc(), "run", g2p, set), 0);
    const char *want = arena_strdup(a, s.out);
    assert_non_null(strstr(want, "HH EH L OW\n"));
    assert_true(WORKS(attnc(), "compile", g2p, set, "--embed", "--march=native",
                      "-o", in_dir("m.c")));
    assert_string_equal(says(some_clang(), "-march=native", NULL), want);
    emit(g2p, "--march=native", set);
    assert_string_equal(says(some_clang(), "-march=native",
                             in_dir("m.weights")),
                        want);
    emit(g2p, "--march=generic", set);
    const char *const others[] = { "gcc", "tcc" };
    for (int i = 0; i < 2; i++) {
        const char *got = says(others[i], "-DX", in_dir("m.weights"));
        if (got)
            assert_string_equal(got, want);
    }
}

static void test_programs(void **state)
{
    (void)state;
    check_programs("--set=dtype=bf16");
    refuses_f32();
}

static void test_programs_dp(void **state)
{
    (void)state;
    check_programs("--set=dtype=bf16,arithmetic=bf16_dp");
}

static void test_programs_x3(void **state)
{
    (void)state;
    check_programs("--set=arithmetic=bf16x3");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_rounded_before), TEST(test_gates),    TEST(test_pairs),
        TEST(test_three),          TEST(test_programs), TEST(test_programs_dp),
        TEST(test_programs_x3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
