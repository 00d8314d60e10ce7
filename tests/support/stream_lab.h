/* stream_lab.h: streams of the fake model, in memory of NaN. */
#ifndef STREAM_LAB_H
#define STREAM_LAB_H

#include <stdlib.h>
#include <string.h>

#include "support/fake_model.h"
#include "support/fake_options.h"

enum { Most = 301 }; /* tokens of the fake model's streams */

typedef struct {
    Fake f;
    struct attn_search_options o;
    struct attn_stream s;
    int32_t ids[300];
    void *memory;
    int64_t bytes;
} Lab;

static void lab_make(Lab *l, int64_t kind, uint32_t seed)
{
    memset(l, 0, sizeof *l);
    fake_make(&l->f, kind, 40, seed);
    l->o = options(1);
    for (int32_t i = 0; i < 300; i++)
        l->ids[i] = (i * 7 + (int32_t)seed) % 40;
}

static void *nan_memory(int64_t bytes)
{
    void *memory = malloc((size_t)bytes);
    memset(memory, 0xff, (size_t)bytes);
    return memory;
}

/* Opens it on n ids, in memory of just the right size. */
static void lab_open(Lab *l, int64_t n, int64_t streams)
{
    int64_t rows = l->f.model.kind == ATTN_DECODER ? 0 : n;
    l->bytes = attn_stream_bytes(&l->f.model, &l->o, rows, Most, streams);
    assert_true(l->bytes > 0);
    l->memory = nan_memory(l->bytes);
    assert_int_equal(attn_stream_open(&l->s,
                                      &(struct attn_stream_request){
                                          .model = &l->f.model,
                                          .bound = &l->f,
                                          .o = &l->o,
                                          .ids = l->ids,
                                          .n = n,
                                          .tokens = Most,
                                          .streams = streams,
                                          .memory = l->memory,
                                          .bytes = l->bytes,
                                      }),
                     0);
}

static char *save(const struct attn_stream *s, int64_t *bytes)
{
    *bytes = attn_state_bytes(s);
    char *state = malloc((size_t)*bytes);
    assert_int_equal(attn_state_save(s, 5, state, *bytes - 1), ATTN_ERROR_ROOM);
    assert_int_equal(attn_state_save(s, 5, state, *bytes), *bytes);
    return state;
}

#endif
