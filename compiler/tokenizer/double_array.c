/* double_array.c: builds the double array that a model uses to match tokens in
 * a text (runtime/text/text.h, struct attn_trie), with 32 bits per node. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/block.h"

typedef struct {
    const char *at;
    size_t n;
    unsigned char root; /* a byte that precedes the text; 0: none */
    int32_t id;
} Key;

typedef struct { /* keys that share their first `depth` bytes, and the node for
                  * these bytes */
    int64_t from, to;
    size_t depth;
    uint32_t node;
} Part;

typedef struct {
    Key *key;
    uint32_t *unit;
    unsigned char *taken; /* by unit; bit 0: it is a node; bit 1: it is the
                             base of some node's children */
    uint32_t units, first;
    Part *part; /* stack of nodes whose children are not placed yet */
    int64_t parts, cap;
    bool failed;
} Trie;

/* Returns the byte at `depth`, or 0 at the key's end. */
static unsigned key_byte(const Key *k, size_t depth)
{
    if (k->root != 0 && depth == 0)
        return k->root;
    depth -= k->root != 0;
    return depth < k->n ? (unsigned char)k->at[depth] : 0;
}

static int by_bytes(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    if (x->root != y->root)
        return x->root < y->root ? -1 : 1;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order ? order : x->id - y->id;
}

/* ---- double array ---- */

static bool more_units(Trie *t)
{
    const uint32_t n = t->units + 256;
    if (n % 65536 == 256 || t->units == 0) {
        const size_t room = t->units + 65536;
        uint32_t *unit = realloc(t->unit, room * sizeof *unit);
        if (unit)
            t->unit = unit;
        unsigned char *taken = unit ? realloc(t->taken, room) : NULL;
        if (taken)
            t->taken = taken;
        if (!taken)
            return false;
    }
    memset(t->unit + t->units, 0, 256 * sizeof *t->unit);
    memset(t->taken + t->units, 0, 256);
    t->units = n;
    return true;
}

/* Encodes the offset from a node to its children, or returns 0 if it cannot be
 * encoded. */
static uint32_t distance(uint32_t node, uint32_t place)
{
    const uint32_t far = node ^ place;
    if (far < 1u << 21)
        return far << 10;
    if (far < 1u << 29 && (far & 0xff) == 0)
        return far << 2 | 1u << 9;
    return 0;
}

static bool fits(const Trie *t, uint32_t node, uint32_t place,
                 const unsigned char *label, int n)
{
    if (t->taken[place] & 2 || distance(node, place) == 0)
        return false;
    for (int i = 0; i < n; i++)
        if (t->taken[place ^ label[i]] & 1)
            return false;
    return true;
}

/* Returns a base for children with these labels, which must ascend. Returns
 * UINT32_MAX if memory runs out. */
static uint32_t find_place(Trie *t, uint32_t node, const unsigned char *label,
                           int n)
{
    uint32_t taken = 0, begin = t->first;
    for (uint32_t at = begin;; at++) {
        if (at == t->units && !more_units(t))
            return UINT32_MAX;
        if (t->taken[at] & 1) {
            taken++;
            continue;
        }
        if (!fits(t, node, at ^ label[0], label, n))
            continue;
        if (taken >= (at - begin + 1) / 20 * 19)
            t->first = at;
        return at ^ label[0];
    }
}

static void push(Trie *t, Part part)
{
    if (t->parts == t->cap) {
        const int64_t cap = t->cap ? 2 * t->cap : 1024;
        Part *more = realloc(t->part, (size_t)cap * sizeof *more);
        if (!more) {
            t->failed = true;
            return;
        }
        t->part = more;
        t->cap = cap;
    }
    t->part[t->parts++] = part;
}

/* Places the children of one node. */
static void arrange(Trie *t, Part p)
{
    unsigned char label[256];
    int n = 0;
    for (int64_t i = p.from; i < p.to; i++) {
        const unsigned char byte = (unsigned char)key_byte(&t->key[i], p.depth);
        if (n == 0 || label[n - 1] != byte)
            label[n++] = byte;
    }
    const uint32_t place = find_place(t, p.node, label, n);
    if (place == UINT32_MAX) {
        t->failed = true;
        return;
    }
    t->taken[place] |= 2;
    t->unit[p.node] |= distance(p.node, place);
    for (int64_t i = p.from, end; i < p.to; i = end) {
        const unsigned byte = key_byte(&t->key[i], p.depth);
        const uint32_t child = place ^ byte;
        for (end = i + 1; end < p.to; end++)
            if (key_byte(&t->key[end], p.depth) != byte)
                break;
        t->taken[child] |= 1;
        if (byte == 0) {
            t->unit[p.node] |= 1u << 8;
            t->unit[child] = (uint32_t)t->key[i].id | 1u << 31;
        } else {
            t->unit[child] = byte;
            push(t, (Part){ i, end, p.depth + 1, child });
        }
    }
}

static void build(Trie *t, int64_t keys)
{
    qsort(t->key, (size_t)keys, sizeof *t->key, by_bytes);
    if (!more_units(t)) {
        t->failed = true;
        return;
    }
    t->taken[0] = 1;
    t->first = 1;
    if (keys > 0)
        push(t, (Part){ 0, keys, 0, 0 });
    while (t->parts > 0 && !t->failed)
        arrange(t, t->part[--t->parts]);
}

/* ---- keys ---- */

static bool has_nul(const Token *k)
{
    return memchr(k->at, 0, k->n) != NULL;
}

/* True if the model finds this token in its trie. */
static bool is_key(const Tokenizer *t, const Token *k)
{
    if (k->n == 0 || (k->piece & (ATTN_PIECE_UNUSED | ATTN_PIECE_ADDED))
        || has_nul(k))
        return false;
    return t->kind != ATTN_MERGES || (k->piece & ATTN_PIECE_USER);
}

static int64_t add_keys(const Tokenizer *t, const Token *k, Key *key)
{
    const bool words = t->kind == ATTN_WORDPIECE;
    if (!is_key(t, k))
        return 0;
    key[0] = (Key){ k->at, k->n, words ? 1 : 0, k->id };
    if (!words || k->n <= t->prefix.n
        || (t->prefix.n > 0 && memcmp(k->at, t->prefix.at, t->prefix.n) != 0))
        return 1;
    key[1] = (Key){ k->at + t->prefix.n, k->n - t->prefix.n, 2, k->id };
    return 2;
}

/* Returns the highest score, and a score for unknown text that is below all
 * others. */
static struct attn_unigram_head scores(const Tokenizer *t)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = 0; i < t->tokens; i++) {
        const Token *k = &t->token[i];
        if ((t->flags & ATTN_MODEL_FLOATS) && k->piece != ATTN_PIECE_NORMAL)
            continue;
        least = fmin(least, k->score);
        most = fmax(most, k->score);
    }
    if (t->flags & ATTN_MODEL_FLOATS)
        return (struct attn_unigram_head){ (double)((float)least - 10.0f),
                                           most };
    return (struct attn_unigram_head){ least - 10.0, most };
}

static bool has_trie(const Tokenizer *t)
{
    if (t->kind == ATTN_WORDPIECE || t->kind == ATTN_UNIGRAM)
        return true;
    for (int64_t i = 0; t->kind == ATTN_MERGES && i < t->tokens; i++)
        if (t->token[i].piece & ATTN_PIECE_USER)
            return true;
    return false;
}

void trie_of_tokens(Bytes *out, const Tokenizer *t)
{
    Trie trie = { 0 };
    int64_t keys = 0;
    if (!has_trie(t))
        return;
    trie.key = calloc((size_t)t->tokens * 2 + 1, sizeof *trie.key);
    if (!trie.key) {
        out->full = true;
        return;
    }
    for (int64_t i = 0; i < t->tokens; i++)
        keys += add_keys(t, &t->token[i], trie.key + keys);
    build(&trie, keys);
    const struct attn_unigram_head head = scores(t);
    bytes_add(out, &head, sizeof head);
    if (!trie.failed)
        bytes_add(out, trie.unit, trie.units * sizeof *trie.unit);
    out->full |= trie.failed;
    free(trie.key);
    free(trie.unit);
    free(trie.taken);
    free(trie.part);
}
