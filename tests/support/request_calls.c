/* request_calls.c: requests of an open model for a generated m.h whose weights
 * are inside: each answer is the one that the request has alone, whichever
 * others come and go. -DTHREADS: another thread cancels requests. Prints each
 * violation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef THREADS
#include <pthread.h>
#endif

#include "holds.h"
#include "m.h"

enum { Requests = 120, Batch = 5, Waiting = 4, Most = 96 };

static unsigned long dice = 12345;

static int64_t below(int64_t n)
{
    dice = dice * 6364136223846793005ul + 1442695040888963407ul;
    return (int64_t)((dice >> 33) % (unsigned long)n);
}

struct answer {
    int32_t tokens[Most];
    int64_t n;
};

static int take(void *user, int32_t id)
{
    struct answer *a = user;
    a->tokens[a->n++] = id;
    return 0;
}

static struct asked {
    struct attn_search_options o;
    int32_t ids[Most];
    int64_t n, id, told, ended;
    int cancelled;
} asked[Requests];

/* Draws a request. */
static void draw(struct asked *a, const struct attn_model *m)
{
    static const int32_t ends[] = { 5, 6, 7 };
    const int64_t vocab = m->kind == ATTN_DECODER ? m->target_vocab
                                                  : m->source_vocab;
    m_options(&a->o);
    a->o.max_output = 1 + below(m->max_target / 2);
    a->n = 1 + below(m->max_target / 2);
    for (int64_t i = 0; i < a->n; i++)
        a->ids[i] = (int32_t)(4 + below(vocab - 4));
    if (below(3) == 0)
        a->o.beam = 1;
    if (a->o.beam == 1 && below(4) == 0) {
        a->o.ends = ends;
        a->o.ends_count = 3;
    }
    if (a->o.beam == 1 && below(2)) {
        a->o.sampling.temperature = 1.0f;
        a->o.sampling.seed = below(1000);
    }
    a->cancelled = below(8) == 0;
}

static struct asked *of(int64_t id)
{
    for (int i = 0; i < Requests; i++)
        if (asked[i].id == id)
            return &asked[i];
    HOLDS(!"a request of this number");
    return &asked[0];
}

static void check_event(const struct attn_event *e, struct answer *alone)
{
    struct asked *a = of(e->id);
    const struct answer *is = &alone[a - asked];
    HOLDS(!a->ended && e->n <= is->n);
    HOLDS(e->ended ? e->n == is->n : e->n > a->told);
    HOLDS(!memcmp(e->tokens, is->tokens, (size_t)e->n * sizeof *e->tokens));
    a->told = e->n;
    a->ended = e->ended;
}

static void check_answers(struct attn_handle *h, struct answer *alone,
                          int64_t cap)
{
    struct attn_event events[Batch + Waiting];
    int next = 0, grown = 0;
    int64_t n = 1;
    while (n > 0 || next < Requests) {
        while (next < Requests && below(3)) {
            struct asked *a = &asked[next];
            a->id = m_submit_ids(h, a->ids, a->n, &a->o);
            if (a->id == ATTN_ERROR_ROOM) {
                HOLDS(strstr(m_error(h), "batch and waiting"));
                break;
            }
            HOLDS(a->id > 0);
            if (a->cancelled && below(2)) {
                HOLDS(m_cancel(h, a->id) == 0);
                HOLDS(m_cancel(h, a->id) == ATTN_ERROR_OPEN);
            } else if (a->cancelled) {
                a->cancelled = 2; /* later */
            }
            next++;
        }
        n = m_work(h, events, cap);
        HOLDS(n >= 0 && n <= cap);
        for (int64_t i = 0; i < n; i++) {
            check_event(&events[i], alone);
            if (events[i].ended)
                HOLDS(m_cancel(h, events[i].id) == ATTN_ERROR_OPEN);
            grown += !events[i].ended;
            if (of(events[i].id)->cancelled == 2 && !events[i].ended) {
                HOLDS(m_cancel(h, events[i].id) == 0);
                of(events[i].id)->cancelled = 1;
                of(events[i].id)->ended = -1;
            }
        }
    }
    HOLDS(grown > 0);
    for (int i = 0; i < Requests; i++) {
        HOLDS(asked[i].cancelled == 1 ? asked[i].ended <= 0
                                      : asked[i].ended == 1);
        HOLDS(m_cancel(h, asked[i].id) == ATTN_ERROR_OPEN);
    }
}

static void check(const struct attn_open_options *o, int64_t cap)
{
    static struct answer alone[Requests];
    struct attn_handle *h = m_open(NULL, o);
    HOLDS(!*m_error(h));
    memset(alone, 0, sizeof alone);
    memset(asked, 0, sizeof asked);
    for (int i = 0; i < Requests; i++) {
        struct asked *a = &asked[i];
        draw(a, m_model());
        const int64_t n = m_generate_ids(h, a->ids, a->n, &a->o, take,
                                         &alone[i]);
        HOLDS(n == alone[i].n);
    }
    check_answers(h, alone, cap);
    m_close(h);
}

#ifdef THREADS
static int64_t number; /* of the request that is to be cancelled */

static void *cancel(void *handle)
{
    HOLDS(m_cancel(handle, number) == 0);
    return NULL;
}

/* Cancels a request from another thread while the model works. */
static void check_thread(void)
{
    const struct attn_open_options o = { .batch = 2 };
    struct attn_handle *h = m_open(NULL, &o);
    struct attn_event e[2];
    struct attn_search_options all;
    const int32_t ids[] = { 4, 5, 6 };
    m_options(&all);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        number = m_submit_ids(h, ids, 3, &all);
        HOLDS(number > 0);
        if (pthread_create(&thread, NULL, cancel, h) != 0)
            return;
        const int64_t n = m_work(h, e, 2);
        HOLDS(n == 0 || (n == 1 && e[0].id == number));
        pthread_join(thread, NULL);
        while (m_work(h, e, 2) > 0)
            continue;
    }
    m_close(h);
}
#endif

/* Checks that one event at a time serves two requests in turn. */
static void check_turns(void)
{
    const struct attn_open_options two = { .batch = 2 };
    const int32_t ids[] = { 4, 5, 6 };
    struct attn_handle *h = m_open(NULL, &two);
    struct attn_search_options o;
    struct attn_event e;
    int64_t before = 0, turns = 0;
    m_options(&o);
    o.beam = 1;
    o.process.min_length = 5;
    HOLDS(m_submit_ids(h, ids, 3, &o) > 0 && m_submit_ids(h, ids, 3, &o) > 0);
    while (m_work(h, &e, 1) == 1) {
        turns += e.id != before;
        before = e.id;
    }
    HOLDS(turns >= 9);
    m_close(h);
}

/* Checks what open() refuses, and requests that do not fit. */
static void check_limits(void)
{
    const int32_t ids[] = { 4, 5, 6 };
    struct attn_event e;
    struct attn_open_options o = { .batch = 1, .cache = 1 };
    struct attn_handle *h = m_open(NULL, &o);
    HOLDS(strstr(m_error(h), "cache: 0, or at least the"));
    m_close(h);
    h = m_open(NULL, NULL);
    HOLDS(m_submit_ids(h, ids, 3, NULL) == ATTN_ERROR_OPTION);
    HOLDS(strstr(m_error(h), "batch of the options at open"));
    HOLDS(m_work(h, &e, 1) == ATTN_ERROR_OPTION);
    HOLDS(m_cancel(h, 1) == ATTN_ERROR_OPEN);
    m_close(h);
    o.cache = 1 << 20;
    o.beam = 1;
    h = m_open(NULL, &o);
    struct attn_search_options wide;
    m_options(&wide);
    wide.beam = 3;
    HOLDS(m_submit_ids(h, ids, 3, &wide) == ATTN_ERROR_ROOM);
    HOLDS(strstr(m_error(h), "beam, max_output or cache of its options"));
    HOLDS(m_work(h, &e, 1) == 0);
    m_close(h);
}

int main(void)
{
    const struct attn_open_options some = { .batch = Batch,
                                            .waiting = Waiting,
                                            .beam = 4 };
    struct attn_open_options few = some;
    few.prompt_rows = 7;
    few.prefix_cache = 1 << 20;
    check(&some, Batch + Waiting);
    check(&few, 2);
    check(&few, 1);
    check_turns();
    check_limits();
#ifdef THREADS
    check_thread();
#endif
    return failed;
}
