/* stream.c: one answer, token by token; or several answers that share the full
 * pages of their common beginning.
 *
 * A stream is a list of tokens. The first `read` of them are in its slot of the
 * self cache. The next token is chosen when all have been read. */
#include "runtime/core.h"

#include <string.h>

/* ---- memory ---- */

static int stream_sizes(const struct attn_model *m,
                        const struct attn_search_options *o,
                        int64_t source_rows, int64_t tokens, int64_t streams)
{
    int64_t least = 0, most = 0;
    int wrong = attn_check_choice(m, o);
    if (wrong)
        return wrong;
    if (m->input_width > 0) /* a source of numbers, not tokens */
        return ATTN_ERROR_KIND;
    if (m->kind == ATTN_ENCODER_DECODER) {
        least = 1;
        most = m->max_source;
    }
    if (o->draft && attn_draft_wrong(m))
        return ATTN_ERROR_KIND;
    if (o->draft == ATTN_DRAFT_MODEL && attn_drafter_wrong(m, o->drafter))
        return ATTN_ERROR_KIND;
    if (source_rows < least || source_rows > most)
        return ATTN_ERROR_LENGTH;
    if (tokens < 1 || tokens > attn_min(m->max_target + 1, ATTN_MOST))
        return ATTN_ERROR_LENGTH;
    return attn_check_count(streams, 1, INT16_MAX);
}

/* A smaller model that proposes has a stream of its own in the room of the
 * other, and chooses tokens as that one does: with its logits processors and,
 * if tokens are drawn, with its seed, so that the same numbers are drawn at the
 * same place. A grammar is left out, because its tables would grow with
 * proposals. Errors of the drafter, such as logits that are not finite, only
 * end its proposals, because the answer does not depend on them. */
static struct attn_search_options
drafter_choice(const struct attn_search_options *o)
{
    struct attn_search_options own = *o;
    own.draft = ATTN_DRAFT_NONE;
    own.drafter = NULL;
    own.prefix_n = 0;
    own.process.constrain = NULL;
    return own;
}

static int64_t drafter_tokens(const struct attn_stream_request *r)
{
    return attn_min(r->tokens, r->o->drafter->model->max_target + 1);
}

/* Takes memory for the drafter's stream, also if the source has too many rows
 * for it, so that longer sources never need less memory. */
static void drafter_take(struct attn_draft *d,
                         const struct attn_stream_request *r,
                         int64_t source_rows, struct attn_memory *at)
{
    const struct attn_search_options own = drafter_choice(r->o);
    const struct attn_model *m = r->o->drafter->model;
    d->bytes = attn_stream_bytes(m, &own, attn_min(source_rows, m->max_source),
                                 drafter_tokens(r), 1);
    if (d->bytes < 0) {
        at->used = -1;
        return;
    }
    d->by = attn_take(at, 1, sizeof *d->by);
    d->memory = attn_take(at, d->bytes, 1);
}

static void stream_lay_out(struct attn_stream_room *room,
                           const struct attn_stream_request *r,
                           int64_t source_rows, struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    int64_t chunk = attn_cache_rows(m), rows = attn_min(r->tokens, chunk);
    int64_t positions = attn_min(r->tokens, m->max_target);
    int64_t parts = attn_parts(r->o->parallel);
    const struct attn_cache_size self = { ATTN_SELF, r->streams, positions, 0,
                                          chunk };
    const struct attn_cache_size cross = { ATTN_CROSS, 1, source_rows, 0, 0 };
    memset(room, 0, sizeof *room);
    room->width = r->tokens;
    room->streams = r->streams;
    room->source_rows = (int32_t)source_rows;
    attn_cache_take(&room->self, m, &self, at);
    if (m->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&room->cross, m, &cross, at);
    room->tokens = attn_take(at, r->streams * r->tokens, sizeof(int32_t));
    room->order = attn_take(at, m->target_vocab, sizeof(int32_t));
    if (r->o->draft)
        attn_draft_take(&room->draft, r, source_rows, at);
    if (r->o->draft == ATTN_DRAFT_MODEL)
        drafter_take(&room->draft, r, source_rows, at);
    room->logits = attn_take(at, 1 + room->draft.most,
                             m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = m->arena_bytes(rows, 1, parts);
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena, m->arena_bytes(source_rows, 1, parts));
    room->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_stream_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t source_rows, int64_t tokens,
                                   int64_t streams)
{
    struct attn_memory at;
    struct attn_stream_room room;
    struct attn_stream_request r = { 0 };
    int wrong = stream_sizes(m, o, source_rows, tokens, streams);
    if (wrong)
        return wrong;
    r.model = m;
    r.o = o;
    r.tokens = tokens;
    r.streams = streams;
    attn_memory_open(&at, NULL);
    attn_take(&at, 1, sizeof room);
    stream_lay_out(&room, &r, source_rows, &at);
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}

/* Ends the proposals of a drafter for good. */
static void drafter_drop(struct attn_draft *d)
{
    d->by = NULL;
    d->most = 0;
}

static int drafter_begin(struct attn_draft *d,
                         const struct attn_stream_request *r,
                         int64_t source_rows)
{
    if (source_rows > r->o->drafter->model->max_source) {
        drafter_drop(d);
        return 0;
    }
    const struct attn_search_options own = drafter_choice(r->o);
    const struct attn_stream_request request = {
        .model = r->o->drafter->model,
        .bound = r->o->drafter->bound,
        .o = &own,
        .tokens = drafter_tokens(r),
        .streams = 1,
        .memory = d->memory,
        .bytes = d->bytes,
    };
    return attn_stream_empty(d->by, &request, source_rows);
}

ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_stream_request *r,
                               int64_t source_rows)
{
    struct attn_memory at;
    int64_t need = attn_stream_bytes(r->model, r->o, source_rows, r->tokens,
                                     r->streams);
    if (need < 0)
        return (int)need;
    if (!s || !r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    memset(s, 0, sizeof *s);
    attn_memory_open(&at, r->memory);
    s->room = attn_take(&at, 1, sizeof *s->room);
    stream_lay_out(s->room, r, source_rows, &at);
    s->model = r->model;
    s->bound = r->bound;
    s->o = *r->o;
    s->tokens = s->room->tokens;
    if (s->room->draft.by)
        return drafter_begin(&s->room->draft, r, source_rows);
    return 0;
}

/* ---- open ---- */

ATTN_API int attn_stream_check(const struct attn_stream *s)
{
    if (!s)
        return ATTN_ERROR_NULL;
    const struct attn_stream_room *r = s->room;
    if (!s->model || !s->bound || !r || s->slot < 0 || s->slot >= r->streams)
        return ATTN_ERROR_OPEN;
    if (s->tokens != r->tokens + s->slot * r->width)
        return ATTN_ERROR_OPEN;
    if (s->n < 0 || s->n > r->width || s->lead < 0 || s->lead > s->n)
        return ATTN_ERROR_OPEN;
    if (s->read > s->n || s->read != r->self.length[s->slot])
        return ATTN_ERROR_OPEN;
    return attn_check_choice(s->model, &s->o);
}

static int stream_source(struct attn_stream *s, const int32_t *ids, int64_t n)
{
    struct attn_stream_room *r = s->room;
    struct attn_batch b = { 0 };
    int32_t start[2];
    if (attn_cache_grow(&r->cross, 0, n) < 0)
        return ATTN_ERROR_ROOM;
    start[0] = 0;
    start[1] = (int32_t)n;
    b.parallel = s->o.parallel;
    b.sequences = 1;
    b.rows = n;
    b.start = start;
    b.ids = ids;
    attn_cache_bind(&r->cross, 0, &b);
    if (s->o.draft == ATTN_DRAFT_NGRAM
        && s->model->source_vocab == s->model->target_vocab) {
        memcpy(r->draft.source, ids, (size_t)n * sizeof *ids);
        r->draft.source_n = n;
    }
    return attn_enter(s->model, s->bound, &b, r->arena, 0);
}

ATTN_API int attn_stream_feed(struct attn_stream *s, const int32_t *ids,
                              int64_t n)
{
    int wrong = attn_stream_check(s);
    if (wrong == 0)
        wrong = attn_check_ids(ids, n, s->model->target_vocab);
    if (wrong)
        return wrong;
    if (n > s->room->width - s->n)
        return ATTN_ERROR_ROOM;
    if (n == 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        s->tokens[s->n + i] = ids[i];
    s->n += n;
    if (s->model->kind == ATTN_DECODER)
        s->lead = s->n;
    s->ended = 0;
    return 0;
}

ATTN_API int attn_stream_open(struct attn_stream *s,
                              const struct attn_stream_request *r)
{
    const struct attn_model *m = r->model;
    int64_t source_rows = 0, vocab = m->target_vocab;
    if (m->kind == ATTN_ENCODER_DECODER) {
        source_rows = r->n;
        vocab = m->source_vocab;
    }
    int wrong = attn_check_ids(r->ids, r->n, vocab);
    if (wrong == 0)
        wrong = attn_stream_empty(s, r, source_rows);
    if (wrong)
        return wrong;
    if (r->o->start >= 0) {
        s->tokens[0] = r->o->start;
        s->n = 1;
        s->lead = 1;
    }
    if (m->kind == ATTN_ENCODER_DECODER)
        wrong = stream_source(s, r->ids, r->n);
    else
        wrong = attn_stream_feed(s, r->ids, r->n);
    if (wrong == 0 && source_rows > 0 && s->room->draft.by
        && stream_source(s->room->draft.by, r->ids, r->n) != 0)
        drafter_drop(&s->room->draft);
    if (wrong)
        s->room = NULL; /* closes the stream */
    return wrong;
}

/* ---- tokens ---- */

/* Reads the tokens before index `to`, and leaves the logits of the last one in
 * the room. `ahead` proposals follow them, whose rows and logits are read too.
 * If there are any, only one token is read before them. */
static int stream_read(struct attn_stream *s, int64_t to, int64_t ahead)
{
    struct attn_stream_room *r = s->room;
    struct attn_batch b = { 0 };
    int32_t start[2], past, select[1 + ATTN_DRAFT_MOST];
    const int32_t source = 0;
    b.sequences = 1;
    b.selected = 1 + ahead;
    b.start = start;
    b.past = &past;
    b.select = select;
    b.source = &source;
    b.source_rows = &r->source_rows;
    b.parallel = s->o.parallel;
    b.output = r->logits;
    attn_cache_bind(&r->self, s->slot, &b);
    attn_cache_bind(&r->cross, 0, &b);
    start[0] = 0;
    while (s->read < to) {
        int64_t n = attn_min(to - s->read, attn_cache_rows(s->model));
        for (int64_t i = 0; i <= ahead; i++)
            select[i] = (int32_t)(n - 1 + i);
        start[1] = (int32_t)(n + ahead);
        past = (int32_t)s->read;
        b.rows = n + ahead;
        b.ids = s->tokens + s->read;
        if (attn_cache_grow(&r->self, s->slot, n + ahead) < 0)
            return ATTN_ERROR_ROOM;
        int wrong = attn_enter(s->model, s->bound, &b, r->arena, 1);
        if (wrong)
            return wrong;
        s->read += n;
    }
    if (ahead > 0)
        attn_draft_read(s, ahead);
    return 0;
}

static int stream_stops(const struct attn_stream *s, int64_t token)
{
    for (int64_t i = 0; i < s->stops; i++)
        if (s->stop[i] == token)
            return 1;
    return attn_ends(&s->o, token);
}

/* Appends a token without running the model. */
static int64_t stream_forced(struct attn_stream *s, int64_t token)
{
    s->tokens[s->n] = (int32_t)token;
    s->n++;
    return token;
}

/* ---- proposals ---- */

/* Cuts a stream to its first tokens. If an earlier page is needed again that
 * was given back, none stays read. */
static void drafter_cut(struct attn_stream *s, int64_t length)
{
    struct attn_cache *c = &s->room->self;
    for (int64_t i = 0; i < c->groups; i++)
        if (c->group[i].first[0] > attn_cache_first(&c->group[i].is, length))
            length = 0;
    attn_cache_cut(c, 0, length);
    s->read = length;
}

/* Gives a stream the tokens of another. Those that both have stay read. */
static void drafter_follow(struct attn_stream *to, const struct attn_stream *s)
{
    int64_t same = 0;
    while (same < to->n && same < s->n && to->tokens[same] == s->tokens[same])
        same++;
    if (to->read > same)
        drafter_cut(to, same);
    memcpy(to->tokens + same, s->tokens + same,
           (size_t)(s->n - same) * sizeof *s->tokens);
    to->n = s->n;
    to->lead = s->lead;
    to->ended = 0;
}

static int64_t drafter_guess(struct attn_stream *s, int64_t most)
{
    struct attn_stream *by = s->room->draft.by;
    int64_t n = 0;
    if (s->n > by->room->width)
        return 0;
    if (s->model->kind == ATTN_ENCODER_DECODER
        && by->room->source_rows != by->room->cross.length[0])
        return 0;                  /* a restored state has no source to read */
    by->o = drafter_choice(&s->o); /* they may have changed */
    drafter_follow(by, s);
    while (n < most) {
        const int64_t token = attn_stream_next(by);
        if (attn_stream_failed(token))
            drafter_drop(&s->room->draft);
        if (token < 0)
            break;
        s->tokens[s->n + n] = (int32_t)token;
        n++;
    }
    return n;
}

/* Writes proposals behind the tokens. Returns their number. */
static int64_t stream_propose(struct attn_stream *s)
{
    const int64_t most = attn_draft_most(s);
    if (most < 1)
        return 0;
    return s->room->draft.by ? drafter_guess(s, most)
                             : attn_draft_repeat(s, most);
}

/* Returns the logits of the last token, or NULL with *wrong. */
static float *stream_logits(struct attn_stream *s, int *wrong)
{
    float *logits = attn_draft_logits(s);
    *wrong = 0;
    if (logits)
        return logits;
    if (s->read == s->n) { /* the last logits were overwritten: read again */
        s->read--;
        attn_cache_cut(&s->room->self, s->slot, s->read);
    }
    *wrong = stream_read(s, s->n, stream_propose(s));
    return *wrong ? NULL : s->room->logits;
}

ATTN_API int64_t attn_stream_next(struct attn_stream *s)
{
    int wrong = attn_stream_check(s);
    if (wrong == 0)
        wrong = attn_check_ids(s->stop, s->stops, s->model->target_vocab);
    if (wrong)
        return wrong;
    struct attn_stream_room *r = s->room;
    int64_t vocab = s->model->target_vocab, answer = s->n - s->lead;
    if (s->ended)
        return ATTN_STREAM_END;
    if (s->n == 0 || s->n >= r->width || s->n > s->model->max_target)
        return ATTN_STREAM_FULL;
    if (answer < s->o.prefix_n)
        return stream_forced(s, s->o.prefix[answer]);
    float *logits = stream_logits(s, &wrong);
    if (wrong == ATTN_ERROR_FIXED)
        return wrong;
    if (wrong)
        return ATTN_STREAM_FULL;
    if (!attn_logits_finite(logits, vocab))
        return ATTN_ERROR_FINITE;
    const struct attn_process_row row = { &s->o,   logits, vocab,   s->tokens,
                                          s->lead, s->n,   r->order };
    wrong = attn_process_logits(&row);
    if (wrong)
        return wrong;
    attn_forbid_logits(&s->o, logits, vocab);
    int64_t token = attn_sample(&s->o.sampling, logits, vocab, answer,
                                r->order);
    if (token < 0)
        return ATTN_STREAM_FULL;
    s->ended = stream_stops(s, token);
    if (s->ended)
        return ATTN_STREAM_END;
    s->tokens[s->n] = (int32_t)token;
    s->n++;
    return token;
}

ATTN_API int attn_stream_failed(int64_t token)
{
    return token == ATTN_ERROR_FINITE || token == ATTN_ERROR_FIXED
        || token == ATTN_ERROR_GRAMMAR;
}

ATTN_API int attn_stream_fork(struct attn_stream *to, struct attn_stream *from,
                              int64_t slot)
{
    struct attn_stream s;
    int wrong = attn_stream_check(from);
    if (!to)
        return ATTN_ERROR_NULL;
    if (wrong)
        return wrong;
    if (slot < 0 || slot >= from->room->streams || slot == from->slot)
        return ATTN_ERROR_OPEN;
    attn_draft_drop(from);
    from->room->draft.indexed = 0;
    wrong = stream_read(from, from->n - 1, 0); /* reads the tokens that both
                                                * streams share */
    if (wrong)
        return wrong;
    s = *from;
    s.slot = slot;
    s.tokens = s.room->tokens + slot * s.room->width;
    memcpy(s.tokens, from->tokens, (size_t)s.n * sizeof *s.tokens);
    attn_cache_fork(&s.room->self, from->slot, slot);
    *to = s; /* may be `from` */
    return 0;
}
