/* decoders_test.c: trained decoders, compiled: what other programs wrote with
 * the same weights, token for token, and the log-probabilities they gave. Read
 * where the real models lie beside the repository.                          */
#include "../compiler/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "answers.h"
#include "expected.h"

enum { MostIds = 512 };

typedef struct {                 /* a model and what is known of it */
    const char *spec, *folder;
    int32_t end;                 /* ends an answer; -1: nothing does */
} Known;

static const Known stories = { "models/stories260K.yaml", "stories260K", 1 };
static const Known sort = { "models/gpt-nano-sort.yaml", "gpt-nano-sort", -1 };

static const char *file_of(Arena *a, const Known *k, const char *name)
{
    return arena_printf(a, "%s/%s/%s", data_folder(), k->folder, name);
}

static void open_known(Engine *e, Arena *a, const Known *k,
                       const char *backend)
{
    const char *weights = file_of(a, k, "model.safetensors");
    if (access(weights, R_OK)) {
        print_message("%s is not here\n", weights);
        arena_free(a);
        skip();
    }
    open_model(e, arena_strdup(a, k->spec), weights, backend);
}

/* The best token at each step, from `n` ids on. */
static void assert_greedy(const Engine *e, const Known *k, const int32_t *ids,
                          int64_t n, const json_t *want, int64_t most)
{
    const int32_t start[2] = { 0, (int32_t)n };
    const struct attn_search_options o = {
        .beam = 1, .results = 1, .max_output = most, .max_output_plus = -1,
        .patience = 1, .start = -1, .end = k->end
    };
    Arena *a = arena_new();
    int32_t expected[MostIds];
    int64_t found, count = json_ids(want, expected, MostIds);
    const struct attn_hypothesis *h = answers(a, e, &o, 1, ids, start, NULL,
                                              0, &found);
    assert_int_equal(found, 1);
    assert_int_equal(h->n, count);
    assert_memory_equal(h->tokens, expected, (size_t)count * sizeof *expected);
    arena_free(a);
}

static void check_stories(const char *backend)
{
    Arena *a = arena_new();
    Engine e;
    open_known(&e, a, &stories, backend);
    json_t *root = json_file(file_of(a, &stories, "expected.json")), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "greedy"), i, c) {
        int32_t ids[MostIds];
        int64_t n = json_ids(json_object_get(c, "prompt_ids"), ids, MostIds);
        int64_t total = json_integer_value(json_object_get(c, "total"));
        assert_greedy(&e, &stories, ids, n, json_object_get(c, "ids"),
                      total - n + 1);
    }
    assert_true(i > 0);
    json_decref(root);
    engine_close(&e);
    arena_free(a);
}

static void check_scores(const char *backend)
{
    Arena *a = arena_new();
    Engine e;
    open_known(&e, a, &stories, backend);
    json_t *root = json_file(file_of(a, &stories, "expected.json")), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "score"), i, c) {
        int32_t ids[MostIds];
        double want[MostIds];
        float got[MostIds];
        const struct attn_model *m = e.backend.model;
        int64_t n = json_ids(json_object_get(c, "ids"), ids, MostIds) - 1;
        int64_t bytes = attn_score_bytes(m, 0, n);
        void *memory = nan_block(a, bytes);
        assert_int_equal(json_numbers(json_object_get(c, "token_log_probs"),
                                      want, MostIds), n);
        assert_int_equal(attn_score(m, e.bound, ids[0], ids, 0, ids + 1, n,
                                    memory, bytes, got), 0);
        for (int64_t j = 0; j < n; j++)
            assert_true(fabs((double)got[j] - want[j]) <= 1e-4);
    }
    assert_true(i > 0);
    json_decref(root);
    engine_close(&e);
    arena_free(a);
}

static void check_sort(const char *backend)
{
    Arena *a = arena_new();
    Engine e;
    open_known(&e, a, &sort, backend);
    json_t *root = json_file(file_of(a, &sort, "expected.json")), *c;
    size_t i;
    json_array_foreach(json_object_get(root, "cases"), i, c) {
        int32_t ids[MostIds];
        int64_t n = json_ids(json_object_get(c, "input"), ids, MostIds);
        assert_greedy(&e, &sort, ids, n, json_object_get(c, "greedy"), n);
    }
    assert_int_equal(i, 81);
    json_decref(root);
    engine_close(&e);
    arena_free(a);
}

static void test_stories(void **state)
{
    (void)state;
    check_stories("jit");
    check_stories("clang");
}

static void test_scores(void **state)
{
    (void)state;
    check_scores("jit");
    check_scores("clang");
}

static void test_sort(void **state)
{
    (void)state;
    check_sort("jit");
    check_sort("clang");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
