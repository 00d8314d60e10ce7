/* limits_test.c: tests that limits are bounds: for invented costs on an
 * invented machine, and for a report with rates measured at a bad moment. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bench/bench_report.h"

#include <cmocka.h>

/* A machine with 1 KB of L1, 10 KB of L2, 100 KB of L3, and 1000 FLOP/s. Memory
 * delivers 1 byte per second; L3, L2 and L1 10, 100 and 1000. */
static const Machine small = { .cache = { 1000, 10000, 100000 } };
static const Rates one = { 1, 1e3, 4e3, 2e3, { 1e3, 1e2, 1e1, 1 } };

static Limit limit(Cost c, double set, double calls)
{
    const Demand d = { c, set, calls };
    return limit_of(&small, &one, &d, INFINITY);
}

static void assert_limit(Limit got, double seconds, int bound)
{
    assert_true(fabs(got.seconds - seconds) <= 1e-9 * seconds);
    assert_int_equal(got.bound, bound);
}

/* Tests that only the bytes that exceed a cache come from the next level. */
static void levels(void **state)
{
    (void)state;
    assert_limit(limit((Cost){ .weights = 1000 }, 1000, 1), 1, LevelL1);
    assert_limit(limit((Cost){ .weights = 2000 }, 2000, 1), 10, LevelL2);
    /* 11 KB fit L1 and L2 together */
    assert_limit(limit((Cost){ .weights = 11000 }, 11000, 1), 100, LevelL2);
    assert_limit(limit((Cost){ .weights = 22000 }, 22000, 1), 1100, LevelL3);
    assert_limit(limit((Cost){ .weights = 222000 }, 222000, 1), 111000,
                 LevelMemory);
    /* a part of a larger set */
    assert_limit(limit((Cost){ .weights = 1000 }, 222000, 1), 500, LevelMemory);
    assert_limit(limit((Cost){ .flops = 3e6, .weights = 2000 }, 2000, 1), 3000,
                 BoundFma);
    /* sums of integers, four times as fast, on the same units */
    assert_limit(limit((Cost){ .flops = 1e5, .dots = 4e6, .weights = 2000 },
                       2000, 1),
                 1100, BoundDot);
    /* pairs of bf16, twice as fast */
    assert_limit(limit((Cost){ .flops = 1e5, .pairs = 4e6, .weights = 2000 },
                       2000, 1),
                 2100, BoundPair);
}

/* Tests that FMAs compute pairs if the instruction for them is slower. */
static void slow_pairs(void **state)
{
    (void)state;
    Rates r = one;
    const Demand d = { { .pairs = 4e6, .weights = 2000 }, 2000, 1 };
    r.pair = 5e2;
    assert_limit(limit_of(&small, &r, &d, INFINITY), 4000, BoundFma);
    r.pair = 0;
    assert_limit(limit_of(&small, &r, &d, INFINITY), 4000, BoundFma);
}

/* Returns the cost of 5 rows of models/attention.yaml. */
static Cost attention_cost(const char *set, const char *march)
{
    static const int32_t start[] = { 0, 5 };
    const EngineOptions o = { .spec = "models/attention.yaml",
                              .sets = &set,
                              .nsets = 1,
                              .march = march };
    Engine e = { 0 };
    Cost all = { 0 };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    Cost *cost = new_costs(e.plan);
    count_call(e.plan,
               &(EntryCall){ .entry = EntryEncode,
                             .sequences = 1,
                             .start = start,
                             .source = start + 1,
                             .group = 1 },
               cost);
    for (int i = 0; i < e.plan->g->nodes.n; i++)
        all = cost_sum(all, cost[i]);
    engine_close(&e);
    return all;
}

/* Tests that products of bf16 rows count as pairs, and their biases do not. */
static void pair_counts(void **state)
{
    (void)state;
    const Cost f32 = attention_cost("dtype=bf16", NULL);
    const Cost dp = attention_cost("dtype=bf16,arithmetic=bf16_dp", NULL);
    assert_true(f32.pairs == 0);
    assert_true(dp.pairs == 4 * 2.0 * 5 * 512 * 512);
    assert_true(f32.weights == dp.weights);
    assert_true(cost_operations(dp) >= cost_operations(f32));
}

/* Tests that bf16x3 counts three products: as FMAs or, with AMX, as dots, of
 * which each takes the time of two; and as many bytes of weights as f32. */
static void three_counts(void **state)
{
    (void)state;
    const double products = 4 * 2.0 * 5 * 512 * 512;
    const Cost f32 = attention_cost("arithmetic=f32", "znver4");
    const Cost fma = attention_cost("arithmetic=bf16x3", "znver4");
    const Cost amx = attention_cost("arithmetic=bf16x3", "sapphirerapids");
    assert_true(fma.dots == 0 && amx.dots == 6 * products);
    assert_true(fma.flops == amx.flops + 3 * products);
    assert_true(fma.flops > f32.flops + 2 * products);
    assert_true(f32.weights == fma.weights && f32.weights == amx.weights);
}

/* Tests that twice the threads have twice the near caches. */
static void threads(void **state)
{
    (void)state;
    const Rates two = { 2, 2e3, 8e3, 4e3, { 2e3, 2e2, 1e1, 1 } };
    const Demand d = { { .weights = 22000 }, 22000, 1 };
    assert_limit(limit_of(&small, &two, &d, INFINITY), 100, LevelL2);
}

/* Tests that writes overlap reads, and that values of many calls are cached. */
static void values(void **state)
{
    (void)state;
    const Cost copy = { .values = 2000, .written = 1000 };
    assert_limit(limit(copy, 0, 1), 1, LevelL1);
    const Cost large = { .values = 44000, .written = 22000 };
    assert_limit(limit(large, 0, 1), 1100, LevelL3);
    assert_limit(limit(large, 0, 22), 22, LevelL1);
    /* 2000 bytes are read while 1000 are written */
    const Cost more_read = { .weights = 10, .values = 3000, .written = 1000 };
    assert_true(cost_traffic(&more_read) == 2010);
    const Cost more_written = { .cached = 5, .values = 3000, .written = 2500 };
    assert_true(cost_traffic(&more_written) == 2505);
}

/* Tests that a measured time below a level's limit implies a nearer level. */
static void nearer(void **state)
{
    (void)state;
    const Demand d = { { .flops = 1e3, .weights = 222000 }, 222000, 1 };
    assert_limit(limit_of(&small, &one, &d, 2e5), 111000, LevelMemory);
    assert_limit(limit_of(&small, &one, &d, 1e5), 222000 * 211 / 222e1,
                 LevelL3);
    assert_limit(limit_of(&small, &one, &d, 500), 222, LevelL1);
}

/* Tests that a scan's weights come from the level that holds all of them. */
static void scans(void **state)
{
    (void)state;
    const Cost near = { .weights = 500, .again = 2000, .scan = 500 };
    assert_limit(limit(near, 222000, 1), 250, LevelMemory);
    const Cost far = { .weights = 2000, .again = 200000, .scan = 2000 };
    assert_limit(limit(far, 2000, 1), 1010, LevelL2);
    const Cost both = cost_sum(near, far);
    assert_true(both.again == near.again + far.again);
    assert_true(both.scan == 500); /* also a bound for the longer one */
    assert_true(cost_sum(far, (Cost){ .flops = 1 }).scan == 2000);
}

/* Tests that weights of states are read once per step for all sequences, all
 * others once. */
static void scan_counts(void **state)
{
    (void)state;
    static const int32_t start[] = { 0, 3, 10, 14 };
    Engine e = { 0 };
    const EngineOptions o = { .spec = "tests/torch/lstm.yaml" };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    Cost *cost = new_costs(e.plan), all = { 0 };
    count_call(e.plan,
               &(EntryCall){ .entry = EntryEncode,
                             .sequences = 3,
                             .start = start,
                             .group = 1 },
               cost);
    for (int i = 0; i < e.plan->g->nodes.n; i++)
        all = cost_sum(all, cost[i]);
    const double scan = 4 * (64 * 16 + 64); /* and of biases */
    assert_true(all.scan == scan);
    assert_true(all.again == 6 * scan);
    assert_true(all.weights > scan && all.weights < all.again);
    engine_close(&e);
}

static void assert_bounds(const BenchReport *r)
{
    for (int i = 0; i < r->rows.n; i++) {
        assert_true(r->rows.at[i].limit.seconds <= r->rows.at[i].time.p50);
        for (int k = 0; r->kernels.of && k < r->kernels.of[i].n; k++) {
            const KernelRow *row = &r->kernels.of[i].at[k];
            assert_true(kernel_limit(r, i, row).seconds
                        <= (1 + 1e-9) * row->seconds);
        }
    }
}

/* Returns a report whose measured rates are much too low. */
static BenchReport spoilt(Arena *a, const Cost *sum, const Cost *kernel)
{
    BenchReport r = { .threads = 1, .between = 1 };
    machine_measure(&r.machine, NULL, 1, 0.02);
    for (int i = 0; i < r.machine.counts; i++) {
        const int n = r.machine.rates[i].threads;
        r.machine.rates[i] = (Rates){ n, 1, 1, 1, { 1, 1, 1, 1 } };
    }
    r.rates = *machine_rates(&r.machine, 1);
    BenchRow row = { .work = { .name = "encode", .sum = *sum },
                     .time = { 9, 0.9, 1, 1.1, 0.9, 1.1 } };
    row.work.set = sum->weights;
    vec_push(a, &row.work.calls, *sum);
    vec_push(a, &r.rows, row);
    r.kernels.of = arena_alloc(a, sizeof *r.kernels.of);
    const KernelRow k = {
        .function = "step", .calls = 1, .seconds = 0.5, .cost = *kernel
    };
    vec_push(a, r.kernels.of, k);
    return r;
}

/* Tests that such a machine is measured again, and that then nothing exceeds
 * its limits. */
static void bad_moment(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Cost some = { .flops = 1e6, .weights = 1e6 };
    BenchReport r = spoilt(a, &some, &some);
    bench_limits(&r, 0.02);
    assert_in_range(r.again, 1, 3);
    assert_true(r.rates.fma > 1e7);
    assert_true(r.rates.read[LevelMemory] > 1e6);
    assert_true(r.rows.at[0].limit.seconds > 0);
    assert_bounds(&r);
    const int again = r.again;
    bench_limits(&r, 0.02);
    assert_int_equal(r.again, 0);
    assert_true(again > 0);
    arena_free(a);
}

/* Tests that a call faster than any measurement raises the rates. */
static void faster_than_any(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Cost some = { .flops = 1e3 };
    const Cost much = {
        .flops = 1e20, .weights = 1e19, .values = 3, .written = 1
    };
    BenchReport r = spoilt(a, &some, &much);
    bench_limits(&r, 0.02);
    assert_bounds(&r);
    assert_true(fabs(r.rates.fma * 0.5 / 1e20 - 1) < 1e-9);
    arena_free(a);
}

/* Tests the one sentence printed if times are too noisy. */
static void busy(void **state)
{
    (void)state;
    Arena *a = arena_new();
    BenchReport r = { .rates = { .fma = 1e11 }, .between = 0.99e11 };
    BenchRow row = { .time = { 100, 0.9, 1, 1.2, 0.98, 1.02 } };
    vec_push(a, &r.rows, row);
    assert_null(bench_busy(a, &r));
    r.rows.at[0].time.high = 1.22;
    assert_string_equal(bench_busy(a, &r),
                        "This machine is busy: medians are known to +-12 % "
                        "only. End what else runs on it, or give --seconds "
                        "more.");
    r.between = 0.5e11;
    assert_string_equal(bench_busy(a, &r),
                        "This machine is busy: medians are known to +-12 % "
                        "only, and between the runs it did 50 % of its FMA "
                        "peak. End what else runs on it, or give --seconds "
                        "more.");
    r.rows.at[0].time.high = 1.02;
    assert_string_equal(bench_busy(a, &r),
                        "This machine is busy: between the runs it did 50 % of "
                        "its FMA peak. End what else runs on it, or give "
                        "--seconds more.");
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),          cmocka_unit_test(threads),
        cmocka_unit_test(slow_pairs),      cmocka_unit_test(pair_counts),
        cmocka_unit_test(three_counts),    cmocka_unit_test(values),
        cmocka_unit_test(nearer),          cmocka_unit_test(scans),
        cmocka_unit_test(scan_counts),     cmocka_unit_test(bad_moment),
        cmocka_unit_test(faster_than_any), cmocka_unit_test(busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
