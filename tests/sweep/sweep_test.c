/* sweep_test.c: tests axes and their grid, the Pareto front, rows as JSON,
 * children that end, and plans that know what a run needs. */
/* limit: 300 s */
#define _GNU_SOURCE /* open_memstream */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweep/sweep_parts.h"

#include <cmocka.h>
#undef fail /* base.h has another one */

static SweepOptions new_options(const char *const *specs, int nspecs,
                                const char *const *vary, int nvary)
{
    return (SweepOptions){ .specs = specs,
                           .nspecs = nspecs,
                           .vary = vary,
                           .nvary = nvary,
                           .format = BenchJson,
                           .model = { .threads = 1, .seed = 1 },
                           .work = { .steps = -1,
                                     .beam = 1,
                                     .seconds = 0.001,
                                     .no_kernels = true,
                                     .no_limit = true } };
}

static const char *const tiny[] = { "models/tiny.yaml" };

/* ---- axes ---- */
static const char *joined(Arena *a, const Words *w)
{
    const char *all = "";
    for (int i = 0; i < w->n; i++)
        all = arena_printf(a, "%s%s%s", all, i ? " " : "", w->at[i]);
    return all;
}

static void test_values(void **state)
{
    static const struct {
        const char *vary, *values;
    } cases[] = {
        { "h=4,8,16", "4 8 16" },
        { "h=7", "7" },
        { "N=2..6", "2 3 4 5 6" },
        { "N=3..3", "3" },
        { "d_ff=8..30..8", "8 16 24" },
        { "d_ff=1..32..x2", "1 2 4 8 16 32" },
        { "d_ff=1..31..x2", "1 2 4 8 16" },
        { "d_ff=5..1000..x10", "5 50 500" },
        { "d_ff=1,2..4,64", "1 2 3 4 64" },
        { "vocab={size: 8, shared: true},{size: 9}",
          "{size: 8, shared: true} {size: 9}" },
        { "name='a,b',c", "'a,b' c" },
        { "norm.eps=1e-5,1.5", "1e-5 1.5" },
        { "-p=8,16", "8 16" },
        { "threads=1..4..x2", "1 2 4" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena *a = arena_new();
        SweepOptions o = new_options(tiny, 1, &cases[i].vary, 1);
        o.model.threads = -1;
        Axes axes = { 0 };
        axes_read(a, &o, &axes);
        assert_int_equal(axes.n, 1);
        assert_string_equal(joined(a, &axes.at[0].value), cases[i].values);
        arena_free(a);
    }
}

static void check_grid(bool zip, const char *expected)
{
    static const char *const vary[] = { "h=1,2", "N=3,4" };
    static const char *const specs[] = { "a/x.yaml", "b/y.yaml" };
    Arena *a = arena_new();
    SweepOptions o = new_options(specs, 2, vary, 2);
    Axes axes = { 0 };
    Variants v = { 0 };
    const char *all = "";
    o.zip = zip;
    axes_read(a, &o, &axes);
    grid_make(a, &o, &axes, &v);
    for (int i = 0; i < v.n; i++)
        all = arena_printf(a, "%s%s %s %s;", all, v.at[i].label,
                           v.at[i].value[0], v.at[i].value[1]);
    assert_string_equal(all, expected);
    arena_free(a);
}

static void test_grid(void **state)
{
    (void)state;
    check_grid(false, "x 1 3;x 1 4;x 2 3;x 2 4;y 1 3;y 1 4;y 2 3;y 2 4;");
    check_grid(true, "x 1 3;x 2 4;y 1 3;y 2 4;");
}

/* Tests that variants with equal names are distinguished by paths. */
static void test_labels(void **state)
{
    static const char *const specs[] = { "a/x.yaml", "b/x.yaml", "b/.z" };
    Arena *a = arena_new();
    const SweepOptions o = new_options(specs, 3, NULL, 0);
    Axes axes = { 0 };
    Variants v = { 0 };
    (void)state;
    grid_make(a, &o, &axes, &v);
    assert_string_equal(v.at[0].label, "a/x.yaml");
    assert_string_equal(v.at[1].label, "b/x.yaml");
    assert_string_equal(v.at[2].label, ".z");
    arena_free(a);
}

/* Tests a variant's options: --set first, then its own values. */
static void test_variant(void **state)
{
    static const char *const vary[] = { "h=1,2", "n=5", "threads=3",
                                        "tile=6x16", "p=8..9" };
    static const char *const sets[] = { "N=1" };
    Arena *a = arena_new();
    SweepOptions o = new_options(tiny, 1, vary, 5);
    Axes axes = { 0 };
    Variants v = { 0 };
    (void)state;
    o.model.sets = sets;
    o.model.nsets = 1;
    o.model.threads = -1;
    axes_read(a, &o, &axes);
    grid_make(a, &o, &axes, &v);
    assert_int_equal(v.n, 4);
    const EngineOptions m = variant_model(a, &o, &axes, &v.at[3]);
    const BenchOptions w = variant_work(&o, &axes, &v.at[3]);
    assert_int_equal(m.nsets, 3);
    assert_string_equal(m.sets[1], "N=1");
    assert_string_equal(m.sets[2], "h=2");
    assert_int_equal(m.threads, 3);
    assert_string_equal(m.tile, "6x16");
    assert_int_equal(w.steps, 5);
    assert_string_equal(w.lengths, "9");
    arena_free(a);
}

/* ---- front ---- */

/* Makes a row with one time, so without an interval. */
static Row timed(Arena *a, double parameters, double seconds, int n)
{
    Row r = { .state = RowTimed, .parameters = parameters };
    RowWork *w = &r.work[WorkSearch];
    w->there = true;
    w->tokens = 10;
    w->results = "";
    for (int i = 0; i < n; i++)
        vec_push(a, &w->times, seconds);
    w->time = times_summary(&w->times);
    return r;
}

static bool better(const Row *x, const Row *y)
{
    const double a = x->parameters, b = y->parameters;
    const double s = x->work[WorkSearch].time.p50;
    const double t = y->work[WorkSearch].time.p50;
    return x->state == RowTimed && a <= b && s <= t && (a < b || s < t);
}

/* Compares the front with its definition, for rows with many equal values. */
static void check_front(const char *columns)
{
    Arena *a = arena_new();
    const SweepOptions o = new_options(tiny, 1, NULL, 0);
    Sweep s = { .options = &o, .arena = a };
    uint64_t seed = 5;
    columns_read(a, columns, "--front", &s.pareto, &s.fields);
    for (int i = 0; i < 60; i++) {
        Row r = timed(a, bench_random(&seed) % 12, 1 + bench_random(&seed) % 12,
                      1);
        r.state = i % 10 == 0 ? RowRefused : RowTimed;
        vec_push(a, &s.rows, r);
    }
    front_mark(&s);
    int marked = 0;
    for (int i = 0; i < s.rows.n; i++) {
        bool pareto = s.rows.at[i].state == RowTimed;
        for (int k = 0; k < s.rows.n; k++)
            pareto &= !better(&s.rows.at[k], &s.rows.at[i]);
        assert_int_equal(s.rows.at[i].pareto, pareto);
        marked += pareto;
    }
    assert_in_range(marked, 1, 20);
    arena_free(a);
}

static void test_front(void **state)
{
    (void)state;
    check_front("parameters,latency");
    check_front("latency,parameters");
    check_front("parameters,tokens"); /* columns of which more is better */
}

/* Tests that a row beaten by less than its interval may be on the front. */
static void test_near(void **state)
{
    Arena *a = arena_new();
    const SweepOptions o = new_options(tiny, 1, NULL, 0);
    Sweep s = { .options = &o, .arena = a };
    (void)state;
    columns_read(a, "parameters,latency", "--front", &s.pareto, &s.fields);
    vec_push(a, &s.rows, timed(a, 10, 1.0, 50));
    vec_push(a, &s.rows, timed(a, 10, 1.05, 50));
    vec_push(a, &s.rows, timed(a, 10, 1.05, 50));
    Summary *wide = &s.rows.at[2].work[WorkSearch].time;
    wide->low = 0.9;
    wide->high = 1.2;
    assert_true(front_near(&s, &s.rows.at[0]));
    assert_false(front_near(&s, &s.rows.at[1]));
    assert_true(front_near(&s, &s.rows.at[2]));
    arena_free(a);
}

/* ---- rows ---- */
static void test_row(void **state)
{
    static const char *const words[] = { "8", "" };
    Arena *a = arena_new();
    Row r = timed(a, 163889152, 1e-6, 3), same = { 0 };
    (void)state;
    r.hash = "00ff";
    r.fields = words;
    r.weights = 1e10;
    r.work[WorkSearch].estimate = NAN;
    r.work[WorkSearch].cost.flops = 23104.5;
    r.work[WorkSearch].cost.pairs = 512;
    json_t *o = row_json(&r, 2);
    assert_true(row_read(a, &same, o, 2));
    assert_int_equal(same.state, RowTimed);
    assert_string_equal(same.hash, "00ff");
    assert_string_equal(same.fields[0], "8");
    assert_true(same.parameters > 163889151 && same.parameters < 163889153);
    assert_int_equal(same.work[WorkSearch].times.n, 3);
    assert_true(isnan(same.work[WorkSearch].estimate));
    assert_true(same.work[WorkSearch].cost.pairs == 512);
    assert_false(same.work[WorkStep].there);
    /* new times are added unless the results differ */
    assert_true(row_read(a, &same, o, 2));
    assert_int_equal(same.work[WorkSearch].times.n, 6);
    same.work[WorkSearch].results = "other";
    assert_false(row_read(a, &same, o, 2));
    /* and each of its keys is needed */
    const char *key;
    json_t *value;
    json_object_foreach(o, key, value)
    {
        json_t *less = json_copy(o);
        Row bad = { 0 };
        json_object_del(less, key);
        if (strcmp(key, "search") != 0)
            assert_false(row_read(a, &bad, less, 2));
        json_decref(less);
    }
    json_decref(o);
    arena_free(a);
}

/* Tests that a row that attnc wrote on 2026-11-26 is read, and written again as
 * the same text. */
static void test_old_row(void **state)
{
    static const char old[] =
        "{\"hash\":\"79afc6be17d444cb\",\"host\":\"AMD EPYC (32K 512K 32M), "
        "x86-64-v3, 1 thread, libtcc\",\"size\":[12,12,8,1,1,1],"
        "\"parameters\":44288.0,\"flops\":957440.0,\"weights\":181248.0,"
        "\"memory\":511552.0,\"note\":null,\"fields\":[],\"mixing\":{"
        "\"complexity\":\"n^2 d\",\"operations\":4608.0,\"sequential\":1.0,"
        "\"path\":1.0,\"flops\":126240.0},\"encode\":{\"cost\":{"
        "\"flops\":551424.0,\"dots\":0.0,\"weights\":88320.0,\"again\":0.0,"
        "\"scan\":0.0,\"cached\":0.0,\"values\":102960.0,"
        "\"written\":50688.0},\"tokens\":12.0,\"estimate\":null,\"load\":["
        "0.0,4.8373639926767686e-6,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,"
        "0.0,3.5667199946003823e-7,1.3375199979751433e-7,"
        "8.2249832395764271e-8,1.0,13.0,6912.0,0.0,288.0,0.0],"
        "\"limit\":5.3352186585897381e-6,\"bound\":4,"
        "\"results\":\"2d76b92625e4bd16\",\"times\":[19427,19416,18975]}}";
    Arena *a = arena_new();
    Row r = { 0 };
    (void)state;
    json_t *o = json_loads(old, 0, NULL);
    assert_true(row_read(a, &r, o, 0));
    json_decref(o);
    assert_int_equal(r.state, RowTimed);
    assert_int_equal(r.work[WorkEncode].bound, BoundFma);
    o = row_json(&r, 0);
    char *again = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    assert_string_equal(again, old);
    free(again);
    json_decref(o);
    arena_free(a);
}

/* ---- children ---- */
static int facts_kill(const Sweep *s, const Variant *v, Row *r)
{
    (void)s, (void)v, (void)r;
    return raise(SIGKILL);
}

static int facts_fail(const Sweep *s, const Variant *v, Row *r)
{
    (void)s, (void)v, (void)r;
    fail(ExitResource, "too little of it");
}

static int facts_die(const Sweep *s, const Variant *v, Row *r)
{
    (void)s, (void)v, (void)r;
    die("it is broken");
}

static int facts_say(const Sweep *s, const Variant *v, Row *r)
{
    const Source text = { "a.yaml", "h: 3\n", 5, 0 };
    (void)s, (void)v, (void)r;
    warning_at((Pos){ 0 }, "look out");
    error_at((Pos){ &text, 1, 4 }, "h is 3");
    return ExitInput;
}

static int facts_warn(const Sweep *s, const Variant *v, Row *r)
{
    (void)s, (void)v;
    warning_at((Pos){ 0 }, "look out");
    r->hash = "1";
    return ExitDone;
}

static int facts_silent(const Sweep *s, const Variant *v, Row *r)
{
    (void)s, (void)v, (void)r;
    _exit(0);
}

static Row child(Arena *a, int facts(const Sweep *, const Variant *, Row *))
{
    const SweepOptions o = new_options(tiny, 1, NULL, 0);
    static const Variant v = { "x.yaml", "x", NULL };
    Sweep s = { .options = &o, .arena = a };
    Row r = { .variant = &v };
    assert_true(child_row(&s, &r, facts));
    return r;
}

static void check_child(int facts(const Sweep *, const Variant *, Row *),
                        int code, const char *message)
{
    Arena *a = arena_new();
    const Row r = child(a, facts);
    assert_int_equal(r.state, RowRefused);
    assert_int_equal(r.code, code);
    assert_string_equal(r.message, message);
    arena_free(a);
}

static void test_children(void **state)
{
    (void)state;
    check_child(facts_kill, ExitResource,
                "its process was ended by signal 9 (Killed)");
    check_child(facts_fail, ExitResource, "too little of it");
    check_child(facts_die, ExitInternal, "internal error: it is broken");
    check_child(facts_say, ExitInput, "a.yaml:1:4: h is 3");
    check_child(facts_silent, ExitInternal, "it cannot be made");
    Arena *a = arena_new();
    const Row r = child(a, facts_warn);
    assert_int_equal(r.state, RowPlanned);
    assert_string_equal(r.note, "look out");
    arena_free(a);
}

/* ---- the whole ---- */

/* Tests that a run uses the memory that its plan predicts. */
static void test_plans(void **state)
{
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/attention.yaml",
                                         "models/gpt-nano-sort.yaml",
                                         "tests/spec/good.yaml" };
    static const char *const vary[] = { "b=1,3", "threads=1,2" };
    Arena *a = arena_new();
    const SweepOptions o = { .specs = specs,
                             .nspecs = 4,
                             .vary = vary,
                             .nvary = 2,
                             .model = { .threads = -1 },
                             .work = { .steps = -1, .beam = 1 } };
    Machine machine;
    Sweep s = { .options = &o,
                .arena = a,
                .machine = &machine,
                .threads = 2,
                .runs = 1,
                .estimates = true };
    (void)state;
    machine_find(&machine);
    machine.counts = 1;
    machine.rates[0] = (Rates){
        1, 1e11, 4e11, 2e11, { 4e11, 2e11, 1e11, 2e10 }
    };
    axes_read(a, &o, &s.axes);
    grid_make(a, &o, &s.axes, &s.variants);
    for (int i = 0; i < s.variants.n; i++) {
        Row planned = { .variant = &s.variants.at[i] }, run = planned;
        assert_true(child_row(&s, &planned, facts_plan));
        assert_true(child_row(&s, &run, facts_times));
        assert_int_equal(planned.state, RowPlanned);
        assert_int_equal(run.state, RowTimed);
        assert_string_equal(planned.hash, run.hash);
        assert_true(planned.memory > planned.weights);
        assert_memory_equal(&planned.memory, &run.memory, sizeof(double));
        assert_memory_equal(&planned.flops, &run.flops, sizeof(double));
        for (int k = 0; k < WorkKinds; k++) {
            assert_int_equal(planned.work[k].there, run.work[k].there);
            assert_memory_equal(&planned.work[k].cost, &run.work[k].cost,
                                sizeof(Cost));
            assert_int_equal(run.work[k].times.n, run.work[k].there);
            assert_true(!run.work[k].there || planned.work[k].estimate > 0);
        }
    }
    arena_free(a);
}

/* Returns the report as JSON, or NULL. */
static json_t *sweep(const SweepOptions *o, int *code)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    *code = sweep_run(o, out);
    fclose(out);
    json_t *report = json_loads(text, 0, NULL);
    free(text);
    return report;
}

/* Tests that a variant too large for any machine is a row, and that others run.
 */
static void test_large(void **state)
{
    static const char *const vary[] = { "vocab.size=64,16777216",
                                        "d_model=32,8192" };
    SweepOptions o = new_options(tiny, 1, vary, 2);
    int code;
    (void)state;
    o.zip = true;
    json_t *report = sweep(&o, &code);
    const json_t *rows = json_object_get(report, "rows");
    assert_int_equal(code, ExitDone);
    assert_int_equal(json_array_size(rows), 2);
    const char *why = json_string_value(
        json_object_get(json_array_get(rows, 1), "error"));
    assert_non_null(why);
    assert_non_null(strstr(why, "it needs "));
    assert_true(
        json_real_value(json_object_get(json_array_get(rows, 0), "search_ms"))
        > 0);
    json_decref(report);
}

/* How many rows of a sweep of three variants have a time. */
static int count_timed(double budget)
{
    static const char *const vary[] = { "h=1,2,4" };
    SweepOptions o = new_options(tiny, 1, vary, 1);
    int code, n = 0;
    o.budget = budget;
    json_t *report = sweep(&o, &code);
    assert_int_equal(code, ExitDone);
    const json_t *rows = json_object_get(report, "rows");
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *ms = json_object_get(json_array_get(rows, i),
                                           "search_ms");
        n += json_is_real(ms) && json_real_value(ms) > 0;
    }
    json_decref(report);
    return n;
}

/* Tests that without a time budget nothing is timed, and with enough of it each
 * variant; how much is enough depends on the machine's load. */
static void test_budget(void **state)
{
    (void)state;
    assert_int_equal(count_timed(1e-9), 0);
    for (double budget = 4; count_timed(budget) < 3; budget *= 4)
        assert_true(budget < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_grid),
        cmocka_unit_test(test_labels),   cmocka_unit_test(test_variant),
        cmocka_unit_test(test_front),    cmocka_unit_test(test_near),
        cmocka_unit_test(test_row),      cmocka_unit_test(test_old_row),
        cmocka_unit_test(test_children), cmocka_unit_test(test_plans),
        cmocka_unit_test(test_large),    cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
