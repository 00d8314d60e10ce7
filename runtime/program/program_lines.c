/* program_lines.c: reads lines from stdin, converts them to tokens or numbers,
 * and collects them in parts. */

/* ---- tokens ---- */

/* True if a number may end here: at a space, or at the end of the line. */
static int ends_number(const char *at, const char *end)
{
    return at == end || *at == ' ' || *at == '\t' || *at == '\r';
}

/* Parses decimal ids. Returns their number, or -1. */
static int64_t read_ids(struct program *p, const struct program_side *s,
                        const char *text, int64_t bytes, int32_t *ids)
{
    const char *at = text, *const end = text + bytes;
    int64_t n = 0;

    while (at < end) {
        const char *from = at;
        int64_t id = 0;
        while (at < end && *at >= '0' && *at <= '9') {
            id = attn_min(id * 10 + (*at - '0'), INT32_MAX);
            at++;
        }
        if (at == from && ends_number(at, end)) {
            at++;
            continue;
        }
        if (!ends_number(at, end) || id >= s->size)
            return program_wrong(p,
                                 "byte %lld: a token id from 0 to %lld is "
                                 "expected",
                                 (long long)(from - text) + 1,
                                 (long long)s->size - 1);
        ids[n] = (int32_t)id;
        n++;
    }
    return n;
}

#if ATTN_HAS_TEXT
/* True if this side reads and writes text instead of ids. */
static int is_text(const struct program *p, const struct program_side *s)
{
    return !p->ids && s->block;
}

/* Returns the length in bytes of the first character or, if the vocabulary
 * splits at spaces, of the first word. */
static int64_t token_bytes(const struct attn_vocab_header *h, const char *at,
                           int64_t n)
{
    int64_t i = n > 0;

    while (i < n
           && (h->kind == ATTN_SPACES ? at[i] != ' ' : (at[i] & 0xc0) == 0x80))
        i++;
    return i;
}

/* Returns the flags for attn_vocab_encode(): ATTN_PLAIN, ATTN_BEGUN,
 * ATTN_STARTED or 0. A decoder's line is ATTN_STARTED because the search, not
 * the vocabulary's template, adds its start token. */
static int64_t text_how(const struct program *p, int place)
{
    if (place != TOKENS_LINE)
        return place == TOKENS_PLAIN ? ATTN_PLAIN : ATTN_BEGUN;
    return p->m->kind == ATTN_DECODER ? ATTN_STARTED : 0;
}

/* Returns n, or -1 with p->why if n is an error. */
static int64_t program_refuse_id(struct program *p,
                                 const struct program_side *s, const char *text,
                                 int64_t bytes, int64_t n, int64_t bad)
{
    char quoted[ATTN_QUOTED];

    if (n == ATTN_ERROR_UTF8)
        return program_wrong(p, "byte %lld: this is not UTF-8",
                             (long long)bad + 1);
    if (n == ATTN_ERROR_UNKNOWN) {
        attn_quote(text + bad, token_bytes(s->block, text + bad, bytes - bad),
                   quoted);
        return program_wrong(p,
                             "byte %lld: the vocabulary has no '%s' and names "
                             "no unknown token",
                             (long long)bad + 1, quoted);
    }
    return n < 0 ? program_wrong(p, "the line has too many tokens") : n;
}

static int64_t read_text(struct program *p, const struct program_side *s,
                         int place, const char *text, int64_t bytes,
                         int32_t *ids)
{
    int64_t bad = 0;
    const int64_t need = attn_vocab_encode_bytes(s->block, bytes);
    const int64_t most = attn_max(attn_vocab_most_ids(s->block, bytes), 0);
    void *memory = program_grow(p, &p->work, attn_max(need, 1));

    if (!memory)
        return -1;
    const int64_t n = attn_vocab_encode(s->block, text, bytes,
                                        text_how(p, place), ids, most, memory,
                                        &bad);
    return program_refuse_id(p, s, text, bytes, n, bad);
}

/* Returns an upper bound of the number of tokens in a text of `bytes` bytes. */
static int64_t program_most(const struct program *p,
                            const struct program_side *s, int64_t bytes)
{
    if (!is_text(p, s))
        return bytes + 2;
    return attn_max(attn_vocab_most_ids(s->block, bytes), 0);
}

/* Converts a text to tokens in ids[program_most()]. Returns their number, or
 * -1. `place` is TOKENS_LINE etc. */
static int64_t program_tokens(struct program *p, const struct program_side *s,
                              int place, const char *text, int64_t bytes,
                              int32_t *ids)
{
    if (is_text(p, s))
        return read_text(p, s, place, text, bytes, ids);
    return read_ids(p, s, text, bytes, ids);
}
#else
/* Returns an upper bound of the number of tokens in a text of `bytes` bytes. */
static int64_t program_most(const struct program *p,
                            const struct program_side *s, int64_t bytes)
{
    (void)p;
    (void)s;
    return bytes + 2;
}

/* Converts a text to tokens in ids[program_most()]. Returns their number, or
 * -1. */
static int64_t program_tokens(struct program *p, const struct program_side *s,
                              int place, const char *text, int64_t bytes,
                              int32_t *ids)
{
    (void)place;
    return read_ids(p, s, text, bytes, ids);
}
#endif

/* ---- lines ---- */

enum { LINE_READ, LINE_LONG, LINE_WAIT, LINE_END };

/* Reads input once and appends it to the buffer. */
static void line_fill(struct program *p)
{
    ssize_t n = -1;

    memmove(p->buffer, p->buffer + p->begin, (size_t)(p->end - p->begin));
    p->end -= p->begin;
    p->begin = 0;
    do
        n = read(STDIN_FILENO, p->buffer + p->end,
                 (size_t)(PROGRAM_LINE + 1 - p->end));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        program_fail(p, 4, "cannot read stdin: %s", strerror(errno));
    if (n > 0)
        p->end += (int64_t)n;
    p->over = n <= 0;
}

/* Skips the rest of a line that is too long. Returns the length of the line. */
static int64_t line_drop(struct program *p)
{
    int64_t dropped = 0;

    while (1) {
        const char *at = p->buffer + p->begin;
        const char *eol = memchr(at, '\n', (size_t)(p->end - p->begin));
        const int64_t n = eol ? eol - at : p->end - p->begin;
        dropped += n;
        p->begin += n + (eol != NULL);
        if (eol || p->over)
            return dropped;
        line_fill(p);
    }
}

/* Reads the next line. Before the first, skips a byte order mark. If `wait` is
 * 0 and reading would block, returns LINE_WAIT. If it returns LINE_LONG, p->why
 * is set. */
static int program_line(struct program *p, int wait, const char **text,
                        int64_t *n)
{
    while (1) {
        if (p->line == 0 && p->end - p->begin >= 3
            && memcmp(p->buffer + p->begin, "\xef\xbb\xbf", 3) == 0)
            p->begin += 3;
        const int64_t have = p->end - p->begin;
        *text = p->buffer + p->begin;
        const char *eol = memchr(*text, '\n', (size_t)have);
        if (eol || (p->over && have > 0)) {
            *n = eol ? eol - *text : have;
            p->begin += *n + (eol != NULL);
            *n -= eol && *n > 0 && (*text)[*n - 1] == '\r';
            p->line++;
            return LINE_READ;
        }
        if (p->over)
            return LINE_END;
        if (have > PROGRAM_LINE) {
            *n = line_drop(p);
            p->line++;
            program_wrong(p, "the line has %lld bytes, at most %d are read",
                          (long long)*n, PROGRAM_LINE);
            return LINE_LONG;
        }
        if (!wait)
            return LINE_WAIT;
        line_fill(p);
    }
}

/* ---- parts ---- */

static int64_t read_numbers(struct program *p, const char *line, int64_t bytes,
                            float *x)
{
    char text[512], *next; /* the text of one number, and the byte after it */
    int64_t n = 0, at = 0;

    while (at < bytes) {
        const int64_t size = attn_min(bytes - at, (int64_t)sizeof text - 1);
        memcpy(text, line + at, (size_t)size);
        text[size] = '\0';
        const char *from = text + strspn(text, " \t\r");
        if (*from == '\0') {
            at += attn_max(from - text, 1);
            continue;
        }
        x[n] = strtof(from, &next);
        if (next == from || !ends_number(next, text + size))
            return program_wrong(p, "byte %lld: a number is expected",
                                 (long long)(at + (from - text)) + 1);
        n++;
        at += next - text;
    }
    if (n == p->width)
        return n;
    return program_wrong(p, "a row has %lld numbers, this line has %lld",
                         (long long)p->width, (long long)n);
}

static void program_end_part(struct program *p)
{
    const int64_t first = p->start[p->parts], kept = p->n / p->width - first;
    int64_t rows = attn_min(program_part(p, kept + p->beyond), kept);

    if (rows < 0 && !p->refused) {
        program_refuse(p, p->line);
        p->refused = 1;
    }
    if (p->refused)
        rows = 0;
    p->bad[p->parts] = p->refused;
    p->last[p->parts] = p->line;
    if (p->m->kind != ATTN_ATTENTION)
        p->refused = 0;
    p->n = (first + rows) * p->width;
    p->beyond = 0;
    p->parts++;
    p->ended++;
    p->start[p->parts] = (int32_t)(first + rows);
}

/* True if the part being read has the maximum number of rows. */
static int part_full(const struct program *p)
{
    return p->n / p->width - p->start[p->parts]
        >= attn_max(p->m->max_source, p->m->max_target);
}

static void program_take(struct program *p, const char *line, int64_t bytes,
                         int is_long)
{
    const int blocks = p->m->input_width > 0;
    const int64_t before = p->m->kind == ATTN_ATTENTION ? p->parts : p->ended;
    int64_t n = 0;

    if (blocks && bytes == 0 && before == 0 && p->n == 0 && !p->refused)
        return; /* skip empty lines before the first block */
    const int64_t taken = attn_min(bytes, PROGRAM_LINE);
    const int64_t most = p->more
                       + attn_max(program_most(p, &p->source, taken),
                                  taken + 2);
    char *items = program_grow(p, &p->items, (p->n + most) * 4);
    if (!items)
        return;
    void *at = items + p->n * 4;
    if (is_long)
        n = -1;
    else if (blocks && bytes > 0)
        n = read_numbers(p, line, bytes, at);
    else if (bytes > 0)
        n = program_question(p, line, bytes, at);
    if (n < 0) {
        program_refuse(p, p->line);
        p->refused = 1;
    } else if (blocks && n > 0 && part_full(p))
        p->beyond++;
    else
        p->n += n;
    if (!blocks || bytes == 0)
        program_end_part(p);
}

/* Reads up to `most` parts. Returns 0 at the end of the input. */
static int program_read(struct program *p, int64_t most)
{
    const char *text = NULL;
    int64_t n = 0;
    int state = LINE_READ;

    p->n = 0;
    p->parts = 0;
    p->refused = 0;
    p->start[0] = 0;
    while (p->parts < most && p->status <= 3) {
        const int open = p->refused || p->n > p->start[p->parts] * p->width;
        if (most != 3 && !open && p->n >= PROGRAM_ROWS * p->width)
            break;
        state = program_line(p, p->parts == 0 || open || most == 3, &text, &n);
        if (state == LINE_WAIT || state == LINE_END)
            break;
        program_take(p, text, n, state == LINE_LONG);
    }
    if (state == LINE_END
        && (p->refused || p->n > p->start[p->parts] * p->width))
        program_end_part(p);
    return p->parts > 0 && p->status <= 3;
}

static void program_open_lines(struct program *p)
{
    p->buffer = malloc(PROGRAM_LINE + 1);
    if (!p->buffer)
        program_fail(p, 5, "out of memory");
}

static void program_run(struct program *p)
{
    int64_t most = p->m->kind == ATTN_ATTENTION ? 3 : PROGRAM_PARTS;

    p->width = p->m->input_width > 0 ? p->m->input_width : 1;
    program_open_lines(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status != 0)
        return;
#if ATTN_HAS_FIXED
    if (p->m->kind != ATTN_ATTENTION && p->m->fixed_batch > 0)
        most = attn_max(attn_min(most,
                                 p->m->fixed_batch / attn_max(p->beam, 1)),
                        1);
#endif
    while (p->status == 0 || p->status == 3) {
        if (!program_read(p, most))
            break;
        program_answer(p);
        if (p->status <= 3)
            program_flush(p, stdout);
    }
    program_finish(p);
}
