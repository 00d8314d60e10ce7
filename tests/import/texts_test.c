/* texts_test.c: tests every directory of tests/families/texts, a small model
 * with its tokenizer (texts.py): imports it as a user does, and compares text
 * answers with those of transformers' generate() and decode(); for an encoder
 * the first row; for a model that reads pairs of texts, their rows. */
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

static const char *said(const char *spec, const json_t *c, const char *steps)
{
    Spawned s;
    const json_t *text = json_object_get(c, "text");
    const json_t *pair = json_object_get(c, "pair");
    const char *line = arena_printf(a, "%s%s%s\n", json_string_value(text),
                                    pair ? "\t" : "",
                                    pair ? json_string_value(pair) : "");
    const bool row = json_object_get(c, "row") != NULL;
    if (RUN(&s, line, attnc(), "run", spec, "--backend=jit",
            pair  ? "--pairs"
            : row ? NULL
                  : "--beam=1",
            row ? NULL : "--max-output", steps))
        fail_msg("%s", s.tail);
    return arena_strdup(a, s.out);
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
    assert_true(json_array_size(cases) > 3);
    json_array_foreach(cases, i, c)
    {
        const char *out = said(spec, c, steps);
        const json_t *answer = json_object_get(c, "answer");
        if (answer)
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
        CASE("t5"),   CASE("marian"),   CASE("mbart50"),      CASE("gpt2"),
        CASE("bert"), CASE("reranker"), CASE("reranker_xlm"),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
