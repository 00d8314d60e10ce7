/* answers.h: opens a model by any backend and computes its answers, for tests
 * of real models. Included after cmocka's headers. */
#ifndef ATTNC_ANSWERS_H
#define ATTNC_ANSWERS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"

/* Returns 64-byte aligned memory of the arena, full of NaN. */
static inline void *nan_block(Arena *a, int64_t bytes)
{
    assert_true(bytes >= 0);
    uintptr_t at = (uintptr_t)arena_alloc(a, (size_t)bytes + 64);
    void *p = (void *)((at + 63) / 64 * 64);
    memset(p, 0xff, (size_t)bytes);
    return p;
}

typedef struct { /* how a model is compiled */
    const char *name, *backend;
    bool unfused;
} Way;

static const Way all_ways[] = {
    { "jit", "jit", false },
    { "jit, unfused", "jit", true },
    { "clang", "clang", false },
    { "clang, unfused", "clang", true },
};
enum { AllWays = sizeof all_ways / sizeof *all_ways };

static inline void open_model(Engine *e, const char *spec, const char *weights,
                              const Way *way)
{
    static const char *const all[] = { "all" };
    EngineOptions o = { .spec = spec,
                        .weights = weights,
                        .backend = way->backend,
                        .passes = { .skip = all, .nskip = way->unfused } };
    assert_int_equal(engine_open(e, &o), ExitDone);
}

/* Answers `n` sources, with found[i] answers to source i. They are in the
 * arena. */
static inline struct attn_hypothesis *
answers(Arena *a, const Engine *e, const struct attn_search_options *o,
        int64_t n, const int32_t *ids, const int32_t *start,
        const int32_t *prefix, int64_t prefix_n, int64_t *found)
{
    const struct attn_model *m = e->backend.model;
    struct attn_hypothesis *out = arena_alloc(a, (size_t)(n * o->results)
                                                     * sizeof *out);
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++)
        if (start[i + 1] - start[i] > longest)
            longest = start[i + 1] - start[i];
    struct attn_search_options forced = *o;
    forced.prefix = prefix;
    forced.prefix_n = prefix_n;
    int64_t bytes = attn_search_bytes(m, &forced, n, start[n], longest);
    void *memory = nan_block(a, bytes);
    assert_int_equal(attn_search(
                         &(struct attn_search_request){
                             .model = m,
                             .bound = e->bound,
                             .o = &forced,
                             .sentences = n,
                             .ids = ids,
                             .start = start,
                             .memory = memory,
                             .bytes = bytes,
                         },
                         out, found),
                     0);
    return out;
}

#endif
