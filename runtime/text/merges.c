/* merges.c: converts a text to pieces by merges. Each character starts as a
 * piece, or as its bytes if the vocabulary has no such piece. Then the two
 * neighbours whose joined text is the piece with the highest score are joined
 * (the leftmost of several), until no join is possible. A text that does not
 * continue another gets a space in front.
 *
 * If no piece has a space after another character, words are processed
 * separately, because no join can cross them. */
#include "runtime/core.h"

#include <string.h>

struct merges {
    const struct attn_vocab *v;
    struct attn_symbols symbols; /* symbols of the current word */
    struct attn_trie users;      /* pieces that are never joined */
    const char *text; /* the line, with the added space if there is one */
    char *room;       /* buffer for a line with an added space */
    int64_t bytes;
    int64_t space;   /* 1: the first byte is the added space */
    int64_t unknown; /* start of pending unknown characters; -1: none */
};

enum { MERGES_MOST = INT32_MAX / 64 }; /* maximum bytes of a line */

/* ---- check ---- */

/* Checks that byte pieces exist for every byte or for none. */
static const char *merges_check_bytes(const struct attn_vocab *v,
                                      int64_t pieces)
{
    if (pieces != 0 && pieces != 256)
        return "vocabulary: byte pieces for some bytes only";
    for (int32_t i = 0; i < 256; i++) {
        int32_t id = v->byte[i];
        int64_t n;
        if (pieces == 0 && id == -1)
            continue;
        if (id < 0 || (v->piece[id] & ATTN_PIECE_KIND) != ATTN_PIECE_BYTE)
            return "vocabulary: a byte has no byte piece";
        const char *text = attn_vocab_token(v->head, id, &n);
        if (attn_vocab_byte(text, n) != i)
            return "vocabulary: a byte piece of another byte";
    }
    return NULL;
}

ATTN_API const char *attn_merges_check(const struct attn_vocab *v)
{
    const float *score = v->score;
    const int64_t size = (int64_t)v->head->size + v->head->extra;
    int64_t pieces = 0, bytes;
    attn_vocab_section(v->head, ATTN_SCORES, &bytes);
    if (!v->piece || !v->byte || bytes != 4 * size)
        return "vocabulary: its merges have no pieces, scores or bytes";
    for (int64_t i = 0; i < size; i++) {
        const int kind = v->piece[i] & ATTN_PIECE_KIND;
        if (kind > ATTN_PIECE_UNKNOWN)
            return "vocabulary: a piece of unknown kind";
        if (kind == ATTN_PIECE_BYTE)
            pieces++;
        if (!(score[i] - score[i] == 0.0f))
            return "vocabulary: a score is not finite";
    }
    if (v->pairs > 0 && attn_pairs_check(v))
        return attn_pairs_check(v);
    return merges_check_bytes(v, pieces);
}

/* ---- pieces ---- */

static int64_t merges_put(const struct merges *m, struct attn_encoding *e,
                          int32_t id, int64_t from, int64_t to)
{
    return attn_encode_put(e, id, attn_max(from - m->space, 0),
                           attn_max(to - m->space, 0));
}

/* Adds the pending unknown characters, which end at `to`, as one token. */
static int64_t merges_flush(struct merges *m, struct attn_encoding *e,
                            int64_t to)
{
    const int64_t from = m->unknown;
    m->unknown = -1;
    if (from < 0)
        return 0;
    return merges_put(m, e, m->v->head->unknown, from, to);
}

/* Adds the byte pieces for bytes from .. to - 1. In SentencePiece's offsets,
 * only the last of these pieces covers the character. */
static int64_t merges_fallback(const struct merges *m, struct attn_encoding *e,
                               int64_t from, int64_t to)
{
    int whole = (m->v->head->flags & ATTN_MODEL_FLOATS) != 0;
    int64_t wrong = 0;
    for (int64_t i = from; i < to && wrong == 0; i++) {
        int32_t id = m->v->byte[(unsigned char)m->text[i]];
        int64_t begin = whole ? from : i, end = i + 1;
        if (whole && end < to)
            end = from;
        wrong = merges_put(m, e, id, begin, end);
    }
    return wrong;
}

/* Adds a piece; `id` -1: a character without a piece. */
static int64_t merges_piece(struct merges *m, struct attn_encoding *e,
                            int32_t id, int64_t from, int64_t to)
{
    if (id < 0 && m->v->byte[0] >= 0)
        return merges_fallback(m, e, from, to);
    if (id < 0) {
        if (m->unknown < 0)
            m->unknown = from;
        if (m->v->head->flags & ATTN_MODEL_FUSE)
            return 0;
        return merges_flush(m, e, to);
    }
    const int64_t wrong = merges_flush(m, e, from);
    return wrong < 0 ? wrong : merges_put(m, e, id, from, to);
}

/* ---- words ---- */

/* Adds the symbol for the character at `at`, or for a byte that is not valid
 * UTF-8, and returns its length. A character without a piece is unknown unless
 * a merge includes it. */
static int64_t merges_character(struct merges *m, struct attn_encoding *e,
                                int64_t at)
{
    int64_t n = attn_character(m->text + at, m->bytes - at);
    if (n == 0 && m->v->byte[0] < 0)
        return attn_encode_bad(e, ATTN_ERROR_UTF8, at - m->space);
    n = attn_max(n, 1);
    const int32_t id = attn_piece_find(m->v, m->text + at, n);
    if (id < 0 && m->v->byte[0] < 0 && m->v->head->unknown < 0)
        return attn_encode_bad(e, ATTN_ERROR_UNKNOWN,
                               attn_max(at - m->space, 0));
    attn_symbols_add(&m->symbols, id, n);
    return n;
}

/* Joins the collected symbols and adds their pieces. The next symbol begins at
 * `at`. */
static int64_t merges_join(struct merges *m, struct attn_encoding *e,
                           int64_t at)
{
    struct attn_symbols *r = &m->symbols;
    int64_t wrong = 0;
    attn_symbols_join(r);
    for (int64_t i = 0; i < r->n && wrong == 0; i++)
        wrong = merges_piece(m, e, r->symbol[i].id, r->symbol[i].from,
                             i + 1 < r->n ? r->symbol[i + 1].from : r->end);
    r->n = 0;
    r->end = at;
    return wrong;
}

/* Encodes the word at `at`. Returns the start of the next word, or an error. */
static int64_t merges_word(struct merges *m, struct attn_encoding *e,
                           int64_t at)
{
    const int apart = m->v->head->flags & ATTN_MODEL_APART;
    const int64_t end = apart ? attn_word_end(m->text, m->bytes, at, 1)
                              : m->bytes;
    int64_t wrong = 0, id = -1, n;
    if (m->users.units == 0)
        id = attn_symbols_word(m->v, m->text + at, end - at);
    if (id >= 0) {
        wrong = merges_piece(m, e, (int32_t)id, at, end);
        return wrong < 0 ? wrong : end;
    }
    m->symbols.end = at;
    while (at < end && wrong == 0) {
        n = attn_user_piece(m->v, &m->users, m->text + at, m->bytes - at, &id);
        if (n > 0) {
            wrong = merges_join(m, e, at + n);
            if (wrong == 0)
                wrong = merges_piece(m, e, (int32_t)id, at, at + n);
        } else {
            n = merges_character(m, e, at);
            wrong = attn_min(n, 0);
        }
        at += n;
    }
    if (wrong == 0)
        wrong = merges_join(m, e, at);
    return wrong < 0 ? wrong : at;
}

/* ---- encode ---- */

static void merges_lay_out(struct merges *m, const struct attn_vocab *v,
                           int64_t bytes, struct attn_memory *at)
{
    const int dummy = (v->head->flags & ATTN_MODEL_DUMMY) != 0;
    attn_symbols_take(&m->symbols, bytes + dummy, at);
    m->room = attn_take(at, dummy ? bytes + 1 : 0, 1);
}

ATTN_API int64_t attn_merges_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    struct merges m;
    if (bytes < 0 || bytes > MERGES_MOST)
        return -1;
    attn_memory_open(&at, NULL);
    merges_lay_out(&m, v, bytes, &at);
    return attn_memory_bytes(&at);
}

ATTN_API int64_t attn_merges(struct attn_encoding *e, const char *text,
                             int64_t n)
{
    struct attn_memory memory;
    struct merges m = { .v = &e->vocab, .text = text, .bytes = n };
    int64_t at = 0;
    attn_memory_open(&memory, e->memory);
    merges_lay_out(&m, m.v, n, &memory);
    if (e->begins && m.v->head->flags & ATTN_MODEL_DUMMY) {
        m.room[0] = ' ';
        memcpy(m.room + 1, text, (size_t)n);
        m.space = 1;
        m.text = m.room;
        m.bytes = n + 1;
    }
    m.unknown = -1;
    m.symbols.v = m.v;
    m.symbols.text = m.text;
    m.symbols.n = 0;
    m.symbols.last.left = -1;
    attn_trie_open(m.v, &m.users);
    while (at >= 0 && at < m.bytes)
        at = merges_word(&m, e, at);
    return at < 0 ? at : merges_flush(&m, e, m.bytes);
}
