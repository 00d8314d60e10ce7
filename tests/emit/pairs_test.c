/* pairs_test.c: ids and types of pairs of texts as the package `tokenizers`
 * gave them (tests/tokenizers/pairs.py), and an encoder's rows of them: by the
 * functions of an emitted file.                                             */
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

/* The lines of pairs.txt that are of one tokenizer. */
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

/* Compiles m.c; the rows that its functions make of the recorded pairs. */
static const char *answers_of(const Case *c)
{
    Spawned s;
    assert_true(WORKS(attnc(), "compile", spec, "--set", c->set,
                      "--march=x86-64-v3", "--seed=1", "--embed", "--quiet",
                      "-o", in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir,
                      "tests/support/pair_calls.c", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    if (RUN(&s, recorded(c->name), in_dir("m")) != 0)
        fail_msg("%s: %s", c->name, s.tail);
    return arena_strdup(a, s.out);
}

static void test_bert(void **state)
{
    (void)state;
    assert_non_null(strchr(answers_of(&bert), '\n'));
}

static void test_roberta(void **state)
{
    (void)state;
    assert_non_null(strchr(answers_of(&roberta), '\n'));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bert),
        TEST(test_roberta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
