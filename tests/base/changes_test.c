/* changes_test.c: tests that every change of a watched file is noticed: written
 * in place, by a rename, through links, in directories that come and go, or
 * among too many other events. Changes of other files are not reported. */
#define _XOPEN_SOURCE 700
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command/changes.h"

#include <cmocka.h>

#include "support/overflow.h"

static Arena *a;
static char folder[32];
static Changes *c;

static const char *at(const char *name)
{
    return arena_printf(a, "%s/%s", folder, name);
}

static void save(const char *name, const char *text)
{
    FILE *f = fopen(at(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(at(from), at(to)), 0);
}

static void watch(const char *name)
{
    Fault why;
    if (!changes_add(c, at(name), &why))
        fail_msg("%s", why.text);
}

/* Returns the change that is reported: within a second if one is wanted. */
static Changed heard(bool wanted)
{
    Changed all = { 0 };
    struct pollfd p = { .fd = changes_fd(c), .events = POLLIN };
    while (!all.path && poll(&p, 1, wanted ? 5000 : 50) > 0) {
        const Changed now = changes_read(c);
        all = now.path ? now : all;
    }
    return all;
}

static void changed(const char *name)
{
    const Changed x = heard(true);
    assert_non_null(x.path);
    assert_string_equal(x.path, at(name));
    assert_false(x.gone);
}

static void nothing(void)
{
    assert_null(heard(false).path);
}

static void renew(void)
{
    Fault why;
    if (!changes_renew(c, &why))
        fail_msg("%s", why.text);
}

static void test_in_place(void **state)
{
    (void)state;
    save("spec", "1");
    save("other", "1");
    watch("spec");
    nothing();
    save("other", "2");
    nothing();
    save("spec", "2");
    changed("spec");
    nothing();
    watch("spec"); /* twice is once */
    save("spec", "3");
    changed("spec");
}

/* Tests that a new file causes no change before it is closed, and one then. */
static void test_created(void **state)
{
    (void)state;
    watch("spec");
    FILE *f = fopen(at("spec"), "w");
    fputs("half", f);
    fflush(f);
    nothing();
    fclose(f);
    changed("spec");
}

static void test_renamed(void **state)
{
    (void)state;
    save("spec", "1");
    watch("spec");
    save("spec.new", "2");
    nothing();
    move("spec.new", "spec");
    changed("spec");
    /* the old file is renamed, a new one is written */
    move("spec", "spec~");
    assert_true(heard(true).gone);
    save("spec", "3");
    changed("spec");
    /* the new file is watched, no other inode */
    save("spec", "4");
    changed("spec");
    assert_int_equal(link(at("spec"), at("other")), 0);
    nothing();
    assert_int_equal(unlink(at("spec")), 0);
    assert_true(heard(true).gone);
    assert_int_equal(link(at("other"), at("spec")), 0);
    changed("spec");
}

static void test_links(void **state)
{
    (void)state;
    mkdir(at("real"), 0700);
    mkdir(at("real2"), 0700);
    save("real/file", "1");
    save("real2/file", "1");
    assert_int_equal(symlink("real", at("current")), 0);
    assert_int_equal(symlink("current/file", at("spec")), 0);
    watch("spec");
    nothing();
    save("real/file", "2");
    changed("spec");
    save("real2/file", "2");
    nothing();
    /* the link to the folder is replaced, as when releases are swapped */
    assert_int_equal(symlink("real2", at("next")), 0);
    move("next", "current");
    changed("spec");
    renew();
    save("real/file", "3");
    nothing();
    save("real2/file", "3");
    changed("spec");
    /* the link itself becomes a file */
    save("plain", "1");
    move("plain", "spec");
    changed("spec");
    renew();
    save("real2/file", "4");
    nothing();
}

static void test_circle(void **state)
{
    (void)state;
    assert_int_equal(symlink("b", at("a")), 0);
    assert_int_equal(symlink("a", at("b")), 0);
    watch("a");
    save("good", "1");
    move("good", "b");
    changed("a");
}

static void test_folders(void **state)
{
    (void)state;
    watch("x/y/spec"); /* none of these exists */
    mkdir(at("x"), 0700);
    changed("x/y/spec");
    renew();
    mkdir(at("x/y"), 0700);
    changed("x/y/spec");
    renew();
    save("x/y/spec", "1");
    changed("x/y/spec");
    move("x/y", "z");
    assert_true(heard(true).gone);
    renew();
    save("z/spec", "2");
    nothing();
    move("z", "x/y");
    changed("x/y/spec");
    renew();
    save("x/y/spec", "2");
    changed("x/y/spec");
}

static void test_many(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "file%d", i);
        save(name, "1");
        watch(name);
    }
    heard(false); /* some were watched before they were closed */
    save("file77", "2");
    changed("file77");
    for (int i = 0; i < 100; i++)
        renew();
    save("file0", "2");
    changed("file0");
}

/* Tests that after lost events any watched file counts as changed. */
static void test_overflow(void **state)
{
    (void)state;
    save("spec", "1");
    watch("spec");
    nothing();
    if (!overflow(at("noise")))
        skip();
    save("spec", "2");
    changed("spec");
    nothing();
    save("spec", "3");
    changed("spec");
}

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    Fault why;
    a = arena_new();
    strcpy(folder, "/tmp/attnc-changes-XXXXXX");
    assert_non_null(mkdtemp(folder));
    c = changes_open(a, &why);
    return c ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    changes_close(c);
    arena_free(a);
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_in_place), TEST(test_created),  TEST(test_renamed),
        TEST(test_links),    TEST(test_circle),   TEST(test_folders),
        TEST(test_many),     TEST(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
