/* handle_score.c: scores of given targets by a handle. */

/* Computes the log-probability of a target and of each of its tokens. `target`
 * must have room for the end token. Returns 0 or an error. */
static int handle_probability(struct attn_handle *h, const int32_t *source,
                              int64_t n, int32_t *target, int64_t target_n,
                              double *log_probability)
{
    const struct attn_model *m = h->model;
    struct attn_search_options o;
    const int64_t most = attn_min(h->output + 1, m->max_target);
    int wrong;

    options_of_spec(&o);
    target_n = attn_score_complete(&o, &target, target_n);
    if (n > h->input)
        return handle_longer(h, "tokens of the source", n, h->input);
    if (target_n < 1 || target_n > most)
        return handle_longer(h, "tokens of the target, the end counted",
                             target_n, most);
    const struct attn_score_pair pair = {
        .source = source, .source_n = n, .target = target, .target_n = target_n
    };
    const struct attn_score_request r = handle_score(h, &o, &pair);
    wrong = attn_score_pairs(&r);
    if (wrong)
        return handle_refuse(h, wrong);
    *log_probability = 0.0;
    for (int64_t i = 0; i < target_n; i++)
        *log_probability += (double)h->scores[i];
    if (isnan(*log_probability))
        return handle_refuse(h, ATTN_ERROR_FINITE);
    return 0;
}

ATTN_API int attn_score(const struct attn_model *m, struct attn_handle *h,
                        const char *source, int64_t source_bytes,
                        const char *target, int64_t target_bytes,
                        double *log_probability)
{
    const int wrong = handle_begin(m, h);
    int64_t n, target_n;

    if (wrong)
        return wrong;
    if (!log_probability)
        return handle_refuse(h, ATTN_ERROR_NULL);
    n = handle_tokens(h, h->source, source, source_bytes, handle_how(h),
                      h->ids);
    if (n < 0)
        return (int)n;
    target_n = handle_tokens(h, h->target, target, target_bytes, ATTN_PLAIN,
                             h->target_ids);
    if (target_n < 0)
        return (int)target_n;
    return handle_probability(h, h->ids, n, h->target_ids, target_n,
                              log_probability);
}

ATTN_API int attn_score_ids(const struct attn_model *m, struct attn_handle *h,
                            const int32_t *source, int64_t n,
                            const int32_t *target, int64_t target_n,
                            double *log_probability)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!log_probability || (target_n > 0 && !target))
        return handle_refuse(h, ATTN_ERROR_NULL);
    if (n < 0 || target_n < 0)
        return handle_refuse(h, ATTN_ERROR_COUNT);
    if (target_n > h->output)
        return handle_longer(h, "tokens of the target", target_n, h->output);
    memcpy(h->target_ids, target, (size_t)target_n * sizeof *target);
    return handle_probability(h, source, n, h->target_ids, target_n,
                              log_probability);
}
