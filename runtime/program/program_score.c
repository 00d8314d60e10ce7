/* program_score.c: --score. A line is an input, a tab, an output; its answer is
 * the output's log-probability, a tab, and that of each of its tokens, the end
 * token among them.                                                         */

/* What the model does not take of n tokens and target_n, the end counted. */
static void score_refuse(struct program *p, int64_t n, int64_t target_n)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t start = (search.o.start >= 0) + search.o.prefix_n;
    const int64_t most = p->m->max_target + 1 - start;

    if (target_n < 1)
        program_wrong(p, "the output has no tokens");
    else if (decoder && n + start < 1)
        program_wrong(p, "the input has no tokens, and the spec no "
                         "vocab.tokens.start");
    else if (decoder)
        program_wrong(p,
                      "the input has %lld tokens, the output %lld, the end "
                      "counted: the model takes %lld in all (max_len)",
                      (long long)n, (long long)target_n, (long long)most);
    else if (n < 1)
        program_wrong(p, "the input has no tokens");
    else if (n > p->m->max_source)
        program_wrong(p,
                      "the input has %lld tokens, the model takes %lld "
                      "(max_len.source)",
                      (long long)n, (long long)p->m->max_source);
    else
        program_wrong(p,
                      "the output has %lld tokens, the end counted: the model "
                      "takes %lld (max_len.target)",
                      (long long)target_n, (long long)most);
}

/* The answer to n tokens at ids and target_n behind them; 0: p->why. */
static int score_ids(struct program *p, int32_t *ids, int64_t n,
                     int64_t target_n)
{
    int32_t *target = ids + n;
    int said = -1;
    double sum = 0.0;

    options_of_spec(&search.o);
    if (search.o.end >= 0) {
        target[target_n] = search.o.end;
        target_n++;
    }
    const int64_t forced = attn_score_forced(&search.o, target, target_n);
    target += forced;
    target_n -= forced;
    const int64_t bytes = attn_score_bytes(p->m, n,
                                           search.o.prefix_n + target_n,
                                           p->parallel);
    float *scores = program_grow(p, &p->text, (target_n + 1) * 4);
    if (bytes > 0 && (!scores || !program_grow(p, &p->work, bytes)))
        return 1;
    const struct attn_score_request request = {
        .model = p->m,
        .bound = p->bound.at,
        .start = search.o.start,
        .prefix = search.o.prefix,
        .prefix_n = search.o.prefix_n,
        .source = ids,
        .source_n = n,
        .target = target,
        .target_n = target_n,
        .parallel = p->parallel,
        .memory = p->work.at,
        .bytes = bytes,
    };
    if (target_n > 0 && bytes > 0)
        said = attn_score_pair(&request, scores);
    if (said == ATTN_ERROR_FINITE || said == ATTN_ERROR_FIXED)
        program_wrong(p, "%s", attn_error_text(said));
    else if (said != 0)
        score_refuse(p, n, target_n);
    if (said != 0)
        return 0;
    for (int64_t i = 0; i < target_n; i++)
        sum += (double)scores[i];
#if ATTN_IN_ATTNC
    if (p->json)
        return score_json(p, sum, target, target_n, scores);
#endif
    printf("%.7g\t", sum);
    for (int64_t i = 0; i < target_n; i++)
        printf(i > 0 ? " %.7g" : "%.7g", (double)scores[i]);
    return 1;
}

static int score_line(struct program *p, const char *text, int64_t bytes)
{
    const char *tab = memchr(text, '\t', (size_t)bytes);
    const int64_t left = tab ? tab - text : 0;
    const int64_t most = program_most(p, &p->source, left)
                       + program_most(p, &p->target, bytes - left);
    int32_t *ids = program_grow(p, &p->items, (most + 8) * 4);

    if (!ids)
        return 1;
    if (!tab) {
        program_wrong(p, "an input, a tab and an output are expected");
        return 0;
    }
    const int64_t n = program_tokens(p, &p->source, TOKENS_LINE, text, left,
                                     ids);
    if (n < 0)
        return 0;
    const int64_t target_n = program_tokens(p, &p->target, TOKENS_PLAIN,
                                            tab + 1, bytes - left - 1, ids + n);
    return target_n >= 0 && score_ids(p, ids, n, target_n);
}

static void program_scores(struct program *p)
{
    const char *text = NULL;
    int64_t n = 0;

    program_open_lines(p);
    while (p->status == 0 || p->status == 3) {
        const int state = program_line(p, 1, &text, &n);
        if (state == LINE_END)
            break;
        if (state == LINE_LONG || !score_line(p, text, n))
            program_refuse(p, p->line);
        putchar('\n');
        program_flush(p, stdout);
    }
}
