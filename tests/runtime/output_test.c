/* output_test.c: tests that output files appear complete or not at all,
 * whatever fails and whatever signal comes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"
#include "support/skip.h"

/* ---- writing ---- */
static void assert_content(const char *name, const char *text)
{
    File f;
    Fault why;
    assert_true(file_read(&f, scratch_path(name), 1 << 20, &why));
    assert_string_equal((const char *)f.at, text);
    file_close(&f);
}

static void output_appears_whole(void **state)
{
    (void)state;
    Output o;
    Fault why;
    scratch_file("a", "old", 3);
    assert_true(output_open(&o, scratch_path("a"), &why));
    assert_true(output_write(&o, "ne", 2, &why));
    assert_content("a", "old");
    assert_true(output_write(&o, "w", 1, &why));
    assert_true(output_commit(&o, &why));
    assert_content("a", "new");
    assert_int_equal(scratch_empty(), 1);
}

static void cancelled_output_leaves_nothing(void **state)
{
    (void)state;
    Output o;
    Fault why;
    scratch_file("a", "old", 3);
    for (int i = 0; i < 40; i++) { /* more than can be open at the same time */
        assert_true(output_open(&o, scratch_path("a"), &why));
        assert_true(output_write(&o, "new", 3, &why));
        output_cancel(&o);
        output_cancel(&o); /* harmless */
    }
    assert_content("a", "old");
    assert_int_equal(scratch_empty(), 1);
}

static void output_in_this_folder(void **state)
{
    (void)state;
    char here[1000];
    Fault why;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(scratch), 0);
    assert_true(write_file("plain", "x", 1, &why));
    assert_int_equal(chdir(here), 0);
    assert_content("plain", "x");
    assert_int_equal(scratch_empty(), 1);
}

static void writes_through_links(void **state)
{
    (void)state;
    Fault why;
    struct stat st;
    scratch_file("target", "old", 3);
    assert_int_equal(symlink("target", scratch_path("link")), 0);
    assert_true(write_file(scratch_path("link"), "new", 3, &why));
    assert_content("target", "new");
    assert_int_equal(lstat(scratch_path("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(scratch_empty(), 2);
}

static void unwritable_targets(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {
        { "no/x", "no/x: cannot write: No such file or directory" },
        { "file/x", "file/x: cannot write: Not a directory" },
        { ".", ".: cannot write: is a folder" },
        { "./", "./: cannot write: is a folder" },
    };
    scratch_file("file", "x", 1);
    Fault why;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = scratch_path(cases[i].name);
        assert_false(write_file(path, "x", 1, &why));
        assert_int_equal(why.code, ExitIO);
        assert_message(why.text, cases[i].message);
    }
    assert_int_equal(scratch_empty(), 1);
    assert_false(write_file("/proc/attnc", "x", 1, &why));
    assert_int_equal(why.code, ExitIO);
}

static void devices_are_never_replaced(void **state)
{
    (void)state;
    static const char *const devices[] = { "/dev/null", "/dev/full" };
    Fault why;
    assert_true(write_file("/dev/null", "x", 1, &why));
    assert_false(write_file("/dev/full", "x", 1, &why));
    assert_int_equal(why.code, ExitIO);
    assert_string_equal(why.text, "/dev/full: cannot write: No space left on "
                                  "device");
    for (size_t i = 0; i < 2; i++) {
        struct stat st;
        assert_int_equal(stat(devices[i], &st), 0);
        assert_true(S_ISCHR(st.st_mode));
    }
}

/* Tests a pipe, by its name and by the descriptors of a shell's >(...). */
static void pipes_get_the_bytes(void **state)
{
    (void)state;
    static const char *const forms[] = { "/dev/fd/%d", "/proc/self/fd/%d" };
    const char *path = scratch_path("fifo");
    Fault why;
    char text[4] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    const int end = open(path, O_RDWR);
    assert_true(write_file(path, "one", 3, &why));
    assert_int_equal(read(end, text, 3), 3);
    assert_string_equal(text, "one");
    for (size_t i = 0; i < 2; i++) {
        char name[40];
        snprintf(name, sizeof name, forms[i], end);
        assert_true(is_stream(name));
        assert_true(write_file(name, "two", 3, &why));
        assert_int_equal(read(end, text, 3), 3);
        assert_string_equal(text, "two");
    }
    close(end);
    assert_false(write_file("/dev/fd/999", "x", 1, &why));
    assert_string_equal(why.text,
                        "/dev/fd/999: cannot write: Bad file descriptor");
    assert_true(is_stdout("/dev/stdout") && is_stdout("/dev/fd/1"));
    assert_false(is_stdout("/dev/fd/1x") || is_stdout("/dev/fd/"));
    assert_int_equal(scratch_empty(), 1);
}

static void long_names(void **state)
{
    (void)state;
    Fault why;
    char name[400];
    memset(name, 'n', sizeof name);
    name[255] = '\0'; /* the longest allowed */
    assert_true(write_file(scratch_path(name), "x", 1, &why));
    assert_int_equal(scratch_empty(), 1);
    name[255] = 'n';
    name[256] = '\0';
    assert_false(write_file(scratch_path(name), "x", 1, &why));
    assert_non_null(strstr(why.text, "File name too long"));
    assert_int_equal(scratch_empty(), 0);
    static char path[5000];
    memset(path, 'p', sizeof path - 1);
    assert_false(write_file(path, "x", 1, &why));
    assert_int_equal(why.code, ExitIO);
    assert_non_null(strstr(why.text, "File name too long"));
}

static void unchanged_files_keep_their_time(void **state)
{
    (void)state;
    Fault why;
    struct stat st;
    const char *path = scratch_file("a", "same", 4);
    const struct timespec past[2] = { { 1000, 0 }, { 1000, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    assert_true(write_file(path, "same", 4, &why));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mtime, 1000);
    static const char *const others[] = { "some", "sam", "same+" };
    for (size_t i = 0; i < 3; i++) {
        assert_true(write_file(path, others[i], strlen(others[i]), &why));
        assert_content("a", others[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_not_equal(st.st_mtime, 1000);
    }
    scratch_empty();
}

/* ---- full, refused, killed ---- */

/* Runs a job in a child; it exits with 0 if writing failed as expected. */
static void expect_failure(const char *message)
{
    static const char data[100000];
    Fault why;
    if (write_file(scratch_path("a"), data, sizeof data, &why))
        _exit(1);
    if (why.code != ExitIO || !strstr(why.text, message)) {
        dprintf(STDOUT_FILENO, "%s\n", why.text);
        _exit(2);
    }
    _exit(0);
}

static void write_too_much(void)
{
    files_on_signal();
    struct rlimit limit = { 50000, 50000 };
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_failure("/a: cannot write: File too large");
}

static void file_size_limit(void **state)
{
    (void)state;
    assert_exit(in_child(write_too_much), 0);
    assert_int_equal(scratch_empty(), 1); /* stderr alone */
}

static void write_to_full_disk(void)
{
    expect_failure("/a: cannot write: No space left on device");
}

static void full_disk(void **state)
{
    (void)state;
    if (mount("tmpfs", scratch, "tmpfs", 0, "size=32k") != 0)
        SKIP("only root can mount a tmpfs");
    scratch_file("old", "x", 1);
    int status = in_child(write_to_full_disk);
    int entries = scratch_empty();
    assert_int_equal(umount(scratch), 0);
    assert_exit(status, 0);
    assert_int_equal(entries, 2); /* old, stderr */
}

/* Root may write anywhere, so the child changes its user. */
static void write_where_not_allowed(void)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        _exit(77);
    expect_failure("/a: cannot write: Permission denied");
}

static void no_permission(void **state)
{
    (void)state;
    assert_int_equal(chmod(scratch, 0555), 0);
    int status = in_child(write_where_not_allowed);
    assert_int_equal(chmod(scratch, 0700), 0);
    assert_int_equal(scratch_empty(), geteuid() == 0); /* stderr */
    assert_exit(status, 0);
}

static void files_of_a_group(void **state)
{
    (void)state;
    Fault why;
    for (int keep = 0; keep < 2; keep++) {
        outputs_hold();
        assert_true(write_file(scratch_path("a"), "1", 1, &why));
        assert_true(write_file(scratch_path("b"), "2", 1, &why));
        assert_int_equal(access(scratch_path("a"), F_OK), -1);
        assert_int_equal(outputs_release(keep, &why), keep);
        assert_int_equal(access(scratch_path("a"), F_OK), keep - 1);
        assert_int_equal(scratch_empty(), 2 * keep);
    }
    assert_true(write_file(scratch_path("a"), "1", 1, &why));
    assert_int_equal(scratch_empty(), 1);
}

static int signal_to_send;

static void die_while_writing(void)
{
    static Output a, b;
    Fault why;
    files_on_signal();
    outputs_hold();
    if (write_file(scratch_path("held"), "whole", 5, &why)
        && output_open(&a, scratch_path("a"), &why)
        && output_open(&b, scratch_path("b"), &why)
        && output_write(&a, "half", 4, &why))
        raise(signal_to_send);
}

static void signals_remove_temporary_files(void **state)
{
    (void)state;
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    for (size_t i = 0; i < 3; i++) {
        signal_to_send = signals[i];
        int status = in_child(die_while_writing);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        assert_int_equal(scratch_empty(), 1);
    }
}

static void survive_an_ignored_signal(void)
{
    signal(SIGHUP, SIG_IGN);
    files_on_signal();
    raise(SIGHUP);
    _exit(0);
}

static void ignored_signals_stay_ignored(void **state)
{
    (void)state;
    assert_exit(in_child(survive_an_ignored_signal), 0);
    scratch_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_appears_whole),
        cmocka_unit_test(cancelled_output_leaves_nothing),
        cmocka_unit_test(output_in_this_folder),
        cmocka_unit_test(writes_through_links),
        cmocka_unit_test(unwritable_targets),
        cmocka_unit_test(devices_are_never_replaced),
        cmocka_unit_test(pipes_get_the_bytes),
        cmocka_unit_test(long_names),
        cmocka_unit_test(unchanged_files_keep_their_time),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(no_permission),
        cmocka_unit_test(files_of_a_group),
        cmocka_unit_test(signals_remove_temporary_files),
        cmocka_unit_test(ignored_signals_stay_ignored),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
