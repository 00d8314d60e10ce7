/* ranks.c: byte pair encoding by rank. A word's first symbols are its bytes or
 * its characters; then of all neighbours that a merge joins those of the lowest
 * rank are joined, the leftmost first, until none is left. Words that are one
 * token in the end are found at once.
 *
 * A pass joins all neighbours of the lowest rank, as one at a time would: what
 * it makes may be joined at a higher rank only, else a heap goes on. So does it
 * where a long word's passes join little.                                   */
#include "core.h"

#include <string.h>

struct ranks { /* the symbols of a word, [n] each; RANKS_NONE: no merge */
    const struct attn_vocab *v;
    int32_t *id, *from, *rank, *into;   /* rank, into: with the next one */
    int32_t *before, *next, *heap, *at; /* of the heap */
    int64_t n, heap_n, end;
    struct attn_pair last; /* that was looked for: letters repeat */
};

enum {
    RANKS_NONE = INT32_MAX,
    RANKS_MOST = INT32_MAX / 64, /* bytes of a word */
    RANKS_SHORT = 64,            /* symbols that passes always take */
    RANKS_LITTLE = 8             /* the part of a long word that one joins */
};

/* --------------------------------------------------------------- pairs --- */

/* The merge of symbols i and j goes to rank[i], into[i]. */
static void ranks_pair(struct ranks *r, int64_t i, int64_t j)
{
    const struct attn_vocab *v = r->v;
    const int32_t left = r->id[i], right = r->id[j];
    if (left != r->last.left || right != r->last.right) {
        int64_t at = attn_slot(attn_pair_hash(left, right), v->pairs);
        while (v->pair[at].left >= 0
               && (v->pair[at].left != left || v->pair[at].right != right)) {
            at++;
            if (at == v->pairs)
                at = 0;
        }
        r->last = v->pair[at];
        if (r->last.left < 0) {
            r->last.left = left;
            r->last.right = right;
            r->last.rank = RANKS_NONE;
        }
    }
    r->rank[i] = r->last.rank;
    r->into[i] = r->last.into;
}

/* ---------------------------------------------------------------- heap --- */

static int ranks_first(const struct ranks *r, int32_t a, int32_t b)
{
    if (r->rank[a] == r->rank[b])
        return a < b;
    return r->rank[a] < r->rank[b];
}

static void ranks_place(struct ranks *r, int64_t at, int32_t p)
{
    r->heap[at] = p;
    r->at[p] = (int32_t)at;
}

static void ranks_sift(struct ranks *r, int64_t at)
{
    const int32_t p = r->heap[at];
    while (at > 0 && ranks_first(r, p, r->heap[(at - 1) / 2])) {
        ranks_place(r, at, r->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        int64_t below = 2 * at + 1;
        if (below + 1 < r->heap_n
            && ranks_first(r, r->heap[below + 1], r->heap[below]))
            below++;
        if (below >= r->heap_n || !ranks_first(r, r->heap[below], p))
            break;
        ranks_place(r, at, r->heap[below]);
        at = below;
    }
    ranks_place(r, at, p);
}

static void ranks_remove(struct ranks *r, int32_t p)
{
    const int64_t at = r->at[p];
    if (at < 0)
        return;
    r->at[p] = -1;
    r->heap_n--;
    if (at == r->heap_n)
        return;
    ranks_place(r, at, r->heap[r->heap_n]);
    ranks_sift(r, at);
}

/* The merge of p and the one behind it, where there is one, into the heap. */
static void ranks_offer(struct ranks *r, int32_t p)
{
    ranks_remove(r, p);
    r->rank[p] = RANKS_NONE;
    if (r->next[p] >= 0)
        ranks_pair(r, p, r->next[p]);
    if (r->rank[p] == RANKS_NONE)
        return;
    r->heap_n++;
    ranks_place(r, r->heap_n - 1, p);
    ranks_sift(r, r->heap_n - 1);
}

static void ranks_join(struct ranks *r, int32_t p)
{
    const int32_t gone = r->next[p];
    ranks_remove(r, gone);
    r->id[p] = r->into[p];
    r->next[p] = r->next[gone];
    if (r->next[p] >= 0)
        r->before[r->next[p]] = p;
    ranks_offer(r, p);
    if (r->before[p] >= 0)
        ranks_offer(r, r->before[p]);
}

/* The rest, one at a time. */
static void ranks_by_heap(struct ranks *r)
{
    const int32_t n = (int32_t)r->n;
    r->heap_n = 0;
    for (int32_t i = 0; i < n; i++) {
        r->before[i] = i - 1;
        r->next[i] = i + 1 < n ? i + 1 : -1;
        r->at[i] = -1;
    }
    for (int32_t i = 0; i < n; i++)
        ranks_offer(r, i);
    while (r->heap_n > 0)
        ranks_join(r, r->heap[0]);
    r->n = 0;
    for (int32_t i = 0; i >= 0 && n > 0; i = r->next[i]) {
        r->id[r->n] = r->id[i];
        r->from[r->n] = r->from[i];
        r->n++;
    }
}

/* -------------------------------------------------------------- passes --- */

/* Joins all neighbours of this rank from the left; 0: what it made is joined at
 * a lower rank, before the rest of them. *least: the lowest rank then.       */
static int ranks_pass(struct ranks *r, int32_t rank, int32_t *least)
{
    int64_t kept = 0, i = 0;
    int joined = 0, was = 0, ordered = 1;
    *least = RANKS_NONE;
    while (i < r->n) {
        joined = ordered && i + 1 < r->n && r->rank[i] == rank;
        if (joined && was) { /* first what was made, with this one alone */
            ranks_pair(r, kept - 1, i);
            ordered = r->rank[kept - 1] >= rank;
            joined = ordered;
        }
        r->id[kept] = joined ? r->into[i] : r->id[i];
        r->from[kept] = r->from[i];
        r->rank[kept] = r->rank[i];
        r->into[kept] = r->into[i];
        if (kept > 0) {
            if (joined || was)
                ranks_pair(r, kept - 1, kept);
            ordered = ordered && r->rank[kept - 1] >= rank;
            *least = (int32_t)attn_min(*least, r->rank[kept - 1]);
        }
        was = joined;
        i += 1 + joined;
        kept++;
    }
    r->n = kept;
    return ordered;
}

static void ranks_merge(struct ranks *r)
{
    int32_t least = RANKS_NONE;
    r->last.left = -1;
    for (int64_t i = 0; i + 1 < r->n; i++) {
        ranks_pair(r, i, i + 1);
        least = (int32_t)attn_min(least, r->rank[i]);
    }
    while (least != RANKS_NONE) {
        const int64_t n = r->n;
        if (!ranks_pass(r, least, &least)) {
            ranks_by_heap(r);
            return;
        }
        if (n > RANKS_SHORT && n - r->n < n / RANKS_LITTLE) {
            ranks_by_heap(r);
            return;
        }
    }
}

/* ------------------------------------------------------------- symbols --- */

struct ranks_unknown { /* unknown characters that wait for a known one */
    int64_t bytes;
};

static void ranks_add(struct ranks *r, int32_t id, int64_t bytes)
{
    r->id[r->n] = id;
    r->from[r->n] = (int32_t)r->end;
    r->end += bytes;
    r->n++;
}

static void ranks_flush(struct ranks *r, struct ranks_unknown *u)
{
    if (u->bytes > 0)
        ranks_add(r, r->v->head->unknown, u->bytes);
    u->bytes = 0;
}

/* A character of n bytes that is no token: its bytes', or an unknown one, or
 * none at all.                                                              */
static void ranks_unknown_character(struct ranks *r, const char *s, int64_t n,
                                    struct ranks_unknown *u)
{
    const struct attn_vocab_header *h = r->v->head;
    int known = (h->flags & ATTN_MODEL_FALLBACK) != 0;
    for (int64_t i = 0; i < n && known; i++)
        known = r->v->byte[(unsigned char)s[i]] >= 0;
    if (known) {
        for (int64_t i = 0; i < n; i++)
            ranks_add(r, r->v->byte[(unsigned char)s[i]], 1);
        return;
    }
    if (h->unknown < 0)
        return;
    if (!(h->flags & ATTN_MODEL_FUSE))
        ranks_flush(r, u);
    u->bytes += n;
}

static void ranks_bytes(struct ranks *r, const char *s, int64_t n)
{
    const struct attn_vocab *v = r->v;
    struct ranks_unknown u = { 0 };
    for (int64_t i = 0; i < n; i++) {
        const int32_t *table = v->byte;
        if (i == n - 1 && v->byte_last)
            table = v->byte_last;
        const int32_t id = table[(unsigned char)s[i]];
        if (id >= 0) {
            ranks_flush(r, &u);
            ranks_add(r, id, 1);
        } else if (v->head->unknown >= 0) {
            if (!(v->head->flags & ATTN_MODEL_FUSE))
                ranks_flush(r, &u);
            u.bytes++;
        }
    }
    ranks_flush(r, &u);
}

/* The token of a character, with what stands for its place in the word. */
static int32_t ranks_find(const struct ranks *r, const char *s, int64_t n,
                          int first, int last)
{
    const struct attn_vocab *v = r->v;
    struct attn_part prefix = v->head->prefix, suffix = v->head->suffix;
    char text[2 * ATTN_AFFIX + 4];
    if (first)
        prefix.bytes = 0;
    if (!last)
        suffix.bytes = 0;
    if (prefix.bytes + suffix.bytes > 0) {
        memcpy(text, v->strings + prefix.at, prefix.bytes);
        memcpy(text + prefix.bytes, s, (size_t)n);
        memcpy(text + prefix.bytes + n, v->strings + suffix.at, suffix.bytes);
        s = text;
        n += prefix.bytes + suffix.bytes;
    }
    const int32_t id = attn_find(v, s, n);
    return id >= 0 && v->piece[id] & ATTN_PIECE_ADDED ? -1 : id;
}

static void ranks_characters(struct ranks *r, const char *s, int64_t n)
{
    struct ranks_unknown u = { 0 };
    int64_t at = 0;
    while (at < n) {
        const int64_t bytes = attn_max(attn_character(s + at, n - at), 1);
        const int32_t id = ranks_find(r, s + at, bytes, at == 0,
                                      at + bytes == n);
        if (id >= 0) {
            ranks_flush(r, &u);
            ranks_add(r, id, bytes);
        } else {
            ranks_unknown_character(r, s + at, bytes, &u);
        }
        at += bytes;
    }
    ranks_flush(r, &u);
}

/* -------------------------------------------------------------- encode --- */

static void ranks_lay_out(struct ranks *r, int64_t n, struct attn_memory *at)
{
    int32_t **const part[] = { &r->id,     &r->from, &r->rank, &r->into,
                               &r->before, &r->next, &r->heap, &r->at };
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        *part[i] = attn_take(at, n, sizeof **part[i]);
}

ATTN_API int64_t attn_ranks_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    struct ranks r;
    (void)v;
    if (bytes < 0 || bytes > RANKS_MOST)
        return -1;
    attn_memory_open(&at, NULL);
    ranks_lay_out(&r, bytes, &at);
    return attn_memory_bytes(&at);
}

/* The token that the word is at once; -1: it is not known to be one. */
static int32_t ranks_word(const struct attn_vocab *v, const char *s, int64_t n)
{
    int64_t at;
    uint32_t suffix = v->head->suffix.bytes;
    if (v->words == 0)
        return -1;
    if (v->head->flags & ATTN_MODEL_WHOLE)
        suffix = 0;
    at = attn_slot(attn_text_hash(s, n), v->words);
    while (v->word[at] != 0) {
        const uint32_t *offset = v->offset + v->word[at] - 1;
        if ((int64_t)offset[1] - (int64_t)offset[0] == n + suffix
            && memcmp(v->text + offset[0], s, (size_t)n) == 0)
            return (int32_t)(v->word[at] - 1);
        at++;
        if (at == v->words)
            at = 0;
    }
    return -1;
}

ATTN_API int64_t attn_ranks(struct attn_encoding *e, const char *text,
                            int64_t n)
{
    struct attn_memory at;
    struct ranks r;
    int64_t wrong = 0;
    const int32_t word = ranks_word(&e->vocab, text, n);
    if (word >= 0)
        return attn_encode_put(e, word, 0, n);
    attn_memory_open(&at, e->memory);
    ranks_lay_out(&r, n, &at);
    r.v = &e->vocab;
    r.n = 0;
    r.end = 0;
    if (r.v->head->flags & ATTN_MODEL_BYTES)
        ranks_bytes(&r, text, n);
    else
        ranks_characters(&r, text, n);
    ranks_merge(&r);
    for (int64_t i = 0; i < r.n && wrong == 0; i++)
        wrong = attn_encode_put(e, r.id[i], r.from[i],
                                i + 1 < r.n ? r.from[i + 1] : r.end);
    return wrong;
}

ATTN_API const char *attn_ranks_check(const struct attn_vocab *v)
{
    const struct attn_vocab_header *h = v->head;
    const int64_t size = (int64_t)h->size + h->extra;
    const int bytes = (h->flags & ATTN_MODEL_BYTES) != 0;
    int64_t empty = 0;
    if (!v->piece
        || (!v->byte && h->flags & (ATTN_MODEL_BYTES | ATTN_MODEL_FALLBACK)))
        return "vocabulary: its merges have no pieces or bytes";
    if (bytes && h->suffix.bytes > 0 && !v->byte_last)
        return "vocabulary: no last bytes of words";
    if (h->prefix.bytes > ATTN_AFFIX || h->suffix.bytes > ATTN_AFFIX)
        return "vocabulary: a word's end is too long";
    for (int64_t i = 0; i < v->pairs; i++) {
        const struct attn_pair *p = &v->pair[i];
        empty += p->left < 0;
        if (p->left >= 0 && (p->into < 0 || p->into >= size))
            return "vocabulary: a merge makes no token";
    }
    return empty > 0 ? NULL : "vocabulary: a table without an end";
}
