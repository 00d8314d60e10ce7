/* vocab.c: tokens and text. A vocabulary is one block of bytes (core.h); text
 * is strict UTF-8. A line is cut into characters or at spaces, and every piece
 * is one token.                                                             */
#include "core.h"

#include <string.h>

struct vocab_view {              /* the parts of a block */
    const struct attn_vocab_header *head;
    const uint32_t *offset, *sorted;
    const char *text;
};

static struct vocab_view *vocab_open(struct vocab_view *v, const void *block)
{
    v->head = block;
    v->offset = (const uint32_t *)(v->head + 1);
    v->sorted = v->offset + v->head->size + 1;
    v->text = (const char *)(v->sorted + v->head->size);
    return v;
}

/* ------------------------------------------------------------- UTF-8 --- */

/* Bytes of the character at s; 0: none (overlong forms, surrogates and numbers
 * above 10FFFF are none). By the table of RFC 3629: the second byte's range
 * depends on the first, all later ones are 80..BF.                          */
static int64_t vocab_character(const char *at, int64_t left)
{
    const unsigned char *s = (const unsigned char *)at;
    unsigned least = 0x80, most = 0xbf;
    int64_t n = 2;
    if (left < 1)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    if (s[0] >= 0xe0)
        n = 3;
    if (s[0] >= 0xf0)
        n = 4;
    if (left < n)
        return 0;
    if (s[0] == 0xe0)
        least = 0xa0;
    if (s[0] == 0xed)
        most = 0x9f;
    if (s[0] == 0xf0)
        least = 0x90;
    if (s[0] == 0xf4)
        most = 0x8f;
    if (s[1] < least || s[1] > most)
        return 0;
    for (int64_t i = 2; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return n;
}

/* The first byte that begins no character; n: all are well formed. */
ATTN_API int64_t attn_utf8(const char *s, int64_t n)
{
    int64_t i = 0;
    while (i < n) {
        int64_t length = vocab_character(s + i, n - i);
        if (length == 0)
            return i;
        i += length;
    }
    return n;
}

/* ------------------------------------------------------------- look-up --- */

ATTN_API const char *attn_vocab_token(const void *block, int32_t id,
                                      int64_t *bytes)
{
    struct vocab_view v;
    vocab_open(&v, block);
    *bytes = (int64_t)v.offset[id + 1] - (int64_t)v.offset[id];
    return v.text + v.offset[id];
}

/* Below 0, 0, above 0, as memcmp; a beginning is less than the whole. */
static int vocab_compare(const char *a, int64_t a_bytes, const char *b,
                         int64_t b_bytes)
{
    int order = memcmp(a, b, (size_t)attn_min(a_bytes, b_bytes));
    if (order == 0)
        order = (a_bytes > b_bytes) - (a_bytes < b_bytes);
    return order;
}

ATTN_API int32_t attn_vocab_find(const void *block, const char *token,
                                 int64_t bytes)
{
    struct vocab_view v;
    vocab_open(&v, block);
    int32_t low = 0, high = v.head->size;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int32_t id = (int32_t)v.sorted[middle];
        int64_t n;
        const char *text = attn_vocab_token(block, id, &n);
        int order = vocab_compare(token, bytes, text, n);
        if (order == 0)
            return id;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* --------------------------------------------------------------- check --- */

static int vocab_bad_id(const struct attn_vocab_header *h, int32_t id)
{
    return (id < -1) + (id >= h->size);
}

static const char *vocab_check_head(const struct attn_vocab_header *h,
                                    int64_t bytes)
{
    if (memcmp(h->magic, "ATTNVOC1", 8) != 0)
        return "no vocabulary: its first bytes are not ATTNVOC1";
    if (h->bytes != bytes)
        return "vocabulary: its size is not the size that it states";
    int64_t left = bytes - (int64_t)sizeof *h - (int64_t)sizeof(uint32_t);
    if (left < 0 || h->size < 0 ||
        h->size > left / (2 * (int64_t)sizeof(uint32_t)))
        return "vocabulary: fewer bytes than its tokens need";
    if (h->split < 0 || h->split > 1)
        return "vocabulary: unknown kind of split";
    if (vocab_bad_id(h, h->start) || vocab_bad_id(h, h->end) ||
        vocab_bad_id(h, h->pad) || vocab_bad_id(h, h->unknown))
        return "vocabulary: a special token is out of range";
    if (h->append_end < 0 || h->append_end > 1)
        return "vocabulary: append_end is neither 0 nor 1";
    if (h->append_end && h->end < 0)
        return "vocabulary: an end token is to be added, and there is none";
    return NULL;
}

static const char *vocab_check_tables(const struct vocab_view *v,
                                      int64_t bytes)
{
    int64_t size = v->head->size;
    int64_t room = bytes - (v->text - (const char *)v->head);
    if (v->offset[0] != 0 || v->offset[size] != room)
        return "vocabulary: its texts do not fill their place";
    for (int64_t i = 0; i < size; i++)
        if (v->offset[i] > v->offset[i + 1] || v->offset[i + 1] > room)
            return "vocabulary: texts out of order";
    for (int64_t i = 0; i < size; i++)
        if (v->sorted[i] >= size)
            return "vocabulary: an id out of range";
    for (int64_t i = 0; i < size; i++) {
        int64_t n = (int64_t)v->offset[i + 1] - (int64_t)v->offset[i];
        if (attn_utf8(v->text + v->offset[i], n) != n)
            return "vocabulary: a token is not UTF-8";
    }
    return NULL;
}

ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes)
{
    struct vocab_view v;
    if ((uintptr_t)block % 8 != 0)
        return "vocabulary: not at a multiple of 8 bytes";
    if (bytes < (int64_t)sizeof(struct attn_vocab_header))
        return "vocabulary: shorter than its head";
    const char *wrong = vocab_check_head(block, bytes);
    if (wrong)
        return wrong;
    wrong = vocab_check_tables(vocab_open(&v, block), bytes);
    if (wrong)
        return wrong;
    for (int32_t i = 1; i < v.head->size; i++) {
        int64_t a_bytes, b_bytes;
        const char *a = attn_vocab_token(block, (int32_t)v.sorted[i - 1],
                                         &a_bytes);
        const char *b = attn_vocab_token(block, (int32_t)v.sorted[i],
                                         &b_bytes);
        if (vocab_compare(a, a_bytes, b, b_bytes) >= 0)
            return "vocabulary: not in order, or a token twice";
    }
    return NULL;
}

/* ---------------------------------------------------------------- text --- */

/* Bytes of the piece at line + at: a character, or what is before a space. */
static int64_t vocab_piece(const struct attn_vocab_header *h, const char *line,
                           int64_t at, int64_t bytes)
{
    int64_t n = 0;
    if (h->split == 0)
        return vocab_character(line + at, bytes - at);
    while (at + n < bytes && line[at + n] != ' ')
        n++;
    return n;
}

ATTN_API int64_t attn_vocab_encode(const void *block, const char *line,
                                   int64_t bytes, int32_t *ids, int64_t cap,
                                   int64_t *bad)
{
    const struct attn_vocab_header *h = block;
    int64_t n = 0, at = 0;
    *bad = attn_utf8(line, bytes);
    if (*bad < bytes)
        return -3;
    while (at < bytes) {
        int64_t length = vocab_piece(h, line, at, bytes);
        if (length == 0) {                       /* at a space */
            at++;
            continue;
        }
        int32_t id = attn_vocab_find(block, line + at, length);
        if (id < 0)
            id = h->unknown;
        *bad = at;
        if (id < 0)
            return -2;
        if (n == cap)
            return -1;
        ids[n] = id;
        n++;
        at += length;
    }
    if (h->append_end) {
        if (n == cap)
            return -1;
        ids[n] = h->end;
        n++;
    }
    return n;
}

ATTN_API int64_t attn_vocab_decode(const void *block, const int32_t *ids,
                                   int64_t n, char *out, int64_t cap)
{
    const struct attn_vocab_header *h = block;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes;
        if (ids[i] < 0 || ids[i] >= h->size)
            return -1;
        const char *text = attn_vocab_token(block, ids[i], &bytes);
        int64_t gap = 0;
        if (i > 0 && h->split == 1)
            gap = 1;
        if (gap + bytes >= cap - at)
            return -1;
        if (gap == 1)
            out[at] = ' ';
        memcpy(out + at + gap, text, (size_t)bytes);
        at += gap + bytes;
    }
    if (at >= cap)
        return -1;
    out[at] = 0;
    return at;
}
