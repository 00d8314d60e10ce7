/* g2p_test.c: tests the repository's own model: its recorded answers, greedy
 * and by beam search, and that all ways to run it give the same bits: by steps
 * through the cache or in one pass, alone or in a batch, with any tile, any
 * vector width, any compiler, JIT or not. */
/* limit: 300 s */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/expected.h"

enum { MostCases = 400, MostIds = 20000, End = 2 };

static const char spec[] = "models/g2p-en/g2p-en.yaml";

typedef struct { /* all words of expected.json, as one batch */
    json_t *root;
    const json_t *cases, *letters, *phones;
    int64_t n;
    int32_t ids[MostIds], start[MostCases + 1];
} Words;

static int32_t find(const json_t *vocabulary, const char *text, size_t size)
{
    for (size_t i = 0; i < json_array_size(vocabulary); i++) {
        const char *s = json_string_value(json_array_get(vocabulary, i));
        if (strlen(s) == size && !strncmp(s, text, size))
            return (int32_t)i;
    }
    print_error("no token '%.*s'\n", (int)size, text);
    fail();
    return -1;
}

static void read_words(Words *w)
{
    w->root = json_file("models/g2p-en/expected.json");
    w->cases = json_object_get(w->root, "cases");
    w->letters = json_object_get(w->root, "letters");
    w->phones = json_object_get(w->root, "phones");
    w->n = (int64_t)json_array_size(w->cases);
    assert_true(w->n <= MostCases);
    int32_t n = w->start[0] = 0;
    for (int64_t i = 0; i < w->n; i++) {
        const json_t *c = json_array_get(w->cases, (size_t)i);
        const char *s = json_string_value(json_object_get(c, "word"));
        for (; *s; s++)
            w->ids[n++] = find(w->letters, s, 1);
        w->ids[n++] = End;
        w->start[i + 1] = n;
    }
}

/* ---- answers ---- */

static int64_t phone_ids(const Words *w, const char *text, int32_t *ids)
{
    int64_t n = 0;
    for (size_t size; *text; text += size + (text[size] == ' ')) {
        size = strcspn(text, " ");
        ids[n++] = find(w->phones, text, size);
    }
    return n;
}

static void check_answer(const Words *w, int64_t i, const char *key,
                         const struct attn_hypothesis *got)
{
    const json_t *c = json_array_get(w->cases, (size_t)i);
    char score_key[32];
    int32_t ids[64];
    snprintf(score_key, sizeof score_key, "%s_score", key);
    int64_t n = phone_ids(w, json_string_value(json_object_get(c, key)), ids);
    double want = json_number_value(json_object_get(c, score_key));
    bool same = n == got->n
             && !memcmp(ids, got->tokens, (size_t)n * sizeof *ids);
    if (same && fabs(want - (double)got->score) <= 1e-4)
        return;
    print_error("%s, %s: score %.7g, expected %.7g%s\n",
                json_string_value(json_object_get(c, "word")), key,
                (double)got->score, want, same ? "" : "; other tokens");
    fail();
}

static void check_words(const Engine *e, const Words *w, int64_t beam)
{
    Arena *a = arena_new();
    int64_t found[MostCases];
    const struct attn_search_options o = {
        .beam = beam,
        .results = 1,
        .rule = ATTN_RULE_EXACT,
        .penalty = ATTN_PENALTY_NONE,
        .max_output = 40,
        .max_output_plus = -1,
        .patience = 1,
        .start = 1,
        .end = End,
        .want_scores = 1,
    };
    const struct attn_hypothesis *got = answers(a, e, &o, w->n, w->ids,
                                                w->start, NULL, 0, found);
    for (int64_t i = 0; i < w->n; i++) {
        assert_int_equal(found[i], 1);
        check_answer(w, i, beam == 1 ? "greedy" : "beam4", &got[i]);
    }
    arena_free(a);
}

static void check_answers(const Way *way)
{
    static Words w;
    Engine e;
    read_words(&w);
    assert_int_equal(w.n, 315);
    open_model(&e, spec, NULL, way);
    check_words(&e, &w, 1);
    check_words(&e, &w, 4);
    engine_close(&e);
    json_decref(w.root);
}

static void test_answers(void **state)
{
    (void)state;
    for (int i = 0; i < AllWays; i++)
        check_answers(&all_ways[i]);
}

/* ---- same bits ---- */

static const struct { /* ways to run the model */
    const char *name;
    EngineOptions options;
    int64_t chunk; /* rows of a decoder call; 0: all */
    bool alone;    /* each sequence for itself */
} ways[] = {
    { "jit, one pass", { .backend = "jit" }, 0, false },
    { "jit, by steps", { .backend = "jit" }, 1, false },
    { "jit, five rows a step", { .backend = "jit" }, 5, false },
    { "jit, alone", { .backend = "jit" }, 0, true },
    { "jit, alone by steps", { .backend = "jit" }, 1, true },
    { "clang", { .backend = "clang" }, 0, false },
    { "clang, by steps", { .backend = "clang" }, 1, false },
    { "clang, alone", { .backend = "clang" }, 0, true },
    { "gcc", { .backend = "gcc" }, 0, false },
    { "clang, tile 6x16",
      { .backend = "clang", .level = "0", .tile = "6x16" },
      0,
      false },
    { "clang, tile 12x32",
      { .backend = "clang", .level = "0", .tile = "12x32" },
      0,
      false },
    { "clang, width 16",
      { .backend = "clang", .level = "0", .width = 16 },
      0,
      false },
    { "clang, width 8",
      { .backend = "clang", .level = "0", .width = 8 },
      0,
      false },
    { "clang, width 4",
      { .backend = "clang", .level = "0", .width = 4 },
      0,
      false },
    { "clang, scalar", { .backend = "clang", .width = 1 }, 0, false },
    { "gcc, scalar, -O0",
      { .backend = "gcc", .width = 1, .level = "0" },
      0,
      false },
};
enum { Ways = sizeof ways / sizeof *ways };

static void run_alone(const Engine *e, const Sample *x, int64_t chunk,
                      float *out)
{
    Trial t = { 0 };
    for (int64_t i = 0; i < x->sequences; i++) {
        const Sample *one = sample_one(e->arena, e->spec, x, i);
        trial_run(&t, e, one, chunk,
                  out + x->start[1][i] * result_columns(e->spec));
    }
    trial_free(&t);
}

static bool can_run(Arena *a, const EngineOptions *o)
{
    Target t;
    Fault why;
    if (strcmp(o->backend, "gcc") == 0 && !find_program(a, "gcc"))
        return false;
    return target_find(&t, "native", o->width, o->tile, &why);
}

static void run_way(Arena *a, int way, const Sample **sample, float **want)
{
    static const int64_t source[] = { 10, 1, 64, 33, 2, 17, 63 },
                         target[] = { 12, 64, 1, 40, 7, 63, 2 };
    EngineOptions o = ways[way].options;
    Engine e;
    o.spec = spec;
    assert_int_equal(engine_open(&e, &o), ExitDone);
    if (!*sample)
        *sample = sample_random(a, e.spec, 7, 7, source, target);
    int64_t size = result_rows(e.spec, *sample) * result_columns(e.spec);
    float *out = nan_block(a, size * (int64_t)sizeof *out);
    if (ways[way].alone) {
        run_alone(&e, *sample, ways[way].chunk, out);
    } else {
        Trial t = { 0 };
        trial_run(&t, &e, *sample, ways[way].chunk, out);
        trial_free(&t);
    }
    engine_close(&e);
    if (!*want)
        *want = out;
    for (int64_t i = 0; i < size; i++)
        if (memcmp(*want + i, out + i, sizeof *out)) {
            print_error("%s: bits differ at %lld: %.9g, %.9g\n", ways[way].name,
                        (long long)i, (double)(*want)[i], (double)out[i]);
            fail();
        }
}

static void test_same_bits(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const Sample *sample = NULL;
    float *want = NULL;
    int ran = 0;
    for (int i = 0; i < Ways; i++) {
        if (!can_run(a, &ways[i].options)) {
            print_message("%s: not on this machine\n", ways[i].name);
            continue;
        }
        run_way(a, i, &sample, &want);
        print_message("%s: the same bits\n", ways[i].name);
        ran++;
    }
    assert_true(ran >= 8);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
