/* sampling.c: draws a token from a row of logits. The same seed draws the same
 * token on every machine: exp is that of math.c, sums have a fixed order, and
 * equal logits are ordered by token id. */
#include "runtime/core.h"

#include <math.h>

struct sampling {
    const struct attn_sampling *o;
    const float *logits;
    int32_t *order; /* [n] the first heap_n: a heap; then the tokens removed
                     * from it */
    int64_t n, heap_n;
    float largest;
};

ATTN_API int attn_sampling_fits(const struct attn_sampling *o)
{
    if (!(o->temperature >= 0.0f) || o->temperature == INFINITY)
        return 0;
    if (!(o->top_p >= 0.0f) || !(o->top_p <= 1.0f))
        return 0;
    if (!(o->min_p >= 0.0f) || !(o->min_p <= 1.0f))
        return 0;
    return o->top_k >= 0;
}

/* ---- random bits ---- */

static uint64_t sampling_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Returns a number from SplitMix64 [Steele, Lea, Flood 2014], here a function
 * of a counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter)
{
    const uint64_t gamma = 0x9e3779b97f4a7c15ull;
    uint64_t x = sampling_mix((uint64_t)seed + gamma);
    x = sampling_mix(x + ((uint64_t)counter + 1) * gamma);
    return (double)(int64_t)(x >> 11) * 0x1p-53;
}

/* ---- order ---- */

static int sampling_before(const struct sampling *s, int32_t a, int32_t b)
{
    if (s->logits[a] == s->logits[b])
        return a < b;
    return s->logits[a] > s->logits[b];
}

static void sampling_down(struct sampling *s, int64_t at)
{
    int32_t token = s->order[at];
    for (;;) {
        int64_t below = 2 * at + 1;
        if (below >= s->heap_n)
            break;
        if (below + 1 < s->heap_n) {
            if (sampling_before(s, s->order[below + 1], s->order[below]))
                below++;
        }
        if (!sampling_before(s, s->order[below], token))
            break;
        s->order[at] = s->order[below];
        at = below;
    }
    s->order[at] = token;
}

/* Makes a heap of all tokens that are not forbidden. */
static void sampling_begin(struct sampling *s, int64_t vocab)
{
    s->n = 0;
    for (int64_t t = 0; t < vocab; t++) {
        if (s->logits[t] > -INFINITY) {
            s->order[s->n] = (int32_t)t;
            s->n++;
        }
    }
    s->heap_n = s->n;
    for (int64_t i = s->n / 2 - 1; i >= 0; i--)
        sampling_down(s, i);
    if (s->n > 0)
        s->largest = s->logits[s->order[0]];
}

/* Returns the i-th best token. Sorts only as far as necessary. */
static int32_t sampling_at(struct sampling *s, int64_t i)
{
    while (s->n - s->heap_n <= i) {
        int32_t first = s->order[0];
        s->heap_n--;
        s->order[0] = s->order[s->heap_n];
        s->order[s->heap_n] = first;
        if (s->heap_n > 1)
            sampling_down(s, 0);
    }
    return s->order[s->n - 1 - i];
}

/* ---- mass ---- */

/* Returns a token's probability divided by that of the best token. */
static double sampling_weight(const struct sampling *s, int32_t token)
{
    float x = (s->logits[token] - s->largest) / s->o->temperature;
    return (double)attn_exp(x);
}

static double sampling_sum(struct sampling *s, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += sampling_weight(s, sampling_at(s, i));
    return sum;
}

/* Returns the sum of the weights of all tokens, in the order of their ids, so
 * that the heap need not be sorted. */
static double sampling_sum_all(const struct sampling *s, int64_t vocab)
{
    double sum = 0.0;
    for (int64_t t = 0; t < vocab; t++)
        if (s->logits[t] > -INFINITY)
            sum += sampling_weight(s, (int32_t)t);
    return sum;
}

/* Returns how many of the first n tokens to keep: up to the token at which
 * their share of *mass reaches top_p, and only tokens at least min_p times as
 * probable as the best. Sets *mass to the sum of their weights. */
static int64_t sampling_cut(struct sampling *s, int64_t n, double *mass)
{
    double enough = *mass * (double)s->o->top_p, sum = 0.0;
    int64_t kept = 0;
    while (kept < n) {
        double weight = sampling_weight(s, sampling_at(s, kept));
        if (weight < (double)s->o->min_p)
            break;
        sum += weight;
        kept++;
        if (enough > 0.0) {
            if (sum >= enough)
                break;
        }
    }
    *mass = sum;
    return kept;
}

static int64_t sampling_draw(struct sampling *s, int64_t vocab, double u)
{
    int64_t n = s->n;
    double mass, sum = 0.0;
    if (s->o->top_k > 0) {
        n = attn_min(n, s->o->top_k);
        mass = sampling_sum(s, n);
    } else {
        mass = sampling_sum_all(s, vocab);
    }
    if (s->o->top_p > 0.0f || s->o->min_p > 0.0f)
        n = sampling_cut(s, n, &mass);
    int64_t drawn = 0;
    for (int64_t i = 0; i < n; i++) {
        double weight = sampling_weight(s, sampling_at(s, i));
        if (weight == 0.0)
            break; /* the weights of all later tokens are 0 too */
        drawn = i;
        sum += weight;
        if (sum > u * mass)
            break;
    }
    return sampling_at(s, drawn);
}

/* Returns the first of the largest logits, or -1 if all are -INFINITY. */
static int64_t sampling_best(const float *logits, int64_t vocab)
{
    int64_t best = -1;
    float largest = -INFINITY;
    for (int64_t from = 0; from < vocab; from += ATTN_BLOCK) {
        int64_t to = attn_min(from + ATTN_BLOCK, vocab);
        if (!attn_any_above(logits + from, to - from, largest))
            continue;
        for (int64_t t = from; t < to; t++) {
            if (logits[t] > largest) {
                largest = logits[t];
                best = t;
            }
        }
    }
    return best;
}

ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order)
{
    struct sampling s;
    if (!(o->temperature > 0.0f))
        return sampling_best(logits, vocab);
    s.o = o;
    s.logits = logits;
    s.order = order;
    sampling_begin(&s, vocab);
    if (s.n == 0)
        return -1;
    return sampling_draw(&s, vocab, attn_random(o->seed, counter));
}
