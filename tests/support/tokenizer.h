/* tokenizer.h: a small tokenizer of merged pieces, as a file and as a block. */
#ifndef TEST_TOKENIZER_H
#define TEST_TOKENIZER_H

#include "tokenizer/tokenizer.h"
#include "support/scratch.h"

static const VocabTokens none = {
    .start = -1, .end = -1, .pad = -1, .unknown = -1
};

/* ---- a tokenizer ---- */

/* Pieces 3 .. 258 are bytes; these follow, with decreasing scores. */
static const char *const pieces[] = {
    " a",       "ab",           "aa", "b",    "a", " ",   "aab",
    "\xc3\xa9", "\xc3\xa9\x61", "bb", "aaaa", "c", " ab", "abab",
};
enum { Pieces = sizeof pieces / sizeof *pieces, First = 259 };

static const char *write_tokenizer(bool bytes)
{
    static char text[40000];
    size_t n = (size_t)sprintf(
        text,
        "{\"type\": \"bpe-by-score\", "
        "\"pieces\": [{\"id\": 0, \"kind\": \"unknown\", \"score\": 0, "
        "\"text\": \"<unk>\"}, {\"id\": 1, \"kind\": \"begin\", \"score\": 0, "
        "\"text\": \"<s>\"}, {\"id\": 2, \"kind\": \"end\", \"score\": 0, "
        "\"text\": \"</s>\"}");
    int id = 3;
    for (int i = 0; bytes && i < 256; i++)
        n += (size_t)sprintf(text + n,
                             ",\n{\"id\": %d, \"kind\": \"byte\", "
                             "\"score\": 0, \"text\": \"<0x%02X>\"}",
                             id++, i);
    for (int i = 0; i < Pieces; i++) /* both joins score the same */
        n += (size_t)sprintf(text + n,
                             ",\n{\"id\": %d, \"kind\": \"normal\", "
                             "\"score\": %d, \"text\": \"%s\"}",
                             id++, -i / 2, pieces[i]);
    n += (size_t)sprintf(text + n, "]}\n");
    return scratch_file("t.json", text, n);
}

static void *tokenizer(bool byte_pieces, int64_t *bytes)
{
    Fault why;
    void *block = vocab_load(write_tokenizer(byte_pieces), -1, &none, bytes,
                             &why);
    if (!block)
        fail_msg("%s", why.text);
    return block;
}

static int64_t encode(const void *block, const char *text, int64_t n,
                      int32_t *ids, int64_t cap)
{
    int64_t bad, bytes = attn_vocab_encode_bytes(block, n);
    void *memory = malloc((size_t)bytes);
    memset(memory, 0xff, (size_t)bytes);
    int64_t count = attn_vocab_encode(block, text, n, 0, ids, cap, memory,
                                      &bad);
    free(memory);
    return count;
}

#endif
