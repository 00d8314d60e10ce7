/* fake_model.h: a model whose logits are a hash of all tokens that it has read.
 * It stores every token in every cell of its position in the cache's pages, and
 * reads all cells at each step, so a wrong, missing or stale cell changes the
 * logits. Cells that it has not written may have any value. A second cache
 * keeps only the tokens of the window, which must be the same. */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <math.h>
#include <stdint.h>

#include "runtime/core.h"

typedef struct { /* result of bind() */
    struct attn_model model;
    uint32_t seed;
    int32_t end;
    float end_bias;  /* added to the logit of the end token */
    float spread;    /* logits are in -spread .. spread */
    int nan_every;   /* > 0: every n-th logit is NaN */
    int never_every; /* > 0: every n-th logit is -INFINITY */
    int habit;       /* > 0: all rows but every n-th prefer a token that depends
                      * only on the last two, and of the first only on
                      * its remainder by 3, so the text soon repeats */
    int64_t *calls;  /* calls of decode(), or NULL */
} Fake;

static uint32_t fake_mix(uint32_t h, uint32_t x)
{
    h = (h ^ x) * 0x9e3779b1u;
    return h ^ (h >> 15);
}

static uint32_t fake_hash(uint32_t h, const int32_t *tokens, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        h = fake_mix(h, (uint32_t)tokens[i] + 7);
    return h;
}

static void fake_logits(const Fake *f, uint32_t h, float *logits)
{
    for (int64_t t = 0; t < f->model.target_vocab; t++) {
        uint32_t x = fake_mix(fake_mix(h, (uint32_t)t), 0x85ebca6bu);
        logits[t] = ((float)(x >> 8) / 8388608.0f - 1.0f) * f->spread;
        if (t == f->end)
            logits[t] += f->end_bias;
        if (f->nan_every > 0 && x % (uint32_t)f->nan_every == 0)
            logits[t] = NAN;
        if (f->never_every > 0 && x % (uint32_t)f->never_every == 0)
            logits[t] = -INFINITY;
    }
}

/* Raises the logit of the token that follows two others by habit. `h` is the
 * hash of all tokens. */
static void fake_prefer(const Fake *f, uint32_t h, const int32_t *two,
                        float *logits)
{
    const uint32_t token = fake_hash(f->seed, two, 2);
    if (f->habit > 0 && h % (uint32_t)f->habit != 0)
        logits[3 + token % ((uint32_t)f->model.target_vocab - 3)] +=
            3.0f * f->spread; /* not the end token */
}

static const char *fake_target(const void *bound)
{
    (void)bound;
    return "generic";
}

static float fake_log_sum_exp(const void *bound, const float *x, int64_t n)
{
    (void)bound;
    float largest = -INFINITY, sum = 0.0f;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > largest)
            largest = x[i];
    for (int64_t i = 0; i < n; i++)
        sum += attn_exp(x[i] - largest);
    return largest + attn_log(sum);
}

/* ---- pages ---- */

/* Returns cell c of position p in sequence s: first the keys of each block,
 * then the values. */
static float *fake_cell(const struct attn_model *m, int which,
                        const struct attn_batch *b, int64_t s, int64_t p,
                        int64_t c)
{
    int64_t cells = m->cache[which].d_k + 16 * m->cache[which].v_panels;
    int64_t block = c / cells, in = c % cells, at = p % 64;
    int32_t page = b->pages[which][s * b->table[which] + p / 64];
    float *x = b->pool[which] + page * m->cache[which].page_bytes / 4;

    x += block * 64 * cells;
    if (in < m->cache[which].d_k)
        return x + (at / 16 * m->cache[which].d_k + in) * 16 + at % 16;
    in -= m->cache[which].d_k;
    return x + 64 * m->cache[which].d_k + in / 16 * 64 * 16 + at * 16 + in % 16;
}

static int64_t fake_cells(const struct attn_model *m, int which)
{
    return m->cache[which].blocks
         * (m->cache[which].d_k + 16 * m->cache[which].v_panels);
}

static void fake_write(const struct attn_model *m, int which,
                       const struct attn_batch *b, int64_t s, int64_t p,
                       int32_t token)
{
    for (int64_t c = 0; c < fake_cells(m, which); c++)
        *fake_cell(m, which, b, s, p, c) = (float)(token * 128 + c);
}

/* Returns the token at p, or an invalid number if its cells differ. */
static int32_t fake_read(const struct attn_model *m, int which,
                         const struct attn_batch *b, int64_t s, int64_t p)
{
    float first = *fake_cell(m, which, b, s, p, 0);
    for (int64_t c = 0; c < fake_cells(m, which); c++)
        if (!(*fake_cell(m, which, b, s, p, c) == first + (float)c))
            return 999999;
    return (int32_t)first / 128;
}

static uint32_t fake_read_all(const struct attn_model *m, int which,
                              const struct attn_batch *b, int64_t s, int64_t n,
                              uint32_t h)
{
    for (int64_t p = 0; p < n; p++) {
        int32_t token = fake_read(m, which, b, s, p);
        h = fake_hash(h, &token, 1);
    }
    return h;
}

enum { FakeWindow = 2, FakeReach = 70 };

/* Does the window of position p have what the cache of all has? */
static int fake_window_agrees(const struct attn_model *m,
                              const struct attn_batch *b, int64_t s, int64_t p)
{
    for (int64_t i = p < FakeReach ? 0 : p - FakeReach + 1; i <= p; i++)
        if (fake_read(m, FakeWindow, b, s, i)
            != fake_read(m, ATTN_SELF, b, s, i))
            return 0;
    return 1;
}

/* ---- entries ---- */

static void fake_encode(const void *bound, const struct attn_batch *b,
                        void *arena)
{
    const Fake *f = bound;
    (void)arena;
    for (int64_t s = 0; s < b->sequences; s++)
        for (int64_t r = b->start[s]; r < b->start[s + 1]; r++)
            fake_write(&f->model, ATTN_CROSS, b, s, r - b->start[s], b->ids[r]);
}

static void fake_decode(const void *bound, const struct attn_batch *b,
                        void *arena)
{
    const Fake *f = bound;
    int64_t next = 0;
    (void)arena;
    if (f->calls)
        *f->calls += 1;
    for (int64_t s = 0; s < b->sequences; s++) {
        uint32_t h = fake_mix(f->seed, 1);
        if (f->model.kind == ATTN_ENCODER_DECODER) {
            int64_t source = b->source[s];
            h = fake_read_all(&f->model, ATTN_CROSS, b, source,
                              b->source_rows[source], h);
            h = fake_mix(h, 2);
        }
        for (int64_t r = b->start[s]; r < b->start[s + 1]; r++) {
            int64_t p = b->past[s] + r - b->start[s];
            fake_write(&f->model, ATTN_SELF, b, s, p, b->ids[r]);
            fake_write(&f->model, FakeWindow, b, s, p, b->ids[r]);
            if (!fake_window_agrees(&f->model, b, s, p))
                h = fake_mix(h, 3);
            if (next == b->selected || b->select[next] != r)
                continue;
            float *logits = b->output + next * f->model.target_vocab;
            const uint32_t all = fake_read_all(&f->model, ATTN_SELF, b, s,
                                               p + 1, h);
            const int32_t two[] = {
                p > 0 ? fake_read(&f->model, ATTN_SELF, b, s, p - 1) % 3 : 0,
                b->ids[r]
            };
            fake_logits(f, all, logits);
            fake_prefer(f, all, two, logits);
            next++;
        }
    }
}

static int64_t fake_arena_bytes(int64_t rows, int64_t sequences, int64_t parts)
{
    return rows + sequences + parts;
}

static void fake_cache(struct attn_model *m, int which, int64_t blocks,
                       int64_t d_k, int64_t v_panels)
{
    m->cache[which].blocks = blocks;
    m->cache[which].d_k = d_k;
    m->cache[which].v_panels = v_panels;
    m->cache[which].page_bytes = blocks * 64 * (d_k + 16 * v_panels) * 4;
}

static void fake_make(Fake *f, int64_t kind, int64_t vocab, uint32_t seed)
{
    *f = (Fake){ .seed = seed, .end = 2, .spread = 3.0f };
    f->model = (struct attn_model){
        .name = "fake",
        .kind = kind,
        .source_vocab = 50,
        .target_vocab = vocab,
        .output_columns = vocab,
        .max_source = 300,
        .max_target = 300,
        .arena_bytes = fake_arena_bytes,
        .encode = fake_encode,
        .decode = fake_decode,
        .log_sum_exp = fake_log_sum_exp,
        .target = fake_target,
        .caches = 3,
    };
    f->model.cache[ATTN_CROSS].of = ATTN_CROSS;
    f->model.cache[FakeWindow].of = ATTN_SELF;
    f->model.cache[FakeWindow].window = FakeReach;
    fake_cache(&f->model, FakeWindow, 1, 2, 1);
    fake_cache(&f->model, ATTN_SELF, 2, 3, 1);
    if (kind == ATTN_ENCODER_DECODER)
        fake_cache(&f->model, ATTN_CROSS, 1, 2, 2);
}

#endif
