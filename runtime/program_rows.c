/* program_rows.c: answers by rows of numbers: an encoder one for each token of
 * a line, or one for all where it pools them, attention one for each query; an
 * empty line behind them.                                                   */

static int program_use(struct program *p)
{
    return p->m->input_width > 0 ? ATTN_FOR_NUMBERS : ATTN_FOR_ENCODE;
}

static void program_prepare(struct program *p)
{
    (void)p; /* nothing is missing */
}

static void program_finish(struct program *p)
{
    (void)p;
}

static int64_t program_part(struct program *p, int64_t rows)
{
    const int blocks = p->m->kind == ATTN_ATTENTION;
    const int64_t cut = p->set.max_input;
    int64_t most = p->m->max_source - p->m->class_token;

    if (blocks && p->parts > 0)
        most = p->m->max_target;
    if (cut > 0 && !blocks)
        rows = attn_min(rows, cut);
    if (rows <= most)
        return rows;
    return program_wrong(p,
                         "the %s has %lld %s, the model takes %lld "
                         "(max_len%s)%s",
                         p->m->input_width > 0 ? "block" : "line",
                         (long long)rows,
                         p->m->input_width > 0 ? "rows" : "tokens",
                         (long long)most,
                         p->m->class_token ? ", which counts the class token"
                                           : "",
                         blocks ? "" : "; --max-input=N cuts it");
}

/* Are these three blocks a question: queries, as many keys as values? */
static int program_blocks(struct program *p)
{
    const int32_t *s = p->start;

    if (p->refused)
        return 0;
    if (p->parts < 3)
        program_wrong(p, "the input ends here: queries, an empty line, keys, "
                         "an empty line and values are expected");
    else if (s[2] - s[1] != s[3] - s[2])
        program_wrong(p,
                      "as many values as keys are expected: %d keys, %d "
                      "values",
                      (int)(s[2] - s[1]), (int)(s[3] - s[2]));
    else
        return 1;
    program_refuse(p, p->line);
    return 0;
}

/* Rows of the result, for so many of a sequence. */
static int64_t program_results(const struct program *p, int64_t rows)
{
    if (rows == 0 || p->m->output_pooled)
        return rows > 0;
    return rows + p->m->class_token;
}

/* The caller's arrays for one call: results, then the model's memory. */
static void program_rows(struct program *p, struct attn_batch *b)
{
    const int64_t results = b->rows + b->sequences;
    const int64_t floats = results * p->m->output_columns;
    const int64_t bytes = attn_batch_bytes(p->m, b);
    struct attn_memory at = { NULL, 0 };
    void *work;

    attn_take(&at, floats, 4);
    attn_take(&at, bytes, 1);
    if (!program_grow(p, &p->work, attn_memory_bytes(&at)))
        return;
    attn_memory_open(&at, p->work.at);
    b->output = attn_take(&at, floats, 4);
    work = attn_take(&at, bytes, 1);
    const int error = attn_encode_batch(p->m, p->bound.at, b, work, bytes);
    if (error)
        program_fail(p, 70, "internal error: %s", attn_error_text(error));
}

/* The answer to part `part`. Numbers are printed as they are, and it is said
 * where they are not finite.                                                */
static void print_rows(const struct program *p, int64_t part, const float *x,
                       int64_t rows)
{
    const int64_t columns = p->m->output_columns;
    int64_t wrong = 0;

    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const float y = x[i * columns + j];
            printf(j > 0 ? " %.9g" : "%.9g", (double)y);
            wrong += !(y - y == 0.0f);
        }
        putchar('\n');
    }
    putchar('\n');
    if (wrong > 0)
        fprintf(stderr,
                "%s: warning: <stdin>:%lld: %lld of %lld numbers are not "
                "finite\n",
                p->name, (long long)p->last[part], (long long)wrong,
                (long long)(rows * columns));
}

static void program_answer(struct program *p)
{
    const int blocks = p->m->kind == ATTN_ATTENTION;
    const float *x = p->items.at;
    int32_t key_start[2];
    struct attn_batch b;

    memset(&b, 0, sizeof b);
    b.sequences = p->parts;
    b.start = p->start;
    b.parallel = p->parallel;
    if (p->m->input_width > 0)
        b.input = x;
    else
        b.ids = p->items.at;
    if (blocks) {
        if (!program_blocks(p)) {
            putchar('\n');
            return;
        }
        b.sequences = 1;
        b.query = x;
        b.key = x + p->start[1] * p->width;
        b.value = x + p->start[2] * p->width;
        b.key_start = key_start;
        b.key_rows = p->start[2] - p->start[1];
        key_start[0] = 0;
        key_start[1] = (int32_t)b.key_rows;
    }
    b.rows = p->start[b.sequences];
    program_rows(p, &b);
    const float *y = b.output;
    for (int64_t i = 0; i < b.sequences && p->status <= 3; i++) {
        const int64_t rows = program_results(p, b.start[i + 1] - b.start[i]);
        print_rows(p, blocks ? 2 : i, y, rows);
        y += (p->m->output_pooled ? 1 : rows) * p->m->output_columns;
    }
}

static void program_answers(struct program *p)
{
    program_run(p);
}
