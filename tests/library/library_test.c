/* library_test.c: attnc as a library (attnc.h): opens models from files, texts
 * and folders, and compares answers with those of attnc run, batches with
 * single calls, threads with one thread. Tests each message and limit. */
#define _GNU_SOURCE /* mkdtemp */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "library/attnc.h"
#include "support/scratch.h"

static const char letters[] = "models/g2p-en/g2p-en.yaml";
/* An encoder of letters. */
static const char encoder[] =
    "attnc: 1\nname: words\nkind: encoder\nd_model: 16\nh: 2\nd_ff: 32\nN: 2\n"
    "max_len: 24\nvocab: {file: models/g2p-en/letters.txt, tokens: {end: 2}, "
    "split: characters, append_end: true}\nhead: {type: pool, pool: mean}\n";

/* ---- messages ---- */
typedef struct {
    int n, severity, line, column;
    char file[80], text[300];
} Heard;

static void hear(void *user, const struct attnc_message *m)
{
    Heard *h = user;
    if (m->severity > ATTNC_SEVERITY_INTERNAL || h->n++ > 0)
        return;
    h->severity = m->severity;
    h->line = m->line;
    h->column = m->column;
    snprintf(h->file, sizeof h->file, "%s", m->file ? m->file : "");
    snprintf(h->text, sizeof h->text, "%s", m->text);
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

static attnc_model *opened(const char *path, const char *text,
                           const char *const *options)
{
    attnc_model *m;
    Heard h = { 0 };
    if (attnc_open(&m, path, text, options, hear, &h) != ATTNC_DONE)
        fail_msg("%s: %s", path, h.text);
    return m;
}

static attnc_handle *handle_of(attnc_model *m, const struct attnc_limits *l)
{
    attnc_handle *h;
    if (attnc_handle_open(&h, m, l) != ATTNC_DONE)
        fail_msg("%s", attnc_error(h));
    return h;
}

static void expect_open(int code, const char *text, const char *const *options,
                        const char *says, int line, int column)
{
    attnc_model *m;
    Heard h = { 0 };
    assert_int_equal(attnc_open(&m, "a.yaml", text, options, hear, &h), code);
    assert_null(m);
    assert_string_equal(h.text, says);
    assert_int_equal(h.line, line);
    assert_int_equal(h.column, column);
    assert_string_equal(h.file, line ? "a.yaml" : "");
}

static void test_messages(void **state)
{
    (void)state;
    expect_open(ATTNC_INPUT,
                "attnc: 1\nname: x\nkind: encoder\nd_model: 08\nh: 1\n"
                "d_ff: 8\nN: 1\nmax_len: 4\nvocab: {size: 9}\n",
                NULL, "d_model must be an integer from 1 to 65536, found '08'",
                4, 10);
    expect_open(ATTNC_IO, NULL, NULL,
                "a.yaml: cannot open: No such file or directory", 0, 0);
    expect_open(ATTNC_USAGE, encoder, WORDS("--bea=4"),
                "unknown option '--bea': did you mean --beam?", 0, 0);
    expect_open(ATTNC_USAGE, encoder, WORDS("--beam=4"),
                "--beam is not an option of attnc_open()", 0, 0);
    expect_open(ATTNC_USAGE, encoder, WORDS("--threads"),
                "--threads takes a value: --threads N", 0, 0);
    expect_open(ATTNC_USAGE, encoder, WORDS("--explain"),
                "--explain is not an option of attnc_open()", 0, 0);
    expect_open(ATTNC_BACKEND, encoder, WORDS("--backend=/no/cc"),
                "there is no C compiler /no/cc; give another by --cc", 0, 0);
}

static void test_nothing_to_tell(void **state)
{
    attnc_model *m;
    Heard h = { 0 };
    (void)state;
    assert_int_equal(attnc_open(&m, "none.yaml", NULL, NULL, NULL, NULL),
                     ATTNC_IO);
    assert_null(m);
    assert_int_equal(attnc_open(&m, NULL, encoder, NULL, hear, &h),
                     ATTNC_USAGE);
    assert_string_equal(h.text, "the path is NULL: a text too has a path, its "
                                "name in messages");
    attnc_handle_close(NULL);
    attnc_free(NULL);
    assert_string_equal(attnc_error(NULL), "out of memory");
    assert_string_equal(attnc_version(), "0.1.0");
}

/* ---- answers ---- */
typedef struct {
    char text[200];
    int calls, most;
} Answer;

static int take(void *user, const char *text, int64_t bytes)
{
    Answer *a = user;
    strncat(a->text, text, (size_t)bytes);
    return ++a->calls == a->most;
}

static int take_id(void *user, int32_t id)
{
    Answer *a = user;
    snprintf(a->text + strlen(a->text), 20, "%d ", (int)id);
    return ++a->calls == a->most;
}

static void expect_answer(attnc_handle *h, const char *const *options,
                          const char *expected)
{
    Answer a = { .text = "" };
    const int64_t n = attnc_generate(h, "hello", -1, options, take, &a);
    assert_string_equal(attnc_error(h), "");
    assert_true(n > 0);
    assert_string_equal(a.text, expected);
}

static void expect_refused(attnc_handle *h, const char *const *options,
                           int64_t error, const char *says)
{
    Answer a = { .text = "" };
    assert_int_equal(attnc_generate(h, "hello", -1, options, take, &a), error);
    assert_string_equal(attnc_error(h), says);
    assert_string_equal(a.text, "");
}

/* A model that guesses is opened with the other one, and changes no answer. */
static void test_drafter(void **state)
{
    (void)state;
    static const char draft[] = "--draft=models/g2p-en/g2p-en.yaml";
    attnc_model *m = opened(letters, NULL, WORDS(draft));
    attnc_handle *h = handle_of(m, NULL);
    expect_answer(h, WORDS("--beam=1"), "HH EH L OW");
    expect_answer(h, WORDS("--beam=1", "--draft=ngram"), "HH EH L OW");
    expect_answer(h, NULL, "HH EH L OW"); /* a beam: the draft is not used */
    attnc_handle_close(h);
    attnc_close(m);
    Heard heard = { 0 };
    assert_int_equal(attnc_open(&m, letters, NULL, WORDS("--draft=none.yaml"),
                                hear, &heard),
                     ATTNC_IO);
    assert_string_equal(heard.text, "none.yaml: cannot open: No such file or "
                                    "directory");
}

static void test_generate(void **state)
{
    attnc_model *m = opened(letters, NULL, NULL);
    attnc_handle *h = handle_of(m, NULL);
    Answer a = { .most = 1 };

    (void)state;
    assert_true(attnc_facts(m)->generates && attnc_facts(m)->reads_text);
    expect_answer(h, NULL, "HH EH L OW");
    expect_answer(h, WORDS("--beam=1", "-n", "2"), "HH EH");
    expect_answer(h, WORDS("--beam=1", "--prefix=W ER"), "W ER L OW");
    expect_answer(h, WORDS("--suppress=HH EH"), "HH UW L OW");
    expect_answer(h, WORDS("--beam=1", "--draft=ngram"), "HH EH L OW");
    expect_refused(h, WORDS("--beam=2", "--draft=ngram"), ATTNC_ERROR_OPTION,
                   "--draft is for a beam of 1: add --beam=1");
    expect_refused(h, WORDS("--draft=best"), ATTNC_ERROR_OPTION,
                   "--draft=best is given when the model is opened");
    expect_refused(h, WORDS("--beam=0"), ATTNC_ERROR_OPTION,
                   "--beam 0 is out of range: 1 to 1024");
    expect_refused(h, WORDS("--beam=2", "--temperature=1"), ATTNC_ERROR_OPTION,
                   "tokens that are drawn make one answer: leave out --beam "
                   "and --nbest, or --temperature and --top-k, --top-p, "
                   "--min-p");
    expect_refused(h, WORDS("--prefix=W QQ"), ATTNC_ERROR_OPTION,
                   "--prefix: byte 3: a character or word that the "
                   "vocabulary does not have");
    expect_refused(h, WORDS("--threads=2"), ATTNC_ERROR_OPTION,
                   "--threads is not an option of attnc_generate()");
    expect_refused(h, WORDS("--end-token=999"), ATTNC_ERROR_OPTION,
                   "--end-token 999: the target has 42 tokens");
    assert_int_equal(attnc_generate(h, "hello", -1, WORDS("--beam=1"), take,
                                    &a),
                     1);
    assert_string_equal(a.text, "HH");
    attnc_handle_close(h);
    attnc_close(m);
}

static void test_ids(void **state)
{
    attnc_model *m = opened(letters, NULL, NULL);
    attnc_handle *h = handle_of(m, NULL);
    Answer a = { .text = "" };
    double p = 1.0, of_ids = 1.0;
    int32_t source[9], target[9];

    (void)state;
    const int64_t n = attnc_tokens(h, 0, "hello", -1, source, 9);
    const int64_t target_n = attnc_tokens(h, 1, "HH EH L OW", -1, target, 9);
    assert_int_equal(n, 6); /* with the end token */
    assert_int_equal(target_n, 4);
    char text[8];
    assert_int_equal(attnc_text(h, target, 4, text, sizeof text), 10);
    assert_string_equal(text, "HH EH L");
    assert_int_equal(attnc_score(h, "hello", -1, "HH EH L OW", 10, &p), 0);
    assert_int_equal(attnc_score_ids(h, source, n, target, 4, &of_ids), 0);
    assert_true(p < 0.0 && p > -1.0);
    assert_memory_equal(&p, &of_ids, sizeof p);
    assert_int_equal(attnc_generate_ids(h, source, n, NULL, take_id, &a), 4);
    char expected[40] = "";
    for (int i = 0; i < 4; i++)
        snprintf(expected + strlen(expected), 20, "%d ", (int)target[i]);
    assert_string_equal(a.text, expected);
    assert_int_equal(attnc_embed(h, NULL, NULL, 0, NULL, 0, NULL),
                     ATTNC_ERROR_KIND);
    attnc_handle_close(h);
    attnc_close(m);
}

/* ---- rows ---- */
enum { Words = 100, Columns = 16 };

static const char *word(char to[24], int i)
{
    const int n = 1 + i * 7 % 20;
    for (int k = 0; k < n; k++)
        to[k] = (char)('a' + (i * 5 + k * 3) % 26);
    to[n] = '\0';
    return to;
}

/* Encodes all words, `at_once` a call. */
static void encode_words(attnc_handle *h, int at_once,
                         float out[Words * Columns])
{
    char text[Words][24];
    const char *words[Words];
    for (int i = 0; i < Words; i++)
        words[i] = word(text[i], i);
    for (int i = 0; i < Words; i += at_once) {
        const int n = i + at_once < Words ? at_once : Words - i;
        if (attnc_embed(h, words + i, NULL, n, out + i * Columns, n * Columns,
                        NULL)
            != n)
            fail_msg("%s", attnc_error(h));
    }
}

static void test_batches(void **state)
{
    attnc_model *one = opened("w.yaml", encoder, WORDS("--seed=3"));
    attnc_model *two = opened("w.yaml", encoder,
                              WORDS("--seed=3", "--threads=2"));
    static float alone[Words * Columns], some[Words * Columns];
    static const int at_once[] = { 3, 32, 33, Words };
    attnc_handle *h = handle_of(one, NULL);

    (void)state;
    assert_int_equal(attnc_facts(two)->threads, 2);
    encode_words(h, 1, alone);
    for (int i = 0; i < 8; i++) {
        attnc_handle *other = handle_of(i < 4 ? one : two, NULL);
        encode_words(other, at_once[i % 4], some);
        assert_memory_equal(some, alone, sizeof alone);
        attnc_handle_close(other);
    }
    attnc_handle_close(h);
    attnc_close(one);
    attnc_close(two);
}

static void test_rows(void **state)
{
    attnc_model *m = opened("w.yaml", encoder,
                            WORDS("--set=head={type: rows}", "--seed=1"));
    attnc_handle *h = handle_of(m, NULL);
    const char *const two[] = { "abc", "defgh" };
    const int32_t ids[] = { 3, 4, 5, 2, 6, 7, 8, 9, 10, 2 };
    const int64_t start[] = { 0, 4, 10 };
    float of_text[10 * Columns], of_ids[10 * Columns];
    int64_t rows[2];

    (void)state;
    assert_int_equal(attnc_embed(h, two, NULL, 2, NULL, 0, rows), 10);
    assert_int_equal(rows[0], 4);
    assert_int_equal(rows[1], 6);
    assert_int_equal(attnc_embed(h, two, NULL, 2, of_text, 10 * Columns, rows),
                     10);
    assert_int_equal(attnc_encode(h, ids, NULL, start, 2, of_ids, 10 * Columns,
                                  NULL),
                     10);
    assert_memory_equal(of_text, of_ids, sizeof of_ids);
    assert_int_equal(attnc_embed(h, two, NULL, 2, of_text, 9 * Columns, NULL),
                     ATTNC_ERROR_ROOM);
    assert_string_equal(attnc_error(h), "sequence 1: the results need more "
                                        "than 144 floats");
    attnc_handle_close(h);
    attnc_close(m);
}

/* A text that is cut keeps the end token, which the template adds. */
static void test_cut(void **state)
{
    const struct attnc_limits cut = { .max_input = 5, .cut = 1 };
    const struct attnc_limits no_cut = { .max_input = 5 };
    attnc_model *m = opened("w.yaml", encoder, WORDS("--seed=1"));
    attnc_handle *h = handle_of(m, &cut), *whole = handle_of(m, &no_cut);
    const char *const text[] = { "abcdefgh" };
    const int32_t ids[] = { 3, 4, 5, 6, 2 };
    const int64_t start[] = { 0, 5 };
    float of_text[Columns], of_ids[Columns];

    (void)state;
    assert_int_equal(attnc_embed(h, text, NULL, 1, of_text, Columns, NULL), 1);
    assert_int_equal(attnc_encode(h, ids, NULL, start, 1, of_ids, Columns,
                                  NULL),
                     1);
    assert_memory_equal(of_text, of_ids, sizeof of_ids);
    assert_int_equal(attnc_embed(whole, text, NULL, 1, of_text, Columns, NULL),
                     ATTNC_ERROR_LENGTH);
    assert_string_equal(attnc_error(whole),
                        "sequence 0: 9 rows, at most 5 are taken");
    attnc_handle_close(h);
    attnc_handle_close(whole);
    attnc_close(m);
}

static void test_bad_rows(void **state)
{
    attnc_model *m = opened("w.yaml", encoder, WORDS("--seed=1"));
    attnc_handle *h = handle_of(m, NULL);
    const char *const texts[] = { "abc", "a b", NULL };
    const char *const pair[] = { "abc" };
    const int32_t ids[] = { 3, 99 };
    const int64_t start[] = { 0, 1, 2 }, none[] = { 0, 0 };
    const int64_t below[] = { -1 };
    const int64_t back[] = { 1, 0 };
    float out[3 * Columns];
    Answer a = { .text = "" };

    (void)state;
#define REFUSED(call, error, says) \
    assert_int_equal(call, error); \
    assert_string_equal(attnc_error(h), says)
    REFUSED(attnc_embed(h, texts, NULL, 3, out, 3 * Columns, NULL),
            ATTNC_ERROR_UNKNOWN,
            "text 1: byte 2: a character or word that the vocabulary does "
            "not have");
    REFUSED(attnc_embed(h, texts + 2, NULL, 1, out, Columns, NULL),
            ATTNC_ERROR_NULL, "text 0 is NULL");
    REFUSED(attnc_embed(h, texts, below, 1, out, Columns, NULL),
            ATTNC_ERROR_COUNT, "text 0: a size is below 0");
    REFUSED(attnc_embed(h, texts, NULL, -1, out, Columns, NULL),
            ATTNC_ERROR_NULL, "a pointer is NULL, or a count below 0");
    REFUSED(attnc_embed_pairs(h, pair, NULL, pair, NULL, 1, out, Columns, NULL),
            ATTNC_ERROR_PAIR,
            "text 0: the vocabulary has no template for pairs of texts");
    REFUSED(attnc_encode(h, ids, NULL, none, 1, out, Columns, NULL),
            ATTNC_ERROR_LENGTH, "sequence 0: it is empty");
    REFUSED(attnc_encode(h, ids, NULL, start, 2, out, 2 * Columns, NULL),
            ATTNC_ERROR_ID,
            "sequences 0 to 1: an id or a type that the model does not have");
    REFUSED(attnc_encode_rows(h, out, start, 1, out, Columns, NULL),
            ATTNC_ERROR_KIND, "words: this kind of model does not do that");
    REFUSED(attnc_attend(h, out, 1, out, out, 1, out, Columns),
            ATTNC_ERROR_KIND, "words: this kind of model does not do that");
    REFUSED(attnc_generate(h, "abc", -1, NULL, take, &a), ATTNC_ERROR_KIND,
            "words: this kind of model does not do that");
    REFUSED(attnc_encode(h, ids, NULL, back, 1, out, Columns, NULL),
            ATTNC_ERROR_TABLE, "sequence 0: it ends before it starts");
    attnc_handle_close(h);
    attnc_close(m);
}

static void expect_limits(attnc_model *m, struct attnc_limits limits,
                          const char *says)
{
    attnc_handle *h;
    assert_int_equal(attnc_handle_open(&h, m, &limits), ATTNC_USAGE);
    assert_string_equal(attnc_error(h), says);
    attnc_handle_close(h);
}

static void test_limits(void **state)
{
    attnc_model *m = opened("w.yaml", encoder, WORDS("--seed=1"));
    attnc_model *g = opened(letters, NULL, NULL);
    attnc_handle *h = handle_of(m, NULL);
    const int32_t ids[] = { 3, 4 };
    char text[8];

    (void)state;
#define LIMITS(...) (struct attnc_limits){ __VA_ARGS__ }
    expect_limits(m, LIMITS(.max_input = -1),
                  "a limit is below 0 or too large");
    expect_limits(m, LIMITS(.max_input = 25), "max_input: 0 to 24 are taken");
    expect_limits(m, LIMITS(.beam = 2),
                  "max_output, max_text, beam: words generates nothing");
    expect_limits(g, LIMITS(.cut = 1),
                  "cut is for models that encode: g2p-en generates");
    expect_limits(g, LIMITS(.max_input = 999), "max_input: 0 to 64 are taken");
    assert_int_equal(attnc_text(h, ids, 2, text, sizeof text), 2);
    assert_string_equal(text, "ab");
    attnc_handle_close(h);
    attnc_close(m);
    attnc_close(g);
}

/* More models than files that the command may map. */
static void test_many(void **state)
{
    attnc_model *m[70];
    (void)state;
    for (int i = 0; i < 70; i++)
        m[i] = opened(letters, NULL, WORDS("--threads=1"));
    for (int i = 0; i < 70; i++)
        attnc_close(m[i]);
}

static void test_attention(void **state)
{
    attnc_model *m = opened("models/attention.yaml", NULL, WORDS("--seed=1"));
    attnc_handle *h = handle_of(m, NULL);
    const int64_t d = attnc_facts(m)->d_model;
    float *x = calloc((size_t)d * 4, sizeof *x);

    (void)state;
    for (int64_t i = 0; i < 3 * d; i++)
        x[i] = (float)(i % 7) - 3.0f;
    assert_int_equal(attnc_attend(h, x, 1, x + d, x + d, 2, x + 3 * d, d), 1);
    assert_true(x[3 * d] < 0.0f || x[3 * d] > 0.0f);
    assert_int_equal(attnc_attend(h, x, 1, x, x, 2, x, d - 1),
                     ATTNC_ERROR_ROOM);
    assert_int_equal(attnc_attend(h, x, 0, x, x, 2, x, d), ATTNC_ERROR_LENGTH);
    assert_int_equal(attnc_hidden(h, "a", -1, NULL, 0, x, d), ATTNC_ERROR_KIND);
    attnc_handle_close(h);
    attnc_close(m);
    free(x);
}

/* A checkpoint's folder, and ids with types. */
static void test_folder(void **state)
{
    attnc_model *m = opened("tests/families/bert", NULL, NULL);
    attnc_handle *h = handle_of(m, NULL);
    const int32_t ids[] = { 1, 2, 3 }, types[] = { 0, 1, 1 };
    const int64_t start[] = { 0, 3 };
    float out[3 * 15], typed[3 * 15];

    (void)state;
    assert_int_equal(attnc_facts(m)->columns, 15);
    assert_int_equal(attnc_encode(h, ids, NULL, start, 1, out, 45, NULL), 3);
    assert_int_equal(attnc_encode(h, ids, types, start, 1, typed, 45, NULL), 3);
    assert_memory_not_equal(out, typed, sizeof out);
    assert_int_equal(attnc_tokens(h, 0, "abc", -1, NULL, 0), ATTNC_ERROR_OPEN);
    assert_string_equal(attnc_error(h),
                        "the model has no vocabulary: give token ids");
    attnc_handle_close(h);
    attnc_close(m);
}

/* ---- text ---- */
static void test_compile(void **state)
{
    char c[200];
    Heard h = { 0 };

    (void)state;
    snprintf(c, sizeof c, "%s/w.c", scratch);
    assert_int_equal(attnc_compile("w.yaml", encoder,
                                   WORDS("-o", c, "--seed=1", "--embed"), hear,
                                   &h),
                     ATTNC_DONE);
    assert_int_equal(access(c, R_OK), 0);
    assert_int_equal(attnc_compile("w.yaml", encoder, WORDS("-o", "-"), hear,
                                   &h),
                     ATTNC_USAGE);
    assert_string_equal(h.text, "-o -: name a file");
    h.n = 0;
    assert_int_equal(attnc_compile("w.yaml", encoder,
                                   WORDS("-o", c, "--emit=obj", "-###"), hear,
                                   &h),
                     ATTNC_USAGE);
    assert_string_equal(h.text, "-### is not an option of attnc_compile()");
    assert_int_equal(scratch_empty(), 2);

    const char *spec = scratch_file("w.yaml", encoder, strlen(encoder));
    h.n = 0;
    assert_int_equal(attnc_compile(spec, NULL,
                                   WORDS("-o", spec, "--seed=1",
                                         "--set=vocab={size: 9}"),
                                   hear, &h),
                     ATTNC_USAGE);
    assert_non_null(strstr(h.text, "name another output"));
    assert_int_equal(scratch_empty(), 1);
}

/* ---- threads ---- */
enum { Callers = 8 };

typedef struct {
    attnc_model *shared;
    int number;
    bool good;
} Caller;

static void *call_from_thread(void *with)
{
    float *out = calloc(Words * Columns, sizeof *out);
    float *other = calloc(Words * Columns, sizeof *other);
    Caller *c = with;
    attnc_handle *h;
    attnc_model *own;
    c->good = attnc_handle_open(&h, c->shared, NULL) == ATTNC_DONE;
    encode_words(h, 1 + c->number, out);
    attnc_handle_close(h);
    c->good &= attnc_open(&own, "w.yaml", encoder, WORDS("--seed=3"), NULL,
                          NULL)
            == ATTNC_DONE;
    c->good &= attnc_handle_open(&h, own, NULL) == ATTNC_DONE;
    encode_words(h, Words, other);
    c->good &= memcmp(out, other, sizeof(float) * Words * Columns) == 0;
    attnc_handle_close(h);
    attnc_close(own);
    free(out);
    free(other);
    return NULL;
}

static void test_threads(void **state)
{
    Caller caller[Callers];
    pthread_t thread[Callers];
    attnc_model *m = opened("w.yaml", encoder,
                            WORDS("--seed=3", "--threads=2"));

    (void)state;
    for (int i = 0; i < Callers; i++) {
        caller[i] = (Caller){ m, i, false };
        assert_int_equal(pthread_create(&thread[i], NULL, call_from_thread,
                                        &caller[i]),
                         0);
    }
    for (int i = 0; i < Callers; i++) {
        pthread_join(thread[i], NULL);
        assert_true(caller[i].good);
    }
    attnc_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_nothing_to_tell),
        cmocka_unit_test(test_drafter),  cmocka_unit_test(test_generate),
        cmocka_unit_test(test_ids),      cmocka_unit_test(test_batches),
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_cut),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_bad_rows), cmocka_unit_test(test_attention),
        cmocka_unit_test(test_folder),   cmocka_unit_test(test_compile),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
