/* files_test.c: tests reading and mapping of files, and all their failures. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"

/* ---- reading ---- */
static void reads_whole_files(void **state)
{
    (void)state;
    File f;
    Fault why;
    const char *path = scratch_file("a", "one\0two", 7);
    assert_true(file_read(&f, path, 7, &why));
    assert_int_equal(f.size, 7);
    assert_memory_equal(f.at, "one\0two", 8); /* a NUL after the end */
    file_close(&f);
    assert_true(file_map(&f, path, &why));
    assert_int_equal(f.size, 7);
    assert_memory_equal(f.at, "one\0two", 7);
    file_close(&f);
    assert_false(file_read(&f, path, 6, &why));
    assert_int_equal(why.code, ExitInput);
    assert_message(why.text, "a: has 7 bytes, at most 6 are allowed");
}

static void reads_empty_files(void **state)
{
    (void)state;
    File f;
    Fault why;
    const char *path = scratch_file("a", "", 0);
    assert_true(file_read(&f, path, 0, &why));
    assert_int_equal(f.at[0], 0);
    file_close(&f);
    assert_true(file_map(&f, path, &why));
    assert_int_equal(f.size, 0);
    file_close(&f);
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {
        { "none", "none: cannot open: No such file or directory" },
        { "file/x", "file/x: cannot open: Not a directory" },
        { "fifo", "fifo: is not a regular file" },
        { ".", ".: is a folder, not a file" },
        { "link", "link: is a folder, not a file" },
        { "loop", "loop: cannot open: Too many levels of symbolic links" },
    };
    scratch_file("file", "x", 1);
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    assert_int_equal(symlink("/", scratch_path("link")), 0);
    assert_int_equal(symlink("loop", scratch_path("loop")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        File f;
        Fault why;
        assert_false(file_read(&f, scratch_path(cases[i].name), 9, &why));
        assert_int_equal(why.code, ExitIO);
        assert_message(why.text, cases[i].message);
        assert_false(file_map(&f, scratch_path(cases[i].name), &why));
        assert_message(why.text, cases[i].message);
    }
    File f;
    Fault why;
    assert_false(file_map(&f, "/dev/zero", &why));
    assert_string_equal(why.text, "/dev/zero: is not a regular file");
}

static void messages_are_one_safe_line(void **state)
{
    (void)state;
    Fault why;
    assert_false(fault(&why, 3, "%s: bad", "a\nb\x1b[2J\xc3\xa9"));
    assert_string_equal(why.text, "a\\x0ab\\x1b[2J\\xc3\\xa9: bad");
    char longest[2000];
    memset(longest, '\n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    fault(&why, 3, "%s", longest);
    assert_true(strlen(why.text) < sizeof why.text);
    assert_true(strlen(why.text) > 500);
}

static void maps_are_counted(void **state)
{
    (void)state;
    files_catch_cuts();
    enum { Most = 64 };
    static File f[Most + 1];
    Fault why;
    const char *path = scratch_file("a", "x", 1);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < Most; i++)
            assert_true(file_map(&f[i], path, &why));
        assert_false(file_map(&f[Most], path, &why));
        assert_int_equal(why.code, ExitResource);
        assert_message(why.text, "a: more than 64 files are mapped");
        for (int i = 0; i < Most; i++)
            file_close(&f[i]);
    }
}

/* ---- cut, not allowed ---- */
static void read_what_is_cut(void)
{
    File f;
    Fault why;
    const char *path = scratch_path("cut");
    files_catch_cuts();
    if (!file_map(&f, path, &why) || truncate(path, 0) != 0)
        return;
    volatile unsigned char byte = f.at[5000];
    (void)byte;
}

static void cut_file_ends_the_process(void **state)
{
    (void)state;
    static const char pages[8192];
    scratch_file("cut", pages, sizeof pages);
    assert_exit(in_child(read_what_is_cut), ExitIO);
    File f;
    Fault why;
    assert_true(file_read(&f, scratch_path("stderr"), 1000, &why));
    char expected[300];
    snprintf(expected, sizeof expected,
             "attnc: error: %s/cut: the file was "
             "cut while it was in use\n",
             scratch);
    assert_string_equal((const char *)f.at, expected);
    file_close(&f);
    scratch_empty();
}

/* Tests that a bus error elsewhere is not mistaken for ours, and does not loop.
 */
static void break_elsewhere(void)
{
    File f;
    Fault why;
    files_catch_cuts();
    if (!file_map(&f, scratch_path("cut"), &why))
        return;
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGBUS); /* the default handler is restored when this returns */
    raise(SIGBUS);
}

static void other_bus_errors_kill(void **state)
{
    (void)state;
    scratch_file("cut", "x", 1);
    int status = in_child(break_elsewhere);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGBUS);
    scratch_empty();
}

static void read_what_is_not_allowed(void)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        _exit(77);
    File f;
    Fault why;
    if (file_map(&f, scratch_path("secret"), &why))
        _exit(1);
    _exit(why.code == ExitIO
                  && strstr(why.text, "secret: cannot open: Permission denied")
              ? 0
              : 2);
}

static void no_permission(void **state)
{
    (void)state;
    const char *secret = scratch_file("secret", "x", 1);
    assert_int_equal(chmod(secret, 0), 0);
    assert_int_equal(chmod(scratch, 0755), 0);
    int status = in_child(read_what_is_not_allowed);
    assert_int_equal(chmod(scratch, 0700), 0);
    scratch_empty();
    assert_exit(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_whole_files),
        cmocka_unit_test(reads_empty_files),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(messages_are_one_safe_line),
        cmocka_unit_test(maps_are_counted),
        cmocka_unit_test(cut_file_ends_the_process),
        cmocka_unit_test(other_bus_errors_kill),
        cmocka_unit_test(no_permission),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
