/* program_stream.c: --prompt. Answers one text token by token; for a decoder,
 * prints the prompt first. The state after the answer can be saved, so that
 * this program or attnc run can load it and continue. */
#include "runtime/options/descriptor.h"

struct program_stream {
    struct attn_stream s;
#if ATTN_HAS_TEXT
    struct attn_text text;
#endif
    const struct attn_state_header *state; /* the loaded state, or NULL */
    int64_t state_bytes;
    uint64_t weights;         /* hash of the weights; a state must match it */
    int begun;                /* the text continues an earlier one */
    FILE *to;                 /* stream for the answer: stderr if the state goes
                               * to stdout */
    int64_t n;                /* number of tokens in the prompt */
    int64_t printed;          /* number of ids printed */
    int64_t count;            /* tokens in the answer, without the prefix */
    double from, first, last; /* seconds at start, first and last token */
};

static double stream_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- open ---- */

static void stream_load(struct program *p, struct program_stream *r)
{
    const char *path = p->load_state, *wrong = NULL;
    const char *file = program_map(p, path, &r->state_bytes);

    if (p->status == 0)
        wrong = attn_state_check(p->m, r->weights, file, r->state_bytes);
    if (wrong)
        program_fail(p, 3, "%s: %s", path, wrong);
    if (p->status != 0)
        return;
    r->state = (const void *)file;
    r->begun = r->state->tokens > (search.o.start >= 0);
    if (!p->prompt && !p->set.prefix)
        search.o.prefix_n = 0; /* the state is in the middle of an answer, after
                                * its prefix */
    if (p->m->kind != ATTN_DECODER && p->prompt)
        program_fail(p, 2,
                     "--prompt: the source was read before the state "
                     "was saved");
}

static void stream_prompt(struct program *p, struct program_stream *r)
{
    const char *text = p->prompt ? p->prompt : "";
    const int64_t bytes = (int64_t)strlen(text);
    const int64_t most = program_most(p, &p->source, bytes);
    int32_t *ids = program_grow(p, &p->items, most * 4);

    if (!ids || bytes == 0)
        return;
    r->n = program_tokens(p, &p->source, r->begun ? TOKENS_BEGUN : TOKENS_LINE,
                          text, bytes, ids);
    if (r->n < 0)
        program_fail(p, 3, "--prompt: %s", p->why);
    if (search.o.max_input > 0)
        r->n = attn_min(r->n, search.o.max_input);
}

/* Returns the maximum tokens of the stream, `lead` of which precede the
 * answer. */
static int64_t stream_room(struct program *p, int64_t rows, int64_t lead)
{
    const int64_t most = p->m->max_target;
    int64_t answer = attn_search_limit(p->m, &search.o, rows, lead);

    if (p->tokens >= 0)
        answer = attn_min(search.o.prefix_n + p->tokens, most);
    const int64_t room = attn_max(attn_min(lead + answer, most + 1), 1);
    if (lead + search.o.prefix_n > room)
        program_fail(
            p, 3, "no room is left for the %lld tokens that begin the answer",
            (long long)search.o.prefix_n);
    return room;
}

/* Opens the stream in p->found, for a source of `rows` rows, with room for
 * `tokens` tokens. Restores the state, if there is one, and passes the tokens
 * at p->items. Returns 0 or an error. */
static int open_stream(struct program *p, struct program_stream *r,
                       int64_t rows, int64_t tokens)
{
    const int64_t bytes = attn_stream_bytes(p->m, &search.o, rows, tokens, 1);
    const struct attn_stream_request anew = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .ids = p->items.at,
        .n = r->n,
        .tokens = tokens,
        .streams = 1,
        .memory = program_grow(p, &p->found, bytes),
        .bytes = bytes,
    };
    const struct attn_restore_request saved = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .weights = r->weights,
        .state = r->state,
        .bytes = r->state_bytes,
        .tokens = tokens,
        .streams = 1,
        .memory = anew.memory,
        .memory_bytes = bytes,
    };

    if (!anew.memory)
        return ATTN_ERROR_ROOM;
    if (!r->state)
        return attn_stream_open(&r->s, &anew);
    const int wrong = attn_state_restore(&r->s, &saved);
    return wrong ? wrong : attn_stream_feed(&r->s, p->items.at, r->n);
}

/* Opens the stream and passes the prefix, which counts as part of the answer
 * even for a decoder. */
static void stream_make(struct program *p, struct program_stream *r,
                        int64_t rows, int64_t tokens)
{
    int wrong = open_stream(p, r, rows, tokens);
    const int64_t lead = r->s.lead;

    if (p->status != 0)
        return;
    if (!wrong)
        wrong = attn_stream_feed(&r->s, search.o.prefix, search.o.prefix_n);
    r->s.lead = lead;
#if ATTN_HAS_FIXED
    if (wrong == ATTN_ERROR_FIXED) {
        program_fail(p, 3,
                     "--prompt: %s: see fix in the spec, and attnc's --fix",
                     attn_error_text(wrong));
        return;
    }
#endif
    if (wrong)
        program_fail(p, 70, "internal error: the stream failed");
}

/* Checks that there is room for the prompt and opens the stream. */
static void stream_begin(struct program *p, struct program_stream *r)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t most = decoder ? p->m->max_target : p->m->max_source;
    int64_t rows = r->n, lead;

    search.o.beam = 1;
    lead = attn_search_lead(p->m, &search.o, r->n);
    if (r->state) {
        lead = r->state->tokens + r->n;
        rows = r->state->source_rows;
        if (lead > p->m->max_target + 1)
            program_fail(p, 3,
                         "the prompt has %lld tokens after %lld of %s, the "
                         "model takes %lld (max_len)",
                         (long long)r->n, (long long)r->state->tokens,
                         p->load_state, (long long)p->m->max_target);
    } else if (r->n > most || lead > p->m->max_target)
        program_fail(p, 3,
                     "the prompt has %lld tokens, the model takes %lld "
                     "(max_len): shorten it",
                     (long long)r->n, (long long)most);
    else if (lead == 0 || (!decoder && rows == 0))
        program_fail(p, 3, "the prompt is empty");
    if (p->status != 0)
        return;
    const int64_t room = stream_room(p, rows, lead);
    if (p->status == 0)
        stream_make(p, r, decoder && !r->state ? 0 : rows, room);
}

/* Parses --stop: strings that end the answer, or ids if no text is printed. */
static void stream_ends(struct program *p, struct program_stream *r)
{
    int64_t n = 0;

#if ATTN_HAS_TEXT
    if (is_text(p, &p->target)) {
        if (attn_text_open(&r->text, p->target.block, p->stop.at, p->stop.n,
                           r->begun)
            != 0)
            program_fail(p, 2, "--stop takes 1 to %d bytes", ATTN_STOP_BYTES);
        return;
    }
#endif
    for (int64_t i = 0; i < p->stop.n && p->status == 0; i++) {
        const char *text = p->stop.at[i];
        const int64_t bytes = (int64_t)strlen(text);
        int32_t *ids = program_grow(p, &p->turn, (n + bytes + 2) * 4);
        if (!ids)
            return;
        const int64_t found = program_tokens(p, &p->target, TOKENS_PLAIN, text,
                                             bytes, ids + n);
        if (found <= 0)
            program_fail(p, 2, "--stop: %s",
                         found < 0 ? p->why : "no token ids are in it");
        n += found;
    }
    r->s.stop = p->turn.at;
    r->s.stops = n;
}

/* ---- answer ---- */

#if ATTN_HAS_TEXT
/* Prints the text that a token adds. If `id` is -1, prints the bytes held back
 * so far. */
static void stream_print_text(struct program *p, struct program_stream *r,
                              int32_t id)
{
    const struct attn_vocab_header *h = p->target.block;
    int64_t n;

    if (!program_grow(p, &p->text, h->bytes + ATTN_STOP_BYTES + 512))
        return;
    if (id < 0)
        n = attn_text_end(&r->text, p->text.at, p->text.bytes);
    else
        n = attn_text_add(&r->text, id, p->text.at, p->text.bytes);
    if (n > 0)
        fwrite(p->text.at, 1, (size_t)n, r->to);
}
#endif

/* Prints a token, as text if there is a vocabulary. */
static void stream_print(struct program *p, struct program_stream *r,
                         int32_t id)
{
#if ATTN_IN_ATTNC
    if (p->json && prompt_json_add(p, id))
        return;
#endif
#if ATTN_HAS_TEXT
    if (is_text(p, &p->target)) {
        stream_print_text(p, r, id);
        return;
    }
#endif
    (void)p;
    fprintf(r->to, r->printed > 0 ? " %d" : "%d", (int)id);
    r->printed++;
}

/* Prints a decoder's prompt, with which its text begins, and the prefix of the
 * answer. Stop strings do not apply to them. */
static void stream_print_prompt(struct program *p, struct program_stream *r)
{
#if ATTN_HAS_TEXT
    const int32_t *prompt = p->items.at;
    const int64_t stops = r->text.stops;

    r->text.stops = 0;
    if (p->m->kind == ATTN_DECODER && is_text(p, &p->target))
        for (int64_t i = 0; i < r->n; i++)
            stream_print(p, r, prompt[i]);
#endif
#if ATTN_IN_ATTNC
    if (p->json)
        prompt_json_answer(p);
#endif
    for (int64_t i = 0; i < search.o.prefix_n; i++)
        stream_print(p, r, search.o.prefix[i]);
#if ATTN_HAS_TEXT
    r->text.stops = stops;
#endif
    program_flush(p, r->to);
}

/* Prints at most `most` tokens as they are chosen. Returns the last result of
 * attn_stream_next(). */
static int64_t stream_tokens(struct program *p, struct program_stream *r,
                             int64_t most)
{
    int64_t token = 0;

    for (r->count = 0; p->status <= 3 && r->count < most; r->count++) {
        token = attn_stream_next(&r->s);
        if (token < 0)
            break;
        r->last = stream_now();
        if (r->count == 0)
            r->first = r->last;
        stream_print(p, r, (int32_t)token);
        program_flush(p, r->to);
#if ATTN_HAS_TEXT
        if (r->text.stopped)
            most = 0;
#endif
    }
#if ATTN_HAS_TEXT
    if (p->status <= 3 && is_text(p, &p->target))
        stream_print_text(p, r, -1);
#endif
    if (p->status > 3)
        return 0;
#if ATTN_IN_ATTNC
    if (p->json)
        r->to = prompt_json_end(p, r->n, r->text.stopped, token);
#endif
    fputc('\n', r->to);
    program_flush(p, r->to);
    return token;
}

static void stream_speed(const struct program *p,
                         const struct program_stream *r)
{
    if (p->quiet || r->count < 2 || !(r->last > r->first))
        return;
    fprintf(stderr,
            "%lld tokens, %.1f tokens per second; the first after "
            "%.1f ms",
            (long long)r->count, (double)(r->count - 1) / (r->last - r->first),
            (r->first - r->from) * 1e3);
    if (r->s.o.draft)
        fprintf(stderr, "; %lld of %lld proposals taken",
                (long long)r->s.room->draft.taken,
                (long long)r->s.room->draft.proposed);
    fputc('\n', stderr);
}

static void stream_save(struct program *p, const struct program_stream *r)
{
    const int64_t bytes = attn_state_bytes(&r->s);
    char *state = program_grow(p, &p->items, bytes);

    if (!state)
        return;
    attn_state_save(&r->s, r->weights, state, bytes);
    state_put(p, state, bytes);
}

static void program_stream(struct program *p)
{
    struct program_stream r = { .to = stdout };
    int64_t token = 0;

    if (p->save_state && attn_descriptor(p->save_state) == STDOUT_FILENO)
        r.to = stderr;
#if ATTN_IN_ATTNC
    if (p->json)
        r.to = prompt_json_begin(p, r.to);
#endif
    if (p->save_state)
        state_may_replace(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status == 0 && (p->load_state || p->save_state))
        r.weights = attn_weights_hash(p->m, p->packed);
    if (p->load_state && p->status == 0)
        stream_load(p, &r);
    if (p->status == 0)
        stream_prompt(p, &r);
    r.from = stream_now();
    if (p->status == 0)
        stream_begin(p, &r);
    if (p->status == 0)
        stream_ends(p, &r);
    if (p->status == 0)
        stream_print_prompt(p, &r);
    if (p->status == 0)
        token = stream_tokens(p, &r, p->tokens < 0 ? INT64_MAX : p->tokens);
    if (attn_stream_failed(token))
        program_fail(p, 3, "--prompt: %s", attn_error_text(token));
    if (p->status == 0)
        stream_speed(p, &r);
    if (p->status == 0 && p->save_state)
        stream_save(p, &r);
}
