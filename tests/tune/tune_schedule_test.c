/* tune_schedule_test.c: tests how a tuning divides its time, when it decides,
 * and what it reverts: on a simulated machine (fake_machine.h). */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "tune/tuner.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/fake_machine.h"

static TuneOptions options_of(double budget, const char *backend)
{
    return (TuneOptions){ .budget = budget,
                          .format = TuneJson,
                          .work = { .lengths = "16", .steps = 8, .beam = 1 },
                          .model = { .backend = backend,
                                     .march = "x86-64-v3", /* by any machine */
                                     .threads = 1 } };
}

static int set_up_here(void **state)
{
    const int rc = set_up(state);
    setenv("TMPDIR", dir, 1);
    fake_machine();
    return rc;
}

static int tear_down_here(void **state)
{
    unsetenv("TMPDIR");
    return tear_down(state);
}

static const json_t *other_of(const json_t *j)
{
    return json_array_get(json_object_get(j, "others"), 0);
}

/* Counts the tasks that the workloads call, except the one for threads. */
static int count_called(const json_t *j)
{
    int n = 0;
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(j, "tasks"), i, task)
        n += number_in(task, "share") > 0
          && strcmp(text_in(task, "kind"), "split") != 0;
    return n;
}

/* Makes one task faster with any tiling but the default. */
static double all_faster(const TuneTask *task, const Tiling *tiling)
{
    (void)task;
    (void)tiling;
    return 0.9;
}

static const char *text_report(void)
{
    File f;
    Fault why;
    assert_true(file_read(&f, in_dir("report.txt"), 1 << 24, &why));
    char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    return text;
}

/* ---- time ---- */

/* Tests that if nothing is faster, every task is decided and no time is left.
 */
static void test_budget(void **state)
{
    (void)state;
    json_t *j = fake_tune(options_of(60, NULL), ExitDone);
    const json_t *jit = other_of(j);
    assert_string_equal(text_in(json_object_get(jit, "host"), "compiler"),
                        "libtcc");
    assert_non_null(
        strstr(text_in(json_object_get(j, "host"), "compiler"), " -O2"));
    assert_int_equal(count_tasks(j, "finished"), count_called(j));
    assert_int_equal(count_tasks(jit, "finished"), count_called(jit));
    assert_true(number_in(j, "seconds") > 54 && number_in(j, "seconds") < 66);
    const Records all = fake_records();
    assert_int_equal(all.at.n, count_called(j) + count_called(jit));
    json_decref(j);
}

/* Tests that if something is faster, the end-to-end test has its time too. */
static void test_budget_found(void **state)
{
    (void)state;
    fake.run = all_faster;
    json_t *j = fake_tune(options_of(60, NULL), ExitDone);
    assert_true(json_array_size(json_object_get(j, "end_to_end")) > 0);
    assert_true(json_array_size(json_object_get(other_of(j), "end_to_end"))
                > 0);
    assert_true(number_in(j, "seconds") > 54 && number_in(j, "seconds") < 66);
    assert_true(fake.worst >= 0);
    json_decref(j);
}

static void test_one_backend(void **state)
{
    (void)state;
    static const char *const names[] = { "jit", "clang" };
    for (int i = 0; i < 2; i++) {
        json_t *j = fake_tune(options_of(20, names[i]), ExitDone);
        assert_int_equal(json_array_size(json_object_get(j, "others")), 0);
        assert_int_equal(i == 0,
                         !strcmp("libtcc", text_in(json_object_get(j, "host"),
                                                   "compiler")));
        assert_int_equal(i == 0, fake.compiled == 0);
        json_decref(j);
    }
}

/* Tests that without a C compiler the other back end is tuned; but a compiler
 * that the user named must exist. */
static void test_no_compiler(void **state)
{
    (void)state;
    TuneOptions o = options_of(20, NULL);
    setenv("PATH", dir, 1);
    json_t *j = fake_tune(o, ExitDone);
    assert_string_equal(text_in(json_object_get(j, "host"), "compiler"),
                        "libtcc");
    json_decref(j);
    o.model.cc = "./none";
    o.format = TuneLines;
    fake_tune(o, ExitBackend);
}

/* Tests that products of a small M take most of a decoder's time. */
static void test_small_m(void **state)
{
    (void)state;
    TuneOptions o = options_of(30, "clang");
    size_t i;
    json_t *task;
    int n = 0;
    o.work.lengths = "4";
    o.work.steps = 12;
    json_t *j = fake_tune(o, ExitDone);
    json_array_foreach(json_object_get(j, "tasks"), i, task)
    {
        if (strcmp(text_in(task, "kind"), "small_m") != 0
            || number_in(task, "share") < 0.05)
            continue;
        size_t k;
        json_t *c;
        n++;
        assert_true(true_in(task, "finished"));
        json_array_foreach(json_object_get(task, "candidates"), k, c)
            assert_true(!strcmp(text_in(c, "status"), "timed")
                        || strstr(text_in(c, "why"), "same code"));
    }
    assert_true(n > 0);
    json_decref(j);
}

/* Tests a machine so busy that a compilation takes twelve seconds. */
static void test_slow_compiler(void **state)
{
    (void)state;
    fake.compile = 12;
    json_t *j = fake_tune(options_of(120, "clang"), ExitDone);
    assert_int_equal(count_status(j, "failed", ""), 0);
    assert_true(count_tasks(j, "finished") > 0);
    assert_true(number_in(j, "seconds") < 180);
    json_decref(j);
}

/* Tests that the progress of a task that has begun is a part of the budget. */
static void test_bar(void **state)
{
    (void)state;
    json_t *j = fake_tune(options_of(40, NULL), ExitDone);
    assert_true(fake.first_done >= 0 && fake.first_done < 0.1);
    json_decref(j);
}

static double first_share; /* of the first task whose candidates run; -1 */

static double note_first(const TuneTask *task, const Tiling *tiling)
{
    (void)tiling;
    if (first_share < 0)
        first_share = task->share;
    return 1;
}

/* Tests that tasks with larger shares of the model's time come first. */
static void test_order(void **state)
{
    (void)state;
    size_t i;
    json_t *task;
    double most = 0, least = 1;
    fake.run = note_first;
    first_share = -1;
    json_t *j = fake_tune(options_of(20, "jit"), ExitDone);
    json_array_foreach(json_object_get(j, "tasks"), i, task)
    {
        const char *kind = text_in(task, "kind");
        const double share = number_in(task, "share");
        if (!strcmp(kind, "rows") || !strcmp(kind, "split") || share <= 0)
            continue; /* their candidates are complete models */
        most = fmax(most, share);
        least = fmin(least, share);
    }
    assert_true(least < most && fabs(first_share - most) < 1e-3 * most);
    json_decref(j);
}

/* ---- decisions ---- */

/* Tests that a time too short for a decision records nothing; a later tuning
 * continues. */
static void test_too_short(void **state)
{
    (void)state;
    json_t *j = fake_tune(options_of(1, "clang"), ExitDone);
    const int finished = count_tasks(j, "finished");
    const Records few = fake_records();
    for (int i = 0; i < few.at.n; i++)
        assert_true(few.at.at[i].samples
                    >= least_pairs_of(few.at.at[i].key.kind));
    assert_true(few.at.n <= finished && finished < count_called(j));
    json_decref(j);
    j = fake_tune(options_of(60, "clang"), ExitDone);
    assert_int_equal(count_tasks(j, "reused"), few.at.n);
    assert_int_equal(count_tasks(j, "finished"), count_called(j));
    json_decref(j);
}

/* Tests that a record of a single pair, from an earlier version, is ignored. */
static void test_old_record(void **state)
{
    (void)state;
    Fault why;
    json_decref(fake_tune(options_of(30, "jit"), ExitDone));
    Records all = fake_records();
    for (int i = 0; i < all.at.n; i++)
        all.at.at[i].samples = 1;
    assert_true(records_add(a, in_dir("tune.txt"), all.at.at, all.at.n, &why));
    json_t *j = fake_tune(options_of(30, "jit"), ExitDone);
    assert_int_equal(count_tasks(j, "reused"), 0);
    all = fake_records();
    for (int i = 0; i < all.at.n; i++)
        assert_true(all.at.at[i].samples > 1);
    json_decref(j);
}

/* ---- the end ---- */
static double noisy_loss(int workload, int pair)
{
    static const double x[] = { 1.09, 0.97, 1.05, 1.02, 0.95, 1.06, 0.96 };
    (void)workload;
    return x[pair % 7];
}

/* Tests that a median of 2 % slower is not evidence if some pairs show the
 * opposite. */
static void test_no_evidence(void **state)
{
    (void)state;
    fake.run = all_faster;
    fake.end = noisy_loss;
    json_t *j = fake_tune(options_of(30, "jit"), ExitDone);
    const json_t *end = json_array_get(json_object_get(j, "end_to_end"), 0);
    assert_true(number_in(json_object_get(end, "gain"), "middle") < 0.99);
    assert_true(number_in(json_object_get(end, "gain"), "high") > 1);
    assert_false(true_in(j, "rejected"));
    const Records all = fake_records();
    assert_true(all.at.n > 0 && all.at.at[0].ns < all.at.at[0].usual_ns);
    json_decref(j);
}

static double all_slower(int workload, int pair)
{
    (void)workload;
    (void)pair;
    return 1.05;
}

/* Tests that a rejected tiling stays in the report, with the reason. */
static void test_rejected(void **state)
{
    (void)state;
    TuneOptions o = options_of(30, "jit");
    size_t i;
    json_t *task;
    int back = 0;
    fake.run = all_faster;
    fake.end = all_slower;
    json_t *j = fake_tune(o, ExitDone);
    assert_true(true_in(j, "rejected"));
    json_array_foreach(json_object_get(j, "tasks"), i, task)
    {
        const json_t *found = json_object_get(task, "found");
        const json_t *chosen = json_object_get(task, "chosen");
        if (!*text_in(task, "taken_back"))
            continue;
        back++;
        assert_non_null(strstr(text_in(task, "taken_back"), "is slower"));
        assert_false(json_equal(found, chosen));
        assert_true(json_equal(chosen, json_object_get(task, "default")));
        assert_true(number_in(json_object_get(task, "gain"), "low") > 1.05);
    }
    assert_true(back > 3);
    assert_int_equal(fake_records().at.n, 0);
    json_decref(j);
    fake_machine();
    fake.run = all_faster;
    fake.end = all_slower;
    o.format = TuneLines;
    fake_tune(o, ExitDone);
    const char *text = text_report();
    assert_non_null(strstr(text, "Rejected: "));
    assert_null(strstr(text, "Nothing is faster"));
    assert_non_null(strstr(text, "taken back: end to end, "));
}

static double step_slower(int workload, int pair)
{
    (void)pair;
    return workload == 1 ? 1.05 : 0.95;
}

/* Tests that only the tasks of the slower workload are reverted. */
static void test_partly(void **state)
{
    (void)state;
    TuneOptions o = options_of(60, "jit");
    fake.run = all_faster;
    fake.end = step_slower;
    json_t *j = fake_tune(o, ExitDone);
    size_t i;
    json_t *task;
    int stand = 0, back = 0;
    json_array_foreach(json_object_get(j, "tasks"), i, task)
    {
        back += strstr(text_in(task, "taken_back"), "step is slower") != NULL;
        stand += !json_equal(json_object_get(task, "chosen"),
                             json_object_get(task, "default"));
    }
    assert_false(true_in(j, "rejected"));
    assert_true(stand > 0 && back > 0);
    assert_false(true_in(j, "stale"));
    json_decref(j);
}

int main(void)
{
#define HERE(f) cmocka_unit_test_setup_teardown(f, set_up_here, tear_down_here)
    /* clang-format off */
    const struct CMUnitTest tests[] = {
        HERE(test_budget),      HERE(test_budget_found),
        HERE(test_one_backend), HERE(test_no_compiler),
        HERE(test_small_m),     HERE(test_slow_compiler),
        HERE(test_bar),         HERE(test_order),
        HERE(test_too_short),   HERE(test_old_record),
        HERE(test_no_evidence), HERE(test_rejected),
        HERE(test_partly),
    };
    /* clang-format on */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
