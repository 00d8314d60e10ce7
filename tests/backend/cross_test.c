/* cross_test.c: tests cross compilers: which get --target, which are rejected,
 * the message if a library is missing, and that the output is for the other
 * machine. Most of them are scripts that answer as clang and gcc do. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/cross.h"
#include "support/aot.h"
#include "support/skip.h"

#define CLANG                                                                  \
    "case \"$*\" in *-dumpmachine*--target=" TRIPLE "*) "                      \
    "echo " ARCH "-unknown-linux-gnu; exit;; "                                 \
    "*-dumpmachine*) echo own-pc-linux-gnu; exit;; esac\n"
#define GCC(MACHINE)                                                           \
    "case \"$*\" in *--target*) exit 1;; "                                     \
    "*-dumpmachine*) echo " MACHINE "; exit;; esac\n"

static Target target(const char *name)
{
    Target t;
    Fault why;
    assert_true(target_find(&t, name, 0, NULL, &why));
    return t;
}

static void test_triples(void **state)
{
    (void)state;
    Target t = target(THERE);
    assert_string_equal(t.triple, TRIPLE);
    assert_true(target_foreign(&t));
    t = target("generic");
    assert_null(t.triple);
    assert_false(target_foreign(&t));
    t = target("native");
    assert_false(target_foreign(&t));
}

static void test_which_compilers(void **state)
{
    (void)state;
    static const struct {
        const char *march, *body, *target, *says;
    } tries[] = {
        { THERE, CLANG, TRIPLE, NULL },
        { THERE, GCC(ARCH "-linux-musl"), NULL, NULL },
        { THERE, "exit 1", NULL, NULL }, /* does not print its target */
        { THERE, GCC("own-linux-gnu"), NULL,
          "fake makes code for own-linux-gnu, not for " THERE
          "; take clang, or --cc=" TRIPLE "-gcc (apt-get install gcc-" },
        { THERE, GCC(ARCH "x-linux"), NULL, "not for " THERE },
        { HERE, GCC(TRIPLE), NULL, "give another by --cc" },
        { "generic", GCC("own-linux-gnu"), NULL, NULL },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        Fault why = { 0 };
        CcOptions o = options(script("fake", tries[i].body));
        const Target t = target(tries[i].march);
        assert_int_equal(cc_aim(a, &o, &t, &why), tries[i].says == NULL);
        if (tries[i].says) {
            assert_int_equal(why.code, ExitBackend);
            assert_non_null(strstr(why.text, tries[i].says));
        }
        assert_int_equal(o.target != NULL, tries[i].target != NULL);
        if (tries[i].target)
            assert_string_equal(o.target, tries[i].target);
    }
}

static void test_no_library(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        CcKind kind;
        const char *says;
    } tries[] = {
        { "echo 'In file included from <stdin>:1:' >&2\n"
          "echo \"x.h:5: fatal error: 'bits/x.h' file not found\" >&2; exit 1",
          CcProgram,
          "finds no headers of a C library for " TRIPLE
          " (x.h:5: fatal error: 'bits/x.h' file not found); install them: "
          "apt-get install gcc-" },
        { "case \"$*\" in *' -c '*) exit 0;; esac\n"
          "echo 'ld: cannot find -lm' >&2; exit 1",
          CcShared,
          "finds no files or linker of a C library for " TRIPLE
          " (ld: cannot find -lm); install them: apt-get install gcc-" },
        { "case \"$*\" in *' -c '*) exit 0;; esac; exit 1", CcObject, NULL },
    };
    const Target there = target(THERE), here = target("native");
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        Fault why = { 0 };
        CcOptions o = options(script("fake", tries[i].body));
        assert_int_equal(cc_has_library(a, &o, &there, tries[i].kind, &why),
                         tries[i].says == NULL);
        if (tries[i].says) {
            assert_int_equal(why.code, ExitBackend);
            assert_non_null(strstr(why.text, tries[i].says));
        }
        assert_true(cc_has_library(a, &o, &here, tries[i].kind, &why));
        o.print = true;
        assert_true(cc_has_library(a, &o, &there, tries[i].kind, &why));
        assert_int_equal(files(dir), 1); /* the script alone */
    }
}

/* ---- the program ---- */
static const char small[] = "tests/cli/small.yaml";

static void test_print_commands(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(RUN(&s, "", attnc(), "compile", small, "-###",
                         "--emit=obj,exe", "--march=" THERE, "--cc",
                         script("fake", CLANG "exit 1"), "-o", in_dir("m")),
                     0);
    assert_non_null(strstr(s.tail, "fake\" \"--target=" TRIPLE "\" \"-O2\""));
    assert_non_null(strstr(s.tail, "\"-march=" THERE "\" \"-DATTNC_MAIN\""));
    assert_int_equal(files(dir), 1);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        CLANG "echo no stdio.h >&2; exit 1",
        GCC("own-linux-gnu") "exit 0",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        Spawned s;
        assert_int_equal(RUN(&s, "", attnc(), "compile", small, "--emit=c,obj",
                             "--march=" THERE, "--cc",
                             script("fake", bodies[i]), "-o", in_dir("m")),
                         ExitBackend);
        assert_non_null(strstr(s.tail, "apt-get install gcc-"));
        assert_null(strstr(s.tail, "the command was"));
        assert_int_equal(files(dir), 1);
    }
}

/* Tests that the printed command uses a compiler for that machine. */
static void test_report(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
    } tries[] = {
        { CLANG, "/fake --target=" TRIPLE " -O2 -std=c11 -march=" THERE " " },
        { GCC(ARCH "-linux-gnu"), "/fake -O2 -std=c11 -march=" THERE " " },
        { GCC("own-linux-gnu"), "build: " TRIPLE "-gcc -O2 -std=c11 " },
        { NULL, "build: " TRIPLE "-gcc -O2 -std=c11 -march=" THERE " " },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        Spawned s;
        const char *cc = tries[i].body
                           ? arena_printf(a, "--cc=%s",
                                          script("fake", tries[i].body))
                           : "--no-records";
        assert_int_equal(RUN(&s, "", attnc(), "compile", small, "--seed=1",
                             "--march=" THERE, cc, "-o", in_dir("m.c")),
                         0);
        assert_non_null(strstr(s.tail, tries[i].says));
        assert_non_null(strstr(s.tail, "m.weights  # on " TRIPLE "\n"));
    }
}

/* Tests real compilers, if the other architecture's C library is installed. */
static void test_object(void **state)
{
    (void)state;
    static const char *const compilers[] = { NULL, TRIPLE "-gcc" };
    int made = 0;
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        Spawned s;
        Fault why;
        const Target t = target(THERE);
        CcOptions o = options(cc_find(a, compilers[i], &why));
        if (!o.compiler || !cc_aim(a, &o, &t, &why)
            || !cc_has_library(a, &o, &t, CcObject, &why))
            continue;
        assert_int_equal(RUN(&s, "", attnc(), "compile", small, "--emit=obj",
                             "--march=" THERE, "--cc", o.compiler, "-o",
                             in_dir("m.o")),
                         0);
        unsigned char head[20];
        FILE *f = fopen(in_dir("m.o"), "r");
        assert_non_null(f);
        assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
        fclose(f);
        assert_int_equal(head[18] + 256 * head[19], Machine);
        made++;
    }
    if (made == 0)
        SKIP("no C library for " TRIPLE " is here");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_triples),    TEST(test_which_compilers),
        TEST(test_no_library), TEST(test_print_commands),
        TEST(test_refused),    TEST(test_report),
        TEST(test_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
