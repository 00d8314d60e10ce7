/* wordpiece.c: splits a word into tokens from left to right, always at the
 * longest match. Tokens inside a word have a prefix, "##". A word that is too
 * long, or cannot be split in this way, is one unknown token. */
#include "runtime/core.h"

/* The trie contains all tokens, preceded by byte WORDPIECE_WORD, and the tokens
 * inside words, preceded by byte WORDPIECE_INSIDE instead of their prefix. */
enum { WORDPIECE_WORD = 1, WORDPIECE_INSIDE = 2 };

ATTN_API const char *attn_wordpiece_check(const struct attn_vocab *v)
{
    struct attn_trie t;
    if (!attn_trie_open(v, &t))
        return "vocabulary: WordPiece without its tokens' trie";
    return NULL;
}

/* A token of the word, and the position where it ends. */
struct wordpiece_token {
    int32_t id, end;
};

static struct wordpiece_token *wordpiece_take(struct attn_memory *at,
                                              int64_t bytes)
{
    return attn_take(at, bytes + 1, sizeof(struct wordpiece_token));
}

ATTN_API int64_t attn_wordpiece_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    (void)v;
    if (bytes < 0 || bytes > INT32_MAX)
        return -1;
    attn_memory_open(&at, NULL);
    wordpiece_take(&at, bytes);
    return attn_memory_bytes(&at);
}

/* Finds the longest token at the start of s. Returns its id and sets *bytes, or
 * returns -1. */
static int64_t wordpiece_longest(const struct attn_trie *t, int root,
                                 const char *s, int64_t n, int64_t *bytes)
{
    uint32_t node = attn_trie_root(t);
    int64_t id = -1, here;
    if (!attn_trie_next(t, &node, (unsigned char)root, &here))
        return -1;
    for (int64_t i = 0; i < n; i++) {
        if (!attn_trie_next(t, &node, (unsigned char)s[i], &here))
            break;
        if (here >= 0) {
            id = here;
            *bytes = i + 1;
        }
    }
    return id;
}

static int wordpiece_is_long(const struct attn_vocab *v, const char *s,
                             int64_t n)
{
    int64_t characters = 0;
    if (v->head->most <= 0 || n <= v->head->most)
        return 0;
    for (int64_t i = 0; i < n; i++)
        characters += (s[i] & 0xc0) != 0x80;
    return characters > v->head->most;
}

/* Returns the number of tokens of the word; 0: the word cannot be split. */
static int64_t wordpiece_cut(const struct attn_vocab *v, const char *s,
                             int64_t n, struct wordpiece_token *token)
{
    struct attn_trie t;
    int64_t at = 0, tokens = 0, bytes = 0;
    int root = WORDPIECE_WORD;
    if (!attn_trie_open(v, &t) || wordpiece_is_long(v, s, n))
        return 0;
    while (at < n) {
        int64_t id = wordpiece_longest(&t, root, s + at, n - at, &bytes);
        if (id < 0 || id >= attn_texts(v))
            return 0;
        at += bytes;
        token[tokens].id = (int32_t)id;
        token[tokens].end = (int32_t)at;
        tokens++;
        root = WORDPIECE_INSIDE;
    }
    return tokens;
}

ATTN_API int64_t attn_wordpiece(struct attn_encoding *e, const char *text,
                                int64_t n)
{
    struct attn_memory at;
    int64_t from = 0, wrong = 0;
    attn_memory_open(&at, e->memory);
    struct wordpiece_token *token = wordpiece_take(&at, n);
    int64_t tokens = wordpiece_cut(&e->vocab, text, n, token);
    if (n == 0)
        return 0;
    if (tokens == 0) {
        if (e->vocab.head->unknown < 0)
            return attn_encode_bad(e, ATTN_ERROR_UNKNOWN, 0);
        return attn_encode_put(e, e->vocab.head->unknown, 0, n);
    }
    for (int64_t i = 0; i < tokens && wrong == 0; i++) {
        wrong = attn_encode_put(e, token[i].id, from, token[i].end);
        from = token[i].end;
    }
    return wrong;
}
