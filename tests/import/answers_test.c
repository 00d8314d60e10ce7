/* answers_test.c: imports folders of tests/families with other keys of
 * generation_config.json. attnc run, and the program that attnc compile makes,
 * then give the answers of generate() of transformers
 * (tests/families/answers.json). Beams stop early in both: import gives a
 * decoder no rule, because its beam is 1. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "import/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"
#include "support/family_folder.h"

static json_t *cases;
static size_t cases_n;

static const char *text_in(const json_t *c, const char *key)
{
    return json_string_value(json_object_get(c, key));
}

static const char *number_in(const json_t *c, const char *key)
{
    return arena_printf(a, "%d",
                        (int)json_integer_value(json_object_get(c, key)));
}

/* Returns the lists of ids, one a line. */
static const char *lines_of(const json_t *lists)
{
    const char *text = "";
    size_t i, k;
    json_t *list, *id;
    json_array_foreach(lists, i, list)
    {
        json_array_foreach(list, k, id)
            text = arena_printf(a, "%s%s%d", text, k ? " " : "",
                                (int)json_integer_value(id));
        text = arena_printf(a, "%s\n", text);
    }
    return text;
}

/* Imports the folder of a case with its keys. Returns the path of the spec. */
static const char *imported(const json_t *c, size_t number)
{
    static const char name[] = "generation_config.json";
    const char *family = text_in(c, "folder");
    const char *folder = in_dir(arena_printf(a, "%s-%zu", family, number));
    const char *spec = arena_printf(a, "%s.yaml", folder);
    const char *from = arena_printf(a, "tests/families/%s", family);
    const char *own = arena_printf(a, "%s/%s", folder, name);
    assert_int_equal(mkdir(folder, 0700), 0);
    link_family(family, folder);
    char *config = realpath(arena_printf(a, "%s/config.json", from), NULL);
    assert_int_equal(symlink(config, arena_printf(a, "%s/config.json", folder)),
                     0);
    free(config);
    json_t *keys = json_file(arena_printf(a, "%s/%s", from, name));
    json_object_update(keys, json_object_get(c, "keys"));
    unlink(own);
    assert_int_equal(json_dump_file(keys, own, 0), 0);
    json_decref(keys);
    assert_true(WORKS(attnc(), "import", folder, "-o", spec, "--quiet"));
    return spec;
}

static void compare(const char *how, const json_t *c, const char *got)
{
    const char *want = lines_of(json_object_get(c, "answers"));
    if (strcmp(got, want))
        fail_msg("%s: %s\nwanted:\n%sfound:\n%s", how,
                 json_dumps(json_object_get(c, "keys"), 0), want, got);
}

/* Every case by attnc run: the lines at once, and greedily as a stream. */
static void test_run(void **state)
{
    size_t i;
    json_t *c;
    (void)state;
    json_array_foreach(cases, i, c)
    {
        Spawned s;
        const char *spec = imported(c, i), *beam = number_in(c, "beam");
        const char *prompts = lines_of(json_object_get(c, "prompts"));
        const char *answers = lines_of(json_object_get(c, "answers"));
        const char *most = number_in(c, "most");
        if (RUN(&s, prompts, attnc(), "run", spec, "--ids", "--beam", beam,
                "--max-output", most, "--backend=jit",
                "--set=search.rule=recorded"))
            fail_msg("%s", s.tail);
        compare("lines", c, s.out);
        if (strcmp(beam, "1") != 0)
            continue;
        const char *first = arena_strndup(a, prompts, strcspn(prompts, "\n"));
        if (RUN(&s, "", attnc(), "run", spec, "--ids", "--quiet", "--prompt",
                first, "-n", most, "--backend=jit"))
            fail_msg("%s", s.tail);
        if (strncmp(s.out, answers, strcspn(answers, "\n") + 1) != 0)
            fail_msg("%s: %s is not the first of\n%s", spec, s.out, answers);
    }
}

/* Compiles the model and asks its program the questions of a case. */
static void check_program(const json_t *c, size_t number)
{
    Spawned s;
    const char *spec = imported(c, cases_n + number);
    emit(spec, "--march=generic", "--set=search.rule=recorded");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-DATTNC_MAIN",
                      in_dir("m.c"), "-lm", "-pthread", "-o", in_dir("m")));
    if (RUN(&s, lines_of(json_object_get(c, "prompts")), in_dir("m"),
            in_dir("m.weights"), "--ids", "--beam", number_in(c, "beam"),
            "--max-output", number_in(c, "most")))
        fail_msg("%s", s.tail);
    compare("program", c, s.out);
}

/* Tests the last case of each beam of two folders. */
static void test_program(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < cases_n; i++) {
        const json_t *c = json_array_get(cases, i);
        const json_t *next = json_array_get(cases, i + 1);
        const char *folder = text_in(c, "folder");
        if (strcmp(number_in(c, "beam"), number_in(next, "beam")) != 0
            && (!strcmp(folder, "llama") || !strcmp(folder, "bart")))
            check_program(c, i);
    }
}

static int open_cases(void **state)
{
    cases = json_file("tests/families/answers.json");
    cases_n = json_array_size(cases);
    return set_up_sharing(state);
}

static int close_cases(void **state)
{
    json_decref(cases);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_run),
                                        cmocka_unit_test(test_program) };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
