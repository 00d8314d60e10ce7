/* program_parts.c: collects lines into parts. */

static int64_t read_numbers(struct program *p, const char *line, int64_t bytes,
                            float *x)
{
    char text[512], *next; /* the text of one number, and the byte after it */
    int64_t n = 0, at = 0;

    while (at < bytes) {
        const int64_t size = attn_min(bytes - at, (int64_t)sizeof text - 1);
        memcpy(text, line + at, (size_t)size);
        text[size] = '\0';
        const int64_t spaces = (int64_t)strspn(text, " \t\r");
        if (spaces > 0) {
            at += spaces;
            continue;
        }
        x[n] = strtof(text, &next);
        if (next == text || next == text + sizeof text - 1
            || !attn_number_ends(next, text + size))
            return program_wrong(p, "byte %lld: a number is expected",
                                 (long long)at + 1);
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
        program_refuse(p, p->in.number);
        p->refused = 1;
    }
    if (p->refused)
        rows = 0;
    p->bad[p->parts] = p->refused;
    p->last[p->parts] = p->in.number;
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

    if (shard_skips(p, line, bytes, is_long))
        return;
    if (blocks && bytes == 0 && before == 0 && p->n == 0 && !p->refused)
        return; /* skip empty lines before the first block */
    const int64_t taken = attn_min(bytes, ATTN_LINE);
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
        program_refuse(p, p->in.number);
        p->refused = 1;
    } else if (blocks && n > 0 && part_full(p))
        p->beyond++;
    else
        p->n += n;
    if (!blocks || bytes == 0)
        program_end_part(p);
}

/* Reads up to `most` parts. `wait`: waits for the first. Returns 0 if there is
 * none. */
static int program_read(struct program *p, int64_t most, int wait)
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
        if (p->parts > 0 && shard_block_ends(p))
            break;
#if ATTN_IN_ATTNC
        if (p->parts > 0 && batch_is_large(p))
            break;
#endif
        state = program_line(p, (wait && p->parts == 0) || open || most == 3,
                             &text, &n);
        if (state == LINE_WAIT || state == LINE_END)
            break;
        program_take(p, text, n, state == LINE_LONG);
    }
    if (state == LINE_END
        && (p->refused || p->n > p->start[p->parts] * p->width))
        program_end_part(p);
    return p->parts > 0 && p->status <= 3;
}
