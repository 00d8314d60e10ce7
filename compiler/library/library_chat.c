/* library_chat.c: conversations. The messages become the tokens that attnc run
 * --chat reads. What the handle's stream has read of them is not read again. */
#include <string.h>

#include "library/library.h"

typedef struct {
    attnc_handle *h;
    const char *const *roles, *const *contents;
    int64_t n;
    const void *block;
    struct attn_chat chat;
    const char *system; /* NULL: none */
    int64_t tokens;     /* ids so far, without the start token */
    int64_t same;       /* answers of the stream that are also messages */
} Talk;

/* ---- messages ---- */

/* Checks the roles, and takes the system's message. Returns the number of the
 * first other message, or an error. */
static int64_t check_roles(Talk *t)
{
    static const char *const role[] = { "user", "assistant" };
    attnc_handle *h = t->h;
    int64_t first = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (!t->roles[i] || !t->contents[i])
            return library_error(h, ATTNC_ERROR_NULL, "message %lld is NULL",
                                 (long long)i);
    if (t->n > 0 && strcmp(t->roles[0], "system") == 0) {
        t->system = t->contents[0];
        first = 1;
    }
    for (int64_t i = first; i < t->n; i++)
        if (strcmp(t->roles[i], role[(i - first) % 2]) != 0)
            return library_error(
                h, ATTNC_ERROR_OPTION,
                "message %lld: its role must be %s: system may "
                "be the first, then user and assistant "
                "alternate",
                (long long)i, role[(i - first) % 2]);
    return (t->n - first) % 2 == 1
             ? first
             : library_error(h, ATTNC_ERROR_OPTION,
                             "the last message must be the user's");
}

/* Returns the number of tokens before the next one, with the start token. */
static int64_t place(const Talk *t)
{
    return t->tokens + (t->h->m->search.start >= 0);
}

/* True if the first `to` tokens of the stream are those of the messages so
 * far. */
static bool has_read(const Talk *t, int64_t to)
{
    const struct attn_stream *s = &t->h->stream;
    const int64_t start = t->h->m->search.start >= 0;
    return s->room && s->n >= to && to <= place(t)
        && (!start || s->tokens[0] == t->h->m->search.start)
        && memcmp(s->tokens + start, t->h->ids.at,
                  (size_t)(to - start) * sizeof *s->tokens)
               == 0;
}

/* Adds the tokens of an answer. If the model wrote it in this conversation,
 * they are the ones that it chose, which may differ from those of the text.
 * Returns their number or an error. */
static int64_t add_answer(Talk *t, const char *text)
{
    attnc_handle *h = t->h;
    const struct said *was = t->same < h->answers
                               ? (const struct said *)h->turns.at + t->same
                               : NULL;
    const int64_t bytes = (int64_t)strlen(text);
    if (was && was->bytes == bytes && was->from == place(t)
        && memcmp((const char *)h->said.at + was->text, text, (size_t)bytes)
               == 0
        && has_read(t, was->from) && h->stream.n >= was->to) {
        const int64_t n = was->to - was->from;
        t->same++;
        const int64_t wrong = library_copy(h, t->tokens,
                                           h->stream.tokens + was->from, n);
        return wrong ? wrong : n;
    }
    return library_ids(h, t->block, t->tokens, text, bytes, ATTN_BEGUN);
}

/* Adds the tokens of a user's message with the texts around it. Returns their
 * number or an error. */
static int64_t add_turn(Talk *t, bool first, const char *text)
{
    attnc_handle *h = t->h;
    const int64_t n = (int64_t)strlen(text);
    const int64_t bytes = attn_chat_turn(&t->chat, t->system, first, text, n,
                                         NULL, 0);
    /* alone, so that the place in a message is one of this text */
    const int64_t alone = library_read(h, t->tokens, 1, text, n, ATTN_BEGUN);
    char *turn = alone < 0 ? NULL : library_room(h, &h->text, bytes + 1);
    if (!turn)
        return alone < 0 ? alone : ATTNC_ERROR_MEMORY;
    attn_chat_turn(&t->chat, t->system, first, text, n, turn, bytes);
    return library_ids(h, t->block, t->tokens, turn, bytes,
                       first ? ATTN_PLAIN : ATTN_BEGUN);
}

/* Converts the messages to h->ids. Returns 0 or an error. */
static int64_t read_messages(Talk *t)
{
    attnc_handle *h = t->h;
    const int64_t first = check_roles(t), most = h->m->facts.max_target;
    for (int64_t i = first; first >= 0 && i < t->n; i++) {
        const char *text = t->contents[i];
        int64_t n = (i - first) % 2 ? add_answer(t, text)
                                    : add_turn(t, i == first, text);
        if (n >= 0 && h->limits.max_input > 0
            && t->tokens + n > h->limits.max_input)
            n = library_longer(h, "tokens of the conversation", t->tokens + n,
                               h->limits.max_input);
        if (n < 0) {
            char why[sizeof h->why];
            memcpy(why, h->why, sizeof why);
            return library_error(h, n, "message %lld: %.*s", (long long)i,
                                 (int)sizeof why - 40, why);
        }
        t->tokens += n;
        if (place(t) > most)
            return library_error(h, ATTNC_ERROR_LENGTH,
                                 "message %lld: the conversation has %lld "
                                 "tokens, the model takes %lld (max_len)",
                                 (long long)i, (long long)place(t),
                                 (long long)most);
    }
    return attn_min(first, 0);
}

/* ---- answer ---- */

/* Lets the handle's stream read the messages, or opens a new one if it has read
 * others or is too short. Returns 0 or an error. */
static int64_t open_talk(Talk *t, const Asked *q)
{
    attnc_handle *h = t->h;
    struct attn_stream *s = &h->stream;
    const struct attn_model *m = h->m->e.backend.model;
    const int64_t lead = place(t);
    int64_t answer = q->tokens;
    if (answer < 0)
        answer = attn_search_limit(m, &q->o, 0, lead);
    if (has_read(t, s->n) && s->n < lead && lead + answer <= s->room->width) {
        const int64_t old = s->n - (h->m->search.start >= 0);
        s->o = q->o;
        const int64_t wrong = attn_stream_feed(s, (int32_t *)h->ids.at + old,
                                               lead - s->n);
        if (!wrong)
            return 0;
        s->room = NULL;
        return library_error(h, wrong, "%s", attn_error_text(wrong));
    }
    /* with space for another turn */
    const int64_t tokens = attn_min(2 * (lead + answer), m->max_target + 1);
    return library_open_stream(h, q, t->tokens, tokens);
}

/* Answers, and keeps the text of the answer with its tokens. Returns their
 * number or an error. */
static int64_t answer_talk(Talk *t, Asked *q, Answer *a)
{
    attnc_handle *h = t->h;
    struct attn_stream *s = &h->stream;
    q->o.beam = 1;
    q->o.prefix_n = 0;
    int64_t wrong = open_talk(t, q);
    if (!wrong)
        wrong = library_begin_text(h, a, q, 0);
    struct said *turn = wrong
                          ? NULL
                          : library_room(h, &h->turns,
                                         (t->same + 1) * (int64_t)sizeof *turn);
    if (!turn) {
        h->answers = 0;
        s->o = h->m->search;
        return wrong ? wrong : ATTNC_ERROR_MEMORY;
    }
    const struct said *last = t->same ? &turn[t->same - 1] : NULL;
    h->answers = t->same;
    h->said_bytes = last ? last->text + last->bytes : 0;
    struct said now = { .from = s->n, .text = h->said_bytes };
    int64_t most = q->tokens;
    if (most < 0)
        most = attn_search_limit(s->model, &q->o, 0, s->n);
    a->records = true;
    wrong = library_tokens_of(h, a, most);
    s->o = h->m->search; /* the options end with the call */
    if (wrong)
        return wrong;
    if (a->text.stopped || a->text.held > 0)
        return a->n; /* the tokens have more text than the caller has got */
    now.to = s->n;
    now.bytes = h->said_bytes - now.text;
    turn[t->same] = now;
    h->answers = t->same + 1;
    return a->n;
}

/* Begins a conversation. Returns 0 or an error. */
static int64_t begin_talk(Talk *t, bool good)
{
    attnc_handle *h = t->h;
    const Spec *s = h->m->e.spec;
    t->block = library_vocabulary(h, 1);
    if (!spec_chats(s))
        return library_error(h, ATTNC_ERROR_KIND,
                             "%s: the spec has no `chat`, the texts around the "
                             "turns of a conversation",
                             h->m->facts.name);
    if (!t->block)
        return ATTNC_ERROR_OPEN;
    if (!good || t->n < 0)
        return library_error(h, ATTNC_ERROR_NULL,
                             "a pointer is NULL, or a count below 0");
    t->chat = spec_chat(s);
    t->system = t->chat.system_text;
    return 0;
}

int64_t attnc_chat(attnc_handle *h, const char *const *roles,
                   const char *const *contents, int64_t n,
                   const char *const *options, attnc_take_text *take,
                   void *user)
{
    Asked q = {
        .h = h, .words = options, .where = "attnc_chat()", .use = AskedChat
    };
    Talk t = { .h = h, .roles = roles, .contents = contents, .n = n };
    Answer a = { .take_text = take, .user = user };
    int64_t found = library_ask(&q);
    if (found == 0)
        found = begin_talk(&t, roles && contents && take);
    if (found == 0)
        found = read_messages(&t);
    if (found == 0)
        found = answer_talk(&t, &q, &a);
    arena_free(q.arena);
    return found;
}
