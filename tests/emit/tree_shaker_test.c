/* tree_shaker_test.c: tests the contents of emitted files: the named parts of C
 * files and what they need, no function that is not called, and only the table
 * rows for a model's kinds and steps of vocabularies. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "emit/text/tree_shaker.h"
#include "support/aot.h"

/* ---- texts ---- */

static const char file[] =
    "/* file.c: what the file is. */\n"
    "#include \"file.h\"\n"
    "\n"
    "#ifndef GUARD\n"
    "#define GUARD\n"
    "#endif\n"
    "#define TEN 10 /* fingers, or\n"
    " * toes */\n"
    "\n"
    "/* ---- one ---- */\n"
    "/* Of both. */\n"
    "struct pair {\n"
    "    int one, other;\n"
    "};\n"
    "enum { PAIR_LEAST = 3, PAIR_MOST = (PAIR_LEAST + 1) * 2 };\n"
    "\n"
    "/* The pair: of { no meaning. */\n"
    "static struct pair pair_of(int one)\n"
    "{\n"
    "    struct pair p = { one, '{' };\n"
    "    return p;\n"
    "}\n"
    "\n"
    "/* ---- other ---- */\n"
    "\n"
    "static int sum_of(const struct pair *p)\n"
    "{\n"
    "    return p->pair_of + TEN; /* least() */\n"
    "}\n"
    "\n"
    "#if defined X\n"
    "static int (*const rules[])(const struct pair *) = { sum_of, sum_of };\n"
    "#endif\n"
    "\n"
    "static const struct {\n"
    "    int rows;\n"
    "} table[PAIR_MOST] = { { TEN }, { 2 } };\n"
    "\n"
    "int least(int n); /* of the numbers up to n\n"
    "                   * and of all pairs */\n"
    "int least(int n)\n"
    "{\n"
    "    return n - 'a' - \"pair_of\"[n];\n"
    "}\n";

static void add(void *with, const char *text, const char *end)
{
    buffer_add(with, text, (size_t)(end - text));
}

/* Returns the parts of the file that a text needs. */
static const char *needed(const char *text)
{
    Buffer b = { .arena = a };
    TreeShaker *c = shaker_new(a);
    shaker_add(c, 0, file, sizeof file - 1);
    shaker_need(c, text, strlen(text));
    shaker_put(c, 1, add, &b);
    assert_null(b.at);
    shaker_put(c, 0, add, &b);
    return b.at ? b.at : "";
}

static void holds(const char *text, const char *expected, int yes)
{
    if ((strstr(text, expected) != NULL) != yes)
        fail_msg("%s: %s in %s", expected, yes ? "not" : "is", text);
}

static void test_nothing(void **state)
{
    (void)state;
    assert_string_equal(needed(""), "");
    assert_string_equal(needed("/* least() */ x.least(a->other); \"other\""),
                        "");
    assert_string_equal(needed("struct other x = { TENS, GUARD };"), "");
}

/* Tests that a function brings what it names, with the comments above it. */
static void test_functions(void **state)
{
    (void)state;
    const char *text = needed("pair_of(3)");
    holds(text, "/* file.c: what the file is. */", 1);
    holds(text, "--- one ---", 1);
    holds(text, "/* Of both. */\nstruct pair {", 1);
    holds(text, "    return p;\n}\n", 1);
    holds(text, "PAIR_LEAST", 0);
    holds(text, "--- other ---", 0);
    holds(text, "TEN", 0);
    holds(text, "GUARD", 0);
    text = needed("int x = least(1);");
    holds(text, "of all pairs */\nint least(int n)\n{\n", 1);
    holds(text, "pair_of(", 0);
    holds(text, "struct pair", 0);
}

static void test_tables(void **state)
{
    (void)state;
    const char *text = needed("rules");
    holds(text, "#if defined X\nstatic int (*const rules[])", 1);
    holds(text, "};\n#endif\n", 1);
    holds(text, "static int sum_of(", 1);
    holds(text, "#define TEN 10 /* fingers, or\n * toes */\n", 1);
    holds(text, "pair_of(", 0);
    text = needed("sizeof table");
    holds(text, "} table[PAIR_MOST] = {", 1);
    holds(text, "enum { PAIR_LEAST = 3,", 1);
    holds(text, "#if", 0);
    holds(needed("x = PAIR_MOST"), "enum { PAIR_LEAST", 1);
}

/* Tests that a prototype stays only if a call precedes its function, and that
 * the comment of one that goes is that of its function. */
static void test_prototypes(void **state)
{
    static const char header[] = "#ifndef X_H\n"
                                 "#define X_H\n"
                                 "/* Adds. */\n"
                                 "int add(int n);\n"
                                 "int later(int n);\n"
                                 "#endif\n";
    static const char source[] = "static int first(int n)\n"
                                 "{\n"
                                 "    return later(n);\n"
                                 "}\n"
                                 "\n"
                                 "int add(int n)\n"
                                 "{\n"
                                 "    return first(n);\n"
                                 "}\n"
                                 "\n"
                                 "int later(int n)\n"
                                 "{\n"
                                 "    return n;\n"
                                 "}\n";
    Buffer b = { .arena = a };
    TreeShaker *c = shaker_new(a);
    (void)state;
    shaker_add(c, 0, header, sizeof header - 1);
    shaker_add(c, 1, source, sizeof source - 1);
    shaker_need(c, "add", 3);
    shaker_omit_prototypes(c);
    shaker_put(c, 0, add, &b);
    assert_string_equal(b.at, "int later(int n);\n\n");
    shaker_put(c, 1, add, &b);
    holds(b.at, "}\n\n/* Adds. */\nint add(int n)\n{\n", 1);
}

/* ---- models ---- */

static const char *emitted(const char *spec, const char *more)
{
    size_t n;
    emit(spec, "--march=x86-64-v3", more);
    return text_of(in_dir("m.c"), &n);
}

/* Checks that nothing is emitted that nothing calls. In files, unused functions
 * do not cause warnings; here they do. The program itself calls a part of them.
 */
static void check_calls(const char *spec, const char *more, const char *program)
{
    static const char word[] = " __attribute__((unused))\n";
    char *text = arena_strdup(a, emitted(spec, more));
    char *at = strstr(text, word);
    Fault why;
    assert_non_null(at);
    memset(at, ' ', sizeof word - 2);
    assert_true(write_file(in_dir("n.c"), text, strlen(text), &why));
    WORKS(some_clang(), "-fsyntax-only", "-march=x86-64-v3", "-Wall", "-Wextra",
          "-Werror", program, in_dir("n.c"));
}

static void test_calls(void **state)
{
    (void)state;
    static const char *const specs[] = { "models/tiny.yaml",
                                         "models/minilm.yaml",
                                         "models/gpt-nano-sort.yaml", g2p,
                                         "tests/tokenizers/pairs.yaml" };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        check_calls(specs[i], "--seed=1", "-DATTNC_MAIN");
        check_calls(specs[i], "--freestanding", "-UATTNC_MAIN");
    }
}

/* Tests that files have only code of their vocabularies' kinds and steps. */
static void test_vocabularies(void **state)
{
    (void)state;
    const char *ids = emitted("models/tiny.yaml", "--seed=1");
    holds(ids, "tokens_", 0);
    holds(ids, "attn_text_open", 0);
    holds(ids, "attn_vocab", 0);
    holds(ids, "struct attn_chat", 0);
    holds(ids, "ATTN_HAS_TEXT", 0);
    holds(ids, "attn_sample(", 1);
    holds(emitted("tests/cli/chat.yaml", "--seed=1"), "struct attn_chat", 1);
    const char *letters = emitted(g2p, "--seed=1");
    holds(letters, "[ATTN_SPACES] = { tokens_check, ", 1);
    holds(letters, "[ATTN_CHARACTERS] = {", 1);
    holds(letters, "[ATTN_RANKS]", 0);
    holds(letters, "wordpiece_", 0);
    holds(letters, "    [ATTN_STEP_", 0);
    holds(letters, "form_", 0);
    const char *bert = emitted("tests/tokenizers/pairs.yaml", "--seed=1");
    holds(bert, "[ATTN_WORDPIECE] = { attn_wordpiece_check, ", 1);
    holds(bert, "[ATTN_STEP_CLEAN] = {", 1);
    holds(bert, "[ATTN_STEP_PUNCTUATION] = {", 1);
    holds(bert, "[ATTN_UNIGRAM]", 0);
    holds(bert, "attn_decode_token", 0); /* it generates nothing */
    holds(bert, "[ATTN_STEP_GPT2]", 0);
    holds(bert, "static int64_t split_gpt2(", 0);
    holds(bert, "attn_charmap", 0);
}

/* ---- programs ---- */

/* Writes NAME.c and NAME.weights of the tiny model with these changes. */
static void compile_tiny(const char *name, const char *set, const char *other)
{
    assert_true(WORKS(attnc(), "compile", "models/tiny.yaml", "--seed=1",
                      "--march=x86-64-v3", set, other, "-o",
                      in_dir(arena_printf(a, "%s.c", name))));
}

static const char *program(const char *name)
{
    const char *path = in_dir(name);
    assert_true(WORKS(some_clang(), "-O0", "-march=x86-64-v3", "-DATTNC_MAIN",
                      in_dir(arena_printf(a, "%s.c", name)), "-lm", "-pthread",
                      "-o", path));
    return path;
}

static const char *answer(const char *path, const char *weights,
                          const char *line, int code)
{
    Spawned s;
    assert_int_equal(RUN(&s, line, path, in_dir(weights)), code);
    return arena_strdup(a, code ? s.tail : s.out);
}

/* Tests that a program for ids ignores a vocabulary; one for words rejects a
 * vocabulary of characters, whose code it lacks. */
static void test_other_vocabulary(void **state)
{
    (void)state;
    const char *list = in_dir("list");
    Buffer words = { .arena = a };
    Fault why;
    for (int i = 0; i < 48; i++)
        buffer_printf(&words, "w%d\n", i);
    assert_true(write_file(list, words.at, (size_t)words.n, &why));
    const char *set = arena_printf(a, "--set=vocab.file=%s", list);
    compile_tiny("ids", "--set=search.beam=2", "--set=name=tiny");
    compile_tiny("words", set, "--set=vocab.split=spaces");
    compile_tiny("characters", set, "--set=vocab.split=characters");

    const char *ids = program("ids"), *text = program("words");
    const char *expected = answer(ids, "ids.weights", "3 4 5\n", 0);
    assert_string_equal(answer(ids, "words.weights", "3 4 5\n", 0), expected);
    assert_true(strspn(expected, "0123456789 \n") == strlen(expected));
    const char *said = answer(text, "words.weights", "w3 w4 w5\n", 0);
    assert_non_null(strchr(said, 'w'));
    said = answer(text, "characters.weights", "w3 w4 w5\n", 3);
    holds(said,
          "characters.weights: made with another vocabulary than this "
          "program: vocabulary: unknown kind of tokenizer; pack it again: "
          "attnc compile tiny.yaml",
          1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_prototypes),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_vocabularies),
        cmocka_unit_test(test_other_vocabulary),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
