/* index.c: numbers by name. The names stand in order of their coming; a hash
 * table of a few bytes a name says where.                                   */
#include <string.h>

#include <xxhash.h>

#include "base/base.h"

struct IndexSlot {
    uint32_t hash;
    int at; /* place in the list, from 1; 0: free */
};

static uint32_t hash_of(const char *name)
{
    return (uint32_t)XXH3_64bits(name, strlen(name));
}

/* The slot of a name, or the free one where it belongs. */
static struct IndexSlot *slot_of(const Index *x, const char *name,
                                 uint32_t hash)
{
    const uint32_t mask = (uint32_t)x->slots - 1;
    uint32_t i = hash & mask;

    while (x->slot[i].at
           && (x->slot[i].hash != hash
               || strcmp(x->list.at[x->slot[i].at - 1].name, name)))
        i = (i + 1) & mask;
    return &x->slot[i];
}

int index_find(const Index *x, const char *name)
{
    if (!x->slots)
        return -1;
    const struct IndexSlot *s = slot_of(x, name, hash_of(name));
    return s->at ? x->list.at[s->at - 1].number : -1;
}

/* At least three of four slots are free, so that a name that is absent is told
 * so after one or two. All names differ: none is compared.                   */
static void make_room(Arena *a, Index *x)
{
    const Index old = *x;

    if (4 * (x->list.n + 1) <= x->slots)
        return;
    x->slots = old.slots ? 2 * old.slots : 16;
    x->slot = arena_alloc(a, (size_t)x->slots * sizeof *x->slot);
    for (int i = 0; i < old.slots; i++) {
        const uint32_t mask = (uint32_t)x->slots - 1;
        uint32_t to = old.slot[i].hash & mask;
        while (x->slot[to].at)
            to = (to + 1) & mask;
        if (old.slot[i].at)
            x->slot[to] = old.slot[i];
    }
}

void index_reserve(Arena *a, Index *x, int n)
{
    for (x->slots = 16; x->slots < 4 * (n + 1);)
        x->slots *= 2;
    x->slot = arena_alloc(a, (size_t)x->slots * sizeof *x->slot);
    x->list.cap = n;
    x->list.at = arena_alloc(a, (size_t)n * sizeof *x->list.at);
}

int index_add(Arena *a, Index *x, const char *name, int number)
{
    const uint32_t hash = hash_of(name);

    make_room(a, x);
    struct IndexSlot *s = slot_of(x, name, hash);
    if (!s->at) {
        const IndexEntry entry = { name, number };
        vec_push(a, &x->list, entry);
        *s = (struct IndexSlot){ hash, x->list.n };
    }
    return x->list.at[s->at - 1].number;
}
