/* tune_report_test.c: tests the report of a tuning, in all of its forms, for an
 * invented report: nothing is tuned here. */
#define _GNU_SOURCE /* open_memstream */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune_report.h"

#include <cmocka.h> /* after ours: it defines fail() */

#include "support/check_xml.h"
#include "support/expected.h"
#include "support/fake_tune.h"

/* Returns what `put` prints, to be freed. */
static char *printed(void put(const TuneReport *r, FILE *out),
                     const TuneReport *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    put(r, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), size);
    return text;
}

/* ATTNC_REWRITE=1 writes the file. */
static void assert_golden(const char *path, const char *text)
{
    char want[16384];
    if (getenv("ATTNC_REWRITE")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text, f);
        assert_int_equal(fclose(f), 0);
    }
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    want[fread(want, 1, sizeof want - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, want);
}

/* Checks that text for a terminal has no control sequences, and lines of at
 * most 80 columns. */
static void assert_plain(const char *text)
{
    assert_still(text);
    for (; *text; text += *text == '\n') {
        assert_in_range(strcspn(text, "\n"), 0, 80);
        text += strcspn(text, "\n");
    }
}

/* ---- forms ---- */
static void table(void **state)
{
    (void)state;
    const TuneReport r = fake_report();
    char *text = printed(tune_print, &r);
    assert_plain(text);
    assert_golden("tests/tune/tune_report.txt", text);
    free(text);
}

/* Prints records of this host; of this machine for other code; of other
 * machines. */
static void explain(const TuneReport *r, FILE *out)
{
    Records all = { 0 };
    for (int i = 0; i < 2 * r->task.n + 2; i++) {
        const TuneTask *t = &r->task.at[i % r->task.n];
        Record one = { .host = r->host,
                       .key = t->task->key,
                       .tiling = task_best(t)->tiling,
                       .ns = 1.94e6,
                       .usual_ns = 2e6,
                       .samples = 31,
                       .spread = 0.004 };
        if (i >= r->task.n) {
            one.host.isa = "x86-64-v4/8";
            one.host.threads = 1;
            one.host.compiler = "libtcc";
        }
        if (i >= 2 * r->task.n)
            one.host.cpu = "another";
        vec_push(a, &all.at, one);
    }
    records_explain(&all, &r->host, "x86-64-v4", &r->machine, out);
}

static void explained(void **state)
{
    (void)state;
    const TuneReport r = fake_report();
    char *text = printed(explain, &r);
    assert_plain(text);
    assert_golden("tests/tune/tune_explain.txt", text);
    free(text);
}

static json_t *get(const json_t *o, const char *key)
{
    json_t *value = json_object_get(o, key);
    if (!value)
        print_error("no key %s\n", key);
    assert_non_null(value);
    return value;
}

static json_t *json(const TuneReport *r)
{
    json_error_t why;
    char *text = printed(tune_json, r);
    json_t *all = json_loads(text, 0, &why);
    if (!all)
        print_error("%d: %s\n", why.line, why.text);
    assert_non_null(all);
    free(text);
    return all;
}

static void numbers(void **state)
{
    (void)state;
    const TuneReport r = fake_report();
    json_t *all = json(&r), *task = json_array_get(get(all, "tasks"), 0);
    const json_t *of = get(task, "candidates"), *one = json_array_get(of, 14);
    assert_int_equal(json_array_size(get(all, "tasks")), FakeTasks);
    assert_int_equal(json_array_size(of), FakeTimed + FakeRanked + FakeRemoved);
    assert_string_equal(json_string_value(get(get(all, "host"), "cpu")),
                        fake_cpu);
    assert_int_equal(json_integer_value(get(get(task, "default"), "nr")), 64);
    assert_true(json_equal(get(task, "chosen"), get(one, "tiling")));
    assert_float_equal((float)json_real_value(get(one, "seconds")),
                       2e-3f / 1.031f, 1e-9f);
    assert_float_equal((float)json_real_value(get(get(task, "gain"), "low")),
                       1.027f, 1e-6f);
    assert_true(json_is_null(get(json_array_get(of, 4), "seconds")));
    assert_string_equal(json_string_value(get(json_array_get(of, 4), "status")),
                        "ranked");
    for (int i = 0; i < FakeRemoved; i++) {
        one = json_array_get(of, FakeTimed + FakeRanked + i);
        assert_string_equal(json_string_value(get(one, "status")),
                            status_word[StatusFailed + i]);
        assert_true(json_string_length(get(one, "why")) > 0);
    }
    task = json_array_get(get(all, "tasks"), 5);
    assert_true(json_is_false(get(task, "finished")));
    one = json_array_get(get(all, "end_to_end"), 1);
    assert_string_equal(json_string_value(get(one, "workload")), "step");
    assert_int_equal(json_integer_value(get(one, "pairs")), 200);
    json_decref(all);
}

static const char *drawn(const TuneReport *r)
{
    const char *text = draw_tune(r);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    return text;
}

/* Checks a dot for each timed candidate, a cross for each removed one, and one
 * more of each in the legend. */
static void picture(void **state)
{
    (void)state;
    TuneReport r = fake_report();
    r.task.at[0].candidate.at[FakeTimed + FakeRanked + FakeRemoved - 1].status =
        StatusCrashed; /* otherwise "nan" is a word of the picture */
    const char *text = drawn(&r);
    int dots = 0;
    for (int i = 0; i < r.task.n; i++)
        if (!r.task.at[i].reused)
            dots += task_count(&r.task.at[i], was_timed);
    assert_int_equal(count(text, "class=\"dot\""), dots + 2); /* legend */
    assert_int_equal(count(text, ">over 2 x default<"), 1);
    assert_int_equal(count(text, "class=\"removed\""), FakeRemoved + 1);
    assert_int_equal(count(text, "class=\"default\""), FakeTasks - 1 + 1);
    assert_int_equal(count(text, "class=\"limit\""), FakeTasks - 1 + 1);
    assert_int_equal(check_xml(text, "title"),
                     1 + dots + FakeRemoved + FakeTasks - 1);
    const int faster = count(text, "fresh pairs decide");
    /* looks faster than the default, which was kept */
    TuneTask *t = &r.task.at[1];
    assert_int_equal(t->incumbent, 0);
    for (int i = 1; i < t->candidate.n; i++)
        t->candidate.at[i].seconds = 1.5 * t->candidate.at[0].seconds;
    text = drawn(&r);
    assert_int_equal(count(text, "fresh pairs decide"), faster - 1);
    t->candidate.at[1].seconds = 0.9 * t->candidate.at[0].seconds;
    text = drawn(&r);
    assert_int_equal(count(text, "fresh pairs decide"), faster);
    t->taken_back = "slower";
    assert_int_equal(count(drawn(&r), "taken back: slower end to end"), 1);
}

/* Tests that a reverted tiling stays in the report, with the reason. */
static void taken_back(void **state)
{
    (void)state;
    TuneReport r = fake_report();
    r.task.at[0].taken_back = "end to end, encode is slower with it";
    char *text = printed(tune_print, &r);
    assert_plain(text);
    assert_int_equal(count(text, "found +3.1 (+2.7..+3.6); taken back: end to "
                                 "end, encode is slower with it\n"),
                     1);
    assert_int_equal(count(text, "1 of 5 that were found was taken back: "), 1);
    assert_int_equal(count(text, "3 new records"), 1);
    free(text);
    for (int i = 0; i < FakeTasks; i++)
        r.task.at[i].taken_back = r.task.at[0].taken_back;
    r.rejected = true;
    text = printed(tune_print, &r);
    assert_int_equal(count(text, "Rejected: "), 1);
    assert_int_equal(count(text, "Nothing is faster"), 0);
    assert_int_equal(count(text, "what was found, "), 0);
    free(text);
    json_t *all = json(&r), *task = json_array_get(get(all, "tasks"), 0);
    assert_true(json_equal(get(task, "chosen"), get(task, "default")));
    assert_int_equal(json_integer_value(get(get(task, "found"), "nr")), 32);
    json_decref(all);
}

/* Tests one report of both back ends. */
static void both(void **state)
{
    (void)state;
    TuneReport r = fake_report(), jit = fake_report();
    jit.host.compiler = "libtcc";
    jit.jit = true;
    jit.end_to_end.at[1].comparison = 2;
    r.other = &jit;
    for (int i = 0; i < 2; i++) /* otherwise "nan" is a word of the picture */
        (i ? &jit : &r)
            ->task.at[0]
            .candidate.at[FakeTimed + FakeRanked + FakeRemoved - 1]
            .status = StatusCrashed;
    char *text = printed(tune_print, &r);
    assert_plain(text);
    assert_int_equal(count(text, "== code of "), 2);
    assert_int_equal(count(text, "without what is slower "), 1);
    assert_int_equal(count(text, "attnc compile uses what was found, "), 1);
    assert_int_equal(count(text, "attnc run, score, bench and verify use what "
                                 "was found, on 2 threads."),
                     1);
    free(text);
    json_t *all = json(&r), *one = json_array_get(get(all, "others"), 0);
    assert_string_equal(json_string_value(get(get(one, "host"), "compiler")),
                        "libtcc");
    assert_int_equal(json_array_size(get(one, "tasks")), FakeTasks);
    json_decref(all);
    check_xml(drawn(&r), "title");
    assert_int_equal(count(drawn(&r), "libtcc: matmul"), 2);
}

static void assert_busy(const TuneReport *r, const char *said)
{
    char *text = printed(tune_print, r);
    assert_plain(text);
    assert_int_equal(count(text, "This machine is busy"), said != NULL);
    if (said && !strstr(text, said))
        fail_msg("no \"%s\" in:\n%s", said, text);
    free(text);
}

/* Tests that wide intervals are reported once: of a task, of the model, of any
 * back end. */
static void busy(void **state)
{
    (void)state;
    static const char says[] =
        "\nThis machine is busy: gains are known to +-15 % only. End what "
        "else runs on it,\nor give --budget more.\n";
    const Interval wide = { 0.85, 1.0, 1.15 }, narrow = { 0.96, 1.0, 1.04 };
    TuneReport r = fake_report(), other = fake_report();
    r.other = &other;
    assert_busy(&r, NULL);
    r.task.at[0].gain = r.end_to_end.at[0].gain = narrow;
    assert_busy(&r, NULL);
    r.task.at[4].gain = wide; /* not timed again */
    assert_busy(&r, NULL);
    r.task.at[0].gain = r.task.at[1].gain = wide;
    assert_busy(&r, says);
    r.task.at[0].gain = r.task.at[1].gain = narrow;
    other.end_to_end.at[1].gain = wide;
    assert_busy(&r, says);
}

/* ---- hostile ---- */
static void nothing(TuneReport *r)
{
    r->task.n = r->end_to_end.n = r->machine.counts = 0;
    r->interrupted = true;
    r->path = NULL;
}

static void all_reused(TuneReport *r)
{
    for (int i = 0; i < r->task.n; i++) {
        r->task.at[i].reused = true;
        r->task.at[i].candidate.n = i % 2;
        r->task.at[i].incumbent = 0;
    }
}

static void stopped(TuneReport *r)
{
    for (int i = 0; i < r->task.n; i++) {
        r->task.at[i].finished = r->task.at[i].reused = false;
        r->task.at[i].gain = (Interval){ 0, 0, 0 };
        r->task.at[i].pairs = 0;
    }
    r->end_to_end.n = 0;
    r->interrupted = true;
}

static void no_numbers(TuneReport *r)
{
    const double bad[] = { NAN, INFINITY, -1, 0, 1e300, 1e-300 };
    int n = 0;
    for (int i = 0; i < r->task.n; i++) {
        TuneTask *t = &r->task.at[i];
        for (int k = 0; k < t->candidate.n; k++) {
            Candidate *c = &t->candidate.at[k];
            c->seconds = bad[n++ % 6];
            c->when = bad[n++ % 6];
        }
        t->share = t->limit = t->p_value = bad[i];
        t->gain = (Interval){ bad[i], bad[(i + 1) % 6], bad[(i + 2) % 6] };
    }
    r->end_to_end.at[0].by_default = r->end_to_end.at[0].tuned = NAN;
    r->end_to_end.at[0].gain = (Interval){ NAN, NAN, NAN };
    r->machine.cache[LevelL2] = 0;
    r->machine.rates[0].read[LevelL2] = 0;
    r->rejected = true;
}

static void strange(TuneReport *r)
{
    static const Task strange_tasks[] = {
        { .key = { TaskMatmul, "x", "\x1b[2J", DtypeF32, ArithmeticF32 } },
        { .key = { TaskRows, "_x__", "", DtypeBf16, ArithmeticF32 } },
        { .key = { TaskRows, "9999999999x1_", "", DtypeBf16, ArithmeticF32 } },
        { .key = { TaskAttention, "-1x0", "", DtypeF32, ArithmeticF32 } },
        { .key = { TaskSmallM, "", "", DtypeF32, ArithmeticF32 } },
        { .key = { TaskSplit, "?", "<&>", DtypeF32, ArithmeticF32 } },
    };
    for (int i = 0; i < r->task.n; i++) {
        r->task.at[i].task = &strange_tasks[i];
        r->task.at[i].incumbent = i % 2 ? 99 : -1;
        r->task.at[i].bound = NULL;
        for (int k = 0; k < TilingParameters; k++)
            tiling_set(&r->task.at[i].candidate.at[1].tiling, k, 0);
    }
    r->task.at[1].incumbent = r->task.at[2].incumbent = 1;
    r->host.isa = "vax/0";
    r->host.cpu = "\xff\x07";
}

static void hostile(void **state)
{
    (void)state;
    void (*const makers[])(TuneReport *) = { nothing, all_reused, stopped,
                                             no_numbers, strange };
    for (int i = 0; i < 5; i++) {
        TuneReport r = fake_report();
        makers[i](&r);
        char *text = printed(tune_print, &r);
        assert_plain(text);
        assert_int_equal(count(text, "Interrupted with 0 of"),
                         makers[i] == nothing || makers[i] == stopped);
        assert_int_equal(count(text, "Rejected: "), makers[i] == no_numbers);
        assert_int_equal(count(text, " as recorded\n"),
                         makers[i] == all_reused
                             ? FakeTasks
                             : makers[i] == no_numbers || makers[i] == strange);
        check_xml(draw_tune(&r), "title");
        json_decref(json(&r));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),      cmocka_unit_test(explained),
        cmocka_unit_test(numbers),    cmocka_unit_test(picture),
        cmocka_unit_test(taken_back), cmocka_unit_test(both),
        cmocka_unit_test(busy),       cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
