/* handle_rows.c: functions of a handle for a model that answers with rows of
 * numbers. */

static int handle_sizes(struct attn_handle *h,
                        const struct attn_open_options *o)
{
    const struct attn_model *m = h->model;
    const int64_t most = m->max_source - m->class_token;

    if (o->max_output != 0 || o->beam != 0 || o->draft != 0 || o->grammar)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "max_output, beam, draft, grammar: %s generates "
                           "nothing",
                           m->name);
    if (m->kind == ATTN_ATTENTION) /* the limit applies to both queries and
                                    * keys */
        return handle_size(h, "max_input", o->max_input,
                           attn_max(m->max_source, m->max_target), &h->input);
    return handle_size(h, "max_input", o->max_input, most, &h->input);
}

static int64_t handle_call_bytes(const struct attn_handle *h)
{
    const struct attn_batch b = {
        .sequences = 1,
        .rows = h->input,
        .key_rows = h->input,
        .parallel = h->parallel,
    };
    return attn_batch_bytes(h->model, &b);
}

/* Runs one sequence of n rows. Returns the number of rows of the result, or an
 * error. */
static int64_t handle_rows(struct attn_handle *h, struct attn_batch *b,
                           int64_t n, float *out)
{
    const struct attn_model *m = h->model;
    const int32_t start[2] = { 0, (int32_t)n };

    if (n < 1)
        return handle_fail(h, ATTN_ERROR_LENGTH, "the input is empty");
    if (n > h->input)
        return handle_longer(h, "tokens or rows of the input", n, h->input);
    b->sequences = 1;
    b->rows = n;
    b->start = start;
    b->output = out;
    b->parallel = h->parallel;
    const int wrong = attn_encode_batch(m, h->bound, b, h->work, h->work_bytes);
    if (wrong)
        return handle_refuse(h, wrong);
    return m->output_pooled ? 1 : n + m->class_token;
}

ATTN_API int64_t attn_encode(const struct attn_model *m, struct attn_handle *h,
                             const int32_t *ids, int64_t n, float *out)
{
    struct attn_batch b = { .ids = ids };
    const int wrong = handle_begin(m, h);

    return wrong ? wrong : handle_rows(h, &b, n, out);
}

ATTN_API int64_t attn_encode_rows(const struct attn_model *m,
                                  struct attn_handle *h, const float *rows,
                                  int64_t n, float *out)
{
    struct attn_batch b = { .input = rows };
    const int wrong = handle_begin(m, h);

    return wrong ? wrong : handle_rows(h, &b, n, out);
}

#if ATTN_HAS_EMBED
/* Converts a prompt and a text to ids; an empty text has none. Returns their
 * number, or an error. */
static int64_t handle_prompted(struct attn_handle *h, const char *prompt,
                               const char *text, int64_t bytes)
{
    const int64_t before = (int64_t)strlen(prompt);
    int64_t bad = 0;
    int wrong = handle_text_size(h, h->source, text, &bytes);

    if (before == 0 || wrong || bytes == 0)
        return handle_question(h, text, bytes);
    wrong = handle_text_fits(h, bytes);
    if (wrong)
        return wrong;
    memcpy(h->joined, prompt, (size_t)before);
    memcpy(h->joined + before, text, (size_t)bytes);
    const int64_t n = attn_vocab_encode(h->source, h->joined, before + bytes,
                                        handle_how(h), h->ids, h->most,
                                        h->words, &bad);
    if (n >= 0)
        return n;
    return handle_fail(h, n, "byte %lld of the %s: %s",
                       (long long)(bad < before ? bad : bad - before) + 1,
                       bad < before ? "prompt" : "text", attn_error_text(n));
}

/* Returns the prompt that the options choose, or NULL. */
static const char *handle_chosen(struct attn_handle *h,
                                 const struct attn_text_options *o)
{
    const char *prompt;

    if (o->task < 0 || o->task > ATTN_TASK_DOCUMENT) {
        handle_fail(h, ATTN_ERROR_OPTION, "task: 0 to %d are taken",
                    ATTN_TASK_DOCUMENT);
        return NULL;
    }
    prompt = attn_text_prompt(h->model->texts, o->task, o->prompt);
    if (!prompt)
        handle_fail(h, ATTN_ERROR_OPTION,
                    "prompt: %s is no name of the spec's prompts", o->prompt);
    return prompt;
}

#if ATTN_HAS_TASKS
/* Turns n ids into those of a query or a document. Returns their number. Sets
 * *given to the number of those that all rows attend to. */
static int64_t handle_task(struct attn_handle *h, int64_t task, int64_t n,
                           int32_t *given)
{
    const struct attn_texts *t = h->model->texts;
    int64_t bad = 0, all = n;

    *given = (int32_t)n;
    if (n < 1 || task == ATTN_TASK_NONE || !t->tasks)
        return n;
    const int64_t frame = attn_vocab_encode(h->source, "", 0, handle_how(h),
                                            h->target_ids, h->most, h->words,
                                            &bad);
    const int64_t tail = attn_template_tail(h->ids, h->target_ids,
                                            attn_min(attn_max(frame, 0), n));
    n = attn_task_ids(&t->tasks[task], h->ids, n, tail, &all);
    *given = (int32_t)all;
    return n;
}

#endif
ATTN_API int64_t attn_embed_as(const struct attn_model *m,
                               struct attn_handle *h, const char *text,
                               int64_t bytes, const struct attn_text_options *o,
                               float *out)
{
    static const struct attn_text_options none = { 0 };
    const struct attn_text_options *to = o ? o : &none;
    struct attn_batch b = { .ids = NULL };
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    const char *prompt = handle_chosen(h, to);
    if (!prompt)
        return ATTN_ERROR_OPTION;
    int64_t n = handle_prompted(h, prompt, text, bytes);
    if (n < 0)
        return n;
    b.ids = h->ids;
#if ATTN_HAS_TASKS
    int32_t given = 0;
    n = handle_task(h, to->task, n, &given);
    if (to->task && m->texts->fill_is_hidden)
        b.prefix = &given;
#endif
    const int64_t rows = handle_rows(h, &b, n, out);
#if ATTN_HAS_TASKS
    if (rows > 0 && to->task == ATTN_TASK_DOCUMENT && m->texts->tasks
        && !m->output_pooled)
        return attn_task_rows(&m->texts->tasks[to->task], h->ids, rows, out,
                              m->output_columns, out);
#endif
    return rows;
}

ATTN_API int64_t attn_embed(const struct attn_model *m, struct attn_handle *h,
                            const char *text, int64_t bytes, float *out)
{
    const struct attn_text_options plain = { ATTN_TASK_NONE, "" };

    return attn_embed_as(m, h, text, bytes, &plain, out);
}

#endif

/* Checks the sizes of a pair. Returns 0 or an error. */
static int handle_pair_fits(struct attn_handle *h, const char *text,
                            int64_t *bytes, const char *other,
                            int64_t *other_bytes)
{
    int wrong = handle_text_size(h, h->source, text, bytes);

    if (!wrong)
        wrong = handle_text_size(h, h->source, other, other_bytes);
    if (wrong)
        return wrong;
    if (*bytes > h->text)
        return handle_text_fits(h, *bytes);
    return handle_text_fits(h, *other_bytes > h->text ? *other_bytes
                                                      : *bytes + *other_bytes);
}

#if ATTN_HAS_TASKS
/* Converts a pair that becomes one text by the spec to ids of type 0. Returns
 * their number, or an error. */
static int64_t handle_joined(struct attn_handle *h,
                             const struct attn_two_texts *t)
{
    const int64_t bytes = attn_pair_text(&h->model->texts->pair, t, h->joined);
    int64_t bad = 0;
    const int64_t n = attn_vocab_encode(h->source, h->joined, bytes, ATTN_PLAIN,
                                        h->ids, h->most, h->words, &bad);

    if (n < 0)
        return handle_fail(h, n, "byte %lld of the pair's text: %s",
                           (long long)bad + 1, attn_error_text(n));
    memset(h->target_ids, 0, (size_t)n * sizeof *h->target_ids);
    return n;
}

#endif
/* Converts two texts to ids with token types. Returns their number, or an
 * error. */
static int64_t handle_pair(struct attn_handle *h, const char *text,
                           int64_t bytes, const char *other,
                           int64_t other_bytes)
{
    int64_t bad = 0, n;
    const int wrong = handle_pair_fits(h, text, &bytes, other, &other_bytes);

    if (wrong)
        return wrong;
#if ATTN_HAS_TASKS
    if (h->model->texts && h->model->texts->pair.second) {
        const struct attn_two_texts t = { text, other, bytes, other_bytes };

        return handle_joined(h, &t);
    }
#endif
    n = attn_vocab_encode_pair(h->source, text, bytes, other, other_bytes,
                               h->ids, h->target_ids, h->most, h->words, &bad);
    if (n == ATTN_ERROR_PAIR)
        return handle_refuse(h, n);
    if (n < 0)
        return handle_fail(h, n, "byte %lld of the %s text: %s",
                           (long long)(bad < bytes ? bad : bad - bytes) + 1,
                           bad < bytes ? "first" : "second",
                           attn_error_text(n));
    return n;
}

ATTN_API int64_t attn_embed_pair(const struct attn_model *m,
                                 struct attn_handle *h, const char *text,
                                 int64_t bytes, const char *other,
                                 int64_t other_bytes, float *out)
{
    struct attn_batch b = { .ids = NULL };
    const int wrong = handle_begin(m, h);
    int64_t n;

    if (wrong)
        return wrong;
    n = handle_pair(h, text, bytes, other, other_bytes);
    b.ids = h->ids;
    b.types = m->types > 1 ? h->target_ids : NULL;
    return n < 0 ? n : handle_rows(h, &b, n, out);
}

ATTN_API int64_t attn_attend(const struct attn_model *m, struct attn_handle *h,
                             const float *query, int64_t queries,
                             const float *key, const float *value, int64_t keys,
                             float *out)
{
    const int32_t key_start[2] = { 0, (int32_t)keys };
    struct attn_batch b = {
        .query = query,
        .key = key,
        .value = value,
        .key_rows = keys,
        .key_start = key_start,
    };
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (keys < 1)
        return handle_fail(h, ATTN_ERROR_LENGTH, "there are no keys");
    if (keys > h->input)
        return handle_longer(h, "keys", keys, h->input);
    return handle_rows(h, &b, queries, out);
}
