/* handle_test.c: tests an open model with the calls of handle_calls.c: its
 * memory, limits and threads, with weights that are mapped, read because files
 * cannot be mapped, or embedded; and that texts with a task or a prompt have
 * the rows that attnc run gives them; and requests, by request_calls.c. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static void check(const char *define, const char *more, const char *threads,
                  bool inside)
{
    Spawned s;
    assert_true(WORKS(attnc(), "compile", g2p, "--march=x86-64-v3",
                      "--set=name=m", "-o", in_dir("m.c"),
                      inside ? "--embed" : "--quiet"));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir, define, more,
                      threads, "-pthread", "-Wl,--wrap=malloc,--wrap=free",
                      "tests/support/handle_calls.c", in_dir("m.c"), "-lm",
                      "-o", in_dir("m")));
    if (RUN(&s, "", in_dir("m"), inside ? NULL : in_dir("m.weights")) != 0)
        fail_msg("%s%s", s.out, s.tail);
}

static void test_mapped(void **state)
{
    (void)state;
    check("-DBLOCKS=2", "-DY", "-DTHREADS=1", false);
}

static void test_inside(void **state)
{
    (void)state;
    check("-DBLOCKS=2", "-DY", "-DTHREADS=1", true);
}

static void test_read(void **state)
{
    (void)state;
    check("-DBLOCKS=3", "-U__unix__", "-DTHREADS=1", false);
}

/* Tests a handle with threads; their pool is not allocated by malloc(). */
static void test_threads(void **state)
{
    (void)state;
    check("-DBLOCKS=2", "-DATTNC_THREADS", "-DTHREADS=3", false);
}

/* Runs request_calls.c with a model. */
static void check_requests(const char *spec, const char *threads)
{
    Spawned s;
    assert_true(WORKS(attnc(), "compile", spec, "--march=x86-64-v3",
                      "--set=name=m", "--seed=1", "--embed", "-o",
                      in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir, threads,
                      "-pthread", "tests/support/request_calls.c",
                      in_dir("m.c"), "-lm", "-o", in_dir("m")));
    if (RUN(&s, "", in_dir("m")) != 0)
        fail_msg("%s%s", s.out, s.tail);
}

static void test_requests(void **state)
{
    (void)state;
    check_requests(g2p, "-DATTNC_THREADS");
    check_requests("models/tiny.yaml", "-DY");
}

/* Compiles a spec and text_calls.c. */
static void build_texts(const char *spec, const char *set)
{
    assert_true(WORKS(attnc(), "compile", spec, "--march=x86-64-v3", set,
                      "--set=name=m", "--seed=1", "--embed", "-o",
                      in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir,
                      "tests/support/text_calls.c", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
}

/* Checks that embed_as() with these options has the rows of attnc run. */
static void check_texts(const char *spec, const char *set, const char *number,
                        const char *prompt)
{
    static const char lines[] = "abc\n\nhello\na\n";
    static const char *const tasks[] = { "none", "query", "document" };
    Spawned expected, got;
    const char *task = arena_printf(a, "--task=%s", tasks[atoi(number)]);
    const char *name = prompt ? arena_printf(a, "--prompt-name=%s", prompt)
                              : "--quiet";
    assert_int_equal(RUN(&expected, lines, attnc(), "run", spec, set, task,
                         name, "--march=x86-64-v3", "--seed=1", "--quiet"),
                     0);
    assert_int_equal(RUN(&got, lines, in_dir("m"), number,
                         prompt ? prompt : "-"),
                     0);
    assert_string_equal(got.out, expected.out);
}

static void test_texts(void **state)
{
    static const char *const sets[] = { "--quiet",
                                        "--set=head.query.attend=true",
                                        "--set=head.query.cut=false" };
    static const char *const tasks[] = { "0", "1", "2" };
    static const char spec[] = "tests/cli/tasks.yaml";

    (void)state;
    for (int s = 0; s < 3; s++) {
        build_texts(spec, sets[s]);
        for (int t = 0; t < 3; t++) {
            check_texts(spec, sets[s], tasks[t], NULL);
            check_texts(spec, sets[s], tasks[t], "");
            check_texts(spec, sets[s], tasks[t], "query");
        }
    }
}

/* Tests prompts of a model without tasks: these only choose a prompt. */
static void test_prompts(void **state)
{
    static const char spec[] = "tests/cli/prompts.yaml";
    Spawned s;

    (void)state;
    build_texts(spec, "--quiet");
    check_texts(spec, "--quiet", "0", NULL);
    check_texts(spec, "--quiet", "0", "document");
    check_texts(spec, "--quiet", "0", "");
    check_texts(spec, "--quiet", "1", NULL);
    check_texts(spec, "--quiet", "2", NULL);
    assert_int_equal(RUN(&s, "a\n", in_dir("m"), "0", "passage"), 1);
    assert_string_equal(s.out,
                        "prompt: passage is no name of the spec's prompts\n");
    assert_int_equal(RUN(&s, "a\n", in_dir("m"), "3"), 1);
    assert_string_equal(s.out, "task: 0 to 2 are taken\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_mapped),   TEST(test_inside), TEST(test_read),
        TEST(test_threads),  TEST(test_texts),  TEST(test_prompts),
        TEST(test_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
