/* cache_test.c: tests paged caches against a model that copies everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fake_model.h"

enum { Slots = 5, Length = 290, Rows = 40, Steps = 4000 };

typedef struct { /* each slot's tokens, without sharing */
    int32_t token[Slots][Length];
    int64_t length[Slots];
} Naive;

static struct attn_model *model(void)
{
    static Fake f;
    fake_make(&f, ATTN_ENCODER_DECODER, 10, 1);
    return &f.model;
}

static uint32_t random_below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static struct attn_batch view(const struct attn_cache *c)
{
    struct attn_batch b = { 0 };
    attn_cache_bind(c, 0, &b);
    return b;
}

static int64_t pages(int64_t length)
{
    return (length + 63) / 64;
}

/* Counts, contents from the first that is still read; a page that may be
 * written has one reader.                                                   */
static void check_group(const struct attn_cache *c,
                        const struct attn_cache_group *g, const Naive *naive)
{
    struct attn_batch b = view(c);
    int32_t *readers = calloc((size_t)g->pages, sizeof *readers);
    int64_t in_use = 0;

    for (int64_t s = 0; s < c->slots; s++) {
        int64_t first = attn_cache_first(&g->is, c->length[s]);
        assert_true(g->first[s] <= first);
        assert_int_equal(c->length[s], naive->length[s]);
        for (int64_t q = g->first[s]; q < pages(c->length[s]); q++)
            readers[g->table[s * c->width + q]]++;
        for (int64_t p = 64 * first; p < naive->length[s]; p++)
            assert_int_equal(fake_read(model(), (int)g->which, &b, s, p),
                             naive->token[s][p]);
    }
    for (int64_t p = 0; p < g->pages; p++) {
        assert_int_equal(readers[p], g->refs[p]);
        in_use += readers[p] > 0;
    }
    assert_int_equal(g->free_count, g->pages - in_use);
    for (int64_t i = 0; i < g->free_count; i++)
        assert_int_equal(g->refs[g->free_list[i]], 0);
    free(readers);
}

static void check(const struct attn_cache *c, const Naive *naive)
{
    assert_int_equal(c->groups, 2);
    for (int i = 0; i < c->groups; i++)
        check_group(c, &c->group[i], naive);
}

static void grow(struct attn_cache *c, Naive *naive, int64_t s, int64_t n,
                 uint32_t *state)
{
    struct attn_batch b = view(c);
    if (naive->length[s] + n > Length)
        return;
    assert_int_equal(attn_cache_grow(c, s, n), 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t p = naive->length[s];
        int32_t token = (int32_t)random_below(state, 1000);
        fake_write(model(), ATTN_SELF, &b, s, p, token);
        fake_write(model(), FakeWindow, &b, s, p, token);
        naive->token[s][p] = token;
        naive->length[s]++;
    }
}

static void fork(struct attn_cache *c, Naive *naive, uint32_t *state)
{
    static int32_t scratch[Slots * (5 + 2)];
    int32_t parent[Slots];
    Naive *old = malloc(sizeof *old);
    int64_t n = 1 + random_below(state, Slots);
    *old = *naive;
    memset(naive, 0, sizeof *naive);
    for (int64_t i = 0; i < n; i++) {
        parent[i] = (int32_t)random_below(state, Slots);
        naive->length[i] = old->length[parent[i]];
        memcpy(naive->token[i], old->token[parent[i]], sizeof naive->token[i]);
    }
    attn_cache_reorder(c, parent, n, Slots, scratch);
    free(old);
}

/* Removes and adds the last row, like a stream that reads its last token again.
 */
static void read_again(struct attn_cache *c, Naive *naive, int64_t s,
                       uint32_t *state)
{
    if (naive->length[s] == 0)
        return;
    naive->length[s]--;
    attn_cache_cut(c, s, naive->length[s]);
    grow(c, naive, s, 1, state);
}

/* Tests that slots * width pages are always enough, whatever is forked, grown,
 * read again and released; with a window, the pages of the window and the new
 * rows. */
static void test_forks(void **unused)
{
    (void)unused;
    const struct attn_cache_size size = { ATTN_SELF, Slots, Length, 0, Rows };
    uint32_t state = 7;
    Naive *naive = calloc(1, sizeof *naive);
    struct attn_cache c;
    int64_t bytes = attn_cache_bytes(model(), &size);
    char *memory = malloc((size_t)bytes + 4);

    memset(memory, 0xff, (size_t)bytes + 4); /* NaN everywhere */
    attn_cache_init(&c, model(), &size, memory + 4);
    assert_int_equal(c.group[0].pages, Slots * 5);
    assert_int_equal(c.group[1].pages, Slots * 3); /* of 70 + 40 positions */
    for (int step = 0; step < Steps; step++) {
        int64_t s = random_below(&state, Slots);
        uint32_t what = random_below(&state, 20);
        if (what == 0) {
            attn_cache_release(&c, s);
            naive->length[s] = 0;
        } else if (what < 3) {
            fork(&c, naive, &state);
        } else if (what == 3) {
            read_again(&c, naive, s, &state);
        } else {
            grow(&c, naive, s, 1 + random_below(&state, what < 7 ? Rows : 9),
                 &state);
        }
        if (step % 8 == 0)
            check(&c, naive);
    }
    for (int64_t s = 0; s < Slots; s++)
        attn_cache_release(&c, s);
    for (int i = 0; i < c.groups; i++)
        assert_int_equal(c.group[i].free_count, c.group[i].pages);
    free(memory);
    free(naive);
}

/* Tests that a page with one child moves; of two writers one copies the used
 * part. */
static void test_copies(void **unused)
{
    (void)unused;
    struct attn_cache c;
    int32_t scratch[16];
    int32_t one[2] = { 0, 0 };
    int64_t bytes = attn_cache_bytes(model(), &(struct attn_cache_size){
                                                  ATTN_SELF, 2, 128, 0, 0 });
    char *memory = malloc((size_t)bytes);

    attn_cache_init(&c, model(),
                    &(struct attn_cache_size){ ATTN_SELF, 2, 128, 0, 0 },
                    memory);
    struct attn_cache_group *g = &c.group[0];
    assert_int_equal(attn_cache_grow(&c, 0, 20), 0);
    int32_t page = g->table[0];
    attn_cache_reorder(&c, one, 1, 2, scratch);
    assert_int_equal(attn_cache_grow(&c, 0, 1), 0);
    assert_int_equal(g->table[0], page);

    attn_cache_reorder(&c, one, 2, 2, scratch);
    assert_int_equal(g->table[c.width], page);
    const int64_t floats = g->is.page_bytes / (int64_t)sizeof(float);
    for (int64_t i = 0; i < floats; i++)
        attn_cache_page(g, page)[i] = 1.0f;
    memset(attn_cache_page(g, g->free_list[g->free_count - 1]), 0,
           (size_t)g->is.page_bytes);
    assert_int_equal(attn_cache_grow(&c, 0, 1), 0);
    assert_int_not_equal(g->table[0], page);
    assert_int_equal(attn_cache_grow(&c, 1, 1), 0);
    assert_int_equal(g->table[c.width], page);

    /* 21 positions: 2 of 4 key panels, 21 of 64 value rows, of each block */
    int64_t copied = 0;
    for (int64_t i = 0; i < floats; i++)
        copied += attn_cache_page(g, g->table[0])[i] == 1.0f;
    assert_int_equal(copied, 2 * (2 * 16 * 3 + 21 * 16));
    free(memory);
}

/* Tests that a page whose elements are bf16 is copied in half the bytes. */
static void test_copies_bf16(void **unused)
{
    (void)unused;
    struct attn_cache c;
    struct attn_model m = *model();
    int32_t scratch[16], both[2] = { 0, 0 };
    const struct attn_cache_size size = { ATTN_SELF, 2, 128, 0, 0 };
    m.cache[ATTN_SELF].format = ATTN_CACHE_BF16;
    m.cache[ATTN_SELF].page_bytes /= 2;
    char *memory = malloc((size_t)attn_cache_bytes(&m, &size));

    attn_cache_init(&c, &m, &size, memory);
    const struct attn_cache_group *g = &c.group[0];
    assert_int_equal(attn_cache_grow(&c, 0, 20), 0);
    attn_cache_reorder(&c, both, 2, 2, scratch);
    memset(g->pool, 0, (size_t)(g->pages * g->is.page_bytes));
    memset(attn_cache_page(g, g->table[0]), 1, (size_t)g->is.page_bytes);
    const int32_t page = g->table[0];
    assert_int_equal(attn_cache_grow(&c, 0, 1), 0);
    assert_int_not_equal(g->table[0], page);

    const char *at = (const char *)attn_cache_page(g, g->table[0]);
    int64_t copied = 0;
    for (int64_t i = 0; i < g->is.page_bytes; i++)
        copied += at[i] == 1;
    assert_int_equal(copied, 2 * 2 * (2 * 16 * 3 + 20 * 16));
    free(memory);
}

/* Tests that scales are copied with their rows of a page in int8. */
static void test_copies_int8(void **unused)
{
    (void)unused;
    struct attn_cache c;
    struct attn_model m = *model();
    int32_t scratch[16], both[2] = { 0, 0 };
    const struct attn_cache_size size = { ATTN_SELF, 2, 128, 0, 0 };
    m.cache[ATTN_SELF].format = ATTN_CACHE_INT8;
    m.cache[ATTN_SELF].page_bytes /= 4;
    m.cache[ATTN_SELF].page_bytes += 2 * 2 * 64 * (int64_t)sizeof(float);
    char *memory = malloc((size_t)attn_cache_bytes(&m, &size));

    attn_cache_init(&c, &m, &size, memory);
    const struct attn_cache_group *g = &c.group[0];
    assert_int_equal(attn_cache_grow(&c, 0, 20), 0);
    attn_cache_reorder(&c, both, 2, 2, scratch);
    memset(g->pool, 0, (size_t)(g->pages * g->is.page_bytes));
    memset(attn_cache_page(g, g->table[0]), 1, (size_t)g->is.page_bytes);
    assert_int_equal(attn_cache_grow(&c, 0, 1), 0);

    const char *at = (const char *)attn_cache_page(g, g->table[0]);
    int64_t copied = 0;
    for (int64_t i = 0; i < g->is.page_bytes; i++)
        copied += at[i] == 1;
    assert_int_equal(copied, 2 * (2 * 16 * 3 + 20 * 16 + 2 * 20 * 4));
    assert_int_equal(at[64 * (3 + 16) + 20 * 4 - 1], 1);
    assert_int_equal(at[64 * (3 + 16) + 20 * 4], 0);
    free(memory);
}

static void test_no_room(void **unused)
{
    (void)unused;
    struct attn_cache c;
    int64_t bytes = attn_cache_bytes(model(), &(struct attn_cache_size){
                                                  ATTN_SELF, 2, 128, 2, 0 });
    char *memory = malloc((size_t)bytes);
    attn_cache_init(&c, model(),
                    &(struct attn_cache_size){ ATTN_SELF, 2, 128, 2, 0 },
                    memory);
    assert_int_equal(c.group[0].pages, 2);
    assert_int_equal(attn_cache_grow(&c, 0, 129), -1); /* the table */
    assert_int_equal(attn_cache_grow(&c, 0, 65), 0);
    assert_int_equal(attn_cache_grow(&c, 1, 1), -1); /* the pages */
    assert_int_equal(c.length[1], 0);
    attn_cache_release(&c, 0);
    assert_int_equal(attn_cache_grow(&c, 1, 128), 0);
    free(memory);

    assert_int_equal(attn_cache_bytes(model(),
                                      &(struct attn_cache_size){
                                          ATTN_SELF, INT64_MAX, 1, 0, 0 }),
                     -1);
    assert_int_equal(attn_cache_bytes(model(),
                                      &(struct attn_cache_size){
                                          ATTN_SELF, 1, INT64_MAX, 0, 0 }),
                     -1);
    assert_int_equal(attn_cache_bytes(model(),
                                      &(struct attn_cache_size){
                                          ATTN_SELF, 1 << 30, 1 << 30, 0, 0 }),
                     -1);
    assert_int_equal(attn_cache_bytes(model(),
                                      &(struct attn_cache_size){ ATTN_SELF, -1,
                                                                 1, 0, 0 }),
                     -1);
    assert_true(
        attn_cache_bytes(model(),
                         &(struct attn_cache_size){ ATTN_SELF, 0, 0, 0, 0 })
        >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forks),       cmocka_unit_test(test_copies),
        cmocka_unit_test(test_copies_bf16), cmocka_unit_test(test_copies_int8),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
