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

/* ---- pairs that become one text ---- */

/* Prints the rows of the pairs on stdin, or what is wrong with them. */
static const char joins[] =
    "#include <stdio.h>\n"
    "#include <string.h>\n"
    "#include \"m.h\"\n"
    "int main(void)\n"
    "{\n"
    "    const struct attn_open_options o = { .max_text = 10 };\n"
    "    struct attn_handle *h = m_open(NULL, &o);\n"
    "    char line[99];\n"
    "    float out[M_MAX_SOURCE * M_OUTPUT];\n"
    "    while (fgets(line, sizeof line, stdin)) {\n"
    "        char *other = strchr(line, '\\t');\n"
    "        line[strcspn(line, \"\\n\")] = 0;\n"
    "        *other = 0;\n"
    "        if (m_embed_pair(h, line, -1, other + 1, -1, out) != 1)\n"
    "            puts(m_error(h));\n"
    "        for (int i = 0; !*m_error(h) && i < M_OUTPUT; i++)\n"
    "            printf(\"%.9g%s\", (double)out[i],\n"
    "                   i < M_OUTPUT - 1 ? \" \" : \"\\n\\n\");\n"
    "    }\n"
    "    m_close(h);\n"
    "    return 0;\n"
    "}\n";

/* Tests that a handle puts a pair into the texts of the spec, as attnc run
 * does, also with the runtime in a file of its own. */
static void test_joined(void **state)
{
    static const char set[] = "head=pool,pair.begin=b,pair.prompt=ab,"
                              "pair.first=cd,pair.second=ef,pair.end=g";
    static const char lines[] = "hello\tworld\n\ta\nno\t\nabcde\tfghij\n";
    static const char wrong[] =
        "the text has 11 bytes, at most 10 are taken: max_text of the options "
        "at open\n";
    Fault why;
    (void)state;
    assert_true(write_file(in_dir("x.c"), joins, strlen(joins), &why));
    const char *want =
        output_of(lines, arena_printf(a, "%s run %s --set %s --seed=1 --pairs",
                                      attnc(), spec, set));
    for (int beside = 0; beside < 2; beside++) {
        assert_true(WORKS(attnc(), "compile", spec, "--set", set, "--seed=1",
                          "--march=generic", "--embed", "--quiet",
                          beside ? "--runtime=beside" : "--runtime=inside",
                          "-o", in_dir("m.c")));
        assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-Wall", "-Wextra",
                          "-Werror", "-I", dir, in_dir("x.c"), in_dir("m.c"),
                          beside ? in_dir("attn.c") : "-lm", "-lm", "-o",
                          in_dir("m")));
        assert_string_equal(output_of(lines, in_dir("m")), want);
        assert_string_equal(output_of("abcdef\tghijk\n", in_dir("m")), wrong);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bert),
        TEST(test_roberta),
        TEST(test_refused),
        TEST(test_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
