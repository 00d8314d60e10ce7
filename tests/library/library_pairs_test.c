/* library_pairs_test.c: probabilities of many pairs (attnc.h): the bits of each
 * are those of a call with that pair alone, which other tests compare with
 * attnc score and PyTorch. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "library/attnc.h"
#include "support/scratch.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define VOCAB                                                                \
    "vocab: {file: models/g2p-en/letters.txt, tokens: {start: 1, end: 2}, " \
    "split: characters}\n"

enum { Pairs = 75, Longest = 300 };

static attnc_handle *opened(attnc_model **m, const char *path, const char *text)
{
    attnc_handle *h;
    assert_int_equal(attnc_open(m, path, text, WORDS("--threads=2", "--seed=5"),
                                NULL, NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_handle_open(&h, *m, NULL), ATTNC_DONE);
    return h;
}

static void closed(attnc_model *m, attnc_handle *h)
{
    attnc_handle_close(h);
    attnc_close(m);
}

static char text_memory[2][Pairs][Longest + 1];
static const char *source[Pairs], *target[Pairs];

/* Sets the texts: of letters, of many lengths. */
static void set_texts(int longest)
{
    for (int i = 0; i < Pairs; i++) {
        for (int side = 0; side < 2; side++) {
            const int n = (i * (side ? 11 : 7)) % longest + 1;
            for (int k = 0; k < n; k++)
                text_memory[side][i][k] = (char)('a' + (i * 5 + k * 3) % 26);
            text_memory[side][i][n] = '\0';
        }
        source[i] = text_memory[0][i];
        target[i] = text_memory[1][i];
    }
}

static void expect_same(attnc_handle *h)
{
    double all[Pairs], one;
    assert_int_equal(attnc_scores(h, source, NULL, target, NULL, Pairs, all),
                     0);
    for (int i = 0; i < Pairs; i++) {
        assert_int_equal(attnc_score(h, source[i], -1, target[i], -1, &one), 0);
        assert_memory_equal(&one, &all[i], sizeof one);
        assert_true(one < 0.0 && isfinite(one));
    }
}

/* Tests pairs of a decoder, some longer than a call of it. */
static void test_decoder(void **state)
{
    (void)state;
    attnc_model *m;
    attnc_handle *h = opened(&m, "d.yaml",
                             "attnc: 1\nname: d\nkind: decoder\nd_model: 16\n"
                             "h: 2\nd_ff: 32\nN: 2\nmax_len: 900\n" VOCAB);
    set_texts(Longest);
    expect_same(h);
    closed(m, h);
}

/* Tests layers with a window, whose caches free pages. */
static void test_window(void **state)
{
    (void)state;
    attnc_model *m;
    attnc_handle *h = opened(&m, "w.yaml",
                             "attnc: 1\nname: w\nkind: decoder\nd_model: 16\n"
                             "h: 2\nd_ff: 32\nN: 2\nmax_len: 900\n"
                             "masking: [causal, {window: 8}]\n" VOCAB);
    set_texts(Longest);
    expect_same(h);
    closed(m, h);
}

static void test_encoder_decoder(void **state)
{
    (void)state;
    attnc_model *m;
    attnc_handle *h = opened(
        &m, "e.yaml",
        "attnc: 1\nname: e\nkind: encoder-decoder\nd_model: 16\nh: 2\nd_ff: 32\n"
        "N: 2\nmax_len: 200\n" VOCAB);
    set_texts(150);
    expect_same(h);
    closed(m, h);
}

/* Tests a prefix, which some targets begin with. */
static void test_prefix(void **state)
{
    (void)state;
    attnc_model *m;
    attnc_handle *h = opened(
        &m, "p.yaml",
        "attnc: 1\nname: p\nkind: encoder-decoder\nd_model: 16\nh: 2\nd_ff: 32\n"
        "N: 2\nmax_len: 40\nsearch: {prefix: [3, 4]}\n" VOCAB);
    double with, without;
    set_texts(20);
    expect_same(h);
    assert_int_equal(attnc_score(h, "hello", -1, "abxy", -1, &with), 0);
    assert_int_equal(attnc_score(h, "hello", -1, "xy", -1, &without), 0);
    assert_memory_equal(&with, &without, sizeof with);
    closed(m, h);
}

#define REFUSED(call, error, says) \
    assert_int_equal(call, error); \
    assert_string_equal(attnc_error(h), says)

static void test_refused(void **state)
{
    (void)state;
    attnc_model *m;
    attnc_handle *h = opened(&m, "models/g2p-en/g2p-en.yaml", NULL);
    const char *const from[] = { "abc", "a-b", NULL };
    const char *const to[] = { "HH", "HH", "HH" };
    const int64_t bytes[] = { 2 };
    double p[3], one;
    REFUSED(attnc_scores(h, from, NULL, to, NULL, 2, p), ATTNC_ERROR_UNKNOWN,
            "pair 1: byte 2: a character or word that the vocabulary does not "
            "have");
    REFUSED(attnc_scores(h, from + 2, NULL, to, NULL, 1, p), ATTNC_ERROR_NULL,
            "pair 0: the text is NULL");
    REFUSED(attnc_scores(h, from, NULL, to, NULL, -1, p), ATTNC_ERROR_NULL,
            "a pointer is NULL");
    REFUSED(attnc_scores(h, from, NULL, to, NULL, 1, NULL), ATTNC_ERROR_NULL,
            "a pointer is NULL");
    assert_int_equal(attnc_scores(h, NULL, NULL, NULL, NULL, 0, NULL), 0);
    assert_int_equal(attnc_scores(h, from, bytes, to, NULL, 1, p), 0);
    assert_int_equal(attnc_score(h, "ab", -1, "HH", -1, &one), 0);
    assert_memory_equal(p, &one, sizeof one);
    closed(m, h);
}

/* Tests logits that are not finite, of a pair in the middle of a batch: the row
 * of the letter q in the embedding is NaN. */
static void test_nan(void **state)
{
    (void)state;
    enum { Bytes = 6 << 20, Row = 3 + 'q' - 'a', Columns = 128 };
    static const char path[] = "models/g2p-en/g2p-en.yaml";
    static const char name[] = "\"source.weight\"";
    attnc_model *m;
    attnc_handle *h;
    uint64_t header;
    long from;
    double p[Pairs];
    char *at = malloc(Bytes);
    FILE *f = fopen("models/g2p-en/g2p-en.safetensors", "rb");
    assert_non_null(f);
    const size_t n = fread(at, 1, Bytes, f);
    fclose(f);
    assert_true(n > sizeof header && n < Bytes);
    memcpy(&header, at, sizeof header);
    const char *tensor = memmem(at + 8, header, name, sizeof name - 1);
    assert_non_null(tensor);
    assert_int_equal(sscanf(strstr(tensor, "offsets"), "offsets\":[%ld", &from),
                     1);
    float *row = (float *)(at + 8 + header + from) + Row * Columns;
    for (int i = 0; i < Columns; i++)
        row[i] = NAN;
    assert_int_equal(attnc_open_weights(&m, path, NULL, at, (int64_t)n,
                                        WORDS("--allow-nan", "--threads=1"),
                                        NULL, NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_handle_open(&h, m, NULL), ATTNC_DONE);
    for (int i = 0; i < Pairs; i++) {
        source[i] = i == 40 ? "aqua" : "abc";
        target[i] = "HH";
    }
    REFUSED(attnc_scores(h, source, NULL, target, NULL, Pairs, p),
            ATTNC_ERROR_FINITE,
            "pair 40: the model's results are not finite: check the weights");
    REFUSED(attnc_score(h, "aqua", -1, "HH", -1, p), ATTNC_ERROR_FINITE,
            "the model's results are not finite: check the weights");
    assert_int_equal(attnc_scores(h, source, NULL, target, NULL, 40, p), 0);
    closed(m, h);
    free(at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoder),         cmocka_unit_test(test_window),
        cmocka_unit_test(test_encoder_decoder), cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
