/* scores_test.c: tests merging of random pieces by score against a plain search
 * through all neighbours: with separate words and not, with characters that are
 * no pieces, with equal scores, with the table of pairs and without. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/block.h"

enum { MostTokens = 40, MostText = 90, Vocabularies = 300, Lines = 25 };

typedef struct {
    Token token[MostTokens];
    char text[MostTokens][8];
    Tokenizer t;
} Random;

static uint32_t below(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static int find(const Random *r, const char *s, size_t n)
{
    for (int i = 1; i < r->t.tokens; i++)
        if (r->token[i].n == n && memcmp(r->token[i].at, s, n) == 0)
            return i;
    return -1;
}

static void add(Random *r, const char *s, size_t n, uint32_t *seed)
{
    const int id = (int)r->t.tokens;
    if (id == MostTokens || find(r, s, n) >= 0)
        return;
    memcpy(r->text[id], s, n);
    r->token[id] = (Token){
        .at = r->text[id], .n = n, .id = id, .score = -(double)below(seed, 12)
    };
    r->t.tokens++;
}

/* Draws mostly letters; with `apart`, spaces only in front of words. */
static void draw(Random *r, bool apart, uint32_t *seed)
{
    static const char letters[] = "ab c";
    memset(r, 0, sizeof *r);
    r->token[0] = (Token){ .at = "<unk>",
                           .n = 5,
                           .piece = ATTN_PIECE_UNKNOWN | ATTN_PIECE_UNUSED };
    r->t = (Tokenizer){ .path = "drawn",
                        .kind = ATTN_MERGES,
                        .token = r->token,
                        .tokens = 1,
                        .special = { -1, -1, -1, -1, 0, 0 } };
    for (int i = 0; i < 4; i++)
        if (below(seed, 5) > 0)
            add(r, letters + i, 1, seed);
    for (int i = 0; i < 60; i++) {
        char text[8];
        const size_t n = 2 + below(seed, 4);
        for (size_t k = 0; k < n; k++)
            do
                text[k] = letters[below(seed, 4)];
            while (apart && k > 0 && text[k] == ' ' && text[k - 1] != ' ');
        add(r, text, n, seed);
    }
}

/* Computes the ids of a text by examining all neighbours each time. */
static int64_t plain(const Random *r, const char *s, int64_t n, int32_t *id)
{
    int64_t from[MostText + 1], count = n;
    for (int64_t i = 0; i <= n; i++)
        from[i] = i;
    for (;;) {
        int64_t best = -1;
        double score = 0;
        for (int64_t i = 0; i + 1 < count; i++) {
            const int into = find(r, s + from[i],
                                  (size_t)(from[i + 2] - from[i]));
            if (into < 0 || (best >= 0 && r->token[into].score <= score))
                continue;
            best = i;
            score = r->token[into].score;
        }
        if (best < 0)
            break;
        memmove(from + best + 1, from + best + 2,
                (size_t)(count - best - 1) * sizeof *from);
        count--;
    }
    for (int64_t i = 0; i < count; i++) {
        const int at = find(r, s + from[i], (size_t)(from[i + 1] - from[i]));
        id[i] = at < 0 ? 0 : at;
    }
    return count;
}

static void compare(const Random *r, const void *block, uint32_t *seed)
{
    static char memory[1 << 16];
    char text[MostText];
    int32_t id[MostText], want[MostText];
    int64_t bad;
    const int64_t n = below(seed, MostText);
    for (int64_t i = 0; i < n; i++)
        text[i] = "abc x"[below(seed, 5)];
    assert_in_range(attn_vocab_encode_bytes(block, n), 0, sizeof memory);
    const int64_t got = attn_vocab_encode(block, text, n, 0, id, MostText,
                                          memory, &bad);
    const int64_t count = plain(r, text, n, want);
    if (got != count || memcmp(id, want, (size_t)count * sizeof *id) != 0)
        fail_msg("'%.*s': %d tokens, not %d, or others", (int)n, text, (int)got,
                 (int)count);
}

static void merges_the_highest_score(void **state)
{
    uint32_t seed = 5;
    int apart = 0;
    (void)state;
    for (int i = 0; i < Vocabularies; i++) {
        Random r;
        int64_t bytes;
        Fault why = { 0 };
        draw(&r, i % 2 == 0, &seed);
        char *block = tokenizer_block(&r.t, &bytes, &why);
        if (!block)
            fail_msg("%s", why.text);
        struct attn_vocab_header *h = (void *)block;
        apart += (h->flags & ATTN_MODEL_APART) != 0;
        for (int k = 0; k < Lines; k++)
            compare(&r, block, &seed);
        h->section[ATTN_PAIRS] = (struct attn_section){ 0, 0 };
        assert_null(attn_vocab_check(block, bytes));
        for (int k = 0; k < Lines; k++)
            compare(&r, block, &seed);
        free(block);
    }
    assert_in_range(apart, Vocabularies / 2, Vocabularies - 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_the_highest_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
