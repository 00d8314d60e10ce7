/* queue_test.c: sources that come and go have the answers that each has
 * alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_model.h"
#include "support/fake_options.h"

enum { Sources = 40, Longest = 150, Beam = 3 };

typedef struct {
    Fake f;
    int32_t ids[2048];
    struct attn_queue q;
    struct attn_search_options o; /* of the queue */
    struct attn_search_options own[Sources];
    int64_t rows[Sources], source_of[2 * Sources];
    int apart; /* first tokens of sources: 0: all begin alike */
    int ended[Sources], dropped[Sources];
    void *memory;
} Test;

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static const int32_t *source_ids(const Test *t, int64_t i)
{
    return t->ids + i % 3 * t->apart;
}

/* Makes a model, and sources with options of their own. */
static void test_make(Test *t, uint32_t *s, uint32_t seed)
{
    const int64_t kind = seed % 2 ? ATTN_ENCODER_DECODER : ATTN_DECODER;
    fake_make(&t->f, kind, 4 + random_below(s, 20), seed);
    t->f.end_bias = (float)random_below(s, 5) - 2.0f;
    t->f.spread = 1.0f + (float)random_below(s, 4);
    t->f.nan_every = random_below(s, 4) ? 0 : 300;
    for (int i = 0; i < 2048; i++)
        t->ids[i] = (int32_t)random_below(s, (uint32_t)t->f.model.target_vocab);
    t->o = options(Beam);
    t->o.results = 2;
    t->o.max_output = 24;
    for (int i = 0; i < Sources; i++) {
        struct attn_search_options *o = &t->own[i];
        *o = t->o;
        o->beam = 1 + random_below(s, Beam);
        o->results = 1 + random_below(s, 2);
        o->max_output = 1 + random_below(s, i % 5 ? 6 : 24);
        o->sampling.temperature = o->beam == 1 ? (float)random_below(s, 2) : 0;
        o->sampling.seed = i;
        o->process.no_repeat_ngram = random_below(s, 3);
        t->rows[i] = random_below(s, i % 3 ? 12 : Longest);
        t->ended[i] = t->dropped[i] = 0;
    }
    t->o.process.repetition_penalty = 2.0f; /* so that sources may draw */
}

/* Opens a queue in memory of exactly the announced size, full of NaN. */
static void test_open(Test *t, const struct attn_queue_size *size)
{
    const int64_t bytes = attn_queue_bytes(&t->f.model, &t->o, size);
    assert_true(bytes > 0);
    t->memory = malloc((size_t)bytes);
    memset(t->memory, 0xff, (size_t)bytes);
    assert_int_equal(attn_queue_open(&t->q,
                                     &(struct attn_queue_request){
                                         .model = &t->f.model,
                                         .bound = &t->f,
                                         .o = &t->o,
                                         .size = *size,
                                         .memory = t->memory,
                                         .bytes = bytes,
                                     }),
                     0);
}

static struct attn_queue_source source(const Test *t, int64_t i)
{
    return (struct attn_queue_source){ .ids = source_ids(t, i),
                                       .rows = t->rows[i],
                                       .o = &t->own[i] };
}

/* Compares the answers of a place with those of a search for this source. */
static void assert_alone(const Test *t, int64_t i, int64_t place)
{
    const struct attn_beam *b = &t->q.place[place].beam;
    const struct attn_model *m = &t->f.model;
    const int32_t start[] = { 0, (int32_t)t->rows[i] };
    const int64_t bytes = attn_search_bytes(m, &t->own[i], 1, t->rows[i],
                                            t->rows[i]);
    struct attn_hypothesis best[2];
    int64_t found;
    void *memory = malloc((size_t)bytes);
    assert_int_equal(attn_search(
                         &(struct attn_search_request){
                             .model = m,
                             .bound = &t->f,
                             .o = &t->own[i],
                             .sentences = 1,
                             .ids = source_ids(t, i),
                             .start = start,
                             .memory = memory,
                             .bytes = bytes,
                         },
                         best, &found),
                     0);
    assert_int_equal(b->found, found);
    for (int64_t k = 0; k < found; k++) {
        assert_int_equal(b->best[k].n, best[k].n);
        assert_memory_equal(b->best[k].tokens, best[k].tokens,
                            (size_t)best[k].n * sizeof(int32_t));
        assert_memory_equal(&b->best[k].score, &best[k].score, sizeof(float));
        assert_int_equal(b->best[k].ended, best[k].ended);
    }
    free(memory);
}

static void take_ended(Test *t)
{
    int64_t place;
    while ((place = attn_queue_take(&t->q)) >= 0) {
        const int64_t i = t->source_of[place];
        assert_false(t->ended[i]);
        t->ended[i] = 1;
        if (t->dropped[i])
            assert_int_equal(t->q.place[place].beam.found, 0);
        else
            assert_alone(t, i, place);
        attn_queue_free(&t->q, place);
    }
}

/* Drops a source that has not ended. */
static void drop_one(Test *t, uint32_t *s)
{
    for (int64_t place = 0; place < t->q.size.places; place++) {
        const int64_t i = t->source_of[place];
        if (i < 0 || t->ended[i] || t->dropped[i] || random_below(s, 3))
            continue;
        t->dropped[i] = 1;
        attn_queue_drop(&t->q, place);
        return;
    }
}

/* Answers all sources: adds some between rounds, and drops some. */
static void answer_all(Test *t, uint32_t *s, int drops)
{
    const struct attn_queue_size *size = &t->q.size;
    int64_t next = 0;
    for (int i = 0; i < 2 * Sources; i++)
        t->source_of[i] = -1;
    while (next < Sources || attn_queue_busy(&t->q)) {
        while (next < Sources && random_below(s, 4)
               && attn_queue_takes(&t->q, t->rows[next])) {
            const struct attn_queue_source a = source(t, next);
            const int64_t place = attn_queue_add(&t->q, &a);
            assert_in_range(place, 0, size->places - 1);
            t->source_of[place] = next++;
        }
        if (drops && random_below(s, 8) == 0)
            drop_one(t, s);
        assert_int_equal(attn_queue_round(&t->q), 0);
        assert_true(t->q.seated.n <= size->seats);
        if (size->pages > 0)
            assert_true(t->q.self.group[0].pages - t->q.self.group[0].free_count
                        <= size->pages + size->prefix_pages);
        take_ended(t);
    }
    for (int i = 0; i < Sources; i++)
        assert_true(t->ended[i]);
    for (int i = 0; i < t->q.self.groups; i++)
        assert_true(t->q.self.group[i].free_count + t->q.prefix_pages
                    >= t->q.self.group[i].pages);
    assert_true(t->q.prefix_pages <= size->prefix_pages);
    for (int i = 0; i < t->q.cross.groups; i++)
        assert_int_equal(t->q.cross.group[i].free_count,
                         t->q.cross.group[i].pages);
}

static void test_each_is_alone(void **unused)
{
    (void)unused;
    Test *t = calloc(1, sizeof *t);
    for (uint32_t seed = 0; seed < 200; seed++) {
        uint32_t s = seed * 2654435761u + 1;
        test_make(t, &s, seed);
        t->apart = (int)random_below(&s, 3) * 200;
        const int64_t seats = 1 + random_below(&s, 6);
        test_open(
            t,
            &(struct attn_queue_size){
                .seats = seats,
                .places = seats + random_below(&s, 7),
                .longest = Longest,
                .call = random_below(&s, 3) ? 1 + random_below(&s, 90) : 0,
                .pages = random_below(&s, 2) ? 3 * Beam : 0,
                .prefix_pages = random_below(&s, 2) ? random_below(&s, 12) : 0,
            });
        answer_all(t, &s, seed % 4 == 0);
        free(t->memory);
    }
    free(t);
}

/* Tests that a source waits for pages, and that one that needs more than there
 * are is refused. */
static void test_pages(void **unused)
{
    (void)unused;
    Test *t = calloc(1, sizeof *t);
    uint32_t s = 1;
    test_make(t, &s, 0); /* a decoder */
    t->f.nan_every = 0;
    for (int i = 0; i < 4; i++) {
        t->own[i] = t->o;
        t->own[i].beam = 1;
        t->rows[i] = i == 3 ? 140 : 50;
    }
    test_open(t, &(struct attn_queue_size){
                     .seats = 4, .places = 4, .longest = Longest, .pages = 2 });
    for (int i = 0; i < 4; i++) {
        const struct attn_queue_source a = source(t, i);
        t->source_of[i] = i;
        assert_int_equal(attn_queue_add(&t->q, &a),
                         i == 3 ? ATTN_ERROR_ROOM : i);
    }
    while (attn_queue_busy(&t->q)) { /* each may need two pages */
        assert_int_equal(attn_queue_round(&t->q), 0);
        assert_true(t->q.seated.n <= 1);
        take_ended(t);
    }
    assert_int_equal(t->ended[0] + t->ended[1] + t->ended[2], 3);
    free(t->memory);
    free(t);
}

/* Tests that prompts are read in parts between the steps of others. */
static void test_calls(void **unused)
{
    (void)unused;
    enum { Call = 16 };
    Test *t = calloc(1, sizeof *t);
    uint32_t s = 1;
    int64_t rounds = 0;
    test_make(t, &s, 2);
    test_open(t,
              &(struct attn_queue_size){
                  .seats = 4, .places = 4, .longest = Longest, .call = Call });
    for (int i = 0; i < 4; i++) {
        t->rows[i] = 100;
        const struct attn_queue_source a = source(t, i);
        t->source_of[i] = i;
        assert_int_equal(attn_queue_add(&t->q, &a), i);
    }
    for (; attn_queue_busy(&t->q); rounds++) {
        assert_int_equal(attn_queue_round(&t->q), 0);
        assert_true(t->q.batch.rows <= Call + t->q.batch.selected);
        take_ended(t);
    }
    assert_true(rounds >= 400 / Call);
    free(t->memory);
    free(t);
}

/* Tests that of prompts that begin alike only the rest is read, also if they
 * come at the same time. */
static void test_prefixes(void **unused)
{
    (void)unused;
    enum { Prompt = 140 };
    Test *t = calloc(1, sizeof *t);
    uint32_t s = 1;
    int64_t rows = 0;
    test_make(t, &s, 2);
    t->f.nan_every = 0;
    test_open(t, &(struct attn_queue_size){ .seats = 4,
                                            .places = 4,
                                            .longest = Longest,
                                            .prefix_pages = 6 });
    for (int i = 0; i < 4; i++) {
        t->rows[i] = Prompt + i;
        t->own[i] = t->o;
        t->own[i].max_output = 1;
        const struct attn_queue_source a = source(t, i);
        t->source_of[i] = i;
        assert_int_equal(attn_queue_add(&t->q, &a), i);
    }
    while (attn_queue_busy(&t->q)) {
        assert_int_equal(attn_queue_round(&t->q), 0);
        rows += t->q.batch.rows;
        take_ended(t);
    }
    /* with the start token; the model keeps no states, so all but the new
     * tokens are shared */
    assert_int_equal(rows, Prompt + 1 + 1 + 2 + 3);
    free(t->memory);
    free(t);
}

static void test_refusals(void **unused)
{
    (void)unused;
    Test *t = calloc(1, sizeof *t);
    uint32_t s = 1;
    test_make(t, &s, 0);
    const struct attn_model *m = &t->f.model;
    const struct attn_queue_size size = { .seats = 2,
                                          .places = 2,
                                          .longest = Longest };
    struct attn_queue_size bad = size;
    bad.places = 1;
    assert_int_equal(attn_queue_bytes(m, &t->o, &bad), ATTN_ERROR_COUNT);
    bad = size;
    bad.pages = -1;
    assert_int_equal(attn_queue_bytes(m, &t->o, &bad), ATTN_ERROR_COUNT);
    t->o.process.repetition_penalty = 0.0f; /* no scratch memory for draws */
    test_open(t, &size);
    struct attn_queue_source a = source(t, 0);
    t->own[0] = t->o;
    t->own[0].beam = Beam + 1;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_ROOM);
    t->own[0].beam = 1;
    t->own[0].sampling.temperature = 1.0f;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_ROOM);
    t->own[0].sampling.temperature = -1.0f;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_OPTION);
    t->own[0].sampling.temperature = 0.0f;
    int32_t forced[40] = { 0 }; /* more than the queue's answers have */
    t->own[0].max_output = 60;
    t->own[0].prefix = forced;
    t->own[0].prefix_n = 40;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_ROOM);
    t->own[0] = t->o;
    t->own[0].beam = 1;
    a.rows = -1;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_COUNT);
    a.rows = Longest + 1;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_ROOM);
    a.rows = m->max_target + 1;
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_LENGTH);
    a.rows = 3;
    assert_int_equal(attn_queue_add(&t->q, &a), 0);
    assert_int_equal(attn_queue_add(&t->q, &a), 1);
    assert_false(attn_queue_takes(&t->q, 3));
    assert_int_equal(attn_queue_add(&t->q, &a), ATTN_ERROR_ROOM);
    free(t->memory);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_alone), cmocka_unit_test(test_pages),
        cmocka_unit_test(test_calls),         cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
