/* aren_test.c: tests a real, trained model end to end: every recorded case of
 * greedy and beam search, its options and its scores, by the JIT and by a C
 * compiler, fused and unfused. Skipped if the model is not available
 * (ATTNC_DATA names its directory). */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/expected.h"

enum { MostIds = 512 };

static char folder[512];
static char *vocabulary[64]; /* by id of the target */
static int64_t vocabulary_n;

/* ---- reading ---- */

static void find_folder(void)
{
    data_file("aren-transliteration", "expected.json");
    snprintf(folder, sizeof folder, "%s/aren-transliteration", data_folder());
}

static void read_vocabulary(Arena *a)
{
    char path[600];
    File f;
    Fault why;
    snprintf(path, sizeof path, "%s/target_vocab.txt", folder);
    assert_true(file_read(&f, path, 1 << 20, &why));
    const char *line = (const char *)f.at;
    for (vocabulary_n = 0; *line; vocabulary_n++) {
        size_t n = strcspn(line, "\n");
        assert_true(vocabulary_n < 64);
        vocabulary[vocabulary_n] = arena_strndup(a, line, n);
        line += n + (line[n] == '\n');
    }
    file_close(&f);
}

static int32_t token_id(const json_t *token)
{
    const char *text = json_string_value(token);
    for (int32_t i = 0; i < vocabulary_n; i++)
        if (!strcmp(vocabulary[i], text))
            return i;
    print_error("no token '%s'\n", text);
    fail();
    return -1;
}

static int64_t token_ids(const json_t *list, int32_t *ids)
{
    int64_t n = (int64_t)json_array_size(list);
    for (int64_t i = 0; i < n; i++)
        ids[i] = token_id(json_array_get(list, (size_t)i));
    return n;
}

/* ---- options ---- */

static int64_t option(const json_t *options, const char *name, int64_t preset)
{
    const json_t *x = json_object_get(options, name);
    return x ? json_integer_value(x) : preset;
}

static double number(const json_t *options, const char *name, double preset)
{
    const json_t *x = json_object_get(options, name);
    return x ? json_number_value(x) : preset;
}

/* Each sequence: its length, then its tokens. */
static int64_t suppressed(const json_t *sequences, int32_t *out)
{
    int64_t n = 0;
    for (size_t i = 0; i < json_array_size(sequences); i++) {
        const json_t *s = json_array_get(sequences, i);
        out[n] = (int32_t)json_array_size(s);
        n += 1 + token_ids(s, out + n + 1);
    }
    return n;
}

/* Returns the options of expected.json's "defaults" and of the case. */
static struct attn_search_options options_of(const json_t *c, int32_t *suppress)
{
    const json_t *o = json_object_get(c, "options");
    const json_t *end = json_object_get(o, "end_token");
    return (struct attn_search_options){
        .beam = option(o, "beam_size", 2),
        .results = option(o, "num_hypotheses", 1),
        .rule = ATTN_RULE_RECORDED,
        .penalty = ATTN_PENALTY_POWER,
        .alpha = (float)number(o, "length_penalty", 1),
        .max_output = option(o, "max_decoding_length", 256),
        .max_output_plus = -1,
        .max_input = option(o, "max_input_length", 1024),
        .patience = 1,
        .start = 1,
        .end = end ? token_id(end) : 2,
        .want_scores = 1,
        .process = {
            .min_length = option(o, "min_decoding_length", 1),
            .repetition_penalty = (float)number(o, "repetition_penalty", 0),
            .no_repeat_ngram = option(o, "no_repeat_ngram_size", 0),
            .suppress = suppress,
            .suppress_size = suppressed(
                json_object_get(o, "suppress_sequences"), suppress),
        },
    };
}

/* ---- cases ---- */

static bool is_extra(const json_t *c)
{
    const json_t *o = json_object_get(c, "options");
    return json_object_get(o, "prefix_bias_beta")
        || json_object_get(o, "return_alternatives");
}

static const char *id_of(const json_t *c)
{
    return json_string_value(json_object_get(c, "id"));
}

static void assert_score(const json_t *c, double want, double got)
{
    if (!(fabs(want - got) <= 1e-4)) {
        print_error("%s: score %.7f, expected %.7f\n", id_of(c), got, want);
        fail();
    }
}

static void assert_answer(const json_t *c, const json_t *want,
                          const struct attn_hypothesis *got)
{
    int32_t ids[MostIds];
    int64_t n = json_ids(json_object_get(want, "ids"), ids, MostIds);
    bool same = n == got->n
             && !memcmp(ids, got->tokens, (size_t)n * sizeof *ids);
    if (!same) {
        print_error("%s: tokens differ:", id_of(c));
        for (int64_t i = 0; i < got->n; i++)
            print_error(" %d", got->tokens[i]);
        print_error("\n");
        fail();
    }
    assert_int_equal(got->ended, json_is_true(json_object_get(want, "ended")));
    assert_score(c, json_number_value(json_object_get(want, "score")),
                 (double)got->score);
}

static void check_search(const Engine *e, const json_t *c)
{
    Arena *a = arena_new();
    int32_t source[MostIds], prefix[MostIds], suppress[MostIds];
    int32_t start[2] = { 0 };
    int64_t found;
    start[1] = (int32_t)json_ids(json_object_get(c, "source_ids"), source,
                                 MostIds);
    int64_t prefix_n = token_ids(json_object_get(c, "target_prefix"), prefix);
    struct attn_search_options o = options_of(c, suppress);
    struct attn_hypothesis *got = answers(a, e, &o, 1, source, start,
                                          prefix_n ? prefix : NULL, prefix_n,
                                          &found);
    const json_t *want = json_object_get(c, "expected");
    assert_int_equal(found, json_array_size(want));
    for (int64_t i = 0; i < found; i++)
        assert_answer(c, json_array_get(want, (size_t)i), &got[i]);
    arena_free(a);
}

/* Tests log-probabilities of given targets. */
static void check_score(const Engine *e, const json_t *c)
{
    Arena *a = arena_new();
    const json_t *want = json_object_get(c, "expected");
    const json_t *each = json_object_get(want, "token_log_probs");
    int32_t source[MostIds], target[MostIds];
    float got[MostIds];
    double sum = 0;
    int64_t n = json_ids(json_object_get(c, "source_ids"), source, MostIds);
    int64_t t = json_ids(json_object_get(want, "ids"), target, MostIds);
    struct attn_score_request r = {
        .model = e->backend.model,
        .bound = e->bound,
        .start = 1,
        .pair = &(struct attn_score_pair){ .source = source,
                                           .source_n = n,
                                           .target = target,
                                           .target_n = t },
        .pairs = 1,
        .log_probability = got,
    };
    r.bytes = attn_score_bytes(&r);
    r.memory = nan_block(a, r.bytes);
    assert_int_equal(attn_score_pairs(&r), 0);
    assert_int_equal(json_array_size(each), t);
    for (int64_t i = 0; i < t; i++) {
        assert_score(c, json_number_value(json_array_get(each, (size_t)i)),
                     (double)got[i]);
        sum += (double)got[i];
    }
    assert_score(c, json_number_value(json_object_get(want, "log_prob")), sum);
    arena_free(a);
}

static void check_all(const Way *way)
{
    char path[600], weights[600];
    snprintf(path, sizeof path, "%s/expected.json", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    json_t *root = json_file(path);
    const json_t *cases = json_object_get(root, "cases");
    int checked = 0;
    Engine e;
    open_model(&e, "models/aren-transliteration.yaml", weights, way);
    read_vocabulary(e.arena);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        if (is_extra(c))
            continue;
        if (json_object_get(c, "target"))
            check_score(&e, c);
        else
            check_search(&e, c);
        checked++;
    }
    print_message("%s: %d cases\n", way->name, checked);
    assert_int_equal(checked, 118);
    engine_close(&e);
    json_decref(root);
}

static void test_cases(void **state)
{
    (void)state;
    find_folder();
    for (int i = 0; i < AllWays; i++)
        check_all(&all_ways[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
