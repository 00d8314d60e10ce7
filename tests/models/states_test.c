/* states_test.c: tests the states of convolutions and recurrent layers: forked,
 * in streams and by beam search, restored and saved, they have the bits of a
 * sequence that was never shared. */
#define _GNU_SOURCE
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/answers.h"
#include "support/scratch.h"

enum { Tokens = 200 };
#include "support/talk.h"

#define HEAD(kind)                                                            \
    "attnc: 1\nname: states\nkind: " kind "\nd_model: 16\nd_ff: 24\nN: 3\n"    \
    "max_len: 200\npositions: none\n"                                         \
    "vocab: {size: 40, tokens: {start: 1, end: 2}}\n"

static const char *const decoders[] = {
    HEAD("decoder") "mix: {type: convolution, kernel: 5, dilation: 2}\n",
    HEAD("decoder") "mix: {type: convolution, kernel: 4, depthwise: true}\n",
    HEAD("decoder") "mix: {type: convolution, kernel: 67, depthwise: true}\n",
    HEAD("decoder") "mix: {type: convolution, kernel: 3, gated: true,\n"
                    "      inner: 24}\n",
    HEAD("decoder") "h: 2\nlayers: [{mix: {type: convolution, kernel: 70}},\n"
                    "  {masking: [causal, {window: 9}]},\n"
                    "  {mix: {type: recurrent, cell: gru}}]\n",
};

static const char *const translators[] = {
    HEAD("encoder-decoder") "h: 2\nlayers: {decoder: [{mix: {type: convolution,"
                            " kernel: 3}}]}\n",
    HEAD("encoder-decoder") "h: 2\nlayers: {decoder: [{mix: {type: recurrent, "
                            "cell: lstm}}, {mix: {type: convolution, "
                            "kernel: 6, depthwise: true}}, {}]}\n",
};

static void open_text(Engine *e, const char *text, const char *backend)
{
    const char *path = scratch_file("m.yaml", text, strlen(text));
    const EngineOptions o = { .spec = path, .seed = 5, .backend = backend };
    assert_int_equal(engine_open(e, &o), ExitDone);
}

/* ---- streams ---- */

static void feed(struct attn_stream *s, const int32_t *ids, int64_t n)
{
    assert_int_equal(attn_stream_feed(s, ids, n), 0);
}

/* Checks that both streams read the same tokens, and generate the same one. */
static void assert_same(struct attn_stream *a, struct attn_stream *b)
{
    float logits[40];
    go_on(a, a->n + 1);
    memcpy(logits, a->room->logits, sizeof logits);
    go_on(b, b->n + 1);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(logits, b->room->logits, sizeof logits);
}

/* Checks two continuations of a prompt, one in a fork, which is also saved,
 * against each in a separate stream. */
static void check_fork(const Engine *e, int64_t prompt, int64_t more)
{
    Talk shared, alone[2];
    struct attn_stream s, fork, own[2];
    open_talk(&shared, e);
    const int32_t *ids = some_ids(shared.a, 2 * more + 8);
    open_stream(&shared, &s, prompt);
    for (int i = 0; i < 2; i++) {
        open_talk(&alone[i], e);
        open_stream(&alone[i], &own[i], prompt);
        go_on(&own[i], prompt + 1);
        feed(&own[i], ids + i * more, more);
    }
    go_on(&s, prompt + 1);
    assert_int_equal(attn_stream_fork(&fork, &s, 1), 0);
    feed(&s, ids, more);
    feed(&fork, ids + more, more);
    assert_same(&s, &own[0]);
    assert_same(&fork, &own[1]);
    save_and_restore(&shared, &fork);
    for (int i = 0; i < 3; i++)
        assert_same(&fork, &own[1]);
    feed(&fork, ids + 2 * more, 8);
    feed(&own[1], ids + 2 * more, 8);
    assert_same(&fork, &own[1]);
    assert_same(&s, &own[0]);
    for (int i = 0; i < 2; i++)
        arena_free(alone[i].a);
    arena_free(shared.a);
}

static void test_forks(void **state)
{
    (void)state;
    static const int64_t prompts[] = { 1, 2, 3, 8, 63, 64, 65, 100 };
    for (size_t d = 0; d < sizeof decoders / sizeof *decoders; d++) {
        Engine e;
        open_text(&e, decoders[d], "jit");
        for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) {
            check_fork(&e, prompts[i], 1);
            check_fork(&e, prompts[i], 7);
        }
        engine_close(&e);
    }
}

/* ---- search ---- */

/* Checks that an answer's probability, computed in one call, equals that of the
 * search, which forked and reordered hypotheses at each step. */
static void check_answer(Arena *a, const Engine *e,
                         const struct attn_search_options *o,
                         const int32_t *ids, int64_t n,
                         const struct attn_hypothesis *h)
{
    const int64_t all = h->n;
    float *each = arena_alloc(a, (size_t)all * sizeof *each);
    float sum = 0;
    const struct attn_score_pair pair = {
        .source = ids, .source_n = n, .target = h->tokens, .target_n = all
    };
    struct attn_score_request r = { .model = e->backend.model,
                                    .bound = e->bound,
                                    .start = o->start,
                                    .pair = &pair,
                                    .pairs = 1,
                                    .log_probability = each };
    r.bytes = attn_score_bytes(&r);
    r.memory = nan_block(a, r.bytes);
    assert_int_equal(attn_score_pairs(&r), 0);
    for (int64_t i = 0; i < all; i++)
        sum += each[i];
    assert_true(sum == h->log_probability);
}

/* True if two answers share their first tokens and then differ. */
static bool are_forks(const struct attn_hypothesis *h, int64_t n)
{
    bool found = false;
    for (int64_t i = 1; i < n; i++)
        found |= h[i].n > 1 && h[0].n > 1 && h[i].tokens[0] == h[0].tokens[0];
    return found;
}

static void check_search(const Engine *e, int32_t first)
{
    static const int32_t start[] = { 0, 5, 70, 71 };
    const struct attn_search_options o = { .beam = 5,
                                           .results = 5,
                                           .max_output = 40,
                                           .max_output_plus = -1,
                                           .patience = 1,
                                           .want_scores = 1,
                                           .start = first,
                                           .end = -1 };
    Arena *a = arena_new();
    const int32_t *ids = some_ids(a, 71);
    int64_t found[3];
    bool forks = false;
    const struct attn_hypothesis *h = answers(a, e, &o, 3, ids, start, NULL, 0,
                                              found);
    for (int s = 0; s < 3; s++) {
        assert_int_equal(found[s], 5);
        for (int i = 0; i < 5; i++)
            check_answer(a, e, &o, ids + start[s], start[s + 1] - start[s],
                         &h[5 * s + i]);
        forks |= are_forks(h + 5 * s, 5);
    }
    assert_true(forks);
    arena_free(a);
}

static void test_beams(void **state)
{
    (void)state;
    Engine e;
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++) {
        open_text(&e, decoders[i], "jit");
        check_search(&e, -1);
        engine_close(&e);
    }
    for (size_t i = 0; i < sizeof translators / sizeof *translators; i++) {
        open_text(&e, translators[i], "jit");
        check_search(&e, 1);
        engine_close(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_beams),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
