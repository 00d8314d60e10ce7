/* version_test.c: tests that an emitted header has the version of attnc that
 * wrote it, as text and as a number for the preprocessor, separately for each
 * model. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static void number_is_text(void **state)
{
    (void)state;
    int major, minor, patch;
    assert_int_equal(sscanf(ATTNC_VERSION, "%d.%d.%d", &major, &minor, &patch),
                     3);
    assert_true(minor < 100 && patch < 100);
    assert_int_equal(ATTNC_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
}

/* Tests the headers of two models, in C and C++. */
static void in_programs(void **state)
{
    (void)state;
    const char *source = arena_printf(
        a,
        "#include \"tiny.h\"\n#include \"m.h\"\n#include <string.h>\n"
        "#if TINY_ATTNC_VERSION_NUMBER < %d\n#error older\n#endif\n"
        "#if G2P_EN_ATTNC_VERSION_NUMBER > %d\n#error newer\n#endif\n"
        "int main(void)\n{\n"
        "    return strcmp(TINY_ATTNC_VERSION, \"" ATTNC_VERSION "\") != 0\n"
        "        || strcmp(G2P_EN_ATTNC_VERSION, TINY_ATTNC_VERSION) != 0;\n"
        "}\n",
        ATTNC_VERSION_NUMBER, ATTNC_VERSION_NUMBER);
    static const struct {
        const char *cc, *language, *std;
    } calls[] = {
        { "gcc", "c", "-std=c11" },
        { "g++", "c++", "-std=c++17" },
        { NULL, "c", "-std=c11" },
    };
    emit(g2p, "--march=native", "-O2");
    assert_true(
        WORKS(attnc(), "compile", "models/tiny.yaml", "-o", in_dir("tiny.c")));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Spawned s;
        const char *cc = calls[i].cc ? calls[i].cc : some_clang();
        const int code = RUN(&s, source, cc, calls[i].std, "-Wall", "-Wextra",
                             "-Wpedantic", "-Werror", "-I", dir, "-x",
                             calls[i].language, "-", "-o", in_dir("said"));
        if (code > 0)
            fail_msg("%s: %s", cc, s.tail);
        if (code == 0)
            assert_true(WORKS(in_dir("said")));
    }
}

/* Tests that both files begin with the version. */
static void first_lines(void **state)
{
    (void)state;
    static const char line[] =
        "/* tiny, a Transformer in C, made by attnc " ATTNC_VERSION "\n";
    size_t n;
    assert_true(
        WORKS(attnc(), "compile", "models/tiny.yaml", "-o", in_dir("tiny.c")));
    assert_memory_equal(text_of(in_dir("tiny.c"), &n), line, strlen(line));
    assert_memory_equal(text_of(in_dir("tiny.h"), &n), line, strlen(line));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_is_text),
        cmocka_unit_test(in_programs),
        cmocka_unit_test(first_lines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
