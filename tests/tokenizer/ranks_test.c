/* ranks_test.c: tests byte pair encoding by rank: the same result as a plain
 * search for the lowest rank, unknown characters, ends of words, added tokens,
 * templates, invalid UTF-8, long words, hostile blocks. The expected results
 * are those of the `tokenizers` package. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tokenizer/block.h"

enum { Most = 4096 };

static uint32_t below(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % n;
}

static void *made(const Tokenizer *t, int64_t *bytes)
{
    Fault why;
    void *block = tokenizer_block(t, bytes, &why);
    if (!block)
        fail_msg("%s", why.text);
    return block;
}

/* Encodes in memory of exactly the announced size, with no more ids than
 * announced. */
static int64_t encode(const void *block, const char *text, int64_t n,
                      int64_t how, int32_t *ids, int32_t *places)
{
    const int64_t need = attn_vocab_encode_bytes(block, n);
    const int64_t most = attn_vocab_most_ids(block, n);
    void *memory = malloc((size_t)need + !need);
    char *exact = malloc((size_t)n + !n);
    int64_t bad;
    assert_true(most <= Most);
    memcpy(exact, text, (size_t)n);
    memset(memory, 0xff, (size_t)need);
    const int64_t got = attn_vocab_encode_offsets(block, exact, n, how, ids,
                                                  places, most, memory, &bad);
    free(memory);
    free(exact);
    return got;
}

/* Compares with ids and their bytes, for example "3 0-2, 1 2-3". */
static void assert_tokens(const void *block, const char *text, int64_t n,
                          int64_t how, const char *want)
{
    int32_t ids[Most], places[2 * Most];
    char got[1024] = "", *at = got;
    const int64_t count = encode(block, text, n, how, ids, places);
    assert_true(count >= 0);
    for (int64_t i = 0; i < count; i++)
        at += sprintf(at, "%s%d %d-%d", i ? ", " : "", ids[i], places[2 * i],
                      places[2 * i + 1]);
    assert_string_equal(got, want);
}
#define TOKENS(block, text, want) \
    assert_tokens(block, text, sizeof(text) - 1, 0, want)

/* ---- the plain search ---- */

enum { Letters = 3, Made = 24, Tokens = Letters + Made };

typedef struct {
    char text[Tokens][64];
    Token token[Tokens];
    Merge merge[Made];
    Tokenizer t;
} Random;

/* Draws letters, and merges of existing tokens; `shuffled`: ranks in any order.
 */
static void draw(Random *r, uint32_t *seed, bool shuffled)
{
    *r = (Random){ 0 };
    r->t = (Tokenizer){ .path = "t",
                        .special = { 0, -1, -1, -1, -1, 0 },
                        .kind = ATTN_RANKS,
                        .flags = ATTN_MODEL_BYTES,
                        .token = r->token,
                        .merge = r->merge };
    int n = Letters;
    for (int i = 0; i < Letters; i++)
        r->text[i][0] = (char)('a' + i);
    for (int tries = 0; tries < 400 && n < Tokens; tries++) {
        const uint32_t a = below(seed, (uint32_t)n),
                       b = below(seed, (uint32_t)n);
        char both[128];
        bool there = false;
        snprintf(both, sizeof both, "%s%s", r->text[a], r->text[b]);
        for (int i = 0; i < n; i++)
            there = there || strcmp(r->text[i], both) == 0;
        if (there || strlen(both) > 40)
            continue;
        strcpy(r->text[n], both);
        r->merge[r->t.merges++] = (Merge){ (int)a, (int)b, n++ };
    }
    for (int64_t i = r->t.merges - 1; shuffled && i > 0; i--) {
        const uint32_t j = below(seed, (uint32_t)i + 1);
        const Merge m = r->merge[i];
        r->merge[i] = r->merge[j];
        r->merge[j] = m;
    }
    r->t.tokens = n;
    for (int i = 0; i < n; i++)
        r->token[i] = (Token){ r->text[i], strlen(r->text[i]), i, 0.0, 0 };
}

static int64_t plain(const Random *r, const char *text, int64_t n, int32_t *id)
{
    for (int64_t i = 0; i < n; i++)
        id[i] = text[i] - 'a';
    for (;;) {
        int64_t at = -1, rank = r->t.merges;
        for (int64_t i = 0; i + 1 < n; i++)
            for (int64_t k = 0; k < rank; k++)
                if (r->merge[k].left == id[i]
                    && r->merge[k].right == id[i + 1]) {
                    rank = k;
                    at = i;
                }
        if (at < 0)
            return n;
        id[at] = r->merge[rank].into;
        memmove(id + at + 1, id + at + 2, (size_t)(n - at - 2) * sizeof *id);
        n--;
    }
}

static void merges_the_lowest_rank(void **state)
{
    static Random r;
    uint32_t seed = 5;
    (void)state;
    for (int i = 0; i < 300; i++) {
        int64_t bytes;
        draw(&r, &seed, i % 2 == 1);
        void *block = made(&r.t, &bytes);
        for (int j = 0; j < 12; j++) {
            char text[400];
            int32_t want[400], got[Most];
            const int64_t n = below(&seed, j % 3 ? 40 : 400);
            const uint32_t letters = 1 + below(&seed, Letters);
            for (int64_t k = 0; k < n; k++)
                text[k] = (char)('a' + below(&seed, letters));
            const int64_t count = plain(&r, text, n, want);
            assert_int_equal(encode(block, text, n, 0, got, NULL), count);
            assert_memory_equal(got, want, (size_t)count * sizeof *want);
        }
        free(block);
    }
}

/* ---- cases ---- */

#define TOKEN(i, s, kind) { s, sizeof(s) - 1, i, 0.0, kind }

static void takes_unknown_characters(void **state)
{
    Token token[] = { TOKEN(0, "?", 0), TOKEN(1, "a", 0),
                      TOKEN(2, "\xc3\xa9", 0), TOKEN(3, "a\xc3\xa9", 0) };
    Merge merge[] = { { 1, 2, 3 } };
    Tokenizer t = { .path = "t",
                    .special = { 0, -1, -1, -1, 0, 0 },
                    .kind = ATTN_RANKS,
                    .flags = ATTN_MODEL_REPLACE,
                    .token = token,
                    .tokens = 4,
                    .merge = merge,
                    .merges = 1 };
    int64_t bytes;
    void *block = made(&t, &bytes);
    (void)state;
    TOKENS(block, "a\xc3\xa9xya", "3 0-3, 0 3-4, 0 4-5, 1 5-6");
    TOKENS(block,
           "\xff"
           "a\xe2\x82",
           "0 0-1, 1 1-2, 0 2-4");
    TOKENS(block, "a\0a", "1 0-1, 0 1-2, 1 2-3");
    free(block);
    t.flags |= ATTN_MODEL_FUSE;
    block = made(&t, &bytes);
    TOKENS(block, "a\xc3\xa9xya", "3 0-3, 0 3-5, 1 5-6");
    free(block);
    t.special.unknown = -1; /* dropped; later ones move up, as there */
    block = made(&t, &bytes);
    TOKENS(block, "axya", "1 0-1, 1 1-2");
    free(block);
}

static void ends_words(void **state)
{
    Token token[] = { TOKEN(0, "a", 0),     TOKEN(1, "b", 0),
                      TOKEN(2, "b</w>", 0), TOKEN(3, "ab</w>", 0),
                      TOKEN(4, "aa", 0),    TOKEN(5, "a</w>", 0) };
    Merge merge[] = { { 0, 2, 3 }, { 0, 0, 4 } };
    Tokenizer t = { .path = "t",
                    .special = { 0, -1, -1, -1, -1, 0 },
                    .kind = ATTN_RANKS,
                    .flags = ATTN_MODEL_BYTES,
                    .suffix = { "</w>", 4 },
                    .token = token,
                    .tokens = 6,
                    .merge = merge,
                    .merges = 2 };
    int64_t bytes;
    void *block = made(&t, &bytes);
    (void)state;
    TOKENS(block, "ab", "3 0-2");
    TOKENS(block, "b", "2 0-1");
    TOKENS(block, "aab", "0 0-1, 3 1-3");
    TOKENS(block, "aaa", "4 0-2, 5 2-3");
    free(block);
}

static void takes_whole_words(void **state)
{
    Token token[] = { TOKEN(0, "a", 0), TOKEN(1, "b", 0), TOKEN(2, "abab", 0),
                      TOKEN(3, "ba", 0) };
    Merge merge[] = { { 1, 0, 3 } };
    Tokenizer t = { .path = "t",
                    .special = { 0, -1, -1, -1, -1, 0 },
                    .kind = ATTN_RANKS,
                    .flags = ATTN_MODEL_BYTES,
                    .token = token,
                    .tokens = 4,
                    .merge = merge,
                    .merges = 1 };
    int64_t bytes;
    void *block = made(&t, &bytes);
    (void)state;
    TOKENS(block, "abab", "0 0-1, 3 1-3, 1 3-4");
    free(block);
    t.flags |= ATTN_MODEL_WHOLE;
    block = made(&t, &bytes);
    TOKENS(block, "abab", "2 0-4");
    TOKENS(block, "ababb", "0 0-1, 3 1-3, 1 3-4, 1 4-5");
    free(block);
}

/* Makes a vocabulary of bytes, followed by added tokens. */
static void *with_added(int64_t *bytes)
{
    static char letters[256];
    static Token token[264];
    static Added added[] = {
        { { "<s>", 3 }, 256, ATTN_ADDED_SPECIAL },
        { { "<m>", 3 }, 257, ATTN_ADDED_LSTRIP },
        { { "<p>", 3 }, 258, ATTN_ADDED_RSTRIP },
        { { "he", 2 }, 259, ATTN_ADDED_WORD },
        { { "<s>x", 4 }, 260, 0 },
        { { "  ", 2 }, 261, ATTN_ADDED_NORMALISED },
        { { "hello", 5 }, 262, ATTN_ADDED_NORMALISED },
        { { "</s>", 4 }, 263, ATTN_ADDED_SPECIAL },
    };
    Tokenizer t = { .path = "t",
                    .special = { 0, 256, 263, -1, -1, 0 },
                    .kind = ATTN_RANKS,
                    .flags = ATTN_MODEL_BYTES | ATTN_MODEL_REPLACE,
                    .token = token,
                    .tokens = 264,
                    .added = added,
                    .addeds = 8,
                    .single = { { 256, 0 }, { -1, 0 }, { 263, 0 } },
                    .singles = 3 };
    for (int i = 0; i < 256; i++) {
        letters[i] = (char)i;
        token[i] = (Token){ &letters[i], 1, i, 0.0, 0 };
    }
    for (int i = 0; i < 8; i++)
        token[256 + i] = (Token){ added[i].text.at, added[i].text.n, 256 + i,
                                  0.0, ATTN_PIECE_ADDED };
    return made(&t, bytes);
}

static void finds_added_tokens(void **state)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "a<s>b", "97 0-1, 256 1-4, 98 4-5" },
        { "<s>x<s", "260 0-4, 60 4-5, 115 5-6" },
        { " \t<m> ", "257 0-5, 32 5-6" },
        { "\xe2\x80\x83<m>", "257 0-6" },
        { "<p> \n.", "258 0-5, 46 5-6" },
        { "he", "259 0-2" },
        { "she he_ he.", "115 0-1, 104 1-2, 101 2-3, 32 3-4, 104 4-5, 101 5-6, "
                         "95 6-7, 32 7-8, 259 8-10, 46 10-11" },
        { "a   b", "97 0-1, 261 1-3, 32 3-4, 98 4-5" },
        { "<p>  <m>", "258 0-5, 257 5-8" },
        { "hello", "262 0-5" },
    };
    int64_t bytes;
    void *block = with_added(&bytes);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_tokens(block, cases[i].text, (int64_t)strlen(cases[i].text),
                      ATTN_PLAIN, cases[i].want);
    free(block);
}

static void puts_its_template(void **state)
{
    int64_t bytes;
    void *block = with_added(&bytes);
    (void)state;
    TOKENS(block, "a", "256 0-0, 97 0-1, 263 0-0");
    TOKENS(block, "", "256 0-0, 263 0-0");
    assert_tokens(block, "a", 1, ATTN_STARTED, "97 0-1, 263 0-0");
    assert_tokens(block, "a", 1, ATTN_PLAIN, "97 0-1");
    assert_tokens(block, "a", 1, ATTN_BEGUN, "97 0-1");
    free(block);
}

static void refuses_what_has_no_room(void **state)
{
    int64_t bytes, bad;
    int32_t ids[4];
    void *block = with_added(&bytes);
    void *memory = malloc((size_t)attn_vocab_encode_bytes(block, 3));
    (void)state;
    for (int64_t cap = 0; cap < 4; cap++)
        assert_int_equal(attn_vocab_encode(block, "ab", 2, 0, ids, cap, memory,
                                           &bad),
                         ATTN_ERROR_ROOM);
    assert_int_equal(attn_vocab_encode(block, "ab", 2, 0, ids, 4, memory, &bad),
                     4);
    assert_int_equal(attn_vocab_most_ids(block, INT64_MAX), ATTN_ERROR_COUNT);
    assert_int_equal(attn_vocab_encode_bytes(block, INT64_MAX),
                     ATTN_ERROR_COUNT);
    assert_int_equal(attn_vocab_most_ids(block, -1), ATTN_ERROR_COUNT);
    free(memory);
    free(block);
}

static void knows_the_alphabet(void **state)
{
    char out[16];
    (void)state;
    assert_int_equal(tokenizer_alphabet("\xc4\xa0"
                                        "a\xc4\x8a\xc2\xa1\xc5\x83",
                                        9, out),
                     5);
    assert_memory_equal(out, " a\n\xa1\xad", 5);
    assert_int_equal(tokenizer_alphabet("a b", 3, out), SIZE_MAX);
    assert_int_equal(tokenizer_alphabet("\xe2\x96\x81", 3, out), SIZE_MAX);
    assert_int_equal(tokenizer_alphabet("\xff", 1, out), SIZE_MAX);
}

/* ---- long, hostile ---- */

/* Tests that a word of 100,000 letters does not take quadratic time. */
static void takes_long_words(void **state)
{
    enum { Long = 100000 };
    static char text[Long];
    static int32_t ids[Long];
    static Random r;
    struct timespec from, to;
    uint32_t seed = 11;
    int64_t bytes, bad;
    (void)state;
    draw(&r, &seed, false);
    void *block = made(&r.t, &bytes);
    void *memory = malloc((size_t)attn_vocab_encode_bytes(block, Long));
    for (int i = 0; i < 3; i++) {
        for (int64_t k = 0; k < Long; k++)
            text[k] = (char)('a'
                             + (i == 0   ? 0
                                : i == 1 ? k % 2
                                         : below(&seed, 3)));
        clock_gettime(CLOCK_MONOTONIC, &from);
        assert_true(
            attn_vocab_encode(block, text, Long, 0, ids, Long, memory, &bad)
            > 0);
        clock_gettime(CLOCK_MONOTONIC, &to);
        const double t = (double)(to.tv_sec - from.tv_sec)
                       + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        printf("100,000 letters: %.1f ms\n", 1e3 * t);
        assert_true(t < 2.0); /* a square: minutes */
    }
    free(memory);
    free(block);
}

static void survives_hostile_blocks(void **state)
{
    static const int values[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
    int64_t bytes, refused = 0;
    char *block = with_added(&bytes);
    (void)state;
    for (int64_t i = 0; i < bytes; i += 1 + (i > 12000)) {
        const char was = block[i];
        for (int x = 0; x < 6; x++) {
            block[i] = (char)values[x];
            if (attn_vocab_check(block, bytes)) {
                refused++;
            } else {
                int32_t ids[Most], places[2 * Most];
                encode(block, "a <s>x<p>  hello\xff he", 21, 0, ids, places);
            }
        }
        block[i] = was;
    }
    assert_true(refused > 5000);
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_the_lowest_rank),
        cmocka_unit_test(takes_unknown_characters),
        cmocka_unit_test(ends_words),
        cmocka_unit_test(takes_whole_words),
        cmocka_unit_test(finds_added_tokens),
        cmocka_unit_test(puts_its_template),
        cmocka_unit_test(refuses_what_has_no_room),
        cmocka_unit_test(knows_the_alphabet),
        cmocka_unit_test(takes_long_words),
        cmocka_unit_test(survives_hostile_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
