/* handle_test.c: tests an open model with the calls of handle_calls.c: its
 * memory, limits and threads, with weights that are mapped, read because files
 * cannot be mapped, or embedded. */
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

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_mapped),
        TEST(test_inside),
        TEST(test_read),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
