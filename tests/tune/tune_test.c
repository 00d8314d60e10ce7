/* tune_test.c: tests the space of tilings, children that crash or hang, planted
 * bad candidates, and the results that a second run reuses. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "tune/tuner.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/fake_machine.h"

/* ---- space ---- */
static void check_space(const char *spec, const char *march)
{
    Engine e = { 0 };
    Machine m = { .cpu = "", .cores = 2, .cache = { 32768, 1 << 20, 1 << 25 } };
    const Rates r = { 2, 2e11, 0, 0, { 4e11, 2e11, 1e11, 5e10 } };
    const EngineOptions o = { .spec = spec, .march = march };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    CallSizes sizes = { 0 };
    vec_push(e.arena, &sizes,
             ((CallSize){ .calls = 2,
                          .rows = 43,
                          .count = 128,
                          .parts = 2,
                          .by_columns = true,
                          .set = 1e8 }));
    for (int i = 0; i < e.plan->task.n; i++) {
        const Task *t = &e.plan->task.at[i];
        const CostModel model = cost_model_of((CostModel){ .plan = e.plan,
                                                           .machine = &m,
                                                           .rates = &r,
                                                           .task = t,
                                                           .sizes = sizes,
                                                           .threads = 2 });
        const Tilings all = tiling_space(e.arena, &model);
        assert_true(all.n > 0);
        for (int k = 0; k < all.n; k++) {
            assert_true(tiling_valid(&all.at[k], t->key.kind));
            assert_false(tiling_same(&all.at[k], &t->defaults));
            assert_true(!(On(t->key.kind) & OnProducts)
                        || tiling_fits(&e.target, &all.at[k]));
            assert_true(isfinite(tiling_seconds(&model, &all.at[k])));
        }
        const Tilings near = tiling_neighbours(e.arena, &model, &t->defaults);
        for (int k = 0; k < near.n; k++)
            assert_true(tiling_valid(&near.at[k], t->key.kind));
    }
    engine_close(&e);
}

static void test_space(void **state)
{
    (void)state;
    static const char *const marches[] = { "x86-64-v4", "x86-64-v3",
                                           "generic" };
    for (int i = 0; i < 3; i++) {
        check_space("models/tiny.yaml", marches[i]);
        check_space("models/transformer-base.yaml", marches[i]);
    }
}

/* Returns the predicted seconds of the first product of transformer-base in
 * bf16_dp. */
static double pairs_seconds(const char *march)
{
    static const char *const sets[] = { "dtype=bf16", "arithmetic=bf16_dp" };
    const Machine m = { .cache = { 32768, 1 << 20, 1 << 25 } };
    const Rates r = { 1, 2e11, 0, 4e11, { 4e11, 2e11, 1e11, 5e10 } };
    const EngineOptions o = { .spec = "models/transformer-base.yaml",
                              .sets = sets,
                              .nsets = 2,
                              .march = march };
    Engine e = { 0 };
    CallSizes sizes = { 0 };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const Task *t = &e.plan->task.at[0];
    assert_int_equal(t->key.arithmetic, ArithmeticBf16Dp);
    vec_push(e.arena, &sizes,
             ((CallSize){ .calls = 1, .rows = 100, .parts = 1, .set = 1e5 }));
    const CostModel model = cost_model_of((CostModel){ .plan = e.plan,
                                                       .machine = &m,
                                                       .rates = &r,
                                                       .task = t,
                                                       .sizes = sizes,
                                                       .threads = 1 });
    const Tiling by = { .mr = 5, .nr = 64, .k = 512, .prefetch = 1 };
    const double seconds = tiling_seconds(&model, &by);
    engine_close(&e);
    return seconds;
}

/* Tests that sums take fewer steps if an instruction adds two k. */
static void test_pairs(void **state)
{
    (void)state;
    const double ratio = pairs_seconds("znver4") / pairs_seconds("x86-64-v4");
    assert_true(ratio > 0.5 && ratio < 0.8);
}

/* ---- children ---- */
enum {
    Good,
    CrashOpening,
    HangChecking,
    Wrong,
    ExitTiming,
    Refused,
    Fast,
    Kinds
};

static bool fake_begin(void *with, Fault *why)
{
    (void)with;
    (void)why;
    return true;
}

static bool fake_open(void *with, int candidate, Fault *why)
{
    (void)with;
    if (candidate == CrashOpening)
        raise(SIGSEGV);
    return candidate != Refused || fault(why, ExitBackend, "refused");
}

/* Returns the same value for all candidates but one. */
static Result fake_result(void *with, int candidate, int i)
{
    static float value[8];
    (void)with;
    (void)i;
    while (candidate == HangChecking)
        pause();
    value[7] = candidate == Wrong;
    return (Result){ .at = value, .bytes = sizeof value, .floats = true };
}

static void fake_time(void *with, int candidate, double *seconds)
{
    (void)with;
    if (candidate == ExitTiming)
        _exit(3);
    *seconds = candidate == Fast ? 0.5 : 1;
}

static const ChildWork fake_work = { .results = 1,
                                     .parts = 1,
                                     .begin = fake_begin,
                                     .open = fake_open,
                                     .result = fake_result,
                                     .time = fake_time };

/* Tests that each bad candidate is blamed, and that all others are timed
 * normally. */
static void test_child(void **state)
{
    (void)state;
    static const int who[] = { Good,       CrashOpening, HangChecking, Wrong,
                               ExitTiming, Refused,      Fast };
    static const struct {
        Status status;
        const char *why;
    } expected[Kinds] = {
        { StatusTimed, "" },
        { StatusCrashed, "signal 11" },
        { StatusHung, "no answer in 0.2 s while checking" },
        { StatusWrong, "value 7 is 1, by default 0" },
        { StatusCrashed, "exit code 3" },
        { StatusFailed, "refused" },
        { StatusTimed, "" },
    };
    Measurement r = { .which = who,
                      .n = Kinds,
                      .repetitions = 6,
                      .hang = 0.2,
                      .until = seconds_now() + 60,
                      .order = 3 };
    child_measure(a, &fake_work, &r);
    assert_int_equal(r.done, 6);
    for (int i = 0; i < Kinds; i++) {
        assert_int_equal(r.verdict[i].status, expected[i].status);
        assert_non_null(strstr(r.verdict[i].why, expected[i].why));
    }
    for (int i = 0; i < 6; i++) {
        assert_true(r.sample[i * Kinds + Good] == 1);
        assert_true(r.sample[i * Kinds + Fast] == 0.5);
    }
}

/* Tests that nothing is decided if the default fails, and that no repetition
 * begins too late. */
static void test_child_default(void **state)
{
    (void)state;
    static const int bad[] = { CrashOpening, Good }, good[] = { Good, Fast };
    Measurement r = { .which = bad,
                      .n = 2,
                      .repetitions = 2,
                      .hang = 1,
                      .until = seconds_now() + 60 };
    child_measure(a, &fake_work, &r);
    assert_int_equal(r.done, 0);
    assert_int_equal(r.verdict[0].status, StatusCrashed);
    r = (Measurement){
        .which = good, .n = 2, .repetitions = 2, .hang = 1, .until = 0
    };
    child_measure(a, &fake_work, &r);
    assert_int_equal(r.done, 1);
    assert_int_equal(r.verdict[0].status, StatusTimed);
}

/* ---- whole runs ---- */

/* Makes every third tiling much faster. */
static double some_faster(const TuneTask *task, const Tiling *tiling)
{
    int32_t sum = 0;
    for (int i = 0; i < TilingParameters; i++)
        sum += tiling_get(tiling, i) * (i + 1);
    return !tiling_same(tiling, &task->task->defaults) && sum % 3 == 0 ? 0.8
                                                                       : 1.1;
}

/* Changes results of libtcc's code, whose candidates run here on a simulated
 * clock. */
typedef void Plant(const Task *task, int candidate, float *result);

static json_t *tuned_with(const char *weights, Plant *plant, int code)
{
    const char *const sets[] = { "kind=encoder", weights };
    const TuneOptions o = {
        .budget = 4,
        .format = TuneJson,
        .work = { .lengths = "16", .beam = 1 },
        .model = { .sets = sets, .nsets = 2, .backend = "jit", .threads = 1 },
    };
    fake_machine();
    fake.children = true;
    fake.run = some_faster;
    fake.plant = plant;
    return fake_tune(o, code);
}

static json_t *tuned(Plant *plant, int code)
{
    return tuned_with("dtype=f32", plant, code);
}

/* Checks that no task has chosen a removed candidate. */
static void check_choices(const json_t *j)
{
    size_t i, k;
    json_t *task, *c;
    json_array_foreach(json_object_get(j, "tasks"), i, task)
    {
        const json_t *chosen = json_object_get(task, "chosen");
        json_array_foreach(json_object_get(task, "candidates"), k, c)
        {
            const bool same = json_equal(json_object_get(c, "tiling"), chosen);
            assert_true(!same || !strcmp(text_in(c, "status"), "timed")
                        || !true_in(task, "finished"));
        }
    }
}

static int *hung; /* shared by all children: true if one has hung */

static void plant_crash(const Task *task, int candidate, float *result)
{
    (void)result;
    if (task && candidate % 2 == 0)
        raise(SIGILL);
}

static void plant_hang(const Task *task, int candidate, float *result)
{
    (void)task;
    (void)candidate;
    (void)result;
    while (!(*hung)++)
        pause();
}

static void plant_wrong(const Task *task, int candidate, float *result)
{
    if (task && candidate % 2 == 0)
        result[3] += 0.001f;
}

static void plant_nan(const Task *task, int candidate, float *result)
{
    if (task && candidate % 2 == 0)
        result[5] = NAN;
}

static void test_planted(void **state)
{
    (void)state;
    static const struct {
        Plant *plant;
        const char *status, *why;
    } kinds[] = {
        { plant_crash, "crashed", "signal 4" },
        { plant_hang, "hung", "no answer" },
        { plant_wrong, "wrong", "by default" },
        { plant_nan, "nan", "no numbers" },
    };
    hung = mmap(NULL, sizeof *hung, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(hung != MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        remove(in_dir("tune.txt"));
        json_t *j = tuned(kinds[i].plant, ExitDone);
        assert_true(count_status(j, kinds[i].status, kinds[i].why) > 0);
        assert_true(count_status(j, "timed", "") > 1);
        assert_true(count_tasks(j, "finished") > 0);
        check_choices(j);
        json_decref(j);
    }
    munmap(hung, sizeof *hung);
}

/* Tests candidates for weights of other formats, in each arithmetic. Tiles that
 * widen integers agree with the default, because the task's weights are packed,
 * and its rows quantised, as in a model. */
static void test_formats(void **state)
{
    (void)state;
    static const char *const weights[] = {
        "dtype=bf16",
        "arithmetic=bf16x3",
        "dtype=int8",
        "dtype=int8,arithmetic=int8",
        "dtype=int4,arithmetic=int8",
        "dtype=int4g64,arithmetic=int15",
    };
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        remove(in_dir("tune.txt"));
        json_t *j = tuned_with(weights[i], NULL, ExitDone);
        assert_int_equal(count_status(j, "crashed", ""), 0);
        assert_int_equal(count_status(j, "wrong", ""), 0);
        assert_true(count_status(j, "timed", "") > 1);
        assert_true(count_tasks(j, "finished") > 0);
        json_decref(j);
    }
}

/* Tests that a second run uses the results of the first. */
static void test_resume(void **state)
{
    (void)state;
    json_t *first = tuned(NULL, ExitDone), *second = tuned(NULL, ExitDone);
    assert_true(count_tasks(first, "finished") > 0);
    assert_int_equal(count_tasks(first, "reused"), 0);
    assert_int_equal(count_tasks(second, "reused"),
                     count_tasks(first, "finished"));
    json_decref(first);
    json_decref(second);
}

static void plant_whole(const Task *task, int candidate, float *result)
{
    (void)candidate;
    if (!task)
        result[0] += 1;
}

static bool equal_records(const Record *x, const Record *y)
{
    return task_same(&x->key, &y->key) && x->samples == y->samples
        && tiling_same(&x->tiling, &y->tiling);
}

/* Tests that a tiling that makes the model wrong or slow is reverted; earlier
 * choices stay. */
static void test_taken_back(void **state)
{
    (void)state;
    Fault why;
    json_decref(tuned(NULL, ExitDone));
    const Records all = fake_records();
    assert_true(all.at.n > 0);
    Record one = all.at.at[0];
    one.tiling.prefetch = one.tiling.prefetch == 1 ? 2 : 1;
    one.samples = 1; /* too few to be trusted */
    assert_int_equal(remove(in_dir("tune.txt")), 0);
    assert_true(records_add(a, in_dir("tune.txt"), &one, 1, &why));
    json_t *j = tuned(plant_whole, ExitDone);
    assert_true(true_in(j, "rejected"));
    const Records left = fake_records();
    assert_non_null(records_find(&left, &one));
    for (int i = 0; i < left.at.n; i++) /* else the default stays */
        assert_true(equal_records(&left.at.at[i], &one)
                    || left.at.at[i].ns >= left.at.at[i].usual_ns);
    json_decref(j);
}

/* Records that cannot be written: exit code, after the report. */
static void test_no_room(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_dir("tune.txt"), 0700), 0);
    json_t *j = tuned(NULL, ExitIO);
    assert_true(count_tasks(j, "finished") > 0);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test_setup_teardown(test_child, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_child_default, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_planted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_formats, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resume, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
