/* draft.c: proposes the next tokens of a stream, so that one call of the model
 * reads them together with the last token, because a call that reads weights
 * from memory takes hardly longer for several rows than for one. The proposals
 * are those that followed the same tokens before, or those that a smaller model
 * chooses (stream.c).
 *
 * A proposal never changes the answer. The logits of the proposed rows stay in
 * the room, unread. The stream then chooses its tokens one by one as it would
 * without a draft. While each token that it chose is the one that was proposed,
 * the logits of the next row are there already. Any other token drops the rest.
 *
 * Rows that were read ahead are beyond the length of their slot, so they are in
 * no saved state and no fork. They are in the same page as the last token, so
 * they take no page, and windows give back no page earlier.
 *
 * How many tokens are proposed depends only on the sizes of the weights and on
 * how many were taken before. */
#include "runtime/core.h"

#include <string.h>

enum {
    DRAFT_LONGEST = 16, /* maximum tokens that are compared */
    DRAFT_HASH_BITS = 10,
    DRAFT_TRIES = 32,  /* maximum places that are compared */
    DRAFT_CREDIT = 16, /* maximum proposals that are paid for in advance */
    DRAFT_PAUSE = 64   /* maximum tokens until the next proposal */
};

/* When to propose. A row more costs little if a step reads its weights from
 * memory: measured with 4 to 440 MB, 4 to 27 % of a step. It costs up to 75 %
 * if the weights stay in the cache of a core. */
struct draft_rule {
    int64_t weights; /* minimum bytes */
    int64_t least;   /* tokens that must have occurred before */
    int64_t cost;    /* quarters of a step that a row takes */
    int64_t last;    /* index of the most proposals of a call */
};
static const struct draft_rule draft_rules[] = {
    { (int64_t)4 << 20, 2, 1, 3 },
    { 0, 4, 3, 1 },
};

static const struct draft_rule *draft_rule(const struct attn_model *m)
{
    const struct draft_rule *rule = draft_rules;
    while (m->weights_bytes < rule->weights)
        rule++;
    return rule;
}

/* Proposals of a call. A call has one row more, which fills the tiles of matrix
 * products: 7 rows can take longer than 8. */
static const int8_t draft_sizes[] = { 1, 3, 7, ATTN_DRAFT_MOST };

ATTN_API const char *attn_draft_wrong(const struct attn_model *m)
{
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == ATTN_SELF && m->cache[i].states > 0)
            return "the states of recurrent layers and convolutions cannot go "
                   "back by a token";
#if ATTN_HAS_FIXED
    if (m->fixed_target > 0 || m->fixed_keys > 0)
        return "the model is compiled for a fixed number of rows";
#endif
    return NULL;
}

ATTN_API const char *attn_drafter_wrong(const struct attn_model *m,
                                        const struct attn_drafter *by)
{
    const struct attn_model *d = by->model;
    if (d->kind != m->kind || d->input_width > 0)
        return "it is another kind of model";
    if (d->target_vocab != m->target_vocab)
        return "it has another number of tokens";
    if (m->kind == ATTN_ENCODER_DECODER && d->source_vocab != m->source_vocab)
        return "its source has another number of tokens";
    if (d->fixed_source > 0 || d->fixed_target > 0 || d->fixed_keys > 0
        || d->fixed_batch > 0 || d->fixed_ranks != m->fixed_ranks)
        return "it is compiled for a fixed number of rows, sequences or ranks";
    return attn_draft_wrong(d);
}

/* Ends the proposals of the last call, and decides how many the next call
 * gets. */
static void draft_settle(const struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    const int64_t proposed = d->end - d->first - 1;
    const int64_t taken = d->next - d->first - 1;
    d->end = 0;
    d->credit = attn_min(d->credit + d->gain * taken - proposed, DRAFT_CREDIT);
    if (taken == proposed) {
        d->size = attn_min(d->size + 1, draft_rule(s->model)->last);
        d->pause_after /= 2;
    } else if (2 * taken < proposed) {
        d->size = attn_max(d->size - 1, 0);
    }
    if (d->credit >= 0)
        return;
    d->credit = 0;
    d->pause = attn_max(d->pause_after, 1);
    d->pause_after = attn_min(2 * d->pause, DRAFT_PAUSE);
}

ATTN_API void attn_draft_take(struct attn_draft *d,
                              const struct attn_stream_request *r,
                              int64_t source_rows, struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    const int64_t word = sizeof(int32_t);
    int64_t quarters = draft_rule(m)->cost;
    d->most = ATTN_DRAFT_MOST;
    if (r->o->draft == ATTN_DRAFT_MODEL) {
        quarters += 4 * r->o->drafter->model->weights_bytes
                  / attn_max(m->weights_bytes, 1);
    } else {
        d->source = attn_take(at, source_rows, word);
        d->heads = attn_take(at, 1 << DRAFT_HASH_BITS, word);
        d->before = attn_take(at, source_rows + r->tokens, word);
    }
    d->gain = attn_max(4 / quarters, 1);
}

ATTN_API void attn_draft_drop(struct attn_stream *s)
{
    if (s->room->draft.end > 0)
        draft_settle(s);
}

ATTN_API float *attn_draft_logits(struct attn_stream *s)
{
    struct attn_stream_room *r = s->room;
    struct attn_draft *d = &r->draft;
    const int64_t row = s->n - 1, ahead = row - d->first;
    if (row != d->next || row >= d->end || s->slot != d->slot)
        return NULL;
    if (s->read != row || s->tokens[row] != d->ids[ahead - 1])
        return NULL;
    if (attn_cache_grow(&r->self, s->slot, 1) < 0)
        return NULL;
    s->read++;
    d->next++;
    d->taken++;
    return r->logits + ahead * s->model->target_vocab;
}

/* ---- the text ---- */

/* The text is the source, then the tokens of the stream. It is indexed by the
 * hash of two tokens, so a step takes the same time however long it is. Streams
 * of one room that take turns index it anew. */
static const int32_t *draft_text(const struct attn_stream *s, int64_t at)
{
    const struct attn_draft *d = &s->room->draft;
    if (at < d->source_n)
        return d->source + at;
    return s->tokens + at - d->source_n;
}

/* Returns the latest indexed place whose two tokens have the hash of those that
 * end here, plus one. */
static int32_t *draft_head(const struct attn_draft *d, const int32_t *end)
{
    const uint32_t two = (uint32_t)end[-1] * 0x9e3779b1u + (uint32_t)end[0];
    return d->heads + ((two * 0x85ebca6bu) >> (32 - DRAFT_HASH_BITS));
}

/* Indexes the places of the text after which a token is known. */
static void draft_index(const struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    const int64_t end = d->source_n + s->n - 1;
    if (d->index_slot != s->slot || d->indexed > end)
        d->indexed = 0;
    if (d->indexed == 0)
        memset(d->heads, 0, sizeof *d->heads << DRAFT_HASH_BITS);
    d->index_slot = s->slot;
    for (; d->indexed < end; d->indexed++) {
        const int64_t at = d->indexed;
        if (at == 0 || at == d->source_n - 1 || at == d->source_n)
            continue; /* the end of the source, or a first token */
        int32_t *head = draft_head(d, draft_text(s, at));
        d->before[at] = *head;
        *head = (int32_t)(at + 1);
    }
}

/* Returns how many tokens up to this place are those at the end of the
 * stream. */
static int64_t draft_same(const struct attn_stream *s, int64_t at)
{
    const int64_t source = s->room->draft.source_n;
    const int64_t known = at < source ? at + 1 : at - source + 1;
    const int64_t most = attn_min(attn_min(known, s->n), DRAFT_LONGEST);
    const int32_t *a = draft_text(s, at), *b = s->tokens + s->n - 1;
    int64_t same = 0;
    while (same < most && a[-same] == b[-same])
        same++;
    return same;
}

/* Looks for the last tokens of the stream earlier in the text. Returns the
 * tokens that followed and sets *left to their number, or returns NULL. The
 * longest match counts, and of equally long ones the latest. */
static const int32_t *draft_match(const struct attn_stream *s, int64_t *left)
{
    const struct attn_draft *d = &s->room->draft;
    int64_t longest = draft_rule(s->model)->least - 1, found = -1;
    if (s->n <= longest)
        return NULL;
    int64_t at = *draft_head(d, s->tokens + s->n - 1) - 1;
    for (int i = 0; i < DRAFT_TRIES && at >= 0; i++) {
        const int64_t same = draft_same(s, at);
        if (same > longest) {
            longest = same;
            found = at;
        }
        at = d->before[at] - 1;
    }
    if (found < 0)
        return NULL;
    *left = ATTN_DRAFT_MOST; /* the stream goes on with its own proposals */
    if (found < d->source_n)
        *left = d->source_n - 1 - found;
    return draft_text(s, found) + 1;
}

/* ---- proposals ---- */

/* Returns how many tokens may be proposed: no row is read after the last token
 * that the stream has room for, or in another page. */
static int64_t draft_room(const struct attn_stream *s)
{
    int64_t n = s->room->draft.most;
    n = attn_min(n, s->room->width - 1 - s->n);
    n = attn_min(n, s->model->max_target - s->n);
    return attn_min(n, ATTN_PAGE - 1 - (s->n - 1) % ATTN_PAGE);
}

ATTN_API int64_t attn_draft_most(struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    attn_draft_drop(s);
    if (s->o.draft == ATTN_DRAFT_NONE || d->most == 0 || s->n - s->read != 1)
        return 0;
    if (d->pause > 0) {
        d->pause--;
        return 0;
    }
    return attn_min(draft_room(s), draft_sizes[d->size]);
}

ATTN_API int64_t attn_draft_repeat(struct attn_stream *s, int64_t most)
{
    int64_t left = 0, size = s->room->draft.size;
    draft_index(s);
    const int32_t *next = draft_match(s, &left);
    while (size >= 0 && draft_sizes[size] > attn_min(left, most))
        size--;
    if (size < 0)
        return 0;
    for (int64_t i = 0; i < draft_sizes[size]; i++)
        s->tokens[s->n + i] = next[i]; /* may be one that was just written */
    return draft_sizes[size];
}

ATTN_API void attn_draft_read(struct attn_stream *s, int64_t n)
{
    struct attn_draft *d = &s->room->draft;
    attn_cache_cut(&s->room->self, s->slot, s->read);
    memcpy(d->ids, s->tokens + s->read, (size_t)n * sizeof *d->ids);
    d->slot = s->slot;
    d->first = s->read - 1;
    d->next = s->read;
    d->end = s->read + n;
    d->proposed += n;
}
