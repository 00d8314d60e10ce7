/* trie.c: the trie of a model's texts. */
#include "core.h"

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
