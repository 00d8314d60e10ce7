/* mode_calls.c: answers of one prompt in all modes, for a generated m.h whose
 * weights are inside. The answer of a plain stream is that of streams with
 * drafts, of one that was saved and restored, of a handle, and of requests that
 * share memory and prefixes; streams end in the same saved state. argv[1] is
 * the number of prompts, argv[2] the seed. Prints each violation. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holds.h"
#include "m.h"

enum { Answer = 40, Prefixes = 8, Batch = 6, Group = 3 * Batch, Room = 300 };

struct asked {
    struct attn_search_options o;
    int32_t ids[Room], answer[Answer];
    int64_t n, tokens;
    int64_t id; /* of the request; 0: it has ended */
};

static struct asked asked[Group];
static int32_t prefix[Prefixes][Room];
static int64_t vocab, longest;  /* tokens of a prompt */
static struct attn_drafter own; /* this model */
static void *memory;
static int64_t bytes; /* of a stream with any draft */
static uint64_t dice;

static int64_t below(int64_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((dice >> 33) % (uint64_t)n);
}

/* Draws a prompt that may begin as others do. */
static void draw(struct asked *a)
{
    const int32_t *begin = prefix[below(Prefixes)];
    const int64_t same = below(longest);
    m_options(&a->o);
    a->o.beam = 1;
    a->o.max_output = Answer;
    a->o.max_output_plus = -1;
    a->o.drafter = &own;
    a->n = same + 1 + below(longest - same);
    for (int64_t i = 0; i < a->n; i++)
        a->ids[i] = i < same ? begin[i] : (int32_t)(4 + below(vocab - 4));
    a->o.process.repetition_penalty = below(4) ? 0.0f : 1.2f;
    a->o.process.no_repeat_ngram = below(4) ? 0 : 3;
    a->o.process.min_length = below(4) ? 0 : below(Answer);
    a->o.sampling.temperature = below(2) ? 0.0f : 0.8f;
    a->o.sampling.top_k = below(3) ? 0 : 20;
    a->o.sampling.seed = below(1000);
}

/* ---- streams ---- */

struct state {
    char *at;
    int64_t bytes;
};

static struct state save(const struct attn_stream *s)
{
    struct state is = { NULL, m_state_bytes(s) };
    HOLDS(is.bytes > 0);
    is.at = aligned_alloc(64, (size_t)(is.bytes + 63) / 64 * 64);
    HOLDS(m_state_save(s, 1, is.at, is.bytes) == is.bytes);
    return is;
}

static int64_t source_of(const struct asked *a)
{
    return m_model()->kind == ATTN_DECODER ? 0 : a->n;
}

static int64_t room_of(const struct asked *a)
{
    const int64_t lead = (a->o.start >= 0) + a->n - source_of(a);
    const int64_t most = m_model()->max_target + 1;
    return lead + Answer < most ? lead + Answer : most;
}

static void restore(struct attn_stream *s, const struct asked *a)
{
    const struct attn_search_options o = s->o;
    struct state is = save(s);
    HOLDS(m_state_restore(s, own.bound, &o, 1, is.at, is.bytes, room_of(a), 1,
                          memory, bytes)
          == 0);
    free(is.at);
}

/* Answers by a stream, which is restored before the token of this number.
 * Returns its state afterwards. */
static struct state answer(const struct asked *a, int64_t draft, int64_t halt,
                           int32_t *out, int64_t *n)
{
    struct attn_search_options o = a->o;
    struct attn_stream s;
    int64_t token = 0;
    o.draft = draft;
    HOLDS(m_stream_open(&s, own.bound, &o, a->ids, a->n, room_of(a), 1, memory,
                        bytes)
          == 0);
    for (*n = 0; *n < Answer && token >= 0;) {
        if (*n == halt)
            restore(&s, a);
        token = m_stream_next(&s);
        if (token >= 0)
            out[(*n)++] = (int32_t)token;
    }
    return save(&s);
}

static void check_streams(struct asked *a)
{
    const struct state plain = answer(a, ATTN_DRAFT_NONE, -1, a->answer,
                                      &a->tokens);
    for (int64_t draft = ATTN_DRAFT_NONE; draft <= ATTN_DRAFT_MODEL; draft++) {
        int32_t other[Answer];
        int64_t n;
        const struct state is = answer(a, draft, below(Answer), other, &n);
        HOLDS(n == a->tokens);
        HOLDS(!memcmp(other, a->answer, (size_t)n * sizeof *other));
        HOLDS(is.bytes == plain.bytes
              && !memcmp(is.at, plain.at, (size_t)is.bytes));
        free(is.at);
    }
    free(plain.at);
}

/* ---- handles ---- */

struct taken {
    int32_t tokens[Answer];
    int64_t n;
};

static int take(void *user, int32_t id)
{
    struct taken *t = user;
    t->tokens[t->n++] = id;
    return 0;
}

static void check_handle(struct attn_handle *h, const struct asked *a)
{
    struct taken t = { .n = 0 };
    HOLDS(m_generate_ids(h, a->ids, a->n, &a->o, take, &t) == a->tokens);
    HOLDS(t.n == a->tokens
          && !memcmp(t.tokens, a->answer, (size_t)t.n * sizeof *t.tokens));
}

static void check_event(const struct attn_event *e)
{
    struct asked *a = asked;
    while (a->id != e->id)
        a++;
    HOLDS(e->n <= a->tokens && (!e->ended || e->n == a->tokens));
    HOLDS(!memcmp(e->tokens, a->answer, (size_t)e->n * sizeof *e->tokens));
    if (e->ended)
        a->id = 0;
}

static void check_requests(struct attn_handle *h, int64_t n)
{
    struct attn_event events[Group];
    int64_t given = 0, told = 1;
    while (given < n || told > 0) {
        while (given < n) {
            struct asked *a = &asked[given];
            a->id = m_submit_ids(h, a->ids, a->n, &a->o);
            if (a->id == ATTN_ERROR_ROOM)
                break;
            HOLDS(a->id > 0);
            given++;
        }
        told = m_work(h, events, Group);
        HOLDS(told >= 0);
        for (int64_t i = 0; i < told; i++)
            check_event(&events[i]);
    }
    for (int64_t i = 0; i < n; i++)
        HOLDS(asked[i].id == 0);
}

/* ---- all ---- */

/* Finds how long prompts may be, and the memory of their streams. */
static void measure(void)
{
    const struct attn_model *m = m_model();
    const int decoder = m->kind == ATTN_DECODER;
    struct asked a = { .n = 0 };
    vocab = decoder ? m->target_vocab : m->source_vocab;
    longest = decoder ? m->max_target - Answer : m->max_source;
    longest = longest < Room ? longest : Room;
    m_options(&a.o);
    a.n = longest;
    a.o.draft = ATTN_DRAFT_NGRAM;
    a.o.drafter = &own;
    bytes = m_stream_bytes(&a.o, source_of(&a), room_of(&a), 1);
    a.o.draft = ATTN_DRAFT_MODEL;
    bytes += m_stream_bytes(&a.o, source_of(&a), room_of(&a), 1);
    memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    for (int64_t i = 0; i < Prefixes; i++)
        for (int64_t k = 0; k < longest; k++)
            prefix[i][k] = (int32_t)(4 + below(vocab - 4));
}

int main(int argc, char **argv)
{
    const int64_t prompts = argc > 1 ? strtoll(argv[1], NULL, 10) : Group;
    dice = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const struct attn_open_options one = { .draft = ATTN_DRAFT_NONE };
    struct attn_open_options many = { .beam = 1, .batch = Batch, .waiting = 2 };
    struct attn_handle *h = m_open(NULL, &one);
    many.prompt_rows = 9;
    many.prefix_cache = 1 << 19;
    struct attn_handle *all = m_open(NULL, &many);
    HOLDS(!*m_error(h) && !*m_error(all) && m_drafter(h, &own) == 0);
    measure();
    for (int64_t i = 0; i < prompts && !failed; i += Group) {
        const int64_t n = prompts - i < Group ? prompts - i : Group;
        for (int64_t k = 0; k < n; k++) {
            draw(&asked[k]);
            check_streams(&asked[k]);
            check_handle(h, &asked[k]);
        }
        check_requests(all, n);
    }
    free(memory);
    m_close(all);
    m_close(h);
    return failed;
}
