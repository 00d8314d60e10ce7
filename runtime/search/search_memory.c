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

static int search_sizes(const struct attn_search_state *s)
{
    if (s->sentences < 0 || s->sentences > ATTN_MOST / s->o->beam)
        return ATTN_ERROR_COUNT;
    if (s->source_rows < 0 || s->source_rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (s->longest < 0 || s->longest > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    return 0;
}

static void search_lay_out_caches(struct attn_search_state *s,
                                  struct attn_memory *at)
{
    int64_t n = s->sources, keys = s->longest + s->model->class_token;
    /* of each source, all pages except the last are full */
    int64_t pages = n * ((keys + ATTN_PAGE - 1) / ATTN_PAGE);
    int64_t spare = attn_min(0, s->source_rows / ATTN_PAGE + n - pages);
    struct attn_cache_size self = { ATTN_SELF, 0, 0, 0, 0 };
    struct attn_cache_size cross = { ATTN_CROSS, 0, 0, 0, 0 };

    self.slots = s->slots;
    self.length = s->positions;
    self.rows = attn_cache_rows(s->model);
    attn_cache_take(&s->self, s->model, &self, at);
    cross.slots = n;
    cross.length = keys;
    cross.spare = spare;
    if (s->model->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&s->cross, s->model, &cross, at);
}

static void search_lay_out_beams(struct attn_search_state *s,
                                 struct attn_memory *at)
{
    int64_t beam = s->o->beam;
    int64_t results = s->o->results;
    int64_t word = sizeof(int32_t);

    s->beam = attn_take(at, s->sentences, sizeof *s->beam);
    for (int64_t i = 0; i < s->sentences; i++) {
        struct attn_beam b = { 0 };
        b.o = s->o;
        b.width = s->limit;
        b.room = (2 + s->o->ends_count) * beam;
        b.sum = attn_take(at, beam, sizeof *b.sum);
        b.list = attn_take(at, b.room, sizeof *b.list);
        b.tokens = attn_take(at, beam * s->limit, word);
        b.spare = attn_take(at, beam * s->limit, word);
        b.answers = attn_take(at, results * s->limit, word);
        b.order = s->order;
        if (at->used < 0)
            return;
        if (at->base)
            s->beam[i] = b;
    }
}

#if ATTN_HAS_FIXED
/* Adds the sequences that complete a batch of fixed size. Returns the rows of a
 * decode call with such a batch. */
static int64_t search_fill_up(struct attn_search_state *s)
{
    const struct attn_model *m = s->model;
    if (s->sentences == 0 || m->fixed_batch == 0)
        return 0;
    if (m->kind == ATTN_ENCODER_DECODER)
        s->sources = attn_max(s->sentences, m->fixed_batch);
    s->slots = attn_max(s->slots, m->fixed_batch);
    s->source_rows += (s->sources - s->sentences) * s->longest;
    return m->fixed_batch * attn_max(m->fixed_target, 1);
}
#endif

ATTN_API void attn_search_lay_out(struct attn_search_state *s,
                                  struct attn_memory *at)
{
    const struct attn_model *m = s->model;
    int64_t n = s->sentences, more = 0, word = sizeof(int32_t);
    if (s->o->max_input > 0)
        s->longest = attn_min(s->longest, s->o->max_input);
    s->sources = n;
    s->slots = n * s->o->beam;
#if ATTN_HAS_FIXED
    more = search_fill_up(s);
#endif
    const int64_t slots = s->slots;
    s->source_rows = attn_min(s->source_rows, s->sources * s->longest)
                   + s->sources * m->class_token;
    s->limit = attn_search_limit(m, s->o, s->longest, 0);
    s->positions = attn_search_lead(m, s->o, s->longest) + s->limit - 1;
    s->positions = attn_min(s->positions, m->max_target);
    /* rows before the first token, per sentence at most attn_cache_rows() */
    int64_t first = n * (attn_search_lead(m, s->o, 0) + s->o->prefix_n);
    if (m->kind == ATTN_DECODER)
        first += s->source_rows;
    first = attn_min(first, n * attn_cache_rows(m)) + more;

    if (s->o->sampling.temperature > 0.0f || attn_penalises(&s->o->process))
        s->order = attn_take(at, m->target_vocab, word);
    search_lay_out_caches(s, at);
    search_lay_out_beams(s, at);
    if (m->input_width > 0)
        s->source_input = attn_take(at, s->source_rows, m->input_width * 4);
    else
        s->source_ids = attn_take(at, s->source_rows, word);
    s->source_start = attn_take(at, s->sources + 1, word);
    s->source_rows_of = attn_take(at, s->sources, word);
    s->ids = attn_take(at, attn_max(first, slots), word);
    s->start = attn_take(at, slots + 1, word);
    s->past = attn_take(at, slots, word);
    s->select = attn_take(at, slots, word);
    s->source = attn_take(at, slots, word);
    s->parents = attn_take(at, slots, word);
    s->scratch = attn_take(at, slots * (s->positions / ATTN_PAGE + 3), word);
    s->tokens = attn_take(at, s->positions + 1, word);
    s->logits = attn_take(at, slots, m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t parts = attn_parts(s->o->parallel);
    int64_t arena = attn_max(m->arena_bytes(first, attn_max(n, m->fixed_batch),
                                            parts),
                             m->arena_bytes(slots, slots, parts));
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena,
                         m->arena_bytes(s->source_rows, s->sources, parts));
    s->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_search_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t sentences, int64_t source_rows,
                                   int64_t longest)
{
    struct attn_memory at;
    struct attn_search_state s = { 0 };
    s.model = m;
    s.o = o;
    s.sentences = sentences;
    s.source_rows = source_rows;
    s.longest = longest;
    int wrong = attn_check_choice(m, o);
    if (wrong == 0)
        wrong = search_rules(o);
    if (wrong == 0)
        wrong = search_sizes(&s);
    if (wrong)
        return wrong;
    attn_memory_open(&at, NULL);
    attn_search_lay_out(&s, &at);
    if (s.limit < 1 || o->prefix_n > s.limit)
        return ATTN_ERROR_LENGTH;
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}
