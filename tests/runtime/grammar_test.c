/* grammar_test.c: tests which tokens a grammar allows, with vocabularies of
 * each kind of decoder, against the text that the answer then has. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/block.h"

enum { Most = 24, TextMost = 256 };
#define TEXT(s) { s, sizeof s - 1 }
#define MARK TEXT("\xe2\x96\x81")

typedef struct {
    const char *name;
    Step step[4];
    int kind;
    const char *token[Most]; /* the first ends an answer */
} Words;

static const Words kinds[] = {
    { "bytes",
      { { .op = ATTN_STEP_BYTE_LEVEL_OUT } },
      ATTN_MERGES,
      { "*end", "a", "b", "ab", " a", " ", "ba", "\xc3", "\xa9", "\xc3\xa9",
        "\xa9"
        "a",
        "aab", "\n", "b a" } },
    { "llama",
      { { ATTN_STEP_REPLACE_OUT, 0, MARK, TEXT(" ") },
        { .op = ATTN_STEP_BYTE_FALLBACK_OUT },
        { .op = ATTN_STEP_FUSE },
        { ATTN_STEP_STRIP_OUT, 1, TEXT(" "), TEXT("") } },
      ATTN_MERGES,
      { "*end", "a", "b", "ab",
        "\xe2\x96\x81"
        "a",
        "\xe2\x96\x81",
        "\xe2\x96\x81"
        "ab",
        "<0xC3>", "<0xA9>", "<0x0A>", "<0x20>", "\xc3\xa9", "b\xe2\x96\x81",
        "aab" } },
    { "strip", /* of each token */
      { { ATTN_STEP_STRIP_OUT, 1 + 2 * 256, TEXT(" "), TEXT("") } },
      ATTN_MERGES,
      { "*end", "a ", " b", "ab", "  a  ", " ", "\xc3\xa9", "aab" } },
    { "pieces",
      { { ATTN_STEP_PIECES_OUT, 1, MARK, TEXT(" ? ") } },
      ATTN_MERGES,
      { "*end", "a", "b", "ab",
        "\xe2\x96\x81"
        "a",
        "\xe2\x96\x81",
        "\xe2\x96\x81\xe2\x96\x81"
        "b",
        "\xc3\xa9", "aab" } },
    { "words",
      { { ATTN_STEP_WORDPIECE_OUT, 1, TEXT("##"), TEXT("") } },
      ATTN_MERGES,
      { "*end", "a", "b", "##a", "##b", "ab", "##ab", "\xc3\xa9", "." } },
    { "suffix",
      { { ATTN_STEP_SUFFIX_OUT, 0, TEXT("</w>"), TEXT("") } },
      ATTN_MERGES,
      { "*end", "a", "b</w>", "ab", "ab</w>", "a</w>", "b", "\xc3\xa9</w>" } },
    { "join",
      { { .op = ATTN_STEP_JOIN_OUT } },
      ATTN_MERGES,
      { "*end", "a", "b", "ab", "\xc3\xa9", "aab" } },
};

static const char *const grammars[] = {
    "root ::= [ab]+ (\" \" [ab]+)* [\xc3\xa9]? | \"\xc3\xa9\" root",
    "root ::= [ab ]{3,6} \"\\n\"?",
    "root ::= \"a\" root \"b\" | \"ab\" | \" ab\"",
    "root ::= (\"a\" | \"ab\" | \"ab a\") (\" \" | \"\xc3\xa8\" | .)*",
    "root ::= \"ab\" (\".\" | \" .\")? | \"b\" [^a-z]{0,2} \"a\"",
};

static void *block_of(const Words *w, int *n)
{
    Token token[Most] = { { 0 } };
    Fault why;
    int64_t bytes;
    Tokenizer t = { .path = "t",
                    .special = { -1, 0, -1, -1, -1, 0 },
                    .kind = w->kind,
                    .token = token };
    for (int i = 0; i < Most && w->token[i]; i++) {
        const int special = w->token[i][0] == '*';
        token[i] = (Token){ .at = w->token[i] + special,
                            .n = strlen(w->token[i] + special),
                            .id = i,
                            .piece = special ? ATTN_PIECE_END : 0 };
        t.tokens++;
    }
    for (int i = 0; i < 4 && w->step[i].op; i++)
        t.step[2][t.steps[2]++] = w->step[i];
    *n = (int)t.tokens;
    void *block = tokenizer_block(&t, &bytes, &why);
    if (!block)
        fail_msg("%s: %s", w->name, why.text);
    return block;
}

/* Opens a grammar in memory that the caller frees; NULL with *is. */
static struct attn_grammar *opened(const char *text, const void *block,
                                   int64_t vocab, int begun,
                                   struct attn_gbnf *is, void **memory)
{
    struct attn_memory at;
    struct attn_grammar *g = NULL, counted;
    attn_memory_open(&at, NULL);
    *memory = NULL;
    for (int laid = 0; laid < 2; laid++) {
        g = attn_take(&at, 1, sizeof *g);
        g = laid ? g : &counted;
        const struct attn_grammar_request r = {
            .text = text,
            .bytes = (int64_t)strlen(text),
            .block = block,
            .vocab = vocab,
            .begun = begun,
        };
        const int wrong = attn_grammar_open(g, &r, &at);
        *is = g->is;
        if (wrong)
            return NULL;
        if (laid == 0) {
            *memory = malloc((size_t)attn_memory_bytes(&at));
            attn_memory_open(&at, *memory);
        }
    }
    return g;
}

/* Returns 0 if no text of the grammar begins like this, 1 if one is this, else
 * 2. */
static int reads(struct attn_grammar *g, const char *text, int64_t n)
{
    int32_t state = attn_automaton_start(g);
    for (int64_t i = 0; i < n && state > 0; i++)
        state = attn_automaton_next(g, state, (unsigned char)text[i]);
    return state <= 0 ? 0 : attn_automaton_ends(g, state) ? 1 : 2;
}

/* Writes the text of an answer whose end may be a part of a character. Returns
 * its length. */
static int64_t text_of(const void *block, const int32_t *ids, int64_t n,
                       int begun, char out[TextMost])
{
    struct attn_text t;
    int64_t at = 0;
    attn_text_open(&t, block, NULL, 0, begun);
    t.lead = begun ? -1 : 0;
    for (int64_t i = 0; i < n; i++)
        at += attn_text_add(&t, ids[i], out + at, TextMost - at);
    memcpy(out + at, t.part, (size_t)t.open);
    memcpy(out + at + t.open, t.hold, (size_t)t.held);
    return at + t.open + t.held;
}

/* True if a text has U+FFFD, which stands for bytes that are no character. */
static int broken(const char *text, int64_t n)
{
    for (int64_t i = 0; i + 3 <= n; i++)
        if (memcmp(text + i, "\xef\xbf\xbd", 3) == 0)
            return 1;
    return 0;
}

static unsigned seed;
static int drawn(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 16) % (unsigned)n);
}

/* Checks the tokens allowed after an answer. Returns a random one of them; 0:
 * the end; -1: there is none. */
static int check_step(struct attn_grammar *g, const Words *w, int vocab,
                      int32_t *ids, int64_t n)
{
    const struct attn_search_options o = { .start = -1, .end = 0 };
    float logits[Most] = { 0 };
    char now[TextMost], text[TextMost];
    int allowed[Most], count = 0;
    const void *block = g->v.head;
    const int64_t had = text_of(block, ids, n, g->begun, now);
    const int wrong = attn_grammar_allow(g, &o, ids, n, logits, vocab);
    for (int t = 0; t < vocab; t++) {
        ids[n] = t;
        const int64_t bytes = text_of(block, ids, n + 1, g->begun, text);
        const int may = t == 0 ? reads(g, now, had) == 1
                               : bytes > had && !broken(text, bytes)
                                     && reads(g, text, bytes) > 0;
        if (may != (logits[t] == 0.0f))
            fail_msg("%s: '%.*s' and '%s': %d is expected", w->name, (int)had,
                     now, w->token[t], may);
        if (may)
            allowed[count++] = t;
    }
    assert_int_equal(wrong, count ? 0 : ATTN_ERROR_GRAMMAR);
    return count ? allowed[drawn(count)] : -1;
}

static void each_decoder(void **unused)
{
    int answers = 0;
    (void)unused;
    seed = 1;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < 2 * sizeof grammars / sizeof *grammars; i++) {
            int vocab;
            struct attn_gbnf is;
            void *memory, *block = block_of(&kinds[k], &vocab);
            struct attn_grammar *g = opened(grammars[i / 2], block, vocab,
                                            i % 2, &is, &memory);
            for (int run = 0; g && run < 40; run++) {
                int32_t ids[Most + 1];
                int token = 1;
                for (int n = 0; n < Most && token > 0; n++) {
                    token = check_step(g, &kinds[k], vocab, ids, n);
                    ids[n] = token;
                }
                answers += token == 0;
            }
            free(memory);
            free(block);
        }
    assert_true(answers > 500);
}

/* The grammar is about what follows the prefix, also if that has no text. */
static void prefixes(void **unused)
{
    int vocab;
    struct attn_gbnf is;
    void *memory, *block = block_of(&kinds[1], &vocab);
    struct attn_grammar *g = opened("root ::= \"b\"", block, vocab, 0, &is,
                                    &memory);
    const int32_t answer[] = { 1, 2, 0 };
    struct attn_search_options o = { .start = -1, .end = 0, .prefix_n = 1 };
    float logits[Most] = { 0 };
    (void)unused;
    assert_int_equal(attn_grammar_allow(g, &o, answer, 1, logits, vocab), 0);
    for (int t = 0; t < vocab; t++)
        assert_true((logits[t] == 0.0f) == (t == 2));
    memset(logits, 0, sizeof logits);
    assert_int_equal(attn_grammar_allow(g, &o, answer, 2, logits, vocab), 0);
    for (int t = 0; t < vocab; t++)
        assert_true((logits[t] == 0.0f) == (t == 0));
    o.prefix_n = 0;
    assert_int_equal(attn_grammar_allow(g, &o, answer, 1, logits, vocab),
                     ATTN_ERROR_GRAMMAR);
    free(memory);
    free(block);
}

/* A decoder removes spaces at the end of the complete text. */
static void trims(void **unused)
{
    static const Words w = {
        "trims",
        { { .op = ATTN_STEP_FUSE },
          { ATTN_STEP_STRIP_OUT, 256, TEXT(" "), TEXT("") } },
        ATTN_MERGES,
        { "*end", "a", " " },
    };
    int vocab;
    struct attn_gbnf is;
    void *memory, *block = block_of(&w, &vocab);
    (void)unused;
    assert_null(opened("root ::= \"a\"", block, vocab, 0, &is, &memory));
    assert_non_null(strstr(is.why, "(Strip)"));
    free(memory);
    free(block);
}

static void cannot_begin(void **unused)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "root ::= \"%\"", "no token of the vocabulary can begin" },
        { "root ::= \"\"", "matches only the empty text" },
        { "root ::= \" a\"", "no token of the vocabulary can begin" },
    };
    (void)unused;
    for (int i = 0; i < 3; i++) {
        int vocab;
        struct attn_gbnf is;
        void *memory, *block = block_of(&kinds[1], &vocab);
        assert_null(opened(rows[i].text, block, vocab, 0, &is, &memory));
        if (!strstr(is.why, rows[i].why))
            fail_msg("%s: %s", rows[i].text, is.why);
        free(memory);
        free(block);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_decoder),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(trims),
        cmocka_unit_test(cannot_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
