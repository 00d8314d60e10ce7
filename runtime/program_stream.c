/* program_stream.c: answers a text given by --prompt, token by token as it
 * comes; what a decoder goes on with is printed first. The state behind it can
 * be kept, and taken up again by this program or by attnc run.              */

struct program_stream {
    struct attn_search_options o;
    struct attn_stream s;
    struct attn_text text;
    const struct attn_state_header *state; /* to go on from, or NULL */
    int64_t state_bytes;
    uint64_t weights;         /* hash, for states */
    FILE *to;                 /* the answer; stderr: stdout has the state */
    int64_t n;                /* tokens of the prompt */
    int64_t count;            /* of the answer */
    double from, first, last; /* when it began, when these came: seconds */
};

static int is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static double stream_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void stream_settings(struct program *p, struct program_stream *r)
{
    const double *x = p->number;
    struct attn_sampling *o = &r->o.sampling;

    program_settings(p, &r->o);
    r->o.beam = 1;
    r->o.process.repetition_penalty = (float)x[WORD_REPETITION];
    o->top_k = (int64_t)x[WORD_TOP_K];
    o->top_p = (float)x[WORD_TOP_P];
    o->min_p = (float)x[WORD_MIN_P];
    o->seed = (int64_t)x[WORD_SEED];
    if (x[WORD_TEMPERATURE] >= 0.0)
        o->temperature = (float)x[WORD_TEMPERATURE];
    else if (o->top_k > 0 || o->top_p > 0.0f || o->min_p > 0.0f)
        o->temperature = 1.0f;
}

/* ---------------------------------------------------------------- open --- */

static void stream_load(struct program *p, struct program_stream *r)
{
    const char *path = p->word[WORD_LOAD], *wrong = NULL;
    const char *file = program_map(p, path, &r->state_bytes);

    if (p->status == 0)
        wrong = attn_state_check(p->m, r->weights, file, r->state_bytes);
    if (wrong)
        program_fail(p, 3, path, wrong);
    if (p->status != 0)
        return;
    r->state = (const void *)file;
    p->begun = r->state->tokens > (r->o.start >= 0);
    if (p->m->kind != ATTN_DECODER && p->word[WORD_PROMPT])
        program_fail(p, 2, "--prompt",
                     "the source was read before the state "
                     "was saved");
}

static void stream_prompt(struct program *p, struct program_stream *r)
{
    const char *text = p->word[WORD_PROMPT];

    p->read = p->source ? read_text : read_ids;
    if (text && *text)
        r->n = p->read(p, text, (int64_t)strlen(text));
    if (p->stops > 0 && !p->target)
        program_fail(p, 2, "--stop", "the model has no vocabulary");
}

/* Room for `tokens` behind a source of `rows`; from the state, or anew. */
static void stream_make(struct program *p, struct program_stream *r,
                        int64_t rows, int64_t tokens)
{
    const int64_t bytes = attn_stream_bytes(p->m, &r->o, rows, tokens, 1);
    void *work = program_grow(p, &p->work, bytes);
    int wrong = -1;
    if (!work)
        return;
    if (r->state) {
        const struct attn_restore_request request = {
            .model = p->m,
            .bound = p->bound.at,
            .o = &r->o,
            .weights = r->weights,
            .state = r->state,
            .bytes = r->state_bytes,
            .tokens = tokens,
            .streams = 1,
            .memory = work,
            .memory_bytes = bytes,
        };
        wrong = attn_state_restore(&r->s, &request);
        if (wrong == 0)
            wrong = attn_stream_feed(&r->s, p->items.at, r->n);
    } else {
        const struct attn_stream_request request = {
            .model = p->m,
            .bound = p->bound.at,
            .o = &r->o,
            .ids = p->items.at,
            .n = r->n,
            .tokens = tokens,
            .streams = 1,
            .memory = work,
            .bytes = bytes,
        };
        wrong = attn_stream_open(&r->s, &request);
    }
    if (wrong)
        program_fail(p, 70, p->m->name, "internal error: the stream failed");
}

/* Lays the stream out for a prompt behind `before` tokens; opens it. */
static void stream_begin(struct program *p, struct program_stream *r)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    int64_t before = attn_search_lead(p->m, &r->o, 0), rows = r->n;
    char why[128];

    if (r->state) {
        before = r->state->tokens;
        rows = r->state->source_rows;
    }
    const int64_t lead = before + (decoder ? r->n : 0);
    const int64_t most = decoder ? p->m->max_target : p->m->max_source;
    if (lead > p->m->max_target + (r->state ? 1 : 0) || r->n > most) {
        snprintf(why, sizeof why,
                 "it has %lld tokens, the model takes %lld in "
                 "all (max_len): shorten it",
                 (long long)r->n, (long long)most);
        program_fail(p, 3, "--prompt", why);
        return;
    }
    if (lead == 0 || (!decoder && rows == 0)) {
        program_fail(p, 3, "--prompt", "it is empty");
        return;
    }
    int64_t room = attn_search_limit(p->m, &r->o, rows, lead);
    if (p->number[WORD_TOKENS] >= 0.0)
        room = attn_min((int64_t)p->number[WORD_TOKENS], p->m->max_target);
    room = attn_max(attn_min(lead + room, p->m->max_target + 1), 1);
    if (decoder)
        rows = 0;
    stream_make(p, r, rows, room);
}

/* -------------------------------------------------------------- answer --- */

/* Prints a token, as text where there is a vocabulary. */
static void stream_print(struct program *p, struct program_stream *r,
                         int32_t id)
{
    const struct attn_vocab_header *h = p->target;

    if (!h) {
        fprintf(r->to, r->count > 1 ? " %d" : "%d", (int)id);
    } else if (program_grow(p, &p->text, h->bytes + 512)) {
        const int64_t n = attn_text_add(&r->text, id, p->text.at,
                                        p->text.bytes);
        if (n > 0)
            fwrite(p->text.at, 1, (size_t)n, r->to);
    }
}

/* A decoder's prompt is the beginning of its text; no stop string is in it. */
static void stream_print_prompt(struct program *p, struct program_stream *r)
{
    const int32_t *prompt = p->items.at;

    if (p->m->kind != ATTN_DECODER || !p->target)
        return;
    r->text.stops = 0;
    for (int64_t i = 0; i < r->n; i++)
        stream_print(p, r, prompt[i]);
    r->text.stops = p->stops;
}

static void stream_flush(struct program *p, FILE *to)
{
    if (fflush(to) != 0 || ferror(to))
        program_fail(p, 4, "stdout", strerror(errno));
}

static void stream_answer(struct program *p, struct program_stream *r)
{
    const double most = p->number[WORD_TOKENS];
    int64_t token = 0;
    int finite = 1;

    stream_print_prompt(p, r);
    stream_flush(p, r->to);
    while (p->status == 0 && !r->text.stopped) {
        if (most >= 0.0 && (double)r->count >= most)
            break;
        token = attn_stream_next(&r->s);
        finite = token != ATTN_ERROR_FINITE;
        if (token < 0)
            break;
        r->last = stream_now();
        if (r->count == 0)
            r->first = r->last;
        r->count++;
        stream_print(p, r, (int32_t)token);
        stream_flush(p, r->to);
    }
    if (p->target) {
        token = attn_text_end(&r->text, p->text.at, p->text.bytes);
        if (token > 0)
            fwrite(p->text.at, 1, (size_t)token, r->to);
    }
    fputc('\n', r->to);
    stream_flush(p, r->to);
    if (!finite)
        program_fail(p, 3, "--prompt", attn_error_text(ATTN_ERROR_FINITE));
}

static void stream_speed(const struct program *p,
                         const struct program_stream *r)
{
    if (p->quiet || r->count < 2 || !(r->last > r->first))
        return;
    fprintf(stderr,
            "%lld tokens, %.1f tokens per second; the first after "
            "%.1f ms\n",
            (long long)r->count, (double)(r->count - 1) / (r->last - r->first),
            (r->first - r->from) * 1e3);
}

/* Written beside its place, then renamed: a state is there whole, or not. */
static void stream_save(struct program *p, const struct program_stream *r)
{
    const char *path = p->word[WORD_SAVE];
    const int64_t bytes = attn_state_bytes(&r->s);
    const size_t size = strlen(path) + 8;
    char *state = program_grow(p, &p->items, bytes);
    char *beside = program_grow(p, &p->text, (int64_t)size);

    if (!state || !beside)
        return;
    attn_state_save(&r->s, r->weights, state, bytes);
    if (is_stdout(path)) {
        fwrite(state, 1, (size_t)bytes, stdout);
        stream_flush(p, stdout);
        return;
    }
    snprintf(beside, size, "%s.new", path);
    FILE *f = fopen(beside, "wb");
    int well = f && fwrite(state, 1, (size_t)bytes, f) == (size_t)bytes;
    if (f && fclose(f) != 0)
        well = 0;
    if (well && rename(beside, path) == 0)
        return;
    program_fail(p, 4, path, strerror(errno));
    if (f)
        remove(beside);
}

static int program_stream(struct program *p)
{
    struct program_stream r;
    const int states = p->word[WORD_LOAD] || p->word[WORD_SAVE];

    if (!p->word[WORD_PROMPT] && !p->word[WORD_LOAD])
        return 0;
    memset(&r, 0, sizeof r);
    r.to = is_stdout(p->word[WORD_SAVE]) ? stderr : stdout;
    stream_settings(p, &r);
    if (states)
        r.weights = attn_weights_hash(p->m, p->packed);
    if (p->word[WORD_LOAD])
        stream_load(p, &r);
    if (p->status == 0)
        stream_prompt(p, &r);
    r.from = stream_now();
    if (p->status == 0)
        stream_begin(p, &r);
    if (p->status == 0 && p->target
        && attn_text_open(&r.text, p->target, p->stop, p->stops, p->begun) != 0)
        program_fail(p, 2, "--stop", "1 to 240 bytes are expected");
    if (p->status == 0)
        stream_answer(p, &r);
    if (p->status == 0)
        stream_speed(p, &r);
    if (p->status == 0 && p->word[WORD_SAVE])
        stream_save(p, &r);
    return 1;
}
