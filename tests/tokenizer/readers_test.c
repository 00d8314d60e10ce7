/* readers_test.c: tests that other tools' files become blocks, or are rejected
 * with the position of the error. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "tokenizer/tokenizer.h"

static const VocabTokens none = {
    .start = -1, .end = -1, .pad = -1, .unknown = -1
};

static void *load(const char *name, const void *text, size_t n, Fault *why)
{
    int64_t bytes;
    return vocab_load(scratch_file(name, text, n), -1, &none, &bytes, why);
}

#define BPE(vocab, merges, more)                                               \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {" vocab                      \
    "}, \"merges\": [" merges "]}" more "}"

static void refuses_with_the_place(void **state)
{
    static const char *const cases[][2] = {
        { BPE("\"a\": 0", "\"a b\"", ""),
          "model.merges[0]: the second part, 'b', is no token" },
        { BPE("\"a\": 0, \"b\": 1", "[\"a\", \"b\"]", ""),
          "model.merges[0]: the whole, 'ab', is no token" },
        { BPE("\"a\": 0", "\"ab\"", ""), "is not two tokens with one space" },
        { BPE("", "\"a b\"", ""),
          "model.merges[0]: the first part, 'a', is no token" },
        { BPE("", "", ""), "has no tokens" },
        { "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {}}}",
          "model.unk_token: '[UNK]' is no token" },
        { "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {}}}",
          "model.unk_token: '<unk>' is no token" },
        { "{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}",
          "has no tokens" },
        { BPE("\"a\": 0, \"b\": 0", "", ""), "id 0 is of 'a' and of 'b'" },
        { BPE("\"a\": 0, \"a\": 1", "", ""), "duplicate object key" },
        { BPE("\"a\": 4194304", "", ""), "ids are 0 to 4194303" },
        { BPE("\"a\": -1", "", ""), "ids are 0 to 4194303" },
        { BPE("\"a\": 0", "", ", \"normalizer\": {\"type\": \"Odd\"}"),
          "normalizer: type 'Odd' is not known here" },
        { BPE("\"a\": 0", "",
              ", \"pre_tokenizer\": {\"type\": \"Split\", "
              "\"pattern\": {\"Regex\": \"x+\"}, "
              "\"behavior\": \"Isolated\"}"),
          "pre_tokenizer.pattern: the expression x+ is not known here" },
        { BPE("\"a\": 0", "",
              ", \"pre_tokenizer\": {\"type\": \"Split\", "
              "\"pattern\": {\"String\": \"x\"}}"),
          "pre_tokenizer: behavior '' is not known here" },
        { BPE("\"a\": 0", "", ", \"decoder\": {\"type\": \"CTC\"}"),
          "decoder: type 'CTC' is not known here" },
        { BPE("\"a\": 0", "", ", \"odd\": 1"), "option 'odd' is not known" },
        { BPE("\"a\": 0", "",
              ", \"added_tokens\": [{\"id\": 3, \"content\": "
              "\"a\"}]"),
          "'a' has id 3 here and 0 in the vocabulary" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fault why = { 0 };
        assert_null(load("t.json", cases[i][0], strlen(cases[i][0]), &why));
        if (!strstr(why.text, cases[i][1]))
            fail_msg("'%s' has no '%s'", why.text, cases[i][1]);
        assert_int_equal(why.code, ExitInput);
    }
}

/* Encodes a text with the block, which it frees; returns the number of ids. */
static int64_t encode(void *block, const char *text, int32_t ids[8])
{
    static char memory[1 << 16];
    const int64_t n = (int64_t)strlen(text);
    int64_t bad;
    assert_non_null(block);
    assert_in_range(attn_vocab_encode_bytes(block, n), 0, sizeof memory);
    const int64_t count = attn_vocab_encode(block, text, n, 0, ids, 8, memory,
                                            &bad);
    free(block);
    return count;
}

/* Tests that unused ids are gaps. */
static void takes_gaps(void **state)
{
    static const char text[] = BPE("\"a\": 0, \"b\": 1, \"ab\": 4", "\"a b\"",
                                   "");
    Fault why;
    int32_t ids[8];
    (void)state;
    void *block = load("t.json", text, sizeof text - 1, &why);
    assert_non_null(block);
    assert_int_equal(((struct attn_vocab_header *)block)->size, 5);
    assert_int_equal(encode(block, "aba", ids), 2);
    assert_int_equal(ids[0], 4);
    assert_int_equal(ids[1], 0);
}

static void refuses_what_is_cut(void **state)
{
    static const char text[] = BPE("\"a\": 0, \"b\": 1, \"ab\": 2", "\"a b\"",
                                   "");
    /* pieces <unk>, a; an empty trainer, an empty normaliser */
    static const char model[] = "\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02"
                                "\n\x08\n\x01"
                                "a\x15\0\0\x80\xbf"
                                "\x12\0\x1a\0";
    Fault why;
    (void)state;
    for (size_t n = 0; n < sizeof text - 1; n++)
        assert_null(load("t.json", text, n, &why));
    for (size_t n = 1; n < sizeof model - 1; n++)
        assert_null(load("t", model, n, &why));
    void *block = load("t", model, sizeof model - 1, &why);
    assert_non_null(block);
    free(block);
}

/* Tests that `Digits` makes each digit a piece only if `individual_digits` is
 * set: else a number is one piece. */
static void splits_digits(void **state)
{
#define DIGITS(each)                                                         \
    BPE("\"1\": 0, \"2\": 1, \"12\": 2", "\"1 2\"",                          \
        ", \"pre_tokenizer\": {\"type\": \"Digits\", \"individual_digits\": " \
        each "}")
    static const char each[] = DIGITS("true"), whole[] = DIGITS("false");
    Fault why;
    int32_t ids[8];
    (void)state;
    assert_int_equal(encode(load("t.json", each, sizeof each - 1, &why), "12",
                            ids),
                     2);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
    assert_int_equal(encode(load("t.json", whole, sizeof whole - 1, &why), "12",
                            ids),
                     1);
    assert_int_equal(ids[0], 2);
}

/* Tests that a word of more characters than `max_input_chars_per_word` is
 * unknown; one of as many is not, though a character may have two bytes. */
static void limits_words(void **state)
{
    static const char text[] =
        "{\"model\": {\"type\": \"WordPiece\", \"unk_token\": \"?\", "
        "\"max_input_chars_per_word\": 3, \"vocab\": {\"?\": 0, \"a\": 1, "
        "\"##b\": 2, \"##\xc3\xa4\": 3}}}";
    Fault why;
    int32_t ids[8];
    (void)state;
    assert_int_equal(encode(load("t.json", text, sizeof text - 1, &why),
                            "ab\xc3\xa4", ids),
                     3);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 2);
    assert_int_equal(ids[2], 3);
    assert_int_equal(encode(load("t.json", text, sizeof text - 1, &why), "abbb",
                            ids),
                     1);
    assert_int_equal(ids[0], 0);
}

/* Writes a code point from U+0800 on as UTF-8. */
static char *put_utf8(char *at, uint32_t c)
{
    const int more = c < 0x10000 ? 2 : 3;
    *at++ = (char)((more == 2 ? 0xe0 : 0xf0) | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        *at++ = (char)(0x80 | (c >> 6 * i & 63));
    return at;
}

/* Tests the first and last ideograph of each range of BertNormalizer, which are
 * words of their own, and the code points around it, which are not. */
static void separates_ideographs(void **state)
{
    static const char json[] =
        "{\"normalizer\": {\"type\": \"BertNormalizer\", \"clean_text\": "
        "false, \"handle_chinese_chars\": true, \"strip_accents\": false, "
        "\"lowercase\": false}, \"pre_tokenizer\": {\"type\": "
        "\"WhitespaceSplit\"}, \"model\": {\"type\": \"WordLevel\", "
        "\"unk_token\": \"?\", \"vocab\": {\"?\": 0}}}";
    static const uint32_t ranges[][2] = {
        { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },   { 0xf900, 0xfaff },
        { 0x20000, 0x2a6df }, { 0x2a700, 0x2b81f }, { 0x2b920, 0x2ceaf },
        { 0x2f800, 0x2fa1f },
    };
    Fault why;
    int32_t ids[8];
    (void)state;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int k = 0; k < 4; k++) {
            const uint32_t end = ranges[i][k / 2];
            const bool inside = k == 1 || k == 2;
            char text[8] = "x", *at = text + 1;
            at = put_utf8(at, k == 0 ? end - 1 : k == 3 ? end + 1 : end);
            memcpy(at, "y", 2);
            const int64_t n = encode(load("t.json", json, sizeof json - 1,
                                          &why),
                                     text, ids);
            if (n != (inside ? 3 : 1))
                fail_msg("U+%X, number %d: %d words", end, k, (int)n);
        }
}

#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Tests a piece of 150 bytes in a SentencePiece model: its lengths, 158 and
 * 150, have seven bits in each of two bytes. */
static void reads_long_pieces(void **state)
{
    static const char model[] = "\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02"
                                "\n\x9e\x01\n\x96\x01" X50 X50 X50
                                "\x15\0\0\x80\xbf"
                                "\x12\0\x1a\x04\x18\0\x20\0";
    Fault why;
    int32_t ids[8];
    (void)state;
    assert_int_equal(encode(load("t", model, sizeof model - 1, &why),
                            X50 X50 X50, ids),
                     1);
    assert_int_equal(ids[0], 1);
}

static void refuses(const char *name, const void *text, size_t n,
                    const char *want)
{
    Fault why = { 0 };
    void *block = load(name, text, n, &why);
    if (block)
        fail_msg("%s of %zu bytes is taken", name, n);
    if (!strstr(why.text, name) || !strstr(why.text, want))
        fail_msg("'%s' has no '%s'", why.text, want);
    assert_int_equal(why.code, ExitInput);
}

/* Tests NAME.vocab truncated, of an older version, or with a wrong byte in its
 * header. */
static void refuses_a_damaged_block(void **state)
{
    static const char text[] = BPE("\"a\": 0, \"b\": 1, \"ab\": 2", "\"a b\"",
                                   "");
    static const char again[] = "import the model again";
    Fault why;
    int64_t bytes;
    (void)state;
    char *block = vocab_load(scratch_file("t.json", text, sizeof text - 1), -1,
                             &none, &bytes, &why);
    assert_non_null(block);
    for (int64_t n = 8; n < bytes; n += 7)
        refuses("m.vocab", block, (size_t)n, again);
    block[7] = '2';
    refuses("m.vocab", block, (size_t)bytes, "another version of attnc");
    block[7] = '3';
    assert_null(vocab_load(scratch_file("m.vocab", block, (size_t)bytes), 2,
                           &none, &bytes, &why));
    assert_non_null(strstr(why.text, "has 3 tokens, the spec says 2"));
    free(block);
}

/* Tests a tokenizer.json truncated at every 1,000th byte, or with a NUL or an
 * invalid byte there. */
static void refuses_a_cut_tokenizer(void **state)
{
    static char text[1 << 16], wrong[1 << 16];
    FILE *f = fopen("tests/families/texts/gpt2/tokenizer.json", "rb");
    (void)state;
    assert_non_null(f);
    const size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_in_range(n, 5000, sizeof text - 1);
    for (size_t at = 1000; at < n; at += 1000) {
        refuses("tokenizer.json", text, at, "tokenizer.json:");
        memcpy(wrong, text, n);
        wrong[at] = '\0';
        refuses("tokenizer.json", wrong, n, "tokenizer.json:");
        wrong[at] = '\xff';
        refuses("tokenizer.json", wrong, n, "tokenizer.json:");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_with_the_place),
        cmocka_unit_test(takes_gaps),
        cmocka_unit_test(splits_digits),
        cmocka_unit_test(limits_words),
        cmocka_unit_test(separates_ideographs),
        cmocka_unit_test(reads_long_pieces),
        cmocka_unit_test(refuses_what_is_cut),
        cmocka_unit_test(refuses_a_damaged_block),
        cmocka_unit_test(refuses_a_cut_tokenizer),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
