/* stream_test.c: tests streams: the tokens of the search one by one; forks that
 * share pages; saved and restored streams that continue with the same bits;
 * states that are cut, altered or of another model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_case.h"
#include "support/stream_lab.h"

static int64_t run(struct attn_stream *s, int32_t *out, int64_t n)
{
    int64_t token, count = 0;
    while (count < n && (token = attn_stream_next(s)) >= 0)
        out[count++] = (int32_t)token;
    return count;
}

/* ---- as the search does ---- */

static void test_is_the_search(void **unused)
{
    (void)unused;
    static const int32_t unwritten[] = { 1, 0 }, ends[] = { 5, 17 };
    int wrong = 0;
    Case *c = malloc(sizeof *c);
    for (uint32_t seed = 0; seed < 60; seed++) {
        Lab l;
        int32_t got[256];
        int64_t kind = seed % 2 ? ATTN_DECODER : ATTN_ENCODER_DECODER;
        lab_make(&l, kind, seed);
        case_make(c, kind, 40, seed, 1, 0);
        c->o.max_output = 100;
        c->o.process.repetition_penalty = seed % 3 ? 0.0f : 1.3f;
        c->o.sampling.temperature = seed % 5 < 2 ? 0.0f : 0.9f;
        c->o.sampling.top_k = seed % 7;
        c->o.sampling.seed = seed;
        c->o.process.forbid = unwritten;
        c->o.process.forbid_count = seed / 2 % 3;
        c->o.process.suppress_first = unwritten;
        c->o.process.suppress_first_count = seed / 3 % 3;
        c->o.ends = ends;
        c->o.ends_count = seed / 4 % 3;
        c->prefix_n = seed / 5 % 3;
        c->prefix[0] = 7;
        c->prefix[1] = 2; /* does not end the answer if forced */
        l.o = case_options(c);
        l.f.nan_every = c->f.nan_every = seed % 4 ? 0 : 200;
        l.f.never_every = c->f.never_every = (int)(seed % 3) * 5;
        int64_t n = 1 + seed * 3;
        memcpy(c->ids, l.ids, (size_t)n * sizeof *c->ids);
        c->start[1] = (int32_t)n;
        assert_int_equal(case_run(c), 0);
        lab_open(&l, n, 1);
        int64_t count = run(&l.s, got, 100);
        if (c->found[0] == ATTN_ERROR_FINITE) {
            assert_int_equal(attn_stream_next(&l.s), ATTN_ERROR_FINITE);
            wrong++;
            free(c->memory);
            free(l.memory);
            continue;
        }
        assert_int_equal(count, c->out[0].n);
        assert_memory_equal(got, c->out[0].tokens, (size_t)count * 4);
        assert_int_equal(l.s.ended, c->out[0].ended);
        free(c->memory);
        free(l.memory);
    }
    assert_true(wrong > 1 && wrong < 30);
    free(c);
}

/* Tests streams up to the last position, and tokens and lengths that do not
 * fit. */
static void test_limits(void **unused)
{
    (void)unused;
    Lab l;
    int32_t got[512];
    const int32_t bad[] = { 40 }, stop[] = { 3, 5, 8, 9, 11 };
    lab_make(&l, ATTN_DECODER, 4);
    l.f.end_bias = -100.0f;
    lab_open(&l, 250, 1); /* and the start token */
    assert_int_equal(attn_stream_feed(&l.s, bad, 1), ATTN_ERROR_ID);
    assert_int_equal(attn_stream_feed(&l.s, l.ids, 51), ATTN_ERROR_ROOM);
    assert_int_equal(run(&l.s, got, 512), 50);
    assert_int_equal(attn_stream_next(&l.s), ATTN_STREAM_FULL);
    assert_int_equal(l.s.n, 301);
    free(l.memory);

    lab_open(&l, 3, 1);
    l.s.stop = stop;
    l.s.stops = 5;
    int64_t n = run(&l.s, got, 512);
    assert_true(n < 290 && l.s.ended);
    assert_int_equal(attn_stream_next(&l.s), ATTN_STREAM_END);
    assert_int_equal(attn_stream_feed(&l.s, l.ids, 1), 0);
    assert_true(attn_stream_next(&l.s) >= ATTN_STREAM_END);
    free(l.memory);

    l.o.sampling.temperature = -1.0f;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_OPTION);
    l.o.sampling.temperature = NAN;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_OPTION);
    l.o.sampling.temperature = 0.0f;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 302, 1),
                     ATTN_ERROR_LENGTH);
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 0),
                     ATTN_ERROR_COUNT);
    assert_true(attn_stream_bytes(&l.f.model, &l.o, 0, 301, 1) > 0);
}

/* ---- forks ---- */

static int64_t pages_used(const struct attn_stream *s)
{
    return s->room->self.group[0].pages - s->room->self.group[0].free_count;
}

/* 200 tokens are 3 full pages, which 8 streams share, and a partly filled one,
 * which each stream that continues copies. */
static void test_forks(void **unused)
{
    (void)unused;
    enum { Forks = 8 };
    Lab l;
    struct attn_stream fork[Forks];
    int32_t got[Forks][40], alone[40];
    lab_make(&l, ATTN_DECODER, 9);
    l.f.end_bias = -100.0f;
    l.o.sampling.temperature = 1.0f;
    lab_open(&l, 200, Forks);
    fork[0] = l.s;
    for (int i = 1; i < Forks; i++)
        assert_int_equal(attn_stream_fork(&fork[i], &fork[0], i), 0);
    assert_int_equal(pages_used(&l.s), 4);
    for (int step = 0; step < 40; step++)
        for (int i = 0; i < Forks; i++) {
            fork[i].o.sampling.seed = i;
            got[i][step] = (int32_t)attn_stream_next(&fork[i]);
        }
    assert_int_equal(pages_used(&l.s), 3 + Forks);
    free(l.memory);
    for (int i = 0; i < Forks; i++) {
        l.o.sampling.seed = i;
        lab_open(&l, 200, 1);
        assert_int_equal(run(&l.s, alone, 40), 40);
        assert_memory_equal(alone, got[i], sizeof alone);
        free(l.memory);
    }
    assert_memory_not_equal(got[0], got[1], sizeof got[0]);
}

/* Tests that a fork of a stream that has ended returns the same choice. */
static void test_forks_of_the_end(void **unused)
{
    (void)unused;
    Lab l;
    struct attn_stream fork;
    int32_t got[300];
    lab_make(&l, ATTN_DECODER, 2);
    l.f.end_bias = 2.0f;
    lab_open(&l, 63, 2);
    run(&l.s, got, 200);
    assert_true(l.s.ended);
    assert_int_equal(attn_stream_fork(&fork, &l.s, 1), 0);
    fork.ended = 0;
    assert_int_equal(attn_stream_next(&fork), ATTN_STREAM_END);
    fork.ended = 0;
    fork.o.end = -1;
    assert_int_equal(attn_stream_next(&fork), l.f.end);
    assert_int_equal(attn_stream_fork(&fork, &l.s, 2), ATTN_ERROR_OPEN);
    assert_int_equal(attn_stream_fork(&fork, &l.s, 0), ATTN_ERROR_OPEN);
    free(l.memory);
}

/* ---- state ---- */

static int restore(Lab *l, struct attn_stream *s, const char *state,
                   int64_t bytes, void **memory)
{
    const struct attn_state_header *h = (const void *)state;
    int64_t need = attn_stream_bytes(&l->f.model, &l->o, h->source_rows, Most,
                                     1);
    *memory = nan_memory(need);
    return attn_state_restore(s, &(struct attn_restore_request){
                                     .model = &l->f.model,
                                     .bound = &l->f,
                                     .o = &l->o,
                                     .weights = 5,
                                     .state = state,
                                     .bytes = bytes,
                                     .tokens = Most,
                                     .streams = 1,
                                     .memory = *memory,
                                     .memory_bytes = need,
                                 });
}

/* Tests that a stream saved after any number of tokens continues identically.
 */
static void test_goes_on(void **unused)
{
    (void)unused;
    for (int64_t cut = 0; cut < 140; cut += 1 + cut % 5) {
        Lab l;
        struct attn_stream s;
        int32_t whole[150], rest[150];
        int64_t bytes, again;
        void *memory;
        lab_make(&l, cut % 2 ? ATTN_DECODER : ATTN_ENCODER_DECODER, 9);
        l.f.end_bias = -100.0f;
        l.o.sampling = (struct attn_sampling){ .temperature = 0.8f,
                                               .top_p = 0.9f,
                                               .seed = 3 };
        lab_open(&l, 70, 1);
        assert_int_equal(run(&l.s, whole, cut), cut);
        char *state = save(&l.s, &bytes);
        assert_null(attn_state_check(&l.f.model, 5, state, bytes));
        assert_int_equal(run(&l.s, whole + cut, 150 - cut), 150 - cut);
        free(l.memory);

        assert_int_equal(restore(&l, &s, state, bytes, &memory), 0);
        char *twice = save(&s, &again);
        assert_int_equal(again, bytes);
        assert_memory_equal(twice, state, (size_t)bytes);
        assert_int_equal(run(&s, rest, 150 - cut), 150 - cut);
        assert_memory_equal(rest, whole + cut, (size_t)(150 - cut) * 4);
        free(twice);
        free(state);
        free(memory);
    }
}

static void assert_wrong(const Lab *l, uint64_t weights, const char *state,
                         int64_t bytes, const char *word)
{
    const char *wrong = attn_state_check(&l->f.model, weights, state, bytes);
    assert_non_null(wrong);
    if (!strstr(wrong, word))
        fail_msg("'%s' is not in: %s", word, wrong);
}

static void test_refuses_states(void **unused)
{
    (void)unused;
    Lab l;
    struct attn_stream s;
    int64_t bytes;
    void *memory;
    lab_make(&l, ATTN_ENCODER_DECODER, 1);
    lab_open(&l, 5, 1);
    attn_stream_next(&l.s);
    char *state = save(&l.s, &bytes);
    struct attn_state_header *h = (void *)state;
    for (int64_t i = 0; i < bytes; i++) { /* every byte, every bit */
        state[i] = (char)(state[i] ^ 1 << i % 8);
        assert_non_null(attn_state_check(&l.f.model, 5, state, bytes));
        state[i] = (char)(state[i] ^ 1 << i % 8);
    }
    for (int64_t n = 0; n < bytes; n++) {
        char *cut = malloc((size_t)n + 1);
        memcpy(cut, state, (size_t)n);
        assert_wrong(&l, 5, cut, n, n < 8 ? "not a saved" : "cut short");
        free(cut);
    }
    assert_wrong(&l, 6, state, bytes, "with other weights");
    l.f.model.cache[0].d_k++;
    assert_wrong(&l, 5, state, bytes, "another model");
    l.f.model.cache[0].d_k--;
    l.f.model.spec_hash++;
    assert_wrong(&l, 5, state, bytes, "another model");
    l.f.model.spec_hash--;
    state[h->bytes - 1] ^= 1;
    assert_wrong(&l, 5, state, bytes, "not what was saved");
    state[h->bytes - 1] ^= 1;
    assert_null(attn_state_check(&l.f.model, 5, state, bytes));
    l.f.model.target_vocab--; /* the sizes are hashed */
    assert_int_equal(restore(&l, &s, state, bytes, &memory), ATTN_ERROR_STATE);
    free(memory);
    free(l.memory);
    free(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_search),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_forks_of_the_end),
        cmocka_unit_test(test_goes_on),
        cmocka_unit_test(test_refuses_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
