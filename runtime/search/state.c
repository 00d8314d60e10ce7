/* state.c: saves a stream as bytes and restores it: a header, the tokens, then
 * the used part of every page that a later row may read, first of each self
 * cache, then of each cross cache. A restored stream continues with
 * bit-identical results.
 *
 * The same code writes and reads the bytes. */
#include "runtime/core.h"

#include <string.h>

struct state_walk {
    char *to;         /* destination, when saving */
    const char *from; /* source, when restoring */
    int64_t n;        /* number of bytes moved so far */
};

static void state_move(struct state_walk *w, void *memory, int64_t bytes)
{
    if (w->to)
        memcpy(w->to + w->n, memory, (size_t)bytes);
    if (w->from)
        memcpy(memory, w->from + w->n, (size_t)bytes);
    w->n += bytes;
}

/* Pads with zeros, so that the next part is aligned. */
static void state_align(struct state_walk *w)
{
    int64_t end = (w->n + 7) / 8 * 8;
    if (w->to)
        memset(w->to + w->n, 0, (size_t)(end - w->n));
    w->n = end;
}

/* Moves the panels of 16 keys that hold the first `used` keys. Unused lanes are
 * saved as zeros, whatever the page contains. */
static void state_keys(struct state_walk *w, const struct attn_cache_layout *is,
                       char *keys, int64_t used)
{
    const int64_t element = attn_cache_element(is);
    for (int64_t first = 0; first < used; first += ATTN_PANEL) {
        int64_t lanes = attn_min(used - first, ATTN_PANEL);
        for (int64_t d = 0; d < is->d_k; d++) {
            char *at = w->to ? w->to + w->n : NULL;
            state_move(w, keys, ATTN_PANEL * element);
            keys += ATTN_PANEL * element;
            if (at)
                memset(at + lanes * element, 0,
                       (size_t)((ATTN_PANEL - lanes) * element));
        }
    }
}

static void state_page(struct state_walk *w, const struct attn_cache_group *g,
                       char *page, int64_t used)
{
    const int64_t element = attn_cache_element(&g->is);
    const int64_t scale = attn_cache_scale(&g->is);
    for (int64_t b = 0; b < g->is.blocks; b++) {
        state_keys(w, &g->is, page, used);
        page += ATTN_PAGE * g->is.d_k * element;
        for (int64_t v = 0; v < g->is.v_panels; v++) {
            state_move(w, page, used * ATTN_PANEL * element);
            page += ATTN_PAGE * ATTN_PANEL * element;
        }
        for (int64_t part = 0; part < 2; part++) {
            state_move(w, page, used * scale);
            page += ATTN_PAGE * scale;
        }
    }
}

static void state_slot(struct state_walk *w, const struct attn_cache *c,
                       int64_t slot)
{
    const int64_t length = c->length[slot];
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        const int32_t *table = g->table + slot * c->width;
        int64_t at = attn_cache_first(&g->is, length) * ATTN_PAGE;
        for (; at < length; at += ATTN_PAGE)
            state_page(w, g, (char *)attn_cache_page(g, table[at / ATTN_PAGE]),
                       attn_min(length - at, ATTN_PAGE));
    }
}

/* Moves the states of the recurrent layers after the last two rows, because the
 * last row may be read again. */
static void state_steps(struct state_walk *w, const struct attn_cache *c,
                        int64_t slot)
{
    const int64_t length = c->length[slot], states = c->group[0].is.states;
    for (int64_t row = length - 2; row < length && states; row++)
        if (row >= 0)
            state_move(w, attn_cache_state(c, slot, row),
                       states * (int64_t)sizeof(float));
}

/* Moves everything after the header. */
static void state_body(struct state_walk *w, const struct attn_stream *s)
{
    state_move(w, s->tokens, s->n * (int64_t)sizeof *s->tokens);
    state_align(w);
    state_slot(w, &s->room->self, s->slot);
    state_steps(w, &s->room->self, s->slot);
    if (s->model->kind == ATTN_ENCODER_DECODER) {
        state_slot(w, &s->room->cross, 0);
        state_steps(w, &s->room->cross, 0);
    }
}

/* ---- size ---- */

/* Returns the size of a slot's rows in one cache. Keys are in panels of 16; the
 * last panel is padded. */
static int64_t state_group_size(const struct attn_cache_layout *is,
                                int64_t length)
{
    const int64_t rows = length - attn_cache_first(is, length) * ATTN_PAGE;
    const int64_t keys = (rows + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL
                       * is->d_k;
    const int64_t values = rows * ATTN_PANEL * is->v_panels;
    const int64_t states = attn_min(length, 2) * is->states;
    return is->blocks
             * ((keys + values) * attn_cache_element(is)
                + 2 * rows * attn_cache_scale(is))
         + states * (int64_t)sizeof(float);
}

/* Returns the bytes of all caches of ATTN_SELF or of ATTN_CROSS. */
static int64_t state_rows_size(const struct attn_model *m, int of, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == of)
            n += state_group_size(&m->cache[i], rows);
    return n;
}

/* Returns the size of a state with this many tokens, rows in its self cache
 * (`read`), and source rows. */
static int64_t state_size(const struct attn_model *m, int64_t tokens,
                          int64_t read, int64_t source_rows)
{
    int64_t n = (int64_t)sizeof(struct attn_state_header);
    n += (tokens * (int64_t)sizeof(int32_t) + 7) / 8 * 8;
    n += state_rows_size(m, ATTN_SELF, read);
    if (m->kind == ATTN_ENCODER_DECODER)
        n += state_rows_size(m, ATTN_CROSS, source_rows);
    return n;
}

/* ---- hash ---- */

enum {
    STATE_SEED_MODEL = 1,
    STATE_SEED_CONTENTS = 2,
    STATE_SEED_WEIGHTS = 3,
    STATE_SEED_CACHES = 4
};

/* Returns a hash of everything that affects the meaning of a cached number. */
static uint64_t state_model_hash(const struct attn_model *m, uint64_t weights)
{
    int64_t sizes[8];
    sizes[0] = (int64_t)m->weights_hash;
    sizes[1] = (int64_t)weights;
    sizes[2] = m->kind;
    sizes[3] = m->d_model;
    sizes[4] = m->source_vocab;
    sizes[5] = m->target_vocab;
    sizes[6] = (int64_t)m->spec_hash; /* eps, scales, masks, ... */
    sizes[7] = (int64_t)attn_hash(m->cache,
                                  m->caches * (int64_t)sizeof *m->cache,
                                  STATE_SEED_CACHES);
    return attn_hash(sizes, (int64_t)sizeof sizes, STATE_SEED_MODEL);
}

ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed)
{
    return attn_hash(packed, m->weights_bytes, STATE_SEED_WEIGHTS);
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
    return attn_hash((const char *)state + from, bytes - from,
                     STATE_SEED_CONTENTS);
}

/* ---- save ---- */

ATTN_API int64_t attn_state_bytes(const struct attn_stream *s)
{
    int wrong = attn_stream_check(s);
    if (wrong)
        return wrong;
    if (s->o.parallel && s->o.parallel->comm)
        return ATTN_ERROR_RANKS; /* it has the keys of some heads */
    return state_size(s->model, s->n, s->read, s->room->source_rows);
}

ATTN_API int64_t attn_state_save(const struct attn_stream *s, uint64_t weights,
                                 void *out, int64_t cap)
{
    struct attn_state_header h = { 0 };
    struct state_walk w = { 0 };
    h.bytes = attn_state_bytes(s);
    if (h.bytes < 0)
        return h.bytes;
    if (!out)
        return ATTN_ERROR_NULL;
    if ((uintptr_t)out % 8 != 0)
        return ATTN_ERROR_ALIGNED;
    if (h.bytes > cap)
        return ATTN_ERROR_ROOM;
    memcpy(h.magic, "ATTNST04", sizeof h.magic);
    h.model = state_model_hash(s->model, weights);
    h.format = s->model->cache[ATTN_SELF].format;
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

/* ---- restore ---- */

/* True if a stream of this model could have these lengths. */
static int state_lengths_fit(const struct attn_model *m,
                             const struct attn_state_header *h)
{
    const int64_t source = m->kind == ATTN_ENCODER_DECODER;
    if (h->tokens < source || h->tokens > m->max_target + 1)
        return 0; /* an encoder-decoder has a start token */
    if (h->lead < source || h->lead > h->tokens)
        return 0;
    if (h->read < 0 || h->read > attn_min(h->tokens, m->max_target))
        return 0;
    return source ? h->source_rows >= 1 && h->source_rows <= m->max_source
                  : h->source_rows == 0;
}

ATTN_API int attn_state_begins(const void *at, int64_t bytes)
{
    return at && bytes >= 8 && memcmp(at, "ATTNST", 6) == 0;
}

/* Returns NULL if the bytes are complete and unchanged since attn_state_save(),
 * otherwise a message. */
static const char *state_wrong_bytes(const struct attn_state_header *h,
                                     int64_t bytes)
{
    if (!attn_state_begins(h, bytes))
        return "not a saved state: its first bytes are not ATTNST04";
    if ((uintptr_t)h % 8 != 0)
        return "not at a multiple of 8 bytes";
    if (memcmp(h->magic, "ATTNST04", sizeof h->magic) != 0)
        return "saved by another version of attnc: its format is not ATTNST04; "
               "save it again";
    if (bytes < (int64_t)sizeof *h || bytes < h->bytes)
        return "cut short: fewer bytes than it states";
    if (bytes > h->bytes)
        return "damaged: more bytes than it states";
    if (h->hash != state_sum(h, bytes))
        return "damaged: its contents are not what was saved";
    return NULL;
}

ATTN_API const char *attn_state_check(const struct attn_model *m,
                                      uint64_t weights, const void *state,
                                      int64_t bytes)
{
    const struct attn_state_header *h = state;
    const char *wrong = state_wrong_bytes(h, bytes);
    if (wrong)
        return wrong;
    if (h->format != m->cache[ATTN_SELF].format)
        return "saved with a cache in another format, or by another model: set "
               "the spec's `cache` to what it was when the state was saved";
    if (h->model != state_model_hash(m, weights))
        return "saved by another model or with other weights";
    if (!state_lengths_fit(m, h))
        return "forged: its lengths are not of this model";
    if (bytes != state_size(m, h->tokens, h->read, h->source_rows))
        return "forged: it has not the bytes of its lengths";
    if (attn_check_ids((const int32_t *)(h + 1), h->tokens, m->target_vocab))
        return "forged: a token that is not of this model";
    return NULL;
}

/* Grows a slot to `length` positions, in steps of at most `rows`, because the
 * cache has space for no larger step. */
static int state_grow(struct attn_cache *c, int64_t length, int64_t rows)
{
    int wrong = 0;
    for (int64_t n = 0; n < length && wrong == 0; n += rows)
        wrong = attn_cache_grow(c, 0, attn_min(length - n, rows));
    return wrong;
}

/* Fills an empty stream from a checked state. */
static int state_read(struct attn_stream *s, const void *state)
{
    const struct attn_state_header *h = state;
    struct state_walk w = { 0 };
    s->n = h->tokens;
    s->lead = h->lead;
    s->read = h->read;
    if (state_grow(&s->room->self, s->read, attn_cache_rows(s->model)) < 0)
        return ATTN_ERROR_STATE;
    if (s->model->kind == ATTN_ENCODER_DECODER) {
        if (attn_cache_grow(&s->room->cross, 0, h->source_rows) < 0)
            return ATTN_ERROR_STATE;
    }
    w.from = state;
    w.n = (int64_t)sizeof *h;
    state_body(&w, s);
    return 0;
}

ATTN_API int attn_state_restore(struct attn_stream *s,
                                const struct attn_restore_request *r)
{
    const struct attn_state_header *h = r->state;
    struct attn_stream_request empty = { 0 };
    if (attn_state_check(r->model, r->weights, r->state, r->bytes))
        return ATTN_ERROR_STATE;
    if (r->tokens < h->tokens)
        return ATTN_ERROR_LENGTH;
    empty.model = r->model;
    empty.bound = r->bound;
    empty.o = r->o;
    empty.tokens = r->tokens;
    empty.streams = r->streams;
    empty.memory = r->memory;
    empty.bytes = r->memory_bytes;
    int wrong = attn_stream_empty(s, &empty, h->source_rows);
    if (wrong)
        return wrong;
    wrong = state_read(s, r->state);
    if (wrong)
        s->room = NULL; /* closes the stream */
    return wrong;
}
