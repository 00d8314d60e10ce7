/* compile_test.c: tests that the report of attnc compile is true: the files
 * exist with these sizes, and its commands work as printed. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "support/aot.h"

/* Returns what attnc printed to stderr. A shell runs it in the test's folder
 * after another line. */
static const char *said_after(const char *line, const char *arguments)
{
    Spawned s;
    char *exe = realpath(attnc(), NULL);
    assert_non_null(exe);
    const char *command = arena_printf(a, "cd '%s' && %s\n'%s' compile %s", dir,
                                       line, exe, arguments);
    free(exe);
    if (RUN(&s, "", "/bin/sh", "-c", command) != 0)
        fail_msg("%s: %s", command, s.tail);
    assert_string_equal(s.out, "");
    return arena_strdup(a, s.tail);
}

static const char *said_by(const char *arguments)
{
    return said_after(":", arguments);
}

/* Returns the rest of the line with this beginning, or NULL. */
static const char *line_of(const char *said, const char *begin)
{
    for (const char *at = said; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, begin, strlen(begin)) == 0)
            return arena_strndup(a, at + strlen(begin),
                                 strcspn(at, "\n") - strlen(begin));
        if (!strchr(at, '\n'))
            break;
    }
    return NULL;
}

/* Runs a printed command in that folder and returns its output. */
static const char *pasted(const char *said, const char *begin)
{
    Spawned s;
    const char *line = line_of(said, begin);
    if (!line)
        fail_msg("no line '%s': %s", begin, said);
    if (RUN(&s, "", "/bin/sh", "-c",
            arena_printf(a, "cd '%s' && %s", dir, line))
        != 0)
        fail_msg("%s: %s", line, s.tail);
    return arena_strdup(a, s.out);
}

static const char *root(const char *spec)
{
    char *path = realpath(spec, NULL);
    assert_non_null(path);
    const char *copy = arena_strdup(a, path);
    free(path);
    return copy;
}

static void test_commands_work(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *more;
        bool answers;
    } tries[] = {
        { "models/g2p-en/g2p-en.yaml", "--embed -O0 -o m", true },
        { "models/g2p-en/g2p-en.yaml", "-O0 -o \"it's \\$me.c\"", true },
        { "models/g2p-en/g2p-en.yaml", "--emit=exe -O0 -o m", true },
        { "tests/torch/rotary.yaml", "-o ./-m.c", true },
        { "tests/torch/rotary.yaml", "--march=generic -O1 -o m.c", true },
        { "tests/torch/rotary.yaml", "--emit=c,exe --embed -o m", true },
        { "tests/torch/real_input.yaml", "-O0 -o m.c", true },
        { "tests/torch/block.yaml", "-O0 -o m.c", true },
        { "tests/torch/alibi.yaml", "-O0 --cc=clang-19 -o m.c", true },
        { "models/tiny.yaml", "-O0 --seed=3 --embed -o m.c", true },
        { "models/attention.yaml", "-O0 --seed=3 -o m.c", true },
        { "models/tiny.yaml", "-O0 -o m.c", false },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const char *said = said_by(
            arena_printf(a, "%s %s", root(tries[i].spec), tries[i].more));
        if (!strstr(tries[i].more, "exe"))
            pasted(said, "build: ");
        assert_int_equal(line_of(said, "run:   ") != NULL, tries[i].answers);
        if (tries[i].answers)
            assert_string_not_equal(pasted(said, "run:   "), "");
    }
}

/* Tests that the printed command uses a compiler in PATH, or tells how to get
 * one. */
static void test_compiler_that_is_there(void **state)
{
    (void)state;
    static const struct {
        const char *there, *more, *begin, *end;
    } tries[] = {
        { "cc gcc clang-19 clang", "", "cc -O2 ", "-o m" },
        { "gcc clang-19", "", "gcc -O2 ", "-o m" },
        { "clang clang-18", "", "clang -O2 ", "-o m" },
        { "clang-14", "--freestanding", "clang-14 -O2 ", "-o m.o" },
        { "own", "--cc=own", "own -O2 ", "-o m" },
        { "", "--cc=own", "own -O2 ", "  # there is no own here" },
        { "", "", "cc -O2 ", "  # needs a C compiler: apt-get install gcc" },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const char *said = said_after(
            arena_printf(a,
                         "rm -rf bin && mkdir bin && for c in %s; do "
                         "echo > bin/$c && chmod +x bin/$c; done && "
                         "PATH=$PWD/bin",
                         tries[i].there),
            arena_printf(a, "%s --seed=1 --no-records %s -o m.c",
                         root("models/tiny.yaml"), tries[i].more));
        const char *line = line_of(said, "build: ");
        assert_non_null(line);
        if (strncmp(line, tries[i].begin, strlen(tries[i].begin)) != 0
            || !ends_in(line, tries[i].end))
            fail_msg("%s: %s", tries[i].there, line);
    }
}

/* Checks "wrote m.c 1.5 kB", which is rounded to its last digit. */
static void look_at_size(const char *line)
{
    struct stat s;
    char name[64], unit[8];
    double size;
    assert_int_equal(sscanf(line, "%63s %lf %7s", name, &size, unit), 3);
    assert_int_equal(stat(in_dir(name), &s), 0);
    const double by = !strcmp(unit, "kB") ? 1e3 : !strcmp(unit, "MB") ? 1e6 : 1;
    const double half = strchr(line, '.') > strstr(line, "  ") ? 0.05 : 0.5;
    const double found = (double)s.st_size;
    assert_true(found >= (size - half) * by - 1
                && found <= (size + half) * by + 1);
}

static void test_sizes(void **state)
{
    (void)state;
    const char *said = said_by(arena_printf(a, "%s --emit=c,obj,so -o model",
                                            root("tests/torch/rotary.yaml")));
    int files = 0;
    for (const char *at = said; *at; at += strcspn(at, "\n") + 1)
        if (!strncmp(at, "wrote ", 6) || !strncmp(at, "      ", 6)) {
            look_at_size(arena_strndup(a, at + 6, strcspn(at, "\n") - 6));
            files++;
        }
    assert_int_equal(files, 5);
}

static void test_for_other_programs(void **state)
{
    (void)state;
    const char *spec = root("tests/torch/rotary.yaml");
    const char *said = said_by(arena_printf(a, "%s --emit=so -o m.so", spec));
    assert_string_equal(line_of(said, "use:   "), "m.h, and link m.so -lm");
    assert_null(line_of(said, "build: "));
    assert_string_equal(said_by(arena_printf(a, "%s --quiet -o m.c", spec)),
                        "");
    said = said_by(arena_printf(a, "%s -o - > m.c", spec));
    assert_string_equal(said, "");
}

/* Tests that random weights equal those of attnc run, and are reported. */
static void test_random_weights(void **state)
{
    (void)state;
    Spawned s, t;
    const char *spec = root("models/tiny.yaml");
    said_by(arena_printf(a, "%s --seed=3 --emit=exe -O0 -o m", spec));
    assert_int_equal(RUN(&s, "24 23\n", in_dir("m"), in_dir("m.weights")), 0);
    assert_int_equal(RUN(&t, "24 23\n", attnc(), "run", spec, "--seed=3",
                         "--ids"),
                     0);
    assert_string_equal(s.out, t.out);
    assert_non_null(strstr(s.tail, "m: weights are random (seed 3)\n"));
    said_by(arena_printf(a, "%s --emit=exe -O0 -o m",
                         root("models/g2p-en/g2p-en.yaml")));
    assert_int_equal(RUN(&s, "hello\n", in_dir("m"), in_dir("m.weights")), 0);
    assert_string_equal(s.tail, "");
}

/* Tests weights that are too large for a literal: the compiler includes their
 * file, from the text's folder or another one; attnc itself writes an object
 * with the weights. */
static void test_large(void **state)
{
    (void)state;
    Spawned s;
    const char *large = arena_printf(a,
                                     "%s --set vocab.size=140000 --seed=1 "
                                     "--embed -O0",
                                     root("models/tiny.yaml"));
    assert_int_equal(mkdir(in_dir("sub"), 0777), 0);
    const char *said = said_by(arena_printf(a, "%s -o sub/m.c", large));
    pasted(said, "build: ");
    const char *answer = pasted(said, "run:   ");
    assert_non_null(strchr(answer, ' '));
    said = said_by(arena_printf(a, "%s --emit=exe -o one", large));
    assert_string_equal(pasted(said, "run:   "), answer);
    assert_int_not_equal(access(in_dir("one.weights"), F_OK), 0);

    /* another file in its place */
    assert_int_equal(truncate(in_dir("sub/m.weights"), 5000), 0);
    assert_int_not_equal(RUN(&s, "", some_clang(), "-c", "-march=native",
                             in_dir("sub/m.c"), "-I", in_dir("sub"), "-o",
                             in_dir("m.o")),
                         0);
    assert_non_null(strstr(s.tail, "m.weights is not the file that was written "
                                   "with this one"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_commands_work, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compiler_that_is_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_random_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_for_other_programs, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
