/* gbnf_set.c: sets of characters, for the classes of a grammar, and the names
 * of its rules. */
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

ATTN_API int32_t *attn_gbnf_find(struct attn_gbnf *g, const char *name,
                                 int64_t n)
{
    const int64_t slots = 2 * g->rules;
    int64_t at = attn_slot(attn_text_hash(name, n), slots);
    for (; g->find[at] != 0; at = (at + 1) % slots) {
        const struct attn_gbnf_rule *r = &g->rule[g->find[at] - 1];
        if (r->bytes == n && memcmp(g->text + r->at, name, (size_t)n) == 0)
            break;
    }
    return &g->find[at];
}
