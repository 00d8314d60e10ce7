/* machine_test.c: tests what attnc bench measures of the machine, and how it
 * processes times and lengths. No test checks a time. */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_report.h"

#include <cmocka.h> /* after ours: it defines fail() */

static void rates_of_threads(void **state)
{
    (void)state;
    ReadBlock b;
    const double begin = seconds_now();
    for (int threads = 1; threads <= 3; threads++) {
        assert_true(machine_fma_rate(NULL, threads, 0.001) > 1e6);
        assert_true(read_block_make(&b, 1 << 16));
        assert_true(machine_read_rate(&b, threads, 1 << 14, 0.001) > 1e6);
        assert_true(machine_read_rate(&b, threads, 1 << 17, 0.001) == 0.0);
        read_block_free(&b);
        assert_null(b.at);
    }
    assert_true(seconds_now() > begin);
}

/* Tests that code for a lesser target may use fewer features of the machine. */
static void rates_of_targets(void **state)
{
    (void)state;
    static const char *const names[] = { "native", "x86-64-v3", "x86-64-v2",
                                         "generic" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Target t;
        Fault why;
        Cpu here;
        cpu_find(&here);
        assert_true(target_find(&t, names[i], 0, NULL, &why));
        if (target_lacks(&t, &here))
            continue;
        assert_true(machine_fma_rate(&t, 1, 0.001) > 1e6);
        const bool dots = machine_dot_rate(&t, 1, 0.001) > 0;
        if (t.triple && t.width < 8) /* SSE: no loop for integers */
            assert_false(dots);
        else
            assert_true(dots == (machine_dot_rate(NULL, 1, 0.001) > 0));
        const bool pairs = machine_pair_rate(&t, 1, 0.001) > 0;
        assert_true(pairs
                    == (here.has & ATTN_CPU_AVX512BF16
                        && (t.width == 1 || target_has(&t, "avx512bf16"))));
    }
}

static void machine_as_a_whole(void **state)
{
    (void)state;
    Machine m;
    machine_measure(&m, NULL, 3, 0.01);
    assert_true(m.cores >= 1);
    assert_int_equal(m.rates[0].threads, 1);
    assert_true(m.rates[m.counts - 1].threads >= m.cores);
    for (int i = 1; i < m.counts; i++)
        assert_true(m.rates[i].threads > m.rates[i - 1].threads);
    for (int i = 0; i < m.counts; i++)
        for (int level = 0; level < Levels; level++) {
            assert_true(m.rates[i].read[level] > 0.0);
            /* a thread alone is not slower than one of several */
            assert_true(i == 0
                        || m.rates[i - 1].read[level] / m.rates[i - 1].threads
                               >= 0.999 * m.rates[i].read[level]
                                      / m.rates[i].threads);
        }
    assert_int_equal(machine_rates(&m, 3)->threads, 3);
    assert_int_equal(machine_rates(&m, 1)->threads, 1);
    assert_int_equal(machine_level(&m, 1), LevelL1);
    assert_int_equal(machine_level(&m, (double)m.cache[LevelL2]), LevelL2);
    assert_int_equal(machine_level(&m, 1e15), LevelMemory);
}

static char *printed(const Machine *m, const char *name, bool markdown)
{
    char *text;
    size_t n;
    Target t;
    Fault why;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    assert_true(target_find(&t, name, 0, NULL, &why));
    target_print(m, &t, markdown, f);
    fclose(f);
    return text;
}

/* Tests that a row of targets next to its machine shows which value is wrong.
 */
static void target_beside_machine(void **state)
{
    (void)state;
    Machine m = { .cache = { 49152, 1 << 20, 32 << 20 },
                  .clock = 4e9,
                  .counts = 1,
                  .rates = { { .threads = 1,
                               .fma = 256e9,
                               .pair = 512e9,
                               .read = { 4e11, 2e11, 8e10, 3e10 } } } };
    char *text = printed(&m, "icelake-server", false);
    assert_non_null(
        strstr(text, "Target icelake-server, which nobody has met"));
    assert_non_null(strstr(text, "whole FMAs a cycle                 2      "
                                 "2.00\n"));
    assert_non_null(strstr(text, "KiB of L1                         48        "
                                 "48\n"));
    assert_non_null(strstr(text, "bytes a cycle from memory          4       "
                                 "7.5\n"));
    assert_non_null(strstr(text, "bf16_dp beside FMA                 1      "
                                 "2.00\n"));
    free(text);
    m.clock = 0;
    m.rates[0].pair = 128e9; /* FMAs are used */
    text = printed(&m, "znver4", true);
    assert_non_null(strstr(text, "Target znver4, measured on"));
    assert_non_null(strstr(text, "|whole FMAs a cycle        |         1|"
                                 "         -|\n"));
    assert_non_null(strstr(text, "|bf16_dp beside FMA        |         2|"
                                 "      1.00|\n"));
    free(text);
    assert_true(machine_clock(0.01) >= 0);
}

static void sizes_of_caches(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Machine m = { .cache = { 49152, 1310720, 32 << 20 } };
    assert_string_equal(cache_sizes(a, &m),
                        "L1 48 KiB, L2 1.25 MiB, L3 32 MiB");
    arena_free(a);
}

/* Tests ranks, from 1, as in tables of the binomial distribution. */
static void median_intervals(void **state)
{
    static const struct {
        int64_t n, low, high;
    } cases[] = {
        { 6, 1, 6 },   { 7, 1, 7 },    { 9, 2, 8 },     { 10, 2, 9 },
        { 20, 6, 15 }, { 50, 18, 33 }, { 100, 40, 61 }, { 1000, 469, 532 },
    };
    (void)state;
    int64_t low, high;
    assert_false(median_ranks(1, &low, &high));
    assert_false(median_ranks(5, &low, &high));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(median_ranks(cases[i].n, &low, &high));
        if (low + 1 != cases[i].low || high + 1 != cases[i].high)
            fail_msg("%lld: ranks %lld and %lld", (long long)cases[i].n,
                     (long long)low + 1, (long long)high + 1);
    }
}

static void summaries(void **state)
{
    (void)state;
    double at[20];
    for (int i = 0; i < 20; i++)
        at[i] = (i * 7 + 3) % 20 + 1; /* 1 .. 20, shuffled */
    const Times t = { at, 20, 20 }, few = { at, 3, 3 };
    const Summary s = times_summary(&t), none = times_summary(&few);
    assert_true(s.n == 20 && s.best == 1 && s.p50 == 10 && s.p95 == 19);
    assert_true(s.low == 6 && s.high == 15);
    assert_true(summary_error(&s) == 0.45);
    assert_true(at[0] == 4); /* not sorted in place */
    assert_true(none.low == 4 && none.high == 18 && none.p50 == 11);
    assert_true(summary_error(&none) < 0);
}

static void lengths_of_batches(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int64_t open = 0, three = 3, many = 200;
    const int32_t *x = bench_lengths(a, NULL, 96, &open);
    assert_true(open == 1 && x[0] == 96);
    x = bench_lengths(a, "8,16", 1, &three);
    assert_true(x[0] == 8 && x[1] == 16 && x[2] == 8);
    open = 0;
    bench_lengths(a, "8,16", 1, &open);
    assert_int_equal(open, 2);
    x = bench_lengths(a, "8..11", 1, &many);
    int seen[4] = { 0 };
    for (int i = 0; i < many; i++) {
        assert_true(x[i] >= 8 && x[i] <= 11);
        seen[x[i] - 8]++;
    }
    for (int i = 0; i < 4; i++)
        assert_true(seen[i] > 20);
    arena_free(a);
}

static void machine_formats(void **state)
{
    (void)state;
    static const char *const has[] = {
        [BenchTable] = "\n1     ",
        [BenchMarkdown] = "\n| 1 ",
        [BenchCsv] = "threads,fma_gflop_per_s,dot_gop_per_s,bf16_gflop",
        [BenchJson] = "\"rates\": [",
    };
    for (int format = BenchTable; format <= BenchMarkdown; format++) {
        const BenchOptions o = { .seconds = 0.01,
                                 .format = (BenchFormat)format };
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(bench_machine(&o, out), ExitDone);
        fclose(out);
        if (!strstr(text, has[format]))
            fail_msg("no '%s' in\n%s", has[format], text);
        json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_true((json != NULL) == (format == BenchJson));
        json_decref(json);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_threads),
        cmocka_unit_test(rates_of_targets),
        cmocka_unit_test(machine_as_a_whole),
        cmocka_unit_test(target_beside_machine),
        cmocka_unit_test(machine_formats),
        cmocka_unit_test(sizes_of_caches),
        cmocka_unit_test(median_intervals),
        cmocka_unit_test(summaries),
        cmocka_unit_test(lengths_of_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
