/* index.c: numbers by name, in a hash table. */
#include <string.h>

#include <xxhash.h>

#include "compiler.h"

struct IndexEntry {
    const char *name;            /* NULL: free */
    uint64_t hash;
    int number;
};

/* The entry of a name, or the free one where it belongs. */
static struct IndexEntry *entry_of(const Index *x, const char *name,
                                   uint64_t hash)
{
    const size_t mask = (size_t)x->cap - 1;
    size_t i = hash & mask;

    while (x->at[i].name
           && (x->at[i].hash != hash || strcmp(x->at[i].name, name)))
        i = (i + 1) & mask;
    return &x->at[i];
}

int index_find(const Index *x, const char *name)
{
    if (!x->n)
        return -1;
    const struct IndexEntry *e = entry_of(x, name,
                                          XXH64(name, strlen(name), 0));
    return e->name ? e->number : -1;
}

/* At least half of the entries are free. */
static void make_room(Arena *a, Index *x)
{
    const Index old = *x;

    if (2 * (x->n + 1) <= x->cap)
        return;
    x->cap = old.cap ? 2 * old.cap : 16;
    x->at = arena_alloc(a, (size_t)x->cap * sizeof *x->at);
    for (int i = 0; i < old.cap; i++)
        if (old.at[i].name)
            *entry_of(x, old.at[i].name, old.at[i].hash) = old.at[i];
}

int index_add(Arena *a, Index *x, const char *name, int number)
{
    const uint64_t hash = XXH64(name, strlen(name), 0);

    make_room(a, x);
    struct IndexEntry *e = entry_of(x, name, hash);
    if (!e->name) {
        *e = (struct IndexEntry){ name, hash, number };
        x->n++;
    }
    return e->number;
}
