/* hostile_decoder.h: the part of hostile_calls.c for models that decode: steps,
 * searches, streams, states.                                                */
#ifndef ATTNC_HOSTILE_DECODER_H
#define ATTNC_HOSTILE_DECODER_H

/* ---- decode ---- */

static void check_decode(void)
{
    const int most = (int)model->max_target;
    good.past = numbers(2, 0, 3);
    good.select = numbers(2, 1, 4);
    good.selected = 2;
    good.source = numbers(2, 1, 0);
    good.source_rows = numbers(2, 2, 3);
    good.sources = 2;
    BATCH(0, decode_batch, (void)0);
    BATCH(0, decode_batch, (b.selected = 0, b.select = NULL, b.output = NULL));
    BATCH(0, decode_batch,
          (b.rows = b.sequences = 0, b.start = numbers(1, 0), b.selected = 0));
    ROWS(decode_batch);
    IDS(decode_batch, model->target_vocab);
    TYPES(decode_batch);
    PAGES(decode_batch, ATTN_SELF);
    BATCH(ATTN_ERROR_NULL, decode_batch, b.past = NULL);
    BATCH(ATTN_ERROR_LENGTH, decode_batch, b.past = numbers(2, 0, -1));
    BATCH(ATTN_ERROR_LENGTH, decode_batch, b.past = numbers(2, most - 1, 0));
    BATCH(ATTN_ERROR_LENGTH, decode_batch, b.past = numbers(2, 0, INT32_MAX));
    BATCH(ATTN_ERROR_NULL, decode_batch, b.select = NULL);
    BATCH(ATTN_ERROR_TABLE, decode_batch, b.select = numbers(2, 5, 0));
    BATCH(ATTN_ERROR_TABLE, decode_batch, b.select = numbers(2, 0, -1));
    BATCH(ATTN_ERROR_COUNT, decode_batch, b.selected = 6);
    BATCH(ATTN_ERROR_COUNT, decode_batch, b.selected = -1);
    BATCH(ATTN_ERROR_NULL, decode_batch, b.output = NULL);
    if (model->kind == ATTN_DECODER)
        return;
    PAGES(decode_batch, ATTN_CROSS);
    BATCH(ATTN_ERROR_NULL, decode_batch, b.source = NULL);
    BATCH(ATTN_ERROR_TABLE, decode_batch, b.source = numbers(2, 2, 0));
    BATCH(ATTN_ERROR_TABLE, decode_batch, b.source = numbers(2, 0, -1));
    BATCH(ATTN_ERROR_TABLE, decode_batch, b.sources = 1);
    BATCH(ATTN_ERROR_NULL, decode_batch, b.source_rows = NULL);
    BATCH(ATTN_ERROR_LENGTH, decode_batch, b.source_rows = numbers(2, 1, -1));
    BATCH(ATTN_ERROR_LENGTH, decode_batch,
          b.source_rows = numbers(2, (int)model->max_source + 1, 1));
}

/* ---- search ---- */

static struct attn_search_options plain, o;
static const int32_t ids[] = { 3, 4, 5, 3, 4 }, start[] = { 0, 2, 5 };

#define OPTION(wanted, f, change, ...)                                        \
    WITH(wanted, change, o, plain, f, __VA_ARGS__)
/* Calls with invalid options for choosing tokens. */
#define CHOICE(f, ...)                                                        \
    OPTION(ATTN_ERROR_ID, f, o.start = (int32_t)model->target_vocab,          \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_ID, f, o.start = -2, __VA_ARGS__);                      \
    OPTION(ATTN_ERROR_ID, f, o.end = 1 << 30, __VA_ARGS__);                   \
    OPTION(ATTN_ERROR_ID, f, o.end = -2, __VA_ARGS__);                        \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.temperature = NAN, __VA_ARGS__);  \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.temperature = -1, __VA_ARGS__);   \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.temperature = INFINITY,           \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.top_p = 1.5f, __VA_ARGS__);       \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.min_p = NAN, __VA_ARGS__);        \
    OPTION(ATTN_ERROR_OPTION, f, o.sampling.top_k = -1, __VA_ARGS__);         \
    OPTION(ATTN_ERROR_OPTION, f, o.draft = -1, __VA_ARGS__);                  \
    OPTION(ATTN_ERROR_OPTION, f, o.draft = 3, __VA_ARGS__);                   \
    OPTION(ATTN_ERROR_OPTION, f, o.process.min_length = -1, __VA_ARGS__);     \
    OPTION(ATTN_ERROR_OPTION, f, o.process.min_total = -1, __VA_ARGS__);      \
    OPTION(ATTN_ERROR_OPTION, f, o.process.no_repeat_ngram = -1,              \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_OPTION, f, o.process.repetition_penalty = NAN,          \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_OPTION, f, o.process.repetition_penalty = -1,           \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_COUNT, f, o.process.suppress_size = -1, __VA_ARGS__);   \
    OPTION(ATTN_ERROR_NULL, f, o.process.suppress_size = 2, __VA_ARGS__);     \
    OPTION(ATTN_ERROR_TABLE, f, SUPPRESS(2, 2, 1), __VA_ARGS__);              \
    OPTION(ATTN_ERROR_TABLE, f, SUPPRESS(2, 1 << 30, 1), __VA_ARGS__);        \
    OPTION(ATTN_ERROR_TABLE, f, SUPPRESS(2, -1, 1), __VA_ARGS__);             \
    OPTION(ATTN_ERROR_ID, f, SUPPRESS(2, 1, 1 << 30), __VA_ARGS__);           \
    OPTION(ATTN_ERROR_NULL, f, (o.process.forbid = NULL,                      \
           o.process.forbid_count = 1), __VA_ARGS__);                         \
    OPTION(ATTN_ERROR_COUNT, f, o.process.forbid_count = -1, __VA_ARGS__);    \
    OPTION(ATTN_ERROR_COUNT, f, o.process.suppress_first_count = -1,          \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_NULL, f, (o.process.suppress_first = NULL,              \
           o.process.suppress_first_count = 1), __VA_ARGS__);                 \
    OPTION(ATTN_ERROR_ID, f, (o.process.suppress_first = numbers(1, -1),      \
           o.process.suppress_first_count = 1), __VA_ARGS__);                 \
    OPTION(ATTN_ERROR_COUNT, f, o.ends_count = -1, __VA_ARGS__);              \
    OPTION(ATTN_ERROR_NULL, f, (o.ends = NULL, o.ends_count = 1),             \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_ID, f, (o.ends = numbers(1, 1 << 30),                   \
           o.ends_count = 1), __VA_ARGS__);                                   \
    OPTION(ATTN_ERROR_COUNT, f, o.prefix_n = -1, __VA_ARGS__);                \
    OPTION(ATTN_ERROR_NULL, f, (o.prefix = NULL, o.prefix_n = 1),             \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_ID, f, (o.prefix = numbers(1, -1), o.prefix_n = 1),     \
           __VA_ARGS__);                                                      \
    OPTION(ATTN_ERROR_ID, f, (o.process.forbid = numbers(1, -1),              \
           o.process.forbid_count = 1), __VA_ARGS__);                         \
    OPTION(ATTN_ERROR_NULL, f, o.parallel = &no_run, __VA_ARGS__);            \
    OPTION(ATTN_ERROR_COUNT, f, o.parallel = &many, __VA_ARGS__)
#define SUPPRESS(n, ...)                                                      \
    (o.process.suppress = numbers(n, __VA_ARGS__), o.process.suppress_size = n)
#define SEARCH(wanted, change)                                                \
    OPTION(wanted, search_bytes, change, &o, 2, 5, 3)

static void check_generate_bytes(void)
{
    m_options(NULL);
    m_options(&plain);
    count("options", 0);
    bytes = m_search_bytes(&plain, 2, 5, 3);
    CHOICE(search_bytes, &o, 2, 5, 3);
    SEARCH(ATTN_ERROR_OPTION, o.beam = 0);
    SEARCH(ATTN_ERROR_OPTION, o.beam = 1000000000);
    SEARCH(ATTN_ERROR_OPTION, o.results = 0);
    SEARCH(ATTN_ERROR_OPTION, o.results = INT64_MAX);
    SEARCH(ATTN_ERROR_OPTION, o.rule = 2);
    SEARCH(ATTN_ERROR_OPTION, o.penalty = 9);
    SEARCH(ATTN_ERROR_OPTION, o.penalty = -1);
    SEARCH(ATTN_ERROR_OPTION, o.alpha = NAN);
    SEARCH(ATTN_ERROR_OPTION, o.patience = NAN);
    SEARCH(ATTN_ERROR_OPTION, o.patience = 1e30f);
    SEARCH(ATTN_ERROR_OPTION, o.max_output = -1);
    SEARCH(ATTN_ERROR_OPTION, o.max_input = -1);
    SEARCH(ATTN_ERROR_OPTION, (o.beam = 2, o.sampling.temperature = 1));
    o = plain; /* as many as possible */
    o.max_output = 0;
    const int64_t most = m_search_bytes(&o, 2, 5, 3);
    SEARCH(most, o.max_output = INT64_MAX);
    CALL(ATTN_ERROR_NULL, search_bytes, NULL, 2, 5, 3);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, -1, 5, 3);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, INT64_MAX, 5, 3);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, 2, -1, 3);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, 2, INT64_MAX, 3);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, 2, 5, -1);
    CALL(ATTN_ERROR_COUNT, search_bytes, &plain, 2, 5, INT64_MAX);
}

#define GENERATE(wanted, bound, o, n, ids, start, memory, bytes, out, found)  \
    CALL(wanted, search, bound, o, n, ids, start, memory, bytes, out, found)

static void check_generate(void)
{
    struct attn_hypothesis out[2], again[2];
    int64_t n[2], most = model->max_target + model->max_source + 1;
    check_generate_bytes();
    memory = malloc((size_t)bytes);
    GENERATE(0, bound, &plain, 2, ids, start, memory, bytes, out, n);
    CHOICE(search, bound, &o, 2, ids, start, memory, bytes, out, n);
    GENERATE(ATTN_ERROR_NULL, NULL, &plain, 2, ids, start, memory, bytes, out,
             n);
    GENERATE(ATTN_ERROR_NULL, bound, NULL, 2, ids, start, memory, bytes, out,
             n);
    GENERATE(ATTN_ERROR_COUNT, bound, &plain, -1, ids, start, memory, bytes,
             out, n);
    GENERATE(ATTN_ERROR_COUNT, bound, &plain, INT64_MAX, ids, start, memory,
             bytes, out, n);
    GENERATE(ATTN_ERROR_NULL, bound, &plain, 2, NULL, start, memory, bytes, out,
             n);
    GENERATE(ATTN_ERROR_ID, bound, &plain, 2, numbers(5, 1, 1, 1, 1, -1), start,
             memory, bytes, out, n);
    GENERATE(ATTN_ERROR_ID, bound, &plain, 2, numbers(5, 1 << 30, 1, 1, 1, 1),
             start, memory, bytes, out, n);
    GENERATE(ATTN_ERROR_NULL, bound, &plain, 2, ids, NULL, memory, bytes, out,
             n);
    GENERATE(ATTN_ERROR_TABLE, bound, &plain, 2, ids, numbers(3, 2, 3, 5),
             memory, bytes, out, n);
    GENERATE(ATTN_ERROR_TABLE, bound, &plain, 2, ids, numbers(3, 0, 6, 5),
             memory, bytes, out, n);
    GENERATE(ATTN_ERROR_NULL, bound, &plain, 2, ids, start, NULL, bytes, out,
             n);
    GENERATE(ATTN_ERROR_ROOM, bound, &plain, 2, ids, start, memory, bytes - 1,
             out, n);
    GENERATE(ATTN_ERROR_ROOM, bound, &plain, 2, ids, start, memory, -1, out, n);
    GENERATE(ATTN_ERROR_NULL, bound, &plain, 2, ids, start, memory, bytes, NULL,
             n);
    GENERATE(ATTN_ERROR_NULL, bound, &plain, 2, ids, start, memory, bytes, out,
             NULL);
    int32_t *first = malloc(400), answer = (int32_t)out[0].n;
    memcpy(first, out[0].tokens, (size_t)(answer < 100 ? answer : 100) * 4);
    GENERATE(0, bound, &plain, 2, ids, start, memory, bytes, again, n);
    failed |= again[0].n != answer
           || memcmp(first, again[0].tokens, (size_t)answer * 4) != 0;
    int64_t size = m_search_bytes(&plain, 1, most, most);
    int32_t *long_ids = array(most * 4);
    if (size > 0)
        GENERATE(ATTN_ERROR_LENGTH, bound, &plain, 1, long_ids,
                 numbers(2, 0, (int)most), malloc((size_t)size), size, out, n);
    free(first);
}

/* ---- streams ---- */

static struct attn_stream opened, s;
static int64_t source_rows;

static void check_stream_open(void)
{
    source_rows = model->kind == ATTN_DECODER ? 0 : 5;
    bytes = m_stream_bytes(&plain, source_rows, 9, 2);
    memory = malloc((size_t)bytes);
    CHOICE(stream_bytes, &o, source_rows, 9, 2);
    CALL(ATTN_ERROR_NULL, stream_bytes, NULL, source_rows, 9, 2);
    CALL(ATTN_ERROR_LENGTH, stream_bytes, &plain, -1, 9, 2);
    CALL(ATTN_ERROR_LENGTH, stream_bytes, &plain, 1 << 30, 9, 2);
    CALL(ATTN_ERROR_LENGTH, stream_bytes, &plain, source_rows, 0, 2);
    CALL(ATTN_ERROR_LENGTH, stream_bytes, &plain, source_rows,
         model->max_target + 2, 2);
    CALL(ATTN_ERROR_COUNT, stream_bytes, &plain, source_rows, 9, 0);
    CALL(ATTN_ERROR_COUNT, stream_bytes, &plain, source_rows, 9, 1 << 20);
    CHOICE(stream_open, &s, bound, &o, ids, 5, 9, 2, memory, bytes);
#define OPEN(wanted, ...) CALL(wanted, stream_open, __VA_ARGS__)
    OPEN(ATTN_ERROR_NULL, NULL, bound, &plain, ids, 5, 9, 2, memory, bytes);
    OPEN(ATTN_ERROR_NULL, &s, NULL, &plain, ids, 5, 9, 2, memory, bytes);
    OPEN(ATTN_ERROR_NULL, &s, bound, NULL, ids, 5, 9, 2, memory, bytes);
    OPEN(ATTN_ERROR_NULL, &s, bound, &plain, NULL, 5, 9, 2, memory, bytes);
    OPEN(ATTN_ERROR_ID, &s, bound, &plain, numbers(5, 0, 0, 0, 0, 1 << 30), 5,
         9, 2, memory, bytes);
    OPEN(ATTN_ERROR_COUNT, &s, bound, &plain, ids, -1, 9, 2, memory, bytes);
    OPEN(ATTN_ERROR_LENGTH, &s, bound, &plain, ids, 5, 0, 2, memory, bytes);
    OPEN(ATTN_ERROR_COUNT, &s, bound, &plain, ids, 5, 9, -1, memory, bytes);
    OPEN(ATTN_ERROR_NULL, &s, bound, &plain, ids, 5, 9, 2, NULL, bytes);
    OPEN(ATTN_ERROR_ROOM, &s, bound, &plain, ids, 5, 9, 2, memory, bytes - 1);
    OPEN(0, &opened, bound, &plain, ids, 5, 9, 2, memory, bytes);
}

/* Calls with an invalid stream. */
#define STREAM(wanted, f, change, ...)                                        \
    WITH(wanted, change, s, opened, f, __VA_ARGS__)
#define STREAMS(f, ...)                                                       \
    STREAM(ATTN_ERROR_OPEN, f, memset(&s, 0, sizeof s), __VA_ARGS__);         \
    STREAM(ATTN_ERROR_OPEN, f, s.room = NULL, __VA_ARGS__);                   \
    STREAM(ATTN_ERROR_OPEN, f, s.slot = 2, __VA_ARGS__);                      \
    STREAM(ATTN_ERROR_OPEN, f, s.slot = 1, __VA_ARGS__);                      \
    STREAM(ATTN_ERROR_OPEN, f, s.slot = -1, __VA_ARGS__);                     \
    STREAM(ATTN_ERROR_OPEN, f, s.n = 10, __VA_ARGS__);                        \
    STREAM(ATTN_ERROR_OPEN, f, s.n = -1, __VA_ARGS__);                        \
    STREAM(ATTN_ERROR_OPEN, f, s.lead = 9, __VA_ARGS__);                      \
    STREAM(ATTN_ERROR_OPEN, f, s.read = 1, __VA_ARGS__);                      \
    STREAM(ATTN_ERROR_OPEN, f, s.tokens = NULL, __VA_ARGS__);                 \
    STREAM(ATTN_ERROR_OPTION, f, s.o.sampling.temperature = NAN, __VA_ARGS__)

static void check_stream(void)
{
    struct attn_stream fork;
    check_stream_open();
    STREAMS(stream_feed, &s, ids, 1);
    CALL(ATTN_ERROR_NULL, stream_feed, NULL, ids, 1);
    CALL(ATTN_ERROR_NULL, stream_feed, &opened, NULL, 1);
    CALL(ATTN_ERROR_COUNT, stream_feed, &opened, ids, -1);
    CALL(ATTN_ERROR_ROOM, stream_feed, &opened, array(400), 100);
    CALL(ATTN_ERROR_ID, stream_feed, &opened, numbers(1, -1), 1);
    CALL(0, stream_feed, &opened, NULL, 0);
    STREAMS(stream_next, &s);
    STREAM(ATTN_ERROR_COUNT, stream_next, s.stops = -1, &s);
    STREAM(ATTN_ERROR_NULL, stream_next, s.stops = 1, &s);
    STREAM(ATTN_ERROR_ID, stream_next,
           (s.stop = numbers(1, 1 << 30), s.stops = 1), &s);
    CALL(ATTN_ERROR_NULL, stream_next, NULL);
    STREAMS(stream_fork, &fork, &s, 1);
    CALL(ATTN_ERROR_NULL, stream_fork, NULL, &opened, 1);
    CALL(ATTN_ERROR_NULL, stream_fork, &fork, NULL, 1);
    CALL(ATTN_ERROR_OPEN, stream_fork, &fork, &opened, 0);
    CALL(ATTN_ERROR_OPEN, stream_fork, &fork, &opened, 2);
    CALL(ATTN_ERROR_OPEN, stream_fork, &fork, &opened, -1);
    CALL(0, stream_fork, &fork, &opened, 1);
    int64_t one = m_stream_next(&opened), two = m_stream_next(&fork);
    if (one != two || one < ATTN_STREAM_FULL)
        failed = 1;
    count("stream_next", 0);
    s = fork; /* into itself: slot 1 */
    CALL(0, stream_fork, &s, &s, 0);
}

/* ---- states ---- */

/* Copies the saved stream to memory of exactly `size` bytes. */
static char *check_save(uint64_t weights, int64_t *bytes_of)
{
    int64_t size;
    const void *file = m_embedded(&size);
    if ((file != NULL) != (weights != 0) || m_state_weights(NULL)
        || m_state_weights(array(4096)) || m_state_weights((char *)&size + 1))
        failed = 1;
    count("state_weights", 1);
    m_stream_open(&opened, bound, &plain, ids, 5, 9, 2, memory, bytes);
    STREAMS(state_bytes, &s);
    CALL(ATTN_ERROR_NULL, state_bytes, NULL);
    size = m_state_bytes(&opened);
    char *state = array(size + 8);
    STREAMS(state_save, &s, weights, state, size);
    CALL(ATTN_ERROR_NULL, state_save, NULL, weights, state, size);
    CALL(ATTN_ERROR_NULL, state_save, &opened, weights, NULL, size);
    CALL(ATTN_ERROR_ROOM, state_save, &opened, weights, state, size - 1);
    CALL(ATTN_ERROR_ROOM, state_save, &opened, weights, state, -1);
    CALL(ATTN_ERROR_ALIGNED, state_save, &opened, weights, state + 4, size);
    CALL(size, state_save, &opened, weights, state, size);
    TELL(state_check, weights, NULL, size);
    TELL(state_check, weights, state, -1);
    TELL(state_check, weights, state, INT64_MAX);
    TELL(state_check, weights + 1, state, size);
    TELL(state_check, weights, memmove(state + 4, state, (size_t)size), size);
    memmove(state, state + 4, (size_t)size);
    TAKE(state_check, weights, state, size);
    *bytes_of = size;
    return state;
}

static void check_state(void)
{
    int64_t size;
    const uint64_t weights = m_state_weights(m_embedded(&size));
    const char *state = check_save(weights, &size);
#define RESTORE(wanted, ...) CALL(wanted, state_restore, __VA_ARGS__)
    RESTORE(ATTN_ERROR_NULL, NULL, bound, &plain, weights, state, size, 9, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_NULL, &s, NULL, &plain, weights, state, size, 9, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_NULL, &s, bound, NULL, weights, state, size, 9, 2,
            memory, bytes);
    CHOICE(state_restore, &s, bound, &o, weights, state, size, 9, 2, memory,
           bytes);
    RESTORE(ATTN_ERROR_STATE, &s, bound, &plain, weights + 1, state, size, 9, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_STATE, &s, bound, &plain, weights, NULL, size, 9, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_STATE, &s, bound, &plain, weights, state, -1, 9, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_LENGTH, &s, bound, &plain, weights, state, size, 0, 2,
            memory, bytes);
    RESTORE(ATTN_ERROR_COUNT, &s, bound, &plain, weights, state, size, 9, 0,
            memory, bytes);
    RESTORE(ATTN_ERROR_NULL, &s, bound, &plain, weights, state, size, 9, 2,
            NULL, bytes);
    RESTORE(ATTN_ERROR_ROOM, &s, bound, &plain, weights, state, size, 9, 2,
            memory, bytes - 1);
    RESTORE(0, &s, bound, &plain, weights, state, size, 9, 2, memory, bytes);
    if (m_stream_next(&s) < ATTN_STREAM_FULL)
        failed = 1;
}

#endif
