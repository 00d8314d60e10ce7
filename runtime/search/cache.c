/* cache.c: reference-counted pages of keys and values, which sequences share.
 *
 * refs[page] is the number of slots whose table contains the page. A slot may
 * write to a page that only it uses. A page used by several slots is full, or
 * is copied before a write; the last of these slots keeps the original. There
 * are never more distinct pages than table entries in use, so slots * width
 * pages are always enough; fewer are enough if a window frees pages.
 *
 * All groups of a cache have the same slots, with the same lengths. */
#include "runtime/core.h"

#include <string.h>

/* Limits for the rows that one call reads: few enough that windows free their
 * pages early, but enough for efficient products. */
enum { CACHE_LEAST_ROWS = 128, CACHE_MOST_ROWS = 512 };

ATTN_API int64_t attn_cache_pages(int64_t length)
{
    return (length + ATTN_PAGE - 1) / ATTN_PAGE;
}

ATTN_API int64_t attn_cache_first(const struct attn_cache_layout *is,
                                  int64_t length)
{
    if (is->window == 0)
        return 0;
    return attn_max(length - is->window, 0) / ATTN_PAGE;
}

/* Returns the maximum pages that a slot holds at the same time. */
static int64_t cache_slot_pages(const struct attn_cache_layout *is,
                                const struct attn_cache_size *size)
{
    int64_t all = attn_cache_pages(size->length);
    if (is->window == 0 || size->rows == 0)
        return all;
    if (is->window > size->length || size->rows > size->length)
        return all;
    /* + 1 because the first position may be the last of its page */
    return attn_min(all, attn_cache_pages(is->window + size->rows - 1) + 1);
}

static void cache_lay_out(struct attn_cache *c, const struct attn_model *m,
                          const struct attn_cache_size *size,
                          struct attn_memory *memory)
{
    const int64_t word = sizeof(int32_t);
    memset(c, 0, sizeof *c);
    c->slots = size->slots;
    c->width = attn_cache_pages(size->length);
    c->length = attn_take(memory, c->slots, word);
    for (int64_t i = 0; i < m->caches; i++) {
        struct attn_cache_group *g = &c->group[c->groups];
        if (m->cache[i].of != size->which)
            continue;
        g->is = m->cache[i];
        g->which = i;
        g->table = attn_take(memory, c->slots * c->width, word);
        g->first = attn_take(memory, c->slots, word);
        g->pages = c->slots * cache_slot_pages(&g->is, size);
        if (size->pages > 0)
            g->pages = attn_min(g->pages, size->pages);
        g->refs = attn_take(memory, g->pages, word);
        g->free_list = attn_take(memory, g->pages, word);
        g->pool = attn_take(memory, g->pages, g->is.page_bytes);
        c->groups++;
    }
}

ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size)
{
    struct attn_memory memory;
    struct attn_cache c;
    if (size->slots < 0 || size->length < 0 || size->slots > INT32_MAX
        || size->length > INT32_MAX || size->pages < 0 || size->rows < 0)
        return -1;
    if (size->slots * attn_cache_pages(size->length) > INT32_MAX)
        return -1; /* a table entry is an int32_t */
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
    memset(c->length, 0, (size_t)c->slots * sizeof(int32_t));
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        memset(g->table, 0, (size_t)(c->slots * c->width) * sizeof(int32_t));
        memset(g->first, 0, (size_t)c->slots * sizeof(int32_t));
        memset(g->refs, 0, (size_t)g->pages * sizeof(int32_t));
        for (int64_t q = 0; q < g->pages; q++) /* takes page 0 first */
            g->free_list[q] = (int32_t)(g->pages - 1 - q);
        g->free_count = g->pages;
    }
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

/* Returns the number of floats of both states of a page, padded. */
static int64_t cache_states_floats(const struct attn_cache_group *g)
{
    return (2 * g->is.states + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

ATTN_API int64_t attn_cache_element(const struct attn_cache_layout *is)
{
    return is->format == ATTN_CACHE_INT8 ? 1
         : is->format == ATTN_CACHE_BF16 ? 2
                                         : 4;
}

ATTN_API int64_t attn_cache_scale(const struct attn_cache_layout *is)
{
    return is->format == ATTN_CACHE_INT8 ? (int64_t)sizeof(float) : 0;
}

ATTN_API float *attn_cache_page(const struct attn_cache_group *g, int64_t page)
{
    return g->pool + page * (g->is.page_bytes / (int64_t)sizeof(float));
}

/* Returns the address of the states that are stored at the end of a page. */
static float *cache_states(const struct attn_cache_group *g, int64_t page)
{
    return attn_cache_page(g, page + 1) - cache_states_floats(g);
}

ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row)
{
    const struct attn_cache_group *g = &c->group[0];
    const int64_t page = g->table[slot * c->width + row / ATTN_PAGE];
    return cache_states(g, page) + row % 2 * g->is.states;
}

ATTN_API void attn_cache_bind(const struct attn_cache *c, int64_t first,
                              struct attn_batch *b)
{
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        b->pool[g->which] = g->pool;
        b->pages[g->which] = g->table + first * c->width;
        b->table[g->which] = c->width;
    }
}

ATTN_API int64_t attn_cache_page_bytes(const struct attn_model *m,
                                       int64_t which)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == which)
            bytes += m->cache[i].page_bytes;
    return bytes;
}

ATTN_API int64_t attn_cache_begun(const struct attn_cache *c, int64_t slot,
                                  int64_t length)
{
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        if (g->is.states > 0 && length < c->length[slot])
            return 0;
        if (attn_cache_first(&g->is, length) < g->first[slot])
            return 0;
    }
    return length;
}

ATTN_API int64_t attn_cache_rows(const struct attn_model *m)
{
    int64_t rows = CACHE_MOST_ROWS;
#if ATTN_HAS_FIXED
    if (m->fixed_target > 0)
        return m->fixed_target;
#endif
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].window > 0)
            rows = attn_min(rows, m->cache[i].window / 4);
    return attn_max(rows / ATTN_PAGE * ATTN_PAGE, CACHE_LEAST_ROWS);
}

static int32_t cache_take_page(struct attn_cache_group *g)
{
    g->free_count--;
    int32_t page = g->free_list[g->free_count];
    g->refs[page] = 1;
    memset(cache_states(g, page), 0,
           (size_t)cache_states_floats(g) * sizeof(float));
    return page;
}

static void cache_drop_page(struct attn_cache_group *g, int32_t page)
{
    g->refs[page]--;
    if (g->refs[page] == 0) {
        g->free_list[g->free_count] = page;
        g->free_count++;
    }
}

/* Copies the first `used` positions of a page: complete panels of 16 keys, the
 * rows of values, and the scales of both. */
static void cache_copy_page(const struct attn_cache_group *g, int32_t to,
                            int32_t from, int64_t used)
{
    const int64_t line = ATTN_PANEL * attn_cache_element(&g->is);
    const int64_t panel = g->is.d_k * line;
    const int64_t scale = attn_cache_scale(&g->is);
    const int64_t keys = (used + ATTN_PANEL - 1) / ATTN_PANEL * panel;
    char *out = (char *)attn_cache_page(g, to);
    const char *in = (const char *)attn_cache_page(g, from);

    memcpy(cache_states(g, to), cache_states(g, from),
           (size_t)cache_states_floats(g) * sizeof(float));
    for (int64_t b = 0; b < g->is.blocks; b++) {
        memcpy(out, in, (size_t)keys);
        out += ATTN_PAGE / ATTN_PANEL * panel;
        in += ATTN_PAGE / ATTN_PANEL * panel;
        for (int64_t v = 0; v < g->is.v_panels; v++) {
            memcpy(out, in, (size_t)(used * line));
            out += ATTN_PAGE * line;
            in += ATTN_PAGE * line;
        }
        for (int64_t part = 0; part < 2; part++) {
            memcpy(out, in, (size_t)(used * scale));
            out += ATTN_PAGE * scale;
            in += ATTN_PAGE * scale;
        }
    }
}

struct cache_growth { /* growth of one slot in one group */
    int32_t *table;
    int64_t first; /* first page that is still read; earlier pages are freed */
    int64_t have, want; /* number of pages before and after */
    int64_t used;       /* rows used in the last page; 0: the page is full */
    int copies; /* the last page must be copied: other slots use it too */
};

static void cache_plan_growth(struct cache_growth *w,
                              const struct attn_cache *c,
                              const struct attn_cache_group *g, int64_t slot,
                              int64_t rows)
{
    int64_t length = c->length[slot];
    w->table = g->table + slot * c->width;
    w->first = attn_max(g->first[slot], attn_cache_first(&g->is, length));
    w->have = attn_cache_pages(length);
    w->want = attn_cache_pages(length + rows);
    w->used = length % ATTN_PAGE;
    w->copies = w->used > 0 && rows > 0 && g->refs[w->table[w->have - 1]] > 1;
}

/* True if there are enough pages, counting those that the growth frees. */
static int cache_has_room(const struct cache_growth *w,
                          const struct attn_cache_group *g, int64_t slot)
{
    int64_t free = g->free_count;
    for (int64_t q = g->first[slot]; q < w->first; q++)
        if (g->refs[w->table[q]] == 1)
            free++;
    return w->want - w->have + w->copies <= free;
}

static void cache_grow_group(const struct cache_growth *w,
                             struct attn_cache_group *g, int64_t slot)
{
    for (int64_t q = g->first[slot]; q < w->first; q++)
        cache_drop_page(g, w->table[q]);
    g->first[slot] = (int32_t)w->first;
    if (w->copies) {
        int32_t shared = w->table[w->have - 1];
        int32_t own = cache_take_page(g);
        cache_copy_page(g, own, shared, w->used);
        cache_drop_page(g, shared);
        w->table[w->have - 1] = own;
    }
    for (int64_t q = w->have; q < w->want; q++)
        w->table[q] = cache_take_page(g);
}

ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows)
{
    struct cache_growth w;
    if (attn_cache_pages(c->length[slot] + rows) > c->width)
        return -1;
    for (int64_t i = 0; i < c->groups; i++) {
        cache_plan_growth(&w, c, &c->group[i], slot, rows);
        if (!cache_has_room(&w, &c->group[i], slot))
            return -1;
    }
    for (int64_t i = 0; i < c->groups; i++) {
        cache_plan_growth(&w, c, &c->group[i], slot, rows);
        cache_grow_group(&w, &c->group[i], slot);
    }
    c->length[slot] += (int32_t)rows;
    return 0;
}

ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot, int64_t length)
{
    int64_t n = attn_cache_pages(c->length[slot]),
            keep = attn_cache_pages(length);
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        for (int64_t q = attn_max(g->first[slot], keep); q < n; q++)
            cache_drop_page(g, g->table[slot * c->width + q]);
        if (length == 0)
            g->first[slot] = 0;
    }
    c->length[slot] = (int32_t)length;
}

ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot)
{
    attn_cache_cut(c, slot, 0);
}

/* Adds a reference to each page of a slot, and copies the page numbers to
 * `table`. */
static void cache_read_again(const struct attn_cache *c,
                             struct attn_cache_group *g, int64_t slot,
                             int32_t *table)
{
    int64_t n = attn_cache_pages(c->length[slot]);
    for (int64_t q = g->first[slot]; q < n; q++) {
        table[q] = g->table[slot * c->width + q];
        g->refs[table[q]]++;
    }
}

ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to)
{
    if (from == to)
        return;
    attn_cache_release(c, to);
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        cache_read_again(c, g, from, g->table + to * c->width);
        g->first[to] = g->first[from];
    }
    c->length[to] = c->length[from];
}

/* Reorders the slots of one group. `length` has the new length of each slot. */
static void cache_reorder_group(struct attn_cache *c,
                                struct attn_cache_group *g,
                                const int32_t *parent, int64_t n, int64_t of,
                                const int32_t *length, int32_t *scratch)
{
    int32_t *first = scratch + n * c->width;
    for (int64_t i = 0; i < n; i++) { /* count the new references first, */
        first[i] = g->first[parent[i]];
        cache_read_again(c, g, parent[i], scratch + i * c->width);
    }
    for (int64_t i = 0; i < of; i++) { /* so that no page in use is freed */
        int64_t pages = attn_cache_pages(c->length[i]);
        for (int64_t q = g->first[i]; q < pages; q++)
            cache_drop_page(g, g->table[i * c->width + q]);
        g->first[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t pages = attn_cache_pages(length[i]);
        for (int64_t q = first[i]; q < pages; q++)
            g->table[i * c->width + q] = scratch[i * c->width + q];
        g->first[i] = first[i];
    }
}

ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n, int64_t of, int32_t *scratch)
{
    int32_t *length = scratch + n * (c->width + 1);
    for (int64_t i = 0; i < n; i++)
        length[i] = c->length[parent[i]];
    for (int64_t i = 0; i < c->groups; i++)
        cache_reorder_group(c, &c->group[i], parent, n, of, length, scratch);
    for (int64_t i = 0; i < of; i++) {
        c->length[i] = 0;
        if (i < n)
            c->length[i] = length[i];
    }
}
