/* library_stream.c: answers that grow token by token, from the stream of a
 * handle, and its state, as attnc run --prompt makes, saves and loads it. */
#include <string.h>

#include "library/library.h"

/* ---- text ---- */
int64_t library_begin_text(attnc_handle *h, Answer *a, const Asked *q,
                           int64_t begun)
{
    const void *block = h->m->e.target_vocab.block;
    const int wrong = a->take_text ? attn_text_open(&a->text, block, q->stop,
                                                    q->stops, begun)
                                   : 0;
    return wrong ? library_error(h, wrong, "%s", attn_error_text(wrong)) : 0;
}

/* Passes on the text that a token adds; id -1: the bytes that were held back.
 * Returns 0 or an error. */
static int64_t give_text(attnc_handle *h, Answer *a, int32_t id)
{
    int64_t bytes = ATTN_ERROR_ROOM;
    for (int64_t room = 512; bytes == ATTN_ERROR_ROOM; room *= 2) {
        char *text = library_room(h, &h->text, room);
        if (!text)
            return ATTNC_ERROR_MEMORY;
        bytes = id < 0 ? attn_text_end(&a->text, text, room)
                       : attn_text_add(&a->text, id, text, room);
    }
    if (bytes < 0)
        return library_error(h, bytes, "%s", attn_error_text(bytes));
    if (bytes == 0 || a->silent || a->stopped)
        return 0;
    if (a->records) {
        char *to = library_room(h, &h->said, h->said_bytes + bytes);
        if (!to)
            return ATTNC_ERROR_MEMORY;
        memcpy(to + h->said_bytes, h->text.at, (size_t)bytes);
        h->said_bytes += bytes;
    }
    a->stopped = a->take_text(a->user, h->text.at, bytes) != 0;
    return 0;
}

int64_t library_give(attnc_handle *h, Answer *a, int32_t id)
{
    a->n += id >= 0 && !a->silent;
    if (!a->take_id)
        return give_text(h, a, id);
    if (id >= 0 && !a->silent)
        a->stopped = a->take_id(a->user, id) != 0;
    return 0;
}

/* ---- stream ---- */

/* Returns memory for a stream, or NULL. An older stream, and the answers of its
 * conversation, end. */
static void *stream_memory(attnc_handle *h, int64_t bytes)
{
    h->stream.room = NULL;
    h->answers = 0;
    if (bytes < 0) {
        library_error(h, bytes, "%s", attn_error_text(bytes));
        return NULL;
    }
    return library_room(h, &h->memory, bytes);
}

/* Returns 0, or the error of a call of the runtime with its message. The stream
 * is closed after an error. */
static int64_t opened(attnc_handle *h, int64_t wrong)
{
    if (!wrong)
        return 0;
    h->stream.room = NULL;
    return library_error(h, wrong, "%s", attn_error_text(wrong));
}

int64_t library_open_stream(attnc_handle *h, const Asked *q, int64_t n,
                            int64_t tokens)
{
    const struct attn_model *m = h->m->e.backend.model;
    const int64_t rows = m->kind == ATTN_DECODER ? 0 : n;
    const int64_t bytes = attn_stream_bytes(m, &q->o, rows, tokens, 1);
    const struct attn_stream_request r = {
        .model = m,
        .bound = h->m->e.bound,
        .o = &q->o,
        .ids = h->ids.at,
        .n = n,
        .tokens = tokens,
        .streams = 1,
        .memory = stream_memory(h, bytes),
        .bytes = bytes,
    };
    if (!r.memory)
        return bytes < 0 ? bytes : ATTNC_ERROR_MEMORY;
    return opened(h, attn_stream_open(&h->stream, &r));
}

int64_t library_tokens_of(attnc_handle *h, Answer *a, int64_t most)
{
    int64_t wrong = 0, token = 0;
    most = attn_min(most, library_most_output(h) - a->n); /* also of -n */
    for (int64_t i = 0; i < most && !wrong && !a->stopped; i++) {
        token = attn_stream_next(&h->stream);
        if (token < 0)
            break;
        wrong = library_give(h, a, (int32_t)token);
        if (a->take_text && a->text.stopped)
            break;
    }
    if (!wrong && token < ATTN_STREAM_FULL)
        return library_error(h, token, "%s", attn_error_text(token));
    return wrong ? wrong : library_give(h, a, -1);
}

/* Returns the maximum tokens of a stream, `lead` of which precede the answer.
 */
static int64_t stream_tokens(const attnc_handle *h, const Asked *q,
                             int64_t rows, int64_t lead)
{
    const struct attn_model *m = h->m->e.backend.model;
    int64_t answer = attn_search_limit(m, &q->o, rows, lead);
    if (q->tokens >= 0)
        answer = attn_min(q->o.prefix_n + q->tokens, m->max_target);
    return attn_max(attn_min(lead + answer, m->max_target + 1), 1);
}

/* Passes on the answer of the open stream: the tokens of the prefix, then those
 * that are chosen. The text begins with `read` tokens of h->ids, which are not
 * passed on; stop texts apply neither to them nor to the prefix. Returns the
 * number of tokens or an error. */
static int64_t answer_by_stream(attnc_handle *h, const Asked *q, int64_t read,
                                int64_t begun, Answer *a)
{
    struct attn_stream *s = &h->stream;
    const int64_t lead = s->lead;
    int64_t wrong = attn_stream_feed(s, q->o.prefix, q->o.prefix_n);
    s->lead = lead;
    s->stop = q->stop_ids;
    s->stops = a->take_id ? q->stops_ids : 0;
    wrong = opened(h, wrong);
    if (!wrong)
        wrong = library_begin_text(h, a, q, begun);
    a->text.stops = 0;
    a->silent = true;
    for (int64_t i = 0; a->take_text && i < read && !wrong; i++)
        wrong = library_give(h, a, ((const int32_t *)h->ids.at)[i]);
    a->silent = false;
    for (int64_t i = 0; i < q->o.prefix_n && !wrong && !a->stopped; i++)
        wrong = library_give(h, a, q->o.prefix[i]);
    a->text.stops = a->take_text ? q->stops : 0;
    if (!wrong)
        wrong = library_tokens_of(h, a, q->tokens < 0 ? INT64_MAX : q->tokens);
    s->stop = NULL; /* the options end with the call */
    s->stops = 0;
    s->o = h->m->search;
    return wrong ? wrong : a->n;
}

int64_t library_stream(attnc_handle *h, const Asked *q, int64_t n, Answer *a)
{
    const struct attn_model *m = h->m->e.backend.model;
    const bool decodes = m->kind == ATTN_DECODER;
    const int64_t lead = attn_search_lead(m, &q->o, n);
    const int64_t wrong = library_open_stream(h, q, n,
                                              stream_tokens(h, q, n, lead));
    return wrong ? wrong : answer_by_stream(h, q, decodes ? n : 0, 0, a);
}

/* ---- states ---- */

/* Returns the hash of the weights, by which a state is of this model. */
static uint64_t weights_of(attnc_handle *h)
{
    if (h->weights == 0)
        h->weights = attn_weights_hash(h->m->e.backend.model, h->m->e.packed);
    return h->weights;
}

int64_t attnc_state(attnc_handle *h, void *out, int64_t cap)
{
    const int64_t wrong = library_begin(h);
    if (wrong)
        return wrong;
    if (!h->stream.room)
        return library_error(h, ATTNC_ERROR_STATE,
                             "there is no state: a beam, or no answer before");
    const int64_t bytes = attn_state_bytes(&h->stream);
    if (!out || bytes < 0)
        return bytes;
    if (bytes > cap)
        return library_error(h, ATTNC_ERROR_ROOM, "the state has %lld bytes",
                             (long long)bytes);
    const int64_t saved = attn_state_save(&h->stream, weights_of(h), out,
                                          bytes);
    return saved < 0 ? library_error(h, saved, "%s", attn_error_text(saved))
                     : saved;
}

/* Opens the stream from a state with room for `tokens` tokens, and appends n
 * tokens of h->ids. Returns 0 or an error. */
static int64_t open_state(attnc_handle *h, const Asked *q, const void *state,
                          int64_t state_bytes, int64_t n, int64_t tokens)
{
    const struct attn_model *m = h->m->e.backend.model;
    const struct attn_state_header *was = state;
    const int64_t bytes = attn_stream_bytes(m, &q->o, was->source_rows, tokens,
                                            1);
    const struct attn_restore_request r = {
        .model = m,
        .bound = h->m->e.bound,
        .o = &q->o,
        .weights = weights_of(h),
        .state = state,
        .bytes = state_bytes,
        .tokens = tokens,
        .streams = 1,
        .memory = stream_memory(h, bytes),
        .memory_bytes = bytes,
    };
    if (!r.memory)
        return bytes < 0 ? bytes : ATTNC_ERROR_MEMORY;
    int64_t wrong = attn_state_restore(&h->stream, &r);
    if (!wrong)
        wrong = attn_stream_feed(&h->stream, h->ids.at, n);
    return opened(h, wrong);
}

/* Checks the state, and copies it to an address that is a multiple of 8 if it
 * is not at one. Returns 0 or an error. */
static int64_t check_state(attnc_handle *h, const void **state, int64_t bytes)
{
    const struct attn_model *m = h->m->e.backend.model;
    if (!*state)
        return library_error(h, ATTNC_ERROR_STATE, "the state is NULL");
    if (bytes < 0)
        return library_error(h, ATTNC_ERROR_COUNT,
                             "the bytes of the state are below 0");
    if ((uintptr_t)*state % 8 != 0) {
        void *to = library_room(h, &h->work, bytes + 1);
        if (!to)
            return ATTNC_ERROR_MEMORY;
        *state = memcpy(to, *state, (size_t)bytes);
    }
    const char *wrong = attn_state_check(m, weights_of(h), *state, bytes);
    return wrong ? library_error(h, ATTNC_ERROR_STATE, "the state: %s", wrong)
                 : 0;
}

/* Converts the text that follows a state to h->ids. Returns the number of its
 * tokens or an error. */
static int64_t next_text(attnc_handle *h, const struct attn_state_header *was,
                         const char *prompt, int64_t bytes)
{
    const bool begun = was->tokens > (h->m->search.start >= 0);
    if (prompt && bytes == -1)
        bytes = (int64_t)strlen(prompt);
    if (!prompt || bytes == 0)
        return 0;
    if (h->m->facts.kind != ATTNC_DECODER)
        return library_error(h, ATTNC_ERROR_KIND,
                             "the source was read before the state was saved: "
                             "no text can follow it");
    if (!begun)
        return library_question(h, 0, prompt, bytes);
    return library_read(h, 0, 0, prompt, bytes, ATTN_BEGUN);
}

/* Continues a state with the n tokens of h->ids. Returns the number of tokens
 * of the answer or an error. */
static int64_t go_on(attnc_handle *h, Asked *q, const void *state,
                     int64_t state_bytes, int64_t n, Answer *a)
{
    const struct attn_state_header *was = state;
    const int64_t lead = was->tokens + n, most = h->m->facts.max_target + 1;
    if (q->o.beam != 1)
        return library_error(h, ATTNC_ERROR_OPTION,
                             "--beam 1 continues a state");
    if (n > library_most_input(h))
        return library_longer(h, "tokens of the text", n,
                              library_most_input(h));
    if (n == 0 && q->o.prefix == h->m->search.prefix)
        q->o.prefix_n = 0; /* the state is behind its prefix */
    const int64_t tokens = stream_tokens(h, q, was->source_rows, lead);
    if (lead > most || lead + q->o.prefix_n > tokens)
        return library_longer(h, "tokens of the text", n, most - was->tokens);
    const int64_t begun = was->tokens > (h->m->search.start >= 0);
    const int64_t wrong = open_state(h, q, state, state_bytes, n, tokens);
    return wrong ? wrong : answer_by_stream(h, q, n, begun, a);
}

int64_t attnc_continue(attnc_handle *h, const void *state, int64_t state_bytes,
                       const char *prompt, int64_t bytes,
                       const char *const *options, attnc_take_text *take,
                       void *user)
{
    Asked q = { .h = h, .words = options, .where = "attnc_continue()" };
    Answer a = { .take_text = take, .user = user };
    int64_t n = library_ask(&q);
    if (n == 0 && !take)
        n = library_error(h, ATTNC_ERROR_NULL,
                          "there is no function to take the answer");
    if (n == 0 && !library_vocabulary(h, 1))
        n = ATTNC_ERROR_OPEN;
    if (n == 0)
        n = check_state(h, &state, state_bytes);
    if (n == 0)
        n = next_text(h, state, prompt, bytes);
    if (n >= 0)
        n = go_on(h, &q, state, state_bytes, n, &a);
    arena_free(q.arena);
    return n;
}
