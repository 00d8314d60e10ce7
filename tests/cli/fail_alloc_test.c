/* fail_alloc_test.c: makes each allocation of attnc's commands, and of an
 * emitted program, fail in turn, whichever library asked for the memory. A
 * program that needs it ends with status 5 and a message; nothing crashes, and
 * no file is left half-written. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/aot.h"
#include "support/sanitized.h"

enum { MostWords = 16, MostCalls = 20000 };

/* Runs attnc with allocation number `at` failing, and all later ones if `on`.
 * Returns its exit code. *reached: there were that many allocations. */
static int with_failure(int at, bool on, char *const *argv, bool *reached)
{
    char *const env[] = {
        arena_printf(a, "LD_PRELOAD=%s", in_dir("fail_alloc.so")),
        arena_printf(a, "FAIL_AT=%d", at),
        arena_printf(a, "FAIL_MARK=%s", in_dir("reached")),
        arena_printf(a, "TMPDIR=%s", in_dir("tmp")),
        arena_printf(a, "XDG_CACHE_HOME=%s", in_dir("cache")),
        "PATH=/usr/bin:/bin",
        "ATTNC_BACKEND=jit", /* no process continues after the end */
        on ? "FAIL_ON=1" : NULL,
        NULL,
    };
    int status;
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        dup2(open(in_dir("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
        dup2(open(in_dir("stdin"), O_RDONLY), 0);
        execve(argv[0], argv, env);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *reached = unlink(in_dir("reached")) == 0;
    if (!WIFEXITED(status))
        fail_msg("%s %s: allocation %d%s: killed by signal %d", argv[0],
                 argv[1] ? argv[1] : "", at, on ? " on" : "", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* Removes the files in the folder of outputs; how many there were. */
static int outputs(void)
{
    static const char *const names[] = { "out/m", "out/m.c", "out/m.h" };
    const int n = files(in_dir("out"));
    for (int i = 0; i < 3; i++)
        unlink(in_dir(names[i]));
    assert_int_equal(files(in_dir("out")), 0);
    return n;
}

static void check_one(int at, bool on, char *const *argv, int code, int whole)
{
    size_t n;
    const char *said = text_of(in_dir("stderr"), &n);
    if (code != ExitDone && code != ExitResource)
        fail_msg("%s %s: allocation %d%s: exit code %d: %s", argv[0],
                 argv[1] ? argv[1] : "", at, on ? " on" : "", code, said);
    if (code == ExitResource && !strstr(said, "memory"))
        fail_msg("%s %s: allocation %d%s: no message", argv[0],
                 argv[1] ? argv[1] : "", at, on ? " on" : "");
    assert_int_equal(files(in_dir("tmp")), 0);
    assert_int_equal(outputs(), code == ExitDone ? whole : 0);
}

/* Fails every allocation of one command in turn; returns how many ended it. */
static int each_of(const char *program, const char *const *words)
{
    char *argv[MostWords] = { arena_strdup(a, find_program(a, program)) };
    int refused = 0;
    bool reached = true;
    for (int i = 0; words[i]; i++)
        argv[i + 1] = arena_strdup(a, words[i]);
    assert_int_equal(with_failure(0, false, argv, &reached), ExitDone);
    const int whole = outputs();
    for (int on = 0; on < 2; on++) {
        reached = true;
        for (int at = 1; reached; at++) {
            const int code = with_failure(at, on, argv, &reached);
            assert_true(reached || code == ExitDone);
            check_one(at, on, argv, code, whole);
            refused += code == ExitResource;
            assert_true(at < MostCalls);
        }
    }
    return refused;
}
#define EACH(...)                                                             \
    each_of(attnc(), (const char *const[]){ __VA_ARGS__, NULL })

static int set_up_here(void **state)
{
    const int rc = set_up(state);
    const char *folders[] = { "tmp", "out", "cache" };
    for (int i = 0; i < 3; i++)
        mkdir(in_dir(folders[i]), 0700);
    FILE *in = fopen(in_dir("stdin"), "w");
    fputs("3 4 5\t6 7\n", in);
    fclose(in);
    return rc
        || !WORKS(some_clang(), "-shared", "-fPIC", "-O1",
                  "tests/support/fail_alloc.c", "-o", in_dir("fail_alloc.so"));
}

#define SMALL "tests/cli/small.yaml"

static void test_compiler(void **state)
{
    (void)state;
    assert_true(EACH("graph", SMALL, "-o", in_dir("out/m")) > 50);
    assert_true(EACH("plan", SMALL, "--no-records") > 50);
    assert_true(EACH("compile", "tests/torch/mask_file.yaml", "--no-records",
                     "--embed", "--march=x86-64-v3", "-o", in_dir("out/m.c"))
                > 100);
}

static void test_runtime(void **state)
{
    (void)state;
    assert_true(EACH("score", SMALL, "--ids", "--no-records", "--threads=2")
                > 100);
    assert_true(EACH("tensors", "tests/torch/mask_file.yaml") > 100);
}

static void test_program(void **state)
{
    (void)state;
    emit("tests/torch/rotary.yaml", "--march=generic", "--embed");
    assert_true(WORKS(some_clang(), "-O0", "-DATTNC_MAIN", in_dir("m.c"), "-lm",
                      "-o", in_dir("m")));
    assert_true(each_of(in_dir("m"), (const char *const[]){ NULL }) > 5);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_here, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_compiler),
        TEST(test_runtime),
        TEST(test_program),
    };
    return SANITIZED ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
