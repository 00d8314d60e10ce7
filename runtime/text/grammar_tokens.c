/* grammar_tokens.c: the texts of a vocabulary's tokens, in an order in which a
 * grammar rejects many of them at once: by their first two bytes. */
#include "runtime/core.h"

#include <string.h>

enum { SPELLED_KEYS = 256 * 257 };

/* ---- texts ---- */

/* Returns a step of the decoder, or NULL. */
static const struct attn_step *spelled_step(const struct attn_vocab *v, int op)
{
    const int list = ATTN_DECODE - ATTN_NORMAL;
    for (int64_t i = 0; i < v->steps[list]; i++)
        if (v->step[list][i].op == op)
            return &v->step[list][i];
    return NULL;
}

/* True if the decoder removes characters at the end of a text, so that what a
 * token prints depends on whether another follows. */
ATTN_API int attn_grammar_trims(const struct attn_vocab *v)
{
    const struct attn_step *strip = spelled_step(v, ATTN_STEP_STRIP_OUT);
    const struct attn_step *fuse = spelled_step(v, ATTN_STEP_FUSE);
    return strip && fuse && fuse < strip && strip->flags / 256 > 0;
}

/* Returns the maximum bytes of the printed text of a token with n bytes. */
static int64_t spelled_most(const struct attn_vocab *v, int64_t n)
{
    const struct attn_step *replace = spelled_step(v, ATTN_STEP_REPLACE_OUT);
    const struct attn_step *pieces = spelled_step(v, ATTN_STEP_PIECES_OUT);
    if (replace)
        n *= attn_max(replace->other.bytes, 1);
    return n + 4 + (pieces ? pieces->other.bytes : 0);
}

/* True if a grammar may allow the token. */
static int spelled_prints(const struct attn_grammar *g, int32_t id)
{
    const struct attn_vocab_header *h = g->v.head;
    const int piece = g->v.piece ? g->v.piece[id] : 0;
    const int kind = piece & ATTN_PIECE_KIND;
    return (piece & ATTN_PIECE_SPECIAL) == 0 && kind != ATTN_PIECE_BEGIN
        && kind != ATTN_PIECE_END && kind != ATTN_PIECE_UNKNOWN
        && id != h->start && id != h->end && id != h->pad && id != h->unknown;
}

/* Writes the text of a token to `out`, without U+FFFD for a part of a
 * character. Returns its length, and sets *gap if a space follows before
 * another token. */
static int64_t spelled_text(const struct attn_vocab *v, int32_t id, int first,
                            char *out, int64_t *gap)
{
    struct attn_text t;
    struct attn_text_out o = { &t, out, 0 };
    int64_t n;
    const char *text = attn_vocab_token(v->head, id, &n);
    *gap = 0;
    const int byte = v->steps[ATTN_DECODE - ATTN_NORMAL] > 0
                          && attn_decode_is_byte(v, id)
                       ? attn_vocab_byte(text, n)
                       : -1;
    if (byte >= 0x80) { /* a part of a character */
        out[0] = (char)byte;
        return 1;
    }
    attn_text_open(&t, v->head, NULL, 0, !first);
    t.lead = first ? 0 : -1;
    attn_text_step(&o, v, id);
    *gap = t.gap;
    attn_text_step(&o, v, -1);
    return o.n;
}

ATTN_API const char *attn_grammar_first(struct attn_grammar *g, int32_t id,
                                        int64_t *n)
{
    int64_t gap;
    if (g->raw)
        return attn_vocab_token(g->v.head, id, n);
    *n = spelled_text(&g->v, id, 1, g->piece, &gap);
    return g->piece;
}

/* Writes the texts of all tokens. */
static void spelled_spell(struct attn_grammar *g, char *text, uint32_t *offset)
{
    int64_t at = 0;
    for (int64_t i = 0; i < g->size; i++) {
        int64_t gap = 0;
        offset[i] = (uint32_t)at;
        if (spelled_prints(g, (int32_t)i))
            at += spelled_text(&g->v, (int32_t)i, 0, text + at, &gap);
        g->has[i] = gap ? ATTN_GRAMMAR_GAP : 0;
    }
    offset[g->size] = (uint32_t)at;
}

/* ---- order ---- */

/* Returns the key of a token's bucket; -1: it has no text. */
static int spelled_key(const struct attn_grammar *g, int64_t id)
{
    const uint32_t at = g->offset[id], n = g->offset[id + 1] - at;
    const unsigned char *text = (const unsigned char *)g->text + at;
    if (n == 0 || (g->has[id] & ATTN_GRAMMAR_TEXT) == 0)
        return -1;
    return text[0] * 257 + (n > 1 ? 1 + text[1] : 0);
}

/* Sorts the tokens by their keys; `count` is scratch memory [keys + 1]. */
static void spelled_sort(struct attn_grammar *g, int32_t *count)
{
    int32_t at = 0, bytes = 0;
    memset(count, 0, (SPELLED_KEYS + 1) * sizeof *count);
    for (int64_t i = 0; i < g->size; i++)
        count[spelled_key(g, i) + 1]++;
    count[0] = 0;
    g->buckets = 0;
    for (int key = 0; key < SPELLED_KEYS; key++) {
        const int32_t n = count[key + 1];
        count[key] = at;
        if (n > 0) {
            g->bucket[g->buckets].key = key;
            g->bucket[g->buckets].first = at;
            g->buckets++;
        }
        at += n;
    }
    g->bucket[g->buckets].first = at;
    for (int64_t i = 0; i < g->size; i++) {
        const int key = spelled_key(g, i);
        if (key < 0)
            continue;
        g->token[count[key]] = (int32_t)i;
        count[key]++;
    }
    for (int64_t b = 0; b < g->buckets; b++) {
        const struct attn_grammar_bucket *p = &g->bucket[b];
        g->bucket[b].byte = bytes;
        for (int32_t k = p->first; k < p[1].first; k++) {
            const uint32_t from = g->offset[g->token[k]] + 2;
            const uint32_t to = g->offset[g->token[k] + 1];
            if (to > from)
                memcpy(g->bytes + bytes, g->text + from, to - from);
            bytes += to > from ? (int32_t)(to - from) : 0;
            g->rest[k] = (uint32_t)bytes;
        }
    }
}

ATTN_API void attn_grammar_tokens(struct attn_grammar *g,
                                  struct attn_memory *at)
{
    const struct attn_vocab *v = &g->v;
    const int64_t n = g->size, word = sizeof(int32_t);
    int64_t bytes = v->offset[n] - v->offset[0], longest = 0;
    char *text = NULL;
    uint32_t *offset = NULL;
    for (int64_t i = 0; i < n; i++)
        longest = attn_max(longest, v->offset[i + 1] - v->offset[i]);
    g->piece = attn_take(at, spelled_most(v, longest), 1);
    g->raw = spelled_step(v, ATTN_STEP_BYTE_LEVEL_OUT) != NULL;
    if (!g->raw) {
        bytes = spelled_most(v, bytes) + n * spelled_most(v, 0);
        text = attn_take(at, bytes, 1);
        offset = attn_take(at, n + 1, word);
    }
    g->text = g->raw ? v->text : text;
    g->offset = g->raw ? v->offset : offset;
    g->has = attn_take(at, n, 1);
    g->token = attn_take(at, n, word);
    g->rest = attn_take(at, n, word);
    g->bytes = attn_take(at, bytes, 1);
    g->bucket = attn_take(at, attn_min(n, SPELLED_KEYS) + 1, sizeof *g->bucket);
    if (!at->base)
        return;
    memset(g->has, 0, (size_t)n);
    if (!g->raw)
        spelled_spell(g, text, offset);
    for (int64_t i = 0; i < n; i++)
        if (spelled_prints(g, (int32_t)i) && g->offset[i + 1] > g->offset[i])
            g->has[i] |= ATTN_GRAMMAR_TEXT;
    spelled_sort(g, g->pool);
}
