/* draft_test.c: tests streams with a draft beside the same streams without one:
 * after each call both have returned the same and have the same saved state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/stream_lab.h"

enum { Large = 1 << 30 }; /* weights: a row more costs little */

static int32_t random_below(uint64_t *state, int64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((int64_t)(*state >> 33) % n);
}

typedef struct { /* the same streams with a draft and without */
    Lab plain, draft;
    Fake small; /* the drafter's model */
    struct attn_drafter by;
    struct attn_stream other[2]; /* forks in slot 1: plain, draft */
    int forked;
    int64_t calls[2];
} Pair;

static void assert_same_state(const struct attn_stream *a,
                              const struct attn_stream *b)
{
    int64_t n, m;
    char *x = save(a, &n), *y = save(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, (size_t)n);
    free(x);
    free(y);
}

/* Sets options that draw, penalise, forbid and end. */
static void pair_options(struct attn_search_options *o, uint64_t *s)
{
    static const int32_t unwritten[] = { 1, 0 }, ends[] = { 5, 17 },
                         prefix[] = { 7, 2 }, suppress[] = { 2, 3, 4, 1, 9 };
    *o = options(1);
    o->process.repetition_penalty = random_below(s, 3) ? 0.0f : 1.3f;
    o->process.no_repeat_ngram = random_below(s, 4) ? 0 : 5;
    o->process.min_length = random_below(s, 20);
    o->process.forbid = unwritten;
    o->process.forbid_count = random_below(s, 3);
    o->process.suppress_first = unwritten;
    o->process.suppress_first_count = random_below(s, 3);
    o->process.suppress = suppress;
    o->process.suppress_size = random_below(s, 2) ? 0 : 5;
    o->ends = ends;
    o->ends_count = random_below(s, 3);
    o->prefix = prefix;
    o->prefix_n = random_below(s, 3);
    o->sampling.temperature = random_below(s, 2) ? 0.0f : 0.9f;
    o->sampling.top_k = random_below(s, 7);
    o->sampling.seed = random_below(s, 1000);
}

/* Lets a model propose: the same one, or one that often chooses otherwise. */
static void pair_drafter(Pair *p, uint32_t seed, uint64_t *s)
{
    const int64_t most[] = { Most, 2 * ATTN_PAGE, 30 };
    fake_make(&p->small, p->plain.f.model.kind, 40,
              seed + (random_below(s, 3) == 0));
    p->small.model.source_vocab = p->plain.f.model.source_vocab;
    p->small.habit = p->plain.f.habit;
    p->small.nan_every = random_below(s, 5) ? 0 : 500;
    p->small.model.max_target = most[random_below(s, 3)];
    if (random_below(s, 4) == 0)
        p->small.model.max_source = 100; /* shorter than some sources */
    p->small.model.weights_bytes = 1;
    p->by = (struct attn_drafter){ &p->small.model, &p->small };
    p->draft.o.draft = ATTN_DRAFT_MODEL;
    p->draft.o.drafter = &p->by;
}

static void pair_make(Pair *p, uint32_t seed, uint64_t *s)
{
    const int64_t kind = seed % 2 ? ATTN_DECODER : ATTN_ENCODER_DECODER;
    memset(p, 0, sizeof *p);
    lab_make(&p->plain, kind, seed);
    if (seed % 3 == 0)
        p->plain.f.model.source_vocab = 40; /* that of the answer */
    pair_options(&p->plain.o, s);
    p->plain.f.model.weights_bytes = random_below(s, 2) ? Large : 0;
    p->plain.f.nan_every = random_below(s, 5) ? 0 : 3000;
    p->plain.f.never_every = (int)random_below(s, 3) * 5;
    p->plain.f.habit = (int)random_below(s, 4) * 8;
    p->draft = p->plain;
    p->plain.f.calls = &p->calls[0];
    p->draft.f.calls = &p->calls[1];
    p->draft.o.draft = ATTN_DRAFT_NGRAM;
    if (seed % 4 > 1)
        pair_drafter(p, seed, s);
    const int64_t n = 1 + random_below(s, 200);
    lab_open(&p->plain, n, 2);
    lab_open(&p->draft, n, 2);
}

/* Makes the same call on both streams. */
static void pair_act(Pair *p, uint64_t *s)
{
    static const int32_t stop[] = { 3, 8 };
    struct attn_stream *a = &p->plain.s, *b = &p->draft.s;
    int64_t x = 0, y = 0;
    const int64_t what = random_below(s, 100);
    if (what == 0 && a->n > 0) {
        x = attn_stream_fork(&p->other[0], a, 1);
        y = attn_stream_fork(&p->other[1], b, 1);
        p->forked = 1;
    } else if (what == 1) {
        const int32_t id = (int32_t)random_below(s, 40);
        x = attn_stream_feed(a, &id, 1);
        y = attn_stream_feed(b, &id, 1);
    } else if (what == 2) {
        a->stop = b->stop = stop;
        a->stops = b->stops = random_below(s, 3);
        a->ended = b->ended = 0;
    } else if (what == 3) {
        a->o.sampling.seed++;
        b->o.sampling.seed++;
    } else if (what < 12 && p->forked) {
        x = attn_stream_next(&p->other[0]);
        y = attn_stream_next(&p->other[1]);
        assert_same_state(&p->other[0], &p->other[1]);
    } else {
        x = attn_stream_next(a);
        y = attn_stream_next(b);
    }
    assert_int_equal(x, y);
    assert_same_state(a, b);
}

static void test_is_the_plain_stream(void **unused)
{
    (void)unused;
    int64_t calls[2] = { 0, 0 }, proposed[3] = { 0 }, taken[3] = { 0 };
    Pair *p = malloc(sizeof *p);
    for (uint32_t seed = 0; seed < 160; seed++) {
        uint64_t s = seed;
        pair_make(p, seed, &s);
        for (int i = 0; i < 150; i++)
            pair_act(p, &s);
        const struct attn_draft *d = &p->draft.s.room->draft;
        assert_true(d->taken <= d->proposed);
        assert_true(p->calls[1] <= p->calls[0]);
        assert_int_equal(p->plain.s.room->draft.proposed, 0);
        proposed[p->draft.o.draft] += d->proposed;
        taken[p->draft.o.draft] += d->taken;
        calls[0] += p->calls[0];
        calls[1] += p->calls[1];
        free(p->plain.memory);
        free(p->draft.memory);
    }
    printf("%lld calls, %lld with a draft\n", (long long)calls[0],
           (long long)calls[1]);
    for (int i = ATTN_DRAFT_NGRAM; i <= ATTN_DRAFT_MODEL; i++) {
        printf("draft %d: %lld of %lld taken\n", i, (long long)taken[i],
               (long long)proposed[i]);
        assert_true(taken[i] > 500 && taken[i] < proposed[i] - 500);
    }
    free(p);
}

/* Returns the calls of a stream of 200 tokens whose text repeats itself by
 * `habit`, and sets *proposed. */
static int64_t calls_of(int habit, int64_t *proposed)
{
    Lab l;
    int64_t calls = 0;
    lab_make(&l, ATTN_DECODER, 3);
    l.f.end_bias = -100.0f;
    l.f.habit = habit;
    l.f.model.weights_bytes = Large;
    l.f.calls = &calls;
    l.o.draft = ATTN_DRAFT_NGRAM;
    lab_open(&l, 40, 1);
    for (int i = 0; i < 200; i++)
        assert_true(attn_stream_next(&l.s) >= 0);
    *proposed = l.s.room->draft.proposed;
    free(l.memory);
    return calls;
}

/* A text that repeats itself takes a third of the calls. One that does not is
 * left alone: few of its calls read a token in vain. */
static void test_adapts(void **unused)
{
    (void)unused;
    int64_t proposed;
    assert_true(calls_of(1000000, &proposed) < 200 / 3);
    assert_int_equal(calls_of(0, &proposed), 200);
    assert_true(proposed < 12);
}

/* Returns the calls of 30 tokens of an answer to the source in l->ids. */
static int64_t calls_of_source(Lab *l, int32_t *out, int64_t n)
{
    int64_t calls = 0;
    l->f.calls = &calls;
    lab_open(l, n, 1);
    for (int i = 0; i < 30; i++) {
        const int64_t token = attn_stream_next(&l->s);
        assert_true(token >= 0);
        out[i] = (int32_t)token;
    }
    free(l->memory);
    return calls;
}

/* An answer that copies its source takes fewer calls. */
static void test_copies(void **unused)
{
    (void)unused;
    Lab l;
    int32_t first[30], again[30];
    lab_make(&l, ATTN_ENCODER_DECODER, 3);
    l.f.end_bias = -100.0f;
    l.f.habit = 1000000;
    l.f.model.weights_bytes = Large;
    l.f.model.source_vocab = 40;
    l.o.draft = ATTN_DRAFT_NGRAM;
    const int64_t calls = calls_of_source(&l, first, 30);
    memcpy(l.ids, first, sizeof first);
    assert_true(calls_of_source(&l, again, 30) < calls / 2);
    assert_memory_equal(first, again, sizeof first);
}

/* No row is read beyond the last token that there is room for. */
static void test_ends(void **unused)
{
    (void)unused;
    Lab l;
    int64_t n = 0;
    lab_make(&l, ATTN_DECODER, 3);
    l.f.end_bias = -100.0f;
    l.f.habit = 1000000;
    l.f.model.weights_bytes = Large;
    l.o.draft = ATTN_DRAFT_NGRAM;
    lab_open(&l, 40, 1);
    while (attn_stream_next(&l.s) >= 0)
        n++;
    assert_int_equal(n, Most - 41);
    assert_int_equal(attn_stream_next(&l.s), ATTN_STREAM_FULL);
    assert_true(l.s.room->draft.taken > 200);
    free(l.memory);
}

static void test_refuses(void **unused)
{
    (void)unused;
    Lab l;
    lab_make(&l, ATTN_DECODER, 1);
    const int64_t plain = attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1);
    l.o.draft = ATTN_DRAFT_NGRAM;
    assert_null(attn_draft_wrong(&l.f.model));
    assert_true(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1)
                > plain + 39 * (int64_t)sizeof(float) * ATTN_DRAFT_MOST);
    l.f.model.fixed_target = 1;
    assert_non_null(strstr(attn_draft_wrong(&l.f.model), "fixed number"));
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_KIND);
    l.f.model.fixed_target = 0;
    l.f.model.cache[ATTN_SELF].states = 4;
    assert_non_null(strstr(attn_draft_wrong(&l.f.model), "recurrent"));
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_KIND);
    l.o.draft = ATTN_DRAFT_NONE;
    assert_true(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1) > 0);
    l.o.draft = -1;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_OPTION);
    l.o.draft = 3;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 0, 9, 1),
                     ATTN_ERROR_OPTION);
}

/* Options that change while a stream is open are also those of the drafter, and
 * a draft for which the room has no memory proposes nothing. */
static void test_changes(void **state)
{
    (void)state;
    Pair *p = malloc(sizeof *p);
    for (uint32_t seed = 0; seed < 60; seed++) {
        uint64_t s = seed;
        pair_make(p, seed, &s);
        for (int i = 0; i < 90; i++) {
            struct attn_search_options *o = &p->draft.s.o;
            if (i % 30 == 29) {
                o->draft = random_below(&s, 3);
                o->drafter = &p->by;
                p->by = (struct attn_drafter){ &p->small.model, &p->small };
                if (seed % 4 <= 1)
                    o->draft %= ATTN_DRAFT_MODEL;
                o->process.min_length = random_below(&s, 20);
                p->plain.s.o.process = o->process;
            }
            pair_act(p, &s);
        }
        free(p->plain.memory);
        free(p->draft.memory);
    }
    free(p);
}

static void test_refuses_drafters(void **unused)
{
    (void)unused;
    Lab l;
    Fake small;
    struct attn_drafter by = { NULL, &small };
    lab_make(&l, ATTN_ENCODER_DECODER, 1);
    fake_make(&small, ATTN_ENCODER_DECODER, 40, 2);
    l.o.draft = ATTN_DRAFT_MODEL;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 9, 9, 1),
                     ATTN_ERROR_NULL);
    l.o.drafter = &by;
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 9, 9, 1),
                     ATTN_ERROR_NULL);
    by.model = &small.model;
    assert_true(attn_stream_bytes(&l.f.model, &l.o, 9, 9, 1) > 0);
    small.model.fixed_source = 5;
    assert_non_null(strstr(attn_drafter_wrong(&l.f.model, &by), "fixed"));
    small.model.fixed_source = 0;
    /* a source that is too long for the drafter takes no less memory */
    small.model.max_source = 8;
    assert_true(attn_stream_bytes(&l.f.model, &l.o, 9, 9, 1)
                >= attn_stream_bytes(&l.f.model, &l.o, 8, 9, 1));
    small.model.source_vocab++;
    assert_non_null(strstr(attn_drafter_wrong(&l.f.model, &by), "its source"));
    small.model.target_vocab++;
    assert_non_null(strstr(attn_drafter_wrong(&l.f.model, &by), "number of"));
    small.model.kind = ATTN_DECODER;
    assert_non_null(strstr(attn_drafter_wrong(&l.f.model, &by), "kind"));
    assert_int_equal(attn_stream_bytes(&l.f.model, &l.o, 9, 9, 1),
                     ATTN_ERROR_KIND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_plain_stream),
        cmocka_unit_test(test_adapts),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_refuses_drafters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
