/* program_stream.c: answers a text given as an argument, token by token as it
 * comes; what a decoder goes on with is printed first.                      */

/* "-n 200" and the like: a number from 0 to most. */
static int program_number(const char *text, double most, double *x)
{
    char *end;

    *x = strtod(text, &end);
    return end != text && *end == '\0' && *x >= 0.0 && *x <= most;
}

static int program_words(struct program *p, int n, char **word)
{
    p->tokens = -1;
    p->seed = 1;
    if (n == 0)
        return 1;
    p->prompt = word[0];
    for (int i = 1; i < n; i += 2) {
        double x;
        if (i + 1 == n || !program_number(word[i + 1], 2147483647.0, &x))
            return 0;
        if (strcmp(word[i], "-n") == 0)
            p->tokens = (int64_t)x;
        else if (strcmp(word[i], "-t") == 0)
            p->temperature = (float)x;
        else if (strcmp(word[i], "-s") == 0)
            p->seed = (int64_t)x;
        else
            return 0;
    }
    return 1;
}

/* Prints a token; `text` decodes it where there is a vocabulary. */
static void stream_print(struct program *p, struct attn_text *text, int32_t id)
{
    const struct attn_vocab_header *h = p->target;
    int64_t n = 0;

    if (!h) {
        printf("%d ", (int)id);
    } else if (program_grow(p, &p->text, h->bytes + 64)) {
        n = attn_text_add(text, id, p->text.at, p->text.bytes);
        if (n > 0)
            fwrite(p->text.at, 1, (size_t)n, stdout);
    }
    fflush(stdout);
}

static void stream_answer(struct program *p, struct attn_stream *s,
                          struct attn_text *text)
{
    const int32_t *prompt = p->items.at;
    int64_t token = 0;

    for (int64_t i = 0; p->m->kind == ATTN_DECODER && i < p->start[1]; i++)
        stream_print(p, text, prompt[i]);
    for (int64_t i = 0; i != p->tokens && p->status == 0; i++) {
        token = attn_stream_next(s);
        if (token < 0)
            break;
        stream_print(p, text, (int32_t)token);
    }
    if (p->target) {
        token = attn_text_end(text, p->text.at, p->text.bytes);
        if (token > 0)
            fwrite(p->text.at, 1, (size_t)token, stdout);
    }
    putchar('\n');
    if (fflush(stdout) != 0 || ferror(stdout))
        program_fail(p, 4, "stdout", strerror(errno));
}

static void program_stream(struct program *p)
{
    struct attn_search_options o;
    struct attn_stream s;
    struct attn_text text;

    default_options(&o);
    o.sampling.temperature = p->temperature;
    o.sampling.seed = p->seed;
    p->read = p->source ? read_text : read_ids;
    p->width = 1;
    p->line = 1;
    program_line(p, p->prompt, (int64_t)strlen(p->prompt));
    if (p->status != 0)
        return;
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t lead = attn_search_lead(p->m, &o, p->n);
    int64_t most = attn_search_limit(p->m, &o, p->n, lead);
    if (p->tokens >= 0)
        most = attn_min(p->tokens, p->m->max_target);
    most = attn_min(lead + most, p->m->max_target + 1);
    const int64_t rows = decoder ? 0 : p->n;
    const int64_t bytes = attn_stream_bytes(p->m, &o, rows, most, 1);
    if (bytes < 0) {
        program_fail(p, 2, "the text", "there is nothing to answer");
        return;
    }
    if (!program_grow(p, &p->work, bytes))
        return;
    attn_text_open(&text, p->target, NULL, 0, 0);
    if (attn_stream_open(&s, p->m, p->bound.at, &o, p->items.at, p->n, most, 1,
                         p->work.at, bytes) != 0)
        program_fail(p, 70, p->m->name, "internal error: the stream failed");
    else
        stream_answer(p, &s, &text);
}
