/* search_memory.c: checks the sizes of a search and lays out its arrays. The
 * same code counts the bytes and places the arrays.                         */
#include "runtime/core.h"

ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows)
{
    int64_t lead = 0;
    if (o->start >= 0)
        lead++;
    if (m->kind == ATTN_DECODER)
        lead += rows;
    return lead;
}

ATTN_API int64_t attn_search_source(const struct attn_model *m)
{
    return m->kind == ATTN_DECODER ? m->max_target
                                   : m->max_source - m->class_token;
}

ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead)
{
    int64_t limit = m->max_target - lead + 1;
    if (o->max_output > 0)
        limit = attn_min(limit, o->max_output);
    if (o->max_output_plus >= 0)
        limit = attn_min(limit, rows + attn_min(o->max_output_plus, ATTN_MOST));
    return limit;
}

ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o, int64_t rows)
{
    int64_t lead = attn_search_lead(m, o, rows);
    if (rows > 0)
        return 1;
    if (m->kind != ATTN_DECODER || lead == 0)
        return 0;
    return attn_search_limit(m, o, rows, lead) > 0;
}

ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o)
{
    int64_t vocab = m->target_vocab;
    if (!o)
        return ATTN_ERROR_NULL;
    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (o->start < -1 || o->start >= vocab || o->end < -1 || o->end >= vocab)
        return ATTN_ERROR_ID;
    if (o->start < 0 && m->kind == ATTN_ENCODER_DECODER)
        return ATTN_ERROR_ID;
    if (!attn_sampling_fits(&o->sampling))
        return ATTN_ERROR_OPTION;
    if (o->draft < ATTN_DRAFT_NONE || o->draft > ATTN_DRAFT_MODEL)
        return ATTN_ERROR_OPTION;
    if (o->draft == ATTN_DRAFT_MODEL && !(o->drafter && o->drafter->model))
        return ATTN_ERROR_NULL;
    int wrong = attn_check_parallel(m, o->parallel);
    if (wrong == 0)
        wrong = attn_check_ids(o->ends, o->ends_count, vocab);
    if (wrong == 0)
        wrong = attn_check_ids(o->prefix, o->prefix_n, vocab);
    if (wrong)
        return wrong;
    return attn_check_process(&o->process, vocab);
}

/* Checks the options that control the search, not those for choosing tokens. */
static int search_rules(const struct attn_search_options *o)
{
    if (o->beam < 1 || o->beam > INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->results < 1 || o->results > INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->rule != ATTN_RULE_EXACT && o->rule != ATTN_RULE_RECORDED)
        return ATTN_ERROR_OPTION;
    if (o->penalty < ATTN_PENALTY_NONE || o->penalty > ATTN_PENALTY_POWER)
        return ATTN_ERROR_OPTION;
    if (!(o->alpha - o->alpha == 0.0f)) /* infinite or NaN */
        return ATTN_ERROR_OPTION;
    if (!(o->patience >= 0.0f) || o->patience > (float)INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->max_output < 0 || o->max_input < 0)
        return ATTN_ERROR_OPTION;
    if (o->beam > 1 && o->sampling.temperature != 0.0f)
        return ATTN_ERROR_OPTION;
    return 0;
}

/* ---- sizes ---- */

static int queue_sizes(const struct attn_queue_size *n,
                       const struct attn_search_options *o)
{
    if (n->places < 0 || n->places > ATTN_MOST / o->beam)
        return ATTN_ERROR_COUNT;
    if (n->seats < 0 || n->seats > n->places)
        return ATTN_ERROR_COUNT;
    if (n->rows < 0 || n->rows > ATTN_MOST || n->call < 0 || n->pages < 0
        || n->prefix_pages < 0)
        return ATTN_ERROR_COUNT;
    return n->longest < 0 || n->longest > ATTN_MOST ? ATTN_ERROR_COUNT : 0;
}

static int64_t queue_fixed(const struct attn_model *m)
{
#if ATTN_HAS_FIXED
    return m->fixed_batch;
#endif
    (void)m;
    return 0;
}

ATTN_API int64_t attn_queue_positions(const struct attn_queue *q,
                                      const struct attn_search_options *o,
                                      int64_t rows)
{
    const int64_t lead = attn_search_lead(q->model, o, rows);
    const int64_t limit = attn_search_limit(q->model, o, rows, lead);
    return attn_min(lead + limit - 1, q->model->max_target);
}

/* True if choosing tokens needs scratch memory. */
static int queue_orders(const struct attn_search_options *o)
{
    return o->sampling.temperature > 0.0f || attn_penalises(&o->process);
}

/* Returns the maximum pairs in the list of a beam; greedy search has one. */
static int64_t queue_pairs(const struct attn_search_options *o)
{
    return (2 + o->ends_count) * o->beam;
}

ATTN_API int attn_queue_check(const struct attn_queue *q,
                              const struct attn_search_options *o)
{
    int wrong = attn_check_choice(q->model, o);
    if (wrong == 0)
        wrong = search_rules(o);
    if (wrong)
        return wrong;
    if (o->beam > q->o->beam || o->results > q->o->results
        || (o->beam > 1 && queue_pairs(o) > queue_pairs(q->o))
        || (queue_orders(o) && !q->order))
        return ATTN_ERROR_ROOM;
    return 0;
}

/* Sets what the options leave of the sizes, and how many sequences a call
 * has. */
static void queue_size(struct attn_queue *q)
{
    const struct attn_model *m = q->model;
    struct attn_queue_size *n = &q->size;
    const int64_t fixed = n->places > 0 ? queue_fixed(m) : 0;
    if (q->o->max_input > 0)
        n->longest = attn_min(n->longest, q->o->max_input);
    const int64_t most = n->places * n->longest;
    n->rows = n->rows > 0 ? attn_min(n->rows, most) : most;
    q->width = attn_max(m->input_width, 1);
    q->slots = attn_max(n->seats * q->o->beam, fixed);
    if (m->kind != ATTN_DECODER || fixed > 0)
        n->prefix_pages = 0; /* a source's rows depend on all of its tokens */
    q->prefixes = n->prefix_pages > 0 ? ATTN_PREFIXES : 0;
    q->calls = attn_max(n->seats, fixed);
    q->limit = attn_search_limit(m, q->o, n->longest, 0);
    q->positions = attn_min(attn_search_lead(m, q->o, n->longest) + q->limit
                                - 1,
                            m->max_target);
}

/* Sets the maximum rows of sources in a call of encode that are not copies, and
 * of prompts in a call of decode: of each prompt at most attn_cache_rows(). */
static void queue_calls(struct attn_queue *q)
{
    const struct attn_model *m = q->model;
    const struct attn_queue_size *n = &q->size;
    const int64_t one = n->longest + m->class_token;
    int64_t prompts = n->seats
                    * (attn_search_lead(m, q->o, 0) + q->o->prefix_n);
    if (m->kind == ATTN_DECODER)
        prompts += n->rows;
    q->prompt_rows = attn_min(prompts, n->seats * attn_cache_rows(m));
    q->encode_rows = n->rows + n->places * m->class_token;
    if (n->call > 0) {
        q->prompt_rows = attn_min(q->prompt_rows, n->call);
        q->encode_rows = attn_min(q->encode_rows, attn_max(n->call, one));
    }
}

/* ---- arrays ---- */

static void queue_lay_out_caches(struct attn_queue *q, struct attn_memory *at)
{
    const struct attn_queue_size *n = &q->size;
    const int64_t keys = n->longest + q->model->class_token;
    const int64_t most = attn_cache_pages(keys);
    struct attn_cache_size self = { ATTN_SELF, 0, 0, 0, 0 };
    struct attn_cache_size cross = { ATTN_CROSS, 0, 0, 0, 0 };

    self.slots = q->slots + q->prefixes;
    self.length = q->positions;
    self.pages = n->pages > 0 ? n->pages
                              : q->slots * attn_cache_pages(q->positions);
    self.pages += n->prefix_pages;
#if ATTN_HAS_FIXED
    if (n->places > 0) /* copies fill the call */
        self.pages += queue_fixed(q->model)
                    * attn_cache_pages(attn_cache_rows(q->model));
#endif
    self.rows = attn_cache_rows(q->model);
    attn_cache_take(&q->self, q->model, &self, at);
    cross.slots = n->places + q->calls;
    cross.length = keys;
    /* of each source, all pages except the last are full */
    cross.pages = (n->rows + n->places * q->model->class_token) / ATTN_PAGE
                + n->places;
    cross.pages = attn_min(cross.pages, n->places * most);
    if (queue_fixed(q->model) > 0) /* copies fill the call */
        cross.pages = 0;
    if (q->model->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&q->cross, q->model, &cross, at);
}

static void queue_lay_out_place(struct attn_queue *q, struct attn_place *p,
                                struct attn_memory *at)
{
    const int64_t beam = q->o->beam, results = q->o->results;
    const int64_t word = sizeof(int32_t);
    struct attn_beam *b = &p->beam;
    b->width = q->limit;
    b->sum = attn_take(at, beam, sizeof *b->sum);
    b->list = attn_take(at, queue_pairs(q->o), sizeof *b->list);
    b->tokens = attn_take(at, beam * q->limit, word);
    b->spare = attn_take(at, beam * q->limit, word);
    b->answers = attn_take(at, results * q->limit, word);
    b->best = attn_take(at, results, sizeof *b->best);
    b->order = q->order;
    if (q->model->kind == ATTN_DECODER)
        p->prompt = attn_take(at, q->size.longest, word);
}

static void queue_lay_out_places(struct attn_queue *q, struct attn_memory *at)
{
    const int64_t n = q->size.places, word = sizeof(int32_t);
    struct attn_queue_list *const lists[] = { &q->free, &q->added, &q->waiting,
                                              &q->seated, &q->ended };
    for (int i = 0; i < (int)(sizeof lists / sizeof *lists); i++)
        lists[i]->at = attn_take(at, n, word);
    q->prefix = attn_take(at, q->prefixes, sizeof *q->prefix);
    for (int64_t i = 0; i < q->prefixes && at->used >= 0; i++) {
        int32_t *tokens = attn_take(at, q->positions, word);
        if (at->base)
            q->prefix[i].tokens = tokens;
    }
    q->place = attn_take(at, n, sizeof *q->place);
    for (int64_t i = 0; i < n && at->used >= 0; i++) {
        struct attn_place p = { 0 };
        queue_lay_out_place(q, &p, at);
        if (at->base)
            q->place[i] = p;
    }
}

ATTN_API void attn_queue_lay_out(struct attn_queue *q, struct attn_memory *at)
{
    const struct attn_model *m = q->model;
    const int64_t word = sizeof(int32_t);
    queue_size(q);
    queue_calls(q);
    const int64_t slots = q->slots, n = q->size.places;
    int64_t sources = q->encode_rows;
    int64_t rows = q->prompt_rows + slots;
#if ATTN_HAS_FIXED
    if (n > 0 && m->fixed_batch > 0) { /* copies fill the call */
        rows += m->fixed_batch * attn_max(m->fixed_target, 1);
        sources = q->calls * (q->size.longest + m->class_token);
    }
#endif
    if (queue_orders(q->o) || q->size.draws)
        q->order = attn_take(at, m->target_vocab, word);
    queue_lay_out_caches(q, at);
    queue_lay_out_places(q, at);
    if (m->kind == ATTN_ENCODER_DECODER && m->input_width > 0)
        q->source_input = attn_take(at, sources, m->input_width * 4);
    else if (m->kind == ATTN_ENCODER_DECODER)
        q->source_ids = attn_take(at, sources, word);
    q->source_start = attn_take(at, q->calls + 1, word);
    q->source_rows_of = attn_take(at, n, word);
    q->ids = attn_take(at, rows, word);
    q->start = attn_take(at, slots + 1, word);
    q->past = attn_take(at, slots, word);
    q->select = attn_take(at, slots, word);
    q->source = attn_take(at, slots, word);
    q->parents = attn_take(at, slots, word);
    q->scratch = attn_take(at, slots * (q->positions / ATTN_PAGE + 3), word);
    q->tokens = attn_take(at, q->positions + 1, word);
    q->logits = attn_take(at, slots, m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    const int64_t parts = attn_parts(q->o->parallel);
    int64_t arena = m->arena_bytes(rows, slots, parts);
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena, m->arena_bytes(sources, q->calls, parts));
    q->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_queue_bytes(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  const struct attn_queue_size *size)
{
    struct attn_memory at;
    struct attn_queue q = { 0 };
    int wrong = attn_check_choice(m, o);
    if (wrong == 0)
        wrong = search_rules(o);
    if (wrong == 0)
        wrong = queue_sizes(size, o);
    if (wrong)
        return wrong;
    q.model = m;
    q.o = o;
    q.size = *size;
    attn_memory_open(&at, NULL);
    attn_queue_lay_out(&q, &at);
    if (q.limit < 1 || o->prefix_n > q.limit)
        return ATTN_ERROR_LENGTH;
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}
