/* program_score.c: --score. Each line is an input, a tab, and an output. The
 * answer is the log-probability of the output, a tab, and the log-probability
 * of each token, including the end token. */

/* Sets p->why to the reason for which the model rejects a pair. Returns -1. */
static int64_t score_refuse(struct program *p, const struct score_pair *x)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t start = (search.o.start >= 0) + search.o.prefix_n;
    const long long most = p->m->max_target + 1 - start;
    const long long n = x->n, target_n = x->target_n;

    if (target_n < 1)
        return program_wrong(p, "the output has no tokens");
    if (decoder && n + start < 1)
        return program_wrong(p, "the input has no tokens, and the spec no "
                                "vocab.tokens.start");
    if (decoder)
        return program_wrong(
            p,
            "the input has %lld tokens, the output %lld, the end counted: the "
            "model takes %lld in all (max_len)",
            n, target_n, most);
    if (n < 1)
        return program_wrong(p, "the input has no tokens");
    if (n > p->m->max_source)
        return program_wrong(p,
                             "the input has %lld tokens, the model takes %lld "
                             "(max_len.source)",
                             n, (long long)p->m->max_source);
    return program_wrong(p,
                         "the output has %lld tokens, the end counted: the "
                         "model takes %lld (max_len.target)",
                         target_n, most);
}

/* Prints the answer to a pair. Returns -1 with p->why if there is none. */
static int64_t score_ids(struct program *p, const struct score_pair *x)
{
    int error = -1;
    double sum = 0.0;

    const int64_t bytes = attn_score_bytes(p->m, x->n,
                                           search.o.prefix_n + x->target_n,
                                           p->parallel);
    float *scores = program_grow(p, &p->text, (x->target_n + 1) * 4);
    if (bytes > 0 && (!scores || !program_grow(p, &p->work, bytes)))
        return -1;
    const struct attn_score_request request = {
        .model = p->m,
        .bound = p->bound.at,
        .start = search.o.start,
        .prefix = search.o.prefix,
        .prefix_n = search.o.prefix_n,
        .source = x->ids,
        .source_n = x->n,
        .target = x->target,
        .target_n = x->target_n,
        .parallel = p->parallel,
        .memory = p->work.at,
        .bytes = bytes,
    };
    if (x->target_n > 0 && bytes > 0)
        error = attn_score_pair(&request, scores);
    if (error == ATTN_ERROR_FINITE || error == ATTN_ERROR_FIXED)
        return program_wrong(p, "%s", attn_error_text(error));
    if (error != 0)
        return score_refuse(p, x);
    for (int64_t i = 0; i < x->target_n; i++)
        sum += (double)scores[i];
#if ATTN_IN_ATTNC
    if (p->json)
        return score_json(p, sum, x->target, x->target_n, scores);
#endif
    printf("%.7g\t", sum);
    for (int64_t i = 0; i < x->target_n; i++)
        printf(i > 0 ? " %.7g" : "%.7g", (double)scores[i]);
    return 0;
}

/* Reads a line as a pair. Returns -1, with p->why, if it is invalid. */
static int64_t score_line(struct program *p, const char *text, int64_t bytes,
                          struct score_pair *x)
{
    const char *tab = memchr(text, '\t', (size_t)bytes);
    const int64_t left = tab ? tab - text : 0;
    const int64_t most = program_most(p, &p->source, left)
                       + program_most(p, &p->target, bytes - left);

    x->ids = program_grow(p, &p->items, (most + 8) * 4);
    if (!tab || !x->ids)
        return program_wrong(p, "an input, a tab and an output are expected");
    x->n = program_tokens(p, &p->source, TOKENS_LINE, text, left, x->ids);
    if (x->n < 0)
        return -1;
    x->target = x->ids + x->n;
    x->target_n = program_tokens(p, &p->target, TOKENS_PLAIN, tab + 1,
                                 bytes - left - 1, x->target);
    options_of_spec(&search.o);
    if (x->target_n >= 0)
        x->target_n = attn_score_complete(&search.o, &x->target, x->target_n);
    return x->target_n;
}

static void program_scores(struct program *p)
{
    const char *text = NULL;
    struct score_pair x = { .n = 0 };
    int64_t n = 0;

    program_open_lines(p);
    while (p->status == 0 || p->status == 3) {
        const int state = program_line(p, 1, &text, &n);
        if (state == LINE_END)
            break;
        if (state == LINE_LONG || score_line(p, text, n, &x) < 0
            || score_ids(p, &x) < 0)
            program_refuse(p, p->in.number);
        putchar('\n');
        program_flush(p, stdout);
    }
}
