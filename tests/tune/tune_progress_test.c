/* tune_progress_test.c: tests the progress of a tuning, on a terminal and in a
 * file: lines of an invented report. */
#define _GNU_SOURCE /* posix_openpt */
#include <setjmp.h>
#include <stdarg.h>

#include "base/progress.h"
#include "tune/tune_report.h"

#include <cmocka.h> /* after ours: it defines fail() */

#include "support/fake_tune.h"
#include "support/skip.h"
#include "support/terminal.h"

static const char *text_of(const TuneReport *r, TuneTask *now)
{
    const char *text = tune_progress_text(a, &(Progress){ .report = r,
                                                          .now = now });
    assert_still(text);
    return text;
}

/* Tests that the best shown is the default or faster, never a test's reference.
 */
static void best(void **state)
{
    (void)state;
    TuneReport r = fake_report();
    TuneTask *t = &r.task.at[0];
    t->finished = false;
    t->incumbent = t->lead = 0;
    t->gain = (Interval){ 0.95, 0.97, 0.98 };
    assert_non_null(strstr(text_of(&r, t), "bias_relu  2.00 ms +0.0 %"));
    t->lead = 3;
    t->candidate.at[3].gain = 1.02;
    assert_non_null(strstr(text_of(&r, t), " +2.0 %"));
    t->finished = true;
    assert_non_null(strstr(text_of(&r, t), " +2.0 %"));
    t->incumbent = 14;
    t->gain = (Interval){ 1.027, 1.031, 1.036 };
    assert_non_null(strstr(text_of(&r, t), "1.94 ms +3.1 %"));
    assert_string_equal(text_of(&r, NULL), "end to end");
}

/* Tests that two back ends with the same tasks each print their name. */
static void both(void **state)
{
    (void)state;
    TuneReport r = fake_report(), jit = fake_report();
    jit.host.compiler = "libtcc";
    jit.jit = true;
    r.other = &jit;
    assert_non_null(
        strstr(text_of(&r, &jit.task.at[5]),
               "11/12 split 512x2048x12 f32 encode_decode, libtcc "));
    assert_non_null(strstr(text_of(&r, &r.task.at[0]), "bias_relu, clang "));
}

static double test_time; /* seconds */

static double test_now(void)
{
    return test_time;
}

/* Calls as a search does, for 9 seconds; everything that it writes to `fd`. */
static void search_onto(int fd, const char *term, TuneReport *r, bool silent)
{
    const int saved = dup(STDERR_FILENO);
    Progress p = { .report = r };
    fflush(stderr);
    setenv("TERM", term, 1);
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    progress_use(terminal_rewrites(fd) ? fd : -1, test_now);
    if (silent)
        quiet();
    progress_begin("tune");
    for (int i = 0; i < r->task.n; i++)
        r->task.at[i].finished = r->task.at[i].said = false;
    for (int i = 0; i < 200 * r->task.n; i++) {
        TuneTask *now = &r->task.at[i / 200];
        now->finished = i < 1000 && i % 200 > 150; /* but the last */
        p.now = now;
        test_time += 0.0075;
        tune_progress(&p, i / 1200.0);
    }
    p.now = NULL;
    tune_progress(&p, 1);
    progress_end();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* Reads from fd, in pieces, until the text ends with `end`. */
static const char *content(int fd, const char *end)
{
    static char text[8192];
    const size_t n = strlen(end);
    size_t at = 0;
    while (at < n || memcmp(text + at - n, end, n)) {
        const ssize_t more = read(fd, text + at, sizeof text - 1 - at);
        assert_true(more > 0);
        at += (size_t)more;
    }
    text[at] = '\0';
    return text;
}

static void elsewhere(void **state)
{
    (void)state;
    TuneReport r = fake_report();
    const int fd = open(scratch_path("log"), O_RDWR | O_CREAT, 0600);
    search_onto(fd, "xterm", &r, false);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    const char *text = content(fd, ": as recorded, rows=56\n");
    assert_still(text);
    assert_int_equal(count(text, "\n"), FakeTasks - 1);
    assert_int_equal(count(text, "attnc: tune "), FakeTasks - 1);
    assert_non_null(strstr(text, "tune 2/6 matmul 2048x500 bf16 bias_residual: "
                                 "the default stays, mr=6 nr=64"));
    assert_int_equal(ftruncate(fd, 0), 0);
    search_onto(fd, "xterm", &r, true);
    assert_int_equal(lseek(fd, 0, SEEK_END), 0);
    close(fd);
}

static void on_terminal(void **state)
{
    (void)state;
    TuneReport r = fake_report();
    int other;
    const int fd = terminal_open(50, &other);
    if (fd < 0)
        SKIP("this system gives no terminal");
    search_onto(other, "xterm", &r, false);
    const char *text = terminal_text(fd);
    const int lines = count(text, "\r");
    assert_in_range(lines, 40, 80); /* 7 s, of 9 */
    assert_int_equal(count(text, "\033["), lines);
    assert_null(strchr(text, '\n'));
    for (const char *s = text; *s; s += strcspn(s, "\r"))
        assert_in_range(strcspn(++s, "\r"), 0, 49 + 3);
    search_onto(other, "dumb", &r, false);
    text = content(fd, ": as recorded, rows=56\r\n");
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "attnc: tune 1/6 "));
    close(other);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(best),
        cmocka_unit_test(both),
        cmocka_unit_test(elsewhere),
        cmocka_unit_test(on_terminal),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
