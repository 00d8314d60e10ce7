/* vocab_test.c: tests that vocabulary files become blocks that the core
 * accepts, or are rejected with the line of the error. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tokenizer/tokenizer.h"
#include "support/scratch.h"

static const VocabTokens none = {
    .start = -1, .end = -1, .pad = -1, .unknown = -1
};

/* Loads a file of these bytes. */
static void *load(const char *text, size_t n, int64_t expected,
                  const VocabTokens *t, int64_t *bytes, Fault *why)
{
    return vocab_load(scratch_file("v", text, n), expected, t, bytes, why);
}

static void assert_token(const void *block, int32_t id, const char *text)
{
    int64_t n;
    const char *token = attn_vocab_token(block, id, &n);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(token, text, n);
    assert_int_equal(attn_vocab_find(block, text, n), id);
}

static void makes_blocks(void **state)
{
    (void)state;
    /* invisible and bidirectional characters are ordinary tokens, as are a
     * space and a carriage return before other text */
    static const char *const tokens[] = {
        "<pad>",        "b",        "a",    " ",   "\xc2\xa0",
        "\xe2\x80\x8f", "\xd9\x8e", "ab",   "\r.", "\xf0\x9f\x98\x80",
        "\x7f",         "aa",       "\x01",
    };
    enum { Count = sizeof tokens / sizeof tokens[0] };
    char text[200] = "";
    for (int i = 0; i < Count; i++)
        strcat(strcat(text, tokens[i]), "\n");
    size_t n = strlen(text);
    const VocabTokens t = { .split = 1,
                            .start = 1,
                            .end = 2,
                            .pad = 0,
                            .unknown = Count - 1,
                            .append_end = 1 };
    for (size_t final = 0; final < 2; final++) { /* with, without \n */
        int64_t bytes;
        Fault why;
        void *block = load(text, n - final, Count, &t, &bytes, &why);
        assert_non_null(block);
        assert_null(attn_vocab_check(block, bytes));
        const struct attn_vocab_header *h = block;
        assert_memory_equal(h->magic, "ATTNVOC3", 8);
        assert_int_equal(h->bytes, bytes);
        assert_int_equal(h->size, Count);
        assert_int_equal(h->kind, 1);
        assert_int_equal(h->start, 1);
        assert_int_equal(h->end, 2);
        assert_int_equal(h->pad, 0);
        assert_int_equal(h->unknown, Count - 1);
        assert_int_equal(h->append_end, 1);
        for (int32_t i = 0; i < Count; i++)
            assert_token(block, i, tokens[i]);
        assert_int_equal(attn_vocab_find(block, "abc", 3), -1);
        assert_int_equal(attn_vocab_find(block, "", 0), -1);
        free(block);
    }
}

/* Tests that a byte order mark before the first token is not part of it; alone
 * in its line it is a token. */
static void skips_the_mark(void **state)
{
    (void)state;
    static const char *const texts[] = { "\xef\xbb\xbf"
                                         "a\nb\n",
                                         "\xef\xbb\xbf\nb\n" };
    for (int i = 0; i < 2; i++) {
        int64_t bytes;
        Fault why;
        void *block = load(texts[i], strlen(texts[i]), 2, &none, &bytes, &why);
        assert_non_null(block);
        assert_token(block, 0, i ? "\xef\xbb\xbf" : "a");
        assert_token(block, 1, "b");
        free(block);
    }
}

#define NEEDED \
    "; needed is a list of tokens, one a line in the order of their ids, or " \
    "pieces with scores (docs/generate.md, Tokenizers)"
static const struct {
    const char *text;
    int64_t expected;
    const char *message;
} bad_files[] = {
    { "", -1, "v: has no tokens" },
    { "\n", -1, "v:1:1: an empty line is no token" },
    { "#version: 0.2\nh e\nhe l\n", -1, "v: this is a list of merges" NEEDED },
    { "{\"a\": 0, \"b\": 1}\n", -1,
      "v: this is JSON, whose name must end in .json" NEEDED },
    { "{\n  \"a\": 0,\n  \"b\": 1\n}\n", -1,
      "v: this is JSON, whose name must end in .json" NEEDED },
    { "\n\x0e\n\x05<unk>\x15....\x18\x02\n\n0123456789012345678901234567890",
      -1,
      "v: byte 22: this is no model of SentencePiece, or it is cut: "
      "fetch the file again" },
    { "a\n\nb\n", -1, "v:2:1: an empty line is no token" },
    { "a\nb\n\n", -1, "v:3:1: an empty line is no token" },
    { "a\r\nb\r\n", -1,
      "v:1:2: the line ends in a carriage return; lines must "
      "end in \\n alone" },
    { "a\n\r", -1,
      "v:2:1: the line ends in a carriage return; lines must end "
      "in \\n alone" },
    { "a\nb\nc\nb\na\n", -1, "v:4:1: token 'b' is on line 2 already" },
    { "\x1b[2J\nb\n\x1b[2J", -1,
      "v:3:1: token '\\x1b[2J' is on line 1 already" },
    { "a\nb\n", 3, "v: has 2 tokens, the spec says 3" },
    { "a\nb\nc", 2, "v: has 3 tokens, the spec says 2" },
    { "a\nb\xff\n", -1, "v:2:2: not valid UTF-8" },
    { "\x80", -1, "v:1:1: not valid UTF-8" },
    { "x\xc3", -1, "v:1:2: not valid UTF-8" },      /* cut */
    { "\xc3\n\xa9", -1, "v:1:1: not valid UTF-8" }, /* by a newline */
    { "\xc0\x80", -1, "v:1:1: not valid UTF-8" },   /* overlong */
    { "\xe0\x9f\xbf", -1, "v:1:1: not valid UTF-8" },
    { "\xf0\x8f\xbf\xbf", -1, "v:1:1: not valid UTF-8" },
    { "\xed\xa0\x80", -1, "v:1:1: not valid UTF-8" },     /* a surrogate */
    { "\xf4\x90\x80\x80", -1, "v:1:1: not valid UTF-8" }, /* above 10FFFF */
    { "\xf5\x80\x80\x80", -1, "v:1:1: not valid UTF-8" },
};

static void refuses_bad_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        int64_t bytes;
        Fault why = { .code = -1 };
        assert_null(load(bad_files[i].text, strlen(bad_files[i].text),
                         bad_files[i].expected, &none, &bytes, &why));
        assert_message(why.text, bad_files[i].message);
        assert_int_equal(why.code, ExitInput);
    }
    int64_t bytes;
    Fault why;
    assert_null(load("a\nb\0c\n", 6, -1, &none, &bytes, &why));
    assert_message(why.text, "v:2:2: a token has no NUL");
    assert_null(vocab_load(scratch_path("none"), -1, &none, &bytes, &why));
    assert_message(why.text, "none: cannot open: No such file or directory");
    assert_int_equal(why.code, ExitIO);
    assert_null(vocab_load(scratch, -1, &none, &bytes, &why));
    assert_int_equal(why.code, ExitInput);
}

static void refuses_special_tokens_that_are_not_there(void **state)
{
    (void)state;
    static const struct {
        VocabTokens t;
        const char *message;
    } cases[] = {
        { { .start = 2 },
          "v: the start token has id 2, the file has 2 tokens "
          "(ids from 0)" },
        { { .end = -2 },
          "v: the end token has id -2, the file has 2 tokens "
          "(ids from 0)" },
        { { .pad = 9 },
          "v: the pad token has id 9, the file has 2 tokens "
          "(ids from 0)" },
        { { .unknown = INT32_MAX },
          "v: the unknown token has id 2147483647, "
          "the file has 2 tokens (ids from 0)" },
        { { .end = -1, .append_end = 1 },
          "v: the end token is to be appended, "
          "and none is defined" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t bytes;
        Fault why;
        assert_null(load("a\nb\n", 4, -1, &cases[i].t, &bytes, &why));
        assert_message(why.text, cases[i].message);
        assert_int_equal(why.code, ExitInput);
    }
}

static void loads_large_files(void **state)
{
    (void)state;
    enum { Count = 100000 };
    static char text[Count * 8];
    size_t n = 0;
    for (int i = 0; i < Count; i++) /* shuffled as far as 5 digits allow */
        n += (size_t)snprintf(text + n, sizeof text - n, "t%d\n",
                              (int)((int64_t)i * 77773 % Count));
    int64_t bytes;
    Fault why;
    void *block = load(text, n, Count, &none, &bytes, &why);
    assert_non_null(block);
    assert_null(attn_vocab_check(block, bytes));
    for (int i = 0; i < Count; i += 997) {
        char token[16];
        snprintf(token, sizeof token, "t%d", (int)((int64_t)i * 77773 % Count));
        assert_token(block, i, token);
    }
    free(block);
}

/* Tests that every truncated file is a file of fewer tokens, or is rejected. */
static void survives_every_cut(void **state)
{
    (void)state;
    static const char text[] = "<s>\n\xd8\xa7\n\xe2\x80\x8f\n\xf0\x9f\x98\x80"
                               "\nzz";
    int accepted = 0;
    for (size_t n = 0; n < sizeof text; n++) {
        int64_t bytes;
        Fault why = { .code = -1 };
        void *block = load(text, n, -1, &none, &bytes, &why);
        assert_int_equal(block ? -1 : ExitInput, why.code);
        if (block)
            assert_null(attn_vocab_check(block, bytes));
        accepted += block != NULL;
        free(block);
    }
    assert_int_equal(accepted, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_blocks),
        cmocka_unit_test(skips_the_mark),
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(refuses_special_tokens_that_are_not_there),
        cmocka_unit_test(loads_large_files),
        cmocka_unit_test(survives_every_cut),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
