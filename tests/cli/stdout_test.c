/* stdout_test.c: tests that "-" as an output file means stdout, for every
 * option that names one, of attnc and of emitted programs: the same bytes as in
 * a file, no file of that name, and all other output on stderr. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include "cli/options/options.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/check_xml.h"

/* Runs a shell line in the test's folder: $A is attnc, $R the repository, $G a
 * model of phones, $T one of tests/torch, $M the program of $G. */
static int sh(Spawned *s, const char *input, const char *line)
{
    char root[PATH_MAX], tool[PATH_MAX];
    assert_non_null(realpath(".", root));
    assert_non_null(realpath(attnc(), tool));
    return RUN(
        s, input, "/bin/sh", "-c",
        arena_printf(a,
                     "A=%s R=%s D=%s; G=$R/models/g2p-en/g2p-en.yaml "
                     "T=$R/tests/torch/classify M=\"./m m.weights\" "
                     "XDG_CACHE_HOME=$D; export XDG_CACHE_HOME; cd $D; %s",
                     tool, root, dir, line));
}

static void assert_code(const char *input, const char *line, int code)
{
    Spawned s;
    int found = sh(&s, input, line);
    if (found != code)
        fail_msg("%s: %d: %s", line, found, s.tail);
}

/* Tests that `command FILE` and `command -` write the same bytes. */
static void assert_same_bytes(const char *command)
{
    assert_code(
        "attention\n",
        arena_printf(
            a,
            "%s there > told && %s - > here 2> besides && cmp there here && "
            "cmp told besides && test -s here && test ! -e ./- && "
            "%s /dev/stdout > here 2> besides && cmp there here && "
            "cmp told besides && rm -f fifo && mkfifo fifo && "
            "{ cmp fifo there & } && %s fifo > told && wait $! && "
            "test -p fifo && %s /dev/null > told && test -c /dev/null && "
            "test ! -e /dev/null.h",
            command, command, command, command, command),
        0);
}

static int with_input(void **state)
{
    static const int32_t ids[] = { 1, 2, 3 };
    const TensorOut in = { .name = "source.ids",
                           .rank = 1,
                           .dim = { 3 },
                           .data = ids,
                           .is_int = true };
    Fault why;
    return set_up(state) || !safetensors_write(in_dir("in"), &in, 1, &why);
}

/* Does an option name a file that its command writes, of any bytes? */
static bool is_output(const Option *row)
{
    return !strcmp(row->name, "-o") || !strcmp(row->name, "--output")
        || !strcmp(row->name, "--save-state");
}

/* Tests one or more command lines for each command with such an option. */
static void test_bytes(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "$A run $T.yaml --input in --output",
        "$A run $G --prompt attention -n 3 --quiet --save-state",
        "$A run $G --ids --prompt '3 4' -n 3 --quiet --save-state",
        "$A new gpt -o",
        "$A compile $G --no-records -o",
        "$A graph $G --stage=all -o",
        "$A graph $G --format=dot -o",
        "$A plan $G --no-records -o",
        "$A plan $G --format=json -o",
    };
    enum { Lines = sizeof lines / sizeof *lines };
    int checked = 0;
    for (int r = 0; r < n_options; r++)
        for (int c = 0; c < n_commands; c++) {
            const Option *row = &option_table[r];
            if (!is_output(row) || !(row->commands & commands[c].bit)
                || OPTION_IN(row, common)) /* formats_test */
                continue;
            /* the spec contains its file's name, so the bytes differ */
            if (!strcmp(commands[c].name, "import"))
                continue;
            const int before = checked;
            const char *begin = arena_printf(a, "$A %s ", commands[c].name);
            for (int i = 0; i < Lines; i++)
                if (!strncmp(lines[i], begin, strlen(begin))
                    && !strcmp(strrchr(lines[i], ' ') + 1, row->name)) {
                    assert_same_bytes(lines[i]);
                    checked++;
                }
            if (checked == before)
                fail_msg("no line has %s of attnc %s", row->name,
                         commands[c].name);
        }
    assert_int_equal(checked, Lines);
}

/* Tests that a picture's format follows its name; "-" is the first format. */
static void test_attention(void **state)
{
    (void)state;
    assert_code("attention\n", "$A run $G --attention there.svg > told", 0);
    assert_code("attention\n",
                "$A run $G --attention - > here 2> besides && "
                "cmp there.svg here && cmp told besides && test ! -e ./-",
                0);
}

static void test_drawings(void **state)
{
    (void)state;
    assert_code("",
                "$A bench $T.yaml -r 1 --seconds 0.01 --no-kernels --svg - "
                "> here 2> besides && grep -q '^<svg' here && "
                "grep -q '</svg>' here && grep -q GFLOP besides && "
                "test ! -e ./-",
                0);
    assert_code("",
                "$A tune $T.yaml --budget 1s --backend jit --records r "
                "--format json --svg - > here 2> besides && "
                "grep -q '^<svg' here && grep -q '</svg>' here && "
                "grep -q '\"tasks\"' besides && test ! -e ./-",
                0);
}

/* Runs the line, which writes the file `path`, and checks that it is a picture,
 * XML whose first element is the only <svg>. */
static void assert_picture(const char *line, const char *path)
{
    File f;
    Fault why;
    assert_code("attention\n", line, 0);
    if (!file_read(&f, in_dir(path), 1 << 24, &why))
        fail_msg("%s: %s", line, why.text);
    const char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    assert_memory_equal(text, "<svg ", 5);
    assert_int_equal(check_xml(text, "svg"), 1);
}

/* Tests --format=svg of reports whose numbers vary from run to run;
 * formats_test compares the others. The report itself is on stderr. */
static void test_svg_formats(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        { "$A bench $T.yaml -r 1 --seconds 0.01 --no-kernels", "GFLOP" },
        { "$A compare $R/models/tiny.yaml --vary N=1,2 --vary p=8 -r 1 "
          "--seconds 0.01",
          "Workload:" },
        { "$A tune $T.yaml --budget 1s --backend jit --records r", "task" },
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *line = lines[i][0], *report = lines[i][1];
        assert_picture(arena_printf(a,
                                    "%s --format=svg > here 2> besides && "
                                    "grep -q %s besides",
                                    line, report),
                       "here");
        assert_picture(arena_printf(a, "%s -o drawn.svg 2> besides", line),
                       "drawn.svg");
    }
    assert_picture("$A run $G --attention drawn --format=svg > told", "drawn");
}

/* Tests a stdout that is full or closed, or cannot be the output. */
static void test_refused(void **state)
{
    (void)state;
    Spawned s;
    static const char *const full[] = { "> /dev/full", ">&-" };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sh(&s, "",
                            arena_printf(a,
                                         "$A run $T.yaml --input in "
                                         "--output - %s",
                                         full[i])),
                         4);
        assert_non_null(strstr(s.tail, "error: cannot write to stdout: "));
    }
    assert_code("attention\n",
                "$A run $G > /dev/full 2> besides; r=$?; "
                "test $(grep -c 'cannot write to stdout' besides) = 1 || r=1; "
                "exit $r",
                4);
    /* a file of attnc must not become stdin or stdout in place of a closed one:
     * the spec of this folder is in a temporary file */
    assert_code("", "$A run $R/tests/families/gpt2 --ids --prompt 1 >&-", 4);
    assert_int_equal(sh(&s, "", "$A run $R/tests/families/gpt2 --ids <&-"), 4);
    assert_non_null(strstr(s.tail, "error: cannot read stdin: Bad file "));
    /* the first write fails long before the last */
    assert_int_equal(sh(&s, "",
                        "$A sweep $T.yaml --vary d_ff=16..1024+8 "
                        "--columns=parameters > /dev/full"),
                     4);
    assert_non_null(strstr(s.tail, "error: cannot write to stdout: No space "
                                   "left on device"));
    assert_int_equal(sh(&s, "", "$A compile $G --emit=obj -o -"), 2);
    assert_non_null(strstr(s.tail, "-o - is for C text alone"));
    assert_int_equal(sh(&s, "", "$A plan $G --records -"), 2);
    assert_non_null(strstr(s.tail, "--records -: the file is read and written, "
                                   "so it can't be stdout: name a file"));
    assert_code("", "test ! -e ./-", 0);
}

static void test_program(void **state)
{
    (void)state;
    emit(g2p, "--march=native", "-O2");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
    assert_same_bytes("$M --prompt attention -n 3 --quiet --save-state");
    assert_code("", "$M --prompt attention --save-state - > /dev/full", 4);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, with_input, \
                                                tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes),       TEST(test_attention), TEST(test_drawings),
        TEST(test_svg_formats), TEST(test_refused),   TEST(test_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
