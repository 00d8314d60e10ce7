/* backend_test.c: tests a cache of compiled objects that others have
 * modified. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/skip.h"

static Target here(void)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, "native", 0, NULL, &why));
    return t;
}

/* ---- cache ---- */
static const char object_text[] =
    "struct attn_model;\n"
    "static const int numbers[2] = { 42, 0 };\n"
    "const struct attn_model *t_model(void)\n"
    "{\n    return (const struct attn_model *)numbers;\n}\n";

/* A compiler that counts its compilations in a file. */
static CcOptions counting_compiler(void)
{
    Fault why;
    const char *cc = cc_find(a, NULL, &why);
    return options(script(
        "counting",
        arena_printf(
            a, "[ \"$1\" = --version ] || echo x >> %s/count\nexec %s \"$@\"",
            dir, cc)));
}

static int compilations(void)
{
    struct stat st;
    return stat(in_dir("count"), &st) == 0 ? (int)st.st_size / 2 : 0;
}

static void load_text(const CcOptions *o, const char *text, int number)
{
    Backend b = { 0 };
    Fault why;
    const ObjectText t = { { text, strlen(text) }, "t_model", "numbers", *o };
    assert_true(objcache_load(a, &b, &t, NULL, &why));
    assert_int_equal(*(const int *)(const void *)b.model, number);
    backend_unload(&b);
}

static void load(const CcOptions *o)
{
    load_text(o, object_text, 42);
}

/* Returns the path of the only object in the cache. */
static const char *cached(void)
{
    const char *folder = in_dir("cache/attnc"), *name = NULL;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            name = arena_printf(a, "%s/%s", folder, e->d_name);
    closedir(d);
    assert_non_null(name);
    return name;
}

static void flip_byte(const char *path, off_t at)
{
    char c;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c = (char)(c ^ 1);
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static void test_cache(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", in_dir("cache"), 1);
    CcOptions o = counting_compiler();
    struct stat st;
    load(&o);
    load(&o);
    assert_int_equal(compilations(), 1);
    assert_int_equal(stat(in_dir("cache/attnc"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(files(in_dir("cache/attnc")), 1);
    o.level = "1"; /* another key */
    load(&o);
    assert_int_equal(compilations(), 2);
    assert_int_equal(files(in_dir("cache/attnc")), 2);
    char *other = arena_strdup(a, object_text), *at = strstr(other, "42");
    *at = '1';
    load_text(&o, other, 12);
    assert_int_equal(compilations(), 3);
}

static void test_cache_touched(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", in_dir("cache"), 1);
    CcOptions o = counting_compiler();
    struct stat st;
    load(&o);
    assert_int_equal(stat(cached(), &st), 0);
    off_t places[] = { 0, st.st_size / 2, st.st_size - 40, st.st_size - 1 };
    for (int i = 0; i < 4; i++) {
        flip_byte(cached(), places[i]);
        load(&o);
        assert_int_equal(compilations(), i + 2);
    }
    assert_int_equal(truncate(cached(), st.st_size / 2), 0);
    load(&o);
    assert_int_equal(truncate(cached(), 0), 0);
    load(&o);
    assert_int_equal(compilations(), 7);
    assert_int_equal(chmod(cached(), 0722), 0); /* others may have written */
    load(&o);
    assert_int_equal(compilations(), 8);
    load(&o);
    assert_int_equal(compilations(), 8);
}

static void test_cache_of_others(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", in_dir("cache"), 1);
    CcOptions o = counting_compiler();
    assert_int_equal(mkdir(in_dir("cache"), 0700), 0);
    assert_int_equal(mkdir(in_dir("elsewhere"), 0700), 0);
    assert_int_equal(symlink(in_dir("elsewhere"), in_dir("cache/attnc")), 0);
    load(&o); /* works, keeps nothing */
    assert_int_equal(files(in_dir("elsewhere")), 0);
    assert_int_equal(unlink(in_dir("cache/attnc")), 0);
    assert_int_equal(mkdir(in_dir("cache/attnc"), 0700), 0);
    assert_int_equal(chmod(in_dir("cache/attnc"), 0777), 0);
    load(&o);
    assert_int_equal(files(in_dir("cache/attnc")), 0);
    assert_int_equal(compilations(), 2);
}

/* Tests a cache on a full disk, simulated by the limit of the file size. */
static void test_cache_full(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", in_dir("cache"), 1);
    setenv("TMPDIR", dir, 1);
    Fault why;
    CcOptions o = counting_compiler();
    load(&o);
    struct stat st;
    assert_int_equal(stat(cached(), &st), 0);
    assert_int_equal(unlink(cached()), 0);
    /* the object fits, but not with its seal */
    struct rlimit old, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = (rlim_t)st.st_size - 1;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    load(&o);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(compilations(), 2);
    assert_int_equal(files(in_dir("cache/attnc")), 0);
    assert_int_equal(files(dir), 3); /* counting, count, cache */

    Backend b = { 0 }; /* an object that cannot be loaded is removed */
    o = options(script("trash",
                       "while [ $# -gt 1 ]; do shift; "
                       "[ $1 = -o ] && echo trash > $2; done; exit 0"));
    const ObjectText t = {
        { object_text, strlen(object_text) }, "t_model", "trash", o
    };
    assert_false(objcache_load(a, &b, &t, NULL, &why));
    assert_int_equal(why.code, ExitBackend);
    assert_int_equal(files(in_dir("cache/attnc")), 0);
    assert_int_equal(files(dir), 4);
    unsetenv("TMPDIR");
}

static void test_foreign_processor(void **state)
{
    (void)state;
    Fault why;
    Target t = here();
    assert_true(target_runs_here(&t, &why));
    t.name = "no-such-machine";
    assert_false(target_runs_here(&t, &why));
    assert_int_equal(why.code, ExitBackend);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_cache),
        TEST(test_cache_touched),
        TEST(test_cache_of_others),
        TEST(test_cache_full),
        TEST(test_foreign_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
