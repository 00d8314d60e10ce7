/* windows_test.c: tests layers with shorter windows or other sizes of keys.
 * They have separate caches, whose pages are freed when no later row reads
 * them: the bits are the same as with all pages kept, in less memory. */
/* limit: 300 s */
#define _GNU_SOURCE
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/scratch.h"

enum { Tokens = 600 };
#include "support/talk.h"

#define HEAD(name)                                                            \
    "attnc: 1\nname: " name "\nkind: decoder\nd_model: 16\nh: 2\nd_k: 8\n"     \
    "d_v: 8\nd_ff: 24\nmax_len: 700\nvocab: {size: 40}\n"

static const char windows[] = HEAD(
    "windows") "N: 5\npositions: {type: rotary}\nmasking: causal\n"
               "layers: [{masking: [causal, {window: 70}]}, {h_kv: 1, d_v: 5},\n"
               "         {masking: [causal, {block: 96}], d_k: 4}, {},\n"
               "         {masking: [causal, {window: 70}]}]\n";

static const char recurrent[] = HEAD(
    "recurrent") "N: 2\npositions: none\n"
                 "layers: [{mix: {type: recurrent, cell: lstm}},\n"
                 "         {mix: {type: convolution, kernel: 3}}]\n";

enum { Window = 70 };

static void open_text(Engine *e, const char *text, int way)
{
    static const char *const all[] = { "all" };
    const char *path = scratch_file("m.yaml", text, strlen(text));
    EngineOptions o = { .spec = path,
                        .seed = 3,
                        .backend = all_ways[way].backend,
                        .passes = { .skip = all,
                                    .nskip = all_ways[way].unfused } };
    assert_int_equal(engine_open(e, &o), ExitDone);
}

static void open_way(Engine *e, int way)
{
    open_text(e, windows, way);
}

/* Returns the same model with caches that keep all pages. */
static const struct attn_model *keeping(Arena *a, const struct attn_model *m)
{
    struct attn_model *all = arena_alloc(a, sizeof *all);
    *all = *m;
    for (int64_t c = 0; c < all->caches; c++)
        all->cache[c].window = 0;
    return all;
}

/* Models: window 70 in two layers; h_kv 1; block 96; and the cross cache of a
 * model without a window. */
static void test_caches(void **state)
{
    (void)state;
    Engine e;
    open_way(&e, 0);
    const struct attn_cache_layout *c = e.backend.model->cache;
    static const struct attn_cache_layout want[] = {
        { ATTN_SELF, 64 * 4 * 24 * 4, 0, 4, 8, 1, Window, 0 },
        { ATTN_CROSS, 0, 0, 0, 0, 0, 0, 0 },
        { ATTN_SELF, 64 * 1 * 24 * 4, 0, 1, 8, 1, 0, 0 },
        { ATTN_SELF, 64 * 2 * 20 * 4, 0, 2, 4, 1, 96, 0 },
        { ATTN_SELF, 64 * 2 * 24 * 4, 0, 2, 8, 1, 0, 0 },
    };
    assert_int_equal(e.backend.model->caches, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(c[i].of, want[i].of);
        assert_int_equal(c[i].page_bytes, want[i].page_bytes);
        assert_int_equal(c[i].blocks, want[i].blocks);
        assert_int_equal(c[i].d_k, want[i].d_k);
        assert_int_equal(c[i].v_panels, want[i].v_panels);
        assert_int_equal(c[i].window, want[i].window);
        assert_int_equal(c[i].states, want[i].states);
    }
    engine_close(&e);
}

/* Checks rows at once, in chunks, and one by one; fused and unfused. */
static void test_rows(void **state)
{
    (void)state;
    static const int64_t chunks[] = { 0, 1, 63, 64, 65, 200 };
    const size_t bytes = (size_t)(Tokens + 90) * 40 * sizeof(float);
    Arena *a = arena_new();
    const int32_t start[2][3] = { { 0, 0, 0 }, { 0, Tokens, Tokens + 90 } };
    const Sample x = { .sequences = 2,
                       .start = { start[0], start[1] },
                       .ids = { NULL, some_ids(a, Tokens + 90) } };
    float *want[2] = { NULL, NULL };
    for (int way = 0; way < AllWays; way++) {
        float **w = &want[all_ways[way].unfused];
        Engine e;
        open_way(&e, way);
        for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
            float *got = nan_block(a, (int64_t)bytes);
            Trial t = { 0 };
            trial_run(&t, &e, &x, chunks[i], got);
            trial_free(&t);
            *w = *w ? *w : got;
            if (memcmp(got, *w, bytes))
                fail_msg("%s, chunks of %lld: other bits", all_ways[way].name,
                         (long long)chunks[i]);
        }
        engine_close(&e);
    }
    for (size_t i = 0; i < bytes / sizeof **want; i++)
        assert_float_equal(want[0][i], want[1][i], 1e-4);
    arena_free(a);
}

/* ---- streams ---- */

/* Tests prompts on both sides of a window and of a chunk; forked, read again,
 * saved: the tokens equal those of a model that keeps all pages. */
static void check_stream(const Engine *all, const Engine *e, int64_t prompt)
{
    Talk x, y;
    struct attn_stream whole, s, fork;
    open_talk(&x, all);
    open_talk(&y, e);
    open_stream(&x, &whole, prompt);
    go_on(&whole, Tokens);
    open_stream(&y, &s, prompt);
    go_on(&s, prompt + 20);
    assert_int_equal(attn_stream_fork(&fork, &s, 1), 0);
    go_on(&s, prompt + 30); /* together with the fork */
    go_on(&fork, prompt + 60);
    assert_int_equal(attn_stream_feed(&fork, NULL, 0), 0);
    save_and_restore(&y, &fork);
    go_on(&fork, Tokens);
    assert_memory_equal(fork.tokens, whole.tokens, Tokens * sizeof *s.tokens);
    assert_memory_equal(fork.room->logits, whole.room->logits,
                        40 * sizeof(float));
    arena_free(x.a);
    arena_free(y.a);
}

static void test_streams(void **state)
{
    (void)state;
    static const int64_t prompts[] = { 1, 69, 70, 71, 128, 129, 200, 500 };
    Arena *a = arena_new();
    Engine e;
    open_way(&e, 0);
    Engine all = e;
    all.backend.model = keeping(a, e.backend.model);
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++)
        check_stream(&all, &e, prompts[i]);
    engine_close(&e);
    arena_free(a);
}

/* Tests that a cache with a window has only the pages of the window and of a
 * chunk, and that a saved state has only rows that a later row may read. */
static void test_memory(void **state)
{
    (void)state;
    Talk t;
    Engine e;
    struct attn_stream s;
    open_way(&e, 0);
    open_talk(&t, &e);
    open_stream(&t, &s, 300);
    const struct attn_cache *c = &s.room->self;
    assert_int_equal(attn_cache_rows(e.backend.model), 128);
    assert_int_equal(c->groups, 4);
    assert_int_equal(c->group[0].pages, 2 * 5);  /* of 70 + 128 positions */
    assert_int_equal(c->group[1].pages, 2 * 10); /* of 600 */
    assert_int_equal(c->group[2].pages, 2 * 5);  /* of 96 + 128 */
    go_on(&s, 590);
    assert_true(c->group[0].pages - c->group[0].free_count <= 3);
    assert_int_equal(c->group[1].pages - c->group[1].free_count, 10);
    const int64_t bytes = attn_state_bytes(&s);
    Engine all = e;
    all.backend.model = keeping(t.a, e.backend.model);
    s.model = all.backend.model;
    for (int i = 0; i < 4; i++)
        s.room->self.group[i].is.window = 0;
    assert_true(bytes < attn_state_bytes(&s) * 2 / 3);
    engine_close(&e);
    arena_free(t.a);
}

/* Tests that caches of recurrent layers and convolutions keep two rows, for any
 * number of tokens. */
static void test_states(void **state)
{
    (void)state;
    Talk t;
    Engine e;
    struct attn_stream s;
    open_text(&e, recurrent, 0);
    open_talk(&t, &e);
    open_stream(&t, &s, 300);
    assert_int_equal(s.room->self.groups, 1);
    assert_int_equal(s.room->self.group[0].is.blocks, 0);
    assert_int_equal(s.room->self.group[0].pages, 2 * 4); /* of 2 + 128 */
    Engine all = e;
    all.backend.model = keeping(t.a, e.backend.model);
    check_stream(&all, &e, 1);
    check_stream(&all, &e, 200);
    engine_close(&e);
    arena_free(t.a);
}

/* ---- search ---- */

/* Tests three sentences, one of which is read in chunks. */
static void test_search(void **state)
{
    (void)state;
    Arena *a = arena_new();
    const int32_t start[] = { 0, 300, 305, 400 };
    const int32_t *ids = some_ids(a, 400);
    int64_t found[2][3];
    Engine e;
    open_way(&e, 0);
    Engine all = e;
    all.backend.model = keeping(a, e.backend.model);
    for (int beam = 1; beam <= 3; beam += 2) {
        const struct attn_search_options o = { .beam = beam,
                                               .results = 1,
                                               .max_output = 200,
                                               .max_output_plus = -1,
                                               .patience = 1,
                                               .want_scores = 1,
                                               .start = -1,
                                               .end = -1 };
        const struct attn_hypothesis *x = answers(a, &e, &o, 3, ids, start,
                                                  NULL, 0, found[0]);
        const struct attn_hypothesis *y = answers(a, &all, &o, 3, ids, start,
                                                  NULL, 0, found[1]);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(x[i].n, 200);
            assert_int_equal(y[i].n, 200);
            assert_memory_equal(x[i].tokens, y[i].tokens,
                                200 * sizeof *x[i].tokens);
            assert_true(x[i].log_probability == y[i].log_probability);
        }
        assert_true(attn_search_bytes(e.backend.model, &o, 3, 400, 300)
                    < attn_search_bytes(all.backend.model, &o, 3, 400, 300));
    }
    engine_close(&e);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caches),  cmocka_unit_test(test_rows),
        cmocka_unit_test(test_streams), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_states),  cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
