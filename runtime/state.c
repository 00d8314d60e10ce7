/* state.c: a stream as bytes, and back. A head, the tokens, then the used part
 * of every page: of the self cache, then of the cross cache. Whoever restores
 * it goes on with the same bits.
 *
 * One walk counts the bytes, writes them and reads them.                    */
#include "core.h"

#include <string.h>

struct state_walk {
    char *to;                    /* saving; NULL: counting, or */
    const char *from;            /* restoring */
    int64_t n;                   /* bytes so far */
};

static void state_move(struct state_walk *w, void *memory, int64_t bytes)
{
    if (w->to)
        memcpy(w->to + w->n, memory, (size_t)bytes);
    if (w->from)
        memcpy(memory, w->from + w->n, (size_t)bytes);
    w->n += bytes;
}

/* Zeros behind what is there, so that the next part is aligned. */
static void state_align(struct state_walk *w)
{
    int64_t end = (w->n + 7) / 8 * 8;
    if (w->to)
        memset(w->to + w->n, 0, (size_t)(end - w->n));
    w->n = end;
}

/* The panels of 16 keys that have any of the first `used`. In the file, lanes
 * behind these are zero, whatever lies there in the page.                   */
static void state_keys(struct state_walk *w, float *keys, int64_t d_k,
                       int64_t used)
{
    for (int64_t first = 0; first < used; first += 16) {
        float *panel = keys + first * d_k;
        int64_t lanes = attn_min(used - first, 16);
        for (int64_t d = 0; d < d_k; d++) {
            char *at = w->to ? w->to + w->n : NULL;
            state_move(w, panel + d * 16, 16 * (int64_t)sizeof(float));
            if (at)
                memset(at + lanes * (int64_t)sizeof(float), 0,
                       (size_t)(16 - lanes) * sizeof(float));
        }
    }
}

static void state_page(struct state_walk *w, const struct attn_cache *c,
                       float *page, int64_t used)
{
    for (int64_t b = 0; b < c->blocks; b++) {
        state_keys(w, page, c->d_k, used);
        page += ATTN_PAGE * c->d_k;
        for (int64_t v = 0; v < c->v_panels; v++) {
            state_move(w, page, used * 16 * (int64_t)sizeof(float));
            page += ATTN_PAGE * 16;
        }
    }
}

static void state_slot(struct state_walk *w, const struct attn_cache *c,
                       int64_t slot)
{
    int64_t length = c->length[slot];
    for (int64_t first = 0; first < length; first += ATTN_PAGE) {
        int64_t page = c->table[slot * c->width + first / ATTN_PAGE];
        state_page(w, c, c->pool + page * c->page_floats,
                   attn_min(length - first, ATTN_PAGE));
    }
}

/* All that follows the head. */
static void state_body(struct state_walk *w, const struct attn_stream *s)
{
    state_move(w, s->tokens, s->n * (int64_t)sizeof *s->tokens);
    state_align(w);
    state_slot(w, &s->room->self, s->slot);
    if (s->model->kind == ATTN_ENCODER_DECODER)
        state_slot(w, &s->room->cross, 0);
    state_align(w);
}

/* ---------------------------------------------------------------- hash --- */

/* Eight bytes at a time; each step can be undone, so that no two blocks that
 * differ in one word have the same hash.                                    */
static uint64_t state_hash(uint64_t h, const void *block, int64_t bytes)
{
    const char *at = block;
    for (int64_t i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    return h;
}

/* Of what a cache's contents mean. */
static uint64_t state_model_hash(const struct attn_model *m, uint64_t weights)
{
    int64_t sizes[15];
    sizes[0] = (int64_t)m->weights_hash;
    sizes[1] = (int64_t)weights;
    sizes[2] = m->kind;
    sizes[3] = m->d_model;
    sizes[4] = m->source_vocab;
    sizes[5] = m->target_vocab;
    for (int c = 0; c < 2; c++) {
        sizes[6 + c] = m->page_floats[c];
        sizes[8 + c] = m->blocks[c];
        sizes[10 + c] = m->d_k[c];
        sizes[12 + c] = m->v_panels[c];
    }
    sizes[14] = (int64_t)m->spec_hash;   /* eps, scales, masks ... */
    return state_hash(1, sizes, (int64_t)sizeof sizes);
}

ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed)
{
    return state_hash(3, packed, m->weights_bytes / 8 * 8);
}

ATTN_API uint64_t attn_state_weights(const struct attn_model *m,
                                     const void *file)
{
    const struct attn_packed_header *h = file;
    const void *packed = attn_packed_weights(file);
    if (!packed || h->weights_bytes != m->weights_bytes)
        return 0;
    return attn_weights_hash(m, packed);
}

static uint64_t state_sum(const void *state, int64_t bytes)
{
    const struct attn_state_header *h = state;
    int64_t from = (int64_t)sizeof h->magic + (int64_t)sizeof h->hash;
    return state_hash(2, (const char *)state + from, bytes - from);
}

/* ---------------------------------------------------------------- save --- */

ATTN_API int64_t attn_state_bytes(const struct attn_stream *s)
{
    struct state_walk w = {0};
    int wrong = attn_stream_check(s);
    if (wrong)
        return wrong;
    w.n = (int64_t)sizeof(struct attn_state_header);
    state_body(&w, s);
    return w.n;
}

ATTN_API int64_t attn_state_save(const struct attn_stream *s, uint64_t weights,
                                 void *out, int64_t cap)
{
    struct attn_state_header h = {0};
    struct state_walk w = {0};
    h.bytes = attn_state_bytes(s);
    if (h.bytes < 0)
        return h.bytes;
    if (!out)
        return ATTN_ERROR_NULL;
    if ((uintptr_t)out % 8 != 0)
        return ATTN_ERROR_ALIGNED;
    if (h.bytes > cap)
        return ATTN_ERROR_ROOM;
    memcpy(h.magic, "ATTNST01", sizeof h.magic);
    h.model = state_model_hash(s->model, weights);
    h.tokens = s->n;
    h.lead = s->lead;
    h.read = s->read;
    h.source_rows = s->room->source_rows;
    memcpy(out, &h, sizeof h);
    w.to = out;
    w.n = (int64_t)sizeof h;
    state_body(&w, s);
    h.hash = state_sum(out, h.bytes);
    memcpy(out, &h, sizeof h);
    return h.bytes;
}

/* ------------------------------------------------------------- restore --- */

ATTN_API const char *attn_state_check(const struct attn_model *m,
                                      uint64_t weights, const void *state,
                                      int64_t bytes)
{
    const struct attn_state_header *h = state;
    if (!state || bytes < (int64_t)sizeof h->magic ||
        memcmp(h->magic, "ATTNST01", sizeof h->magic) != 0)
        return "not a saved state: its first bytes are not ATTNST01";
    if ((uintptr_t)state % 8 != 0)
        return "not at a multiple of 8 bytes";
    if (bytes < (int64_t)sizeof *h || bytes < h->bytes)
        return "cut short: fewer bytes than it states";
    if (bytes != h->bytes || bytes % 8 != 0)
        return "damaged: more bytes than it states";
    if (h->hash != state_sum(state, bytes))
        return "damaged: its contents are not what was saved";
    if (h->model != state_model_hash(m, weights))
        return "saved by another model or with other weights";
    if (h->tokens < 0 || h->tokens > m->max_target + 1 ||
        h->lead < 0 || h->lead > h->tokens ||
        h->read < 0 || h->read > attn_min(h->tokens, m->max_target) ||
        h->source_rows < 0 || h->source_rows > m->max_source)
        return "its lengths are not of this model";
    return NULL;
}

/* Into a stream that is empty. */
static int state_read(struct attn_stream *s, const void *state, int64_t bytes)
{
    const struct attn_state_header *h = state;
    struct state_walk w = {0};
    s->n = h->tokens;
    s->lead = h->lead;
    s->read = h->read;
    if (attn_cache_grow(&s->room->self, 0, s->read) < 0)
        return ATTN_ERROR_STATE;
    if (s->model->kind == ATTN_ENCODER_DECODER) {
        if (attn_cache_grow(&s->room->cross, 0, h->source_rows) < 0)
            return ATTN_ERROR_STATE;
    }
    if (attn_state_bytes(s) != bytes)
        return ATTN_ERROR_STATE;
    w.from = state;
    w.n = (int64_t)sizeof *h;
    state_body(&w, s);
    if (attn_check_ids(s->tokens, s->n, s->model->target_vocab))
        return ATTN_ERROR_STATE;
    return 0;
}

ATTN_API int attn_state_restore(struct attn_stream *s,
                                const struct attn_model *m, const void *bound,
                                const struct attn_search_options *o,
                                uint64_t weights, const void *state,
                                int64_t bytes, int64_t tokens, int64_t streams,
                                void *memory, int64_t memory_bytes)
{
    const struct attn_state_header *h = state;
    if (attn_state_check(m, weights, state, bytes))
        return ATTN_ERROR_STATE;
    if (tokens < h->tokens)
        return ATTN_ERROR_LENGTH;
    int wrong = attn_stream_empty(s, m, bound, o, h->source_rows, tokens,
                                  streams, memory, memory_bytes);
    if (wrong)
        return wrong;
    wrong = state_read(s, state, bytes);
    if (wrong)
        s->room = NULL;                          /* it is not open */
    return wrong;
}
