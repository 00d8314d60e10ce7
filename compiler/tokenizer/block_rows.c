/* block_rows.c: builds the tables of a block: of texts, of merges, and the trie
 * of added tokens. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/block.h"

void bytes_add(Bytes *b, const void *at, size_t n)
{
    if (b->full || n == 0)
        return;
    if (n > b->cap - b->n) {
        const size_t cap = 2 * (b->n + n);
        char *more = realloc(b->at, cap);
        if (!more) {
            b->full = true;
            return;
        }
        b->at = more;
        b->cap = cap;
    }
    if (at)
        memcpy(b->at + b->n, at, n);
    else
        memset(b->at + b->n, 0, n);
    b->n += n;
}

/* Returns a number of slots for n entries such that a third stay empty, which
 * keeps lookups short. */
static int64_t slots_of(int64_t n)
{
    return n + n / 2 + 8;
}

void table_of_texts(Bytes *out, const Token *token, const int32_t *id,
                    int64_t n, size_t suffix)
{
    const int64_t slots = slots_of(n);
    bytes_add(out, NULL, (size_t)slots * 4);
    if (out->full)
        return;
    uint32_t *slot = (uint32_t *)(void *)out->at;
    for (int64_t i = 0; i < n; i++) {
        const Token *t = &token[id[i]];
        int64_t at = attn_slot(attn_text_hash(t->at, (int64_t)(t->n - suffix)),
                               slots);
        while (slot[at])
            at = (at + 1) % slots;
        slot[at] = (uint32_t)t->id + 1;
    }
}

void table_of_merges(Bytes *out, const Merge *merge, int64_t n)
{
    /* leave more slots empty, because most lookups fail and end at one */
    const int64_t slots = 2 * n + n / 2 + 8;
    bytes_add(out, NULL, (size_t)slots * sizeof(struct attn_pair));
    if (out->full)
        return;
    struct attn_pair *slot = (struct attn_pair *)(void *)out->at;
    for (int64_t i = 0; i < slots; i++)
        slot[i].left = -1;
    for (int64_t i = 0; i < n; i++) {
        const Merge *m = &merge[i];
        int64_t at = attn_slot(attn_pair_hash(m->left, m->right), slots);
        while (slot[at].left >= 0
               && (slot[at].left != m->left || slot[at].right != m->right))
            at = (at + 1) % slots;
        slot[at] = (struct attn_pair){ m->left, m->right, (int32_t)i, m->into };
    }
}

/* ---- tries ---- */

typedef struct {
    const char *text;
    size_t n;
    int32_t row;
} Leaf;

/* Orders texts by their bytes, with a prefix before longer texts; orders equal
 * texts by row. */
static int tokens_by_text(const void *a, const void *b)
{
    const Leaf *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->n < y->n ? x->n : y->n);
    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order ? order : x->row - y->row;
}

/* Builds the node for leaves that share their first `depth` bytes. The children
 * of a node are adjacent, so all of them are placed before any of their
 * descendants. */
static void grow_trie(Bytes *out, size_t node, const Leaf *leaf, int64_t n,
                      size_t depth)
{
    struct attn_node at = { .row = -1 };
    int64_t first = 0;
    while (first < n && leaf[first].n == depth)
        at.row = leaf[first++].row; /* for equal texts, the last row counts */
    at.child = (uint32_t)(out->n / sizeof at);
    for (int64_t i = first; i < n; i++)
        if (i == first || leaf[i].text[depth] != leaf[i - 1].text[depth])
            at.children++;
    if (at.children == 0)
        at.child = 0;
    bytes_add(out, NULL, at.children * sizeof at);
    if (out->full)
        return;
    struct attn_node *here = (struct attn_node *)(void *)out->at + node;
    at.byte = here->byte;
    *here = at;
    for (int64_t i = first, child = at.child; i < n; child++) {
        int64_t end = i + 1;
        while (end < n && leaf[end].text[depth] == leaf[i].text[depth])
            end++;
        here = (struct attn_node *)(void *)out->at + child;
        here->byte = (unsigned char)leaf[i].text[depth];
        grow_trie(out, (size_t)child, leaf + i, end - i, depth + 1);
        if (out->full)
            return;
        i = end;
    }
}

void trie_of_added(Bytes *out, const struct attn_added *row, int64_t n,
                   const char *strings)
{
    Leaf *leaf = malloc((size_t)(n + 1) * sizeof *leaf);
    bytes_add(out, NULL, 2 * sizeof(struct attn_node));
    out->full = out->full || !leaf;
    for (size_t root = 0; root < 2 && !out->full; root++) {
        int64_t leaves = 0;
        for (int64_t i = 0; i < n; i++)
            if (row[i].text.bytes > 0
                && !(row[i].flags & ATTN_ADDED_NORMALISED) == !root)
                leaf[leaves++] = (Leaf){ strings + row[i].text.at,
                                         row[i].text.bytes, (int32_t)i };
        qsort(leaf, (size_t)leaves, sizeof *leaf, tokens_by_text);
        grow_trie(out, root, leaf, leaves, 0);
    }
    free(leaf);
}
