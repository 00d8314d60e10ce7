/* records_faults_test.c: tests concurrent, killed and out-of-space writers, and
 * files with invalid contents. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "records/records.h"
#include <cmocka.h>

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "support/scratch.h"
#include "support/records_case.h"

/* ---- several writers ---- */
enum { Writers = 4, Adds = 50 };

static void write_some(int writer)
{
    for (int i = 0; i < Adds; i++) {
        Arena *a = arena_new();
        const Record r = product(a, writer + 1, i + 1);
        add(a, scratch_path("tune.txt"), &r, 1);
        arena_free(a);
    }
    _exit(0);
}

/* Reads the file repeatedly: it is always complete and never has fewer records
 * than before. */
static void read_on(void)
{
    for (int last = 0; last < Writers * Adds;) {
        Arena *a = arena_new();
        Records r;
        Fault why;
        if (!records_read(&r, a, scratch_path("tune.txt"), &why)
            || r.passed_over || r.at.n < last)
            _exit(1);
        last = r.at.n;
        arena_free(a);
    }
    _exit(0);
}

static void test_writers_at_once(void **state)
{
    (void)state;
    int status, failed = 0;
    Arena *a = arena_new();
    fflush(NULL);
    for (int i = 0; i < Writers + 2; i++) {
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0 && i < Writers)
            write_some(i);
        if (pid == 0)
            read_on();
    }
    while (wait(&status) > 0)
        failed += status != 0;
    assert_int_equal(failed, 0);
    const Records r = read_records(a, scratch_path("tune.txt"));
    assert_int_equal(r.at.n, Writers * Adds);
    assert_int_equal(r.passed_over, 0);
    for (int i = 0; i < Writers * Adds; i++) {
        const Record sought = product(a, i / Adds + 1, i % Adds + 1);
        assert_non_null(records_find(&r, &sought));
    }
    assert_int_equal(temps(), 0);
    scratch_empty();
    arena_free(a);
}

/* ---- kill -9 ---- */
enum { Kills = 200, Fresh = 20 };

/* Adds records one by one, and reports those that are done. */
static void add_until_killed(int run, int done)
{
    for (int32_t i = 1;; i++) {
        Arena *a = arena_new();
        const Record r = product(a, run + 1, i);
        add(a, scratch_path("tune.txt"), &r, 1);
        arena_free(a);
        if (write(done, &i, sizeof i) != sizeof i)
            _exit(1);
    }
}

/* Kills a writer after some microseconds: how many it had finished. */
static int32_t kill_one(int run, long microseconds)
{
    int pipes[2], status;
    int32_t done = 0;
    const struct timespec t = { .tv_nsec = 1000 * microseconds };
    assert_int_equal(pipe(pipes), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        add_until_killed(run, pipes[1]);
    nanosleep(&t, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    close(pipes[1]);
    for (int32_t i; read(pipes[0], &i, sizeof i) == sizeof i;)
        done = i;
    close(pipes[0]);
    return done;
}

static void test_killed(void **state)
{
    (void)state;
    int finished[Kills], total = 0;
    uint32_t random = 1;
    fflush(NULL);
    for (int run = 0; run < Kills; run++) {
        Arena *a = arena_new();
        random = random * 1664525 + 1013904223;
        if (run % Fresh == 0)
            scratch_empty();
        finished[run] = kill_one(run, random >> 19);
        total += finished[run];
        const Records r = read_records(a, scratch_path("tune.txt"));
        assert_int_equal(r.passed_over, 0);
        for (int k = run - run % Fresh; k <= run; k++)
            for (int i = 1; i <= finished[k]; i++) {
                const Record sought = product(a, k + 1, i);
                assert_non_null(records_find(&r, &sought));
            }
        arena_free(a);
    }
    assert_true(total > 0);
    scratch_empty();
}

/* Tests that files of processes killed more than an hour ago are removed. */
static void test_stale_files(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Record r = product(a, 1, 2);
    const struct timespec old[2] = { { .tv_sec = time(NULL) - 3700 },
                                     { .tv_sec = time(NULL) - 3700 } };
    const char *stale = scratch_file(".tune.txt.tmp.12.34", "x", 1);
    const char *other = scratch_file(".tuned.tmp.12.34", "x", 1);
    const char *fresh = scratch_file(".tune.txt.tmp.12.35", "x", 1);
    assert_int_equal(utimensat(AT_FDCWD, stale, old, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, other, old, 0), 0);
    add(a, scratch_path("tune.txt"), &r, 1);
    assert_int_not_equal(access(stale, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(access(fresh, F_OK), 0);
    scratch_empty();
    arena_free(a);
}

/* ---- locks ---- */
static void test_lock(void **state)
{
    (void)state;
    Arena *a = arena_new();
    Fault why;
    const char *path = scratch_path("tune.txt");
    const int lock = records_lock(a, path, 0, &why);
    assert_true(lock >= 0);
    assert_int_equal(records_lock(a, path, 0.03, &why), -1);
    assert_int_equal(why.code, ExitIO);
    assert_message(
        why.text,
        arena_printf(
            a,
            "tune.txt.lock: another attnc "
            "(process %ld) holds the lock for more than 0.03 s: let it "
            "end, then try again",
            (long)getpid()));
    close(lock);
    const int again = records_lock(a, path, 0, &why);
    assert_true(again >= 0);
    close(again);
    scratch_empty();
    symlink("elsewhere", scratch_path("tune.txt.lock"));
    assert_int_equal(records_lock(a, path, 0, &why), -1);
    assert_message(why.text, "tune.txt.lock: cannot write: it is a link; give "
                             "another file by --records");
    scratch_empty();
    mkfifo(scratch_path("tune.txt.lock"), 0600);
    assert_int_equal(records_lock(a, path, 0, &why), -1);
    assert_message(why.text, "tune.txt.lock: is not a regular file");
    scratch_empty();
    arena_free(a);
}

/* ---- no room, places ---- */
static void fill_up(void)
{
    Arena *a = arena_new();
    Fault why;
    for (int i = 1; i < 100; i++) {
        const struct rlimit small = { 1000, 1000 };
        const Record r = product(a, 1, i);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        if (records_add(a, scratch_path("tune.txt"), &r, 1, &why))
            continue;
        assert_message(why.text,
                       "tune.txt: cannot write: File too large; the "
                       "records that were there are kept; give another file "
                       "by --records");
        _exit(i);
    }
    _exit(0);
}

static void test_no_room(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const int status = in_child(fill_up);
    assert_true(WIFEXITED(status));
    const int n = WEXITSTATUS(status);
    assert_in_range(n, 2, 4);
    assert_int_equal(read_records(a, scratch_path("tune.txt")).at.n, n - 1);
    assert_int_equal(temps(), 0);
    scratch_empty();
    arena_free(a);
}

static void refused(Arena *a, const char *path, const char *read,
                    const char *write)
{
    Records r;
    Fault why;
    const Record one = product(a, 1, 2);
    assert_int_equal(records_read(&r, a, path, &why), read == NULL);
    if (read)
        assert_message(why.text, read);
    assert_int_equal(r.at.n, 0);
    assert_false(records_add(a, path, &one, 1, &why));
    assert_message(why.text, write);
}

static void test_places(void **state)
{
    (void)state;
    Arena *a = arena_new();
    scratch_file("file", "x", 1);
    refused(a, scratch_path("none/tune.txt"), NULL,
            "none/tune.txt.lock: cannot write: No such file or directory; give "
            "another file by --records");
    refused(a, scratch_path("file/tune.txt"),
            "file/tune.txt: cannot read: Not a directory",
            "file/tune.txt.lock: cannot write: Not a directory; give another "
            "file by --records");
    refused(a, NULL, NULL,
            "there is no HOME to keep records in: give a file "
            "by --records");
    mkdir(scratch_path("tune.txt"), 0700);
    refused(a, scratch_path("tune.txt"), "tune.txt: is not a regular file",
            "tune.txt: is not a regular file");
    scratch_empty();
    const char *large = scratch_file("tune.txt", "", 0);
    assert_int_equal(truncate(large, (16 << 20) + 1), 0);
    refused(a, large,
            "tune.txt: has 16777217 bytes, at most 16777216 are "
            "read: move it away",
            "tune.txt: has 16777217 bytes, at most "
            "16777216 are read: move it away");
    scratch_empty();
    arena_free(a);
}

/* Tests that records in the user's folder are ignored if others could have
 * written them. The first record creates the folder. */
static void test_own_folder(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const char *usual = getenv("XDG_CACHE_HOME");
    const Record one = product(a, 1, 2);
    setenv("XDG_CACHE_HOME", scratch, 1);
    const char
        *path = records_path(a, NULL),
        *open = "attnc/tune.txt: is not "
                "used, since others can write it: chown it to you, chmod go-w";
    assert_message(path, "attnc/tune.txt");
    assert_int_equal(read_records(a, path).at.n, 0);
    const mode_t mask = umask(0);
    add(a, path, &one, 1);
    umask(mask);
    assert_int_equal(read_records(a, path).at.n, 1);
    assert_int_equal(chmod(path, 0666), 0);
    refused(a, path, open, open);
    assert_int_equal(chmod(path, 0620), 0);
    refused(a, path, open, open);
    assert_int_equal(chmod(path, 0600), 0);
    if (chown(path, 65534, 65534) == 0) /* the superuser alone may */
        refused(a, path, open, open);
    unlink(path);
    symlink("/etc/hostname", path);
    refused(a, path, "attnc/tune.txt: cannot read: it is a link",
            "attnc/tune.txt: cannot read: it is a link");
    unlink(path);
    unlink(arena_printf(a, "%s.lock", path));
    if (usual)
        setenv("XDG_CACHE_HOME", usual, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    scratch_empty();
    arena_free(a);
}

int main(void)
{
    files_on_signal();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writers_at_once), cmocka_unit_test(test_killed),
        cmocka_unit_test(test_stale_files),     cmocka_unit_test(test_lock),
        cmocka_unit_test(test_no_room),         cmocka_unit_test(test_places),
        cmocka_unit_test(test_own_folder),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
