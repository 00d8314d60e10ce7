/* decoders_test.c: tests trained decoders, compiled in all ways, against other
 * programs with the same weights: answers token for token, logits, and
 * log-probabilities. Needs the real models next to the repository. */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/expected.h"

enum { MostIds = 512, MostPrompts = 16 };

typedef struct { /* a model and its expected results */
    const char *spec, *folder;
    int32_t end; /* ends an answer; -1: none */
} Known;

static const Known stories = { "models/stories260K.yaml", "stories260K", 1 };
static const Known sort = { "models/gpt-nano-sort.yaml", "gpt-nano-sort", -1 };

typedef struct { /* one of them, compiled */
    const Known *known;
    Engine e;
    json_t *root; /* expected.json */
    Arena *a;
} Model;

/* Runs `check` on the model, compiled in each way. */
static void each_way(const Known *k, void (*check)(Model *m))
{
    const char *weights = data_file(k->folder, "model.safetensors");
    Arena *a = arena_new();
    for (int i = 0; i < AllWays; i++) {
        Model m = { .known = k, .a = a };
        print_message("%s: %s\n", k->folder, all_ways[i].name);
        open_model(&m.e, arena_strdup(a, k->spec), weights, &all_ways[i]);
        m.root = json_file(data_file(k->folder, "expected.json"));
        check(&m);
        json_decref(m.root);
        engine_close(&m.e);
    }
    arena_free(a);
}

static struct attn_search_options greedy(const Known *k, int64_t most)
{
    return (struct attn_search_options){ .beam = 1,
                                         .results = 1,
                                         .max_output = most,
                                         .max_output_plus = -1,
                                         .patience = 1,
                                         .start = -1,
                                         .end = k->end };
}

/* Returns the first `n` tokens of an answer. */
static void assert_tokens(const struct attn_hypothesis *h, const json_t *want,
                          int64_t n)
{
    int32_t expected[MostIds];
    assert_int_equal(json_ids(want, expected, MostIds), n);
    assert_true(h->n >= n);
    assert_memory_equal(h->tokens, expected, (size_t)n * sizeof *expected);
}

/* ---- stories260K ---- */

/* Checks each prompt alone, up to the recorded length. */
static void check_prompts(Model *m)
{
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(m->root, "greedy"), i, c)
    {
        int32_t ids[MostIds], start[2] = { 0 };
        int64_t found;
        int64_t n = json_ids(json_object_get(c, "prompt_ids"), ids, MostIds);
        int64_t total = json_integer_value(json_object_get(c, "total"));
        const json_t *want = json_object_get(c, "ids");
        struct attn_search_options o = greedy(&stories, total - n + 1);
        start[1] = (int32_t)n;
        const struct attn_hypothesis *h = answers(m->a, &m->e, &o, 1, ids,
                                                  start, NULL, 0, &found);
        assert_int_equal(found, 1);
        assert_int_equal(h->n, json_array_size(want));
        assert_tokens(h, want, h->n);
        assert_int_equal(h->ended, json_is_true(json_object_get(c, "stopped")));
    }
    assert_int_equal(i, 8);
}

/* Checks all of them in one batch, with answers of the same length. */
static void check_batch(Model *m)
{
    int32_t ids[MostPrompts * MostIds], start[MostPrompts + 1] = { 0 };
    int64_t found[MostPrompts];
    struct attn_search_options o = greedy(&stories, 256);
    const json_t *list = json_object_get(m->root, "greedy");
    json_t *c;
    size_t i;
    json_array_foreach(list, i, c)
        start[i + 1] = start[i]
                     + (int32_t)json_ids(json_object_get(c, "prompt_ids"),
                                         ids + start[i], MostIds);
    const struct attn_hypothesis *h = answers(m->a, &m->e, &o, (int64_t)i, ids,
                                              start, NULL, 0, found);
    json_array_foreach(list, i, c)
    {
        const json_t *want = json_object_get(c, "ids");
        bool stopped = json_is_true(json_object_get(c, "stopped"));
        int64_t n = (int64_t)json_array_size(want);
        assert_int_equal(found[i], 1);
        assert_tokens(&h[i], want, n);
        assert_true(!stopped || (h[i].ended && h[i].n == n));
    }
}

static void check_scores(Model *m)
{
    size_t i;
    json_t *c;
    json_array_foreach(json_object_get(m->root, "score"), i, c)
    {
        int32_t ids[MostIds];
        double want[MostIds], sum = 0;
        float got[MostIds];
        const struct attn_model *model = m->e.backend.model;
        int64_t n = json_ids(json_object_get(c, "ids"), ids, MostIds) - 1;
        assert_int_equal(json_numbers(json_object_get(c, "token_log_probs"),
                                      want, MostIds),
                         n);
        struct attn_score_request r = {
            .model = model,
            .bound = m->e.bound,
            .start = ids[0],
            .pair = &(struct attn_score_pair){ .target = ids + 1,
                                               .target_n = n },
            .pairs = 1,
            .log_probability = got,
        };
        r.bytes = attn_score_bytes(&r);
        r.memory = nan_block(m->a, r.bytes);
        assert_int_equal(attn_score_pairs(&r), 0);
        for (int64_t j = 0; j < n; j++) {
            assert_true(fabs((double)got[j] - want[j]) <= 1e-4);
            sum += (double)got[j];
        }
        double all = json_number_value(json_object_get(c, "log_prob"));
        assert_true(fabs(sum - all) <= 2e-4);
    }
    assert_int_equal(i, 2);
}

/* ---- logits ---- */

static double deviation(const double *x, int64_t n)
{
    double mean = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)n);
}

/* Checks the logits of the last rows, for one prompt in one call. */
static void check_logits(Model *m)
{
    const json_t *t = json_object_get(m->root, "tensors");
    int32_t ids[MostIds], start[2][2] = { { 0 } };
    double want[MostIds], got[MostIds];
    int64_t n = json_ids(json_object_get(t, "input_ids"), ids, MostIds);
    int64_t wanted = json_numbers(json_object_get(t, "logits"), want, MostIds);
    int64_t size = n * result_columns(m->e.spec);
    float *out = arena_alloc(m->a, (size_t)size * sizeof *out);
    Sample x = { .sequences = 1,
                 .start = { start[0], start[1] },
                 .ids = { NULL, ids } };
    Trial trial = { 0 };
    start[1][1] = (int32_t)n;
    trial_run(&trial, &m->e, &x, 0, out);
    trial_free(&trial);
    assert_true(wanted > 0 && wanted <= size);
    for (int64_t i = 0; i < wanted; i++)
        got[i] = (double)out[size - wanted + i];
    assert_tensor(json_object_get(t, "logits"), got, wanted,
                  1e-4 * deviation(want, wanted));
}

static void check_stories(Model *m)
{
    check_prompts(m);
    check_batch(m);
    check_scores(m);
    check_logits(m);
}

/* ---- gpt-nano-sort ---- */

static void check_cases(Model *m)
{
    size_t i;
    json_t *c;
    struct attn_search_options o = greedy(&sort, 6);
    json_array_foreach(json_object_get(m->root, "cases"), i, c)
    {
        int32_t ids[MostIds], start[2] = { 0, 6 };
        int64_t found;
        assert_int_equal(json_ids(json_object_get(c, "input"), ids, MostIds),
                         6);
        const struct attn_hypothesis *h = answers(m->a, &m->e, &o, 1, ids,
                                                  start, NULL, 0, &found);
        assert_int_equal(found, 1);
        assert_int_equal(h->n, 6);
        assert_tokens(h, json_object_get(c, "greedy"), 6);
    }
    assert_int_equal(i, 81);
}

/* Checks all possible inputs in one batch; the reference sorts each. */
static void check_all_inputs(Model *m)
{
    enum { Inputs = 3 * 3 * 3 * 3 * 3 * 3 };
    static int32_t ids[6 * Inputs], start[Inputs + 1];
    static int64_t found[Inputs];
    struct attn_search_options o = greedy(&sort, 6);
    for (int i = 0; i < Inputs; i++) {
        for (int j = 0, rest = i; j < 6; j++, rest /= 3)
            ids[6 * i + j] = rest % 3;
        start[i + 1] = 6 * (i + 1);
    }
    const struct attn_hypothesis *h = answers(m->a, &m->e, &o, Inputs, ids,
                                              start, NULL, 0, found);
    for (int i = 0; i < Inputs; i++) {
        int count[3] = { 0 };
        assert_int_equal(found[i], 1);
        assert_int_equal(h[i].n, 6);
        for (int j = 0; j < 6; j++)
            count[ids[6 * i + j]]++;
        for (int32_t letter = 0, at = 0; letter < 3; letter++)
            for (int j = 0; j < count[letter]; j++)
                assert_int_equal(h[i].tokens[at++], letter);
    }
}

static void check_sort(Model *m)
{
    check_cases(m);
    check_all_inputs(m);
    check_logits(m);
}

static void test_stories(void **state)
{
    (void)state;
    each_way(&stories, check_stories);
}

static void test_sort(void **state)
{
    (void)state;
    each_way(&sort, check_sort);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_sort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
