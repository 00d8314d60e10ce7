/* records_calls_test.c: tests that each system call that writes records may
 * fail: the functions here replace the library's. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "records/records.h"
#include <cmocka.h>

#include <errno.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "support/scratch.h"
#include "support/records_case.h"

static bool no_locks; /* as on some network file systems */
static int fail_at;   /* the call that fails; 0: none */
static bool for_good; /* all later ones fail, too */
static int calls;

static bool refuses(void)
{
    calls++;
    errno = EIO;
    return fail_at && (calls == fail_at || (for_good && calls > fail_at));
}

int flock(int fd, int operation)
{
    errno = ENOLCK;
    return no_locks ? -1 : (int)syscall(SYS_flock, fd, operation);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const int mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return refuses() ? -1
                     : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t n)
{
    return refuses() ? -1 : syscall(SYS_write, fd, data, n);
}

int fsync(int fd)
{
    return refuses() ? -1 : (int)syscall(SYS_fsync, fd);
}

int fchmod(int fd, mode_t mode)
{
    return refuses() ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int rename(const char *from, const char *to)
{
    return refuses()
             ? -1
             : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static void test_no_locks(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Record r = product(a, 1, 2);
    capture_stderr();
    no_locks = true;
    add(a, scratch_path("tune.txt"), &r, 1);
    no_locks = false;
    assert_string_equal(captured(a),
                        "attnc: warning: tune.txt.lock: cannot lock "
                        "(No locks available): let no other attnc write these "
                        "records meanwhile\n");
    assert_int_equal(read_records(a, scratch_path("tune.txt")).at.n, 1);
    scratch_empty();
    arena_free(a);
}

/* ---- each call in its turn ---- */

/* Adds a record with one failing call. Returns the number of records in the
 * file; *made: whether the fourth was reported as added. */
static int with_failure(int at, bool *made)
{
    Arena *a = arena_new();
    Fault why;
    const char *path = scratch_path("tune.txt");
    const Record r[] = { product(a, 1, 1), product(a, 1, 2), product(a, 1, 3),
                         product(a, 1, 4) };
    add(a, path, r, 3);
    calls = 0;
    fail_at = at;
    *made = records_add(a, path, r + 3, 1, &why);
    fail_at = 0;
    if (!*made)
        assert_int_equal(why.code, ExitIO);
    const Records now = read_records(a, path);
    assert_int_equal(now.passed_over, 0);
    for (int i = 0; i < now.at.n; i++)
        assert_true(equal(&now.at.at[i], &r[i]));
    arena_free(a);
    return now.at.n;
}

static void test_each_call_fails(void **state)
{
    (void)state;
    for (int good = 0; good < 2; good++) {
        int failed = 0, i = 1;
        for_good = good;
        for (calls = 1; calls >= i; i++) {
            bool made;
            const int n = with_failure(i, &made);
            assert_int_equal(n, made ? 4 : 3);
            assert_int_equal(temps(), 0);
            failed += !made;
            scratch_empty();
            if (i > 100)
                fail_msg("it never ends");
        }
        assert_true(failed >= 7);
    }
}

int main(void)
{
    files_on_signal();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_locks),
        cmocka_unit_test(test_each_call_fails),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
