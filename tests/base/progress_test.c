/* progress_test.c: tests the progress line on a terminal and with a clock that
 * the test controls. */
#define _GNU_SOURCE /* posix_openpt */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include "base/progress.h"

#include <cmocka.h>

#include "support/skip.h"
#include "support/terminal.h"

static struct {
    double now;
    int fd, other; /* the terminal's ends */
} test;

static double test_now(void)
{
    return test.now;
}

static int setup(void **state)
{
    (void)state;
    test.now = 100;
    test.fd = terminal_open(80, &test.other);
    progress_use(test.fd < 0 ? -1 : test.other, test_now);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    progress_use(-1, test_now);
    if (test.fd >= 0) {
        close(test.other);
        close(test.fd);
    }
    return 0;
}

#define NEEDS_TERMINAL()                          \
    if (test.fd < 0)                              \
    SKIP("this system gives no terminal")

static const char *written(void)
{
    return terminal_text(test.fd);
}

static void resize(int columns)
{
    const struct winsize size = { .ws_row = 24,
                                  .ws_col = (unsigned short)columns };
    assert_int_equal(ioctl(test.other, TIOCSWINSZ, &size), 0);
}

/* Tests that tasks of less than two seconds print nothing. */
static void patient(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    progress_begin("verify");
    for (int i = 0; i < 19; i++, test.now += 0.1)
        progress_at(i / 20.0);
    assert_string_equal(written(), "");
    test.now = 102.5;
    progress_at(0.5);
    assert_string_equal(
        written(), "\r\033[K[#####.....]  50 %  verify                      "
                   "                       2 s left");
    progress_end();
    assert_string_equal(written(), "\r\033[K");
}

/* Tests that a line is redrawn at most ten times a second, and after it was
 * cleared. */
static void seldom(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    progress_begin("bench");
    test.now += 3;
    progress_at(0.1);
    assert_non_null(strstr(written(), " 10 %  bench"));
    test.now += 0.05;
    progress_at(0.2);
    assert_string_equal(written(), "");
    test.now += 0.06;
    progress_at(0.3);
    assert_non_null(strstr(written(), " 30 %  bench"));
    terminal_clear();
    assert_string_equal(written(), "\r\033[K");
    terminal_clear();
    assert_string_equal(written(), "");
    progress_at(0.31);
    assert_non_null(strstr(written(), " 31 %  bench"));
    progress_end();
}

/* Tests that the progress of an inner task counts as a part of a step. */
static void nested(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    progress_begin("verify");
    progress_step("clang", 0.5, 0.75);
    test.now += 10;
    progress_begin("opening the model");
    assert_non_null(
        strstr(written(), " 50 %  verify, clang, opening the model"));
    test.now += 1;
    progress_begin("");
    progress_at(0.5); /* of a task whose progress is unknown */
    assert_non_null(strstr(written(), " 50 %  verify, clang, opening"));
    progress_end();
    progress_end();
    progress_begin("");
    test.now += 1;
    progress_at(0.4);
    assert_non_null(strstr(written(), " 60 %  verify, clang   "));
    progress_end();
    assert_true(terminal_has_line());
    progress_end();
    assert_false(terminal_has_line());
}

/* Tests that the remaining time is the inner task's if only that is known. */
static void inner_alone(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    progress_begin("opening the model");
    test.now += 10;
    progress_tick();
    const char *text = written();
    assert_non_null(strstr(text, "opening the model"));
    assert_non_null(strstr(text, "  10 s"));
    assert_null(strstr(text, "left"));
    assert_null(strchr(text, '%'));
    progress_begin("packing the weights");
    test.now += 4;
    progress_at(0.25);
    text = written();
    assert_non_null(strstr(text, "25 %  opening the model, packing the"));
    assert_non_null(strstr(text, "  12 s left"));
    progress_end();
    progress_end();
}

/* Tests that no line is as wide as the terminal. */
static void fits(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    progress_begin("a work whose name is longer than many terminals are wide");
    for (int columns = 1; columns < 200; columns++) {
        resize(columns);
        test.now += 2.5;
        progress_step("and a step that has a long name too", columns / 200.0,
                      1);
        const char *text = written();
        assert_memory_equal(text, "\r\033[K", 4);
        assert_in_range(strlen(text) - 4, 0, columns - 1);
    }
    progress_end();
}

/* Runs act() in a child. Returns what it wrote to the terminal after the line.
 */
static const char *after(void act(void), int *status)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(test.other, STDERR_FILENO);
        color_choose(ColorNever);
        files_on_signal();
        progress_begin("bench");
        test.now += 5;
        progress_at(0.5);
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, status, 0), pid);
    const char *line = strstr(written(), "  5 s left");
    assert_non_null(line);
    return line + strlen("  5 s left");
}

static void interrupt(void)
{
    raise(SIGTERM);
}

static void warn(void)
{
    warning_at((Pos){ 0 }, "careful");
}

static void give_up(void)
{
    (fail)(ExitResource, "no more");
}

/* Tests that the line is cleared before other output. */
static void said(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    int status;
    assert_string_equal(after(interrupt, &status), "\r\033[K");
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_string_equal(after(warn, &status),
                        "\r\033[Kattnc: warning: careful\r\n");
    assert_string_equal(after(give_up, &status),
                        "\r\033[Kattnc: error: no more\r\n");
    assert_int_equal(WEXITSTATUS(status), ExitResource);
}

/* Tests that a pipe, a file and --quiet get no line. */
static void nowhere(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    int pipes[2];
    char got;
    assert_int_equal(pipe(pipes), 0);
    progress_use(pipes[1], test_now);
    progress_begin("bench");
    test.now += 5;
    progress_at(0.5);
    progress_end();
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &got, 1), 0);
    close(pipes[0]);
    progress_use(test.other, test_now);
    progress_off();
    progress_begin("bench");
    test.now += 5;
    progress_at(0.5);
    progress_end();
    assert_string_equal(written(), "");
}

static void widths(void **state)
{
    (void)state;
    NEEDS_TERMINAL();
    assert_int_equal(terminal_columns(test.other), 80);
    resize(0);
    setenv("COLUMNS", "132", 1);
    assert_int_equal(terminal_columns(test.other), 132);
    setenv("COLUMNS", "many", 1);
    assert_int_equal(terminal_columns(test.other), 80);
    resize(61);
    assert_int_equal(terminal_columns(test.other), 61);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(terminal_columns(pipes[1]), 0);
    close(pipes[0]);
    close(pipes[1]);
    setenv("TERM", "dumb", 1);
    assert_false(terminal_rewrites(test.other));
    setenv("TERM", "xterm", 1);
    assert_true(terminal_rewrites(test.other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patient, setup, teardown),
        cmocka_unit_test_setup_teardown(seldom, setup, teardown),
        cmocka_unit_test_setup_teardown(nested, setup, teardown),
        cmocka_unit_test_setup_teardown(inner_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(fits, setup, teardown),
        cmocka_unit_test_setup_teardown(said, setup, teardown),
        cmocka_unit_test_setup_teardown(nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(widths, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
