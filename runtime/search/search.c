/* search.c: encodes all sources, then decodes all open hypotheses of all
 * sentences in one call per step, until the rule (beam.c) of every sentence is
 * done.
 *
 * Slot i of the self cache is sequence i of the batch: the open hypotheses,
 * sentence by sentence. The cross cache has one slot per sentence, written by
 * encode.
 *
 * If the code has a fixed batch size, copies of the first source and hypotheses
 * of one token fill the batch. Their logits are ignored. */
#include "runtime/core.h"

#include <string.h>

/* ---- sources ---- */

/* Copies `rows` rows of the request, starting at row `from`, to row `at`, after
 * zeros for the learned rows. Returns 0 or an error. */
static int search_copy(struct attn_search_state *s,
                       const struct attn_search_request *r, int64_t from,
                       int64_t at, int64_t rows)
{
    const struct attn_model *m = s->model;
    const int64_t width = m->input_width;
    if (width > 0) {
        const int64_t learned = m->class_token * width;
        float *to = s->source_input + at * width;
        if (rows > 0) {
            memset(to, 0, (size_t)learned * sizeof *to);
            memcpy(to + learned, r->input + from * width,
                   (size_t)(rows * width) * sizeof *to);
        }
        return 0;
    }
    int32_t *ids = s->source_ids + at;
    for (int64_t j = 0; j < rows; j++)
        ids[j] = r->ids[from + j];
    return attn_check_ids(ids, rows,
                          m->kind == ATTN_DECODER ? m->target_vocab
                                                  : m->source_vocab);
}

/* Copies the sources, each truncated to max_input. Returns 0 or an error. */
static int search_sources(struct attn_search_state *s,
                          const struct attn_search_request *r)
{
    const struct attn_model *m = s->model;
    const int32_t *start = r->start;
    int64_t most = attn_search_source(m), at = 0;
    s->source_start[0] = 0;
    for (int64_t i = 0; i < s->sources; i++) {
        const int64_t of = i < s->sentences ? i : 0;
        int64_t rows = start[of + 1] - start[of];
        if (s->o->max_input > 0)
            rows = attn_min(rows, s->o->max_input);
        if (rows > most)
            return ATTN_ERROR_LENGTH;
        int wrong = search_copy(s, r, start[of], at, rows);
        if (wrong)
            return wrong;
        if (rows > 0)
            rows += m->class_token;
        at += rows;
        s->source_start[i + 1] = (int32_t)at;
        s->source_rows_of[i] = (int32_t)rows;
    }
    return 0;
}

static int search_read(struct attn_search_state *s)
{
    struct attn_batch *b = &s->batch;
    b->sequences = s->sources;
    b->rows = s->source_start[s->sources];
    b->start = s->source_start;
    b->ids = s->source_ids;
    b->input = s->source_input;
    attn_cache_bind(&s->cross, 0, b);
    for (int64_t i = 0; i < s->sources; i++)
        if (attn_cache_grow(&s->cross, i, s->source_rows_of[i]) < 0)
            return ATTN_ERROR_ROOM;
    if (b->rows == 0)
        return 0;
    return attn_enter(s->model, s->bound, b, s->arena, 0);
}

/* Opens one hypothesis with the forced tokens. A source for which
 * attn_search_asks() is false has no answer. If the prefix reaches the limit,
 * it is the answer. */
static int search_begin(struct attn_search_state *s, int64_t i,
                        struct attn_hypothesis *out)
{
    const int64_t forced = s->o->prefix_n;
    struct attn_beam *b = &s->beam[i];
    int64_t rows = attn_max(s->source_rows_of[i] - s->model->class_token, 0);
    int64_t lead = attn_search_lead(s->model, s->o, rows);

    b->limit = attn_search_limit(s->model, s->o, rows, lead);
    b->best = out;
    for (int64_t r = 0; r < s->o->results; r++)
        b->best[r].tokens = b->answers + r * b->width;
    if (!attn_search_asks(s->model, s->o, rows))
        return 0;
    if (b->limit < 1 || forced > b->limit)
        return ATTN_ERROR_LENGTH;
    b->length = forced;
    b->sum[0] = 0.0f;
    if (forced > 0)
        memcpy(b->tokens, s->o->prefix, (size_t)forced * sizeof *b->tokens);
    if (forced == b->limit)
        attn_beam_record(b, 0, -1, 0.0f);
    else
        b->open = 1;
    return 0;
}

/* ---- steps ---- */

/* Returns token j of the decoder's input for a hypothesis: the tokens before
 * the answer, then the answer. */
static int32_t search_token(const struct attn_search_state *s, int64_t i,
                            int64_t h, int64_t j)
{
    const struct attn_beam *b = &s->beam[i];
    if (s->o->start >= 0) {
        if (j == 0)
            return s->o->start;
        j--;
    }
    if (s->model->kind == ATTN_DECODER) {
        if (j < s->source_rows_of[i])
            return s->source_ids[s->source_start[i] + j];
        j -= s->source_rows_of[i];
    }
    return b->tokens[h * b->width + j];
}

/* Returns the number of tokens of the open hypothesis in a slot that are not
 * yet in the cache. */
static int64_t search_unread(const struct attn_search_state *s, int64_t i,
                             int64_t slot)
{
    return attn_search_lead(s->model, s->o, s->source_rows_of[i])
         + s->beam[i].length - s->self.length[slot];
}

static int64_t search_most_unread(const struct attn_search_state *s)
{
    int64_t slot = 0, most = 0;
    for (int64_t i = 0; i < s->sentences; i++)
        for (int64_t h = 0; h < s->beam[i].open; h++) {
            most = attn_max(most, search_unread(s, i, slot));
            slot++;
        }
    return most;
}

/* Adds the next `n` tokens of a hypothesis to the batch, starting at row
 * `row`.                                                                    */
static int search_add(struct attn_search_state *s, int64_t i, int64_t h,
                      int64_t slot, int64_t row, int64_t n)
{
    const int64_t past = s->self.length[slot];
    s->start[slot] = (int32_t)row;
    s->past[slot] = (int32_t)past;
    s->source[slot] = (int32_t)i;
    s->select[slot] = (int32_t)(row + n - 1);
    for (int64_t j = 0; j < n; j++)
        s->ids[row + j] = search_token(s, i, h, past + j);
    return attn_cache_grow(&s->self, slot, n);
}

#if ATTN_HAS_FIXED
/* Removes the last rows of hypotheses that are completely in the cache, so that
 * the call that needs their logits reads these rows again. */
static void search_go_back(struct attn_search_state *s)
{
    int64_t slot = 0;
    for (int64_t i = 0; i < s->sentences; i++)
        for (int64_t h = 0; h < s->beam[i].open; h++) {
            if (search_unread(s, i, slot) == 0)
                attn_cache_cut(&s->self, slot,
                               s->self.length[slot] - s->model->fixed_target);
            slot++;
        }
}

/* Fills the batch with unused sequences, starting at `slot`. Returns the number
 * of rows, or -1.                                                           */
static int64_t search_add_others(struct attn_search_state *s, int64_t slot,
                                 int64_t row)
{
    const int64_t n = attn_max(s->model->fixed_target, 1);
    for (; slot < s->model->fixed_batch && slot < s->slots; slot++) {
        attn_cache_release(&s->self, slot);
        s->start[slot] = (int32_t)row;
        s->past[slot] = 0;
        s->source[slot] = 0;
        for (int64_t j = 0; j < n; j++)
            s->ids[row + j] = 0;
        row += n;
        if (attn_cache_grow(&s->self, slot, n) < 0)
            return -1;
    }
    s->start[slot] = (int32_t)row;
    s->batch.sequences = slot;
    return row;
}
#endif

/* Fills the batch with the unread tokens of all open hypotheses, and selects
 * the last row of each. If a hypothesis has more unread tokens than one call
 * reads, the call only reads ahead for such hypotheses, and its logits are not
 * used. */
static int search_fill(struct attn_search_state *s)
{
    struct attn_batch *b = &s->batch;
    const int64_t most = attn_cache_rows(s->model);
    const int ahead = search_most_unread(s) > most;
    int64_t row = 0, slot = 0, last = 0;
#if ATTN_HAS_FIXED
    last = s->model->fixed_target; /* these rows are read again */
#endif
    for (int64_t i = 0; i < s->sentences; i++) {
        for (int64_t h = 0; h < s->beam[i].open; h++) {
            int64_t n = search_unread(s, i, slot);
            if (ahead)
                n = attn_min(n, n > most ? most : last);
            if (search_add(s, i, h, slot, row, n) < 0)
                return ATTN_ERROR_ROOM;
            row += n;
            slot++;
        }
    }
    s->start[slot] = (int32_t)row;
    b->sequences = slot;
    b->selected = ahead ? 0 : slot;
#if ATTN_HAS_FIXED
    row = search_add_others(s, slot, row);
    if (row < 0)
        return ATTN_ERROR_ROOM;
#endif
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
    attn_cache_bind(&s->self, 0, b);
    b->output = s->logits;
}

/* Runs the logits processors on the logits of hypothesis h of sentence i. */
static void search_process(const struct attn_search_state *s, int64_t i,
                           int64_t h, float *logits)
{
    const struct attn_beam *b = &s->beam[i];
    const int64_t rows = s->source_rows_of[i], word = sizeof(int32_t);
    int64_t lead = 0;
    if (s->o->start >= 0)
        s->tokens[lead++] = s->o->start;
    if (s->model->kind == ATTN_DECODER) {
        memcpy(s->tokens + lead, s->source_ids + s->source_start[i],
               (size_t)(rows * word));
        lead += rows;
    }
    memcpy(s->tokens + lead, b->tokens + h * b->width,
           (size_t)(b->length * word));
    const struct attn_process_row row = {
        s->o,      logits, s->model->target_vocab,
        s->tokens, lead,   lead + b->length,
        s->order
    };
    attn_process_logits(&row);
}

/* Adds hypothesis h, with each of its possible next tokens, to the list of
 * sentence i. Returns 0 if the logits are invalid (attn_logits_finite). */
static int search_offer(const struct attn_search_state *s, int64_t i, int64_t h,
                        float *logits)
{
    int64_t vocab = s->model->target_vocab;
    const int late = s->o->process.log_probabilities && s->o->beam > 1;
    float sum = 0.0f;
    if (!attn_logits_finite(logits, vocab))
        return 0;
    if (!late)
        search_process(s, i, h, logits);
    if (s->o->beam > 1 || s->o->want_scores)
        sum = s->model->log_sum_exp(s->bound, logits, vocab);
    if (late) {
        for (int64_t t = 0; t < vocab; t++)
            logits[t] = attn_log_probability(logits[t], sum);
        search_process(s, i, h, logits);
        sum = 0.0f;
    }
    attn_forbid_logits(s->o, logits, vocab);
    attn_beam_offer(&s->beam[i], (int32_t)h, logits, vocab, sum);
    return 1;
}

/* Applies the rule of each sentence to the logits. Returns the number of
 * hypotheses that stay open, and stores their parents. */
static int64_t search_choose(struct attn_search_state *s)
{
    int64_t slot = 0, stay = 0;
    float *logits = s->logits;
    for (int64_t i = 0; i < s->sentences; i++) {
        struct attn_beam *b = &s->beam[i];
        int64_t had = b->open;
        if (had == 0)
            continue;
        int finite = 1;
        for (int64_t h = 0; h < had; h++) {
            if (finite)
                finite = search_offer(s, i, h, logits);
            logits += s->model->target_vocab;
        }
        if (finite) {
            attn_beam_advance(b, s->parents + stay);
        } else {
            b->open = 0;
            b->found = ATTN_ERROR_FINITE;
        }
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
    while (open > 0) {
        int wrong = search_fill(s);
        if (wrong == 0)
            wrong = attn_enter(s->model, s->bound, &s->batch, s->arena, 1);
        if (wrong)
            return wrong;
        if (s->batch.selected == 0) {
#if ATTN_HAS_FIXED
            search_go_back(s);
#endif
            continue;
        }
        open = search_choose(s);
        attn_cache_reorder(&s->self, s->parents, open, s->scratch);
    }
    return 0;
}

static int64_t search_longest(const int32_t *start, int64_t sentences)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < sentences; i++)
        longest = attn_max(longest, start[i + 1] - start[i]);
    return longest;
}

/* Encodes all sources and opens one hypothesis per source. */
static int search_prepare(struct attn_search_state *s,
                          const struct attn_search_request *r,
                          struct attn_hypothesis *out)
{
    int wrong = search_sources(s, r);
    for (int64_t i = 0; i < s->sentences && wrong == 0; i++)
        wrong = search_begin(s, i, out + i * s->o->results);
    if (wrong == 0 && s->model->kind == ATTN_ENCODER_DECODER)
        wrong = search_read(s);
    return wrong;
}

/* Checks the request's pointers and source positions. Returns 0 or an error. */
static int search_check(const struct attn_search_request *r)
{
    if (!r->bound || !r->o || !r->start || !r->memory)
        return ATTN_ERROR_NULL;
    int wrong = attn_check_count(r->sentences, 0, ATTN_MOST);
    if (wrong == 0)
        wrong = attn_check_starts(r->start, r->sentences,
                                  r->start[r->sentences], ATTN_MOST);
    if (wrong)
        return wrong;
    if (r->start[r->sentences] > 0
        && (r->model->input_width > 0 ? !r->input : !r->ids))
        return ATTN_ERROR_NULL;
    return 0;
}

ATTN_API int attn_search(const struct attn_search_request *r,
                         struct attn_hypothesis *out, int64_t *found)
{
    struct attn_memory at;
    struct attn_search_state s = { 0 };
    if (!out || !found)
        return ATTN_ERROR_NULL;
    int wrong = search_check(r);
    if (wrong)
        return wrong;
    s.model = r->model;
    s.bound = r->bound;
    s.o = r->o;
    s.sentences = r->sentences;
    s.source_rows = r->start[r->sentences];
    s.longest = search_longest(r->start, r->sentences);
    s.batch.parallel = r->o->parallel;

    int64_t need = attn_search_bytes(s.model, s.o, s.sentences, s.source_rows,
                                     s.longest);
    if (need < 0)
        return (int)need;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    attn_memory_open(&at, r->memory);
    attn_search_lay_out(&s, &at);
    wrong = search_prepare(&s, r, out);
    if (wrong == 0)
        wrong = search_run(&s);
    for (int64_t i = 0; i < s.sentences && wrong == 0; i++)
        found[i] = s.beam[i].found;
    return wrong;
}
