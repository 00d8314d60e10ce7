/* program_rows.c: answers with rows of numbers, followed by an empty line. An
 * encoder prints one row per token of a line or, if it pools, one row;
 * attention prints one row per query. */

/* program_generate.c describes the functions that both files define. */
static int program_use(struct program *p)
{
    if (p->pairs && p->ids)
        program_fail(p, 2,
                     "--pairs reads texts: it can't be combined with --ids");
    return p->m->input_width > 0 ? ATTN_FOR_NUMBERS : ATTN_FOR_ENCODE;
}

#if ATTN_HAS_TEXT
/* Finds the prompt that precedes each line. Ids and pairs have none. */
static void program_find_prompt(struct program *p)
{
    const void *block = p->source.block;

    if (p->prompt_name && (p->ids || p->pairs)) {
        program_fail(p, 2,
                     "--prompt-name can't be combined with --ids or "
                     "--pairs");
        return;
    }
    if (!block || p->ids || p->pairs)
        return;
    p->before = attn_text_prompt(p->m->texts, p->task, p->prompt_name);
    if (!p->before)
        program_fail(p, 2, "--prompt-name is no name of the spec's prompts");
    else if (!*p->before)
        p->before = NULL;
    else
        p->more = attn_vocab_most_ids(block, (int64_t)strlen(p->before))
                - attn_vocab_most_ids(block, 0);
}

/* Returns the line with the prompt before it, and its size; NULL if memory ran
 * out. */
static const char *program_prompted(struct program *p, const char *line,
                                    int64_t *bytes)
{
    const int64_t n = (int64_t)strlen(p->before);
    char *text = program_grow(p, &p->turn, n + *bytes + 1);

    if (!text)
        return NULL;
    memcpy(text, p->before, (size_t)n);
    memcpy(text + n, line, (size_t)*bytes);
    *bytes += n;
    return text;
}

#endif
/* Finds the prompt, and checks that the vocabulary has the template that
 * --pairs needs. */
static void program_prepare(struct program *p)
{
#if ATTN_HAS_TEXT
#if ATTN_HAS_TASKS
    task_find(p);
#endif
    program_find_prompt(p);
#if ATTN_HAS_TASKS
    if (p->task)
        p->more += attn_task_room(&p->m->texts->tasks[p->task]);
#endif
#endif
    if (!p->pairs)
        return;
#if ATTN_HAS_TASKS
    if (p->source.block && p->m->texts->pair.second) {
        p->more = pair_room(p);
        return;
    }
#endif
#if ATTN_HAS_TEXT
    const void *block = p->source.block;
    if (block && attn_vocab_most_pair_ids(block, 0) < 0)
        program_fail(p, 3, "--pairs: %s (post_processor of its tokenizer.json)",
                     attn_error_text(ATTN_ERROR_PAIR));
    else if (block)
        p->more = attn_vocab_most_pair_ids(block, 0)
                - attn_vocab_most_ids(block, 0);
    if (block)
        return;
#endif
    program_fail(p, 3, "--pairs reads texts: the model has no vocabulary");
}

static void program_finish(struct program *p)
{
    (void)p;
}

#if ATTN_HAS_TEXT
/* Returns the tab between the two texts of a line, or NULL with p->why. */
static const char *pair_tab(struct program *p, const char *line, int64_t bytes)
{
    const char *tab = memchr(line, '\t', (size_t)bytes), *other = NULL;

    if (tab)
        other = memchr(tab + 1, '\t', (size_t)(line + bytes - tab - 1));
    if (tab && !other)
        return tab;
    if (!tab)
        program_wrong(p, "two texts and a tab between them are expected");
    else
        program_wrong(p,
                      "byte %lld: one tab is expected, between two texts, and "
                      "this is another",
                      (long long)(other - line) + 1);
    return NULL;
}

/* Checks that the model supports the token types of these n tokens. Returns n,
 * or -1. */
static int64_t pair_types(struct program *p, const int32_t *types, int64_t n)
{
    for (int64_t i = 0; i < n && p->m->types > 1; i++)
        if (types[i] >= p->m->types)
            return program_wrong(p,
                                 "the vocabulary's template has type %d, the "
                                 "model takes 0 to %lld",
                                 (int)types[i], (long long)p->m->types - 1);
    return n;
}

/* Converts two texts with a tab between them to ids and token types. */
static int64_t program_pair(struct program *p, const char *line, int64_t bytes,
                            int32_t *ids)
{
    const void *block = p->source.block;
    const char *tab = pair_tab(p, line, bytes);
    const int64_t most = program_most(p, &p->source, bytes) + p->more;
    int64_t bad = 0;

    if (!tab)
        return -1;
#if ATTN_HAS_TASKS
    if (p->m->texts->pair.second)
        return pair_one_text(p, line, tab, bytes, ids);
#endif
    const int64_t left = tab - line, right = bytes - left - 1;
    const int64_t need = attn_vocab_encode_bytes(block, attn_max(left, right));
    char *memory = program_grow(p, &p->work, attn_max(need, 1));
    int32_t *types = program_grow(p, &p->types, (p->n + most) * 4);
    if (!memory || !types)
        return -1;
    int64_t n = attn_vocab_encode_pair(block, line, left, tab + 1, right, ids,
                                       types + p->n, most, memory, &bad);
    n = attn_line_tokens(&p->source, line, bytes, n, bad + (bad >= left),
                         p->why);
    return pair_types(p, types + p->n, n);
}

#endif

static int64_t program_question(struct program *p, const char *line,
                                int64_t bytes, int32_t *ids)
{
#if ATTN_HAS_TEXT
    if (p->pairs)
        return program_pair(p, line, bytes, ids);
    if (p->before)
        line = program_prompted(p, line, &bytes);
    if (!line)
        return -1;
#endif
    const int64_t n = program_tokens(p, &p->source, TOKENS_LINE, line, bytes,
                                     ids);
#if ATTN_HAS_TASKS
    return task_question(p, ids, n);
#else
    return n;
#endif
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

/* Checks the three blocks of a question: the numbers of keys and values must be
 * equal. Prints a message and returns 0 if they differ. */
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
    program_refuse(p, p->in.number);
    return 0;
}

/* Returns the number of result rows for a sequence of `rows` rows. */
static int64_t program_results(const struct program *p, int64_t rows)
{
    if (rows == 0 || p->m->output_pooled)
        return rows > 0;
    return rows + p->m->class_token;
}

/* Runs the batch. The results are at the start of p->work; the model's memory
 * follows. */
static void program_rows(struct program *p, struct attn_batch *b)
{
    const int64_t results = b->rows + b->sequences * (1 + p->m->class_token);
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

/* Prints the answer to a part. Prints numbers that are not finite too, with a
 * warning. */
static void print_rows(struct program *p, int64_t part, const float *x,
                       int64_t rows)
{
    const int64_t columns = p->m->output_columns;
    int64_t wrong = 0;

#if ATTN_IN_ATTNC
    if (p->json)
        rows_json(p, part, x, rows);
    if (p->npy)
        rows_npy(p, x, rows);
#endif
    for (int64_t i = 0; i < rows * columns; i++) {
        wrong += !(x[i] - x[i] == 0.0f);
#if ATTN_IN_ATTNC
        if (p->json || p->npy)
            continue;
#endif
        printf("%.9g%c", (double)x[i], (i + 1) % columns > 0 ? ' ' : '\n');
    }
#if ATTN_IN_ATTNC
    if (!p->npy)
        putchar('\n');
#else
    putchar('\n');
#endif
    if (wrong > 0)
        program_warn(p, "<stdin>:%lld: %lld of %lld numbers are not finite",
                     (long long)p->last[part], (long long)wrong,
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
    if (p->pairs && p->m->types > 1)
        b.types = p->types.at;
#if ATTN_HAS_TASKS
    if (p->task && p->m->texts->fill_is_hidden)
        b.prefix = p->task_given;
#endif
    if (blocks) {
        if (!program_blocks(p)) {
            print_rows(p, p->parts - 1, NULL, 0);
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
    float *y = b.output;
    for (int64_t i = 0; i < b.sequences && p->status <= 3; i++) {
        const int64_t rows = program_results(p, b.start[i + 1] - b.start[i]);
#if ATTN_HAS_TASKS
        print_rows(p, blocks ? 2 : i, y, task_answer(p, i, y, rows));
#else
        print_rows(p, blocks ? 2 : i, y, rows);
#endif
        y += (p->m->output_pooled ? 1 : rows) * p->m->output_columns;
    }
}
