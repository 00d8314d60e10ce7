/* program_task.c: --task, lines that are queries or documents of late
 * interaction; and pairs of texts that become one text. p->m->texts describes
 * them. */

/* Reads the name that --task has. */
static void task_find(struct program *p)
{
    if (!p->task_name || !strcmp(p->task_name, "none"))
        return;
    if (!strcmp(p->task_name, "query"))
        p->task = ATTN_TASK_QUERY;
    else if (!strcmp(p->task_name, "document"))
        p->task = ATTN_TASK_DOCUMENT;
    else
        program_fail(p, 2, "--task: none, query or document is expected");
    if (p->task && (p->ids || p->pairs))
        program_fail(p, 2, "--task can't be combined with --ids or --pairs");
}

/* Stores the ids of the text that ends all inputs: for how 0, those of an empty
 * text, which the template adds. Returns -1 if memory ran out. */
static int64_t task_frame(struct program *p, const char *text, int64_t how)
{
    const void *block = p->source.block;
    const int64_t bytes = (int64_t)strlen(text);
    const int64_t most = attn_vocab_most_ids(block, bytes);
    const int64_t need = attn_vocab_encode_bytes(block, bytes);
    int64_t bad = 0;

    if (p->frame.at)
        return 0;
    int32_t *ids = program_grow(p, &p->frame, (most + 1) * 4);
    void *memory = program_grow(p, &p->work, attn_max(need, 1));
    if (!ids || !memory)
        return -1;
    p->frame_n = attn_max(attn_vocab_encode(block, text, bytes, how, ids, most,
                                            memory, &bad),
                          0);
    return 0;
}

/* Turns n ids of the part that is being read into those of a query or a
 * document. Returns their number. */
static int64_t task_question(struct program *p, int32_t *ids, int64_t n)
{
    int64_t given = n;

    if (p->task == ATTN_TASK_NONE || n < 1)
        return n;
    if (task_frame(p, "", 0) < 0)
        return -1;
    n = attn_task_ids(&p->m->texts->tasks[p->task], ids, n,
                      attn_template_tail(ids, p->frame.at,
                                         attn_min(p->frame_n, n)),
                      &given);
    p->task_given[p->parts] = (int32_t)given;
    return n;
}

/* Removes rows of a part of a document. Returns the number of those that
 * remain. */
static int64_t task_answer(struct program *p, int64_t part, float *x,
                           int64_t rows)
{
    const int32_t *ids = p->items.at;

    if (p->task != ATTN_TASK_DOCUMENT || p->m->output_pooled)
        return rows;
    return attn_task_rows(&p->m->texts->tasks[p->task], ids + p->start[part],
                          rows, x, p->m->output_columns, x);
}

/* ---- pairs ---- */

/* Returns how many ids more the text of a pair may have than its line. */
static int64_t pair_room(struct program *p)
{
    const struct attn_two_texts none = { NULL, NULL, 0, 0 };

    return attn_vocab_most_ids(p->source.block,
                               attn_pair_text(&p->m->texts->pair, &none, NULL));
}

/* Converts a line, two texts with a tab between them, to ids. Cuts them as
 * --max-input says. Returns their number, or -1. */
static int64_t pair_one_text(struct program *p, const char *line,
                             const char *tab, int64_t bytes, int32_t *ids)
{
    const struct attn_pair_texts *pair = &p->m->texts->pair;
    const int64_t left = tab - line, most = p->set.max_input;
    const struct attn_two_texts t = { line, tab + 1, left, bytes - left - 1 };
    const char *end = pair->end ? pair->end : "";
    const int64_t size = attn_pair_text(pair, &t, NULL);
    char *text = program_grow(p, &p->turn, size + 1);

    if (!text)
        return -1;
    attn_pair_text(pair, &t, text);
    const int64_t n = program_tokens(p, &p->source, TOKENS_PLAIN, text, size,
                                     ids);
    if (n < 0 || most == 0 || n <= most)
        return n;
    if (task_frame(p, end, ATTN_PLAIN) < 0)
        return -1;
    attn_keep_end(ids, most, p->frame.at, p->frame_n);
    return most;
}
