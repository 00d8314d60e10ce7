/* vocab_block_test.c: tests UTF-8, vocabularies as blocks, hostile blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/core.h"
#include "tokenizer/block.h"

typedef struct {
    const char *text;
    int64_t n;
} Piece;
#define PIECE(s) { s, (int64_t)sizeof s - 1 }

/* Ids 0 .. 6; <unk> is 3. */
static const Piece tokens[] = {
    PIECE("<pad>"), PIECE("<s>"),      PIECE("</s>"), PIECE("<unk>"),
    PIECE("b"),     PIECE("\xc3\xa9"), PIECE("a"),
};
enum { Tokens = sizeof tokens / sizeof *tokens };
static char *block_make(int32_t split, int64_t *bytes)
{
    Token token[Tokens] = { { 0 } };
    Tokenizer t = { .path = "t",
                    .special = { .start = 1, .end = 2, .pad = 0, .unknown = 3 },
                    .kind = split,
                    .token = token,
                    .tokens = Tokens };
    Fault why;
    for (int32_t i = 0; i < Tokens; i++)
        token[i] = (Token){ .at = tokens[i].text,
                            .n = (size_t)tokens[i].n,
                            .id = i };
    char *block = tokenizer_block(&t, bytes, &why);
    assert_non_null(block);
    return block;
}

static void test_find(void **unused)
{
    (void)unused;
    int64_t bytes, n;
    char *block = block_make(0, &bytes);
    assert_null(attn_vocab_check(block, bytes));
    for (int32_t i = 0; i < Tokens; i++) {
        assert_int_equal(attn_vocab_find(block, tokens[i].text, tokens[i].n),
                         i);
        const char *text = attn_vocab_token(block, i, &n);
        assert_int_equal(n, tokens[i].n);
        assert_memory_equal(text, tokens[i].text, (size_t)n);
    }
    assert_int_equal(attn_vocab_find(block, "<s", 2), -1);
    assert_int_equal(attn_vocab_find(block, "", 0), -1);
    assert_int_equal(attn_vocab_find(block, "zz", 2), -1);
    free(block);
}

static void assert_ids(const void *block, const char *line, const char *ids)
{
    int32_t got[16];
    int64_t bad, n = (int64_t)strlen(ids);
    assert_int_equal(attn_vocab_encode(block, line, (int64_t)strlen(line), 0,
                                       got, 16, NULL, &bad),
                     n);
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(got[i], ids[i] - '0');
}

static int64_t encode(const void *block, const char *line, int64_t bytes,
                      int32_t *ids, int64_t *bad)
{
    return attn_vocab_encode(block, line, bytes, 0, ids, 4, NULL, bad);
}

static void test_encode(void **unused)
{
    (void)unused;
    int64_t bytes, bad;
    int32_t ids[4];
    char *block = block_make(0, &bytes);
    struct attn_vocab_header *h = (struct attn_vocab_header *)block;

    assert_ids(block, "", "");
    assert_ids(block, "ab\xc3\xa9", "645");
    assert_ids(block, "a b", "634"); /* a space is a character */
    h->append_end = 1;
    assert_ids(block, "ab", "642");
    assert_ids(block, "", "2");
    assert_int_equal(encode(block, "abab", 4, ids, &bad), -1);
    assert_int_equal(encode(block, "aba", 3, ids, &bad), 4);
    h->unknown = -1;
    assert_int_equal(encode(block, "a\xc3\xa9z", 4, ids, &bad), -2);
    assert_int_equal(bad, 3);
    assert_int_equal(encode(block, "z\xff", 2, ids, &bad), -3);
    assert_int_equal(bad, 1);
    free(block);

    block = block_make(1, &bytes);
    assert_ids(block, "", "");
    assert_ids(block, "  ", "");
    assert_ids(block, "a b", "64");
    assert_ids(block, "  ab  b </s> ", "342");
    free(block);
}

static void test_decode(void **unused)
{
    (void)unused;
    int64_t bytes;
    const int32_t ids[] = { 6, 5, 4 }, bad[] = { 7 };
    char out[16];
    char *block = block_make(0, &bytes);
    assert_int_equal(attn_vocab_decode(block, ids, 3, out, 16), 4);
    assert_string_equal(out, "a\xc3\xa9"
                             "b");
    assert_int_equal(attn_vocab_decode(block, ids, 3, out, 5), 4);
    assert_int_equal(attn_vocab_decode(block, ids, 3, out, 4), ATTN_ERROR_ROOM);
    assert_int_equal(attn_vocab_decode(block, ids, 0, out, 1), 0);
    assert_int_equal(attn_vocab_decode(block, ids, 0, out, 0), ATTN_ERROR_ROOM);
    assert_int_equal(attn_vocab_decode(block, bad, 1, out, 16), ATTN_ERROR_ID);
    free(block);
    block = block_make(1, &bytes);
    assert_int_equal(attn_vocab_decode(block, ids, 3, out, 16), 6);
    assert_string_equal(out, "a \xc3\xa9 b");
    free(block);
}

static void test_utf8(void **unused)
{
    (void)unused;
    /* clang-format off */
    static const struct { Piece text; int64_t bad; } table[] = {
        { PIECE("\0"), 1 }, { PIECE("\x7f"), 1 }, { PIECE("\x80"), 0 },
        { PIECE("\xbf"), 0 }, { PIECE("\xc0\x80"), 0 },
        { PIECE("\xc1\xbf"), 0 }, { PIECE("\xc2\x80"), 2 },
        { PIECE("\xdf\xbf"), 2 }, { PIECE("\xc2"), 0 },
        { PIECE("\xc2\x7f"), 0 }, { PIECE("\xc2\xc0"), 0 },
        { PIECE("\xe0\x9f\xbf"), 0 }, { PIECE("\xe0\xa0\x80"), 3 },
        { PIECE("\xed\x9f\xbf"), 3 }, { PIECE("\xed\xa0\x80"), 0 },
        { PIECE("\xed\xbf\xbf"), 0 }, { PIECE("\xee\x80\x80"), 3 },
        { PIECE("\xef\xbf\xbf"), 3 }, { PIECE("\xe1\x80"), 0 },
        { PIECE("\xe1\x80\x7f"), 0 }, { PIECE("\xf0\x8f\xbf\xbf"), 0 },
        { PIECE("\xf0\x90\x80\x80"), 4 }, { PIECE("\xf4\x8f\xbf\xbf"), 4 },
        { PIECE("\xf4\x90\x80\x80"), 0 }, { PIECE("\xf5\x80\x80\x80"), 0 },
        { PIECE("\xff"), 0 }, { PIECE("\xf1\x80\x80"), 0 },
        { PIECE("\xf1\x80\x80\xc0"), 0 }, { PIECE("a\xc2\x80\x80"), 3 },
    };
    /* clang-format on */
    int64_t bytes, bad;
    int32_t ids[8];
    char *block = block_make(0, &bytes);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char *line = malloc((size_t)table[i].text.n); /* no byte beyond */
        memcpy(line, table[i].text.text, (size_t)table[i].text.n);
        int64_t n = attn_vocab_encode(block, line, table[i].text.n, 0, ids, 8,
                                      NULL, &bad);
        if (table[i].bad == table[i].text.n) {
            assert_int_equal(n, 1);
        } else {
            assert_int_equal(n, -3);
            assert_int_equal(bad, table[i].bad);
        }
        free(line);
    }
    free(block);
}

/* ---- hostile ---- */

static void use(const char *block)
{
    const struct attn_vocab_header *h = (const void *)block;
    int32_t ids[16];
    char out[64], memory[4096];
    int64_t bad;
    int64_t n = attn_vocab_encode(block, "ab \xc3\xa9z", 6, 0, ids, 16, memory,
                                  &bad);
    if (n > 0)
        attn_vocab_decode(block, ids, n, out, 64);
    for (int32_t i = 0; i < h->size; i++)
        attn_vocab_decode(block, &i, 1, out, 64);
}

/* Tests every value of every byte: rejected, or safe to use. */
static void test_hostile(void **unused)
{
    (void)unused;
    int64_t bytes, refused = 0;
    char *block = block_make(0, &bytes);
    for (int64_t i = 0; i < bytes; i++) {
        char was = block[i];
        for (int x = 0; x < 256; x++) {
            block[i] = (char)x;
            if (attn_vocab_check(block, bytes))
                refused++;
            else
                use(block);
        }
        block[i] = was;
    }
    assert_true(refused > 20000);
    free(block);
}

/* Tests truncated blocks, with the size in the head and with the true one. */
static void test_cut(void **unused)
{
    (void)unused;
    int64_t bytes;
    char *block = block_make(1, &bytes);
    for (int64_t n = 0; n < bytes; n++) {
        char *cut = malloc((size_t)n + (n == 0));
        memcpy(cut, block, (size_t)n);
        assert_non_null(attn_vocab_check(cut, n));
        if (n >= (int64_t)sizeof(struct attn_vocab_header)) {
            ((struct attn_vocab_header *)(void *)cut)->bytes = n;
            assert_non_null(attn_vocab_check(cut, n));
        }
        free(cut);
    }
    free(block);
}

static void assert_refused(char *block, int64_t bytes, const char *word)
{
    const char *wrong = attn_vocab_check(block, bytes);
    assert_non_null(wrong);
    assert_non_null(strstr(wrong, word));
}

static void test_messages(void **unused)
{
    (void)unused;
    int64_t bytes;
    char *block = block_make(0, &bytes);
    struct attn_vocab_header *h = (struct attn_vocab_header *)block;
    struct attn_section *part = &h->section[ATTN_FIND];
    uint32_t *slot = (uint32_t *)(void *)(block + part->at);
    const struct attn_section was = *part;
    const uint32_t first = slot[0];

    slot[0] = Tokens + 1;
    assert_refused(block, bytes, "id out of range");
    slot[0] = first;
    part->bytes = 4;
    slot = (uint32_t *)(void *)(block + part->at);
    while (*slot == 0) {
        slot++;
        part->at += 8;
        slot = (uint32_t *)(void *)(block + part->at);
    }
    assert_refused(block, bytes, "without an end");
    *part = was;
    part->at = bytes - 4;
    assert_refused(block, bytes, "another form");
    part->at = (bytes + 7) / 8 * 8;
    assert_refused(block, bytes, "outside of it");
    *part = was;
    h->end = Tokens;
    assert_refused(block, bytes, "special token");
    h->end = -1;
    assert_null(attn_vocab_check(block, bytes));
    h->append_end = 1;
    assert_refused(block, bytes, "end token");
    h->append_end = 0;
    block[h->section[ATTN_TEXTS].at] = (char)0xff;
    assert_refused(block, bytes, "UTF-8");
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),     cmocka_unit_test(test_encode),
        cmocka_unit_test(test_decode),   cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_hostile),  cmocka_unit_test(test_cut),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
