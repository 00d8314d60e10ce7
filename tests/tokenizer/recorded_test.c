/* recorded_test.c: tests ids and offsets of tokens against the packages
 * `tokenizers` and `sentencepiece` (tests/tokenizers/record.py); invalid tables
 * of a block; long texts. */
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

enum { Longest = 1 << 16, Tokens = 4096 };

static Text charmap; /* of charmap.bin */

/* ---- a recording ---- */

static Text unhex(const char *from)
{
    const size_t n = *from == '-' ? 0 : strlen(from) / 2;
    char *text = malloc(n + 1);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(from + 2 * i, "%2x", &byte), 1);
        text[i] = (char)byte;
    }
    return (Text){ text, n };
}

static void read_charmap(void)
{
    FILE *f = fopen("tests/tokenizers/charmap.bin", "rb");
    char *at = malloc(1 << 20);
    assert_true(f && at);
    charmap = (Text){ at, fread(at, 1, 1 << 20, f) };
    fclose(f);
}

typedef struct {
    Tokenizer t;
    char name[64];
    char *block;
    int64_t bytes, cases, wrong;
    Text text, normal;
} Recording;

static void forget(Recording *r)
{
    for (int64_t i = 0; i < r->t.tokens; i++)
        free((char *)r->t.token[i].at);
    for (int i = 0; i < r->t.steps[0]; i++) {
        free((char *)r->t.step[0][i].text.at);
        free((char *)r->t.step[0][i].other.at);
    }
    free((char *)r->t.prefix.at);
    free((char *)r->text.at);
    free((char *)r->normal.at);
    free(r->t.token);
    free(r->block);
    memset(r, 0, sizeof *r);
}

/* Reads a line of a tokenizer; returns false for others. */
static bool take_line(Recording *r, const char *line, char *a, char *b)
{
    Tokenizer *t = &r->t;
    int x, y;
    double score;
    if (sscanf(line, "kind %d", &t->kind) == 1
        || sscanf(line, "flags %d", &t->flags) == 1
        || sscanf(line, "most %d", &t->most) == 1
        || sscanf(line, "unknown %d", &t->special.unknown) == 1)
        return true;
    if (sscanf(line, "prefix %s", a) == 1) {
        t->prefix = unhex(a);
        return true;
    }
    if (sscanf(line, "step 0 %d %d %s %s", &x, &y, a, b) == 4) {
        t->step[0][t->steps[0]++] = (Step){ x, y, unhex(a), unhex(b) };
        return true;
    }
    if (sscanf(line, "token %s %lf %d", a, &score, &x) != 3)
        return strncmp(line, "charmap", 7) == 0;
    const Text text = unhex(a);
    t->token[t->tokens] = (Token){ .at = text.at,
                                   .n = text.n,
                                   .id = (int32_t)t->tokens,
                                   .score = score,
                                   .piece = (unsigned char)x };
    t->tokens++;
    return true;
}

static void begin(Recording *r, const char *name)
{
    forget(r);
    snprintf(r->name, sizeof r->name, "%s", name);
    r->name[strcspn(r->name, "\n")] = 0;
    r->t.path = r->name;
    r->t.special = (VocabTokens){ -1, -1, -1, -1, -1, 0 };
    r->t.token = calloc(Tokens, sizeof *r->t.token);
    r->t.charmap = charmap;
}

static void make_block(Recording *r)
{
    Fault why = { 0 };
    if (r->block)
        return;
    r->block = tokenizer_block(&r->t, &r->bytes, &why);
    if (!r->block)
        fail_msg("%s", why.text);
}

/* ---- a case ---- */

/* Formats ids and positions as record.py does. */
static void encoded(const char *block, Text text, char *out)
{
    static int32_t ids[Longest], places[2 * Longest];
    int64_t bad;
    const int64_t need = attn_vocab_encode_bytes(block, (int64_t)text.n);
    assert_true(need >= 0);
    void *memory = malloc((size_t)need + 1);
    const int64_t n = attn_vocab_encode_offsets(block, text.at, (int64_t)text.n,
                                                ATTN_PLAIN, ids, places,
                                                Longest, memory, &bad);
    free(memory);
    out += sprintf(out, "ids ");
    for (int64_t i = 0; i < n; i++)
        out += sprintf(out, "%s%d,%d,%d", i ? " " : "", ids[i], places[2 * i],
                       places[2 * i + 1]);
    sprintf(out, "\n");
}

static void check_normal(Recording *r)
{
    char out[Longest];
    void *memory = malloc(
        (size_t)attn_vocab_encode_bytes(r->block, (int64_t)r->text.n) + 1);
    const int64_t n = attn_vocab_normalise(r->block, r->text.at,
                                           (int64_t)r->text.n, out, sizeof out,
                                           memory);
    free(memory);
    assert_int_equal(n, r->normal.n);
    assert_memory_equal(out, r->normal.at, r->normal.n);
}

static void check_ids(Recording *r, const char *line)
{
    static char got[Longest * 8];
    make_block(r);
    encoded(r->block, r->text, got);
    if (r->normal.at)
        check_normal(r);
    if (strcmp(got, line) != 0)
        fail_msg("%s: '%.*s': %s, not %s", r->name, (int)r->text.n, r->text.at,
                 got, line);
    r->cases++;
    free((char *)r->text.at);
    free((char *)r->normal.at);
    r->text = r->normal = (Text){ 0 };
}

static void same_as_the_packages(void **state)
{
    (void)state;
    static char line[Longest], a[Longest], b[Longest];
    Recording r = { 0 };
    int64_t cases = 0, tokenizers = 0;
    FILE *f = fopen("tests/tokenizers/recorded.txt", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "tokenizer ", 10) == 0) {
            begin(&r, line + 10);
            tokenizers++;
        } else if (sscanf(line, "text %s", a) == 1) {
            r.text = unhex(a);
        } else if (sscanf(line, "normal %s", a) == 1) {
            r.normal = unhex(a);
        } else if (strncmp(line, "ids", 3) == 0) {
            check_ids(&r, line);
            cases++;
        } else if (line[0] != '#') {
            assert_true(take_line(&r, line, a, b));
        }
    }
    fclose(f);
    forget(&r);
    assert_int_equal(tokenizers, 20);
    assert_true(cases > 800);
}

/* ---- wrong tables ---- */

/* Makes a block of one step and one or two pieces. */
static char *block_of(int kind, int op, int flags, int64_t *bytes)
{
    static Token token[] = { { "a", 1, 0, -1.0, 0 }, { "ab", 2, 1, -2.0, 0 } };
    static Tokenizer t;
    Fault why = { 0 };
    t = (Tokenizer){ .path = "t",
                     .special = { -1, -1, -1, -1, 0, 0 },
                     .kind = kind,
                     .flags = ATTN_MODEL_REPLACE,
                     .token = token,
                     .tokens = 2,
                     .charmap = charmap };
    t.step[0][0] = (Step){ op, flags, { "", 0 }, { "", 0 } };
    t.steps[0] = op != 0;
    char *block = tokenizer_block(&t, bytes, &why);
    if (!block)
        fail_msg("%s", why.text);
    return block;
}

static struct attn_section *section_of(char *block, int section)
{
    return &((struct attn_vocab_header *)block)->section[section];
}

static struct attn_mapping *mapping_of(char *block)
{
    const struct attn_section *s = section_of(block, ATTN_MAPPINGS);
    return (struct attn_mapping *)(block + s->at
                                   + sizeof(struct attn_mappings));
}

static void assert_wrong(char *block, int64_t bytes, const char *what)
{
    const char *wrong = attn_vocab_check(block, bytes);
    assert_string_equal(wrong ? wrong : "", what);
    free(block);
}

static void says_what_is_wrong_with_a_table(void **state)
{
    (void)state;
    int64_t bytes;
    char *b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    *section_of(b, ATTN_MAPPINGS) = (struct attn_section){ 0, 0 };
    assert_wrong(b, bytes, "vocabulary: a step without its table of Unicode");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    mapping_of(b)->page = 1 << 30;
    assert_wrong(b, bytes, "vocabulary: a table of Unicode beyond its end");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    mapping_of(b)->pages = 1;
    assert_wrong(b, bytes, "vocabulary: a table of Unicode without a page");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    mapping_of(b)->records = 1;
    assert_wrong(b, bytes, "vocabulary: a table of Unicode without a record");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    char *record = b + section_of(b, ATTN_MAPPINGS)->at + mapping_of(b)->record;
    record[1] = (char)0xff;
    mapping_of(b)->records = 200;
    assert_wrong(b, bytes, "vocabulary: a record of Unicode beyond its end");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_LOWERCASE, 0, &bytes);
    record = b + section_of(b, ATTN_MAPPINGS)->at + mapping_of(b)->record;
    record[2] = (char)0xff;
    assert_wrong(b, bytes, "vocabulary: a record of Unicode is not UTF-8");
}

static void says_what_is_wrong_with_a_form(void **state)
{
    (void)state;
    int64_t bytes;
    char *b = block_of(ATTN_CHARACTERS, ATTN_STEP_NFC, 0, &bytes);
    mapping_of(b)->records = 4;
    assert_wrong(b, bytes, "vocabulary: a normal form without a record");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_NFC, 0, &bytes);
    const int64_t at = section_of(b, ATTN_MAPPINGS)->at;
    uint32_t *record = (uint32_t *)(b + at + mapping_of(b)->record);
    record[1] &= ~0xffu;
    assert_wrong(b, bytes,
                 "vocabulary: a record of a normal form beyond its end");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_NFC, 0, &bytes);
    record = (uint32_t *)(b + section_of(b, ATTN_MAPPINGS)->at
                          + mapping_of(b)->record);
    record[2] = 0xd800;
    assert_wrong(b, bytes, "vocabulary: a normal form of no character");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_NFC, 0, &bytes);
    struct attn_composition *pair = (void *)(b
                                             + section_of(b, ATTN_MAPPINGS)->at
                                             + mapping_of(b)->pair);
    pair->into = 0xdfff;
    assert_wrong(b, bytes, "vocabulary: a pair makes no character");
}

static void says_what_is_wrong_with_a_model(void **state)
{
    (void)state;
    int64_t bytes;
    char *b = block_of(ATTN_CHARACTERS, ATTN_STEP_CHARMAP, 0, &bytes);
    section_of(b, ATTN_CHARMAP)->bytes = 100;
    assert_wrong(b, bytes, "vocabulary: its map of characters is cut off");

    b = block_of(ATTN_CHARACTERS, ATTN_STEP_SENTENCEPIECE, 1, &bytes);
    b[section_of(b, ATTN_CHARMAP)->at + section_of(b, ATTN_CHARMAP)->bytes
      - 2] = (char)0xff;
    assert_wrong(b, bytes, "vocabulary: its map of characters is not UTF-8");

    b = block_of(ATTN_WORDPIECE, 0, 0, &bytes);
    *section_of(b, ATTN_MODEL_TRIE) = (struct attn_section){ 0, 0 };
    assert_wrong(b, bytes, "vocabulary: WordPiece without its tokens' trie");

    b = block_of(ATTN_UNIGRAM, 0, 0, &bytes);
    section_of(b, ATTN_MODEL_TRIE)->bytes = 16;
    assert_wrong(b, bytes, "vocabulary: Unigram without its pieces' trie");
}

/* ---- long texts ---- */

/* Tests very long runs of marks of many classes after one letter. */
static void takes_long_runs_of_marks(void **state)
{
    (void)state;
    int64_t bytes, need, n;
    char *b = block_of(ATTN_CHARACTERS, ATTN_STEP_NFC, 0, &bytes);
    enum { Marks = 20000 };
    char *text = malloc(1 + 4 * Marks), *out = malloc(1 + 4 * Marks);
    text[0] = 'e';
    for (int i = 0; i < Marks; i++) /* a dot below, an acute above */
        memcpy(text + 1 + 4 * i, "\xcc\x81\xcc\xa3", 4);
    need = attn_vocab_encode_bytes(b, 1 + 4 * Marks);
    void *memory = malloc((size_t)need + 1);
    n = attn_vocab_normalise(b, text, 1 + 4 * Marks, out, 1 + 4 * Marks,
                             memory);
    /* U+1EB9, the other dots, the acutes: none composes any more */
    assert_int_equal(n, 3 + 2 * (Marks - 1) + 2 * Marks);
    assert_memory_equal(out, "\xe1\xba\xb9\xcc\xa3\xcc\xa3", 7);
    assert_memory_equal(out + n - 4, "\xcc\x81\xcc\x81", 4);
    free(memory);
    free(out);
    free(text);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_the_packages),
        cmocka_unit_test(says_what_is_wrong_with_a_table),
        cmocka_unit_test(says_what_is_wrong_with_a_form),
        cmocka_unit_test(says_what_is_wrong_with_a_model),
        cmocka_unit_test(takes_long_runs_of_marks),
    };
    read_charmap();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
