/* roofline_test.c: tests that attnc bench draws XML with every workload and
 * kernel, and numbers that can be read. No test checks a time: which kernels
 * are too short to draw depends on the run. */
#define _GNU_SOURCE /* mkdtemp, open_memstream */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include "bench/bench_report.h"

#include <cmocka.h> /* after ours: it defines fail() */

#include "support/check_xml.h"
#include "support/scratch.h"

static int bench_into(const char *spec, const char *path, bool no_kernels)
{
    const EngineOptions with = { .spec = spec };
    const BenchOptions bench = { .lengths = "9,4",
                                 .steps = 2,
                                 .beam = 1,
                                 .repetitions = 1,
                                 .seconds = 0.01,
                                 .no_kernels = no_kernels,
                                 .svg = path };
    Engine e = { 0 };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(engine_open(&e, &with), ExitDone);
    const int code = bench_run(&e, &bench, out);
    assert_true((code == ExitDone) == (fflush(out) == 0 && size > 0));
    engine_close(&e);
    fclose(out);
    free(text);
    return code;
}

/* Returns the picture, to be freed. */
static char *picture(const char *spec, bool no_kernels)
{
    char path[128];
    File f;
    Fault why;
    snprintf(path, sizeof path, "%s/x.svg", scratch);
    assert_int_equal(bench_into(spec, path, no_kernels), ExitDone);
    assert_true(file_read(&f, path, 1 << 20, &why));
    char *text = strdup((const char *)f.at);
    file_close(&f);
    assert_int_equal(scratch_empty(), 1);
    return text;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* A mark in the plot has a title, and another mark in the legend. */
static void marks_and_legend(void **state)
{
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/attention.yaml",
                                         "tests/torch/real_input.yaml" };
    (void)state;
    for (int i = 0; i < 3; i++) {
        char *text = picture(specs[i], false);
        const int marks = check_xml(text, "title") - 2 - Levels;
        assert_true(marks > 3);
        assert_int_equal(count(text, "<path class=\"c"), 2 * marks);
        assert_int_equal(count(text, ", all of it: "), i ? 1 : 3);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
    }
    char *text = picture(specs[0], true);
    assert_int_equal(check_xml(text, "title"), 2 + Levels + 3);
    free(text);
}

/* Checks numbers in the plot, whose digits are 6 wide and 8 high; returns how
 * many. */
static int assert_apart(const char *text)
{
    double x[100], y[100], width[100];
    int n = 0, number;
    for (const char *at = text; (at = strstr(at, "<text ")) && n < 100; at++) {
        char rules[20] = "";
        sscanf(at, "<text x=\"%lf\" y=\"%lf\" class=\"%19[^\"]", &x[n], &y[n],
               rules);
        if (rules[0] != 'c')
            continue;
        assert_int_equal(sscanf(strchr(at, '>'), ">%d<", &number), 1);
        width[n] = number > 9 ? 12 : 6;
        x[n] -= width[n]
              * (strstr(rules, " end")   ? 1
                 : strstr(rules, " mid") ? 0.5
                                         : 0);
        for (int i = 0; i < n; i++)
            assert_true(x[n] >= x[i] + width[i] || x[i] >= x[n] + width[n]
                        || fabs(y[n] - y[i]) >= 8);
        n++;
    }
    return n;
}

static void numbers_apart(void **state)
{
    (void)state;
    char *text = picture("models/tiny.yaml", false);
    assert_true(assert_apart(text) > 3);
    free(text);
}

/* Tests kernels that share one place, and others next to it. */
static void clusters_apart(void **state)
{
    (void)state;
    enum { Kernels = 24 };
    const EngineOptions with = { .spec = "models/tiny.yaml" };
    Engine e = { 0 };
    assert_int_equal(engine_open(&e, &with), ExitDone);
    const Setup setup = { .options = { .batch = 1, .beam = 1 } };
    BenchReport r = { .engine = &e,
                      .setup = &setup,
                      .threads = 1,
                      .rates = { 1, 1e11, 0, 0, { 4e11, 2e11, 1e11, 3e10 } } };
    KernelList kernels = { 0 };
    double p50 = 1;
    const Cost cost = { .flops = 4e10, .weights = 4e9 };
    vec_push(e.arena, &r.rows,
             ((BenchRow){ .work = { .name = "encode", .sum = cost },
                          .time = { .p50 = 1 },
                          .limit = { 0.5, BoundFma } }));
    for (int i = 0; i < Kernels; i++)
        vec_push(e.arena, &kernels,
                 ((KernelRow){ .function = "f",
                               .op = "linear",
                               .calls = 1,
                               .seconds = i % 3 ? 0.9 : 1 + 0.02 * i,
                               .cost = cost }));
    r.kernels = (KernelTimes){ .of = &kernels, .p50 = &p50 };
    const char *text = draw_roofline(&r);
    assert_int_equal(assert_apart(text), Kernels);
    assert_true(check_xml(text, "title") > 0);
    engine_close(&e);
}

/* Tests that a faster unit than FMA has a peak if a workload uses it. */
static void peaks(void **state)
{
    (void)state;
    const EngineOptions with = { .spec = "models/tiny.yaml" };
    static const Rates rates[] = {
        { 1, 1e11, 4e11, 2e11, { 4e11, 2e11, 1e11, 3e10 } },
        { 1, 1e11, 4e11, 5e10, { 4e11, 2e11, 1e11, 3e10 } }
    };
    Engine e = { 0 };
    assert_int_equal(engine_open(&e, &with), ExitDone);
    const Setup setup = { .options = { .batch = 1, .beam = 1 } };
    for (int slow = 0; slow < 2; slow++) {
        BenchReport r = {
            .engine = &e, .setup = &setup, .threads = 1, .rates = rates[slow]
        };
        vec_push(e.arena, &r.rows,
                 ((BenchRow){
                     .work = { .name = "encode",
                               .sum = { .pairs = 1e10, .weights = 1e8 } },
                     .time = { .p50 = 1 },
                     .limit = { 0.5, BoundPair } }));
        const char *text = draw_roofline(&r);
        assert_true(check_xml(text, "title") > 0);
        assert_int_equal(count(text, ">FMA 100.0 GFLOP/s<"), 2);
        assert_int_equal(count(text, ">bf16 200.0 GFLOP/s<"), slow ? 0 : 2);
        assert_null(strstr(text, ">dot "));
    }
    engine_close(&e);
}

static void no_folder(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/none/x.svg", scratch);
    assert_int_equal(bench_into("models/tiny.yaml", path, true), ExitIO);
    assert_int_equal(scratch_empty(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_and_legend), cmocka_unit_test(numbers_apart),
        cmocka_unit_test(clusters_apart),   cmocka_unit_test(peaks),
        cmocka_unit_test(no_folder),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
