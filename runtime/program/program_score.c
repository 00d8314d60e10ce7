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

/* Checks that the model takes a pair. Returns 0, or -1 with p->why. */
static int64_t score_fits(struct program *p, const struct score_pair *x)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t before = (search.o.start >= 0) + search.o.prefix_n
                         + (decoder ? x->n : 0);

    if (x->target_n > 0 && before > 0
        && before + x->target_n - 1 <= p->m->max_target
        && (decoder || (x->n > 0 && x->n <= p->m->max_source)))
        return 0;
    return score_refuse(p, x);
}

/* Reads a line as a pair, behind the first p->n items. Returns -1, with p->why,
 * if it is invalid. */
static int64_t score_line(struct program *p, const char *text, int64_t bytes,
                          struct score_pair *x)
{
    const char *tab = memchr(text, '\t', (size_t)bytes);
    const int64_t left = tab ? tab - text : 0;
    const int64_t most = program_most(p, &p->source, left)
                       + program_most(p, &p->target, bytes - left);
    int32_t *ids = program_grow(p, &p->items, (p->n + most + 8) * 4);

    if (!tab || !ids)
        return program_wrong(p, "an input, a tab and an output are expected");
    ids += p->n;
    x->at = p->n;
    x->n = program_tokens(p, &p->source, TOKENS_LINE, text, left, ids);
    if (x->n < 0)
        return -1;
    int32_t *target = ids + x->n;
    x->target_n = program_tokens(p, &p->target, TOKENS_PLAIN, tab + 1,
                                 bytes - left - 1, target);
    options_of_spec(&search.o);
    if (x->target_n >= 0)
        x->target_n = attn_score_complete(&search.o, &target, x->target_n);
    x->target = target - ids + x->at;
    return x->target_n;
}

/* Prints the answer to part p->parts. scores NULL: it was rejected. */
static void score_print(struct program *p, const struct score_pair *x,
                        const float *scores)
{
    double sum = 0.0;

    for (int64_t i = 0; scores && i < x->target_n; i++)
        sum += (double)scores[i];
    if (isnan(sum)) {
        program_wrong(p, "%s", attn_error_text(ATTN_ERROR_FINITE));
        program_refuse(p, p->last[p->parts]);
        scores = NULL;
    }
#if ATTN_IN_ATTNC
    if (p->json)
        score_json(p, x, sum, scores);
    if (p->json)
        return;
#endif
    if (scores)
        printf("%.7g\t", sum);
    for (int64_t i = 0; scores && i < x->target_n; i++)
        printf(i > 0 ? " %.7g" : "%.7g", (double)scores[i]);
}

/* Scores the parts that are not rejected. Returns the log-probabilities of
 * their targets' tokens; NULL: there are none. */
static const float *score_find(struct program *p, const struct score_pair *x)
{
    const int32_t *ids = p->items.at;
    struct attn_score_pair pair[PROGRAM_PARTS];
    struct attn_score_request r = { .model = p->m,
                                    .bound = p->bound.at,
                                    .start = search.o.start,
                                    .prefix = search.o.prefix,
                                    .prefix_n = search.o.prefix_n,
                                    .pair = pair,
                                    .parallel = p->parallel };

    for (int64_t i = 0; i < p->parts; i++) {
        if (p->bad[i])
            continue;
        pair[r.pairs] = (struct attn_score_pair){ .source = ids + x[i].at,
                                                  .source_n = x[i].n,
                                                  .target = ids + x[i].target,
                                                  .target_n = x[i].target_n };
        r.pairs++;
    }
    r.bytes = attn_score_bytes(&r);
    r.memory = program_grow(p, &p->work, attn_max(r.bytes, 1));
    r.log_probability = program_grow(p, &p->text, (p->n + 1) * 4);
    if (r.pairs == 0 || !r.memory || !r.log_probability)
        return NULL;
    const int wrong = attn_score_pairs(&r);
    if (wrong == 0)
        return r.log_probability;
    if (wrong != ATTN_ERROR_FIXED)
        program_fail(p, 70, "internal error: %s", attn_error_text(wrong));
    p->parts = 0; /* a model of a fixed size takes one pair at a time */
    p->bad[0] = 1;
    program_wrong(p, "%s", attn_error_text(wrong));
    program_refuse(p, p->last[0]);
    return NULL;
}

/* Prints the answers to all parts. */
static void score_answer(struct program *p, const struct score_pair *x)
{
    const int64_t parts = p->parts;
    const float *scores = score_find(p, x);

    for (p->parts = 0; p->parts < parts && p->status <= 3; p->parts++) {
        const int bad = p->bad[p->parts];
        score_print(p, &x[p->parts], bad ? NULL : scores);
        putchar('\n');
        if (!bad && scores)
            scores += x[p->parts].target_n;
    }
}

/* Reads a part for each line that has arrived. Returns 0 at the end of the
 * input. */
static int score_read(struct program *p, struct score_pair *x)
{
    const int64_t most = attn_min(attn_score_most(p->m), PROGRAM_PARTS);
    const char *text = NULL;
    int64_t bytes = 0;

    p->n = 0;
    p->parts = 0;
    while (p->parts < most && p->n < ATTN_SCORE_TOKENS && p->status <= 3) {
        const int state = program_line(p, p->parts == 0, &text, &bytes);
        if (state == LINE_WAIT || state == LINE_END)
            break;
        p->last[p->parts] = p->in.number;
        p->bad[p->parts] = state == LINE_LONG
                        || score_line(p, text, bytes, x) < 0
                        || score_fits(p, x) < 0;
        if (p->bad[p->parts])
            program_refuse(p, p->in.number);
        else
            p->n = x->target + x->target_n;
        p->parts++;
        x++;
    }
    return p->parts > 0 && p->status <= 3;
}

static void program_scores(struct program *p)
{
    struct score_pair x[PROGRAM_PARTS];

    program_open_lines(p);
    while ((p->status == 0 || p->status == 3) && score_read(p, x)) {
        score_answer(p, x);
        if (p->status <= 3)
            program_flush(p, stdout);
    }
}
