/* talk.h: opens, continues and saves streams of a model with a vocabulary of 40
 * tokens. Included after answers.h; the program defines Tokens, their maximum.
 */
#ifndef ATTNC_TALK_H
#define ATTNC_TALK_H

static inline const int32_t *some_ids(Arena *a, int64_t n)
{
    int32_t *ids = arena_alloc(a, (size_t)n * sizeof *ids);
    uint32_t x = 1;
    for (int64_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        ids[i] = (int32_t)(x >> 8) % 40;
    }
    return ids;
}

typedef struct {
    const Engine *e;
    Arena *a;
    struct attn_search_options o;
} Talk;

static inline void open_talk(Talk *t, const Engine *e)
{
    *t = (Talk){ .e = e,
                 .a = arena_new(),
                 .o = { .beam = 1,
                        .results = 1,
                        .max_output_plus = -1,
                        .patience = 1,
                        .start = -1,
                        .end = -1 } };
}

static inline int64_t stream_bytes(const Talk *t)
{
    return attn_stream_bytes(t->e->backend.model, &t->o, 0, Tokens, 2);
}

static inline void open_stream(const Talk *t, struct attn_stream *s,
                               int64_t prompt)
{
    const int64_t bytes = stream_bytes(t);
    struct attn_stream_request r = { .model = t->e->backend.model,
                                     .bound = t->e->bound,
                                     .o = &t->o,
                                     .ids = some_ids(t->a, prompt),
                                     .n = prompt,
                                     .tokens = Tokens,
                                     .streams = 2,
                                     .memory = nan_block(t->a, bytes),
                                     .bytes = bytes };
    assert_int_equal(attn_stream_open(s, &r), 0);
}

static inline void go_on(struct attn_stream *s, int64_t to)
{
    while (s->n < to)
        assert_true(attn_stream_next(s) >= 0);
}

/* Checks that a saved stream, restored as another one, continues identically.
 */
static inline void save_and_restore(const Talk *t, struct attn_stream *s)
{
    const int64_t bytes = attn_state_bytes(s);
    char *saved = nan_block(t->a, bytes);
    struct attn_restore_request r = { .model = t->e->backend.model,
                                      .bound = t->e->bound,
                                      .o = &t->o,
                                      .weights = 5,
                                      .state = saved,
                                      .bytes = bytes,
                                      .tokens = Tokens,
                                      .streams = 2,
                                      .memory = nan_block(t->a,
                                                          stream_bytes(t)),
                                      .memory_bytes = stream_bytes(t) };
    assert_int_equal(attn_state_save(s, 5, saved, bytes), bytes);
    assert_int_equal(attn_state_restore(s, &r), 0);
}

#endif
