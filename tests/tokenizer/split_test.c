/* split_test.c: tests that texts are split as the `tokenizers` package splits
 * them: the pieces of tests/tokenizers/splits.txt, which it produced
 * (splits.py). */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/block.h"

static const struct {
    const char *name;
    Step step[2];
} lists[] = {
    { "gpt2", { { .op = ATTN_STEP_GPT2, .flags = ATTN_SPLIT_ISOLATED } } },
    { "llama3", { { .op = ATTN_STEP_LLAMA3, .flags = ATTN_SPLIT_ISOLATED } } },
    { "qwen2", { { .op = ATTN_STEP_QWEN2, .flags = ATTN_SPLIT_ISOLATED } } },
    { "bloom", { { .op = ATTN_STEP_BLOOM, .flags = ATTN_SPLIT_ISOLATED } } },
    { "clip",
      { { .op = ATTN_STEP_CLIP,
          .flags = ATTN_SPLIT_REMOVED | ATTN_SPLIT_INVERT } } },
    { "marks",
      { { .op = ATTN_STEP_CLIP_MARKS,
          .flags = ATTN_SPLIT_REMOVED | ATTN_SPLIT_INVERT } } },
    { "digits", { { .op = ATTN_STEP_DIGIT, .flags = ATTN_SPLIT_ISOLATED } } },
    { "numbers",
      { { .op = ATTN_STEP_DIGIT, .flags = ATTN_SPLIT_CONTIGUOUS } } },
    { "three", { { .op = ATTN_STEP_THREE, .flags = ATTN_SPLIT_ISOLATED } } },
    { "words",
      { { .op = ATTN_STEP_WORDS,
          .flags = ATTN_SPLIT_REMOVED | ATTN_SPLIT_INVERT } } },
    { "spaces", { { .op = ATTN_STEP_SPACE, .flags = ATTN_SPLIT_REMOVED } } },
    { "bert",
      { { .op = ATTN_STEP_SPACE, .flags = ATTN_SPLIT_REMOVED },
        { .op = ATTN_STEP_PUNCTUATION, .flags = ATTN_SPLIT_ISOLATED } } },
    { "punctuation",
      { { .op = ATTN_STEP_PUNCTUATION, .flags = ATTN_SPLIT_CONTIGUOUS } } },
    { "previous",
      { { ATTN_STEP_TEXT, ATTN_SPLIT_PREVIOUS, { " ", 1 }, { "", 0 } } } },
    { "next", { { ATTN_STEP_TEXT, ATTN_SPLIT_NEXT, { " ", 1 }, { "", 0 } } } },
    { "removed",
      { { ATTN_STEP_TEXT, ATTN_SPLIT_REMOVED, { "e", 1 }, { "", 0 } } } },
    { "inverted",
      { { .op = ATTN_STEP_GPT2,
          .flags = ATTN_SPLIT_NEXT | ATTN_SPLIT_INVERT } } },
};
enum { Lists = sizeof lists / sizeof *lists };

/* Makes a block for which each piece is one unknown token. */
static void *block_of(const char *name)
{
    static Token unknown = { "?", 1, 0, 0.0, ATTN_PIECE_UNKNOWN };
    Tokenizer t = { .path = "t",
                    .special = { 0, -1, -1, -1, 0, 0 },
                    .kind = ATTN_WORDPIECE,
                    .flags = ATTN_MODEL_REPLACE,
                    .most = 1,
                    .token = &unknown,
                    .tokens = 1 };
    int64_t bytes;
    Fault why;
    for (int i = 0; i < Lists; i++)
        if (strcmp(lists[i].name, name) == 0)
            for (int s = 0; s < 2 && lists[i].step[s].op; s++)
                t.step[1][t.steps[1]++] = lists[i].step[s];
    assert_true(t.steps[1] > 0);
    void *block = tokenizer_block(&t, &bytes, &why);
    if (!block)
        fail_msg("%s", why.text);
    return block;
}

/* Formats pieces as "begin end begin end"; "-" if there are none. */
static void pieces(const void *block, const char *text, int64_t n, char *out)
{
    const int64_t most = attn_vocab_most_ids(block, n);
    const int64_t need = attn_vocab_encode_bytes(block, n);
    int32_t *ids = malloc(4 * (size_t)most + 4);
    int32_t *place = malloc(8 * (size_t)most + 8);
    void *memory = malloc((size_t)need);
    int64_t bad;
    const int64_t got = attn_vocab_encode_offsets(block, text, n, 0, ids, place,
                                                  most, memory, &bad);
    strcpy(out, got == 0 ? "-" : "");
    assert_true(got >= 0);
    for (int64_t i = 0; i < got; i++)
        out += sprintf(out, "%s%d %d", i ? " " : "", place[2 * i],
                       place[2 * i + 1]);
    free(memory);
    free(place);
    free(ids);
}

static void cuts_as_recorded(void **state)
{
    static char line[1 << 16], text[1 << 14], got[1 << 16], last[64];
    FILE *f = fopen("tests/tokenizers/splits.txt", "r");
    void *block = NULL;
    int lines = 0;
    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *at = line;
        const char *name = strsep(&at, "\t"), *hex = strsep(&at, "\t");
        const char *want = strsep(&at, "\n");
        int64_t n = 0;
        unsigned byte;
        if (strcmp(name, last) != 0) {
            free(block);
            block = block_of(name);
            strcpy(last, name);
        }
        for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
            text[n++] = (char)byte;
        pieces(block, text, n, got);
        if (strcmp(got, want) != 0)
            fail_msg("%s: '%.*s': %s, not %s", name, (int)n, text, got, want);
        lines++;
    }
    free(block);
    fclose(f);
    assert_true(lines > 500);
}

/* Tests that each pattern is recognised by its exact text, and others are not.
 */
static void knows_patterns(void **state)
{
    static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "
                               "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    int op = 0;
    (void)state;
    assert_true(tokenizer_pattern((Text){ gpt2, sizeof gpt2 - 1 }, &op));
    assert_int_equal(op, ATTN_STEP_GPT2);
    assert_false(tokenizer_pattern((Text){ gpt2, sizeof gpt2 - 2 }, &op));
    assert_false(tokenizer_pattern((Text){ "", 0 }, &op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_as_recorded),
        cmocka_unit_test(knows_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
