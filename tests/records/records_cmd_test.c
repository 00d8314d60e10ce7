/* records_cmd_test.c: tests `attnc records` with records of this machine, which
 * no golden file can have. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "engine/engine.h"
#include <cmocka.h>

#include "support/scratch.h"
#include "support/records_case.h"

/* Returns what `attnc records` prints for the scratch folder's file. */
static const char *answer(Arena *a, const char *action, const char *option)
{
    const char *program = getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
    const char *argv[] = {
        find_program(a, program), "records", action, "--records",
        scratch_path("tune.txt"), option,    NULL
    };
    Spawned s;
    Fault why;
    if (!spawn(&s, argv, "", 0, 60, &why))
        fail_msg("%s: %s", why.text, s.tail);
    const char *slash = strstr(s.out, "tune.txt: ");
    return arena_strdup(a, slash == NULL ? s.out : slash);
}

/* Makes records of this machine, by libtcc, its C compiler and an earlier one;
 * of another machine; and a line of another version. */
static void make_file(Arena *a, Record r[4])
{
    Target t;
    Fault why;
    const EngineOptions o = { .threads = 1, .backend = "clang" };
    assert_true(target_find(&t, "native", 0, NULL, &why));
    for (int i = 0; i < 4; i++) {
        r[i] = product(a, 64, 64 + i);
        assert_true(engine_host(a, &o, &t, &r[i].host, &why));
    }
    r[0].host.compiler = "libtcc";
    r[2].host.compiler = "clang version 3.0 -O2";
    r[3].host.cpu = "Nonesuch 9000";
    static const char newer[] = "{\"version\": 3, \"hash\": "
                                "\"532ed611d56dddd6\"}\n";
    scratch_file("tune.txt", newer, sizeof newer - 1);
    capture_stderr();
    add(a, scratch_path("tune.txt"), r, 4);
    captured(a);
}

static void test_export(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Record r[4];
    make_file(a, r);
    assert_string_equal(answer(a, "export", NULL),
                        arena_printf(a, "%s\n%s\n%s\n", record_line(a, &r[0]),
                                     record_line(a, &r[1]),
                                     record_line(a, &r[2])));
    assert_string_equal(answer(a, "export", "--compiler=libtcc"),
                        arena_printf(a, "%s\n", record_line(a, &r[0])));
    assert_non_null(
        strstr(answer(a, "export", "--all"), record_line(a, &r[3])));
    scratch_empty();
    arena_free(a);
}

static void test_prune(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Record r[4];
    make_file(a, r);
    assert_string_equal(answer(a, "prune", "--dry-run"),
                        "tune.txt: 3 of 5 records would be removed\n");
    assert_string_equal(answer(a, "prune", "--cpu=9000"),
                        "tune.txt: 1 of 5 records removed\n");
    assert_string_equal(answer(a, "prune", NULL),
                        "tune.txt: 2 of 4 records removed\n");
    assert_string_equal(answer(a, "prune", NULL),
                        "tune.txt: 0 of 2 records removed\n");
    assert_string_equal(contents(a, scratch_path("tune.txt")),
                        arena_printf(a, "%s\n%s\n", record_line(a, &r[0]),
                                     record_line(a, &r[1])));
    scratch_empty();
    arena_free(a);
}

static void test_explain(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Record r[4];
    make_file(a, r);
    const char *text = answer(a, "explain", "--threads=1");
    assert_int_equal(strncmp(text, r[0].host.cpu, strlen(r[0].host.cpu)), 0);
    assert_non_null(strstr(text, "GFLOP/s; reads L1"));
    assert_non_null(strstr(text, "\nmatmul 64x64 bf16 bias_relu"));
    assert_non_null(strstr(text, "clang version 3.0 -O2:"));
    assert_non_null(strstr(text, "1 record is of another machine"));
    assert_null(strstr(text, "64x67"));
    scratch_empty();
    arena_free(a);
}

/* Returns the stderr of a command on models/tiny.yaml. */
static const char *said(Arena *a, const char *command, const char *option)
{
    const char *program = getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
    const char *argv[] = { find_program(a, program),
                           command,
                           "models/tiny.yaml",
                           "--records",
                           scratch_path("tune.txt"),
                           "-o",
                           "-",
                           option,
                           NULL };
    Spawned s;
    Fault why;
    if (!spawn(&s, argv, "", 0, 60, &why))
        fail_msg("%s: %s", why.text, s.tail);
    return arena_strdup(a, s.tail);
}

/* Tests that a command's message names only options that it has. */
static void test_hint(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Engine e;
    Fault why;
    const EngineOptions o = { .spec = "models/tiny.yaml",
                              .threads = 7,
                              .backend = "clang" };
    Record r = product(a, 64, 64);
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    assert_true(engine_host(a, &o, &e.target, &r.host, &why));
    r.key = e.plan->task.at[0].key;
    add(a, scratch_path("tune.txt"), &r, 1);
    assert_string_equal(said(a, "compile", "--threads=5"),
                        "attnc: note: tuned "
                        "for --threads=7; this run uses 5\n");
    assert_string_equal(said(a, "compile", "--threads=7"), "");
    assert_string_equal(said(a, "compile", "--no-records"), "");
    assert_non_null(strstr(said(a, "plan", NULL), "the nearest are for "));
    assert_null(strstr(said(a, "plan", NULL), "note"));
    engine_close(&e);
    scratch_empty();
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_hint),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
