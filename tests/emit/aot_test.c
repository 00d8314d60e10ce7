/* aot_test.c: tests the output of attnc compile as a user gets it: it compiles
 * alone, with every compiler and without warnings, and has the same bytes
 * everywhere; its text follows the rules; the header works in C and C++, and
 * several models in one program; the committed sample is current.
 *
 *     ATTNC_FULL=1: every model of models/ */
/* limit: 900 s */
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/indentation.h"
#include "support/lint_c.h"

/* Compiles m.c strictly as an object or, with "-DATTNC_MAIN", a program's. */
static void compile_strictly(const char *cc, const char *march,
                             const char *pedantic, const char *define)
{
    WORKS(cc, "-O1", "-std=c11", march, "-Wall", "-Wextra", "-Werror", QUIET,
          "-Wvla", pedantic, define, "-c", in_dir("m.c"), "-o", in_dir("m.o"));
}

static void compile_portably(const char *spec, const char *more)
{
    const char *compilers[] = { some_clang(), "gcc" };
    emit(spec, "--march=generic", more);
    for (int c = 0; c < 2; c++) {
        compile_strictly(compilers[c], "-DX", "-Wpedantic", "-DATTNC_MAIN");
        compile_strictly(compilers[c], "-DX", "-Wpedantic", "-DATTNC_THREADS");
    }
    WORKS("tcc", "-Wall", "-Werror", "-DATTNC_MAIN", "-c", in_dir("m.c"), "-o",
          in_dir("m.o"));
}

static void compile_by_all(const char *spec)
{
    const char *compilers[] = { some_clang(), "gcc" };
    double from = seconds();
    emit(spec, "--march=x86-64-v3", "--width=8");
    print_message("%s: emitted in %.0f ms\n", spec, 1e3 * (seconds() - from));
    for (int c = 0; c < 2; c++)
        compile_strictly(compilers[c], "-march=x86-64-v3", "-Wundef",
                         "-DATTNC_MAIN");
    compile_portably(spec, "--width=1");
}

static void test_no_warning(void **state)
{
    (void)state;
    glob_t all;
    compile_by_all("models/tiny.yaml");
    compile_by_all("models/attention.yaml");
    compile_portably("models/attention.yaml", "--set=projections=false");
    compile_portably("models/tiny.yaml", "--set=kind=decoder");
    compile_portably("tests/cli/tasks.yaml", "--width=1");
    if (!full_depth())
        return;
    assert_int_equal(glob("models/*.yaml", 0, NULL, &all), 0);
    /* files of import/ are rules */
    const char *more = "models/[!i]*/*.yaml";
    assert_int_equal(glob(more, GLOB_APPEND, NULL, &all), 0);
    for (size_t i = 0; i < all.gl_pathc; i++)
        compile_by_all(all.gl_pathv[i]);
    globfree(&all);
}

/* Tests that gcc, which finds values that are not set only where it optimises,
 * finds none in code for 16 lanes. */
static void test_no_warning_of_gcc(void **state)
{
    (void)state;
    emit("models/tiny.yaml", "--march=sapphirerapids", "--no-records");
    assert_true(WORKS("gcc", "-O2", "-std=c11", "-march=x86-64-v4",
                      "-mavx512vnni", "-mavx512bf16", "-Wall", "-Wextra",
                      "-Werror", "-c", in_dir("m.c"), "-o", in_dir("m.o")));
}

/* Tests that a file compiled for a lesser machine than its target prints
 * advice. */
static void test_guard(void **state)
{
    (void)state;
    Spawned s;
    emit("models/tiny.yaml", "--march=x86-64-v3", "--width=8");
    assert_int_not_equal(RUN(&s, "", some_clang(), "-std=c11", "-c",
                             in_dir("m.c"), "-o", in_dir("m.o")),
                         0);
    assert_non_null(strstr(s.tail, "-march=x86-64-v3"));
}

/* ---- its text ---- */

static void assert_broken(const char *text, const char *rule, int line)
{
    int where = 0;
    const char *broken = lint_c(text, &where);
    assert_non_null(broken);
    assert_string_equal(broken, rule);
    assert_int_equal(where, line);
}

static void test_the_lint_finds(void **state)
{
    (void)state;
    int where;
    assert_null(lint_c("\n#define A (x = 1)\nint f(int x)\n{\n /* goto */\n"
                       "    for (int i = 0; i < 3; i++, x += 2)\n"
                       "        x++;\n    return x == 0 && x ? 1 : 0;\n}\n",
                       &where));
    assert_broken("\nint f(void)\n{\n    goto x;\n}\n", "goto", 3);
    assert_broken("\nf(a && 1);\n", "a constant operand", 1);
    assert_broken("\nx = 0 || a;\n", "a constant operand", 1);
    assert_broken("\nx = 1 ? a : b;\n", "a constant condition", 1);
    assert_broken("\nif ((x = f()))\n", "an assignment inside an expression",
                  1);
    assert_broken("\n\na[i++] = 1;\n", "++ or -- inside an expression", 2);
    assert_broken("\nfor (i = 0; (x = 1); i++)\n",
                  "an assignment inside an expression", 1);
}

static void test_text_keeps_rules(void **state)
{
    (void)state;
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/attention.yaml" };
    for (int i = 0; i < 2; i++) {
        size_t n;
        int line = 0;
        emit(specs[i], "--march=generic", "--width=1");
        const char *broken = lint_c(text_of(in_dir("m.c"), &n), &line);
        if (broken)
            fail_msg("%s: line %d: %s", specs[i], line, broken);
    }
}

static void assert_indented(const char *spec, const char *option)
{
    size_t n;
    emit(spec, option, "--quiet");
    const int line = indented_twice(text_of(in_dir("m.c"), &n));
    if (line)
        fail_msg("%s: line %d is indented too far", spec, line);
}

static void test_text_is_indented(void **state)
{
    (void)state;
    static const char *const patterns[] = { "models/[at]*.yaml",
                                            "tests/graph/*.yaml",
                                            "tests/torch/[agl]*.yaml" };
    assert_int_equal(indented_twice("int f(int x)\n{\n    if (x)\n"
                                    "        x = 1;\n    return x;\n}\n"),
                     0);
    assert_int_equal(indented_twice("struct x {\n    int a;\n        int b;\n"
                                    "};\n"),
                     3);
    assert_int_equal(indented_twice("void f(void)\n{\n        g();\n}\n"), 3);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        glob_t all;
        assert_int_equal(glob(patterns[k], 0, NULL, &all), 0);
        for (size_t i = 0; i < all.gl_pathc; i++)
            assert_indented(all.gl_pathv[i], "--march=x86-64-v3");
        globfree(&all);
    }
    assert_indented("models/tiny.yaml", "--plain");
}

/* Tests that an object has no writable data, and needs from the system only the
 * functions of open() and close(). */
static void test_no_writable_globals(void **state)
{
    (void)state;
    Spawned s;
    emit("models/tiny.yaml", "--march=generic", "--width=1");
    assert_true(WORKS(some_clang(), "-fno-pic", "-c", in_dir("m.c"), "-o",
                      in_dir("m.o")));
    const char *look = arena_printf(a, "nm %s | grep ' [bBdDcC] '",
                                    in_dir("m.o"));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", look), 1);
    assert_string_equal(s.out, "");
    const char *asks = arena_printf(a,
                                    "nm -u %s | sed 's/.* //' | grep -vE "
                                    "'^(mem|str|fma|exp|log|sqrt|tanh|erf)' | "
                                    "LC_ALL=C sort | tr '\n' ' '",
                                    in_dir("m.o"));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", asks), 0);
    assert_string_equal(s.out, "__errno_location close free fstat malloc mmap "
                               "munmap open vsnprintf ");
}

/* Tests that the bytes do not depend on the folder, time, locale or umask. */
static void test_same_bytes(void **state)
{
    (void)state;
    static const char *const around[] = { "LC_ALL=de_DE.UTF-8",
                                          "LC_ALL=tr_TR.UTF-8", "TZ=Asia/Tokyo",
                                          "HOME=/nowhere" };
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    const char *program = find_program(a, attnc());
    emit(g2p, "--march=x86-64-v3", "--width=8");
    assert_true(WORKS("mkdir", in_dir("n")));
    assert_int_equal(chdir("models/g2p-en"), 0);
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        const mode_t mask = umask(i % 2 ? 0077 : 0);
        bool ok = WORKS("env", around[i], program, "compile", "g2p-en.yaml",
                        "--march=x86-64-v3", "--width=8", "-o",
                        in_dir("n/m.c"));
        umask(mask);
        assert_true(ok);
        same_file(in_dir("m.c"), in_dir("n/m.c"));
        same_file(in_dir("m.h"), in_dir("n/m.h"));
        same_file(in_dir("m.weights"), in_dir("n/m.weights"));
    }
    assert_int_equal(chdir(here), 0);
}

/* Tests a file's name that contains the end of a comment. */
static void test_comment_holds(void **state)
{
    (void)state;
    const char *file = "models/g2p-en/g2p-en.safetensors";
    assert_true(WORKS("mkdir", in_dir("a*")));
    assert_true(WORKS("cp", file, in_dir("a*/*")));
    emit(g2p, "--march=generic",
         arena_printf(a, "--set=weights=%s", in_dir("a*/*")));
    compile_strictly("gcc", "-DX", "-Wpedantic", "-DATTNC_MAIN");
}

static void test_sample(void **state)
{
    (void)state;
    assert_true(WORKS(attnc(), "compile", "models/tiny.yaml", "--no-records",
                      "--march=x86-64-v3", "-o", in_dir("tiny.c")));
    same_file("generated/tiny.c", in_dir("tiny.c")); /* make sample */
    same_file("generated/tiny.h", in_dir("tiny.h"));
    assert_true(WORKS(attnc(), "compile", "models/tiny.yaml", "--plain", "-o",
                      in_dir("tiny_plain.c")));
    same_file("generated/tiny_plain.c", in_dir("tiny_plain.c"));
}

/* Tests that without a target all commands compile for this machine. */
static void test_default_target(void **state)
{
    (void)state;
    assert_true(WORKS(attnc(), "compile", "models/tiny.yaml", "--no-records",
                      "-o", in_dir("default.c")));
    assert_true(WORKS(attnc(), "compile", "models/tiny.yaml", "--no-records",
                      "--march=native", "-o", in_dir("native.c")));
    same_file(in_dir("default.c"), in_dir("native.c"));
}

/* ---- the header ---- */

static void test_header(void **state)
{
    (void)state;
    static const char user[] = "#include \"m.h\"\n#include \"m.h\"\n"
                               "int main(void) { return 0; }\n";
    const char *clang = some_clang();
    const struct {
        const char *cc, *std, *language;
    } calls[] = {
        { "gcc", "-std=c11", "c" },     { clang, "-std=c11", "c" },
        { "g++", "-std=c++11", "c++" }, { "gcc", "-std=c99", "c" },
        { clang, "-std=c++17", "c++" },
    };
    emit(g2p, "--march=x86-64-v3", "--width=8");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Spawned s;
        int code = RUN(&s, user, calls[i].cc, calls[i].std, "-Wall", "-Wextra",
                       "-Wpedantic", "-Werror", "-I", dir, "-x",
                       calls[i].language, "-fsyntax-only", "-");
        if (code > 0)
            fail_msg("%s: %s", calls[i].cc, s.tail);
    }
}

/* Tests headers and files of several models in one program, in any order. */
static void test_several_models(void **state)
{
    (void)state;
    Fault why;
    static const char *const orders[] = {
        "#include \"attention.h\"\n#include \"tiny.h\"\n",
        "#include \"tiny.h\"\n#include \"attention.h\"\n"
    };
    static const char user[] =
        "int main(void)\n"
        "{\n"
        "    struct attn_search_options o;\n"
        "    struct attn_handle *h = attention_open(NULL, NULL);\n"
        "    const int32_t id = 3;\n"
        "    if (*attention_error(h))\n"
        "        return 1;\n"
        "    if (tiny_translate_ids(h, &id, 1, NULL, NULL, 0)\n"
        "        != ATTN_ERROR_OPEN || !*tiny_error(h))\n"
        "        return 2;\n"
        "    attention_close(h);\n"
        "    tiny_options(&o);\n"
        "    return tiny_model()->d_model - TINY_D_MODEL\n"
        "        + attention_model()->d_model - ATTENTION_D_MODEL\n"
        "        + (int)o.beam - 2;\n"
        "}\n";
    for (int i = 0; i < 2; i++) {
        const char *spec = i ? "models/tiny.yaml" : "models/attention.yaml";
        assert_true(WORKS(attnc(), "compile", spec, "--march=generic",
                          i ? "--set=name=tiny" : "--set=projections=false",
                          "-o", in_dir(i ? "tiny.c" : "attention.c")));
    }
    for (int i = 0; i < 2; i++) {
        Spawned s;
        const char *text = arena_printf(a, "%s%s", orders[i], user);
        assert_true(write_file(in_dir("x.c"), text, strlen(text), &why));
        assert_true(WORKS(some_clang(), "-std=c11", "-Wall", "-Werror",
                          in_dir("x.c"), in_dir("tiny.c"),
                          in_dir("attention.c"), "-lm", "-o", in_dir("x")));
        assert_int_equal(RUN(&s, "", in_dir("x")), 0);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_no_warning),
        TEST(test_no_warning_of_gcc),
        TEST(test_guard),
        TEST(test_the_lint_finds),
        TEST(test_text_keeps_rules),
        TEST(test_text_is_indented),
        TEST(test_no_writable_globals),
        TEST(test_same_bytes),
        TEST(test_comment_holds),
        TEST(test_sample),
        TEST(test_default_target),
        TEST(test_header),
        TEST(test_several_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
