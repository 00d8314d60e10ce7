/* trie.c: looks up texts in the model's trie. */
#include "runtime/core.h"

ATTN_API const struct attn_unigram_head *
attn_unigram_head_of(const struct attn_vocab *v)
{
    int64_t bytes;
    return attn_vocab_section(v->head, ATTN_MODEL_TRIE, &bytes);
}

ATTN_API int64_t attn_texts(const struct attn_vocab *v)
{
    return (int64_t)v->head->size + v->head->extra;
}

ATTN_API int attn_trie_open(const struct attn_vocab *v, struct attn_trie *t)
{
    int64_t bytes = 0, head = (int64_t)sizeof(struct attn_unigram_head);
    const char *at = attn_vocab_section(v->head, ATTN_MODEL_TRIE, &bytes);
    t->unit = NULL;
    t->units = 0;
    if (!at || bytes < head + 4)
        return 0;
    t->unit = (const uint32_t *)(const void *)(at + head);
    t->units = (bytes - head) / 4;
    return 1;
}

ATTN_API int64_t attn_user_piece(const struct attn_vocab *v,
                                 const struct attn_trie *t, const char *s,
                                 int64_t n, int64_t *id)
{
    int64_t longest = 0, here;
    if (t->units == 0)
        return 0;
    uint32_t node = attn_trie_root(t);
    for (int64_t i = 0; i < n; i++) {
        if (!attn_trie_next(t, &node, (unsigned char)s[i], &here))
            break;
        if (here >= 0 && here < attn_texts(v)
            && (v->piece[here] & ATTN_PIECE_USER)) {
            longest = i + 1;
            *id = here;
        }
    }
    return longest;
}
