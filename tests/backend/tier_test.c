/* tier_test.c: tests the background process that runs a C compiler: its result,
 * and how it ends. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "backend/tier.h"
#include "base/user_dir.h"

#include <cmocka.h>

#include "support/fake_programs.h"

static const char tier[] = "const void *t_model(void) { return \"tier\"; }\n",
                  other[] = "const void *t_model(void) { return \"other\"; }\n",
                  *text = tier;

static bool text_of(void *with, Arena *in, ObjectText *to, const char **about,
                    Fault *why)
{
    (void)in;
    (void)why;
    *about = "; about";
    *to = (ObjectText){
        { text, strlen(text) }, "t_model", "a tier", *(const CcOptions *)with
    };
    return true;
}

static CacheKey note(void)
{
    return cache_key(&(CachePiece){ text, strlen(text) }, 1);
}

static Background started(CcOptions *o)
{
    Background b;
    Fault why;
    const BackgroundWork w = { .text = text_of, .with = o, .note = note() };
    assert_true(user_dir_make(a, user_dir(a)));
    assert_true(background_start(&b, &w, &why));
    return b;
}

/* Waits for its end; fails after 60 s. */
static BackgroundEnd end_of(Background *b, CacheKey *key, Fault *why)
{
    const char *about = "";
    for (int i = 0; i < 6000; i++) {
        const BackgroundEnd end = background_poll(b, a, key, &about, why);
        if (end == BackgroundDone)
            assert_string_equal(about, "; about");
        if (end != BackgroundWorks)
            return end;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return BackgroundWorks;
}

static CcOptions compiler(void)
{
    Fault why;
    const char *path = cc_find(a, NULL, &why);
    assert_non_null(path);
    return options(path);
}

static void test_done(void **state)
{
    (void)state;
    CcOptions o = compiler();
    CacheKey key, again;
    Fault why;
    Backend b = { 0 };
    Background at = started(&o);
    assert_int_equal(end_of(&at, &key, &why), BackgroundDone);
    assert_true(objcache_find(a, &b, key, "t_model"));
    assert_string_equal((const char *)b.model, "tier");
    backend_unload(&b);
    at = started(&o); /* found by the note, without asking a compiler */
    o.compiler = "/none";
    assert_int_equal(end_of(&at, &again, &why), BackgroundDone);
    assert_string_equal(key.hex, again.hex);
    assert_int_equal(background_poll(&at, a, &key, &(const char *){ "" }, &why),
                     BackgroundWorks); /* it is reported once */
}

/* Tests that the objects of two texts by one compiler have two keys. */
static void test_texts(void **state)
{
    (void)state;
    CcOptions o = compiler();
    CacheKey key[2];
    Fault why;
    for (int i = 0; i < 2; i++) {
        Backend b = { 0 };
        text = i ? other : tier;
        Background at = started(&o);
        assert_int_equal(end_of(&at, &key[i], &why), BackgroundDone);
        assert_true(objcache_find(a, &b, key[i], "t_model"));
        assert_string_equal((const char *)b.model, i ? "other" : "tier");
        backend_unload(&b);
    }
    text = tier;
    assert_string_not_equal(key[0].hex, key[1].hex);
}

static void test_too_long(void **state)
{
    (void)state;
    CacheKey key;
    Fault why;
    CcOptions o = options(script("slow", "[ $1 = --version ] && echo slow && "
                                         "exit 0; sleep 60"));
    o.seconds = 1;
    Background at = started(&o);
    assert_int_equal(end_of(&at, &key, &why), BackgroundFailed);
    assert_non_null(strstr(why.text, "ran longer than 1 s"));
}

static void test_killed(void **state)
{
    (void)state;
    CacheKey key;
    Fault why;
    CcOptions o = options(script("slow", "sleep 20"));
    Background at = started(&o);
    assert_int_equal(kill((pid_t)at.pid, SIGKILL), 0);
    assert_int_equal(end_of(&at, &key, &why), BackgroundFailed);
    assert_non_null(strstr(why.text, "was killed by signal 9"));
}

/* Tests that the object is compiled, but the disk is full. */
static void test_no_room(void **state)
{
    (void)state;
    CacheKey key;
    Fault why;
    CcOptions o = compiler();
    setenv("ATTNC_CACHE_LIMIT", "1K", 1);
    Background at = started(&o);
    const BackgroundEnd end = end_of(&at, &key, &why);
    unsetenv("ATTNC_CACHE_LIMIT");
    assert_int_equal(end, BackgroundFailed);
    assert_non_null(strstr(why.text, "the cache did not take the object"));
}

/* Tests that the compiler continues after this process ends, and that its
 * object is stored. */
static void test_left(void **state)
{
    (void)state;
    CcOptions o = compiler();
    CacheEntry e;
    Background at = started(&o);
    background_leave(&at);
    for (int i = 0; i < 6000; i++) {
        if (cache_get(&e, a, CacheNote, note(), CacheVerified)) {
            cache_close(&e);
            return;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    fail_msg("no object");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_done),   TEST(test_texts),   TEST(test_too_long),
        TEST(test_killed), TEST(test_no_room), TEST(test_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
