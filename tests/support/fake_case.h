/* fake_case.h: a batch of sources for the fake model, and a search of it. */
#ifndef FAKE_CASE_H
#define FAKE_CASE_H

#include <stdlib.h>
#include <string.h>

#include "support/fake_model.h"
#include "support/fake_options.h"

enum { Sentences = 6 };

typedef struct { /* a batch and its answers */
    Fake f;
    struct attn_search_options o;
    int64_t sentences;
    int32_t ids[2048], start[Sentences + 1];
    int32_t prefix[8];
    int64_t prefix_n;
    void *memory;
    struct attn_hypothesis out[Sentences * 64];
    int64_t found[Sentences];
} Case;

/* Makes one source of n tokens. */
static void case_make(Case *c, int64_t kind, int64_t vocab, uint32_t seed,
                      int64_t beam, int64_t n)
{
    memset(c, 0, sizeof *c);
    fake_make(&c->f, kind, vocab, seed);
    c->o = options(beam);
    c->sentences = 1;
    for (int32_t i = 0; i < n; i++)
        c->ids[i] = i % (int32_t)vocab;
    c->start[1] = (int32_t)n;
}

static struct attn_search_options case_options(const Case *c)
{
    struct attn_search_options o = c->o;
    o.prefix = c->prefix;
    o.prefix_n = c->prefix_n;
    return o;
}

static int64_t case_bytes(const Case *c)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < c->sentences; i++)
        if (c->start[i + 1] - c->start[i] > longest)
            longest = c->start[i + 1] - c->start[i];
    const struct attn_search_options o = case_options(c);
    return attn_search_bytes(&c->f.model, &o, c->sentences,
                             c->start[c->sentences] - c->start[0], longest);
}

/* Searches in memory of exactly the announced size, full of NaN. */
static int case_run(Case *c)
{
    const struct attn_search_options o = case_options(c);
    int64_t bytes = case_bytes(c);
    if (bytes < 0)
        return (int)bytes;
    c->memory = malloc((size_t)bytes);
    memset(c->memory, 0xff, (size_t)bytes);
    return attn_search(
        &(struct attn_search_request){
            .model = &c->f.model,
            .bound = &c->f,
            .o = &o,
            .sentences = c->sentences,
            .ids = c->ids,
            .start = c->start,
            .memory = c->memory,
            .bytes = bytes,
        },
        c->out, c->found);
}

#endif
