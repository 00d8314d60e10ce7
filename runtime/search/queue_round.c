/* queue_round.c: a round reads rows of prompts, and decodes a token of every
 * open answer, until the rule (beam.c) of its source is done.
 *
 * If the code has a fixed batch size, hypotheses of one token fill the batch.
 * Their logits are ignored. */
#include "runtime/core.h"

#include <string.h>

/* ---- rows ---- */

/* Returns the number of tokens of the open hypothesis in a slot that are not
 * yet in the cache. */
static int64_t queue_unread(const struct attn_queue *q,
                            const struct attn_place *p, int64_t slot)
{
    return attn_search_lead(q->model, &p->o, p->rows) + p->beam.length
         - q->self.length[slot];
}

/* Adds the next `n` tokens of hypothesis h in seat i to the batch, in sequence
 * `slot`. Returns 0, or -1 if there is no room. */
static int queue_add_rows(struct attn_queue *q, int64_t i, int64_t h,
                          int64_t slot, int64_t n)
{
    struct attn_batch *b = &q->batch;
    const int64_t past = q->self.length[slot], row = b->rows;
    q->start[slot] = (int32_t)row;
    q->past[slot] = (int32_t)past;
    q->source[slot] = q->seated.at[i];
    for (int64_t j = 0; j < n; j++)
        q->ids[row + j] = attn_queue_token(attn_queue_seat(q, i), h, past + j);
    b->rows += n;
    b->sequences = slot + 1;
    q->start[slot + 1] = (int32_t)b->rows;
    return attn_cache_grow(&q->self, slot, n);
}

/* Selects the last row of the batch for logits. */
static void queue_select(struct attn_queue *q, struct attn_place *p)
{
    q->select[q->batch.selected] = (int32_t)(q->batch.rows - 1);
    q->batch.selected++;
    p->chosen = 1;
}

#if ATTN_HAS_FIXED
/* Removes the last rows of hypotheses that are completely in the cache, so that
 * the call that needs their logits reads these rows again. */
static void queue_go_back(struct attn_queue *q)
{
    int64_t slot = 0;
    for (int64_t i = 0; i < q->seated.n; i++)
        for (int64_t h = 0; h < attn_queue_seat(q, i)->beam.open; h++) {
            if (queue_unread(q, attn_queue_seat(q, i), slot) == 0)
                attn_cache_cut(&q->self, slot,
                               q->self.length[slot] - q->model->fixed_target);
            slot++;
        }
}

static int64_t queue_most_unread(const struct attn_queue *q)
{
    int64_t slot = 0, most = 0;
    for (int64_t i = 0; i < q->seated.n; i++)
        for (int64_t h = 0; h < attn_queue_seat(q, i)->beam.open; h++) {
            most = attn_max(most, queue_unread(q, attn_queue_seat(q, i), slot));
            slot++;
        }
    return most;
}

/* Fills the batch with unused sequences. Returns 0, or -1. */
static int queue_add_others(struct attn_queue *q)
{
    struct attn_batch *b = &q->batch;
    const int64_t n = attn_max(q->model->fixed_target, 1);
    int64_t slot = b->sequences;
    for (; slot < q->model->fixed_batch && slot < q->slots; slot++) {
        attn_cache_release(&q->self, slot);
        q->past[slot] = 0;
        q->source[slot] = q->seated.at[0];
        for (int64_t j = 0; j < n; j++)
            q->ids[b->rows + j] = 0;
        b->rows += n;
        q->start[slot + 1] = (int32_t)b->rows;
        b->sequences = slot + 1;
        if (attn_cache_grow(&q->self, slot, n) < 0)
            return -1;
    }
    return 0;
}

/* As queue_fill(), if calls have constant lengths: as long as a hypothesis has
 * more unread tokens than one call reads, a call only reads ahead for such
 * hypotheses. */
static int queue_fill_fixed(struct attn_queue *q)
{
    const int64_t most = attn_cache_rows(q->model);
    const int ahead = queue_most_unread(q) > most;
    int64_t slot = 0;
    for (int64_t i = 0; i < q->seated.n; i++) {
        struct attn_place *p = attn_queue_seat(q, i);
        for (int64_t h = 0; h < p->beam.open; h++) {
            int64_t n = queue_unread(q, p, slot);
            if (ahead) /* rows of fixed_target are read again */
                n = attn_min(n, n > most ? most : q->model->fixed_target);
            if (queue_add_rows(q, i, h, slot, n) < 0)
                return ATTN_ERROR_ROOM;
            if (!ahead)
                queue_select(q, p);
            slot++;
        }
    }
    return queue_add_others(q) < 0 ? ATTN_ERROR_ROOM : 0;
}
#endif

/* Lets the prompt in seat i, which is not read, begin with rows that were kept.
 * Returns 0 if it has to wait for more that another one is reading. */
static int queue_begins(struct attn_queue *q, int64_t i, int64_t slot)
{
    const struct attn_place *p = attn_queue_seat(q, i);
    if (q->prefixes == 0 || q->self.length[slot] > 0)
        return 1;
    const int64_t most = queue_unread(q, p, slot) - 1;
    int64_t have = attn_prefix_take(q, p, slot, most);
    if (!attn_prefix_comes(q, i, have))
        return 1;
    attn_cache_release(&q->self, slot);
    return 0;
}

/* Fills the batch with the unread tokens of all open hypotheses, and selects
 * the last row of each that then has none. Prompts share the rows of a call:
 * what is left is read in the next rounds. */
static int queue_fill(struct attn_queue *q)
{
#if ATTN_HAS_FIXED
    if (q->model->fixed_batch > 0 || q->model->fixed_target > 0)
        return queue_fill_fixed(q);
#endif
    const int64_t most = attn_cache_rows(q->model);
    int64_t slot = 0, left = q->prompt_rows;
    for (int64_t i = 0; i < q->seated.n; i++) {
        struct attn_place *p = attn_queue_seat(q, i);
        for (int64_t h = 0; h < p->beam.open; h++) {
            const int prompt = queue_unread(q, p, slot) > 1;
            const int waits = prompt && !queue_begins(q, i, slot);
            const int64_t unread = queue_unread(q, p, slot);
            int64_t n = attn_min(unread, most);
            if (prompt) {
                n = waits ? 0 : attn_min(n, left);
                left -= n;
            }
            if (queue_add_rows(q, i, h, slot, n) < 0)
                return ATTN_ERROR_ROOM;
            if (n == unread)
                queue_select(q, p);
            slot++;
        }
    }
    return 0;
}

/* Keeps the prompts that were read completely in this round. */
static void queue_keep_prompts(struct attn_queue *q)
{
    int64_t slot = 0;
    for (int64_t i = 0; i < q->seated.n && q->prefixes > 0; i++) {
        const struct attn_place *p = attn_queue_seat(q, i);
        if (p->chosen && p->beam.length == p->o.prefix_n)
            attn_prefix_keep(q, p, slot);
        slot += p->beam.open;
    }
}

/* Computes the logits of the selected rows. */
static int queue_compute(struct attn_queue *q)
{
    struct attn_batch *b = &q->batch;
    b->sequences = 0;
    b->rows = 0;
    b->selected = 0;
    b->start = q->start;
    b->ids = q->ids;
    b->past = q->past;
    b->select = q->select;
    b->source = q->source;
    b->source_rows = q->source_rows_of;
    b->output = q->logits;
    attn_cache_bind(&q->cross, 0, b);
    attn_cache_bind(&q->self, 0, b);
    for (int64_t i = 0; i < q->seated.n; i++)
        attn_queue_seat(q, i)->chosen = 0;
    int wrong = queue_fill(q);
    if (wrong == 0)
        wrong = attn_enter(q->model, q->bound, b, q->arena, 1);
    if (wrong == 0)
        queue_keep_prompts(q);
#if ATTN_HAS_FIXED
    if (wrong == 0 && b->selected == 0 && q->model->fixed_target > 0)
        queue_go_back(q);
#endif
    return wrong;
}

/* ---- choice ---- */

/* Runs the logits processors on the logits of hypothesis h. Returns 0 or an
 * error. */
static int queue_process(const struct attn_queue *q, const struct attn_place *p,
                         int64_t h, float *logits)
{
    const struct attn_beam *b = &p->beam;
    const int64_t lead = attn_search_lead(q->model, &p->o, p->rows);
    for (int64_t j = 0; j < lead + b->length; j++)
        q->tokens[j] = attn_queue_token(p, h, j);
    const struct attn_process_row row = {
        &p->o,     logits, q->model->target_vocab,
        q->tokens, lead,   lead + b->length,
        q->order
    };
    return attn_process_logits(&row);
}

/* Adds hypothesis h, with each of its possible next tokens, to the list of its
 * source. Returns 0 or an error: the logits are invalid (attn_logits_finite),
 * or no token may follow. */
static int queue_offer(const struct attn_queue *q, struct attn_place *p,
                       int64_t h, float *logits)
{
    const struct attn_search_options *o = &p->o;
    const int64_t vocab = q->model->target_vocab;
    const int late = o->process.log_probabilities && o->beam > 1;
    float sum = 0.0f;
    int wrong = 0;
    if (!attn_logits_finite(logits, vocab))
        return ATTN_ERROR_FINITE;
    if (!late)
        wrong = queue_process(q, p, h, logits);
    if (wrong)
        return wrong;
    if (o->beam > 1 || o->want_scores)
        sum = q->model->log_sum_exp(q->bound, logits, vocab);
    if (late) {
        for (int64_t t = 0; t < vocab; t++)
            logits[t] = attn_log_probability(logits[t], sum);
        wrong = queue_process(q, p, h, logits);
        sum = 0.0f;
    }
    if (wrong)
        return wrong;
    attn_forbid_logits(o, logits, vocab);
    attn_beam_offer(&p->beam, (int32_t)h, logits, vocab, sum);
    return 0;
}

/* Applies the rule of a source to the logits of its hypotheses, and stores the
 * parents of those that stay open. */
static void queue_advance(const struct attn_queue *q, struct attn_place *p,
                          float *logits, int32_t *parents)
{
    struct attn_beam *b = &p->beam;
    int wrong = 0, stuck = 0;
    for (int64_t h = 0; h < b->open && wrong == 0; h++) {
        wrong = queue_offer(q, p, h, logits + h * q->model->target_vocab);
        if (wrong == ATTN_ERROR_GRAMMAR) { /* other hypotheses may go on */
            stuck = wrong;
            wrong = 0;
        }
    }
    if (stuck && b->listed == 0 && b->found == 0)
        wrong = stuck;
    if (wrong == 0 && stuck && b->listed == 0) {
        b->open = 0; /* the answers found are all */
    } else if (wrong == 0) {
        attn_beam_advance(b, parents);
    } else {
        b->open = 0;
        b->found = wrong;
    }
}

/* Applies the rules to the logits of this round. */
static void queue_choose(struct attn_queue *q)
{
    int64_t slot = 0, stay = 0;
    float *logits = q->logits;
    for (int64_t i = 0; i < q->seated.n; i++) {
        struct attn_place *p = attn_queue_seat(q, i);
        const int64_t had = p->beam.open;
        if (p->chosen) {
            queue_advance(q, p, logits, q->parents + stay);
            logits += had * q->model->target_vocab;
        } else {
            for (int64_t h = 0; h < had; h++)
                q->parents[stay + h] = (int32_t)h;
        }
        for (int64_t h = 0; h < p->beam.open; h++)
            q->parents[stay + h] += (int32_t)slot;
        slot += had;
        stay += p->beam.open;
    }
    attn_queue_leave(q, stay);
}

ATTN_API int attn_queue_round(struct attn_queue *q)
{
    int wrong = attn_queue_admit(q);
    if (wrong || q->seated.n == 0)
        return wrong;
    wrong = queue_compute(q);
    if (wrong == 0 && q->batch.selected > 0)
        queue_choose(q);
    return wrong;
}
