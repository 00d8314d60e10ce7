/* unigram.c: finds the split of a text into pieces with the largest sum of
 * scores (Viterbi); of equal sums, the first one found. A character without a
 * piece is unknown, with a score below all others. Adjacent unknown characters
 * become one token.
 *
 * With ATTN_MODEL_FLOATS, as in SentencePiece, user pieces are scored by their
 * length, and if there are byte pieces, adjacent unknown characters stay
 * separate. */
#include "runtime/core.h"

struct unigram_node { /* the best path to a byte */
    double score;
    int32_t id, from; /* last piece of the path, and its start; `from` -1: no
                       * path */
};

struct unigram {
    const struct attn_vocab *v;
    const struct attn_unigram_head *head;
    struct attn_trie trie;
    int64_t texts;
    const double *score;
    const char *text;
    int64_t n;
    struct unigram_node *node; /* [n + 1] best path to each byte */
    int floats;
};

ATTN_API const char *attn_unigram_check(const struct attn_vocab *v)
{
    struct attn_trie t;
    const double *score = v->score;
    if (!attn_trie_open(v, &t))
        return "vocabulary: Unigram without its pieces' trie";
    for (int64_t i = 0; i < attn_texts(v); i++)
        if (!(score[i] - score[i] == 0.0))
            return "vocabulary: a score is not finite";
    return NULL;
}

static struct unigram_node *unigram_take(struct attn_memory *at, int64_t bytes)
{
    return attn_take(at, bytes + 1, sizeof(struct unigram_node));
}

ATTN_API int64_t attn_unigram_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    (void)v;
    if (bytes < 0 || bytes >= INT32_MAX)
        return -1;
    attn_memory_open(&at, NULL);
    unigram_take(&at, bytes);
    return attn_memory_bytes(&at);
}

/* ---- Viterbi ---- */

static void unigram_offer(const struct unigram *u, int64_t from, int64_t to,
                          int32_t id, double score)
{
    struct unigram_node *node = &u->node[to];
    score += u->node[from].score;
    if (u->floats) /* rounded as in SentencePiece, because the rounding
                      decides between equal paths */
        score = (double)(float)score;
    if (node->from >= 0 && !(score > node->score))
        return;
    node->score = score;
    node->id = id;
    node->from = (int32_t)from;
}

static double unigram_score(const struct unigram *u, int64_t id, int64_t bytes)
{
    if (u->floats && (u->v->piece[id] & ATTN_PIECE_USER))
        return (double)((float)bytes * (float)u->head->most) - 0.1;
    return u->score[id];
}

/* Extends the path to `at` by each piece that begins there. */
static void unigram_pieces(const struct unigram *u, int64_t at, int64_t length)
{
    const struct attn_trie trie = u->trie;
    uint32_t node = attn_trie_root(&trie);
    int single = 0;
    for (int64_t i = at; i < u->n; i++) {
        int64_t id;
        if (!attn_trie_next(&trie, &node, (unsigned char)u->text[i], &id))
            break;
        if (id < 0 || id >= u->texts)
            continue;
        int64_t bytes = i + 1 - at;
        unigram_offer(u, at, i + 1, (int32_t)id, unigram_score(u, id, bytes));
        single += bytes == length;
    }
    if (!single)
        unigram_offer(u, at, at + length, u->v->head->unknown,
                      u->head->unknown);
}

static void unigram_best(const struct unigram *u)
{
    int64_t at = 0, length;
    for (int64_t i = 0; i <= u->n; i++) {
        u->node[i].score = 0.0;
        u->node[i].from = -1;
    }
    while (at < u->n) {
        length = attn_length(u->text[at]);
        unigram_pieces(u, at, length);
        at += length;
    }
}

/* Reverses the best path: a node's `from` becomes the end of the piece that
 * starts at the node. */
static void unigram_turn(struct unigram *u)
{
    int64_t at = u->n;
    int32_t next = -1, id = -1;
    while (at >= 0) {
        struct unigram_node *node = &u->node[at];
        int32_t from = node->from, its = node->id;
        node->from = next;
        node->id = id;
        next = (int32_t)at;
        id = its;
        if (at == 0)
            break;
        at = from;
    }
}

/* ---- output ---- */

/* Adds the byte pieces for bytes from .. to - 1. In SentencePiece's offsets,
 * only the last of these pieces covers the character. */
static int64_t unigram_fallback(struct attn_encoding *e,
                                const struct unigram *u, int64_t from,
                                int64_t to)
{
    int64_t wrong = 0;
    for (int64_t i = from; i < to && wrong == 0; i++) {
        int32_t id = e->vocab.byte[(unsigned char)u->text[i]];
        int64_t end = u->floats && i + 1 < to ? from : to;
        wrong = attn_encode_put(e, id, from, end);
    }
    return wrong;
}

/* True if there is a byte piece for each of the n bytes. */
static int unigram_has_bytes(const struct attn_vocab *v, const char *at,
                             int64_t n)
{
    int has = v->byte && v->head->flags & ATTN_MODEL_FALLBACK;
    for (int64_t i = 0; has && i < n; i++)
        has = v->byte[(unsigned char)at[i]] >= 0;
    return has;
}

/* Returns the end of the unknown pieces at `at` that form one token. */
static int64_t unigram_unknown(const struct unigram *u, int64_t at)
{
    int64_t end = u->node[at].from;
    int64_t bytes = u->v->head->flags & ATTN_MODEL_FALLBACK;
    if (!(u->v->head->flags & ATTN_MODEL_FUSE) || (u->floats && bytes))
        return end;
    while (end < u->n && u->node[end].id == u->v->head->unknown)
        end = u->node[end].from;
    return end;
}

static int64_t unigram_put(struct attn_encoding *e, const struct unigram *u)
{
    int64_t at = 0, wrong = 0;
    const struct attn_vocab *v = u->v;
    while (at < u->n && wrong == 0) {
        int32_t id = u->node[at].id;
        int64_t end = u->node[at].from;
        if (id == v->head->unknown) {
            end = unigram_unknown(u, at);
            if (id < 0)
                return attn_encode_bad(e, ATTN_ERROR_UNKNOWN, at);
            if (unigram_has_bytes(v, u->text + at, end - at)
                && attn_find(v, u->text + at, end - at) < 0) {
                wrong = unigram_fallback(e, u, at, end);
                at = end;
                continue;
            }
        }
        wrong = attn_encode_put(e, id, at, end);
        at = end;
    }
    return wrong;
}

ATTN_API int64_t attn_unigram(struct attn_encoding *e, const char *text,
                              int64_t n)
{
    struct attn_memory at;
    struct unigram u = { .v = &e->vocab, .text = text, .n = n };
    if (n == 0)
        return 0;
    if (!attn_trie_open(&e->vocab, &u.trie))
        return ATTN_ERROR_OPEN;
    attn_memory_open(&at, e->memory);
    u.node = unigram_take(&at, n);
    u.head = attn_unigram_head_of(&e->vocab);
    u.score = e->vocab.score;
    u.texts = attn_texts(&e->vocab);
    u.floats = (e->vocab.head->flags & ATTN_MODEL_FLOATS) != 0;
    unigram_best(&u);
    unigram_turn(&u);
    return unigram_put(e, &u);
}
