/* index.c: maps names to numbers. A list stores the names in order of
 * insertion, and a hash table maps each name to its place in the list. */
#include <string.h>

#include <xxhash.h>

#include "base/base.h"

struct IndexSlot {
    uint32_t hash;
    int at; /* index in the list plus 1; 0: the slot is free */
};

static uint32_t hash_of(const void *key, size_t bytes)
{
    return (uint32_t)XXH3_64bits(key, bytes);
}

/* Returns the slot of a key, or the free slot where it would go. */
static struct IndexSlot *slot_of(const Index *x, const void *key, size_t bytes,
                                 uint32_t hash)
{
    const uint32_t mask = (uint32_t)x->slots - 1;
    uint32_t i = hash & mask;

    for (; x->slot[i].at; i = (i + 1) & mask) {
        const IndexEntry *e = &x->list.at[x->slot[i].at - 1];
        if (x->slot[i].hash == hash && e->bytes == bytes
            && !memcmp(e->name, key, bytes))
            break;
    }
    return &x->slot[i];
}

int index_find_key(const Index *x, const void *key, size_t bytes)
{
    if (!x->slots)
        return -1;
    const struct IndexSlot *s = slot_of(x, key, bytes, hash_of(key, bytes));
    return s->at ? x->list.at[s->at - 1].number : -1;
}

int index_find(const Index *x, const char *name)
{
    return index_find_key(x, name, strlen(name));
}

/* Doubles the table if more than a quarter of the slots would be taken, so that
 * a lookup of an absent name ends after one or two probes. Rehashing compares
 * no names, because all of them differ. */
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

int index_add_key(Arena *a, Index *x, const void *key, size_t bytes, int number)
{
    const uint32_t hash = hash_of(key, bytes);

    make_room(a, x);
    struct IndexSlot *s = slot_of(x, key, bytes, hash);
    if (!s->at) {
        const IndexEntry entry = { key, bytes, number };
        vec_push(a, &x->list, entry);
        *s = (struct IndexSlot){ hash, x->list.n };
    }
    return x->list.at[s->at - 1].number;
}

int index_add(Arena *a, Index *x, const char *name, int number)
{
    return index_add_key(a, x, name, strlen(name), number);
}
