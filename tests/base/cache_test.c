/* cache_test.c: tests the cache of files by content: entries are found again,
 * rejected if modified, and removed beyond the limit, the oldest first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/backend.h"
#include "base/user_cache.h"

#include <cmocka.h>

#include "support/fake_programs.h"

static CacheKey key(int i)
{
    return cache_key(&(CachePiece){ &i, sizeof i }, 1);
}

/* Returns `bytes` bytes that depend on i. */
static char *content(int i, size_t bytes)
{
    char *at = arena_alloc(a, bytes + 1);
    for (size_t k = 0; k < bytes; k++)
        at[k] = (char)((size_t)i * 131 + k * 7 + k / 251);
    return at;
}

static CachePutResult put(int i, size_t bytes, Fault *why)
{
    const CachePut p = { .kind = CacheWeights,
                         .key = key(i),
                         .what = arena_printf(a, "number %d", i),
                         .at = content(i, bytes),
                         .bytes = bytes,
                         .sync = i % 2 == 0 };
    return cache_put(a, &p, why);
}

static void kept(int i, size_t bytes)
{
    Fault why;
    assert_int_equal(put(i, bytes, &why), CacheNew);
}

static bool is_there(int i, size_t bytes, CacheCheck check)
{
    CacheEntry e;
    if (!cache_get(&e, a, CacheWeights, key(i), check))
        return false;
    assert_int_equal(e.bytes, bytes);
    assert_int_equal((uintptr_t)e.at % 64, 0);
    assert_memory_equal(e.at, content(i, bytes), bytes);
    cache_close(&e);
    return true;
}

static const char *folder(void)
{
    return arena_printf(a, "%s/attnc", getenv("XDG_CACHE_HOME"));
}

static const char *file_of(int i)
{
    return arena_printf(a, "%s/%s.weights", folder(), key(i).hex);
}

/* Sets the time of last use to this many seconds ago. */
static void age(int i, long seconds)
{
    const struct timespec at = { .tv_sec = time(NULL) - seconds };
    assert_int_equal(utimensat(AT_FDCWD, file_of(i),
                               (struct timespec[]){ at, at }, 0),
                     0);
}

static void test_keys(void **state)
{
    (void)state;
    const CachePiece one[] = { { "ab", 2 }, { "c", 1 } };
    const CachePiece two[] = { { "a", 1 }, { "bc", 2 } };
    assert_int_equal(strlen(key(1).hex), 32);
    assert_string_equal(key(1).hex, key(1).hex);
    assert_string_not_equal(key(1).hex, key(2).hex);
    assert_string_not_equal(cache_key(one, 2).hex, cache_key(two, 2).hex);
}

static void test_put_and_get(void **state)
{
    (void)state;
    static const size_t sizes[] = { 0, 1, 4096, 100003 };
    CacheEntry e;
    assert_false(is_there(0, 0, CacheVerified));
    for (int i = 0; i < 4; i++) {
        kept(i, sizes[i]);
        assert_true(is_there(i, sizes[i], CacheVerified));
        assert_true(is_there(i, sizes[i], CacheSize));
    }
    kept(1, 77); /* replaces what was there */
    assert_true(is_there(1, 77, CacheVerified));
    assert_false(cache_get(&e, a, CacheObject, key(1), CacheVerified));
    assert_int_equal(files(folder()), 4);

    assert_true(cache_get(&e, a, CacheWeights, key(3), CacheVerified));
    cache_remove(a, CacheWeights, key(3)); /* mapped files stay */
    assert_memory_equal(e.at, content(3, sizes[3]), sizes[3]);
    cache_close(&e);
    assert_false(is_there(3, sizes[3], CacheSize));
}

static void flip(int i, off_t at)
{
    char c;
    const int fd = open(file_of(i), O_RDWR);
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c = (char)(c ^ 4);
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

/* Tests that a change of any byte is detected; for the seal, by both checks. */
static void test_touched(void **state)
{
    (void)state;
    enum { Bytes = 100 };
    struct stat st;
    kept(1, Bytes);
    assert_int_equal(stat(file_of(1), &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        flip(1, at);
        assert_false(is_there(1, Bytes, CacheVerified));
        if (at >= Bytes)
            assert_false(is_there(1, Bytes, CacheSize));
        flip(1, at);
    }
    assert_true(is_there(1, Bytes, CacheVerified));
    for (off_t n = st.st_size - 1; n >= 0; n -= 9) {
        assert_int_equal(truncate(file_of(1), n), 0);
        assert_false(is_there(1, Bytes, CacheSize));
    }
    kept(1, Bytes);
    assert_int_equal(chmod(file_of(1), 0666), 0); /* others may have written */
    assert_false(is_there(1, Bytes, CacheVerified));
    kept(2, Bytes);
    assert_int_equal(rename(file_of(2), in_dir("elsewhere")), 0);
    assert_int_equal(symlink(in_dir("elsewhere"), file_of(2)), 0);
    assert_false(is_there(2, Bytes, CacheVerified));
    kept(3, Bytes); /* under another key: has its own contents */
    assert_int_equal(rename(file_of(3),
                            arena_printf(a, "%s/%s.so", folder(), key(3).hex)),
                     0);
    CacheEntry e;
    assert_false(cache_get(&e, a, CacheObject, key(3), CacheVerified));
}

static void test_limit(void **state)
{
    (void)state;
    enum { Bytes = 10000 };
    FILE *f;
    Fault why;
    setenv("ATTNC_CACHE_LIMIT", "45K", 1); /* four of them */
    for (int i = 0; i < 4; i++) {
        kept(i, Bytes);
        age(i, 100 - i);
    }
    assert_non_null(f = fopen(arena_printf(a, "%s/mine", folder()), "w"));
    fputs(content(7, 60000), f); /* it does not count */
    fclose(f);
    assert_true(is_there(0, Bytes, CacheSize)); /* now the most recently used */
    kept(4, Bytes);
    assert_false(is_there(1, Bytes, CacheSize));
    assert_true(is_there(0, Bytes, CacheVerified));
    kept(5, 30000); /* as large as three of the others */
    assert_false(is_there(2, Bytes, CacheSize));
    assert_false(is_there(3, Bytes, CacheSize));
    assert_true(is_there(5, 30000, CacheVerified));

    assert_int_equal(put(6, 46050, &why), CacheNot);
    assert_false(cache_takes(46081));
    assert_true(cache_takes(46080));
    setenv("ATTNC_CACHE_LIMIT", "0", 1);
    assert_int_equal(put(6, 0, &why), CacheNot);
    setenv("ATTNC_CACHE_LIMIT", "many", 1); /* rejected with a message; the
                                               default is used */
    assert_int_equal(cache_limit() >> 30, 2);
    static const char *const wrong[] = {
        "-1", "1X", "1MB", "M", "", "99999999999999999999", "99999999999T"
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("ATTNC_CACHE_LIMIT", wrong[i], 1);
        assert_int_equal(cache_limit() >> 30, 2);
    }
    unsetenv("ATTNC_CACHE_LIMIT");
    assert_int_equal(access(arena_printf(a, "%s/mine", folder()), F_OK), 0);
}

static const CacheFile *find(const CacheList *l, const char *name)
{
    for (int i = 0; i < l->at.n; i++)
        if (strstr(l->at.at[i].name, name))
            return &l->at.at[i];
    fail_msg("%s is not listed", name);
    return NULL;
}

static bool is_damaged(const CacheFile *f, const void *with)
{
    (void)with;
    return f->state == CacheDamaged || f->state == CacheOpen;
}

static void test_list(void **state)
{
    (void)state;
    CacheList l, removed;
    cache_list(&l, a, true);
    assert_null(l.folder);
    for (int i = 1; i <= 4; i++)
        kept(i, 1000);
    age(4, 50);
    flip(2, 10);
    assert_int_equal(chmod(file_of(3), 0622), 0);
    const char *left = arena_printf(a, "%s/.%s.so.tmp.1.2", folder(),
                                    key(9).hex);
    const char *foreign = arena_printf(a, "%s/notes.so", folder());
    const char *records = arena_printf(a, "%s/tune.txt", folder());
    const char *const others[] = { left, foreign, records };
    for (int i = 0; i < 3; i++)
        fclose(fopen(others[i], "w"));
    cache_list(&l, a, false); /* a writer may be active: `left` is not old */
    assert_int_equal(l.at.n, 5);
    assert_int_equal(find(&l, key(2).hex)->state, CacheSound);
    const struct timespec old = { .tv_sec = time(NULL) - 4000 };
    assert_int_equal(utimensat(AT_FDCWD, left, (struct timespec[]){ old, old },
                               0),
                     0);
    cache_list(&l, a, true);
    assert_int_equal(l.at.n, 6);
    assert_int_equal(find(&l, key(1).hex)->state, CacheSound);
    assert_string_equal(find(&l, key(1).hex)->what, "number 1");
    assert_int_equal(find(&l, key(2).hex)->state, CacheDamaged);
    assert_int_equal(find(&l, key(3).hex)->state, CacheOpen);
    assert_int_equal(find(&l, "notes")->state, CacheForeign);
    assert_int_equal(find(&l, ".tmp.")->state, CacheLeft);
    cache_clean(&removed, a, is_damaged, NULL, UINT64_MAX, true);
    assert_int_equal(files(folder()), 2 + 7 - 2);
    flip(2, 10);
    flip(2, 1040); /* in the seal: detected without reading the contents */
    cache_clean(&removed, a, is_damaged, NULL, UINT64_MAX, false);
    assert_int_equal(removed.at.n, 3);
    cache_clean(&removed, a, NULL, NULL, 0, false);
    assert_int_equal(removed.at.n, 2);
    assert_int_equal(files(folder()), 2); /* foreign, records */
}

/* Tests eight processes that put, get and remove concurrently: files found are
 * complete, and in the end the limit holds. */
static void test_processes(void **state)
{
    (void)state;
    enum { Processes = 8, Rounds = 60, Bytes = 20000 };
    pid_t pid[Processes];
    setenv("ATTNC_CACHE_LIMIT", "100K", 1);
    for (int p = 0; p < Processes; p++)
        if ((pid[p] = fork()) == 0) {
            Fault why;
            int bad = 0;
            for (int i = 0; i < Rounds; i++) {
                const int n = (i * 5 + p * 3) % 9;
                CacheEntry e;
                if (i % 3 == 0)
                    bad += put(n, Bytes, &why) != CacheNew;
                if (!cache_get(&e, a, CacheWeights, key(n), CacheVerified))
                    continue;
                bad += e.bytes != Bytes
                    || memcmp(e.at, content(n, Bytes), Bytes) != 0;
                cache_close(&e);
            }
            _exit(bad != 0);
        }
    for (int p = 0; p < Processes; p++) {
        int status;
        assert_int_equal(waitpid(pid[p], &status, 0), pid[p]);
        assert_int_equal(status, 0);
    }
    CacheList l;
    cache_list(&l, a, true);
    unsetenv("ATTNC_CACHE_LIMIT");
    assert_in_range(l.bytes, Bytes, 100 * 1024);
    for (int i = 0; i < l.at.n; i++)
        assert_int_equal(l.at.at[i].state, CacheSound);
}

/* Tests a full disk, simulated by the limit of the file size, and folders that
 * others can write. */
static void test_refused(void **state)
{
    (void)state;
    struct rlimit old, limit;
    Fault why;
    kept(1, 1000);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 900;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const CachePutResult full = put(2, 1000, &why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(full, CacheFailed);
    assert_non_null(strstr(why.text, "File too large"));
    assert_int_equal(files(folder()), 1);

    assert_int_equal(chmod(folder(), 0777), 0);
    assert_int_equal(put(2, 1000, &why), CacheFailed);
    assert_non_null(strstr(why.text, "only you can write"));
    assert_false(is_there(1, 1000, CacheVerified));
    assert_int_equal(chmod(folder(), 0700), 0);
    assert_true(is_there(1, 1000, CacheVerified));
    setenv("XDG_CACHE_HOME", in_dir("a/b/c"), 1); /* cannot be made */
    assert_int_equal(put(2, 1000, &why), CacheFailed);
    const char *home = arena_strdup(a, getenv("HOME"));
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_int_equal(put(2, 1000, &why), CacheFailed);
    assert_string_equal(why.text, "no HOME");
    setenv("HOME", home, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_keys),    TEST(test_put_and_get), TEST(test_touched),
        TEST(test_limit),   TEST(test_list),        TEST(test_processes),
        TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
