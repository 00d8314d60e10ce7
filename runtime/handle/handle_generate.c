/* handle_generate.c: functions of a handle for a model that generates. */

static int handle_queue_sizes(struct attn_handle *h,
                              const struct attn_open_options *o);

/* Sets the draft. Returns 0 or an error. */
static int handle_draft(struct attn_handle *h, int64_t draft,
                        const struct attn_drafter *by)
{
    const char *wrong = attn_draft_wrong(h->model);

    h->draft = draft;
    if (draft < ATTN_DRAFT_NONE || draft > ATTN_DRAFT_MODEL)
        return handle_fail(h, ATTN_ERROR_OPTION, "draft: 0 to %d are taken",
                           ATTN_DRAFT_MODEL);
    if (draft && wrong)
        return handle_fail(h, ATTN_ERROR_OPTION, "draft: %s", wrong);
    if (draft != ATTN_DRAFT_MODEL)
        return 0;
    if (!by || !by->model || !by->bound)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "drafter: it, or a pointer in it, is NULL");
    h->drafter = *by;
    wrong = attn_drafter_wrong(h->model, by);
    return wrong ? handle_fail(h, ATTN_ERROR_OPTION, "drafter: %s", wrong) : 0;
}

ATTN_API int attn_drafter(const struct attn_model *m, struct attn_handle *h,
                          struct attn_drafter *to)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!to)
        return handle_refuse(h, ATTN_ERROR_NULL);
    to->model = m;
    to->bound = h->bound;
    return 0;
}

/* Sets the maximum tokens of the conversation. Returns 0 or an error. */
static int handle_chat_size(struct attn_handle *h, int64_t chat)
{
#if ATTN_HAS_CHAT
    const struct attn_texts *t = h->model->texts;
    int64_t most;

    if (chat != 0 && t && t->chat) {
        h->chat = chat;
        return handle_size(h, "chat", chat, h->model->max_target, &most);
    }
#endif
    if (chat == 0)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION,
                       "chat: the spec has no `chat`, the texts around the "
                       "turns of a conversation, or no vocabulary");
}

static int handle_sizes(struct attn_handle *h,
                        const struct attn_open_options *o)
{
    const struct attn_model *m = h->model;
    struct attn_search_options spec;
    int64_t most = m->max_source;
    int wrong;

    if (m->kind == ATTN_DECODER)
        most = m->max_target;
    wrong = handle_size(h, "max_input", o->max_input, most, &h->input);
    if (wrong == 0)
        wrong = handle_size(h, "max_output", o->max_output, m->max_target,
                            &h->output);
    if (wrong == 0)
        wrong = handle_size(h, "beam", o->beam, INT16_MAX, &h->beam);
    if (wrong == 0)
        wrong = handle_draft(h, o->draft, o->drafter);
    if (wrong == 0)
        wrong = handle_chat_size(h, o->chat);
    options_of_spec(&spec);
    if (o->beam == 0)
        h->beam = spec.beam;
    return wrong ? wrong : handle_queue_sizes(h, o);
}

static int handle_open_grammar(struct attn_handle *h, const char *text,
                               struct attn_memory *at)
{
#if ATTN_HAS_TEXT
    struct attn_search_options spec;
    struct attn_grammar counted, *g;
    int64_t line, column;

    if (text && h->target) {
        const int64_t bytes = (int64_t)strlen(text);
        char *copy = attn_take(at, bytes + 1, 1);
        g = attn_take(at, 1, sizeof *g);
        options_of_spec(&spec);
        if (copy)
            memcpy(copy, text, (size_t)bytes);
        g = g ? g : &counted;
        const struct attn_grammar_request r = {
            .text = copy ? copy : text,
            .bytes = bytes,
            .block = h->target,
            .vocab = h->model->target_vocab,
            .begun = h->model->kind == ATTN_DECODER,
            .prefix = spec.prefix,
            .prefix_n = spec.prefix_n,
        };
        const int wrong = attn_grammar_open(g, &r, at);
        h->grammar = g == &counted || wrong ? NULL : g;
        if (wrong) {
            attn_gbnf_place(g->is.text, g->is.at, &line, &column);
            return handle_fail(h, wrong, "grammar:%lld:%lld: %s",
                               (long long)line, (long long)column, g->is.why);
        }
        return 0;
    }
#endif
    (void)at;
    if (!text)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION,
                       "grammar: %s has no vocabulary: a grammar is about the "
                       "text of tokens",
                       h->model->name);
}

/* Returns the search options, within the limits of the handle. `asked` NULL:
 * the spec's options. */
static struct attn_search_options
handle_choice(const struct attn_handle *h,
              const struct attn_search_options *asked)
{
    struct attn_search_options o;

    options_of_spec(&o);
    if (asked)
        o = *asked;
    o.results = 1;
    o.draft = h->draft;
    o.drafter = &h->drafter;
#if ATTN_HAS_TEXT
    if (h->grammar && !o.process.constrain) {
        o.process.constrain = attn_grammar_allow;
        o.process.constraint = h->grammar;
    }
#endif
    if (o.max_output == 0 || o.max_output > h->output)
        o.max_output = h->output;
    if (!o.parallel)
        o.parallel = h->parallel;
    return o;
}

/* Returns the maximum tokens of a stream whose source, or a decoder's prompt,
 * has n tokens. */
static int64_t handle_stream_tokens(const struct attn_handle *h,
                                    const struct attn_search_options *o,
                                    int64_t n)
{
    const int64_t lead = attn_search_lead(h->model, o, n);
    const int64_t room = lead + attn_search_limit(h->model, o, n, lead);

    return attn_max(attn_min(room, h->model->max_target + 1), 1);
}

/* Returns the bytes that a stream needs. A decoder's stream has no source. */
static int64_t handle_stream_size(const struct attn_handle *h,
                                  const struct attn_search_options *o,
                                  int64_t n)
{
    const int64_t tokens = handle_stream_tokens(h, o, n);

    if (h->model->kind == ATTN_DECODER)
        n = 0;
    return attn_stream_bytes(h->model, o, n, tokens, 1);
}

/* Returns the request of one pair. */
static struct attn_score_request
handle_score(const struct attn_handle *h, const struct attn_search_options *o,
             const struct attn_score_pair *pair)
{
    return (struct attn_score_request){
        .model = h->model,
        .bound = h->bound,
        .start = o->start,
        .prefix = o->prefix,
        .prefix_n = o->prefix_n,
        .pair = pair,
        .pairs = 1,
        .parallel = h->parallel,
        .memory = h->work,
        .bytes = h->work_bytes,
        .log_probability = h->scores,
    };
}

static int64_t handle_call_bytes(const struct attn_handle *h)
{
    const struct attn_model *m = h->model;
    struct attn_search_options o = handle_choice(h, NULL);
    int64_t bytes = 0;

    if (m->input_width > 0) /* no function takes rows of numbers */
        return 0;
    o.max_output = h->output;
    o.max_output_plus = -1;
    o.beam = h->beam;
    bytes = attn_search_bytes(m, &o, 1, h->input, h->input);
    o.beam = 1;
    o.sampling.temperature = 1.0f;
    bytes = attn_max(bytes, attn_search_bytes(m, &o, 1, h->input, h->input));
    bytes = attn_max(bytes, handle_stream_size(h, &o, h->input));
    const struct attn_score_pair pair = {
        .source_n = h->input,
        .target_n = attn_min(h->output + 1, m->max_target),
    };
    const struct attn_score_request r = handle_score(h, &o, &pair);
    return attn_max(bytes, attn_score_bytes(&r));
}

/* ---- search ---- */

/* Checks that handle and model have room for an answer to n tokens. Returns 1,
 * 0 if there is nothing to answer, or an error. Reduces *n to o->max_input if
 * it is larger. */
static int handle_asks(struct attn_handle *h,
                       const struct attn_search_options *o, int64_t *n)
{
    const struct attn_model *m = h->model;
    int64_t lead;

    if (*n < 0)
        return handle_refuse(h, ATTN_ERROR_COUNT);
    if (o->max_input > 0)
        *n = attn_min(*n, o->max_input);
    if (*n > h->input)
        return handle_longer(h, "tokens of the input", *n, h->input);
    lead = attn_search_lead(m, o, *n);
    if (lead > m->max_target)
        return handle_longer(h, "tokens of the input", *n,
                             m->max_target - (lead - *n));
    if (!attn_search_asks(m, o, *n))
        return 0;
    if (attn_search_limit(m, o, *n, lead) < 1)
        return handle_fail(h, ATTN_ERROR_LENGTH,
                           "no room is left for an answer to %lld tokens",
                           (long long)*n);
    return 1;
}

/* Checks that a call needs no more memory than the handle has. Returns 0 or an
 * error. */
static int handle_room(struct attn_handle *h, int64_t need)
{
    if (need < 0)
        return handle_refuse(h, need);
    if (need <= h->work_bytes)
        return 0;
    return handle_fail(h, ATTN_ERROR_ROOM,
                       "this search is larger than the handle was opened for: "
                       "beam, max_input, max_output or threads of its options");
}

/* Finds the best answer. Returns 1, 0 if there is no answer, or an error. */
static int handle_best(struct attn_handle *h, const int32_t *ids, int64_t n,
                       const struct attn_search_options *asked,
                       struct attn_hypothesis *best)
{
    const struct attn_search_options o = handle_choice(h, asked);
    const int asks = handle_asks(h, &o, &n);
    const int32_t start[2] = { 0, (int32_t)n };
    int64_t found = 0;
    int wrong;

    if (asks < 1)
        return asks;
    if (h->model->input_width > 0) /* the source is not tokens */
        return handle_refuse(h, ATTN_ERROR_KIND);
    wrong = handle_room(h, attn_search_bytes(h->model, &o, 1, n, n));
    if (wrong)
        return wrong;
    const struct attn_search_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = &o,
        .sentences = 1,
        .ids = ids,
        .start = start,
        .memory = h->work,
        .bytes = h->work_bytes,
    };
    wrong = attn_search(&r, best, &found);
    if (wrong == 0 && found < 0)
        wrong = (int)found;
    if (wrong)
        return handle_refuse(h, wrong);
    return found > 0;
}

/* ---- translate ---- */

/* Writes the text of ids, which for a decoder continues the prompt, to out, but
 * not more than `cap` bytes. ended: 0 leaves out a character of which bytes are
 * missing. Returns the length of the complete text, or an error. */
static int64_t handle_spell(struct attn_handle *h, const int32_t *ids,
                            int64_t n, int64_t ended, char *out, int64_t cap)
{
    struct attn_text t;
    int64_t size = 0, more = 0;
    int wrong = attn_text_open(&t, h->target, NULL, 0,
                               h->model->kind == ATTN_DECODER);

    if (wrong)
        return handle_refuse(h, wrong);
    for (int64_t i = 0; i < n + ended && more >= 0; i++) {
        if (i < n)
            more = attn_text_add(&t, ids[i], h->piece, HANDLE_PIECE);
        else
            more = attn_text_end(&t, h->piece, HANDLE_PIECE);
        if (more > 0 && size < cap)
            memcpy(out + size, h->piece, (size_t)attn_min(more, cap - size));
        size += more;
    }
    if (more < 0)
        return handle_refuse(h, more);
    if (cap > 0)
        out[attn_min(size, cap - 1)] = '\0';
    return size;
}

ATTN_API int64_t attn_translate(const struct attn_model *m,
                                struct attn_handle *h, const char *text,
                                int64_t bytes,
                                const struct attn_search_options *o, char *out,
                                int64_t cap)
{
    struct attn_hypothesis best;
    const int wrong = handle_begin(m, h);
    int64_t n;

    if (wrong)
        return wrong;
    if (cap < 0 || (cap > 0 && !out))
        return handle_refuse(h, cap < 0 ? ATTN_ERROR_COUNT : ATTN_ERROR_NULL);
    if (cap > 0)
        out[0] = '\0';
    n = handle_question(h, text, bytes);
    if (n > 0)
        n = handle_best(h, h->ids, n, o, &best);
    if (n < 1)
        return n;
    return handle_spell(h, best.tokens, best.n, 1, out, cap);
}

ATTN_API int64_t attn_translate_ids(const struct attn_model *m,
                                    struct attn_handle *h, const int32_t *ids,
                                    int64_t n,
                                    const struct attn_search_options *o,
                                    int32_t *out, int64_t cap)
{
    struct attn_hypothesis best;
    int found = handle_begin(m, h);

    if (found)
        return found;
    if (cap < 0 || (cap > 0 && !out))
        return handle_refuse(h, cap < 0 ? ATTN_ERROR_COUNT : ATTN_ERROR_NULL);
    found = handle_best(h, ids, n, o, &best);
    if (found < 1)
        return found;
    if (cap > 0)
        memcpy(out, best.tokens, (size_t)attn_min(best.n, cap) * sizeof *out);
    return best.n;
}

/* ---- generate ---- */

struct handle_answer { /* an answer passed to a callback as it grows */
    attn_take_id *take_id;
#if ATTN_HAS_TEXT
    attn_take_text *take_text; /* called if take_id is NULL */
    struct attn_text text;
#endif
    void *user;
    int64_t n;   /* number of tokens so far */
    int stopped; /* the callback has returned a value other than 0 */
};

#if ATTN_HAS_TEXT
/* Passes to the callback the text that a token adds. Returns 0 or an error. */
static int handle_give_text(struct attn_handle *h, struct handle_answer *a,
                            int32_t id)
{
    const int64_t bytes = attn_text_add(&a->text, id, h->piece, HANDLE_PIECE);

    a->n++;
    if (bytes < 0)
        return handle_refuse(h, bytes);
    if (bytes > 0)
        a->stopped = a->take_text(a->user, h->piece, bytes) != 0;
    return 0;
}
#endif

/* Passes a token to the callback. Returns 0 or an error. */
static int handle_give(struct attn_handle *h, struct handle_answer *a,
                       int32_t id)
{
#if ATTN_HAS_TEXT
    if (!a->take_id)
        return handle_give_text(h, a, id);
#else
    (void)h;
#endif
    a->n++;
    a->stopped = a->take_id(a->user, id) != 0;
    return 0;
}

/* Passes at most `most` tokens to the callback as they are chosen. Returns 0 or
 * an error. */
static int handle_follow(struct attn_handle *h, struct attn_stream *s,
                         int64_t most, struct handle_answer *a)
{
    int64_t token = 0;
    int wrong = 0;

    while (wrong == 0 && !a->stopped && a->n < most) {
        token = attn_stream_next(s);
        if (token < 0)
            break;
        wrong = handle_give(h, a, (int32_t)token);
    }
    if (wrong == 0 && token < ATTN_STREAM_FULL)
        wrong = handle_refuse(h, token);
    return wrong;
}

/* Answers one token after the other. Returns 0 or an error. */
static int handle_stream(struct attn_handle *h, const int32_t *ids, int64_t n,
                         const struct attn_search_options *o,
                         struct handle_answer *a)
{
    const struct attn_stream_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = o,
        .ids = ids,
        .n = n,
        .tokens = handle_stream_tokens(h, o, n),
        .streams = 1,
        .memory = h->work,
        .bytes = h->work_bytes,
    };
    struct attn_stream s;
    int wrong = handle_room(h, handle_stream_size(h, o, n));

    if (wrong)
        return wrong;
    wrong = attn_stream_open(&s, &r);
    return wrong ? handle_refuse(h, wrong) : handle_follow(h, &s, INT64_MAX, a);
}

/* Answers, and passes the tokens to the callback. With several hypotheses, no
 * token is certain before the search ends. Returns 0 or an error. */
static int handle_answers(struct attn_handle *h, const int32_t *ids, int64_t n,
                          const struct attn_search_options *asked,
                          struct handle_answer *a)
{
    const struct attn_search_options o = handle_choice(h, asked);
    struct attn_hypothesis best;
    int wrong = 0, asks;

    if (o.beam != 1) {
        asks = handle_best(h, ids, n, asked, &best);
        for (int64_t i = 0; asks > 0 && i < best.n; i++) {
            wrong = handle_give(h, a, best.tokens[i]);
            if (wrong || a->stopped)
                break;
        }
        return asks < 0 ? asks : wrong;
    }
    asks = handle_asks(h, &o, &n);
    if (asks < 1)
        return asks;
    return handle_stream(h, ids, n, &o, a);
}

/* Begins the text of an answer with a decoder's prompt. Returns 0 or an
 * error. */
static int handle_begin_text(struct attn_handle *h, struct handle_answer *a,
                             int64_t n)
{
    int64_t wrong = attn_text_open(&a->text, h->target, NULL, 0, 0);

    if (h->model->kind != ATTN_DECODER)
        n = 0;
    for (int64_t i = 0; i < n && wrong >= 0; i++)
        wrong = attn_text_add(&a->text, h->ids[i], h->piece, HANDLE_PIECE);
    return wrong < 0 ? handle_refuse(h, wrong) : 0;
}

/* Passes what is left of the text to the callback. Returns the number of
 * tokens. */
static int64_t handle_end_text(struct attn_handle *h, struct handle_answer *a)
{
    const int64_t n = attn_text_end(&a->text, h->piece, HANDLE_PIECE);

    if (n > 0 && !a->stopped)
        a->take_text(a->user, h->piece, n);
    return a->n;
}

/* Answers a prompt of `bytes` bytes; -1: it ends at its NUL. Returns the number
 * of tokens, or an error. */
static int64_t handle_prompt(struct attn_handle *h, const char *prompt,
                             int64_t bytes, const struct attn_search_options *o,
                             attn_take_text *take, void *user)
{
    struct handle_answer a = { .take_text = take, .user = user };
    int wrong;
    int64_t n;

    if (!take)
        return handle_fail(h, ATTN_ERROR_NULL,
                           "there is no function to take the text");
    n = handle_question(h, prompt, bytes);
    if (n < 0)
        return n;
    wrong = handle_begin_text(h, &a, n);
    if (wrong == 0)
        wrong = handle_answers(h, h->ids, n, o, &a);
    return wrong ? wrong : handle_end_text(h, &a);
}

ATTN_API int64_t attn_generate(const struct attn_model *m,
                               struct attn_handle *h, const char *prompt,
                               const struct attn_search_options *o,
                               attn_take_text *take, void *user)
{
    const int wrong = handle_begin(m, h);

    return wrong ? wrong : handle_prompt(h, prompt, -1, o, take, user);
}

ATTN_API int64_t attn_generate_ids(const struct attn_model *m,
                                   struct attn_handle *h, const int32_t *ids,
                                   int64_t n,
                                   const struct attn_search_options *o,
                                   attn_take_id *take, void *user)
{
    struct handle_answer a = { .take_id = take, .user = user };
    int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!take)
        return handle_fail(h, ATTN_ERROR_NULL,
                           "there is no function to take the ids");
    wrong = handle_answers(h, ids, n, o, &a);
    return wrong ? wrong : a.n;
}
