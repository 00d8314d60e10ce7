/* files_test.c: reading, mapping and writing whole files, and every way in
 * which that can fail.                                                      */
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

#include "../runtime/rt.h"
#include "scratch.h"

/* ------------------------------------------------------------- reading --- */
static void reads_whole_files(void **state)
{
    (void)state;
    File f;
    Fault why;
    const char *path = scratch_file("a", "one\0two", 7);
    assert_true(file_read(&f, path, 7, &why));
    assert_int_equal(f.size, 7);
    assert_memory_equal(f.at, "one\0two", 8);        /* a NUL after the end */
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
    static const struct { const char *name, *message; } cases[] = {
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

/* ------------------------------------------------------------- children --- */
/* Runs `job` in a child with stderr in the file "stderr": its wait status. */
static int in_child(void (*job)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(scratch_path("stderr"), O_WRONLY | O_CREAT, 0600);
        dup2(fd, STDERR_FILENO);
        job();
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void assert_exit(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void read_what_is_cut(void)
{
    File f;
    Fault why;
    const char *path = scratch_path("cut");
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
    snprintf(expected, sizeof expected, "attnc: error: %s/cut: the file was "
             "cut while it was in use\n", scratch);
    assert_string_equal((const char *)f.at, expected);
    file_close(&f);
    scratch_empty();
}

/* A bus error elsewhere must not be taken for one of ours, nor loop. */
static void break_elsewhere(void)
{
    File f;
    Fault why;
    if (!file_map(&f, scratch_path("cut"), &why))
        return;
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGBUS);               /* the default is back when this returns */
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

/* ------------------------------------------------------------- writing --- */
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
    for (int i = 0; i < 40; i++) {         /* more than can be open at once */
        assert_true(output_open(&o, scratch_path("a"), &why));
        assert_true(output_write(&o, "new", 3, &why));
        output_cancel(&o);
        output_cancel(&o);                 /* harmless */
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
    static const struct { const char *name, *message; } cases[] = {
        { "no/x", "no/x: cannot write: No such file or directory" },
        { "file/x", "file/x: cannot write: Not a directory" },
        { "fifo", "fifo: cannot write: is not a regular file" },
        { ".", ".: cannot write: is a folder" },
        { "./", "./: cannot write: is a folder" },
    };
    scratch_file("file", "x", 1);
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    Fault why;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = scratch_path(cases[i].name);
        assert_false(write_file(path, "x", 1, &why));
        assert_int_equal(why.code, ExitIO);
        assert_message(why.text, cases[i].message);
    }
    assert_int_equal(scratch_empty(), 2);
    assert_false(write_file("/proc/attnc", "x", 1, &why));
    assert_int_equal(why.code, ExitIO);
}

static void devices_are_never_replaced(void **state)
{
    (void)state;
    static const char *const devices[] = { "/dev/null", "/dev/full" };
    for (size_t i = 0; i < 2; i++) {
        Fault why;
        struct stat st;
        char expected[80];
        snprintf(expected, sizeof expected, "%s: cannot write: is not a "
                 "regular file", devices[i]);
        assert_false(write_file(devices[i], "x", 1, &why));
        assert_string_equal(why.text, expected);
        assert_int_equal(stat(devices[i], &st), 0);
        assert_true(S_ISCHR(st.st_mode));
    }
}

static void long_names(void **state)
{
    (void)state;
    Fault why;
    char name[400];
    memset(name, 'n', sizeof name);
    name[255] = '\0';                      /* the longest that may be */
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

/* ------------------------------------------------- full, refused, killed --- */
/* The job ends with 0 when writing failed as expected. */
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
    assert_int_equal(scratch_empty(), 1);  /* stderr alone */
}

static void write_to_full_disk(void)
{
    expect_failure("/a: cannot write: No space left on device");
}

static void full_disk(void **state)
{
    (void)state;
    if (mount("tmpfs", scratch, "tmpfs", 0, "size=32k") != 0) {
        skip();
        return;
    }
    scratch_file("old", "x", 1);
    int status = in_child(write_to_full_disk);
    int entries = scratch_empty();
    assert_int_equal(umount(scratch), 0);
    assert_exit(status, 0);
    assert_int_equal(entries, 2);          /* old, stderr */
}

/* Root may write anywhere: the child becomes somebody else. */
static void write_where_not_allowed(void)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        _exit(77);
    expect_failure("/a: cannot write: Permission denied");
}

static void read_what_is_not_allowed(void)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        _exit(77);
    File f;
    Fault why;
    if (file_map(&f, scratch_path("secret"), &why))
        _exit(1);
    _exit(why.code == ExitIO &&
          strstr(why.text, "secret: cannot open: Permission denied") ? 0 : 2);
}

static void no_permission(void **state)
{
    (void)state;
    const char *secret = scratch_file("secret", "x", 1);
    assert_int_equal(chmod(secret, 0), 0);
    assert_int_equal(chmod(scratch, 0555), 0);
    int writing = in_child(write_where_not_allowed);
    int reading = in_child(read_what_is_not_allowed);
    assert_int_equal(chmod(scratch, 0700), 0);
    scratch_empty();
    assert_exit(writing, 0);
    assert_exit(reading, 0);
}

static int signal_to_send;

static void die_while_writing(void)
{
    static Output a, b;
    Fault why;
    files_on_signal();
    if (output_open(&a, scratch_path("a"), &why) &&
        output_open(&b, scratch_path("b"), &why) &&
        output_write(&a, "half", 4, &why))
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
        cmocka_unit_test(reads_whole_files),
        cmocka_unit_test(reads_empty_files),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(messages_are_one_safe_line),
        cmocka_unit_test(maps_are_counted),
        cmocka_unit_test(cut_file_ends_the_process),
        cmocka_unit_test(other_bus_errors_kill),
        cmocka_unit_test(output_appears_whole),
        cmocka_unit_test(cancelled_output_leaves_nothing),
        cmocka_unit_test(output_in_this_folder),
        cmocka_unit_test(writes_through_links),
        cmocka_unit_test(unwritable_targets),
        cmocka_unit_test(devices_are_never_replaced),
        cmocka_unit_test(long_names),
        cmocka_unit_test(unchanged_files_keep_their_time),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(no_permission),
        cmocka_unit_test(signals_remove_temporary_files),
        cmocka_unit_test(ignored_signals_stay_ignored),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
