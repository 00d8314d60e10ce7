/* gguf_tokens_test.c: tests tokenizers of llama.cpp files: texts have the ids
 * of sentencepiece and tokenizers (tests/families/gguf_files.py); each named
 * way to split a text is supported; missing or invalid parts are named. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/text/embedded.h"
#include "support/expected.h"
#include "support/scratch.h"
#include "tokenizer/tokenizer.h"

enum { MostOut = 64 };

static bool read_at(const char *path, Vocabulary *v, bool *found, Fault *why)
{
    VocabularyFrom from = { .folder = path, .size = -1 };
    from.classes = embedded_text("import/gguf_splitting.json",
                                 &from.classes_bytes);
    return vocabulary_of_gguf(&from, v, found, why);
}

static int64_t encoded(const void *block, const char *text, int32_t *ids)
{
    const int64_t n = (int64_t)strlen(text);
    int64_t bad;
    void *memory = malloc((size_t)attn_vocab_encode_bytes(block, n) + 1);
    const int64_t got = attn_vocab_encode(block, text, n, 0, ids, MostOut,
                                          memory, &bad);
    free(memory);
    return got;
}

/* ---- recorded ---- */

static void recorded(void **state)
{
    const char *stem = *state;
    char path[128];
    Vocabulary v;
    Fault why;
    bool found;
    size_t i;
    json_t *row;
    snprintf(path, sizeof path, "tests/families/gguf/%s.json", stem);
    json_t *root = json_file(path);
    snprintf(path, sizeof path, "tests/families/gguf/%s.gguf", stem);
    if (!read_at(path, &v, &found, &why))
        fail_msg("%s", why.text);
    assert_true(found);
    assert_true(json_array_size(json_object_get(root, "texts")) >= 5);
    json_array_foreach(json_object_get(root, "texts"), i, row)
    {
        const char *text = json_string_value(json_object_get(row, "text"));
        int32_t want[MostOut], got[MostOut];
        const int64_t n = json_ids(json_object_get(row, "ids"), want, MostOut);
        assert_int_equal(encoded(v.block, text, got), n);
        for (int64_t k = 0; k < n; k++)
            if (got[k] != want[k])
                fail_msg("'%s': token %d is %d, not %d", text, (int)k, got[k],
                         want[k]);
    }
    free(v.block);
    json_decref(root);
}

/* ---- made ---- */

static unsigned char made[1 << 16];
static size_t used;

static void put_number(uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        made[used++] = (unsigned char)(v >> 8 * i);
}

static void put_text(const char *text, size_t n)
{
    put_number(n, 8);
    memcpy(made + used, text, n);
    used += n;
}

/* Writes a value with the type of the JSON: bool, int, real or text. */
static void put_value(const json_t *v)
{
    float real = (float)json_real_value(v);
    uint32_t bits;
    memcpy(&bits, &real, 4);
    if (json_is_boolean(v))
        put_number(json_is_true(v), 1);
    else if (json_is_string(v))
        put_text(json_string_value(v), json_string_length(v));
    else
        put_number(json_is_real(v) ? bits : (uint64_t)json_integer_value(v), 4);
}

static unsigned type_of(const json_t *v)
{
    return json_is_array(v)   ? 9
         : json_is_boolean(v) ? 7
         : json_is_string(v)  ? 8
         : json_is_real(v)    ? 6
                              : 4;
}

/* Writes a gguf file with this metadata under "tokenizer.ggml.", without
 * tensors. */
static const char *file_of(const json_t *metadata)
{
    const char *key;
    json_t *v;
    used = 0;
    memcpy(made, "GGUF", 4);
    used = 4;
    put_number(3, 4);
    put_number(0, 8);
    put_number(json_object_size(metadata), 8);
    json_object_foreach((json_t *)metadata, key, v)
    {
        char name[80];
        const int n = snprintf(name, sizeof name, "tokenizer.ggml.%s", key);
        put_text(name, (size_t)n);
        put_number(type_of(v), 4);
        if (!json_is_array(v)) {
            put_value(v);
            continue;
        }
        put_number(type_of(json_array_get(v, 0)), 4);
        put_number(json_array_size(v), 8);
        for (size_t i = 0; i < json_array_size(v); i++)
            put_value(json_array_get(v, i));
    }
    while (used % 32)
        made[used++] = 0;
    return scratch_file("m.gguf", made, used);
}

/* Returns a BPE of bytes, and its pieces; `change` (JSON) replaces keys; null
 * removes one. */
static const char small_bytes[] =
    "{\"model\": \"gpt2\", \"pre\": \"gpt-2\", \"tokens\": [\"a\", \"b\", "
    "\"ab\", \"<s>\"], \"token_type\": [1, 1, 1, 3], \"merges\": [\"a b\"], "
    "\"bos_token_id\": 3, \"add_bos_token\": false}";
static const char small_pieces[] =
    "{\"model\": \"llama\", \"tokens\": [\"<unk>\", \"<s>\", \"</s>\", \"a\", "
    "\"\xe2\x96\x81\", \"\xe2\x96\x81"
    "a\"], \"token_type\": [2, 3, 3, 1, 1, "
    "1], \"scores\": [0.0, 0.0, 0.0, -1.0, -2.0, -0.5], \"bos_token_id\": 1, "
    "\"eos_token_id\": 2}";

static const char small_words[] =
    "{\"model\": \"bert\", \"tokens\": [\"[UNK]\", \"[CLS]\", \"[SEP]\", "
    "\"\xe2\x96\x81"
    "a\", \"a\", \"\xe2\x96\x81"
    "b\"], \"token_type\": [3, 3, 3, 1, 1, 1], \"unknown_token_id\": 0}";
static const char small_unigram[] =
    "{\"model\": \"t5\", \"tokens\": [\"<pad>\", \"</s>\", \"<unk>\", \"a\", "
    "\"\xe2\x96\x81\", \"\xe2\x96\x81"
    "a\"], \"token_type\": [3, 3, 2, 1, 1, 1], \"scores\": [0.0, 0.0, 0.0, "
    "-1.0, -2.0, -0.5], \"eos_token_id\": 1, \"unknown_token_id\": 2}";

static json_t *changed(const char *text, const char *change)
{
    json_error_t e;
    json_t *root = json_loads(text, 0, &e), *v;
    json_t *other = json_loads(change, JSON_ALLOW_NUL, &e);
    const char *key;
    assert_non_null(root);
    assert_non_null(other);
    json_object_foreach(other, key, v)
    {
        if (json_is_null(v))
            json_object_del(root, key);
        else
            json_object_set(root, key, v);
    }
    json_decref(other);
    return root;
}

static bool read_changed(const char *text, const char *change, Vocabulary *v,
                         bool *found, Fault *why)
{
    json_t *root = changed(text, change);
    const bool good = read_at(file_of(root), v, found, why);
    json_decref(root);
    return good;
}

static void gives(const char *text, const char *change, const char *input,
                  const int32_t *want, int64_t n)
{
    Vocabulary v;
    Fault why;
    bool found;
    int32_t got[MostOut];
    if (!read_changed(text, change, &v, &found, &why))
        fail_msg("%s", why.text);
    assert_true(found);
    assert_int_equal(encoded(v.block, input, got), n);
    assert_memory_equal(got, want, (size_t)n * sizeof *want);
    free(v.block);
}
#define IDS(...)                                                              \
    (const int32_t[]){ __VA_ARGS__ },                                         \
        sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t)

/* Tests tokens around a text, a space in front of it, and tokens inside. */
static void adds_tokens(void **state)
{
    (void)state;
    gives(small_bytes, "{}", "ab<s>ba", IDS(2, 3, 1, 0));
    gives(small_bytes, "{\"add_bos_token\": true}", "ab", IDS(3, 2));
    gives(small_pieces, "{}", "a</s>", IDS(1, 5, 2));
    gives(small_pieces, "{\"add_eos_token\": true}", "a", IDS(1, 5, 2));
    gives(small_pieces, "{\"add_bos_token\": false}", "a", IDS(5));
    gives(small_pieces, "{\"add_space_prefix\": false}", "a", IDS(1, 3));
    gives(small_pieces, "{}", "  a", IDS(1, 4, 4, 5));
    gives(small_words, "{}", "A aa Bb", IDS(1, 3, 3, 4, 0, 2));
    gives(small_words, "{\"bos_token_id\": 2, \"eos_token_id\": 1}", "[SEP]b",
          IDS(2, 2, 5, 1));
    gives(small_words, "{\"cls_token_id\": 5, \"bos_token_id\": 2}", "a",
          IDS(5, 3, 2));
    gives(small_unigram, "{}", "  a   a", IDS(5, 5, 1));
    gives(small_unigram, "{\"remove_extra_whitespaces\": false}", " a",
          IDS(4, 5, 1));
    gives(small_unigram, "{\"add_eos_token\": false}", "b", IDS(4, 2));
}

/* Tests each row of the table. */
static void knows_splitting(void **state)
{
    (void)state;
    size_t n;
    json_error_t e;
    const char *text = embedded_text("import/gguf_splitting.json", &n), *key;
    json_t *rows = json_loadb(text, n, 0, &e), *row;
    assert_non_null(rows);
    json_object_foreach(rows, key, row)
    {
        char change[80];
        snprintf(change, sizeof change,
                 "{\"pre\": \"%s\", \"add_bos_token\": null}", key);
        const json_t *same = json_is_string(row)
                               ? json_object_get(rows, json_string_value(row))
                               : row;
        if (json_is_true(json_object_get(same, "add_bos")))
            gives(small_bytes, change, "ab", IDS(3, 2));
        else
            gives(small_bytes, change, "ab", IDS(2));
    }
    json_decref(rows);
}

/* ---- refused ---- */

static const struct {
    const char *from, *change, *message;
} refused[] = {
    { small_bytes, "{\"tokens\": null}",
      "tokenizer.ggml.tokens: a list is expected, and there is none" },
    { small_bytes, "{\"token_type\": [1, 1, 1]}",
      "tokenizer.ggml.token_type has 3 values, tokenizer.ggml.tokens 4" },
    { small_bytes, "{\"token_type\": [1, 1, 1, 7]}",
      "tokenizer.ggml.token_type[3] must be 0 to 6" },
    { small_bytes, "{\"tokens\": [1, 2, 3, 4]}",
      "tokenizer.ggml.tokens[0] must be a text" },
    { small_bytes, "{\"tokens\": [\"a\", \"b\", \"ab\", \"a\"]}",
      "tokenizer.ggml.tokens[3] is token 0 again, 'a'" },
    { small_bytes, "{\"tokens\": [\"a\", \"b\", \"ab\", \"a\\u0000\"]}",
      "tokenizer.ggml.tokens[3] has a NUL" },
    { small_bytes, "{\"merges\": null}",
      "tokenizer.ggml.merges: a list is expected, and there is none" },
    { small_bytes, "{\"merges\": [\"a c\"]}",
      "model.merges[0]: the second part, 'c', is no token of the vocabulary" },
    { small_bytes, "{\"merges\": [\"ab\"]}",
      "model.merges[0]: 'ab' is not two tokens with one space between" },
    { small_bytes, "{\"bos_token_id\": 4}",
      "tokenizer.ggml.bos_token_id: 4, and there are 4 tokens" },
    { small_bytes, "{\"add_eos_token\": true}",
      "tokenizer.ggml.add_eos_token: the file names no such token" },
    { small_bytes, "{\"add_bos_token\": 1}",
      "the file.tokenizer.ggml.add_bos_token: true or false is expected" },
    { small_bytes, "{\"pre\": \"default\"}",
      "tokenizer.ggml.pre: 'default' is no way to cut a text that is known "
      "here; import the folder that the file was made of; known are gpt-2, " },
    { small_bytes, "{\"pre\": null}",
      "tokenizer.ggml.pre: '' is no way to cut a text" },
    { small_bytes, "{\"model\": \"rwkv\"}",
      "tokenizer.ggml.model: a tokenizer 'rwkv' is not read from such a file: "
      "import the folder that it was made of" },
    { small_words,
      "{\"tokens\": [\"[UNK]\", \"[CLS]\", \"[SEP]\", \"a\", "
      "\"a\", \"b\"]}",
      "tokenizer.ggml.tokens[4] is token 3 again, '##a'" },
    { small_words,
      "{\"tokens\": [\"[UNK]\", \"[CLS]\", \"[SEP]\", \"a\", "
      "\"\", \"b\"]}",
      "tokenizer.ggml.tokens[4] is empty or has a NUL" },
    { small_words,
      "{\"tokens\": [\"[UNK]\", \"[cls]\", \"[SEP]\", \"a\", "
      "\"c\", \"b\"]}",
      "tokenizer.ggml.cls_token_id: the file names no such token, nor has it "
      "'[CLS]'" },
    { small_words, "{\"seperator_token_id\": 6}",
      "tokenizer.ggml.seperator_token_id: 6, and there are 6 tokens" },
    { small_unigram, "{\"precompiled_charsmap\": [0, 256]}",
      "tokenizer.ggml.precompiled_charsmap[1] is no byte" },
    { small_unigram, "{\"precompiled_charsmap\": 1}",
      "tokenizer.ggml.precompiled_charsmap: a list is expected" },
    { small_unigram, "{\"remove_extra_whitespaces\": 1}",
      "tokenizer.ggml.remove_extra_whitespaces: true or false is expected" },
    { small_pieces, "{\"scores\": null}",
      "tokenizer.ggml.scores: a list is expected, and there is none" },
    { small_pieces, "{\"scores\": [0.0, 0.0]}",
      "tokenizer.ggml.scores has 2 values, tokenizer.ggml.tokens 6" },
    { small_pieces, "{\"token_type\": [2, 3, 3, 1, 6, 1]}",
      "is of a byte and names none" },
};

static void refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Vocabulary v;
        Fault why;
        bool found;
        assert_false(
            read_changed(refused[i].from, refused[i].change, &v, &found, &why));
        assert_int_equal(why.code, ExitInput);
        assert_null(v.block);
        assert_non_null(strstr(why.text, "m.gguf: "));
        if (!strstr(why.text, refused[i].message))
            fail_msg("%s, not %s", why.text, refused[i].message);
    }
}

/* Tests that a file without a tokenizer is not an error. */
static void finds_none(void **state)
{
    (void)state;
    Vocabulary v;
    Fault why;
    bool found = true;
    assert_true(
        read_changed(small_bytes, "{\"model\": null}", &v, &found, &why));
    assert_false(found);
    assert_true(
        read_changed(small_bytes, "{\"model\": \"none\"}", &v, &found, &why));
    assert_false(found);
    assert_null(v.block);
}

#define RECORDED(name) { name, recorded, NULL, NULL, name }

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDED("llama-q8_0"),
        RECORDED("llama-q4_0"),
        RECORDED("qwen2-bf16"),
        RECORDED("gemma-f16"),
        RECORDED("llama-3-f16"),
        RECORDED("bert-f16"),
        RECORDED("xlm-roberta-f16"),
        cmocka_unit_test(adds_tokens),
        cmocka_unit_test(knows_splitting),
        cmocka_unit_test(refuses),
        cmocka_unit_test(finds_none),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
