/* handle_chat.c: the conversation of a handle. One stream reads all of its
 * turns and answers, in memory of open(). */

struct handle_talk {
    struct attn_stream s;
    int begun;    /* the stream has read a turn */
    int given;    /* `system` replaces the spec's text */
    char *system; /* text of the system that the caller gave */
    char *turn;   /* a turn with the texts around it */
    void *memory; /* [bytes] of the stream */
    int64_t bytes;
};

/* ---- memory ---- */

/* Returns the maximum bytes of a turn. White space that the spec trims from
 * texts around a turn is there if the turn is not empty, as here. */
static int64_t handle_longest_turn(const struct attn_handle *h)
{
    const struct attn_chat *c = h->model->texts->chat;
    const int64_t first = attn_chat_turn(c, "x", 1, "x", 1, NULL, 0);
    const int64_t next = attn_chat_turn(c, "x", 0, "x", 1, NULL, 0);
    const char *system = c->system_text ? c->system_text : "";

    return attn_max(first, next) + h->text
         + attn_max(h->text, (int64_t)strlen(system));
}

/* Lays out the conversation. Returns 0 or an error. */
static int handle_lay_out_talk(struct attn_handle *h, struct attn_memory *at)
{
    struct handle_talk *t;

    if (h->chat == 0)
        return 0;
    const struct attn_search_options o = handle_choice(h, NULL);
    const int64_t bytes = attn_stream_bytes(h->model, &o, 0, h->chat + 1, 1);
    if (bytes < 0)
        return (int)bytes;
    t = attn_take(at, 1, sizeof *t);
    char *system = attn_take(at, h->text + 1, 1);
    char *turn = attn_take(at, handle_longest_turn(h), 1);
    void *memory = attn_take(at, bytes, 1);
    if (!t) /* only the size is wanted */
        return 0;
    memset(t, 0, sizeof *t);
    t->system = system;
    t->turn = turn;
    t->memory = memory;
    t->bytes = bytes;
    h->talk = t;
    return 0;
}

/* ---- turns ---- */

/* Begins a call on the conversation. Returns 0 or an error. */
static int handle_begin_talk(const struct attn_model *m, struct attn_handle *h)
{
    const int wrong = handle_begin(m, h);

    if (wrong || h->talk)
        return wrong;
    return handle_fail(h, ATTN_ERROR_OPTION,
                       "the handle has no conversation: chat of the options "
                       "at open");
}

ATTN_API int attn_chat_begin(const struct attn_model *m, struct attn_handle *h,
                             const char *system)
{
    const int wrong = handle_begin_talk(m, h);

    if (wrong)
        return wrong;
    if (system) {
        const int64_t n = handle_tokens(h, h->target, system, -1, ATTN_BEGUN,
                                        h->ids);
        if (n < 0)
            return (int)n;
        memcpy(h->talk->system, system, strlen(system) + 1);
    }
    h->talk->given = system != NULL;
    h->talk->begun = 0;
    return 0;
}

/* Converts a turn to ids. First encodes the text on its own, so that a position
 * in an error counts from its start. Returns their number, or an error. */
static int64_t handle_turn_ids(struct attn_handle *h, const char *text,
                               int64_t bytes)
{
    const struct attn_chat *c = h->model->texts->chat;
    const struct handle_talk *t = h->talk;
    const char *system = t->given ? t->system : c->system_text;
    const int64_t most = handle_longest_turn(h);
    int64_t bad = 0;
    const int64_t alone = handle_tokens(h, h->target, text, bytes, ATTN_BEGUN,
                                        h->ids);

    if (alone < 0)
        return alone;
    if (bytes < 0)
        bytes = (int64_t)strlen(text);
    bytes = attn_chat_turn(c, system, !t->begun, text, bytes, t->turn, most);
    const int64_t n = attn_vocab_encode(h->target, t->turn, bytes,
                                        t->begun ? ATTN_BEGUN : ATTN_PLAIN,
                                        h->ids, h->most, h->words, &bad);
    if (n >= 0)
        return n;
    return handle_fail(h, n, "byte %lld of the turn with the texts around: %s",
                       (long long)bad + 1, attn_error_text(n));
}

/* Begins the conversation with a turn of n ids. Its memory is laid out for the
 * handle's threads. Returns 0 or an error. */
static int handle_first_turn(struct attn_handle *h,
                             const struct attn_search_options *o, int64_t n)
{
    struct handle_talk *t = h->talk;
    struct attn_search_options own = *o;
    const struct attn_stream_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = &own,
        .ids = h->ids,
        .n = n,
        .tokens = h->chat + 1,
        .streams = 1,
        .memory = t->memory,
        .bytes = t->bytes,
    };

    own.parallel = h->parallel;
    return attn_stream_open(&t->s, &r);
}

/* Lets the stream read a turn of n ids. Returns 0 or an error. */
static int handle_read_turn(struct attn_handle *h,
                            const struct attn_search_options *o, int64_t n)
{
    struct handle_talk *t = h->talk;
    const int64_t before = t->begun ? t->s.n : o->start >= 0;
    int wrong = attn_check_choice(h->model, o);

    if (wrong)
        return handle_refuse(h, wrong);
    if (attn_parts(o->parallel) > attn_parts(h->parallel))
        return handle_fail(h, ATTN_ERROR_ROOM,
                           "parallel: %lld parts, the handle was opened for "
                           "%lld: threads or parallel of its options",
                           (long long)attn_parts(o->parallel),
                           (long long)attn_parts(h->parallel));
    if (before + n > h->chat)
        return handle_fail(h, ATTN_ERROR_LENGTH,
                           "the turn has %lld tokens after %lld of the "
                           "conversation, at most %lld are taken: chat of the "
                           "options at open",
                           (long long)n, (long long)before, (long long)h->chat);
    t->s.o = *o; /* those of the last turn may be gone */
    wrong = t->begun ? attn_stream_feed(&t->s, h->ids, n)
                     : handle_first_turn(h, o, n);
    if (wrong)
        return handle_refuse(h, wrong);
    t->s.o = *o; /* the first turn was opened with the handle's threads */
    t->begun = 1;
    return 0;
}

ATTN_API int64_t attn_chat(const struct attn_model *m, struct attn_handle *h,
                           const char *text, int64_t bytes,
                           const struct attn_search_options *asked,
                           attn_take_text *take, void *user)
{
    struct handle_answer a = { .take_text = take, .user = user };
    int wrong = handle_begin_talk(m, h);

    if (wrong)
        return wrong;
    if (!take)
        return handle_fail(h, ATTN_ERROR_NULL,
                           "there is no function to take the text");
    struct attn_search_options o = handle_choice(h, asked);
    struct attn_stream *s = &h->talk->s;
    const int64_t n = handle_turn_ids(h, text, bytes);
    if (n < 0)
        return n;
    o.beam = 1;
    if (h->grammar) /* the answer alone is printed, not the turn before it */
        h->grammar->begun = 0;
    wrong = attn_text_open(&a.text, h->target, NULL, 0, 0);
    wrong = wrong ? handle_refuse(h, wrong) : handle_read_turn(h, &o, n);
    if (wrong == 0)
        wrong = handle_follow(h, s, attn_search_limit(m, &o, 0, s->n), &a);
    if (h->grammar)
        h->grammar->begun = m->kind == ATTN_DECODER;
    return wrong ? wrong : handle_end_text(h, &a);
}
