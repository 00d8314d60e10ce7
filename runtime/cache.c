/* cache.c: pages of keys and values, shared between sequences by counting.
 *
 * refs[page] is the number of slots whose table names the page. A page with
 * one reader may be written; a page with more is full, or open and copied
 * before a write (copy on write, so the last of its readers just keeps it).
 * Distinct pages are never more than table entries in use: slots * width
 * pages are always enough.                                                  */
#include "core.h"

#include <string.h>

static int64_t cache_pages_of(int64_t length)
{
    return (length + ATTN_PAGE - 1) / ATTN_PAGE;
}

static void cache_lay_out(struct attn_cache *c, const struct attn_model *m,
                          const struct attn_cache_size *size,
                          struct attn_memory *memory)
{
    c->slots = size->slots;
    c->width = cache_pages_of(size->length);
    c->table = attn_take(memory, c->slots * c->width, sizeof(int32_t));
    c->pages = c->slots * c->width + size->spare;
    c->page_floats = m->page_floats[size->which];
    c->blocks = m->blocks[size->which];
    c->d_k = m->d_k[size->which];
    c->v_panels = m->v_panels[size->which];
    c->states = m->states[size->which];
    c->length = attn_take(memory, c->slots, sizeof(int32_t));
    c->refs = attn_take(memory, c->pages, sizeof(int32_t));
    c->free_list = attn_take(memory, c->pages, sizeof(int32_t));
    c->pool = attn_take(memory, c->pages,
                        c->page_floats * (int64_t)sizeof(float));
}

ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size)
{
    struct attn_memory memory;
    struct attn_cache c;
    if (size->slots < 0 || size->length < 0 || size->slots > INT32_MAX
        || size->length > INT32_MAX || size->spare > INT32_MAX
        || size->spare < -INT32_MAX)
        return -1;
    if (size->slots * cache_pages_of(size->length) + size->spare > INT32_MAX)
        return -1; /* a table names 2^31 - 1 */
    attn_memory_open(&memory, NULL);
    cache_lay_out(&c, m, size, &memory);
    return attn_memory_bytes(&memory);
}

ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size, void *at)
{
    struct attn_memory memory;
    attn_memory_open(&memory, at);
    cache_lay_out(c, m, size, &memory);
    memset(c->table, 0, (size_t)(c->slots * c->width) * sizeof(int32_t));
    memset(c->length, 0, (size_t)c->slots * sizeof(int32_t));
    memset(c->refs, 0, (size_t)c->pages * sizeof(int32_t));
    for (int64_t i = 0; i < c->pages; i++) /* page 0 is taken first */
        c->free_list[i] = (int32_t)(c->pages - 1 - i);
    c->free_count = c->pages;
}

ATTN_API void attn_cache_take(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size,
                              struct attn_memory *at)
{
    int64_t bytes = attn_cache_bytes(m, size);
    void *memory = attn_take(at, bytes, 1);
    if (memory)
        attn_cache_init(c, m, size, memory);
}

/* Of both states of a page. */
static int64_t cache_states_floats(const struct attn_cache *c)
{
    return (2 * c->states + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

/* Where the states after a page's last rows lie. */
static float *cache_states(const struct attn_cache *c, int64_t page)
{
    return c->pool + (page + 1) * c->page_floats - cache_states_floats(c);
}

ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row)
{
    const int64_t page = c->table[slot * c->width + row / ATTN_PAGE];
    return cache_states(c, page) + row % 2 * c->states;
}

ATTN_API void attn_cache_bind(const struct attn_cache *c, int which,
                              struct attn_batch *b)
{
    b->pool[which] = c->pool;
    b->pages[which] = c->table;
    b->table[which] = c->width;
}

static int32_t cache_take_page(struct attn_cache *c)
{
    c->free_count--;
    int32_t page = c->free_list[c->free_count];
    c->refs[page] = 1;
    memset(cache_states(c, page), 0,
           (size_t)cache_states_floats(c) * sizeof(float));
    return page;
}

static void cache_drop_page(struct attn_cache *c, int32_t page)
{
    c->refs[page]--;
    if (c->refs[page] == 0) {
        c->free_list[c->free_count] = page;
        c->free_count++;
    }
}

/* The first `used` positions: whole panels of 16 keys, rows of values. */
static void cache_copy_page(const struct attn_cache *c, int32_t to,
                            int32_t from, int64_t used)
{
    int64_t panel = c->d_k * ATTN_PANEL;
    int64_t keys = (used + ATTN_PANEL - 1) / ATTN_PANEL * panel;
    float *out = c->pool + to * c->page_floats;
    const float *in = c->pool + from * c->page_floats;

    memcpy(cache_states(c, to), cache_states(c, from),
           (size_t)cache_states_floats(c) * sizeof(float));
    for (int64_t b = 0; b < c->blocks; b++) {
        memcpy(out, in, (size_t)keys * sizeof(float));
        out += ATTN_PAGE / ATTN_PANEL * panel;
        in += ATTN_PAGE / ATTN_PANEL * panel;
        for (int64_t v = 0; v < c->v_panels; v++) {
            memcpy(out, in, (size_t)used * ATTN_PANEL * sizeof(float));
            out += ATTN_PAGE * ATTN_PANEL;
            in += ATTN_PAGE * ATTN_PANEL;
        }
    }
}

ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows)
{
    int32_t *table = c->table + slot * c->width;
    int64_t length = c->length[slot];
    int64_t have = cache_pages_of(length);
    int64_t want = cache_pages_of(length + rows);
    int64_t used = length % ATTN_PAGE;
    if (want > c->width)
        return -1;
    if (used > 0 && rows > 0 && c->refs[table[have - 1]] > 1) {
        if (c->free_count < 1)
            return -1;
        int32_t shared = table[have - 1];
        int32_t own = cache_take_page(c);
        cache_copy_page(c, own, shared, used);
        cache_drop_page(c, shared);
        table[have - 1] = own;
    }
    if (want - have > c->free_count)
        return -1;
    for (int64_t q = have; q < want; q++)
        table[q] = cache_take_page(c);
    c->length[slot] = (int32_t)(length + rows);
    return 0;
}

ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot, int64_t length)
{
    const int32_t *table = c->table + slot * c->width;
    int64_t n = cache_pages_of(c->length[slot]);
    for (int64_t q = cache_pages_of(length); q < n; q++)
        cache_drop_page(c, table[q]);
    c->length[slot] = (int32_t)length;
}

ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot)
{
    attn_cache_cut(c, slot, 0);
}

ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to)
{
    int32_t *table = c->table + to * c->width;
    int64_t n = cache_pages_of(c->length[from]);
    if (from == to)
        return;
    attn_cache_release(c, to);
    for (int64_t q = 0; q < n; q++) {
        table[q] = c->table[from * c->width + q];
        c->refs[table[q]]++;
    }
    c->length[to] = c->length[from];
}

ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n, int32_t *scratch)
{
    int32_t *length = scratch + n * c->width;
    for (int64_t i = 0; i < n; i++) { /* the new readers first, */
        const int32_t *from = c->table + parent[i] * c->width;
        int64_t pages = cache_pages_of(c->length[parent[i]]);
        length[i] = c->length[parent[i]];
        for (int64_t q = 0; q < pages; q++) {
            scratch[i * c->width + q] = from[q];
            c->refs[from[q]]++;
        }
    }
    for (int64_t i = 0; i < c->slots; i++) /* so none is freed here */
        attn_cache_release(c, i);
    for (int64_t i = 0; i < n; i++) {
        int64_t pages = cache_pages_of(length[i]);
        memcpy(c->table + i * c->width, scratch + i * c->width,
               (size_t)pages * sizeof(int32_t));
        c->length[i] = length[i];
    }
}
