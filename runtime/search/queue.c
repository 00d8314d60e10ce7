/* queue.c: holds sources that come and go. A source is encoded with others that
 * were added, waits for a free seat, and has it until its answer has ended.
 *
 * Slot i of the self cache is sequence i of the batch: the open hypotheses, in
 * the order of the seats. A new source takes the slot behind them. The cross
 * cache has one slot per place, and one per source of a call of encode, from
 * which the place then takes the pages.
 *
 * If the code has a fixed batch size, copies of the first source fill the call
 * of encode, and all sources in seats began in the same round. */
#include "runtime/core.h"

#include <string.h>

/* ---- lists ---- */

static void queue_push(struct attn_queue_list *l, int64_t place)
{
    l->at[l->n] = (int32_t)place;
    l->n++;
}

static int64_t queue_remove(struct attn_queue_list *l, int64_t i)
{
    const int32_t place = l->at[i];
    l->n--;
    memmove(l->at + i, l->at + i + 1, (size_t)(l->n - i) * sizeof *l->at);
    return place;
}

/* Returns the index of a place in the list; -1: it is not there. */
static int64_t queue_find(const struct attn_queue_list *l, int64_t place)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i] == place)
            return i;
    return -1;
}

ATTN_API struct attn_place *attn_queue_seat(const struct attn_queue *q,
                                            int64_t i)
{
    return &q->place[q->seated.at[i]];
}

ATTN_API int32_t attn_queue_token(const struct attn_place *p, int64_t h,
                                  int64_t j)
{
    if (p->o.start >= 0) {
        if (j == 0)
            return p->o.start;
        j--;
    }
    if (p->prompt) {
        if (j < p->rows)
            return p->prompt[j];
        j -= p->rows;
    }
    return p->beam.tokens[h * p->beam.width + j];
}

static int queue_encodes(const struct attn_queue *q)
{
    return q->model->kind == ATTN_ENCODER_DECODER;
}

/* ---- sources ---- */

ATTN_API int attn_queue_open(struct attn_queue *q,
                             const struct attn_queue_request *r)
{
    struct attn_memory at;
    const int64_t need = attn_queue_bytes(r->model, r->o, &r->size);
    if (need < 0)
        return (int)need;
    if (!r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    memset(q, 0, sizeof *q);
    q->model = r->model;
    q->bound = r->bound;
    q->o = r->o;
    q->size = r->size;
    attn_memory_open(&at, r->memory);
    attn_queue_lay_out(q, &at);
    q->batch.parallel = r->o->parallel;
    q->source_start[0] = 0;
    for (int64_t i = 0; i < q->prefixes; i++)
        q->prefix[i].n = 0;
    for (int64_t i = 0; i < q->size.places; i++)
        queue_push(&q->free, i);
    return 0;
}

ATTN_API int attn_queue_takes(const struct attn_queue *q, int64_t rows)
{
    const int64_t added = q->added.n;
    if (q->free.n == 0)
        return 0;
    return added == 0 || !queue_encodes(q)
        || (added < q->size.seats
            && q->source_start[added] + rows + q->model->class_token
                   <= q->encode_rows);
}

/* Copies the rows of a source: a decoder's to its prompt, others to row `at` of
 * the sources of a call, after zeros for the learned rows. Returns 0 or an
 * error. */
static int queue_copy(struct attn_queue *q, const struct attn_queue_source *s,
                      int64_t rows, int64_t at, int32_t *prompt)
{
    const struct attn_model *m = q->model;
    const int64_t width = m->input_width;
    if (width > 0) {
        const int64_t learned = m->class_token * width;
        float *to = q->source_input + at * width;
        if (rows > 0 && !s->input)
            return ATTN_ERROR_NULL;
        if (rows > 0) {
            memset(to, 0, (size_t)learned * sizeof *to);
            memcpy(to + learned, s->input, (size_t)(rows * width) * sizeof *to);
        }
        return 0;
    }
    const int wrong = attn_check_ids(s->ids, rows,
                                     m->kind == ATTN_DECODER ? m->target_vocab
                                                             : m->source_vocab);
    if (wrong == 0 && rows > 0)
        memcpy(prompt ? prompt : q->source_ids + at, s->ids,
               (size_t)rows * sizeof *prompt);
    return wrong;
}

/* Opens one hypothesis with the forced tokens. A source for which
 * attn_search_asks() is false has no answer. If the prefix reaches the limit,
 * it is the answer. Returns 0 or an error. */
static int queue_begin(const struct attn_queue *q, struct attn_place *p,
                       int64_t rows)
{
    const struct attn_search_options *o = &p->o;
    const int64_t forced = o->prefix_n;
    const int64_t lead = attn_search_lead(q->model, o, rows);
    struct attn_beam *b = &p->beam;

    b->o = o;
    b->room = attn_min((2 + o->ends_count) * o->beam,
                       (2 + q->o->ends_count) * q->o->beam);
    b->limit = attn_search_limit(q->model, o, rows, lead);
    b->open = 0;
    b->found = 0;
    b->listed = 0;
    b->recorded = 0;
    b->top_ended = 0;
    for (int64_t r = 0; r < q->o->results; r++)
        b->best[r].tokens = b->answers + r * b->width;
    p->pages = 0;
    if (!attn_search_asks(q->model, o, rows))
        return 0;
    if (b->limit < 1 || forced > b->limit)
        return ATTN_ERROR_LENGTH;
    const int64_t positions = attn_queue_positions(q, o, rows);
    p->pages = o->beam * attn_cache_pages(positions);
    if (b->limit > b->width || positions > q->positions
        || (q->size.pages > 0 && p->pages > q->size.pages))
        return ATTN_ERROR_ROOM;
    b->length = forced;
    b->sum[0] = 0.0f;
    if (forced > 0)
        memcpy(b->tokens, o->prefix, (size_t)forced * sizeof *b->tokens);
    if (forced == b->limit)
        attn_beam_record(b, 0, -1, 0.0f);
    else
        b->open = 1;
    return 0;
}

ATTN_API int64_t attn_queue_add(struct attn_queue *q,
                                const struct attn_queue_source *s)
{
    int64_t rows = s->rows, at = q->source_start[q->added.n];
    if (rows < 0)
        return ATTN_ERROR_COUNT;
    if (q->free.n == 0)
        return ATTN_ERROR_ROOM;
    const int64_t place = q->free.at[0];
    struct attn_place *p = &q->place[place];
    int wrong = s->o ? attn_queue_check(q, s->o) : 0;
    if (wrong)
        return wrong;
    p->o = s->o ? *s->o : *q->o;
    if (p->o.max_input > 0)
        rows = attn_min(rows, p->o.max_input);
    if (rows > attn_search_source(q->model))
        return ATTN_ERROR_LENGTH;
#if ATTN_HAS_FIXED
    if (queue_encodes(q) && rows > 0 && q->model->fixed_source > 0
        && rows + q->model->class_token != q->model->fixed_source)
        return ATTN_ERROR_FIXED; /* a call would refuse all of its sources */
#endif
    if (rows > q->size.longest || !attn_queue_takes(q, rows))
        return ATTN_ERROR_ROOM;
    wrong = queue_begin(q, p, rows);
    if (wrong == 0)
        wrong = queue_copy(q, s, rows, at, p->prompt);
    if (wrong)
        return wrong;
    queue_remove(&q->free, 0);
    p->rows = rows > 0 ? rows + q->model->class_token : 0;
    if (p->beam.open == 0) {
        queue_push(&q->ended, place);
    } else if (queue_encodes(q)) {
        queue_push(&q->added, place);
        q->source_start[q->added.n] = (int32_t)(at + p->rows);
    } else {
        q->source_rows_of[place] = (int32_t)p->rows;
        queue_push(&q->waiting, place);
    }
    return place;
}

/* Gives the encoded rows in a slot to a place. */
static void queue_encoded(struct attn_queue *q, int64_t slot, int64_t place)
{
    if (q->place[place].beam.open == 0) { /* dropped */
        queue_push(&q->ended, place);
        return;
    }
    attn_cache_fork(&q->cross, slot, place);
    q->source_rows_of[place] = (int32_t)q->place[place].rows;
    queue_push(&q->waiting, place);
}

/* Encodes all sources that were added. */
static int queue_encode(struct attn_queue *q)
{
    struct attn_batch *b = &q->batch;
    const int64_t first = q->size.places, n = q->added.n;
    int64_t sources = n;
#if ATTN_HAS_FIXED
    const int64_t rows = q->source_start[1];
    for (; sources < q->model->fixed_batch; sources++) {
        const int64_t at = q->source_start[sources];
        if (q->source_input)
            memcpy(q->source_input + at * q->width, q->source_input,
                   (size_t)(rows * q->width) * sizeof(float));
        else
            memcpy(q->source_ids + at, q->source_ids,
                   (size_t)rows * sizeof(int32_t));
        q->source_start[sources + 1] = (int32_t)(at + rows);
    }
#endif
    b->sequences = sources;
    b->rows = q->source_start[sources];
    b->start = q->source_start;
    b->ids = q->source_ids;
    b->input = q->source_input;
    attn_cache_bind(&q->cross, first, b);
    for (int64_t i = 0; i < sources; i++)
        if (attn_cache_grow(&q->cross, first + i,
                            q->source_start[i + 1] - q->source_start[i])
            < 0)
            return ATTN_ERROR_ROOM;
    if (b->rows > 0) {
        const int wrong = attn_enter(q->model, q->bound, b, q->arena, 0);
        if (wrong)
            return wrong;
    }
    for (int64_t i = 0; i < sources; i++) {
        if (i < n)
            queue_encoded(q, first + i, q->added.at[i]);
        attn_cache_release(&q->cross, first + i);
    }
    q->added.n = 0;
    return 0;
}

ATTN_API int attn_queue_admit(struct attn_queue *q)
{
#if ATTN_HAS_FIXED
    if (q->seated.n > 0
        && (q->model->fixed_batch > 0 || q->model->fixed_target > 0))
        return 0;
#endif
    while (q->seated.n < q->size.seats) {
        if (q->waiting.n == 0) {
            if (q->added.n == 0)
                break;
            const int wrong = queue_encode(q);
            if (wrong)
                return wrong;
        }
        if (q->waiting.n == 0) /* all were dropped */
            continue;
        const int64_t pages = q->place[q->waiting.at[0]].pages;
        if (q->size.pages > 0 && q->reserved + pages > q->size.pages)
            break;
        q->reserved += pages;
        queue_push(&q->seated, queue_remove(&q->waiting, 0));
    }
    return 0;
}

/* ---- end ---- */

ATTN_API void attn_queue_leave(struct attn_queue *q, int64_t stay)
{
    int64_t i = 0;
    attn_cache_reorder(&q->self, q->parents, stay, q->slots, q->scratch);
    while (i < q->seated.n) {
        const struct attn_place *p = attn_queue_seat(q, i);
        if (p->beam.open > 0) {
            i++;
            continue;
        }
        q->reserved -= p->pages;
        const int64_t place = queue_remove(&q->seated, i);
        if (queue_encodes(q))
            attn_cache_release(&q->cross, place);
        queue_push(&q->ended, place);
    }
}

ATTN_API int64_t attn_queue_take(struct attn_queue *q)
{
    return q->ended.n > 0 ? queue_remove(&q->ended, 0) : -1;
}

ATTN_API void attn_queue_free(struct attn_queue *q, int64_t place)
{
    queue_push(&q->free, place);
}

/* Stores slot i as its own parent, but for the slots of a place. Returns the
 * number of slots that stay. */
static int64_t queue_all_but(struct attn_queue *q, int64_t place)
{
    int64_t slot = 0, stay = 0;
    for (int64_t i = 0; i < q->seated.n; i++)
        for (int64_t h = 0; h < attn_queue_seat(q, i)->beam.open; h++) {
            q->parents[stay] = (int32_t)slot;
            stay += q->seated.at[i] != place;
            slot++;
        }
    return stay;
}

ATTN_API void attn_queue_drop(struct attn_queue *q, int64_t place)
{
    struct attn_beam *b = &q->place[place].beam;
    const int64_t waits = queue_find(&q->waiting, place);
    const int64_t stay = queue_all_but(q, place);
    b->open = 0;
    b->found = 0;
    if (waits >= 0) {
        queue_remove(&q->waiting, waits);
        if (queue_encodes(q))
            attn_cache_release(&q->cross, place);
        queue_push(&q->ended, place);
    } else if (queue_find(&q->seated, place) >= 0) {
        attn_queue_leave(q, stay);
    }
}

ATTN_API int attn_queue_busy(const struct attn_queue *q)
{
    return q->added.n + q->waiting.n + q->seated.n > 0;
}
