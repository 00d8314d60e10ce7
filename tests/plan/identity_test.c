/* identity_test.c: tests that tasks of attention are the same if their numbers
 * are equal, to the last bit, and that their keys equal those of old records if
 * these are unambiguous. */
#define _GNU_SOURCE /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "base/strings.h"
#include "engine/engine.h"
#include <cmocka.h>

#include "support/scratch.h"

static const char spec[] = "attnc: 1\nname: two\nkind: decoder\nd_model: 32\n"
                           "h: 2\nN: 2\nd_ff: 16\nmax_len: 16\n"
                           "vocab: {size: 16}\n"
                           "attention: {clip: 2}\n" /* scores are scaled */
                           "layers:\n"
                           "  - {attention: %s}\n"
                           "  - {attention: %s}\n";

static void plan_of(Engine *e, Arena *a, const char *first, const char *second,
                    Choices choices)
{
    const char *text = arena_printf(a, spec, first, second);
    const EngineOptions o = {
        .spec = scratch_file("two.yaml", text, strlen(text)), .choices = choices
    };
    assert_int_equal(engine_plan(e, &o), ExitDone);
}

/* Finds the attention tasks of a plan, `n` of them. */
static void find_tasks(const Engine *e, const Task *task[2], int n)
{
    int found = 0;
    for (int i = 0; i < e->plan->task.n; i++)
        if (e->plan->task.at[i].key.kind == TaskAttention) {
            assert_true(found < n);
            task[found++] = &e->plan->task.at[i];
        }
    assert_int_equal(found, n);
}

/* Checks that two layers with these numbers have tasks of these names; NULL: a
 * single task. */
static void check_names(const char *first, const char *second,
                        const char *name1, const char *name2)
{
    Arena *a = arena_new();
    const Task *task[2];
    Engine e;
    plan_of(&e, a, first, second, (Choices){ 0 });
    find_tasks(&e, task, name2 ? 2 : 1);
    assert_string_equal(task[0]->name.epilogue, name1);
    if (name2)
        assert_string_equal(task[1]->name.epilogue, name2);
    engine_close(&e);
    arena_free(a);
}

static const char *field(Arena *a, const char *key, double x)
{
    return arena_printf(a, "{%s: %s}", key, number_text(a, x));
}

static void test_names(void **state)
{
    (void)state;
    check_names("{scale: 1, softcap: 30}", "{scale: 1, softcap: 30}",
                "causal_paged_cap30000", NULL);
    check_names("{scale: 1, softcap: 0.0012}", "{scale: 1, softcap: 0.0012}",
                "causal_paged_cap1", NULL);
    check_names("{scale: 1, softcap: 0.0012}", "{scale: 1, softcap: 0.0019}",
                "causal_paged_cap0.0012", "causal_paged_cap0.0019");
    check_names("{scale: 1, softcap: 0.0019}", "{scale: 1, softcap: 0.001}",
                "causal_paged_cap0.0019", "causal_paged_cap1");
    check_names("{scale: 0.3}", "{scale: 0.3}", "causal_paged_scale300000",
                NULL);
    check_names("{scale: 0.125}", "{scale: 0.1250001}",
                "causal_paged_scale125000", "causal_paged_scale0.1250001");
    check_names("{scale: 0.5, softcap: 2}", "{scale: 0.5, softcap: 3}",
                "causal_paged_cap2000_scale500000",
                "causal_paged_cap3000_scale500000");
}

/* Tests that one ulp makes another task, with another name. */
static void test_one_ulp(void **state)
{
    static const struct {
        const char *key;
        double at;
    } number[] = {
        { "softcap", 0.0012 }, { "softcap", 30 },     { "softcap", 1e6 },
        { "scale", 0.125 },    { "scale", 1 / 3.0 },  { "scale", 1.5e-6 },
        { "scale", 1 },        { "softcap", 1.2e-3 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        Arena *a = arena_new();
        const Task *task[2];
        Engine e;
        const double x = number[i].at;
        plan_of(&e, a, field(a, number[i].key, x),
                field(a, number[i].key, nextafter(x, 0)), (Choices){ 0 });
        find_tasks(&e, task, 2);
        assert_false(identity_same(&task[0]->is, &task[1]->is));
        assert_false(task_same(&task[0]->key, &task[1]->key));
        assert_false(task_same(&task[0]->name, &task[1]->name));
        engine_close(&e);
        arena_free(a);
    }
}

/* Tests that a record serves exactly the tasks with its numbers, even if the
 * plan has no other task. An old record has its cap in thousandths. */
static void test_records(void **state)
{
    static const struct {
        const char *record, *cap;
        TilingFrom from;
    } cases[] = {
        { "causal_paged_cap30000", "30", FromTuned },
        { "causal_paged_cap30000", "30.0001", FromDefault },
        { "causal_paged_cap1", "0.0012", FromDefault },
        { "causal_paged_cap1", "0.001", FromTuned },
        { "causal_paged_cap0.0012", "0.0012", FromTuned },
        { "causal_paged_cap0.0012", "0.0019", FromDefault },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Choice choice = { { TaskAttention, "16x16", cases[i].record,
                                  DtypeF32, 0 },
                                { .mr = 2 } };
        const Task *task[2];
        Arena *a = arena_new();
        const char *row = arena_printf(a, "{scale: 1, softcap: %s}",
                                       cases[i].cap);
        Engine e;
        plan_of(&e, a, row, row, (Choices){ .at = &choice, .n = 1 });
        find_tasks(&e, task, 1);
        assert_int_equal(task[0]->from, cases[i].from);
        if (cases[i].from == FromTuned)
            assert_int_equal(task[0]->tiling.mr, 2);
        engine_close(&e);
        arena_free(a);
    }
}

static int64_t code_bytes(const char *first, const char *second)
{
    Arena *a = arena_new();
    Engine e;
    plan_of(&e, a, first, second, (Choices){ 0 });
    const int64_t bytes = plan_code(e.plan, EntryDecode).bytes;
    engine_close(&e);
    arena_free(a);
    return bytes;
}

/* Tests that steps of one name are listed twice if their tasks differ. */
static void test_code(void **state)
{
    (void)state;
    const int64_t alike = code_bytes("{softcap: 30}", "{softcap: 30}");
    assert_int_equal(code_bytes("{softcap: 29}", "{softcap: 29}"), alike);
    assert_true(code_bytes("{softcap: 30}", "{softcap: 29}") > alike);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_one_ulp, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_code, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_records, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
