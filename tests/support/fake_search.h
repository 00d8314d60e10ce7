/* fake_search.h: slow reference versions of the searches: without caches or
 * batches, all pairs are sorted, and nothing stops early unless the rule
 * requires it. */
#ifndef FAKE_SEARCH_H
#define FAKE_SEARCH_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_model.h"

enum { FakeLong = 320 };

typedef struct {
    int32_t token[FakeLong];
    int64_t n;
    int ended;
    float sum, score;
    int64_t order; /* of recording */
} Answer;

typedef struct {
    float sum;
    int32_t from, token;
} Pair;

typedef struct {
    const Fake *f;
    const struct attn_search_options *o;
    const int32_t *source;
    int64_t source_n;
    int64_t prefix_n, limit;
    Answer *open, *next, *answers;
    int64_t opens, count;
    Pair *pair;
    int64_t pairs;
    bool top_ended, wrong; /* wrong: logits that are not finite */
} Slow;

static int pair_order(const void *x, const void *y)
{
    const Pair *a = x, *b = y;
    if (a->sum != b->sum)
        return a->sum > b->sum ? -1 : 1;
    if (a->from != b->from)
        return a->from - b->from;
    return a->token - b->token;
}

static int answer_order(const void *x, const void *y)
{
    const Answer *a = x, *b = y;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static bool slow_ends(const Slow *s, int32_t token)
{
    for (int64_t i = 0; i < s->o->ends_count; i++)
        if (token == s->o->ends[i])
            return true;
    return token == s->o->end;
}

static void slow_process(const Slow *s, const Answer *a, float *logits)
{
    int32_t tokens[2 * FakeLong], order[64];
    int64_t n = 0;
    if (s->o->start >= 0)
        tokens[n++] = s->o->start;
    for (int64_t i = 0; s->f->model.kind == ATTN_DECODER && i < s->source_n;
         i++)
        tokens[n++] = s->source[i];
    const int64_t lead = n;
    for (int64_t i = 0; i < a->n; i++)
        tokens[n++] = a->token[i];
    const struct attn_process_row r = {
        s->o, logits, s->f->model.target_vocab, tokens, lead, n, order
    };
    attn_process_logits(&r);
}

/* Computes the log-probabilities after the tokens that the decoder has read. */
static void slow_logits(Slow *s, const Answer *a, float *logits)
{
    const Fake *f = s->f;
    int64_t vocab = f->model.target_vocab;
    uint32_t h = fake_mix(f->seed, 1);
    if (f->model.kind == ATTN_ENCODER_DECODER)
        h = fake_mix(fake_hash(h, s->source, s->source_n), 2);
    if (s->o->start >= 0)
        h = fake_hash(h, &s->o->start, 1);
    if (f->model.kind == ATTN_DECODER)
        h = fake_hash(h, s->source, s->source_n);
    fake_logits(f, fake_hash(h, a->token, a->n), logits);
    int64_t none = 0;
    for (int64_t t = 0; t < vocab; t++) {
        s->wrong |= isnan(logits[t]) || logits[t] == INFINITY;
        none += !isfinite(logits[t]);
    }
    s->wrong |= none == vocab;
    const bool late = s->o->process.log_probabilities && s->o->beam > 1;
    if (!late)
        slow_process(s, a, logits);
    float sum = fake_log_sum_exp(NULL, logits, vocab);
    for (int64_t t = 0; t < vocab; t++)
        logits[t] = attn_log_probability(logits[t], sum);
    if (late)
        slow_process(s, a, logits);
    for (int64_t i = 0; i < s->o->process.forbid_count; i++)
        if (!slow_ends(s, s->o->process.forbid[i]))
            logits[s->o->process.forbid[i]] = -INFINITY;
}

static void slow_pairs(Slow *s)
{
    float logits[64];
    s->pairs = 0;
    for (int64_t h = 0; h < s->opens; h++) {
        slow_logits(s, &s->open[h], logits);
        for (int32_t t = 0; t < s->f->model.target_vocab; t++)
            if (isfinite(logits[t]))
                s->pair[s->pairs++] = (Pair){ s->open[h].sum + logits[t],
                                              (int32_t)h, t };
    }
    qsort(s->pair, (size_t)s->pairs, sizeof *s->pair, pair_order);
    const int64_t most = (2 + s->o->ends_count) * s->o->beam;
    if (s->pairs > most)
        s->pairs = most;
}

static void slow_record(Slow *s, const Answer *from, int32_t token, float sum)
{
    Answer *a = &s->answers[s->count];
    *a = *from;
    a->sum = sum;
    a->ended = slow_ends(s, token);
    if (token >= 0 && !a->ended)
        a->token[a->n++] = token;
    a->score = sum / attn_length_divisor(s->o, a->n + a->ended);
    a->order = s->count++;
}

static void slow_keep(Slow *s, int64_t i, int64_t place)
{
    Answer *a = &s->next[place];
    *a = s->open[s->pair[i].from];
    a->token[a->n++] = s->pair[i].token;
    a->sum = s->pair[i].sum;
}

static void slow_record_pair(Slow *s, int64_t i)
{
    slow_record(s, &s->open[s->pair[i].from], s->pair[i].token, s->pair[i].sum);
}

static int64_t slow_exact(Slow *s, bool last)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < s->pairs; i++) {
        if (slow_ends(s, s->pair[i].token)) {
            slow_record_pair(s, i);
        } else if (kept < s->o->beam) {
            if (last)
                slow_record_pair(s, i);
            slow_keep(s, i, kept++);
        }
    }
    return last ? 0 : kept;
}

static int64_t slow_recorded(Slow *s, bool last)
{
    const struct attn_search_options *o = s->o;
    int64_t beam = o->beam, kept = 0, next = beam;
    bool free_first = s->prefix_n > 0 && s->open[0].n == s->prefix_n;
    int64_t enough = (int64_t)roundf((float)beam * o->patience);

    for (int64_t i = 0; i < s->pairs && i < beam; i++) {
        bool end = slow_ends(s, s->pair[i].token);
        if (end && free_first && i > 0)
            continue;
        if (!end && !last) {
            slow_keep(s, i, kept++);
            continue;
        }
        slow_record_pair(s, i);
        s->top_ended |= i == 0;
        while (!free_first && next < s->pairs
               && slow_ends(s, s->pair[next].token))
            next++;
        if (next < s->pairs && !slow_ends(s, s->pair[next].token) && !last)
            slow_keep(s, next, kept++);
        next++;
    }
    bool no_penalty = o->penalty == ATTN_PENALTY_NONE || o->alpha == 0.0f;
    if (last || (no_penalty && s->top_ended && s->count >= o->results)
        || (!no_penalty && s->count >= enough))
        return 0;
    return kept;
}

static int64_t slow_step(Slow *s)
{
    bool last = s->open[0].n + 1 == s->limit;
    slow_pairs(s);
    if (s->wrong)
        return 0;
    if (s->pairs == 0) {
        for (int64_t h = 0; h < s->opens; h++)
            slow_record(s, &s->open[h], -1, s->open[h].sum);
        return 0;
    }
    if (s->o->beam == 1) {
        bool end = slow_ends(s, s->pair[0].token);
        slow_keep(s, 0, 0);
        if (end || last)
            slow_record_pair(s, 0);
        return !end && !last;
    }
    return s->o->rule == ATTN_RULE_EXACT ? slow_exact(s, last)
                                         : slow_recorded(s, last);
}

/* Writes the best answers to `best` (o->results of them). Returns their number,
 * or ATTN_ERROR_FINITE. */
static int64_t slow_search(const Fake *f, const struct attn_search_options *o,
                           const int32_t *source, int64_t n,
                           const int32_t *prefix, int64_t prefix_n,
                           int64_t limit, Answer *best)
{
    Slow s = { .f = f,
               .o = o,
               .source = source,
               .source_n = n,
               .prefix_n = prefix_n,
               .limit = limit,
               .opens = 1 };
    s.open = calloc((size_t)o->beam, sizeof *s.open);
    s.next = calloc((size_t)o->beam, sizeof *s.next);
    s.answers = calloc((size_t)((2 + o->ends_count) * o->beam * (limit + 1)),
                       sizeof *s.answers);
    s.pair = calloc((size_t)(o->beam * 64), sizeof *s.pair);
    for (int64_t i = 0; i < prefix_n; i++)
        s.open[0].token[s.open[0].n++] = prefix[i];
    if (prefix_n == limit) {
        slow_record(&s, &s.open[0], -1, 0.0f);
        s.opens = 0;
    }
    while (s.opens > 0) {
        s.opens = slow_step(&s);
        Answer *old = s.open;
        s.open = s.next;
        s.next = old;
    }
    qsort(s.answers, (size_t)s.count, sizeof *s.answers, answer_order);
    if (s.count > o->results)
        s.count = o->results;
    memcpy(best, s.answers, (size_t)s.count * sizeof *best);
    if (s.wrong)
        s.count = ATTN_ERROR_FINITE;
    free(s.open);
    free(s.next);
    free(s.answers);
    free(s.pair);
    return s.count;
}

#endif
