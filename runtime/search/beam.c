/* beam.c: the search rules for one sentence.
 *
 * A step extends every open hypothesis by every token and lists the best of
 * these pairs. The rule takes answers and the next open hypotheses from the
 * list. Among equal sums, the lower hypothesis comes first, then the lower
 * token. */
#include "runtime/core.h"

#include <math.h>
#include <string.h>

static float beam_power(float x, float alpha)
{
    if (alpha == 1.0f) /* exact, without exp and log */
        return x;
    return attn_exp(alpha * attn_log(x));
}

ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length)
{
    float n = (float)length;
    if (o->penalty == ATTN_PENALTY_GNMT) /* [Wu et al. 2016] */
        return beam_power((5.0f + n) / 6.0f, o->alpha);
    if (o->penalty == ATTN_PENALTY_POWER && length > 0)
        return beam_power(n, o->alpha);
    return 1.0f;
}

/* ---- the list of a step ---- */

static void beam_insert(struct attn_beam *b, float sum, int32_t parent,
                        int32_t token)
{
    int64_t i = b->listed;
    if (i == b->room)
        i--; /* drops the last one */
    else
        b->listed++;
    for (; i > 0; i--) {
        if (!(sum > b->list[i - 1].sum))
            break;
        b->list[i] = b->list[i - 1];
    }
    b->list[i].sum = sum;
    b->list[i].parent = parent;
    b->list[i].token = token;
}

/* Lists the best token, or a sampled one. Computes its log-probability only if
 * scores are requested. */
static void beam_offer_best(struct attn_beam *b, const float *logits,
                            int64_t vocab, float log_sum_exp)
{
    int64_t best = attn_sample(&b->o->sampling, logits, vocab, b->length,
                               b->order);
    if (best < 0)
        return;
    float sum = b->sum[0];
    if (b->o->want_scores)
        sum += attn_log_probability(logits[best], log_sum_exp);
    beam_insert(b, sum, 0, (int32_t)best);
}

/* Once the sum for a token was too low for the list, skips all logits that are
 * not above this token's. */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp)
{
    float refused = -INFINITY;
    if (b->o->beam == 1) {
        beam_offer_best(b, logits, vocab, log_sum_exp);
        return;
    }
    for (int64_t from = 0; from < vocab; from += ATTN_BLOCK) {
        int64_t to = attn_min(from + ATTN_BLOCK, vocab);
        if (!attn_any_above(logits + from, to - from, refused))
            continue;
        for (int64_t t = from; t < to; t++) {
            if (!(logits[t] > refused))
                continue;
            float sum = b->sum[parent]
                      + attn_log_probability(logits[t], log_sum_exp);
            float least = -INFINITY;
            if (b->listed == b->room)
                least = b->list[b->room - 1].sum;
            if (sum > least)
                beam_insert(b, sum, parent, (int32_t)t);
            else
                refused = logits[t];
        }
    }
}

/* ---- the answers ---- */

ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum)
{
    int64_t n = b->length;
    int64_t length = n; /* with the end token */
    int ended = 0;
    if (token >= 0) {
        length = n + 1;
        ended = attn_ends(b->o, token);
    }
    float score = sum / attn_length_divisor(b->o, length);

    int64_t rank = b->found;
    while (rank > 0) {
        if (!(score > b->best[rank - 1].score))
            break;
        rank--;
    }
    b->recorded++;
    if (rank == b->o->results)
        return;
    int64_t last = b->found;
    if (last == b->o->results)
        last--;
    else
        b->found++;
    /* The new answer reuses the token buffer of the dropped answer. */
    int32_t *tokens = (int32_t *)b->best[last].tokens;
    for (int64_t i = last; i > rank; i--)
        b->best[i] = b->best[i - 1];

    memcpy(tokens, b->tokens + parent * b->width, (size_t)n * sizeof *tokens);
    if (token >= 0 && !ended) {
        tokens[n] = token;
        n++;
    }
    struct attn_hypothesis *h = &b->best[rank];
    h->tokens = tokens;
    h->n = n;
    h->ended = ended;
    h->score = score;
    h->log_probability = sum;
}

/* ---- rules ---- */

/* True if pair i of the list ends an answer, because of its token or the length
 * limit. */
static int beam_ends(const struct attn_beam *b, int64_t i)
{
    if (attn_ends(b->o, b->list[i].token))
        return 1;
    return b->length + 1 == b->limit;
}

static void beam_record_listed(struct attn_beam *b, int64_t i)
{
    const struct attn_candidate *c = &b->list[i];
    attn_beam_record(b, c->parent, c->token, c->sum);
}

/* Returns the best score that a hypothesis with this sum could still reach. The
 * sum can only fall, so the bound divides it by the largest divisor of any
 * later length. */
static float beam_bound(const struct attn_beam *b, float sum)
{
    float near = attn_length_divisor(b->o, b->length + 2);
    float far = attn_length_divisor(b->o, b->limit);
    if (near > far)
        return sum / near;
    return sum / far;
}

/* The exact rule: all pairs of the list that end are answers, and the best
 * `beam` other pairs stay open. The search stops when no open hypothesis can
 * beat the worst of the best answers, because continuing would not change the
 * result. */
static int64_t beam_exact(struct attn_beam *b)
{
    int64_t open = 0;
    for (int64_t i = 0; i < b->listed; i++) {
        int by_token = attn_ends(b->o, b->list[i].token);
        if (!by_token && open == b->o->beam)
            continue;
        if (beam_ends(b, i))
            beam_record_listed(b, i);
        if (!by_token) {
            b->list[open] = b->list[i];
            open++;
        }
    }
    if (open == 0 || b->length + 1 == b->limit)
        return 0;
    if (b->found < b->o->results)
        return open;
    if (beam_bound(b, b->list[0].sum) > b->best[b->found - 1].score)
        return open;
    return 0;
}

static int64_t beam_round(float x)
{
    return (int64_t)(x + 0.5f);
}

/* After forced tokens, drops every ending pair that is not first in the list.
 * Its place stays empty. */
static void beam_drop_early_ends(struct attn_beam *b)
{
    for (int64_t i = 1; i < b->listed; i++)
        if (attn_ends(b->o, b->list[i].token))
            b->list[i].token = -1;
}

static int beam_recorded_done(const struct attn_beam *b)
{
    int64_t enough = beam_round((float)b->o->beam * b->o->patience);
    if (b->length + 1 == b->limit)
        return 1;
    if (b->o->penalty == ATTN_PENALTY_NONE || b->o->alpha == 0.0f) {
        if (!b->top_ended)
            return 0;
        enough = b->o->results;
    }
    return b->recorded >= enough;
}

/* CTranslate2's rule: of the first `beam` pairs of the list, those that end are
 * answers. The next pair after the first `beam` that does not end takes the
 * place of each. */
static int64_t beam_recorded(struct attn_beam *b)
{
    int64_t next = b->o->beam;
    int64_t open = 0;
    if (b->length > 0 && b->length == b->o->prefix_n)
        beam_drop_early_ends(b);
    for (int64_t i = 0; i < b->listed && i < b->o->beam; i++) {
        int64_t from = i;
        if (b->list[i].token < 0)
            continue;
        if (beam_ends(b, i)) {
            beam_record_listed(b, i);
            if (i == 0)
                b->top_ended = 1;
            while (next < b->listed && attn_ends(b->o, b->list[next].token))
                next++;
            from = next;
            next++;
        }
        if (from < b->listed && b->list[from].token >= 0) {
            b->list[open] = b->list[from];
            open++;
        }
    }
    if (beam_recorded_done(b))
        open = 0;
    return open;
}

static int64_t beam_greedy(struct attn_beam *b)
{
    if (!beam_ends(b, 0))
        return 1;
    beam_record_listed(b, 0);
    return 0;
}

static int64_t (*const beam_rules[])(struct attn_beam *) = { beam_exact,
                                                             beam_recorded };

ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents)
{
    int64_t open = 0;
    if (b->listed == 0) { /* no token is allowed */
        for (int64_t i = 0; i < b->open; i++)
            attn_beam_record(b, (int32_t)i, -1, b->sum[i]);
    } else if (b->o->beam == 1) {
        open = beam_greedy(b);
    } else {
        open = beam_rules[b->o->rule](b);
    }
    for (int64_t i = 0; i < open; i++) {
        const struct attn_candidate *c = &b->list[i];
        int32_t *to = b->spare + i * b->width;
        memcpy(to, b->tokens + c->parent * b->width,
               (size_t)b->length * sizeof *to);
        to[b->length] = c->token;
        b->sum[i] = c->sum;
        parents[i] = c->parent;
    }
    int32_t *tokens = b->tokens;
    b->tokens = b->spare;
    b->spare = tokens;
    b->open = open;
    b->length++;
    b->listed = 0;
}
