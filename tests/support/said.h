/* said.h: searches, streams and scores of a model, as bytes to compare. */
#ifndef SAID_H
#define SAID_H

#include "engine/engine.h"

enum { Answers = 3, Tokens = 24, Beams = 4 };

typedef struct { /* all their results, as bytes to compare */
    int64_t found[Answers], n[Answers][Beams];
    float score[Answers][Beams];
    int32_t tokens[Answers][Beams][Tokens], stream[Tokens];
    float log_probability[Tokens];
    int code;
} Said;

static void *nan_memory(Arena *a, int64_t bytes)
{
    assert_true(bytes > 0);
    return memset(arena_alloc(a, (size_t)bytes), 0xff, (size_t)bytes);
}

static struct attn_search_options options_of(const Engine *e, int64_t beam)
{
    const Spec *s = e->spec;
    return (struct attn_search_options){ .beam = beam,
                                         .results = beam,
                                         .max_output = 9,
                                         .max_output_plus = -1,
                                         .patience = 1,
                                         .start = (int32_t)s->token_start,
                                         .end = (int32_t)s->token_end,
                                         .want_scores = 1,
                                         .parallel = e->parallel };
}

static void say_search(Arena *a, const Engine *e, int64_t beam,
                       const int32_t *ids, const int32_t *start, Said *said)
{
    const struct attn_model *m = e->backend.model;
    struct attn_search_options o = options_of(e, beam);
    struct attn_hypothesis out[Answers * Beams];
    const int64_t bytes = attn_search_bytes(m, &o, Answers, start[Answers],
                                            start[Answers]);
    if (bytes < 0) {
        said->code = -2;
        return;
    }
    said->code = attn_search(
        &(struct attn_search_request){
            .model = m,
            .bound = e->bound,
            .o = &o,
            .sentences = Answers,
            .ids = ids,
            .start = start,
            .memory = nan_memory(a, bytes),
            .bytes = bytes,
        },
        out, said->found);
    for (int i = 0; said->code == 0 && i < Answers; i++)
        for (int64_t k = 0; k < said->found[i]; k++) {
            const struct attn_hypothesis *h = &out[i * beam + k];
            said->n[i][k] = h->n;
            said->score[i][k] = h->score;
            memcpy(said->tokens[i][k], h->tokens, (size_t)h->n * 4);
        }
}

/* Returns the saved state, or NULL if the model has none, and sets *size. */
static const char *say_state(Arena *a, const struct attn_stream *s,
                             int64_t *size)
{
    *size = attn_state_bytes(s);
    if (*size < 0)
        return NULL; /* one of several ranks */
    char *state = nan_memory(a, *size);
    assert_int_equal(attn_state_save(s, 5, state, *size), *size);
    return state;
}

static int64_t said_taken; /* proposals of drafts that were taken */

/* Generates out[Tokens]. Returns the state afterwards, if there is one. A draft
 * proposes as for weights of 1 GiB, which is more often. */
static const char *say_stream(Arena *a, const Engine *e, const int32_t *ids,
                              int64_t n, int64_t draft, int32_t *out,
                              int64_t *size)
{
    struct attn_model large = *e->backend.model;
    large.weights_bytes = 1 << 30;
    const struct attn_model *m = draft ? &large : e->backend.model;
    const struct attn_drafter own = { e->backend.model, e->bound };
    struct attn_search_options o = options_of(e, 1);
    o.draft = draft;
    o.drafter = &own;
    *size = 0;
    const int64_t source = m->kind == ATTN_DECODER ? 0 : n;
    const int64_t tokens = attn_min(Tokens, m->max_target + 1);
    const int64_t bytes = attn_stream_bytes(m, &o, source, tokens, 1);
    struct attn_stream s;
    if (bytes < 0
        || attn_stream_open(&s,
                            &(struct attn_stream_request){
                                .model = m,
                                .bound = e->bound,
                                .o = &o,
                                .ids = ids,
                                .n = n,
                                .tokens = tokens,
                                .streams = 1,
                                .memory = nan_memory(a, bytes),
                                .bytes = bytes,
                            })
               != 0)
        return NULL;
    int64_t token, at = 0;
    while (at < Tokens && (token = attn_stream_next(&s)) >= 0)
        out[at++] = (int32_t)token;
    said_taken += s.room->draft.taken;
    return say_state(a, &s, size);
}

/* Generates with drafts, of which one is made by the model itself, and without.
 * All have the same tokens and state. */
static void say_streams(Arena *a, const Engine *e, const int32_t *ids,
                        int64_t n, Said *said)
{
    int64_t size, other;
    const char *state = say_stream(a, e, ids, n, ATTN_DRAFT_NONE, said->stream,
                                   &size);
    if (attn_draft_wrong(e->backend.model))
        return;
    for (int draft = ATTN_DRAFT_NGRAM; draft <= ATTN_DRAFT_MODEL; draft++) {
        int32_t drafted[Tokens] = { 0 };
        const char *also = say_stream(a, e, ids, n, draft, drafted, &other);
        assert_memory_equal(drafted, said->stream, sizeof drafted);
        assert_int_equal(size, other);
        if (state)
            assert_memory_equal(also, state, (size_t)size);
    }
}

static void say_scores(Arena *a, const Engine *e, const int32_t *ids, int64_t n,
                       Said *said)
{
    const struct attn_model *m = e->backend.model;
    const struct attn_parallel *p = e->parallel;
    struct attn_score_request r = {
        .model = m,
        .bound = e->bound,
        .start = (int32_t)e->spec->token_start,
        .pair = &(struct attn_score_pair){ .source = ids,
                                           .source_n = n,
                                           .target = said->stream,
                                           .target_n = 2 },
        .pairs = 1,
        .parallel = p,
        .log_probability = said->log_probability,
    };
    r.bytes = attn_score_bytes(&r);
    r.memory = nan_memory(a, r.bytes);
    if (attn_score_pairs(&r) != 0)
        said->log_probability[0] = -1;
}

static Said say_all(Arena *a, const Engine *e, uint64_t seed, int64_t beam)
{
    enum { Rows = 5 };
    const struct attn_model *m = e->backend.model;
    const int64_t vocab = m->kind == ATTN_DECODER ? m->target_vocab
                                                  : m->source_vocab;
    const int32_t start[] = { 0, 2, 4, Rows };
    int32_t ids[Rows];
    Said said;
    memset(&said, 0, sizeof said);
    for (int i = 0; i < Rows; i++)
        ids[i] = (int32_t)((seed + 3 * (uint64_t)i) % (uint64_t)vocab);
    say_search(a, e, beam, ids, start, &said);
    say_streams(a, e, ids, 2, &said);
    say_scores(a, e, ids, 2, &said);
    return said;
}

/* True if the model generates, and reads tokens. */
static bool generates(const Engine *e)
{
    const struct attn_model *m = e->backend.model;
    return (m->kind == ATTN_DECODER || m->kind == ATTN_ENCODER_DECODER)
        && m->input_width == 0;
}

#endif
