/* hostile_calls.c: calls every function of m.h, of a model named m, with valid
 * arguments and then with each argument wrong in turn, and reports errors that
 * are not returned. tests/emit/hostile_test.c compiles it with m.c, under
 * sanitizers; KIND is the model's, TEXT is 1 if it has vocabularies, 2 if it
 * also chats, NUMBERS is 1 if it reads rows of numbers. It prints
 *     NAME calls-with-an-error
 * for each function. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m.h"

static struct {
    const char *name;
    int errors;
} said[64];
static int failed;
static const struct attn_model *model;
static void *bound;

static void count(const char *name, int error)
{
    int i = 0;
    while (said[i].name && strcmp(said[i].name, name))
        i++;
    said[i].name = name;
    said[i].errors += error;
}

static void expect(const char *name, const char *call, int64_t got,
                   int64_t wanted)
{
    count(name, wanted < 0);
    if (got == wanted)
        return;
    failed = 1;
    fprintf(stderr, "m_%s(%s): %lld, not %lld (%s)\n", name, call,
            (long long)got, (long long)wanted, m_error_text(wanted));
}

/* Checks that m_f(...) returns `wanted`. TELL: with a message; TAKE: without.
 */
#define CALL(wanted, f, ...)                                                  \
    expect(#f, #__VA_ARGS__, (int64_t)m_##f(__VA_ARGS__), wanted)
#define TELL(f, ...)                                                          \
    expect(#f, #__VA_ARGS__, m_##f(__VA_ARGS__) ? -1 : 0, -1)
#define TAKE(f, ...)                                                          \
    expect(#f, #__VA_ARGS__, m_##f(__VA_ARGS__) ? -1 : 0, 0)
/* Calls with one change of `x`, a copy of the valid value. */
#define WITH(wanted, change, x, right, f, ...)                                \
    do {                                                                      \
        x = right;                                                            \
        change;                                                               \
        expect(#f, #change, (int64_t)m_##f(__VA_ARGS__), wanted);             \
    } while (0)

/* Returns an array of exactly this size, so that reads beyond it are detected.
 */
static void *array(int64_t bytes)
{
    void *at = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    return memset(at, 0, (size_t)bytes);
}

static int32_t *numbers(int64_t n, ...)
{
    int32_t *at = malloc((size_t)n * sizeof *at);
    __builtin_va_list list;
    __builtin_va_start(list, n);
    for (int64_t i = 0; i < n; i++)
        at[i] = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return at;
}

/* ---- model ---- */

static void open_model(void)
{
    int64_t bytes = 0;
    const void *file = m_embedded(&bytes);
    model = m_model();
    bound = malloc((size_t)model->bound_bytes);
    count("model", 0);
    count("embedded", 0);
    m_embedded(NULL);
#define OPENS(f)                                                              \
    TELL(f, NULL, file, bytes);                                               \
    TELL(f, (char *)bound + 4, file, bytes);                                  \
    TELL(f, bound, NULL, bytes);                                              \
    TELL(f, bound, file, -1);                                                 \
    TELL(f, bound, file, 7);                                                  \
    if (file) {                                                               \
        TELL(f, bound, (const char *)file + 16, bytes - 16);                  \
        TELL(f, bound, file, bytes - 1);                                      \
        TAKE(f, bound, file, bytes);                                          \
    }
    OPENS(bind_lazily);
    OPENS(bind);
    if (file)
        return;
    float *packed = array(model->weights_bytes + 64);
    for (int64_t i = 0; i < model->weights_bytes / 4; i++)
        packed[i] = (float)(i % 7 - 3) * 0.05f;
    model->bind(bound, packed);
}

static void check_texts(void)
{
    for (int e = ATTN_ERROR_ALIGNED; e < 0; e++)
        if (strlen(m_error_text(e)) < 10
            || !strcmp(m_error_text(e), m_error_text(e - 1)))
            failed = 1;
    const int64_t none[] = { 0, 1, -99, INT64_MIN, INT64_MAX };
    for (int i = 0; i < 5; i++)
        if (strcmp(m_error_text(none[i]), "no error"))
            failed = 1;
    count("error_text", 0);
}

/* ---- batches ---- */

static struct attn_batch good, b;
static void *memory;
static int64_t bytes;

static void run(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts), void *arg)
{
    (void)pool;
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

static const struct attn_parallel threads = { .parts = 3, .run = run },
                                  no_run = { .parts = 2 },
                                  minus = { .parts = -1, .run = run },
                                  many = { .parts = (int64_t)1 << 40,
                                           .run = run };

/* Batches of sequences of 2 and 3 rows. */
static void begin_batch(void)
{
    good = (struct attn_batch){ .sequences = 2, .rows = 5 };
    good.start = numbers(3, 0, 2, 5);
    good.parallel = &threads;
    good.prefix = numbers(2, 1, 0);
    good.types = numbers(5, 0, 0, 0, 0, 0);
    good.ids = numbers(5, 1, 2, 3, 4, 0);
    good.input = array(5 * (model->input_width + 1) * 4);
    good.query = good.key = good.value = array(5 * model->d_model * 4);
    good.key_start = numbers(3, 0, 1, 5);
    good.key_rows = model->kind == ATTN_ATTENTION ? 5 : 0;
    good.output = array(5 * model->output_columns * 4);
    for (int c = 0; c < model->caches; c++) { /* one page each, of three */
        good.pool[c] = array(3 * model->cache[c].page_bytes + 4);
        good.pages[c] = numbers(2, 2, 0);
        good.table[c] = 1;
        good.pool_pages[c] = 3;
    }
}

#define BATCH(wanted, f, change)                                              \
    WITH(wanted, change, b, good, f, bound, &b, memory, bytes)
#define ROWS(f)                                                               \
    BATCH(ATTN_ERROR_COUNT, f, b.sequences = -1);                             \
    BATCH(ATTN_ERROR_COUNT, f, b.sequences = 1 << 30);                        \
    BATCH(ATTN_ERROR_COUNT, f, b.rows = -1);                                  \
    BATCH(ATTN_ERROR_COUNT, f, b.rows = INT64_MAX);                           \
    BATCH(ATTN_ERROR_TABLE, f, b.rows = 4);                                   \
    BATCH(ATTN_ERROR_NULL, f, b.start = NULL);                                \
    BATCH(ATTN_ERROR_TABLE, f, b.start = numbers(3, 1, 2, 5));                \
    BATCH(ATTN_ERROR_TABLE, f, b.start = numbers(3, 0, 6, 5));                \
    BATCH(ATTN_ERROR_TABLE, f, b.start = numbers(3, 0, -2, 5));               \
    BATCH(ATTN_ERROR_LENGTH, f, b.start = numbers(3, 0, 1 << 28, 5));         \
    BATCH(ATTN_ERROR_NULL, f, b.parallel = &no_run);                          \
    BATCH(ATTN_ERROR_COUNT, f, b.parallel = &minus);                          \
    BATCH(ATTN_ERROR_COUNT, f, b.parallel = &many);                           \
    BATCH(ATTN_ERROR_LENGTH, f, b.prefix = numbers(2, 0, -1));                \
    CALL(ATTN_ERROR_NULL, f, NULL, &good, memory, bytes);                     \
    CALL(ATTN_ERROR_NULL, f, bound, NULL, memory, bytes);                     \
    CALL(ATTN_ERROR_NULL, f, bound, &good, NULL, bytes);                      \
    CALL(ATTN_ERROR_ROOM, f, bound, &good, memory, bytes - 1);                \
    CALL(ATTN_ERROR_ROOM, f, bound, &good, memory, -1)
#define IDS(f, vocab)                                                         \
    BATCH(ATTN_ERROR_NULL, f, b.ids = NULL);                                  \
    BATCH(ATTN_ERROR_ID, f, b.ids = numbers(5, 0, 0, 0, 0, -1));              \
    BATCH(ATTN_ERROR_ID, f, b.ids = numbers(5, (int)(vocab), 0, 0, 0, 0));    \
    BATCH(ATTN_ERROR_ID, f, b.ids = numbers(5, 0, 1 << 30, 0, 0, 0))
#define PAGES(f, which)                                                       \
    for (int c = 0; c < model->caches; c++) {                                 \
        if (model->cache[c].of == (which)) {                                  \
            PAGES_OF(f);                                                      \
        }                                                                     \
    }
#define PAGES_OF(f)                                                           \
    BATCH(ATTN_ERROR_NULL, f, b.pool[c] = NULL);                              \
    BATCH(ATTN_ERROR_ALIGNED, f, b.pool[c]++);                                \
    BATCH(ATTN_ERROR_NULL, f, b.pages[c] = NULL);                             \
    BATCH(ATTN_ERROR_TABLE, f, b.pages[c] = numbers(2, 0, 3));                \
    BATCH(ATTN_ERROR_TABLE, f, b.pages[c] = numbers(2, -1, 0));               \
    BATCH(ATTN_ERROR_TABLE, f, b.table[c] = 0);                               \
    BATCH(ATTN_ERROR_TABLE, f, b.table[c] = INT64_MAX);                       \
    BATCH(ATTN_ERROR_TABLE, f, b.pool_pages[c] = 2);                          \
    BATCH(ATTN_ERROR_TABLE, f, b.pool_pages[c] = -1)
#define TYPES(f)                                                              \
    if (model->types > 0) {                                                   \
        BATCH(ATTN_ERROR_ID, f, b.types = numbers(5, 0, 0, 0, 0, -1));        \
        BATCH(ATTN_ERROR_ID, f, b.types = numbers(5, 9, 0, 0, 0, 0));         \
        BATCH(0, f, b.types = NULL);                                          \
    }

static void check_batch_bytes(void)
{
    bytes = m_batch_bytes(&good);
    memory = malloc((size_t)bytes);
    CALL(ATTN_ERROR_NULL, batch_bytes, NULL);
    WITH(ATTN_ERROR_COUNT, b.rows = -1, b, good, batch_bytes, &b);
    WITH(ATTN_ERROR_COUNT, b.sequences = INT64_MIN, b, good, batch_bytes, &b);
    WITH(ATTN_ERROR_COUNT, b.parallel = &many, b, good, batch_bytes, &b);
}

#if KIND != 2
static void check_encode(void)
{
    good.source_rows = NULL;
    BATCH(0, encode_batch, (void)0);
    BATCH(0, encode_batch, b.parallel = NULL);
    BATCH(0, encode_batch, b.prefix = NULL);
    BATCH(0, encode_batch,
          (b.rows = b.sequences = 0, b.key_rows = 0,
           b.key_start = b.start = numbers(1, 0)));
    ROWS(encode_batch);
    if (model->kind == ATTN_ATTENTION) {
        BATCH(ATTN_ERROR_NULL, encode_batch, b.query = NULL);
        BATCH(ATTN_ERROR_NULL, encode_batch, b.key = NULL);
        BATCH(ATTN_ERROR_NULL, encode_batch, b.value = NULL);
        BATCH(ATTN_ERROR_NULL, encode_batch, b.key_start = NULL);
        BATCH(ATTN_ERROR_TABLE, encode_batch,
              b.key_start = numbers(3, 0, 9, 5));
        BATCH(ATTN_ERROR_LENGTH, encode_batch,
              b.key_start = numbers(3, 0, 1 << 28, 5));
        BATCH(ATTN_ERROR_TABLE, encode_batch, b.key_rows = 4);
        BATCH(ATTN_ERROR_COUNT, encode_batch, b.key_rows = -1);
        BATCH(ATTN_ERROR_COUNT, encode_batch, b.key_rows = INT64_MAX);
    } else if (model->input_width > 0) {
        BATCH(ATTN_ERROR_NULL, encode_batch, b.input = NULL);
    } else {
        IDS(encode_batch, model->source_vocab);
    }
    TYPES(encode_batch);
    if (model->kind == ATTN_ENCODER_DECODER) {
        PAGES(encode_batch, ATTN_CROSS);
        BATCH(0, encode_batch, b.output = NULL);
    } else {
        BATCH(ATTN_ERROR_NULL, encode_batch, b.output = NULL);
    }
}
#endif

#if KIND == 0 || KIND == 2
#include "hostile_decoder.h"
#endif
#if TEXT
#include "hostile_text.h"
#endif
#include "hostile_handle.h"

int main(void)
{
    open_model();
    check_texts();
    begin_batch();
    check_batch_bytes();
#if KIND != 2
    check_encode();
#endif
#if KIND == 0 || KIND == 2
    check_decode();
    check_generate();
    check_stream();
    check_state();
#endif
#if TEXT
    check_text();
#endif
    check_handle();
    for (int i = 0; said[i].name; i++)
        printf("%s %d\n", said[i].name, said[i].errors);
    return failed;
}
