/* gbnf_set.c: sets of characters, for the classes of a grammar. */
#include "runtime/core.h"

#include <string.h>

ATTN_API int attn_gbnf_add(struct attn_gbnf_set *set, uint32_t lo, uint32_t hi)
{
    int64_t from = 0, to;
    while (from < set->n && set->hi[from] + 1 < lo)
        from++;
    for (to = from; to < set->n && set->lo[to] <= hi + 1; to++) {
        lo = (uint32_t)attn_min(lo, set->lo[to]);
        hi = (uint32_t)attn_max(hi, set->hi[to]);
    }
    if (set->n - to + from + 1 > ATTN_GBNF_RANGES - 1)
        return 0;
    const size_t rest = (size_t)(set->n - to) * sizeof *set->lo;
    memmove(set->lo + from + 1, set->lo + to, rest);
    memmove(set->hi + from + 1, set->hi + to, rest);
    set->n += from + 1 - to;
    set->lo[from] = lo;
    set->hi[from] = hi;
    return 1;
}

ATTN_API void attn_gbnf_invert(struct attn_gbnf_set *set)
{
    struct attn_gbnf_set other;
    uint32_t next = 0;
    other.n = 0;
    for (int64_t i = 0; i < set->n; i++) {
        if (set->lo[i] > next) {
            other.lo[other.n] = next;
            other.hi[other.n] = set->lo[i] - 1;
            other.n++;
        }
        next = set->hi[i] + 1;
    }
    if (next <= ATTN_GBNF_LAST) { /* there is room: add() leaves one free */
        other.lo[other.n] = next;
        other.hi[other.n] = ATTN_GBNF_LAST;
        other.n++;
    }
    *set = other;
}
