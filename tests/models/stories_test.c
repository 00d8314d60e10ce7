/* stories_test.c: tests a trained decoder with its tokenizer, text in and text
 * out, by attnc in all ways and by the program of the emitted file, against
 * what llama2.c printed for the same prompts, and its scores. Needs the real
 * models next to the repository. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/answers.h"
#include "support/aot.h"
#include "support/expected.h"

static const char spec[] = "models/stories260K.yaml";

typedef struct {
    const char *weights, *vocabulary; /* as attnc takes them */
    json_t *root;                     /* expected.json */
} Stories;

static void open_stories(Stories *s)
{
    s->weights = arena_printf(a, "--weights=%s",
                              data_file("stories260K", "model.safetensors"));
    s->vocabulary = arena_printf(a, "--set=vocab.file=%s",
                                 data_file("stories260K", "tokenizer.json"));
    s->root = json_file(data_file("stories260K", "expected.json"));
}

static const char *text(const json_t *c, const char *key)
{
    return json_string_value(json_object_get(c, key));
}

/* How many tokens are asked for: a stop must come before that many. */
static const char *limit_of(const json_t *c)
{
    size_t n = json_array_size(json_object_get(c, "ids"));
    bool stopped = json_is_true(json_object_get(c, "stopped"));
    return arena_printf(a, "%zu", n + (stopped ? 20 : 0));
}

static void assert_text(const char *way, const json_t *c, const Spawned *s)
{
    const char *want = arena_printf(a, "%s\n", text(c, "text"));
    if (strcmp(s->out, want))
        fail_msg("%s, %s: '%s', not '%s'", way, text(c, "id"), s->out, want);
}

/* Runs attnc with a command's words in one of the ways. */
static void attnc_says(Spawned *s, const Stories *t, const Way *way,
                       const char *const *more, const char *input)
{
    const char *words[31] = { attnc(),     more[0],       spec,
                              t->weights,  t->vocabulary, "--backend",
                              way->backend };
    int n = 7;
    if (way->unfused)
        words[n++] = "--skip=all";
    for (int i = 1; more[i]; i++)
        words[n++] = more[i];
    if (run(s, input, words) != 0)
        fail_msg("%s: %s", way->name, s->tail);
}

static void test_prompts(void **state)
{
    (void)state;
    Stories t;
    open_stories(&t);
    for (int way = 0; way < AllWays; way++) {
        size_t i;
        json_t *c;
        json_array_foreach(json_object_get(t.root, "greedy"), i, c)
        {
            Spawned s;
            const char *const more[] = { "run", "--prompt",  text(c, "prompt"),
                                         "-n",  limit_of(c), NULL };
            attnc_says(&s, &t, &all_ways[way], more, "");
            assert_text(all_ways[way].name, c, &s);
        }
        assert_int_equal(i, 8);
    }
    json_decref(t.root);
}

/* Half of the answer now, the rest by another run, which the state begins. */
static void test_saved(void **state)
{
    (void)state;
    Stories t;
    size_t i;
    json_t *c;
    open_stories(&t);
    const char *const saved = in_dir("state");
    json_array_foreach(json_object_get(t.root, "greedy"), i, c)
    {
        Spawned s, rest;
        size_t n = json_array_size(json_object_get(c, "ids"));
        const char *const half = arena_printf(a, "%zu", n / 2);
        const char *const save[] = { "run", "--prompt", text(c, "prompt"),
                                     "-n",  half,       "--save-state",
                                     saved, NULL };
        const char *const load[] = { "run",
                                     "--load-state",
                                     saved,
                                     "-n",
                                     arena_printf(a, "%zu", n - n / 2),
                                     NULL };
        attnc_says(&s, &t, &all_ways[0], save, "");
        attnc_says(&rest, &t, &all_ways[2], load, "");
        s.out[strlen(s.out) - 1] = 0; /* the newline */
        strcat(s.out, rest.out);
        assert_text("saved", c, &s);
    }
    json_decref(t.root);
}

static void test_program(void **state)
{
    (void)state;
    Stories t;
    size_t i;
    json_t *c;
    open_stories(&t);
    assert_true(WORKS(attnc(), "compile", spec, t.weights, t.vocabulary,
                      "--march=native", "-o", in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
    json_array_foreach(json_object_get(t.root, "greedy"), i, c)
    {
        Spawned s;
        if (RUN(&s, "", in_dir("m"), in_dir("m.weights"), "--prompt",
                text(c, "prompt"), "-n", limit_of(c))
            != 0)
            fail_msg("%s", s.tail);
        assert_text("program", c, &s);
    }
    json_decref(t.root);
}

/* Each token's log-probability, then that of the end, which is ours. */
static void assert_scores(const json_t *c, const char *line)
{
    double want[64];
    char *at = strchr(line, '\t');
    int64_t n = json_numbers(json_object_get(c, "token_log_probs"), want, 64);
    assert_non_null(at);
    for (int64_t i = 0; i < n; i++) {
        double got = strtod(at, &at);
        if (!(fabs(got - want[i]) <= 1e-4))
            fail_msg("%s[%lld]: %.9g, not %.9g", text(c, "id"), (long long)i,
                     got, want[i]);
    }
    strtod(at, &at);
    assert_string_equal(at, "\n");
}

/* attnc score: behind no text. */
static void test_scores(void **state)
{
    (void)state;
    Stories t;
    open_stories(&t);
    for (int way = 0; way < AllWays; way++) {
        size_t i;
        json_t *c;
        json_array_foreach(json_object_get(t.root, "score"), i, c)
        {
            Spawned s;
            const char *const more[] = { "score", NULL };
            attnc_says(&s, &t, &all_ways[way], more,
                       arena_printf(a, "\t%s\n", text(c, "text")));
            assert_scores(c, s.out);
        }
        assert_int_equal(i, 2);
    }
    json_decref(t.root);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_sharing, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_prompts),
        TEST(test_saved),
        TEST(test_program),
        TEST(test_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
