/* merges.c: a text becomes pieces by merges: first each character is a piece,
 * or its bytes are, where the vocabulary has no such piece; then, again and
 * again, of all neighbours whose joined text is a piece, those are joined whose
 * piece has the highest score, the leftmost of equal ones. A space is put in
 * front of a text that goes on with no other.
 *
 * The pieces are a list; those that can be joined with the next lie in a heap,
 * each once, at a place that it knows: n log n steps for n bytes.           */
#include "core.h"

#include <string.h>

struct merges_piece {
    int32_t id;
    int32_t from, length; /* its text; length 0: joins with nothing */
    int32_t before, next; /* in the list; -1: none */
    int32_t into;         /* the piece that it and the next one make */
    int32_t at;           /* its place in the heap; -1: not there */
};

struct merges {
    const struct attn_vocab *vocab;
    struct merges_piece *piece; /* [n] */
    int32_t *heap;              /* [heap_n] pieces, the first to join on top */
    char *text;                 /* [bytes] the line, behind a space or none */
    int64_t bytes, n, heap_n;
    int64_t space; /* 1: the first byte is a space put in front */
};

enum { MERGES_MOST = INT32_MAX / 64 }; /* bytes of a line */

/* ---------------------------------------------------------------- heap --- */

static int merges_before(const struct merges *m, int32_t a, int32_t b)
{
    const float *score = m->vocab->score;
    float x = score[m->piece[a].into];
    float y = score[m->piece[b].into];
    if (x == y)
        return a < b;
    return x > y;
}

static void merges_place(struct merges *m, int64_t at, int32_t p)
{
    m->heap[at] = p;
    m->piece[p].at = (int32_t)at;
}

static void merges_up(struct merges *m, int64_t at)
{
    int32_t p = m->heap[at];
    while (at > 0) {
        int64_t above = (at - 1) / 2;
        if (!merges_before(m, p, m->heap[above]))
            break;
        merges_place(m, at, m->heap[above]);
        at = above;
    }
    merges_place(m, at, p);
}

static void merges_down(struct merges *m, int64_t at)
{
    int32_t p = m->heap[at];
    for (;;) {
        int64_t below = 2 * at + 1;
        if (below >= m->heap_n)
            break;
        if (below + 1 < m->heap_n) {
            if (merges_before(m, m->heap[below + 1], m->heap[below]))
                below++;
        }
        if (!merges_before(m, m->heap[below], p))
            break;
        merges_place(m, at, m->heap[below]);
        at = below;
    }
    merges_place(m, at, p);
}

static void merges_remove(struct merges *m, int32_t p)
{
    int64_t at = m->piece[p].at;
    if (at < 0)
        return;
    m->piece[p].at = -1;
    m->heap_n--;
    if (at == m->heap_n)
        return;
    merges_place(m, at, m->heap[m->heap_n]);
    merges_up(m, at);
    merges_down(m, m->piece[m->heap[at]].at);
}

/* -------------------------------------------------------------- pieces --- */

/* The normal piece of this text; -1: none. */
static int32_t merges_find(const struct merges *m, int64_t from, int64_t length)
{
    int32_t id = attn_find(m->vocab, m->text + from, length);
    const int not_text = ATTN_PIECE_KIND | ATTN_PIECE_UNUSED;
    if (id >= 0 && (m->vocab->piece[id] & not_text) != ATTN_PIECE_NORMAL)
        id = -1;
    return id;
}

/* Puts p into the heap if it makes a piece with the one behind it. */
static void merges_offer(struct merges *m, int32_t p)
{
    struct merges_piece *left = &m->piece[p];
    merges_remove(m, p);
    if (left->next < 0 || left->length == 0)
        return;
    const struct merges_piece *right = &m->piece[left->next];
    if (right->length == 0)
        return;
    left->into = merges_find(m, left->from, left->length + right->length);
    if (left->into < 0)
        return;
    m->heap_n++;
    merges_place(m, m->heap_n - 1, p);
    merges_up(m, m->heap_n - 1);
}

/* p takes in the piece behind it. */
static void merges_join(struct merges *m, int32_t p)
{
    struct merges_piece *left = &m->piece[p];
    struct merges_piece *right = &m->piece[left->next];
    merges_remove(m, left->next);
    left->id = left->into;
    left->length += right->length;
    left->next = right->next;
    if (left->next >= 0)
        m->piece[left->next].before = p;
    merges_offer(m, p);
    if (left->before >= 0)
        merges_offer(m, left->before);
}

static void merges_add(struct merges *m, int32_t id, int64_t from,
                       int64_t length)
{
    struct merges_piece *p = &m->piece[m->n];
    p->id = id;
    p->from = (int32_t)from;
    p->length = (int32_t)length;
    p->before = (int32_t)m->n - 1;
    p->next = (int32_t)m->n + 1;
    p->at = -1;
    m->n++;
}

/* The piece of a character, or of a byte that begins none; without one of its
 * own it is unknown, until it becomes a part of another.                    */
static int64_t merges_character(struct merges *m, int64_t from, int64_t length)
{
    int32_t id = merges_find(m, from, length);
    if (id < 0 && m->vocab->byte[0] < 0 && m->vocab->head->unknown < 0)
        return ATTN_ERROR_UNKNOWN;
    merges_add(m, id, from, length);
    return 0;
}

/* Bytes of a user's piece at `at`, which joins with nothing; 0: none. */
static int64_t merges_user(struct merges *m, const struct attn_trie *users,
                           int64_t at)
{
    int64_t id,
        n = attn_user_piece(m->vocab, users, m->text + at, m->bytes - at, &id);
    if (n > 0)
        merges_add(m, (int32_t)id, at, 0);
    return n;
}

static int64_t merges_characters(struct merges *m, struct attn_encoding *e)
{
    struct attn_trie users;
    int64_t at = 0;
    attn_trie_open(m->vocab, &users);
    while (at < m->bytes) {
        int64_t n = merges_user(m, &users, at);
        if (n > 0) {
            at += n;
            continue;
        }
        n = attn_character(m->text + at, m->bytes - at);
        if (n == 0 && m->vocab->byte[0] < 0)
            return attn_encode_bad(e, ATTN_ERROR_UTF8, at - m->space);
        n = attn_max(n, 1);
        if (merges_character(m, at, n) < 0)
            return attn_encode_bad(e, ATTN_ERROR_UNKNOWN,
                                   attn_max(at - m->space, 0));
        at += n;
    }
    m->piece[m->n - 1].next = -1;
    return 0;
}

/* --------------------------------------------------------------- check --- */

/* The table of bytes names a byte piece for every byte, or for none. */
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
    return merges_check_bytes(v, pieces);
}

/* -------------------------------------------------------------- encode --- */

static void merges_lay_out(struct merges *m, int64_t bytes,
                           struct attn_memory *at)
{
    m->piece = attn_take(at, bytes + 1, sizeof *m->piece);
    m->heap = attn_take(at, bytes + 1, sizeof *m->heap);
    m->text = attn_take(at, bytes + 1, 1);
}

ATTN_API int64_t attn_merges_bytes(const struct attn_vocab *v, int64_t bytes)
{
    struct attn_memory at;
    struct merges m;
    (void)v;
    if (bytes < 0 || bytes > MERGES_MOST)
        return -1;
    attn_memory_open(&at, NULL);
    merges_lay_out(&m, bytes, &at);
    return attn_memory_bytes(&at);
}

/* Where the piece that begins with p ends; *next: the one behind. Unknown
 * neighbours are one where the model says so.                               */
static int64_t merges_end(const struct merges *m, int32_t p, int32_t *next)
{
    int fuse = (m->vocab->head->flags & ATTN_MODEL_FUSE)
            && m->vocab->byte[0] < 0 && m->piece[p].id < 0;
    *next = m->piece[p].next;
    while (fuse && *next >= 0 && m->piece[*next].id < 0)
        *next = m->piece[*next].next;
    return *next < 0 ? m->bytes : m->piece[*next].from;
}

/* The bytes from .. to - 1, each by its own piece. In sentencepiece the last
 * one alone stands for the character.                                       */
static int64_t merges_fallback(const struct merges *m, struct attn_encoding *e,
                               int64_t from, int64_t to)
{
    int whole = (m->vocab->head->flags & ATTN_MODEL_FLOATS) != 0;
    int64_t wrong = 0;
    for (int64_t i = from; i < to && wrong == 0; i++) {
        int32_t id = m->vocab->byte[(unsigned char)m->text[i]];
        int64_t begin = whole ? from : i, end = i + 1;
        if (whole && end < to)
            end = from;
        wrong = attn_encode_put(e, id, attn_max(begin - m->space, 0),
                                attn_max(end - m->space, 0));
    }
    return wrong;
}

/* The ids of the list, each for the bytes up to the next one's. */
static int64_t merges_ids(const struct merges *m, struct attn_encoding *e)
{
    int64_t wrong = 0;
    int32_t next;
    for (int32_t p = 0; p >= 0 && wrong == 0; p = next) {
        int64_t from = m->piece[p].from, end = merges_end(m, p, &next);
        int32_t id = m->piece[p].id;
        if (id < 0 && m->vocab->byte[0] >= 0) {
            wrong = merges_fallback(m, e, from, end);
            continue;
        }
        if (id < 0)
            id = m->vocab->head->unknown;
        wrong = attn_encode_put(e, id, attn_max(from - m->space, 0),
                                end - m->space);
    }
    return wrong;
}

ATTN_API int64_t attn_merges(struct attn_encoding *e, const char *text,
                             int64_t n)
{
    struct attn_memory at;
    struct merges m;
    attn_memory_open(&at, e->memory);
    merges_lay_out(&m, n, &at);
    m.vocab = &e->vocab;
    m.n = 0;
    m.heap_n = 0;
    m.space = 0;
    if (e->begins && m.vocab->head->flags & ATTN_MODEL_DUMMY) {
        m.text[0] = ' ';
        m.space = 1;
    }
    m.bytes = n + m.space;
    memcpy(m.text + m.space, text, (size_t)n);

    int64_t wrong = merges_characters(&m, e);
    if (wrong < 0)
        return wrong;
    for (int32_t p = 0; p < m.n; p++)
        merges_offer(&m, p);
    while (m.heap_n > 0)
        merges_join(&m, m.heap[0]);
    return merges_ids(&m, e);
}
