/* ranks.c: byte pair encoding by rank. A word's first symbols are its bytes or
 * its characters. Then the neighbours whose merge has the lowest rank are
 * joined, the leftmost first, until no merge applies. Words that are known to
 * be a single token are looked up directly.
 *
 * One pass joins all neighbours of the lowest rank. If new symbols merge only
 * at higher ranks, the result is the same as with one join at a time. If they
 * do not, or if passes over a long word join few symbols, a heap finishes the
 * word. */
#include "runtime/core.h"

#include <string.h>

enum {
    RANKS_NONE = INT32_MAX,      /* rank of symbols that do not merge */
    RANKS_MOST = INT32_MAX / 64, /* maximum bytes of a word */
    RANKS_FEW = 40,              /* maximum symbols for a linear search */
    RANKS_SHORT = 64, /* maximum symbols for which only passes are used */
    RANKS_LITTLE = 8  /* a pass must join at least 1/8 of the symbols */
};

/* ---- pieces ---- */

ATTN_API int32_t attn_piece_find(const struct attn_vocab *v, const char *text,
                                 int64_t n)
{
    const int32_t id = attn_find(v, text, n);
    const int not_text = ATTN_PIECE_KIND | ATTN_PIECE_UNUSED;
    if (id >= 0 && (v->piece[id] & not_text) != ATTN_PIECE_NORMAL)
        return -1;
    return id;
}

/* Returns the negated order of the score: its bits as an integer, with the
 * order of negative floats reversed. A higher score has a lower rank. */
ATTN_API int32_t attn_piece_rank(const struct attn_vocab *v, int32_t id)
{
    const float score = ((const float *)v->score)[id] + 0.0f;
    int32_t bits;
    memcpy(&bits, &score, sizeof bits);
    if (bits < 0)
        bits ^= INT32_MAX;
    return -bits;
}

/* ---- pairs ---- */

static const struct attn_pair *ranks_in_table(const struct attn_vocab *v,
                                              int32_t left, int32_t right)
{
    const struct attn_pair *at = v->pair, *const end = at + v->pairs;
    at += attn_slot(attn_pair_hash(left, right), v->pairs);
    while (at->left >= 0 && (at->left != left || at->right != right)) {
        at++;
        if (at == end)
            at = v->pair;
    }
    return at;
}

/* Returns the length of a symbol's text: that of its token, or of one
 * character. */
static int64_t ranks_length(const struct attn_symbols *r, int32_t id,
                            int64_t from)
{
    const uint32_t *offset = r->v->offset;
    if (id >= 0)
        return (int64_t)offset[id + 1] - (int64_t)offset[id];
    return attn_max(attn_character(r->text + from, r->end - from), 1);
}

/* Finds the merge of symbols i and j from the piece with their joined text. */
static struct attn_pair ranks_in_texts(const struct attn_symbols *r, int64_t i,
                                       int64_t j)
{
    struct attn_pair pair = { -1, -1, RANKS_NONE, -1 };
    const int64_t end = r->symbol[j].from
                      + ranks_length(r, r->symbol[j].id, r->symbol[j].from);
    const int32_t id = attn_piece_find(r->v, r->text + r->symbol[i].from,
                                       end - r->symbol[i].from);
    if (id < 0)
        return pair;
    pair.left = 0;
    pair.into = id;
    pair.rank = attn_piece_rank(r->v, id);
    return pair;
}

/* Looks up the merge of symbols i and j, and stores it in symbol i. */
static void ranks_pair(struct attn_symbols *r, int64_t i, int64_t j)
{
    const int32_t left = r->symbol[i].id, right = r->symbol[j].id;
    const int known = left >= 0 && right >= 0;
    if (left != r->last.left || right != r->last.right || !known) {
        if (r->text && (!known || r->v->pairs == 0))
            r->last = ranks_in_texts(r, i, j);
        else
            r->last = *ranks_in_table(r->v, left, right);
        if (r->last.left < 0)
            r->last.rank = RANKS_NONE;
        r->last.left = left;
        r->last.right = right;
    }
    r->symbol[i].rank = r->last.rank;
    r->symbol[i].into = r->last.into;
}

/* ---- heap ---- */

static int ranks_first(const struct attn_symbols *r, int32_t a, int32_t b)
{
    if (r->symbol[a].rank == r->symbol[b].rank)
        return a < b;
    return r->symbol[a].rank < r->symbol[b].rank;
}

static void ranks_place(struct attn_symbols *r, int64_t at, int32_t p)
{
    r->heap[at] = p;
    r->at[p] = (int32_t)at;
}

static void ranks_sift(struct attn_symbols *r, int64_t at)
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

static void ranks_remove(struct attn_symbols *r, int32_t p)
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

/* Puts the merge of symbol p and the next symbol into the heap, if they
 * merge. */
static void ranks_offer(struct attn_symbols *r, int32_t p)
{
    ranks_remove(r, p);
    r->symbol[p].rank = RANKS_NONE;
    if (r->next[p] >= 0)
        ranks_pair(r, p, r->next[p]);
    if (r->symbol[p].rank == RANKS_NONE)
        return;
    r->heap_n++;
    ranks_place(r, r->heap_n - 1, p);
    ranks_sift(r, r->heap_n - 1);
}

static void ranks_join(struct attn_symbols *r, int32_t p)
{
    const int32_t gone = r->next[p];
    ranks_remove(r, gone);
    r->symbol[p].id = r->symbol[p].into;
    r->next[p] = r->next[gone];
    if (r->next[p] >= 0)
        r->before[r->next[p]] = p;
    ranks_offer(r, p);
    if (r->before[p] >= 0)
        ranks_offer(r, r->before[p]);
}

/* Finishes the word, one join at a time. */
static void ranks_by_heap(struct attn_symbols *r)
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
        r->symbol[r->n].id = r->symbol[i].id;
        r->symbol[r->n].from = r->symbol[i].from;
        r->n++;
    }
}

/* ---- passes ---- */

/* Joins all neighbours of this rank, from the left, and sets *least to the new
 * lowest rank. Returns 0 if it stopped early because a new symbol merges at the
 * same or a lower rank. */
static int ranks_pass(struct attn_symbols *r, int32_t rank, int32_t *least)
{
    int64_t kept = 0, i = 0;
    int joined = 0, was = 0, ordered = 1;
    *least = RANKS_NONE;
    while (i < r->n) {
        joined = ordered && i + 1 < r->n && r->symbol[i].rank == rank;
        if (joined && was) { /* check the merge of the new symbol first */
            ranks_pair(r, kept - 1, i);
            ordered = r->symbol[kept - 1].rank > rank;
            joined = ordered;
        }
        r->symbol[kept].id = joined ? r->symbol[i].into : r->symbol[i].id;
        r->symbol[kept].from = r->symbol[i].from;
        r->symbol[kept].rank = r->symbol[i].rank;
        r->symbol[kept].into = r->symbol[i].into;
        if (kept > 0) {
            if (joined || was)
                ranks_pair(r, kept - 1, kept);
            ordered = ordered && r->symbol[kept - 1].rank > rank;
            *least = (int32_t)attn_min(*least, r->symbol[kept - 1].rank);
        }
        was = joined;
        i += 1 + joined;
        kept++;
    }
    r->n = kept;
    return ordered;
}

/* ---- joins ---- */

/* Joins few symbols: searches for the lowest rank before each join. */
static void ranks_few(struct attn_symbols *r)
{
    struct attn_symbol *s = r->symbol;
    for (;;) {
        int64_t at = 0;
        for (int64_t i = 1; i < r->n; i++)
            if (s[i].rank < s[at].rank)
                at = i;
        if (r->n == 0 || s[at].rank == RANKS_NONE)
            return;
        s[at].id = s[at].into;
        r->n--;
        for (int64_t i = at + 1; i < r->n; i++)
            s[i] = s[i + 1];
        s[at].rank = RANKS_NONE;
        if (at + 1 < r->n)
            ranks_pair(r, at, at + 1);
        if (at > 0)
            ranks_pair(r, at - 1, at);
    }
}

ATTN_API void attn_symbols_join(struct attn_symbols *r)
{
    int32_t least = RANKS_NONE;
    r->last.left = -1;
    for (int64_t i = 0; i + 1 < r->n; i++) {
        ranks_pair(r, i, i + 1);
        least = r->symbol[i].rank < least ? r->symbol[i].rank : least;
    }
    if (r->n > 0)
        r->symbol[r->n - 1].rank = RANKS_NONE;
    if (r->n <= RANKS_FEW) {
        ranks_few(r);
        return;
    }
    while (least != RANKS_NONE) {
        const int64_t n = r->n;
        if (!ranks_pass(r, least, &least)
            || (n > RANKS_SHORT && n - r->n < n / RANKS_LITTLE)) {
            ranks_by_heap(r);
            return;
        }
    }
}

/* ---- symbols ---- */

struct ranks_unknown { /* unknown characters that are not added yet */
    int64_t bytes;
};

ATTN_API void attn_symbols_add(struct attn_symbols *r, int32_t id,
                               int64_t bytes)
{
    r->symbol[r->n].id = id;
    r->symbol[r->n].from = (int32_t)r->end;
    r->end += bytes;
    r->n++;
}

static void ranks_flush(struct attn_symbols *r, struct ranks_unknown *u)
{
    if (u->bytes > 0)
        attn_symbols_add(r, r->v->head->unknown, u->bytes);
    u->bytes = 0;
}

/* Adds a character of n bytes that is not a token: as its bytes, as an unknown
 * token, or not at all. */
static void ranks_unknown_character(struct attn_symbols *r, const char *s,
                                    int64_t n, struct ranks_unknown *u)
{
    const struct attn_vocab_header *h = r->v->head;
    int known = (h->flags & ATTN_MODEL_FALLBACK) != 0;
    for (int64_t i = 0; i < n && known; i++)
        known = r->v->byte[(unsigned char)s[i]] >= 0;
    if (known) {
        for (int64_t i = 0; i < n; i++)
            attn_symbols_add(r, r->v->byte[(unsigned char)s[i]], 1);
        return;
    }
    if (h->unknown < 0)
        return;
    if (!(h->flags & ATTN_MODEL_FUSE))
        ranks_flush(r, u);
    u->bytes += n;
}

static void ranks_bytes(struct attn_symbols *r, const char *s, int64_t n)
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
            attn_symbols_add(r, id, 1);
        } else if (v->head->unknown >= 0) {
            if (!(v->head->flags & ATTN_MODEL_FUSE))
                ranks_flush(r, &u);
            u.bytes++;
        }
    }
    ranks_flush(r, &u);
}

/* Finds the token of a character, with the prefix or suffix that the
 * character's place in the word requires. */
static int32_t ranks_find(const struct attn_symbols *r, const char *s,
                          int64_t n, int first, int last)
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

static void ranks_characters(struct attn_symbols *r, const char *s, int64_t n)
{
    struct ranks_unknown u = { 0 };
    int64_t at = 0;
    while (at < n) {
        const int64_t bytes = attn_max(attn_character(s + at, n - at), 1);
        const int32_t id = ranks_find(r, s + at, bytes, at == 0,
                                      at + bytes == n);
        if (id >= 0) {
            ranks_flush(r, &u);
            attn_symbols_add(r, id, bytes);
        } else {
            ranks_unknown_character(r, s + at, bytes, &u);
        }
        at += bytes;
    }
    ranks_flush(r, &u);
}

/* ---- encode ---- */

ATTN_API void attn_symbols_take(struct attn_symbols *r, int64_t n,
                                struct attn_memory *at)
{
    r->symbol = attn_take(at, n, sizeof *r->symbol);
    int32_t *links = attn_take(at, n, 4 * sizeof *links);
    if (!links)
        return;
    r->before = links;
    r->next = links + n;
    r->heap = links + 2 * n;
    r->at = links + 3 * n;
}

ATTN_API int64_t attn_ranks_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    struct attn_symbols r;
    (void)v;
    if (bytes < 0 || bytes > RANKS_MOST)
        return -1;
    attn_memory_open(&at, NULL);
    attn_symbols_take(&r, bytes, &at);
    return attn_memory_bytes(&at);
}

/* Returns the token of a word that the table of words lists as a single token,
 * otherwise -1. */
ATTN_API int32_t attn_symbols_word(const struct attn_vocab *v, const char *s,
                                   int64_t n)
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

/* Returns the length of the space at s: U+2581 or, if `plain` is set, also ' '.
 * Returns 0 if there is no space. */
static int64_t ranks_space(const char *s, int64_t n, int plain)
{
    if (plain && *s == ' ')
        return 1;
    return n >= 3 && memcmp(s, "\xe2\x96\x81", 3) == 0 ? 3 : 0;
}

ATTN_API int64_t attn_word_end(const char *text, int64_t n, int64_t at,
                               int plain)
{
    int word = 0;
    while (at < n) {
        const int64_t space = ranks_space(text + at, n - at, plain);
        if (word && space > 0)
            break;
        word = space == 0;
        at += attn_max(space, 1);
    }
    return at;
}

/* Encodes the n bytes at `first` as one word. */
static int64_t ranks_one(struct attn_encoding *e, const char *text,
                         int64_t first, int64_t n)
{
    struct attn_memory at;
    struct attn_symbols r;
    int64_t wrong = 0;
    text += first;
    const int32_t word = attn_symbols_word(&e->vocab, text, n);
    if (word >= 0)
        return attn_encode_put(e, word, first, first + n);
    attn_memory_open(&at, e->memory);
    attn_symbols_take(&r, n, &at);
    r.v = &e->vocab;
    r.text = NULL;
    r.n = 0;
    r.end = 0;
    if (r.v->head->flags & ATTN_MODEL_BYTES)
        ranks_bytes(&r, text, n);
    else
        ranks_characters(&r, text, n);
    attn_symbols_join(&r);
    for (int64_t i = 0; i < r.n && wrong == 0; i++)
        wrong = attn_encode_put(e, r.symbol[i].id, first + r.symbol[i].from,
                                first
                                    + (i + 1 < r.n ? r.symbol[i + 1].from
                                                   : r.end));
    return wrong;
}

ATTN_API int64_t attn_ranks(struct attn_encoding *e, const char *text,
                            int64_t n)
{
    int64_t wrong = 0, end;
    if (!(e->vocab.head->flags & ATTN_MODEL_APART))
        return ranks_one(e, text, 0, n);
    for (int64_t at = 0; at < n && wrong == 0; at = end) {
        end = attn_word_end(text, n, at, 0);
        wrong = ranks_one(e, text, at, end - at);
    }
    return wrong;
}

ATTN_API const char *attn_pairs_check(const struct attn_vocab *v)
{
    const int64_t size = (int64_t)v->head->size + v->head->extra;
    int64_t empty = 0;
    for (int64_t i = 0; i < v->pairs; i++) {
        const struct attn_pair *p = &v->pair[i];
        empty += p->left < 0;
        if (p->left >= 0 && (p->into < 0 || p->into >= size))
            return "vocabulary: a merge makes no token";
    }
    return empty > 0 ? NULL : "vocabulary: a table without an end";
}

ATTN_API const char *attn_ranks_check(const struct attn_vocab *v)
{
    const struct attn_vocab_header *h = v->head;
    const int bytes = (h->flags & ATTN_MODEL_BYTES) != 0;
    if (!v->piece
        || (!v->byte && h->flags & (ATTN_MODEL_BYTES | ATTN_MODEL_FALLBACK)))
        return "vocabulary: its merges have no pieces or bytes";
    if (bytes && h->suffix.bytes > 0 && !v->byte_last)
        return "vocabulary: no last bytes of words";
    if (h->prefix.bytes > ATTN_AFFIX || h->suffix.bytes > ATTN_AFFIX)
        return "vocabulary: a word's end is too long";
    return attn_pairs_check(v);
}
