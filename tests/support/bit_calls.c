/* bit_calls.c: calls the model m of m.h, of any kind, with invented sequences,
 * at once and by steps, and prints the bits of all results, one number per
 * line. KIND is the model's. tests/models/machines_test.c compiles it for
 * several machines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

enum { Sequences = 2 };

static const struct attn_model *m;
static void *bound;
static uint32_t seed = 1;

static uint32_t next(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static void *memory(int64_t bytes)
{
    const size_t size = ((size_t)bytes + 127) / 64 * 64;
    void *p = aligned_alloc(64, size);
    if (!p)
        exit(5);
    return memset(p, 0xff, size);
}

static int32_t *ids(int64_t n, int64_t vocab)
{
    int32_t *id = memory(n * (int64_t)sizeof *id);
    for (int64_t i = 0; i < n; i++)
        id[i] = (int32_t)(next() % (uint32_t)(vocab > 0 ? vocab : 1));
    return id;
}

static int32_t *counted(int64_t n)
{
    int32_t *x = memory(n * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)i;
    return x;
}

static void print_bits(const char *what, const float *x, int64_t n)
{
    printf("%s %d\n", what, (int)n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        printf("%08x\n", (unsigned)bits);
    }
}

/* Returns a short length, or one of several pages if the model allows it. */
static int64_t length(int64_t i, int64_t most)
{
    const int64_t n = i ? 70 : 5;
    return n < most ? n : most;
}

static int32_t *starts(int64_t most)
{
    int32_t *start = memory((Sequences + 1) * (int64_t)sizeof *start);
    start[0] = 0;
    for (int64_t i = 0; i < Sequences; i++)
        start[i + 1] = start[i] + (int32_t)length(i, most);
    return start;
}

/* Pages of all sequences, in order. */
static void open_caches(struct attn_batch *b)
{
    const int64_t rows = m->max_source > m->max_target ? m->max_source
                                                       : m->max_target;
    const int64_t pages = rows / ATTN_PAGE + 2;
    for (int64_t c = 0; c < m->caches; c++) {
        b->pool[c] = memory(Sequences * pages * m->cache[c].page_bytes);
        b->pages[c] = counted(Sequences * pages);
        b->table[c] = pages;
        b->pool_pages[c] = Sequences * pages;
    }
}

static void check(int error)
{
    if (error == 0)
        return;
    fprintf(stderr, "%s\n", m_error_text(error));
    exit(1);
}

#if KIND != 2 /* ATTN_DECODER */
static float *numbers(int64_t n)
{
    float *x = memory(n * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)next() * 0x1p-22f - 2.0f;
    return x;
}

static void encode(struct attn_batch *b)
{
    const int64_t columns = m->output_columns;
    const int32_t *start = starts(m->max_source);
    b->sequences = Sequences;
    b->rows = start[Sequences];
    b->start = start;
    b->ids = ids(b->rows, m->source_vocab);
    if (m->input_width)
        b->input = numbers(b->rows * m->input_width);
    if (m->kind == ATTN_ATTENTION) {
        b->query = numbers(b->rows * m->d_model);
        b->key_start = starts(m->max_target);
        b->key_rows = b->key_start[Sequences];
        b->key = numbers(b->key_rows * m->d_model);
        b->value = numbers(b->key_rows * m->d_model);
    }
    const int64_t rows = m->output_pooled ? Sequences : b->rows;
    b->output = memory(rows * columns * 4);
    const int64_t bytes = m_batch_bytes(b);
    check(m_encode_batch(bound, b, memory(bytes), bytes));
    if (m->kind != ATTN_ENCODER_DECODER)
        print_bits("encode", b->output, rows * columns);
}
#endif

#if KIND % 2 == 0 /* ATTN_ENCODER_DECODER, ATTN_DECODER */
/* Decodes rows from `from` of all sequences that have them, `most` of each. */
static int64_t decode_some(const struct attn_batch *of, const int32_t *id,
                           const int32_t *at, int32_t from, int32_t most)
{
    struct attn_batch b = *of;
    int32_t start[Sequences + 1] = { 0 }, past[Sequences], which[Sequences];
    int32_t *taken = memory((int64_t)at[Sequences] * 4);
    const int32_t *pages[ATTN_CACHES];
    b.sequences = 0;
    b.rows = 0;
    for (int32_t i = 0; i < Sequences; i++) {
        const int32_t left = at[i + 1] - at[i] - from;
        for (int32_t r = 0; r < left && r < most; r++)
            taken[b.rows++] = id[at[i] + from + r];
        if (left <= 0)
            continue;
        for (int64_t c = 0; b.sequences == 0 && c < m->caches; c++)
            pages[c] = of->pages[c]
                     + (m->cache[c].of == ATTN_SELF) * i * of->table[c];
        past[b.sequences] = from;
        which[b.sequences++] = i;
        start[b.sequences] = (int32_t)b.rows;
    }
    if (b.rows == 0)
        return 0;
    memcpy(b.pages, pages, sizeof pages);
    b.start = start;
    b.ids = taken;
    b.past = past;
    b.source = which;
    b.select = counted(b.rows);
    b.selected = b.rows;
    b.output = memory(b.rows * m->output_columns * 4);
    const int64_t bytes = m_batch_bytes(&b);
    check(m_decode_batch(bound, &b, memory(bytes), bytes));
    print_bits("decode", b.output, b.rows * m->output_columns);
    return b.rows;
}

static void decode(const struct attn_batch *encoded)
{
    struct attn_batch b = { 0 };
    int32_t *at = starts(m->max_target), sources[Sequences];
    const int32_t *id = ids(at[Sequences], m->target_vocab);
    for (int64_t i = 0; encoded->start && i < Sequences; i++)
        sources[i] = encoded->start[i + 1] - encoded->start[i];
    memcpy(b.pool, encoded->pool, sizeof b.pool);
    memcpy(b.pages, encoded->pages, sizeof b.pages);
    memcpy(b.table, encoded->table, sizeof b.table);
    memcpy(b.pool_pages, encoded->pool_pages, sizeof b.pool_pages);
    b.source_rows = encoded->start ? sources : NULL;
    b.sources = encoded->start ? Sequences : 0;
    int32_t from = 3;
    decode_some(&b, id, at, 0, from);
    decode_some(&b, id, at, from++, 1);
    while (decode_some(&b, id, at, from, 60))
        from += 60;
}
#endif

int main(void)
{
    struct attn_batch b = { 0 };
    int64_t bytes;
    m = m_model();
    bound = memory(m->bound_bytes);
    const void *file = m_embedded(&bytes);
    const char *wrong = m_bind(bound, file, bytes);
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        return 3;
    }
    open_caches(&b);
#if KIND != 2
    encode(&b);
#endif
#if KIND % 2 == 0
    decode(&b);
#endif
    return 0;
}
