/* batch.c: checks a batch with a table of checks, each of which decides if it
 * applies to the call, then calls the model's inner entry. */
#include "runtime/core.h"

#include <string.h>

struct batch_call { /* one call of an entry */
    const struct attn_model *m;
    const struct attn_batch *b;
    int decodes;
    int first; /* true if the entry reads the source, false if it reads the
                * target */
};

static int batch_rows(const struct batch_call *c)
{
    int64_t longest = c->m->max_source - c->m->class_token;
    if (c->decodes)
        longest = c->m->max_target;
    return attn_check_starts(c->b->start, c->b->sequences, c->b->rows, longest);
}

static int batch_keys(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    if (c->m->kind != ATTN_ATTENTION)
        return 0;
    if (b->rows > 0 && !b->query)
        return ATTN_ERROR_NULL;
    if (b->key_rows > 0 && (!b->key || !b->value))
        return ATTN_ERROR_NULL;
    return attn_check_starts(b->key_start, b->sequences, b->key_rows,
                             c->m->max_target);
}

/* Checks the token ids, or the pointer to rows of numbers. */
static int batch_input(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int64_t vocab = c->m->target_vocab;
    if (c->m->kind == ATTN_ATTENTION)
        return 0;
    if (c->first && c->m->input_width > 0) {
        if (b->rows > 0 && !b->input)
            return ATTN_ERROR_NULL;
        return 0;
    }
    if (!c->decodes)
        vocab = c->m->source_vocab;
    return attn_check_ids(b->ids, b->rows, vocab);
}

static int batch_types(const struct batch_call *c)
{
    if (!c->first || c->m->types == 0 || !c->b->types)
        return 0;
    return attn_check_ids(c->b->types, c->b->rows, c->m->types);
}

static int batch_prefix(const struct batch_call *c)
{
    const int32_t *prefix = c->b->prefix;
    for (int64_t s = 0; prefix && s < c->b->sequences; s++)
        if (prefix[s] < 0)
            return ATTN_ERROR_LENGTH;
    return 0;
}

/* Checks one cache's row of the page table. The row must have pages for `rows`
 * new positions after `past` earlier ones, and for the earlier positions that
 * the new ones read. */
static int batch_table(const struct batch_call *c, int64_t which, int64_t row,
                       int64_t past, int64_t rows)
{
    const struct attn_batch *b = c->b;
    const struct attn_cache_layout *cache = &c->m->cache[which];
    int64_t n = (past + rows + ATTN_PAGE - 1) / ATTN_PAGE, first = 0;
    if (n == 0 || cache->page_bytes == 0)
        return 0;
    if (!b->pool[which] || !b->pages[which])
        return ATTN_ERROR_NULL;
    if ((uintptr_t)b->pool[which] % ATTN_ALIGN != 0)
        return ATTN_ERROR_ALIGNED;
    if (n > b->table[which] || b->table[which] > ATTN_MOST)
        return ATTN_ERROR_TABLE;
    if (cache->window > 0)
        first = attn_max(past + 1 - cache->window, 0) / ATTN_PAGE;
    int wrong = attn_check_ids(b->pages[which] + row * b->table[which] + first,
                               n - first, b->pool_pages[which]);
    if (wrong)
        return ATTN_ERROR_TABLE;
    return 0;
}

/* Checks all caches with owner `of`: ATTN_SELF or ATTN_CROSS. */
static int batch_pages(const struct batch_call *c, int of, int64_t row,
                       int64_t past, int64_t rows)
{
    int wrong = 0;
    for (int64_t i = 0; i < c->m->caches && wrong == 0; i++)
        if (c->m->cache[i].of == of)
            wrong = batch_table(c, i, row, past, rows);
    return wrong;
}

/* Checks the cross caches, which encode writes. */
static int batch_written(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (c->decodes)
        return 0;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->start[s + 1] - b->start[s];
        if (rows > 0)
            rows += c->m->class_token;
        wrong = batch_pages(c, ATTN_CROSS, s, 0, rows);
    }
    return wrong;
}

/* Checks the self caches, to which decode appends. */
static int batch_past(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (!c->decodes || b->sequences == 0)
        return 0;
    if (!b->past)
        return ATTN_ERROR_NULL;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->start[s + 1] - b->start[s];
        if (b->past[s] < 0 || b->past[s] > c->m->max_target - rows)
            return ATTN_ERROR_LENGTH;
        wrong = batch_pages(c, ATTN_SELF, s, b->past[s], rows);
    }
    return wrong;
}

/* Checks the cross caches, which decode reads. */
static int batch_sources(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    if (!c->decodes || c->m->kind != ATTN_ENCODER_DECODER)
        return 0;
    int wrong = attn_check_ids(b->source, b->sequences, b->sources);
    if (wrong)
        return wrong == ATTN_ERROR_ID ? ATTN_ERROR_TABLE : wrong;
    if (b->sequences > 0 && !b->source_rows)
        return ATTN_ERROR_NULL;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->source_rows[b->source[s]];
        if (rows < 0 || rows > c->m->max_source)
            return ATTN_ERROR_LENGTH;
        wrong = batch_pages(c, ATTN_CROSS, b->source[s], 0, rows);
    }
    return wrong;
}

static int batch_output(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (c->decodes) {
        if (b->selected > b->rows) /* the arena has room for the logits of
                                      each row once */
            return ATTN_ERROR_COUNT;
        wrong = attn_check_ids(b->select, b->selected, b->rows);
        if (b->selected > 0 && !b->output)
            return ATTN_ERROR_NULL;
    } else if (c->m->kind != ATTN_ENCODER_DECODER) {
        if (b->rows > 0 && !b->output)
            return ATTN_ERROR_NULL;
    }
    return wrong == ATTN_ERROR_ID ? ATTN_ERROR_TABLE : wrong;
}

#if ATTN_HAS_FIXED
static int batch_fixed(const struct batch_call *c)
{
    return attn_check_fixed(c->m, c->b, c->decodes, c->m->class_token);
}
#endif

static int (*const batch_checks[])(const struct batch_call *) = {
    batch_rows,    batch_keys, batch_input,   batch_types,  batch_prefix,
    batch_written, batch_past, batch_sources, batch_output,
#if ATTN_HAS_FIXED
    batch_fixed,
#endif
};

/* ---- entries ---- */

/* The input of an inner encode(). It expects each non-empty sequence to begin
 * with rows of zeros for the learned rows, so the input is copied and these
 * rows are inserted. */
struct batch_room {
    int32_t *start, *types;
    float *input;
    void *arena;
};

static int64_t batch_lay_out(struct batch_room *r, const struct attn_model *m,
                             const struct attn_batch *b, struct attn_memory *at)
{
    int64_t rows = b->rows, sequences = b->sequences;
    memset(r, 0, sizeof *r);
    if (m->kind == ATTN_ATTENTION)
        rows = attn_max(rows, b->key_rows);
    if (m->class_token) {
        rows += sequences * m->class_token;
        r->start = attn_take(at, sequences + 1, sizeof *r->start);
        r->types = attn_take(at, rows, sizeof *r->types);
        r->input = attn_take(at, rows, m->input_width * 4);
    }
    r->arena = attn_take(
        at, m->arena_bytes(rows, sequences, attn_parts(b->parallel)), 1);
    return attn_memory_bytes(at);
}

ATTN_API int64_t attn_batch_bytes(const struct attn_model *m,
                                  const struct attn_batch *b)
{
    struct attn_memory at = { NULL, 0 };
    struct batch_room unused;
    if (!b)
        return ATTN_ERROR_NULL;
    int wrong = attn_check_parallel(m, b->parallel);
    if (wrong)
        return wrong;
    if (b->rows < 0 || b->rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (m->kind == ATTN_ATTENTION && b->key_rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (b->sequences < 0 || b->sequences > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    return batch_lay_out(&unused, m, b, &at);
}

/* Copies the rows of sequence s, preceded by rows of zeros for the learned
 * rows. */
static void batch_sequence(const struct batch_room *r,
                           const struct attn_model *m,
                           const struct attn_batch *b, int64_t s)
{
    int64_t width = m->input_width, from = b->start[s], to = r->start[s];
    int64_t n = b->start[s + 1] - from, first = to + m->class_token;
    r->start[s + 1] = (int32_t)to;
    if (n == 0)
        return;
    r->start[s + 1] = (int32_t)(first + n);
    memset(r->types + to, 0, (size_t)(first - to) * sizeof *r->types);
    memset(r->input + to * width, 0, (size_t)((first - to) * width) * 4);
    memcpy(r->input + first * width, b->input + from * width,
           (size_t)(n * width) * 4);
    for (int64_t i = 0; i < n && b->types; i++)
        r->types[first + i] = b->types[from + i];
}

static void batch_with_class(struct attn_batch *to, const struct batch_room *r,
                             const struct attn_model *m,
                             const struct attn_batch *b)
{
    *to = *b;
    r->start[0] = 0;
    for (int64_t s = 0; s < b->sequences; s++)
        batch_sequence(r, m, b, s);
    to->start = r->start;
    to->input = r->input;
    to->rows = r->start[b->sequences];
    if (b->types)
        to->types = r->types;
}

static int batch_run(const struct batch_call *c, const void *bound,
                     void *memory, int64_t bytes)
{
    struct attn_memory at;
    struct batch_room room;
    struct attn_batch with;
    int64_t need = attn_batch_bytes(c->m, c->b);
    void (*entry)(const void *, const struct attn_batch *, void *);
    entry = c->m->encode;
    if (c->decodes)
        entry = c->m->decode;
    if (!entry)
        return ATTN_ERROR_KIND;
    if (need < 0)
        return (int)need;
    if (!memory || (!bound && c->m->weights_bytes > 0))
        return ATTN_ERROR_NULL;
    if (!bound && !c->m->target(NULL)) /* else bind() has found it */
        return ATTN_ERROR_OPEN;
    for (size_t i = 0; i < sizeof batch_checks / sizeof *batch_checks; i++) {
        int wrong = batch_checks[i](c);
        if (wrong)
            return wrong;
    }
    if (bytes < need)
        return ATTN_ERROR_ROOM;
    attn_memory_open(&at, memory);
    batch_lay_out(&room, c->m, c->b, &at);
    if (c->m->class_token && !c->decodes) {
        batch_with_class(&with, &room, c->m, c->b);
        entry(bound, &with, room.arena);
        return 0;
    }
    entry(bound, c->b, room.arena);
    return 0;
}

ATTN_API int attn_encode_batch(const struct attn_model *m, const void *bound,
                               const struct attn_batch *b, void *memory,
                               int64_t bytes)
{
    struct batch_call c;
    c.m = m;
    c.b = b;
    c.decodes = 0;
    c.first = 1;
    return batch_run(&c, bound, memory, bytes);
}

ATTN_API int attn_decode_batch(const struct attn_model *m, const void *bound,
                               const struct attn_batch *b, void *memory,
                               int64_t bytes)
{
    struct batch_call c;
    c.m = m;
    c.b = b;
    c.decodes = 1;
    c.first = m->kind == ATTN_DECODER;
    return batch_run(&c, bound, memory, bytes);
}
