/* library_command_test.c: attnc_command(), with which the program attnc runs
 * its commands: text as it comes, messages with their line, what is beside. */
#define _GNU_SOURCE /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "library/attnc.h"
#include "support/scratch.h"

#define TINY       "models/tiny.yaml"
#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

typedef struct {
    char text[1 << 20], beside[1 << 12]; /* of stdout and stderr */
    size_t n;
    int parts, progress, errors;
    char error[300], file[100], source[100]; /* of the first error */
    int line, column;
    int ends; /* what the function for text returns */
} Heard;

static Heard h;

static int take(void *taker, const char *text, int64_t n)
{
    assert_ptr_equal(taker, &h);
    h.parts++;
    assert_true(h.n + (size_t)n < sizeof h.text);
    memcpy(h.text + h.n, text, (size_t)n);
    h.n += (size_t)n;
    return h.ends;
}

static void hear(void *user, const struct attnc_message *m)
{
    assert_ptr_equal(user, &h);
    if (m->severity == ATTNC_SEVERITY_PROGRESS) {
        h.progress++;
        assert_true(m->seconds >= 0 && !(m->left < 0));
    }
    if (m->severity == ATTNC_SEVERITY_TEXT)
        strncat(h.beside, m->text, sizeof h.beside - strlen(h.beside) - 1);
    if (m->severity > ATTNC_SEVERITY_INTERNAL || h.errors++)
        return;
    snprintf(h.error, sizeof h.error, "%s", m->text);
    snprintf(h.file, sizeof h.file, "%s", m->file ? m->file : "");
    snprintf(h.source, sizeof h.source, "%.*s", (int)m->source_bytes,
             m->source ? m->source : "");
    h.line = m->line;
    h.column = m->column;
}

static int run_from(int in, const char *const *words, int ends)
{
    const struct attnc_streams streams = {
        .out = take, .taker = &h, .in = in, .out_shown = -1, .log_shown = -1
    };
    h = (Heard){ .ends = ends };
    return attnc_command(words, &streams, hear, &h);
}

static int run(const char *const *words)
{
    return run_from(-1, words, 0);
}

/* The text is that of attnc_report(); a spec can come from a descriptor. */
static void test_text(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(attnc_report(&text, "plan", TINY, NULL, NULL, NULL, NULL),
                     ATTNC_DONE);
    assert_int_equal(run(WORDS("plan", TINY)), ATTNC_DONE);
    assert_string_equal(h.text, text);
    assert_int_equal(h.errors, 0);
    const int in = open(TINY, O_RDONLY);
    assert_int_equal(run_from(in, WORDS("plan", "-"), 0), ATTNC_DONE);
    close(in);
    assert_string_equal(h.text, text);
    attnc_free(text);
    assert_int_equal(attnc_command(WORDS("plan", TINY), NULL, NULL, NULL),
                     ATTNC_DONE);
}

static void test_message(void **state)
{
    (void)state;
    assert_int_equal(run(WORDS("graph", "tests/spec/check-heads.yaml")),
                     ATTNC_INPUT);
    assert_string_equal(h.error, "h (3) does not divide d_model (16)");
    assert_string_equal(h.file, "tests/spec/check-heads.yaml");
    assert_string_equal(h.source, "h: 3");
    assert_int_equal(h.line, 3);
    assert_int_equal(h.column, 4);
    assert_int_equal(h.n, 0);
}

/* Tests that what the program prints on stderr comes as messages, and that the
 * text of stdout is unchanged. */
static void test_beside(void **state)
{
    (void)state;
    assert_int_equal(run(WORDS("graph", TINY, "--explain", "--json")),
                     ATTNC_DONE);
    assert_int_equal(h.text[0], '{');
    assert_non_null(strstr(h.beside, "merge-qkv: 6 rewritten\n"));
    assert_int_equal(run(WORDS("compile", TINY, "--emit=obj", "--seed=1",
                               "--march=x86-64-v3", "-o", scratch_path("m.o"))),
                     ATTNC_DONE);
    assert_int_equal(h.n, 0);
    assert_int_equal(strncmp(h.beside, "wrote /tmp/attnc_test_", 22), 0);
    assert_int_equal(run(WORDS("compile", TINY, "--emit=obj", "-###", "-o",
                               "m.o")),
                     ATTNC_DONE);
    assert_non_null(strstr(h.beside, "m.o"));
    assert_true(scratch_empty() >= 2);
}

static void test_files(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(run(WORDS("compile", TINY, "-o", "-")), ATTNC_DONE);
    assert_int_equal(strncmp(h.text, "/* tiny, a Transformer", 22), 0);
    assert_string_equal(h.beside, "");
    assert_int_equal(run(WORDS("sweep", TINY, "--vary=N=1,2", "--format=csv",
                               "--columns=parameters")),
                     ATTNC_DONE);
    strcpy(text, h.text);
    const char *path = scratch_path("rows.csv");
    assert_int_equal(run(WORDS("sweep", TINY, "--vary=N=1,2",
                               "--columns=parameters", "-o", path)),
                     ATTNC_DONE);
    assert_int_equal(h.n, 0);
    const int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, h.text, sizeof h.text), strlen(text));
    close(fd);
    assert_memory_equal(h.text, text, strlen(text));
    assert_int_equal(run(WORDS("sweep", TINY, "--vary=N=1,2", "--svg=-",
                               "--columns=parameters,flops")),
                     ATTNC_DONE);
    assert_int_equal(strncmp(h.text, "<svg", 4), 0);
    assert_non_null(strstr(h.beside, "parameters"));
    assert_int_equal(run(WORDS("plan", path, "-o", path)), ATTNC_USAGE);
}

/* Colours are those of one call. */
static void test_colors(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int n = i ? 0 : 1;
        assert_int_equal(run(WORDS("sweep", TINY, "--vary=N=1,2",
                                   "--columns=parameters",
                                   n ? "--color=always" : "--quiet")),
                         ATTNC_DONE);
        assert_int_equal(strchr(h.text, 27) != NULL, n);
        assert_true(n || h.progress == 0);
    }
}

static void refused(const char *const *words, int code, const char *error)
{
    assert_int_equal(run(words), code);
    assert_string_equal(h.error, error);
    assert_int_equal(h.errors, 1);
}

static void test_refused(void **state)
{
    static const char none[] = "attnc_command() takes the words of a command, "
                               "such as \"graph\", \"model.yaml\"";
    (void)state;
    refused(NULL, ATTNC_USAGE, none);
    refused((const char *const[]){ NULL }, ATTNC_USAGE, none);
    refused(WORDS("run", TINY), ATTNC_USAGE,
            "attnc_command(): run is not one of compile, graph, plan, bench, "
            "sweep, compare, tune");
    refused(WORDS("graph", TINY, "--help"), ATTNC_USAGE,
            "--help is not an option of attnc_command()");
    refused(WORDS("graph", "-"), ATTNC_USAGE,
            "-: the library does not read stdin: give the text of the spec");
    refused(WORDS("graph", TINY, TINY), ATTNC_USAGE,
            "one spec at a time: '" TINY "' and '" TINY "'");
    assert_int_equal(run_from(-1, WORDS("plan", TINY), 7), ATTNC_IO);
    assert_string_equal(h.error, "stdout: the function that takes it returned "
                                 "7");
    assert_int_equal(h.parts, 1);
    assert_int_equal(run_from(-1, WORDS("compile", TINY, "-o", "-"), 7),
                     ATTNC_IO);
    assert_string_equal(h.error, "stdout: the function that takes it returned "
                                 "7");
    assert_int_equal(h.parts, 1);
    assert_int_equal(h.errors, 1);
}

static void survives(int sig)
{
    (void)sig;
}

/* A signal ends the command that handles it, and no later one, if the caller
 * survives it. */
static void test_signals(void **state)
{
    static const char script[] = "#!/bin/sh\nkill -INT $PPID\nsleep 20\n";
    const char *path = scratch_file("slow", script, sizeof script - 1);
    struct attnc_streams streams = { .out = take,
                                     .taker = &h,
                                     .in = -1,
                                     .out_shown = -1,
                                     .log_shown = -1,
                                     .signals = 1 };
    struct sigaction before, act = { .sa_handler = survives };

    (void)state;
    assert_int_equal(chmod(path, 0700), 0);
    sigaction(SIGINT, &act, &before);
    h = (Heard){ 0 };
    assert_int_not_equal(attnc_command(WORDS("compile", TINY, "--emit=obj",
                                             "--cc", path, "-o",
                                             scratch_path("x.o")),
                                       &streams, hear, &h),
                         ATTNC_DONE);
    streams.signals = 0;
    h = (Heard){ 0 };
    assert_int_equal(attnc_command(WORDS("compile", TINY, "--emit=obj", "-O0",
                                         "--quiet", "-o", scratch_path("x.o")),
                                   &streams, hear, &h),
                     ATTNC_DONE);
    sigaction(SIGINT, &before, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),    cmocka_unit_test(test_message),
        cmocka_unit_test(test_beside),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_colors),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
