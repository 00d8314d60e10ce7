/* cost_coefficients_test.c: tests the cached times of models, and the
 * predictions for others. */
#define _GNU_SOURCE /* setenv, mkdtemp, nftw */
#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sweep/sweep_parts.h"

#include <cmocka.h>
#undef fail /* base.h has another one */

#include "../support/scratch.h"

static const char host[] = "a machine, 1 thread, libtcc";

/* Coefficients of a simulated machine. */
static const double real[Loads] = {
    [LoadRow] = 1.6,       [LoadFew] = 1.1,      [LoadMany] = 1.25,
    [LoadBf16] = 2,        [LoadBf16 + 1] = 1.4, [LoadBf16 + 2] = 1.1,
    [LoadQuery] = 3,       [LoadQueries] = 1.7,  [LoadNorm] = 2.5,
    [LoadMove] = 1.5,      [LoadCalls] = 4e-7,   [LoadFunctions] = 5e-8,
    [LoadResults] = 2e-10, [LoadCurves] = 4e-10, [LoadScores] = 3e-10,
    [LoadLogits] = 2e-10,
};

/* Loads of a made-up workload: seconds of each kind, thousands of each count.
 */
static Timed random_time(uint64_t *state)
{
    Timed t = { 0 };
    for (int i = 0; i < Loads; i++) {
        const double part = bench_random(state) / 4294967296.0;
        t.load[i] = i < LoadKinds   ? 1e-3 * part * part
                  : i < LoadResults ? floor(1000 * part)
                                    : floor(1e6 * part);
    }
    t.seconds = coefficients_seconds(real, t.load);
    return t;
}

static void keep_random(Arena *a, int n, uint64_t seed, double wrong)
{
    TimedList list = { 0 };
    for (int i = 0; i < n; i++) {
        Timed t = random_time(&seed);
        if (i % 8 == 0) /* another program ran on the machine */
            t.seconds *= wrong;
        vec_push(a, &list, t);
    }
    coefficients_cache(a, host, &list);
}

static double worst_miss(const Coefficients *s, uint64_t seed)
{
    double worst = 0;
    for (int i = 0; i < 100; i++) {
        const Timed t = random_time(&seed);
        const double miss = coefficients_seconds(s->c, t.load) / t.seconds - 1;
        worst = fmax(worst, fabs(miss));
    }
    return worst;
}

static void test_learns(void **state)
{
    Arena *a = arena_new();
    Coefficients guess, some, all, other;
    (void)state;
    coefficients_read(a, host, &guess);
    assert_int_equal(guess.times, 0);
    for (int i = 0; i < Loads; i++)
        assert_true(guess.c[i] > 0);
    keep_random(a, 60, 1, 1);
    coefficients_read(a, host, &some);
    assert_int_equal(some.times, 60);
    assert_true(worst_miss(&some, 99) < worst_miss(&guess, 99) / 4);
    assert_true(worst_miss(&some, 99) < 0.05);
    coefficients_read(a, "another machine", &other);
    assert_int_equal(other.times, 0);
    assert_memory_equal(other.c, guess.c, sizeof guess.c);
    keep_random(a, 60, 1, 1); /* the same work again adds no time */
    coefficients_read(a, host, &all);
    assert_int_equal(all.times, 60);
    arena_free(a);
}

/* Tests that an eighth of the times, three times too long, is detected as
 * outliers. */
static void test_busy_machine(void **state)
{
    Arena *a = arena_new();
    Coefficients s;
    (void)state;
    keep_random(a, 200, 7, 3);
    coefficients_read(a, host, &s);
    assert_true(worst_miss(&s, 99) < 0.06);
    arena_free(a);
}

/* The oldest go. */
static void test_many(void **state)
{
    Arena *a = arena_new();
    Coefficients s;
    (void)state;
    for (uint64_t i = 0; i < 6; i++)
        keep_random(a, 300, 1000 + i, 1);
    coefficients_read(a, host, &s);
    assert_int_equal(s.times, 1024);
    arena_free(a);
}

static void test_rates(void **state)
{
    Arena *a = arena_new();
    Machine m = { 0 }, kept = { 0 };
    const Target t = { .name = "one", .width = 8 },
                 other = { .name = "one", .width = 16 };
    (void)state;
    machine_find(&m);
    m.counts = 2;
    m.rates[0] = (Rates){ 1, 1e11, 4e11, 2e11, { 4e11, 2e11, 1e11, 2e10 } };
    m.rates[1] = (Rates){ 2, 2e11, 8e11, 4e11, { 8e11, 4e11, 2e11, 3e10 } };
    assert_false(rates_cached(a, &kept, &t, 1));
    rates_cache(a, &m, &t);
    assert_true(rates_cached(a, &kept, &t, 2));
    assert_int_equal(kept.counts, 2);
    assert_memory_equal(&kept.rates[0], &m.rates[0], sizeof m.rates[0]);
    assert_memory_equal(&kept.rates[1], &m.rates[1], sizeof m.rates[1]);
    assert_false(rates_cached(a, &kept, &t, 3)); /* none for this number of
                                                threads */
    assert_false(rates_cached(a, &kept, &other, 2));
    arena_free(a);
}

/* ---- loads ---- */
static Works works_of(Engine *e, const char *spec, const char *const *sets,
                      int nsets)
{
    const EngineOptions model = {
        .spec = spec, .sets = sets, .nsets = nsets, .threads = 1, .seed = 1
    };
    const BenchOptions work = { .steps = 4,
                                .beam = 1,
                                .lengths = "8",
                                .no_kernels = true,
                                .no_limit = true };
    Works works = { 0 };
    assert_int_equal(engine_plan(e, &model), ExitDone);
    setup_works(setup_new(e, &work), &works);
    return works;
}

/* Tests that the complete cost of a call is divided among the kinds; the FLOPs
 * of products are those of complete panels. */
static void test_loads_of_calls(void **state)
{
    static const char *const sets[] = { "dtype=bf16" };
    (void)state;
    for (int nsets = 0; nsets <= 1; nsets++) {
        Engine e;
        const Works works = works_of(&e, "models/transformer-base.yaml", sets,
                                     nsets);
        assert_int_equal(works.n, 3);
        for (int i = 0; i < works.n; i++) {
            const Work *w = &works.at[i];
            Cost sum = { 0 };
            double f32 = 0, bf16 = 0;
            assert_int_equal(w->loads.n, w->calls.n);
            for (int k = 0; k < w->loads.n; k++) {
                const Load *load = &w->loads.at[k];
                for (int j = 0; j < LoadKinds; j++)
                    sum = cost_sum(sum, load->of[j]);
                for (int j = 0; j < LoadBf16; j++) {
                    f32 += load->of[j].flops;
                    bf16 += load->of[LoadBf16 + j].flops;
                }
                assert_true(load->count[LoadCalls] == 1);
                assert_true(load->count[LoadFunctions] > 0);
            }
            assert_true(sum.weights == w->sum.weights);
            assert_true(sum.cached == w->sum.cached);
            assert_true(sum.values == w->sum.values);
            assert_true(sum.flops >= w->sum.flops);
            assert_true(sum.flops < 1.01 * w->sum.flops);
            assert_true(nsets ? bf16 > 0 && f32 == 0 : f32 > 0 && bf16 == 0);
        }
        engine_close(&e);
    }
}

/* Tests that a search reads its logits, unlike a single step. */
static void test_loads_of_search(void **state)
{
    Engine e;
    const Works works = works_of(&e, "models/tiny.yaml", NULL, 0);
    double logits[3] = { 0 };
    (void)state;
    for (int i = 0; i < works.n; i++)
        for (int k = 0; k < works.at[i].loads.n; k++)
            logits[i] += works.at[i].loads.at[k].count[LoadLogits];
    assert_true(logits[0] == 0 && logits[1] == 0);
    assert_true(logits[2] == 4 * 48); /* steps, vocab.size */
    engine_close(&e);
}

static int own_cache(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    return setenv("XDG_CACHE_HOME", scratch, 1);
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int remove_cache(void **state)
{
    (void)state;
    return nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#define CACHED(test)                                                          \
    cmocka_unit_test_setup_teardown(test, own_cache, remove_cache)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CACHED(test_learns),
        CACHED(test_busy_machine),
        CACHED(test_many),
        CACHED(test_rates),
        cmocka_unit_test(test_loads_of_calls),
        cmocka_unit_test(test_loads_of_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
