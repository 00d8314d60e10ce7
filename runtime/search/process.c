/* process.c: a table of functions that change a row of logits before the search
 * reads it. -INFINITY forbids a token. To add a function, add a row.        */
#include "runtime/core.h"

#include <math.h>
#include <string.h>

ATTN_API int attn_ends(const struct attn_search_options *o, int64_t token)
{
    for (int64_t i = 0; i < o->ends_count; i++)
        if (o->ends[i] == token)
            return 1;
    return token == o->end;
}

static int process_has(const struct attn_process_row *r, int32_t token)
{
    return token >= 0 && token < r->vocab;
}

static void process_forbid(const struct attn_process_row *r, int32_t token)
{
    if (process_has(r, token))
        r->logits[token] = -INFINITY;
}

ATTN_API int attn_penalises(const struct attn_process *p)
{
    return p->repetition_penalty != 0.0f && p->repetition_penalty != 1.0f;
}

/* Makes each token of the row less likely. A repeated token is penalised only
 * at its first place, which is noted in `order`. */
static void process_repetition(const struct attn_process_row *r)
{
    const float penalty = r->search->process.repetition_penalty;
    if (!attn_penalises(&r->search->process))
        return;
    for (int64_t i = r->n - 1; i >= 0; i--)
        if (process_has(r, r->tokens[i]))
            r->order[r->tokens[i]] = (int32_t)i;
    for (int64_t i = 0; i < r->n; i++) {
        const int32_t token = r->tokens[i];
        if (!process_has(r, token) || r->order[token] != i)
            continue;
        float *x = &r->logits[token];
        if (*x >= 0.0f)
            *x = *x / penalty;
        else
            *x = *x * penalty;
    }
}

static void process_min_length(const struct attn_process_row *r)
{
    const struct attn_search_options *o = r->search;
    if (r->n - r->lead >= o->process.min_length && r->n >= o->process.min_total)
        return;
    process_forbid(r, o->end);
    for (int64_t i = 0; i < o->ends_count; i++)
        process_forbid(r, o->ends[i]);
}

static int process_same(const int32_t *a, const int32_t *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Forbids each token that would repeat an n-gram, because it already followed
 * the last size - 1 tokens at an earlier place. */
static void process_ngram(const struct attn_process_row *r)
{
    int64_t size = r->search->process.no_repeat_ngram;
    if (size < 1 || r->n < size)
        return;
    const int32_t *last = r->tokens + r->n - (size - 1);
    for (int64_t i = 0; i + size <= r->n; i++)
        if (process_same(r->tokens + i, last, size - 1))
            process_forbid(r, r->tokens[i + size - 1]);
}

/* Forbids the last token of a suppressed sequence if the row ends in the
 * sequence's other tokens. */
static void process_suppress(const struct attn_process_row *r)
{
    const int32_t *at = r->search->process.suppress;
    int64_t left = r->search->process.suppress_size;
    while (left > 0) {
        int64_t length = at[0];
        if (length < 1 || length >= left)
            return;
        int64_t before = length - 1;
        if (r->n >= before
            && process_same(at + 1, r->tokens + r->n - before, before))
            process_forbid(r, at[length]);
        at += 1 + length;
        left -= 1 + length;
    }
}

static void process_first(const struct attn_process_row *r)
{
    const struct attn_process *p = &r->search->process;
    if (r->n - r->lead != r->search->prefix_n)
        return;
    for (int64_t i = 0; i < p->suppress_first_count; i++)
        process_forbid(r, p->suppress_first[i]);
}

/* The penalty comes first, because it needs the logits before other functions
 * set them to -INFINITY. */
static void (*const process_table[])(const struct attn_process_row *) = {
    process_repetition, process_min_length, process_ngram,
    process_suppress,   process_first,
};

/* Checks the suppressed sequences, each of which is preceded by its length. */
static int process_check_suppress(const struct attn_process *p, int64_t vocab)
{
    const int32_t *at = p->suppress;
    int64_t left = p->suppress_size;
    if (left < 0)
        return ATTN_ERROR_COUNT;
    if (left > 0 && !at)
        return ATTN_ERROR_NULL;
    while (left > 0) {
        int64_t length = at[0];
        if (length < 1 || length >= left)
            return ATTN_ERROR_TABLE;
        int wrong = attn_check_ids(at + 1, length, vocab);
        if (wrong)
            return wrong;
        at += 1 + length;
        left -= 1 + length;
    }
    return 0;
}

ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab)
{
    float penalty = p->repetition_penalty;
    if (!(penalty >= 0.0f) || penalty == INFINITY)
        return ATTN_ERROR_OPTION;
    if (p->min_length < 0 || p->min_total < 0 || p->no_repeat_ngram < 0)
        return ATTN_ERROR_OPTION;
    int wrong = process_check_suppress(p, vocab);
    if (wrong)
        return wrong;
    wrong = attn_check_ids(p->suppress_first, p->suppress_first_count, vocab);
    if (wrong)
        return wrong;
    return attn_check_ids(p->forbid, p->forbid_count, vocab);
}

ATTN_API int attn_logits_finite(const float *logits, int64_t n)
{
    const float most = INFINITY;
    int wrong = 0, some = 0;
    for (int64_t i = 0; i < n; i++) {
        wrong |= !(logits[i] < most);
        some |= logits[i] > -most;
    }
    if (wrong)
        return 0;
    return some;
}

ATTN_API int attn_process_logits(const struct attn_process_row *r)
{
    const struct attn_process *p = &r->search->process;
    for (size_t i = 0; i < sizeof process_table / sizeof *process_table; i++)
        process_table[i](r);
    if (!p->constrain)
        return 0;
    const int wrong = p->constrain(p->constraint, r->search,
                                   r->tokens + r->lead, r->n - r->lead,
                                   r->logits, r->vocab);
    return wrong ? ATTN_ERROR_GRAMMAR : 0;
}

ATTN_API void attn_forbid_logits(const struct attn_search_options *o,
                                 float *logits, int64_t vocab)
{
    for (int64_t i = 0; i < o->process.forbid_count; i++) {
        int32_t token = o->process.forbid[i];
        if (token >= 0 && token < vocab && !attn_ends(o, token))
            logits[token] = -INFINITY;
    }
}
