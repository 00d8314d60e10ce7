/* hostile_handle.h: the part of hostile_calls.c for handles. If the weights are
 * not inside the C file, open() fails, and so must all other calls. */

#define CHATS (TEXT == 2) /* the spec has a `chat` */

static struct attn_handle *handle;
static int sound; /* it is open */

/* Checks that m_f(...) of a handle returns `wanted`. */
#define SAYS(wanted, f, ...)                                                  \
    do {                                                                      \
        CALL(sound ? (wanted) : ATTN_ERROR_OPEN, f, handle, __VA_ARGS__);     \
        if ((wanted) < 0 && strlen(m_error(handle)) < 5)                      \
            complain(#f, #__VA_ARGS__, "no words");                           \
    } while (0)

static void complain(const char *f, const char *with, const char *what)
{
    failed = 1;
    fprintf(stderr, "m_%s(%s): %s\n", f, with, what);
}

/* Checks that open() fails with a message that contains `why`. */
static void refuses(const char *path, const struct attn_open_options *o,
                    const char *why)
{
    struct attn_handle *h = m_open(path, o);
    count("open", 1);
    if (!strstr(m_error(h), why))
        complain("open", why, m_error(h));
    m_close(h);
}

/* Checks an error for this change of the options, whose memory has no size. */
#define REFUSES(change, why)                                                  \
    do {                                                                      \
        struct attn_open_options o = { 0 };                                   \
        change;                                                               \
        CALL(ATTN_ERROR_OPTION, memory, &o);                                  \
        refuses(NULL, &o, why);                                               \
    } while (0)

static void check_options(void)
{
    REFUSES(o.threads = -1, "threads");
    REFUSES(o.threads = 1000, "threads");
    REFUSES(o.max_input = -1, "max_input");
    REFUSES(o.max_input = (int64_t)1 << 40, "max_input");
    REFUSES(o.max_output = -1, "max_output");
    REFUSES(o.max_output = (int64_t)1 << 40, "max_output");
    REFUSES(o.beam = -1, "beam");
    REFUSES(o.beam = 1 << 20, "beam");
    REFUSES(o.draft = -1, "draft");
    REFUSES(o.draft = 2, "draft");
    REFUSES(o.draft = 3, "draft");
    REFUSES(o.max_text = -1, "max_text");
    REFUSES(o.max_text = INT64_MAX, "max_text");
    REFUSES(o.parallel = &no_run, "parallel");
    REFUSES(o.parallel = &minus, "parallel");
    REFUSES(o.parallel = &many, "parallel");
    const struct attn_open_options two = { .threads = 2 };
    if (m_memory(&two) < m_memory(NULL))
        complain("memory", "two threads", "less than for one");
    refuses(NULL, &two,
            m_embedded(NULL) || model->weights_bytes == 0
                ? "-DATTNC_THREADS -pthread"
                : "no weights are inside");
}

static void check_bad_grammar(void)
{
    const struct attn_open_options o = { .grammar = "root ::= x" };
    refuses(NULL, &o,
            m_embedded(NULL) || model->weights_bytes == 0
                    || model->kind == ATTN_ENCODER
                    || model->kind == ATTN_ATTENTION
                ? "grammar"
                : "no weights are inside");
}

static void check_open(void)
{
    refuses("/nowhere/at/all", NULL, "No such file");
    refuses("/", NULL, "not a regular file");
    refuses("LICENSE", NULL, "LICENSE: ");
    check_options();
    check_bad_grammar();
    handle = m_open(NULL,
                    &(struct attn_open_options){
                        .batch = 2, .chat = CHATS ? model->max_target : 0 });
    sound = m_error(handle)[0] == '\0';
    if (sound != (m_embedded(NULL) != NULL || model->weights_bytes == 0))
        complain("open", "NULL, NULL", m_error(handle));
    if (!sound && !strstr(m_error(handle), "no weights are inside"))
        complain("open", "NULL, NULL", m_error(handle));
    if (strcmp(m_error(NULL), "out of memory"))
        complain("error", "NULL", m_error(NULL));
    count("error", 1);
    if (m_target(NULL) || !m_target(handle) != !sound)
        complain("target", "NULL", "a target of no model");
    count("target", 1);
    m_close(NULL);
    count("close", 1);
}

#if KIND == 1 && NUMBERS
static void check_calls(void)
{
    const int64_t most = model->max_source - model->class_token;
    const float *x = array((most + 1) * model->input_width * 4);
    float *out = array((most + 1) * model->output_columns * 4);
    CALL(ATTN_ERROR_NULL, encode_rows, NULL, x, 2, out);
    SAYS(ATTN_ERROR_NULL, encode_rows, NULL, 2, out);
    SAYS(ATTN_ERROR_NULL, encode_rows, x, 2, NULL);
    SAYS(ATTN_ERROR_LENGTH, encode_rows, x, 0, out);
    SAYS(ATTN_ERROR_LENGTH, encode_rows, x, -1, out);
    SAYS(ATTN_ERROR_LENGTH, encode_rows, x, most + 1, out);
    SAYS(model->output_pooled ? 1 : most + model->class_token, encode_rows, x,
         most, out);
}
#elif KIND == 1
#if TEXT
/* Checks texts with options. */
static void check_options_of_texts(char *text, int64_t most, float *out)
{
    const struct attn_text_options none = { 0 }, over = { .task = 3 },
                                   below = { .task = -1 },
                                   far = { .task = INT64_MIN },
                                   name = { .prompt = "no such prompt" },
                                   empty = { .prompt = "" },
                                   query = { .task = ATTN_TASK_QUERY },
                                   document = { .task = ATTN_TASK_DOCUMENT };
    char *longer = array(1 << 16);
    const struct attn_text_options many = { .prompt = memset(longer, 'a',
                                                             (1 << 16) - 1) };
    CALL(ATTN_ERROR_NULL, embed_as, NULL, "a", -1, &none, out);
    SAYS(ATTN_ERROR_NULL, embed_as, NULL, -1, &none, out);
    SAYS(ATTN_ERROR_NULL, embed_as, "a", -1, &none, NULL);
    SAYS(ATTN_ERROR_NULL, embed_as, "a", -1, &document, NULL);
    SAYS(ATTN_ERROR_COUNT, embed_as, "a", -2, NULL, out);
    SAYS(ATTN_ERROR_OPTION, embed_as, "a", -1, &over, out);
    SAYS(ATTN_ERROR_OPTION, embed_as, "a", -1, &below, out);
    SAYS(ATTN_ERROR_OPTION, embed_as, "a", -1, &far, out);
    SAYS(ATTN_ERROR_OPTION, embed_as, "a", -1, &name, out);
    SAYS(ATTN_ERROR_OPTION, embed_as, "a", -1, &many, out);
    SAYS(ATTN_ERROR_UTF8, embed_as, "a\xff", 2, &none, out);
    SAYS(ATTN_ERROR_LENGTH, embed_as, "", -1, &empty, out);
    memset(text, 'a', 1 << 20);
    SAYS(ATTN_ERROR_LENGTH, embed_as, text, 1 << 20, &none, out);
    SAYS(ATTN_ERROR_LENGTH, embed_as, text, most, &query, out);
    SAYS(ATTN_ERROR_LENGTH, embed_as, text, most, NULL, out);
    SAYS(model->output_pooled ? 1 : 2, embed_as, "a", -1, &empty, out);
    memset(text, 0, 1 << 20);
}

#endif
static void check_calls(void)
{
    const int64_t most = model->max_source;
    int32_t *ids = array((most + 1) * 4);
    float *out = array(most * model->output_columns * 4);
    CALL(ATTN_ERROR_NULL, encode, NULL, ids, 2, out);
    SAYS(ATTN_ERROR_NULL, encode, NULL, 2, out);
    SAYS(ATTN_ERROR_NULL, encode, ids, 2, NULL);
    SAYS(ATTN_ERROR_LENGTH, encode, ids, 0, out);
    SAYS(ATTN_ERROR_LENGTH, encode, ids, INT64_MIN, out);
    SAYS(ATTN_ERROR_LENGTH, encode, ids, most + 1, out);
    SAYS(model->output_pooled ? 1 : most, encode, ids, most, out);
    ids[1] = (int32_t)model->source_vocab;
    SAYS(ATTN_ERROR_ID, encode, ids, 2, out);
#if TEXT
    char *text = array(1 << 20);
    CALL(ATTN_ERROR_NULL, embed, NULL, "a", -1, out);
    SAYS(ATTN_ERROR_NULL, embed, NULL, -1, out);
    SAYS(ATTN_ERROR_NULL, embed, "a", -1, NULL);
    SAYS(ATTN_ERROR_COUNT, embed, "a", -2, out);
    check_options_of_texts(text, most, out);
    CALL(ATTN_ERROR_NULL, embed_pair, NULL, "a", -1, "b", -1, out);
    SAYS(ATTN_ERROR_NULL, embed_pair, NULL, -1, "b", -1, out);
    SAYS(ATTN_ERROR_COUNT, embed_pair, "a", -2, "b", -1, out);
    SAYS(ATTN_ERROR_NULL, embed_pair, "a", -1, NULL, -1, out);
    SAYS(ATTN_ERROR_COUNT, embed_pair, "a", -1, "b", -2, out);
    SAYS(ATTN_ERROR_LENGTH, embed_pair, "a", INT64_MAX, "b", INT64_MAX, out);
    SAYS(ATTN_ERROR_LENGTH, embed_pair, "a", -1, text, 1 << 20, out);
    SAYS(ATTN_ERROR_PAIR, embed_pair, "a", -1, "b", -1, out);
    SAYS(ATTN_ERROR_LENGTH, embed, "", -1, out);
    SAYS(ATTN_ERROR_LENGTH, embed, "a", 0, out);
    SAYS(ATTN_ERROR_UTF8, embed, "a\xff", 2, out);
    SAYS(ATTN_ERROR_UNKNOWN, embed, "a%", -1, out);
    SAYS(ATTN_ERROR_LENGTH, embed, memset(text, 'a', 1 << 20), 1 << 20, out);
    SAYS(ATTN_ERROR_LENGTH, embed, text, most, out); /* and the end token */
    SAYS(model->output_pooled ? 1 : most, embed, text, most - 1, out);
#endif
}
#elif KIND == 3
static void check_calls(void)
{
    const int64_t most = model->max_source, keys = model->max_target;
    const float *x = array((most + keys) * model->d_model * 4);
    float *out = array(most * model->output_columns * 4);
    CALL(ATTN_ERROR_NULL, attend, NULL, x, 1, x, x, 2, out);
    SAYS(ATTN_ERROR_NULL, attend, NULL, 1, x, x, 2, out);
    SAYS(ATTN_ERROR_NULL, attend, x, 1, NULL, x, 2, out);
    SAYS(ATTN_ERROR_NULL, attend, x, 1, x, NULL, 2, out);
    SAYS(ATTN_ERROR_NULL, attend, x, 1, x, x, 2, NULL);
    SAYS(ATTN_ERROR_LENGTH, attend, x, 0, x, x, 2, out);
    SAYS(ATTN_ERROR_LENGTH, attend, x, most + 1, x, x, 2, out);
    SAYS(ATTN_ERROR_LENGTH, attend, x, 1, x, x, 0, out);
    SAYS(ATTN_ERROR_LENGTH, attend, x, 1, x, x, INT64_MAX, out);
    SAYS(ATTN_ERROR_LENGTH, attend, x, 1, x, x, keys + 1, out);
    SAYS(most, attend, x, most, x, x, keys, out);
}
#else
static int64_t taken;

static int take_id(void *user, int32_t id)
{
    (void)id;
    taken++;
    return user != NULL;
}

/* Calls with invalid options of a search. */
#define SEARCHES(f, ...)                                                      \
    do {                                                                      \
        struct attn_search_options o;                                         \
        m_options(&o);                                                        \
        o.beam = 0;                                                           \
        SAYS(ATTN_ERROR_OPTION, f, __VA_ARGS__);                              \
        m_options(&o);                                                        \
        o.beam = 1 << 10;                                                     \
        SAYS(ATTN_ERROR_ROOM, f, __VA_ARGS__);                                \
        m_options(&o);                                                        \
        o.end = (int32_t)model->target_vocab;                                 \
        SAYS(ATTN_ERROR_ID, f, __VA_ARGS__);                                  \
        m_options(&o);                                                        \
        o.parallel = &no_run;                                                 \
        SAYS(ATTN_ERROR_NULL, f, __VA_ARGS__);                                \
    } while (0)

static void check_requests(int32_t *ids, int64_t most)
{
    struct attn_event *e = array(2 * sizeof *e);
    CALL(ATTN_ERROR_NULL, submit_ids, NULL, ids, 2, NULL);
    SAYS(ATTN_ERROR_NULL, submit_ids, NULL, 2, NULL);
    SAYS(ATTN_ERROR_COUNT, submit_ids, ids, -1, NULL);
    SAYS(ATTN_ERROR_LENGTH, submit_ids, ids, most + 1, NULL);
    SEARCHES(submit_ids, ids, 2, &o);
    ids[1] = 1 << 20;
    SAYS(ATTN_ERROR_ID, submit_ids, ids, 2, NULL);
    ids[1] = 0;
    CALL(ATTN_ERROR_NULL, work, NULL, e, 2);
    SAYS(ATTN_ERROR_NULL, work, NULL, 2);
    SAYS(ATTN_ERROR_COUNT, work, e, 0);
    SAYS(0, work, e, 2);
    const int64_t id = sound ? m_submit_ids(handle, ids, 2, NULL) : 1;
    CALL(ATTN_ERROR_NULL, cancel, NULL, id);
    CALL(ATTN_ERROR_OPEN, cancel, handle, 0);
    CALL(ATTN_ERROR_OPEN, cancel, handle, INT64_MAX);
    CALL(sound ? 0 : ATTN_ERROR_OPEN, cancel, handle, id);
    CALL(ATTN_ERROR_OPEN, cancel, handle, id);
    SAYS(0, work, e, 2);
}

static void check_request_options(void)
{
    REFUSES(o.batch = -1, "batch");
    REFUSES(o.batch = 1 << 20, "batch");
    REFUSES(o.waiting = -1, "waiting");
    REFUSES(o.waiting = 1, "a batch of 0");
    REFUSES(o.prompt_rows = -1, "prompt_rows");
    REFUSES(o.cache = -1, "cache");
    REFUSES(o.prefix_cache = -1, "prefix_cache");
    REFUSES(o.chat = -1, CHATS ? "chat: 0 to" : "the spec has no `chat`");
    REFUSES(o.chat = INT64_MAX, CHATS ? "chat: 0 to" : "spec has no `chat`");
}

static void check_ids(int32_t *ids, int64_t most)
{
    double x;
    check_request_options();
    check_requests(ids, most);
    struct attn_drafter by;
    CALL(ATTN_ERROR_NULL, drafter, NULL, &by);
    SAYS(ATTN_ERROR_NULL, drafter, NULL);
    SAYS(0, drafter, &by);
    CALL(ATTN_ERROR_NULL, generate_ids, NULL, ids, 2, NULL, take_id, NULL);
    SAYS(ATTN_ERROR_NULL, generate_ids, NULL, 2, NULL, take_id, NULL);
    SAYS(ATTN_ERROR_NULL, generate_ids, ids, 2, NULL, NULL, NULL);
    SAYS(ATTN_ERROR_COUNT, generate_ids, ids, -1, NULL, take_id, NULL);
    SAYS(ATTN_ERROR_LENGTH, generate_ids, ids, most + 1, NULL, take_id, NULL);
    SEARCHES(generate_ids, ids, 2, &o, take_id, NULL);
    CALL(ATTN_ERROR_NULL, score_ids, NULL, ids, 2, ids, 2, &x);
    SAYS(ATTN_ERROR_NULL, score_ids, NULL, 2, ids, 2, &x);
    SAYS(ATTN_ERROR_NULL, score_ids, ids, 2, NULL, 2, &x);
    SAYS(ATTN_ERROR_NULL, score_ids, ids, 2, ids, 2, NULL);
    SAYS(ATTN_ERROR_COUNT, score_ids, ids, -1, ids, 2, &x);
    SAYS(ATTN_ERROR_COUNT, score_ids, ids, 2, ids, -1, &x);
    SAYS(ATTN_ERROR_LENGTH, score_ids, ids, most + 1, ids, 2, &x);
    SAYS(ATTN_ERROR_LENGTH, score_ids, ids, 2, ids, model->max_target + 1, &x);
    SAYS(0, score_ids, ids, 2, ids, 2, &x);
    ids[1] = 1 << 20;
    SAYS(ATTN_ERROR_ID, generate_ids, ids, 2, NULL, take_id, NULL);
    SAYS(ATTN_ERROR_ID, score_ids, ids, 2, ids, 1, &x);
    SAYS(ATTN_ERROR_ID, score_ids, ids, 1, ids, 2, &x);
#if KIND == 0
    int32_t out[4];
    CALL(ATTN_ERROR_NULL, translate_ids, NULL, ids, 1, NULL, out, 4);
    SAYS(ATTN_ERROR_NULL, translate_ids, NULL, 1, NULL, out, 4);
    SAYS(ATTN_ERROR_NULL, translate_ids, ids, 1, NULL, NULL, 4);
    SAYS(ATTN_ERROR_COUNT, translate_ids, ids, -1, NULL, out, 4);
    SAYS(ATTN_ERROR_COUNT, translate_ids, ids, 1, NULL, out, -4);
    SAYS(ATTN_ERROR_LENGTH, translate_ids, ids, most + 1, NULL, out, 4);
    SAYS(ATTN_ERROR_ID, translate_ids, ids, 2, NULL, out, 4);
    SAYS(0, translate_ids, ids, 0, NULL, out, 4);
    SEARCHES(translate_ids, ids, 1, &o, out, 4);
#endif
    ids[1] = 0;
}

#if TEXT
static int take_text(void *user, const char *text, int64_t n)
{
    (void)text;
    taken += n;
    return user != NULL;
}

#if KIND == 0
#define WORD "ab" /* a question, and an answer */
#define SAID "AH"
static void check_translate(void)
{
    char out[4], *text = array(1 << 20);
    CALL(ATTN_ERROR_NULL, translate, NULL, "ab", -1, NULL, out, 4);
    SAYS(ATTN_ERROR_NULL, translate, NULL, -1, NULL, out, 4);
    SAYS(ATTN_ERROR_COUNT, translate, "ab", -2, NULL, out, 4);
    SAYS(ATTN_ERROR_NULL, translate, "ab", -1, NULL, NULL, 4);
    SAYS(ATTN_ERROR_COUNT, translate, "ab", -1, NULL, out, -1);
    SAYS(ATTN_ERROR_UTF8, translate, "a\xff", -1, NULL, out, 4);
    SAYS(ATTN_ERROR_UNKNOWN, translate, "a%", -1, NULL, out, 4);
    SAYS(ATTN_ERROR_LENGTH, translate, memset(text, 'a', 1 << 20), 1 << 20,
         NULL, out, 4);
    SAYS(ATTN_ERROR_LENGTH, translate, text, model->max_source, NULL, out, 4);
    SAYS(0, translate, "", -1, NULL, out, 4);
    SAYS(0, translate, "ab", 0, NULL, NULL, 0);
    SEARCHES(translate, "ab", 2, &o, out, 4);
}
#else
#define WORD "he"
#define SAID "lo"
#endif

#if CHATS
static void check_chat(void)
{
    char *text = array(1 << 20);
    struct attn_search_options o;
    CALL(ATTN_ERROR_NULL, chat, NULL, "he", -1, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_NULL, chat, NULL, -1, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_NULL, chat, "he", -1, NULL, NULL, NULL);
    SAYS(ATTN_ERROR_COUNT, chat, "he", -2, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_UTF8, chat, "h\xff", -1, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_UNKNOWN, chat, "h%", -1, NULL, take_text, NULL);
    memset(text, 'h', 1 << 20);
    SAYS(ATTN_ERROR_LENGTH, chat, text, 1 << 20, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_LENGTH, chat, text, model->max_target, NULL, take_text,
         NULL);
    m_options(&o);
    o.end = (int32_t)model->target_vocab;
    SAYS(ATTN_ERROR_ID, chat, "he", -1, &o, take_text, NULL);
    m_options(&o);
    o.sampling.top_p = -1.0f;
    SAYS(ATTN_ERROR_OPTION, chat, "he", -1, &o, take_text, NULL);
    m_options(&o);
    o.parallel = &no_run;
    SAYS(ATTN_ERROR_NULL, chat, "he", -1, &o, take_text, NULL);
    o.parallel = &threads;
    SAYS(ATTN_ERROR_ROOM, chat, "he", -1, &o, take_text, NULL);
    SAYS(1, chat, "he", -1, NULL, take_text, &o);
    CALL(ATTN_ERROR_NULL, chat_begin, NULL, "he");
    SAYS(ATTN_ERROR_UNKNOWN, chat_begin, "h%");
    SAYS(ATTN_ERROR_UTF8, chat_begin, "h\xff");
    text[(1 << 20) - 1] = '\0';
    SAYS(ATTN_ERROR_LENGTH, chat_begin, text);
    SAYS(0, chat_begin, NULL);
    SAYS(0, chat_begin, "he");
    SAYS(1, chat, "he", -1, NULL, take_text, &o);
}
#endif

static void check_text_calls(void)
{
    char out[4];
    double x;
#if KIND == 0
    check_translate();
#endif
#if CHATS
    check_chat();
#endif
    CALL(ATTN_ERROR_NULL, generate, NULL, WORD, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_NULL, generate, NULL, NULL, take_text, NULL);
    SAYS(ATTN_ERROR_NULL, generate, WORD, NULL, NULL, NULL);
    SAYS(ATTN_ERROR_UNKNOWN, generate, "a%", NULL, take_text, NULL);
    SEARCHES(generate, WORD, &o, take_text, NULL);
    CALL(ATTN_ERROR_NULL, submit, NULL, WORD, -1, NULL);
    SAYS(ATTN_ERROR_NULL, submit, NULL, -1, NULL);
    SAYS(ATTN_ERROR_COUNT, submit, WORD, -2, NULL);
    SAYS(ATTN_ERROR_UNKNOWN, submit, "a%", -1, NULL);
    SEARCHES(submit, WORD, 2, &o);
    const int32_t bad = 1 << 20;
    struct attn_event e = { .ended = 1, .n = 1, .tokens = &bad };
    CALL(ATTN_ERROR_NULL, event_text, NULL, &e, out, 4);
    SAYS(ATTN_ERROR_NULL, event_text, NULL, out, 4);
    SAYS(ATTN_ERROR_NULL, event_text, &e, NULL, 4);
    SAYS(ATTN_ERROR_COUNT, event_text, &e, out, -1);
    SAYS(ATTN_ERROR_ID, event_text, &e, out, 4);
    e.n = ATTN_ERROR_FINITE;
    SAYS(ATTN_ERROR_FINITE, event_text, &e, out, 4);
    e.n = 1;
    e.tokens = NULL;
    SAYS(ATTN_ERROR_NULL, event_text, &e, out, 4);
    e.n = 0;
    SAYS(0, event_text, &e, out, 4);
    CALL(ATTN_ERROR_NULL, score, NULL, WORD, -1, SAID, -1, &x);
    SAYS(ATTN_ERROR_NULL, score, NULL, -1, SAID, -1, &x);
    SAYS(ATTN_ERROR_NULL, score, WORD, -1, NULL, -1, &x);
    SAYS(ATTN_ERROR_NULL, score, WORD, -1, SAID, -1, NULL);
    SAYS(ATTN_ERROR_COUNT, score, WORD, -2, SAID, -1, &x);
    SAYS(ATTN_ERROR_COUNT, score, WORD, -1, SAID, -2, &x);
    SAYS(ATTN_ERROR_UNKNOWN, score, WORD, -1, "AHA", -1, &x);
    SAYS(0, score, WORD, -1, SAID, -1, &x);
}
#endif

static void check_calls(void)
{
    const int64_t most = KIND == 2 ? model->max_target : model->max_source;
    check_ids(array((most + model->max_target + 2) * 4), most);
#if TEXT
    check_text_calls();
#endif
}
#endif

static void check_handle(void)
{
    check_open();
    check_calls();
    m_close(handle);
}
