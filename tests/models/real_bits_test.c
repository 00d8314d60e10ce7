/* real_bits_test.c: tests that trained models give the same bits whether their
 * rows come at once, in chunks or one by one, alone or in a batch, by libtcc or
 * by a C compiler; and that streams that read part of an answer with the
 * prompt, or are saved and restored, have the same bits in their caches and
 * logits. Needs the real models next to the repository. */
/* limit: 300 s */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/expected.h"

enum { MostIds = 512, MostCases = 24 };

typedef struct { /* real texts: `source` is a key or NULL */
    const char *name, *list, *source, *target, *more;
} Texts;

static const Texts models[] = {
    { "stories260K", "greedy", NULL, "prompt_ids", "ids" },
    { "gpt-nano-sort", "cases", NULL, "input", "greedy" },
    { "aren-transliteration", "cases", "source_ids", NULL, NULL },
};
enum { Models = sizeof models / sizeof *models };

static const char *file_of(Arena *a, const Texts *m, const char *name)
{
    return arena_printf(a, "%s/%s/%s", data_folder(), m->name, name);
}

/* ---- the texts ---- */

/* Appends the ids of an object's list. */
static void append_ids(const json_t *c, const char *key, int32_t *ids,
                       int32_t *end)
{
    if (key)
        *end += (int32_t)json_ids(json_object_get(c, key), ids + *end, MostIds);
}

/* Reads recorded answers of a translator, whose ids are in `expected`. */
static void append_answer(const json_t *c, int32_t *ids, int32_t *end)
{
    const json_t *e = json_object_get(c, "expected");
    const json_t *first = json_is_array(e) ? json_array_get(e, 0) : e;
    ids[(*end)++] = 1;
    append_ids(first, "ids", ids, end);
}

/* Returns cases, each as a sequence, up to the model's limits. */
static Sample *texts_of(Arena *a, const Texts *m, const Spec *s)
{
    Sample *x = arena_alloc(a, sizeof *x);
    int32_t *ids[2], *start[2];
    json_t *root = json_file(file_of(a, m, "expected.json")), *c;
    size_t i;
    for (int side = 0; side < 2; side++) {
        ids[side] = arena_alloc(a, MostCases * MostIds * sizeof *ids[side]);
        start[side] = arena_alloc(a, (MostCases + 1) * sizeof *start[side]);
        x->start[side] = start[side];
    }
    json_array_foreach(json_object_get(root, m->list), i, c)
    {
        int32_t end[2] = { start[0][i], start[1][i] };
        if (i == MostCases)
            break;
        append_ids(c, m->source, ids[0], &end[0]);
        append_ids(c, m->target, ids[1], &end[1]);
        append_ids(c, m->more, ids[1], &end[1]);
        if (m->source)
            append_answer(c, ids[1], &end[1]);
        int64_t most = start[1][i] + s->side[SideDecoder].max_len;
        start[0][i + 1] = end[0];
        start[1][i + 1] = end[1] < most ? end[1] : (int32_t)most;
    }
    x->sequences = (int64_t)i;
    x->ids[0] = m->source ? ids[0] : NULL;
    x->ids[1] = ids[1];
    json_decref(root);
    return x;
}

/* ---- rows, whole or not ---- */

static const struct {
    int64_t chunk;
    bool alone;
} calls[] = {
    { 0, false },  { 1, false },  { 2, false }, { 7, false }, { 32, false },
    { 64, false }, { 65, false }, { 0, true },  { 1, true },  { 9, true },
};
enum { Calls = sizeof calls / sizeof *calls };

static float *logits_of(Arena *a, const Engine *e, const Sample *x, int call)
{
    int64_t columns = result_columns(e->spec);
    float *out = nan_block(a, result_rows(e->spec, x) * columns
                                  * (int64_t)sizeof *out);
    Trial t = { 0 };
    if (!calls[call].alone)
        trial_run(&t, e, x, calls[call].chunk, out);
    for (int64_t i = 0; calls[call].alone && i < x->sequences; i++)
        trial_run(&t, e, sample_one(a, e->spec, x, i), calls[call].chunk,
                  out + x->start[1][i] * columns);
    trial_free(&t);
    return out;
}

/* Checks both compilers; fused and unfused code have different bits. */
static void check_calls(const Texts *m, bool unfused, const char *weights)
{
    Arena *a = arena_new();
    float *want = NULL;
    for (int way = 0; way < AllWays; way++) {
        Engine e;
        if (all_ways[way].unfused != unfused)
            continue;
        open_model(&e, arena_printf(a, "models/%s.yaml", m->name), weights,
                   &all_ways[way]);
        const Sample *x = texts_of(a, m, e.spec);
        size_t bytes = (size_t)(result_rows(e.spec, x) * result_columns(e.spec))
                     * sizeof *want;
        assert_true(x->sequences >= 8);
        for (int call = 0; call < Calls; call++) {
            float *got = logits_of(a, &e, x, call);
            want = want ? want : got;
            if (memcmp(got, want, bytes))
                fail_msg("%s, %s, chunks of %lld%s: other bits", m->name,
                         all_ways[way].name, (long long)calls[call].chunk,
                         calls[call].alone ? ", alone" : "");
        }
        engine_close(&e);
    }
    arena_free(a);
}

/* ---- streams ---- */

enum { Answer = 100 }; /* tokens that a stream generates */

typedef struct {
    const Engine *e;
    Arena *a;
    struct attn_search_options o;
    const int32_t *ids;
    int64_t n; /* of the prompt */
} Talk;

static int64_t room(const Talk *t)
{
    return attn_min(t->n + Answer + 1, t->e->backend.model->max_target + 1);
}

static void open_empty(const Talk *t, struct attn_stream *s)
{
    const struct attn_model *m = t->e->backend.model;
    int64_t bytes = attn_stream_bytes(m, &t->o, 0, room(t), 1);
    assert_int_equal(attn_stream_empty(s,
                                       &(struct attn_stream_request){
                                           .model = m,
                                           .bound = t->e->bound,
                                           .o = &t->o,
                                           .tokens = room(t),
                                           .streams = 1,
                                           .memory = nan_block(t->a, bytes),
                                           .bytes = bytes,
                                       },
                                       0),
                     0);
}

static char *state_of(const Talk *t, const struct attn_stream *s,
                      int64_t *bytes)
{
    *bytes = attn_state_bytes(s);
    char *state = nan_block(t->a, *bytes);
    assert_int_equal(attn_state_save(s, 5, state, *bytes), *bytes);
    return state;
}

static void go_on(struct attn_stream *s, int64_t n)
{
    for (int64_t i = 0; i < n && attn_stream_next(s) >= 0; i++)
        ;
}

/* Compares tokens, caches and the last logits. */
static void assert_same(const Talk *t, const struct attn_stream *x,
                        const struct attn_stream *y)
{
    int64_t n, m;
    const char *p = state_of(t, x, &n), *q = state_of(t, y, &m);
    assert_int_equal(n, m);
    assert_memory_equal(p, q, (size_t)n);
    assert_memory_equal(x->room->logits, y->room->logits,
                        (size_t)t->e->spec->target.size * sizeof(float));
}

/* Opens a stream on the prompt and `cut` further tokens, read together. */
static void check_prefill(const Talk *t, const struct attn_stream *whole,
                          int64_t cut)
{
    struct attn_stream s;
    open_empty(t, &s);
    assert_int_equal(attn_stream_feed(&s, whole->tokens, t->n + cut), 0);
    go_on(&s, Answer - cut);
    s.lead = whole->lead; /* what alone differs */
    assert_same(t, whole, &s);
}

/* Saves a stream after `cut` tokens and restores it in other memory. */
static void check_state(const Talk *t, const struct attn_stream *whole,
                        int64_t cut)
{
    const struct attn_model *m = t->e->backend.model;
    struct attn_stream s, again;
    int64_t bytes, room_bytes = attn_stream_bytes(m, &t->o, 0, room(t), 1);
    open_empty(t, &s);
    assert_int_equal(attn_stream_feed(&s, t->ids, t->n), 0);
    go_on(&s, cut);
    const char *state = state_of(t, &s, &bytes);
    assert_int_equal(attn_state_restore(&again,
                                        &(struct attn_restore_request){
                                            .model = m,
                                            .bound = t->e->bound,
                                            .o = &t->o,
                                            .weights = 5,
                                            .state = state,
                                            .bytes = bytes,
                                            .tokens = room(t),
                                            .streams = 1,
                                            .memory = nan_block(t->a,
                                                                room_bytes),
                                            .memory_bytes = room_bytes,
                                        }),
                     0);
    go_on(&again, Answer - cut);
    assert_same(t, whole, &again);
}

/* Tests each text's first half as a prompt, with its answer cut at eight
 * positions. */
static void check_streams(const Engine *e, const Sample *x)
{
    for (int64_t i = 0; i < x->sequences; i++) {
        int64_t rows = x->start[1][i + 1] - x->start[1][i];
        Talk t = { .e = e,
                   .a = arena_new(),
                   .ids = x->ids[1] + x->start[1][i],
                   .n = attn_min(rows / 2 + 1, 70),
                   .o = { .beam = 1,
                          .results = 1,
                          .max_output_plus = -1,
                          .patience = 1,
                          .start = -1,
                          .end = -1 } };
        struct attn_stream whole;
        open_empty(&t, &whole);
        assert_int_equal(attn_stream_feed(&whole, t.ids, t.n), 0);
        go_on(&whole, Answer);
        assert_true(whole.n > t.n);
        for (int k = 0; k < 8; k++) {
            int64_t cut = (whole.n - t.n) * k / 8;
            check_prefill(&t, &whole, cut);
            check_state(&t, &whole, cut);
        }
        arena_free(t.a);
    }
}

/* ---- tests ---- */

/* Returns the weights of a model, or NULL if they are not installed. */
static const char *weights_of(Arena *a, const Texts *m)
{
    const char *path = file_of(a, m, "model.safetensors");
    if (access(path, R_OK) == 0)
        return path;
    print_message("%s is not here\n", path);
    return NULL;
}

static void test_calls(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int checked = 0;
    for (int i = 0; i < Models; i++) {
        const char *weights = weights_of(a, &models[i]);
        for (int unfused = 0; weights && unfused < 2; unfused++, checked++)
            check_calls(&models[i], unfused, weights);
    }
    arena_free(a);
    if (!checked)
        SKIP("none of the models is in %s", data_folder());
}

static void test_streams(void **state)
{
    (void)state;
    Arena *a = arena_new();
    int checked = 0;
    for (int i = 0; i < Models; i++) {
        const char *weights = weights_of(a, &models[i]);
        for (int k = 0; k < AllWays && weights && !models[i].source; k++) {
            Engine e;
            open_model(&e, arena_printf(a, "models/%s.yaml", models[i].name),
                       weights, &all_ways[k]);
            check_streams(&e, texts_of(a, &models[i], e.spec));
            engine_close(&e);
            checked++;
        }
    }
    arena_free(a);
    if (!checked)
        SKIP("none of the models is in %s", data_folder());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
