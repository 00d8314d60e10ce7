/* prefixes.c: prompts that begin alike are read once. The rows of a prompt that
 * was read stay in a slot of their own. A source whose first tokens are the
 * same begins with these pages. The tokens are compared; what rows depend on
 * beside them is the same for all sources of a queue. */
#include "runtime/core.h"

#include <string.h>

/* Shorter beginnings are not worth a page of their own. */
enum { PREFIX_LEAST = 16 };

/* Returns the number of tokens, up to n, that a prefix and a source have in
 * common. */
static int64_t prefix_common(const struct attn_prefix *x,
                             const struct attn_place *p, int64_t n)
{
    int64_t i = 0;
    n = attn_min(n, x->n);
    while (i < n && x->tokens[i] == attn_queue_token(p, 0, i))
        i++;
    return i;
}

ATTN_API int64_t attn_prefix_take(struct attn_queue *q,
                                  const struct attn_place *p, int64_t slot,
                                  int64_t n)
{
    int64_t best = 0, most = 0;
    for (int64_t i = 0; i < q->prefixes; i++) {
        const int64_t common = attn_cache_begun(&q->self, q->slots + i,
                                                prefix_common(&q->prefix[i], p,
                                                              n));
        if (common > most) {
            most = common;
            best = i;
        }
    }
    if (most < PREFIX_LEAST)
        return 0;
    attn_cache_fork(&q->self, q->slots + best, slot);
    attn_cache_cut(&q->self, slot, most);
    q->time++;
    q->prefix[best].used = q->time;
    return most;
}

/* Frees the prefix that was not used for the longest time. Returns its index.
 */
static int64_t prefix_drop(struct attn_queue *q)
{
    int64_t oldest = -1;
    for (int64_t i = 0; i < q->prefixes; i++)
        if (q->prefix[i].n > 0
            && (oldest < 0 || q->prefix[i].used < q->prefix[oldest].used))
            oldest = i;
    q->prefix_pages -= attn_cache_pages(q->prefix[oldest].n);
    q->prefix[oldest].n = 0;
    attn_cache_release(&q->self, q->slots + oldest);
    return oldest;
}

ATTN_API void attn_prefix_keep(struct attn_queue *q, const struct attn_place *p,
                               int64_t slot)
{
    const int64_t n = q->self.length[slot], pages = attn_cache_pages(n);
    int64_t to = -1;
    if (n < ATTN_PAGE || pages > q->size.prefix_pages)
        return;
    for (int64_t i = 0; i < q->prefixes; i++) {
        if (prefix_common(&q->prefix[i], p, n) == n)
            return;
        if (q->prefix[i].n == 0)
            to = i;
    }
    while (to < 0 || q->prefix_pages + pages > q->size.prefix_pages)
        to = prefix_drop(q);
    attn_cache_fork(&q->self, slot, q->slots + to);
    for (int64_t j = 0; j < n; j++)
        q->prefix[to].tokens[j] = attn_queue_token(p, 0, j);
    q->prefix[to].n = n;
    q->prefix_pages += pages;
    q->time++;
    q->prefix[to].used = q->time;
}

/* Returns the number of tokens before the answer that have to be read. */
static int64_t prefix_lead(const struct attn_queue *q,
                           const struct attn_place *p)
{
    return attn_search_lead(q->model, &p->o, p->rows);
}

ATTN_API int attn_prefix_comes(const struct attn_queue *q, int64_t i,
                               int64_t have)
{
    const struct attn_place *p = attn_queue_seat(q, i);
    const int64_t least = have + ATTN_PAGE;
    if (prefix_lead(q, p) < least)
        return 0;
    for (int64_t k = 0; k < i; k++) {
        const struct attn_place *x = attn_queue_seat(q, k);
        int64_t same = 0;
        if (x->beam.length > x->o.prefix_n || prefix_lead(q, x) < least)
            continue; /* its prompt is read, or short */
        while (same < least
               && attn_queue_token(x, 0, same) == attn_queue_token(p, 0, same))
            same++;
        if (same == least)
            return 1;
    }
    return 0;
}
