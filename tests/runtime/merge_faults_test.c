/* merge_faults_test.c: tests faulty tokenizer files and blocks: they are
 * rejected with the reason, or safe to use. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/tokenizer.h"

#define PIECE(id, kind, score, text) \
    "{\"id\": " id ", \"kind\": \"" kind "\", \"score\": " score \
    ", \"text\": \"" text "\"}"
#define FILE_(more, list) "{\"type\": \"bpe-by-score\", " more \
                          "\"pieces\": [" list "]}"
#define NEEDED \
    "; needed is a list of tokens, one a line in the order of their ids, or " \
    "pieces with scores (docs/generate.md, Tokenizers)"
#define LIST "\"text\" is a string that is not empty"

static const struct {
    const char *text, *message;
} bad_files[] = {
    { "", "t.json:1:0: '[' or '{' expected near end of file" },
    { "[1]", "t.json: an object is expected" },
    { "{\"type\": \"other\"}", "t.json: \"type\" is bpe-by-score, the only one "
                               "that is known" },
    { "{\"type\": \"bpe-by-score\"}", "t.json: \"pieces\" is a list" },
    { "{\"version\": \"1.0\", \"model\": {\"type\": \"BPE\", \"vocab\": {}}}",
      "t.json: model.merges: a list is expected" },
    { "{\"a\": 0, \"b\": 1}",
      "t.json: this is a map of tokens to ids (vocab.json), and there is no "
      "merges.txt beside it" },
    { "{\"tokenizer_class\": \"BertTokenizer\"}",
      "t.json: this is a tokenizer_config.json, which has no tokens" NEEDED },
    { "{\"model_type\": \"bert\"}",
      "t.json: this is a config.json, which has no tokens" NEEDED },
    { "{\"a\": \"b\"}", "t.json: \"type\" is bpe-by-score, the only one that "
                        "is known" },
    { FILE_("", ""), "t.json: has no tokens" },
    { FILE_("", "1"), "t.json: pieces[0]: an object is expected" },
    { FILE_("", PIECE("1", "normal", "0", "a")),
      "t.json: pieces[0]: \"id\" is its place in the list, from 0" },
    { FILE_("",
            PIECE("0", "normal", "0", "a") "," PIECE("2", "normal", "0", "b")),
      "t.json: pieces[1]: \"id\" is its place in the list, from 0" },
    { FILE_("", PIECE("0", "odd", "0", "a")),
      "t.json: pieces[0]: \"kind\" is "
      "normal, byte, begin, end or unknown" },
    { FILE_("", PIECE("0", "normal", "\"NaN\"", "a")),
      "t.json: pieces[0]: \"score\" is a number that a float holds" },
    { FILE_("", PIECE("0", "normal", "1e300", "a")),
      "t.json: pieces[0]: \"score\" is a number that a float holds" },
    { FILE_("", PIECE("0", "normal", "0", "")), "t.json: pieces[0]: " LIST },
    { FILE_("", PIECE("0", "byte", "0", "<0x1>")),
      "t.json: pieces[0]: the "
      "text of a byte piece is <0x00> to <0xFF>" },
    { FILE_("", PIECE("0", "byte", "0", "<0x41>")),
      "t.json: vocabulary: byte pieces for some bytes only" },
    { FILE_("", PIECE("0", "normal", "0",
                      "a") "," PIECE("1", "normal", "0",
                                     "b") "," PIECE("2", "normal", "0", "a")),
      "t.json: pieces[2]: 'a' is pieces[0] already" },
    { FILE_("\"unk_id\": 0, ", PIECE("0", "normal", "0", "a")),
      "t.json: \"unk_id\" is not the id of a piece of kind unknown" },
    { FILE_("\"bos_id\": 9, ", PIECE("0", "normal", "0", "a")),
      "t.json: \"bos_id\" is not the id of a piece of kind begin" },
    { FILE_("\"eos_id\": -1, ", PIECE("0", "normal", "0", "a")),
      "t.json: \"eos_id\" is not the id of a piece of kind end" },
};

static void refuses_bad_files(void **state)
{
    (void)state;
    int64_t bytes;
    Fault why;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const char *path = scratch_file("t.json", bad_files[i].text,
                                        strlen(bad_files[i].text));
        why.code = -1;
        assert_null(vocab_load(path, -1, &none, &bytes, &why));
        assert_message(why.text, bad_files[i].message);
        assert_int_equal(why.code, ExitInput);
    }
    assert_null(vocab_load(write_tokenizer(true), 7, &none, &bytes, &why));
    assert_message(why.text, "t.json: has 273 tokens, the spec says 7");
    assert_int_equal(vocab_count(write_tokenizer(true), &why), 273);
}

static void use(const void *block)
{
    const struct attn_vocab_header *h = block;
    int32_t ids[32];
    char out[256];
    int64_t n = encode(block, "ab \xc3\xa9zaa\xff", 9, ids, 32);
    if (n > 0)
        attn_vocab_decode(block, ids, n, out, 256);
    for (int32_t i = 0; i < h->size; i++)
        attn_vocab_decode(block, &i, 1, out, 256);
}

/* Tests changed bytes and truncated blocks: rejected, or safe to use. */
static void survives_hostile_blocks(void **state)
{
    (void)state;
    static const int values[] = { 0, 1, 2, 0x7f, 0x80, 0xff };
    int64_t bytes, refused = 0;
    char *block = tokenizer(true, &bytes);
    for (int64_t i = 0; i < bytes; i++) {
        char was = block[i];
        for (int x = 0; x < 6; x++) {
            block[i] = (char)values[x];
            if (attn_vocab_check(block, bytes))
                refused++;
            else
                use(block);
        }
        block[i] = was;
    }
    assert_true(refused > 15000);
    for (int64_t n = 0; n < bytes; n += 7) {
        char *cut = malloc((size_t)n + 1);
        memcpy(cut, block, (size_t)n);
        if (n >= 16)
            ((struct attn_vocab_header *)(void *)cut)->bytes = n;
        assert_non_null(attn_vocab_check(cut, n));
        free(cut);
    }
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_files),
        cmocka_unit_test(survives_hostile_blocks),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
