/* pairs_test.c: tests ids and types of pairs of texts against the package
 * `tokenizers` (tests/tokenizers/pairs.py), and an encoder's rows for them: by
 * the functions of an emitted file, its program with --pairs, and attnc run. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

typedef struct {
    const char *name; /* of the tokenizer */
    const char *set;  /* changes of pairs.yaml */
} Case;

static const char spec[] = "tests/tokenizers/pairs.yaml";
static const Case bert = { "bert", "name=m" };
static const Case roberta = {
    "roberta", "embedding.types=1,vocab.size=300,"
               "vocab.file=tests/tokenizers/roberta-pairs.json"
};

/* Returns the lines of pairs.txt for one tokenizer. */
static const char *recorded(const char *name)
{
    size_t n;
    const char *at = text_of("tests/tokenizers/pairs.txt", &n), *lines = "";
    for (; *at; at = strchr(at, '\n') + 1)
        if (!strncmp(at, name, strlen(name)))
            lines = arena_printf(a, "%s%.*s\n", lines, (int)strcspn(at, "\n"),
                                 at);
    return lines;
}

/* Returns all output of a shell command. */
static const char *output_of(const char *input, const char *command)
{
    Spawned s;
    size_t n;
    const char *words = arena_printf(a, "%s > %s", command, in_dir("out"));
    if (RUN(&s, input, "/bin/sh", "-c", words) != 0)
        fail_msg("%s: %s", command, s.tail);
    return text_of(in_dir("out"), &n);
}

/* Compiles m.c; the rows that its functions make of the recorded pairs. */
static const char *answers_of(const Case *c)
{
    assert_true(WORKS(attnc(), "compile", spec, "--set", c->set,
                      "--march=x86-64-v3", "--seed=1", "--embed", "--quiet",
                      "-o", in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir,
                      "tests/support/pair_calls.c", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    return output_of(recorded(c->name), in_dir("m"));
}

/* Returns the pairs as lines of text, except those with a tab, and their rows.
 */
static const char *lines_of(const Case *c, const char *rows,
                            const char **of_lines)
{
    const char *at = recorded(c->name);
    Buffer lines = { .arena = a }, kept = { .arena = a };
    for (; *at; at = strchr(at, '\n') + 1) {
        char x[512], y[512], text[512];
        const char *end = strstr(rows, "\n\n") + 2;
        int n = 0;
        assert_int_equal(sscanf(at, "%*s %511s %511s", x, y), 2);
        for (int second = 0; second < 2; second++) {
            const char *hex = second ? y : x;
            for (; hex[0] != '-' && hex[0]; hex += 2) {
                unsigned byte = 0;
                assert_int_equal(sscanf(hex, "%2x", &byte), 1);
                text[n++] = (char)byte;
            }
            text[n++] = second ? '\n' : '\t';
        }
        if (strchr(text, '\t') == memrchr(text, '\t', (size_t)n)) {
            buffer_add(&lines, text, n);
            buffer_add(&kept, rows, (int)(end - rows));
        }
        rows = end;
    }
    *of_lines = kept.at;
    return lines.at;
}

/* Checks that the program and attnc run give the results of the functions. */
static void compare_lines(const Case *c)
{
    const char *want, *lines = lines_of(c, answers_of(c), &want);
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o",
                      in_dir("program")));
    assert_string_equal(output_of(lines, arena_printf(a, "%s --pairs",
                                                      in_dir("program"))),
                        want);
    assert_string_equal(
        output_of(lines, arena_printf(a,
                                      "%s run %s --set %s --march=x86-64-v3 "
                                      "--seed=1 --pairs",
                                      attnc(), spec, c->set)),
        want);
}

static void test_bert(void **state)
{
    (void)state;
    compare_lines(&bert);
}

static void test_roberta(void **state)
{
    (void)state;
    compare_lines(&roberta);
}

/* Checks that both report the same for lines that the vocabulary or the model
 * rejects. `edit`: a sed script for the tokenizer. */
static void assert_refused(const char *file, const char *edit, const char *set,
                           const char *option, const char *line,
                           const char *says)
{
    Spawned s;
    const char *tokens = in_dir("tokenizer.json");
    set = arena_printf(a, "vocab.file=%s%s", tokens, set);
    assert_true(WORKS("/bin/sh", "-c",
                      arena_printf(a, "sed '%s' %s > %s", edit, file, tokens)));
    assert_true(WORKS(attnc(), "compile", spec, "--set", set, "--seed=1",
                      "--march=x86-64-v3", "--embed", "--quiet", "-o",
                      in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
    assert_int_equal(RUN(&s, line, in_dir("m"), option), ExitInput);
    if (!strstr(s.tail, says))
        fail_msg("says: %s", s.tail);
    assert_string_equal(s.out, "\n");
    assert_int_equal(RUN(&s, line, attnc(), "run", spec, "--set", set,
                         "--march=x86-64-v3", option),
                     ExitInput);
    if (!strstr(s.tail, says))
        fail_msg("says: %s", s.tail);
    assert_string_equal(s.out, "\n");
}

static void test_refused(void **state)
{
    (void)state;
    static const char unknown[] = "/\"unk_id\"/s/[0-9][0-9]*/null/";
    static const char xlm[] = "tests/families/texts/reranker_xlm/"
                              "tokenizer.json";
    static const char pairs[] = "--pairs";
    static const char set[] = ",embedding.types=1,vocab.size=100";
    assert_refused("tests/tokenizers/bert-pairs.json",
                   "/\"id\": \"B\"/{n;s/1/5/}", "", pairs, "a\tb\n",
                   "<stdin>:1: error: the vocabulary's template has type 5, "
                   "the model takes 0 to 1\n");
    assert_refused(xlm, unknown, set, pairs, "\303\251\ta\n",
                   "<stdin>:1: error: byte 1: the vocabulary has no "
                   "'\\xc3\\xa9' and names no unknown token\n");
    assert_refused(xlm, unknown, set, pairs, "ab\ta  \303\251\n",
                   "<stdin>:1: error: byte 7: the vocabulary has no "
                   "'\\xc3\\xa9' and names no unknown token\n");
    assert_refused(xlm, unknown, set, NULL, "a \303\251 b\n",
                   "<stdin>:1: error: byte 3: the vocabulary has no "
                   "'\\xc3\\xa9' and names no unknown token\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bert),
        TEST(test_roberta),
        TEST(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
