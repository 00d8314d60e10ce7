/* search.c: encodes all sources, then decodes all open hypotheses of all
 * sentences in one call a step, until every sentence's rule (beam.c) is done.
 *
 * Slot i of the self cache is row i of the batch: the open hypotheses, sentence
 * by sentence. The cross cache has one slot a sentence, written by encode.  */
#include "core.h"

#include <string.h>

/* ------------------------------------------------------------ sources --- */

/* Copies the sources, cut to max_input. -1: a length or an id out of range. */
static int search_sources(struct attn_search_state *s, const int32_t *ids,
                          const int32_t *start)
{
    const struct attn_model *m = s->model;
    int64_t most = m->max_source, vocab = m->source_vocab, at = 0;
    if (m->kind == ATTN_DECODER) {
        most = m->max_target;
        vocab = m->target_vocab;
    }
    s->source_start[0] = 0;
    for (int64_t i = 0; i < s->sentences; i++) {
        int64_t rows = start[i + 1] - start[i];
        if (s->o->max_input > 0)
            rows = attn_min(rows, s->o->max_input);
        if (rows > most)
            return -1;
        for (int64_t j = 0; j < rows; j++) {
            int32_t id = ids[start[i] + j];
            if (id < 0 || id >= vocab)
                return -1;
            s->source_ids[at + j] = id;
        }
        at += rows;
        s->source_start[i + 1] = (int32_t)at;
        s->source_rows_of[i] = (int32_t)rows;
    }
    return 0;
}

static int search_read(struct attn_search_state *s)
{
    struct attn_batch *b = &s->batch;
    b->sequences = s->sentences;
    b->rows = s->source_start[s->sentences];
    b->start = s->source_start;
    b->ids = s->source_ids;
    b->pool[ATTN_CROSS] = s->cross.pool;
    b->pages[ATTN_CROSS] = s->cross.table;
    b->table[ATTN_CROSS] = s->cross.width;
    for (int64_t i = 0; i < s->sentences; i++)
        if (attn_cache_grow(&s->cross, i, s->source_rows_of[i]) < 0)
            return -1;
    if (b->rows > 0)
        s->model->encode(s->bound, b, s->arena);
    return 0;
}

/* One open hypothesis: the forced tokens. A source that asks nothing has no
 * answer; one whose limit is the prefix has it already.                     */
static int search_begin(struct attn_search_state *s, int64_t i,
                        const int32_t *prefix, struct attn_hypothesis *out)
{
    struct attn_beam *b = &s->beam[i];
    int64_t rows = s->source_rows_of[i];
    int64_t lead = attn_search_lead(s->model, s->o, rows);

    b->limit = attn_search_limit(s->model, s->o, rows, lead);
    b->best = out;
    for (int64_t r = 0; r < s->o->results; r++)
        b->best[r].tokens = b->answers + r * b->width;
    if (!attn_search_asks(s->model, s->o, rows))
        return 0;
    if (b->limit < 1 || s->prefix_n > b->limit)
        return -1;
    b->length = s->prefix_n;
    b->sum[0] = 0.0f;
    for (int64_t j = 0; j < s->prefix_n; j++) {
        if (prefix[j] < 0 || prefix[j] >= s->model->target_vocab)
            return -1;
        b->tokens[j] = prefix[j];
    }
    if (s->prefix_n == b->limit)
        attn_beam_record(b, 0, -1, 0.0f);
    else
        b->open = 1;
    return 0;
}

/* -------------------------------------------------------------- steps --- */

/* What the decoder reads first of sentence i; returns how many. */
static int64_t search_first_ids(const struct attn_search_state *s, int64_t i,
                                int32_t *ids)
{
    const struct attn_beam *b = &s->beam[i];
    int64_t n = 0;
    if (s->o->start >= 0) {
        ids[n] = s->o->start;
        n++;
    }
    if (s->model->kind == ATTN_DECODER) {
        for (int64_t j = s->source_start[i]; j < s->source_start[i + 1]; j++) {
            ids[n] = s->source_ids[j];
            n++;
        }
    }
    memcpy(ids + n, b->tokens, (size_t)b->length * sizeof *ids);
    return n + b->length;
}

/* Fills the batch with the unread tokens of all open hypotheses: what comes
 * before the answer at first, then the last token of each.                  */
static int search_fill(struct attn_search_state *s, int first)
{
    struct attn_batch *b = &s->batch;
    int64_t row = 0, slot = 0;
    for (int64_t i = 0; i < s->sentences; i++) {
        const struct attn_beam *beam = &s->beam[i];
        for (int64_t h = 0; h < beam->open; h++) {
            int64_t n = 1;
            if (first)
                n = search_first_ids(s, i, s->ids + row);
            else
                s->ids[row] = beam->tokens[h * beam->width + beam->length - 1];
            s->start[slot] = (int32_t)row;
            s->past[slot] = s->self.length[slot];
            s->source[slot] = (int32_t)i;
            if (attn_cache_grow(&s->self, slot, n) < 0)
                return -1;
            row += n;
            s->select[slot] = (int32_t)(row - 1);
            slot++;
        }
    }
    s->start[slot] = (int32_t)row;
    b->sequences = slot;
    b->selected = slot;
    b->rows = row;
    return 0;
}

static void search_point(struct attn_search_state *s)
{
    struct attn_batch *b = &s->batch;
    b->start = s->start;
    b->ids = s->ids;
    b->past = s->past;
    b->select = s->select;
    b->source = s->source;
    b->source_rows = s->source_rows_of;
    b->pool[ATTN_SELF] = s->self.pool;
    b->pages[ATTN_SELF] = s->self.table;
    b->table[ATTN_SELF] = s->self.width;
    b->output = s->logits;
}

static void search_offer(const struct attn_search_state *s, struct attn_beam *b,
                         int64_t h, float *logits)
{
    int64_t vocab = s->model->target_vocab;
    float sum = 0.0f;
    attn_clean_logits(logits, vocab);
    attn_process_logits(&s->o->process, logits, vocab,
                        b->tokens + h * b->width, b->length, s->o->end);
    if (s->o->beam > 1 || s->o->want_scores)
        sum = s->model->log_sum_exp(logits, vocab);
    attn_forbid_logits(&s->o->process, logits, vocab, s->o->end);
    attn_beam_offer(b, (int32_t)h, logits, vocab, sum);
}

/* Looks at the logits of all; returns how many hypotheses stay open. */
static int64_t search_choose(struct attn_search_state *s)
{
    int64_t slot = 0, stay = 0;
    float *logits = s->logits;
    for (int64_t i = 0; i < s->sentences; i++) {
        struct attn_beam *b = &s->beam[i];
        int64_t had = b->open;
        if (had == 0)
            continue;
        for (int64_t h = 0; h < had; h++) {
            search_offer(s, b, h, logits);
            logits += s->model->target_vocab;
        }
        attn_beam_advance(b, s->parents + stay);
        for (int64_t h = 0; h < b->open; h++)
            s->parents[stay + h] += (int32_t)slot;
        slot += had;
        stay += b->open;
    }
    return stay;
}

static int search_run(struct attn_search_state *s)
{
    int64_t open = 0;
    for (int64_t i = 0; i < s->sentences; i++)
        open += s->beam[i].open;
    search_point(s);
    for (int first = 1; open > 0; first = 0) {
        if (search_fill(s, first) < 0)
            return -1;
        s->model->decode(s->bound, &s->batch, s->arena);
        open = search_choose(s);
        attn_cache_reorder(&s->self, s->parents, open, s->scratch);
    }
    return 0;
}

/* -1: starts that go back. */
static int64_t search_longest(const int32_t *start, int64_t sentences)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < sentences; i++) {
        if (start[i + 1] < start[i])
            return -1;
        longest = attn_max(longest, start[i + 1] - start[i]);
    }
    return longest;
}

ATTN_API int attn_search(const struct attn_model *m, const void *bound,
                         const struct attn_search_options *o,
                         int64_t sentences, const int32_t *ids,
                         const int32_t *start, const int32_t *prefix,
                         int64_t prefix_n, void *memory, int64_t bytes,
                         struct attn_hypothesis *out, int64_t *found)
{
    struct attn_memory at;
    struct attn_search_state s = {0};
    s.model = m;
    s.bound = bound;
    s.o = o;
    s.sentences = sentences;
    s.source_rows = start[sentences] - start[0];
    s.longest = search_longest(start, sentences);
    s.prefix_n = prefix_n;
    s.batch.parallel = o->parallel;

    int64_t need = attn_search_bytes(m, o, sentences, s.source_rows, s.longest,
                                     prefix_n);
    if (need < 0 || need > bytes)                /* or longest was -1 */
        return -1;
    attn_memory_open(&at, memory);
    attn_search_lay_out(&s, &at);
    if (search_sources(&s, ids, start) < 0)
        return -1;
    for (int64_t i = 0; i < sentences; i++)
        if (search_begin(&s, i, prefix, out + i * o->results) < 0)
            return -1;
    if (m->kind == ATTN_ENCODER_DECODER) {
        if (search_read(&s) < 0)
            return -1;
    }
    if (search_run(&s) < 0)
        return -1;
    for (int64_t i = 0; i < sentences; i++)
        found[i] = s.beam[i].found;
    return 0;
}
