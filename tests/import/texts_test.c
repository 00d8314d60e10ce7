/* texts_test.c: tests every directory of tests/families/texts, a small model
 * with its tokenizer (texts.py): imports it as a user does, and compares text
 * answers with those of transformers' generate() and decode(); for an encoder
 * the first row; for a model that reads pairs of texts, their rows; for late
 * interaction (late.py) all rows of queries and documents, and for a decoder
 * that ranks, the scores of pairs in its chat template. Emitted programs print
 * the same for these two. */
#define _GNU_SOURCE
#include "backend/backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"

static void import(const char *name, const char *spec)
{
    Spawned s;
    if (RUN(&s, "", attnc(), "import",
            arena_printf(a, "tests/families/texts/%s", name), "-o", spec,
            "--quiet"))
        fail_msg("%s", s.tail);
}

/* Compiles a program that takes --task or pairs in the texts of a spec. */
static const char *program_of(const char *name, const char *spec)
{
    if (strcmp(name, "pylate") != 0 && strcmp(name, "qwen_reranker") != 0)
        return NULL;
    emit(spec, "--march=native", "--set=name=m");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-DATTNC_MAIN",
                      "-march=native", QUIET, in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    return in_dir("m");
}

/* Checks that the program refuses an option with this message. */
static void check_refused(const char *program, const char *option,
                          const char *other, const char *message)
{
    Spawned s;
    assert_int_equal(RUN(&s, "", program, in_dir("m.weights"), option, other),
                     2);
    if (!strstr(s.tail, message))
        fail_msg("%s: %s", option, s.tail);
}

/* Returns what attnc run prints. Compares it with what the program prints,
 * unless that is NULL. */
static const char *said(const char *spec, const char *program, const json_t *c,
                        const char *steps)
{
    Spawned s;
    const json_t *text = json_object_get(c, "text");
    const json_t *pair = json_object_get(c, "pair");
    const char *line = arena_printf(a, "%s%s%s\n", json_string_value(text),
                                    pair ? "\t" : "",
                                    pair ? json_string_value(pair) : "");
    const char *task = json_string_value(json_object_get(c, "task"));
    const bool row = json_object_get(c, "row") || task;
    const char *how = task ? arena_printf(a, "--task=%s", task)
                    : pair ? "--pairs"
                    : row  ? NULL
                           : "--beam=1";
    if (RUN(&s, line, attnc(), "run", spec, "--backend=jit", how,
            row ? NULL : "--max-output", steps))
        fail_msg("%s", s.tail);
    const char *out = arena_strdup(a, s.out);
    if (program && how) {
        if (RUN(&s, line, program, in_dir("m.weights"), how))
            fail_msg("%s", s.tail);
        assert_string_equal(s.out, out);
    }
    return out;
}

static void compare_row(const char *out, const json_t *row)
{
    size_t i;
    json_t *x;
    assert_true(json_array_size(row) > 0);
    json_array_foreach(row, i, x)
    {
        char *end;
        const double got = strtod(out, &end), want = json_number_value(x);
        assert_true(end > out);
        if (!(fabs(got - want) <= 1e-5))
            fail_msg("number %zu is %.9g, not %.9g", i, got, want);
        out = end;
    }
}

/* Compares all rows of an answer, which are lines. */
static void compare_rows(const char *out, const json_t *rows)
{
    size_t i;
    json_t *row;
    assert_true(json_array_size(rows) > 0);
    json_array_foreach(rows, i, row)
    {
        compare_row(out, row);
        out = strchr(out, '\n');
        assert_non_null(out);
        out++;
    }
    assert_string_equal(out, "\n");
}

static void test_texts(void **state)
{
    const char *name = *state, *spec = in_dir("model.yaml");
    json_t *root = json_file(
        arena_printf(a, "tests/families/texts/%s/texts.json", name));
    const json_t *cases = json_object_get(root, "cases"), *c;
    const char *steps = arena_printf(a, "%d",
                                     (int)json_integer_value(
                                         json_object_get(root, "steps")));
    size_t i;
    import(name, spec);
    const char *program = program_of(name, spec);
    if (program) {
        check_refused(program, "--task=passage", NULL,
                      "--task: none, query or document is expected");
        check_refused(program, "--task=query", "--pairs",
                      "--task can't be combined with --ids or --pairs");
    }
    assert_true(json_array_size(cases) > 3);
    json_array_foreach(cases, i, c)
    {
        const char *out = said(spec, program, c, steps);
        const json_t *answer = json_object_get(c, "answer");
        const json_t *rows = json_object_get(c, "rows");
        if (rows)
            compare_rows(out, rows);
        else if (answer)
            assert_string_equal(out, arena_printf(a, "%s\n",
                                                  json_string_value(answer)));
        else
            compare_row(out, json_object_get(c, "row"));
    }
    json_decref(root);
}

#define CASE(name) { name, test_texts, set_up_sharing, tear_down, name }

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE("t5"),           CASE("marian"),        CASE("mbart50"),
        CASE("gpt2"),         CASE("bert"),          CASE("reranker"),
        CASE("reranker_xlm"), CASE("colbert_first"), CASE("pylate"),
        CASE("multi_vector"), CASE("qwen_reranker"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
