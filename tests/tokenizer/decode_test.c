/* decode_test.c: tests tokens to text by each step of a decoder, at once and
 * token by token, against the package `tokenizers` 0.23. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/block.h"

enum { Most = 8 };
#define TEXT(s) { s, sizeof s - 1 }
#define MARK TEXT("\xe2\x96\x81")
#define BROKEN "\xef\xbf\xbd"

typedef struct {
    Step step[4];
    const char *token[Most]; /* NULL ends them; a leading "*" marks a special
                                token */
    const char *text;
    const char *streamed; /* NULL: the same */
} Case;

static const Step llama[] = {
    { ATTN_STEP_REPLACE_OUT, 0, MARK, TEXT(" ") },
    { .op = ATTN_STEP_BYTE_FALLBACK_OUT },
    { .op = ATTN_STEP_FUSE },
    { ATTN_STEP_STRIP_OUT, 1, TEXT(" "), TEXT("") },
};
#define LLAMA { llama[0], llama[1], llama[2], llama[3] }

static void *block_of(const Case *c, int64_t *bytes, Fault *why)
{
    Token token[Most] = { { 0 } };
    Tokenizer t = { .path = "t",
                    .special = { 0, -1, -1, -1, -1, 0 },
                    .kind = ATTN_MERGES,
                    .token = token };
    for (int i = 0; i < Most && c->token[i]; i++) {
        const int special = c->token[i][0] == '*';
        token[i] = (Token){ .at = c->token[i] + special,
                            .n = strlen(c->token[i] + special),
                            .id = i,
                            .piece = special ? ATTN_PIECE_END : 0 };
        t.tokens++;
    }
    for (int i = 0; i < 4 && c->step[i].op; i++)
        t.step[2][t.steps[2]++] = c->step[i];
    return tokenizer_block(&t, bytes, why);
}

static int64_t streamed(const void *block, int64_t n, char *out, int64_t cap)
{
    struct attn_text t;
    int64_t at = 0;
    assert_int_equal(attn_text_open(&t, block, NULL, 0, 0), 0);
    for (int32_t id = 0; id < n; id++) {
        const int64_t more = attn_text_add(&t, id, out + at, cap - at);
        assert_true(more >= 0);
        assert_int_equal(attn_utf8(out + at, more), more);
        at += more;
    }
    return at + attn_text_end(&t, out + at, cap - at);
}

static void check(const Case *c)
{
    int32_t ids[Most] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    char out[256];
    int64_t bytes, n = 0;
    Fault why;
    void *block = block_of(c, &bytes, &why);
    if (!block)
        fail_msg("%s", why.text);
    while (n < Most && c->token[n])
        n++;
    const int64_t got = attn_vocab_decode(block, ids, n, out, sizeof out);
    assert_true(got >= 0);
    assert_string_equal(out, c->text);
    assert_int_equal(attn_vocab_decode(block, ids, n, out, got),
                     ATTN_ERROR_ROOM);
    out[streamed(block, n, out, sizeof out)] = 0;
    assert_string_equal(out, c->streamed ? c->streamed : c->text);
    free(block);
}

static const Case cases[] = {
    { { { ATTN_STEP_WORDPIECE_OUT, 1, TEXT("##"), TEXT("") } },
      { "hello", "##s", ",", "it", "'s", "do", "." },
      "hellos, it's do.",
      NULL },
    { { { ATTN_STEP_WORDPIECE_OUT, 0, TEXT("##"), TEXT("") } },
      { "*[CLS]", "hello", "##s", ",", "*[SEP]" },
      "hellos ,",
      NULL },
    { { { ATTN_STEP_METASPACE_OUT, 1, MARK, TEXT("") } },
      { "\xe2\x96\x81"
        "a\xe2\x96\x81",
        "\xe2\x96\x81"
        "b",
        "c" },
      "a bc",
      NULL },
    { { { ATTN_STEP_METASPACE_OUT, 0, MARK, TEXT("") } },
      { "\xe2\x96\x81"
        "a\xe2\x96\x81",
        "\xe2\x96\x81"
        "b",
        "c" },
      " a  bc",
      NULL },
    { LLAMA,
      { "\xe2\x96\x81"
        "a",
        "<0xC3>", "<0xA9>",
        "\xe2\x96\x81"
        "b" },
      "a\xc3\xa9 b",
      NULL },
    /* one byte too many breaks its neighbours, which a stream cannot know */
    { LLAMA,
      { "\xe2\x96\x81"
        "a",
        "<0xC3>", "<0xA9>", "<0xC2>",
        "\xe2\x96\x81"
        "b" },
      "a" BROKEN BROKEN BROKEN " b",
      "a\xc3\xa9" BROKEN " b" },
    { LLAMA,
      { "\xe2\x96\x81"
        "a",
        "<0xC3>" },
      "a" BROKEN,
      NULL },
    { { { ATTN_STEP_SUFFIX_OUT, 0, TEXT("</w>"), TEXT("") } },
      { "a</w>", "b", "c</w>" },
      "a bc",
      NULL },
    { { { .op = ATTN_STEP_BYTE_LEVEL_OUT } },
      { "\xc3", "\xa9", " a", "\xc3\xc3", " ", "\xf0\x9f\x98" },
      "\xc3\xa9 a" BROKEN BROKEN " " BROKEN,
      NULL },
    { { { .op = ATTN_STEP_JOIN_OUT } }, { "a", "*b", "c" }, "a c", NULL },
    { { { ATTN_STEP_STRIP_OUT, 1 + 256, TEXT("a"), TEXT("") } },
      { "aabaa", "b" },
      "abab",
      NULL },
    { { { .op = ATTN_STEP_BYTE_FALLBACK_OUT },
        { ATTN_STEP_PIECES_OUT, 3, MARK, TEXT(" ? ") } },
      { "\xe2\x96\x81",
        "\xe2\x96\x81"
        "a",
        "\xe2\x96\x81\xe2\x96\x81", "<0xC3>", "<0x41>" },
      "a  " BROKEN "A",
      NULL },
};

static void decodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

static void refuses_bad_steps(void **state)
{
    static const Case bad[] = {
        { { { .op = ATTN_STEP_FUSE }, { .op = ATTN_STEP_FUSE } },
          { "a" },
          "a step of the decoder is there twice",
          NULL },
        { { { .op = ATTN_STEP_REPLACE_OUT } },
          { "a" },
          "a step of the decoder looks for no text",
          NULL },
        { { { .op = ATTN_STEP_OUT_END } }, { "a" }, "an unknown step", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t bytes;
        Fault why;
        assert_null(block_of(&bad[i], &bytes, &why));
        assert_non_null(strstr(why.text, bad[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes),
        cmocka_unit_test(refuses_bad_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
