/* vocab.c: vocabularies and UTF-8. A vocabulary is one block of bytes (core.h):
 * tokens by id and by text, and what its kind of tokenizer needs. A block that
 * attn_vocab_check has passed is safe to use.                               */
#include "core.h"

#include <string.h>

/* For each kind: bytes of the tables between the ids and the texts, and their
 * check (NULL: none).                                                       */
struct vocab_kind {
    int64_t of_token, fixed;
    const char *(*check)(const struct attn_vocab *v);
};

static const char *vocab_check_merges(const struct attn_vocab *v);

static const struct vocab_kind vocab_kinds[ATTN_TOKENIZERS] = {
    { 0, 0, NULL },                  /* characters */
    { 0, 0, NULL },                  /* spaces */
    { 5, 1024, vocab_check_merges }, /* merges */
};

ATTN_API void attn_vocab_open(struct attn_vocab *v, const void *block)
{
    v->head = block;
    v->offset = (const uint32_t *)(v->head + 1);
    v->sorted = v->offset + v->head->size + 1;
    v->score = (const float *)(v->sorted + v->head->size);
    v->byte = (const int32_t *)(v->score + v->head->size);
    v->piece = (const unsigned char *)(v->byte + 256);
    v->text = (const char *)v->score;
    if (v->head->kind == ATTN_MERGES)
        v->text = (const char *)(v->piece + v->head->size);
}

ATTN_API int attn_check_block(const void *block)
{
    if (!block)
        return ATTN_ERROR_NULL;
    if ((uintptr_t)block % 8 != 0)
        return ATTN_ERROR_ALIGNED;
    if (memcmp(block, "ATTNVOC2", 8) != 0)
        return ATTN_ERROR_OPEN;
    return 0;
}

/* ------------------------------------------------------------- UTF-8 --- */

/* Bytes of the character at s; 0: none (overlong forms, surrogates and numbers
 * above 10FFFF are none). By the table of RFC 3629: the second byte's range
 * depends on the first, all later ones are 80..BF.                          */
ATTN_API int64_t attn_character(const char *at, int64_t left)
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
        int64_t length = attn_character(s + i, n - i);
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
    struct attn_vocab v;
    attn_vocab_open(&v, block);
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
    struct attn_vocab v;
    attn_vocab_open(&v, block);
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
    if (attn_check_block(h) != 0)
        return "no vocabulary: its first bytes are not ATTNVOC2";
    if (h->bytes != bytes)
        return "vocabulary: its size is not the size that it states";
    int64_t left = bytes - (int64_t)sizeof *h - (int64_t)sizeof(uint32_t);
    if (h->kind < 0 || h->kind >= ATTN_TOKENIZERS)
        return "vocabulary: unknown kind of tokenizer";
    const struct vocab_kind *kind = &vocab_kinds[h->kind];
    left -= kind->fixed;
    if (left < 0 || h->size < 0
        || h->size > left / (2 * (int64_t)sizeof(uint32_t) + kind->of_token))
        return "vocabulary: fewer bytes than its tokens need";
    if (vocab_bad_id(h, h->start) || vocab_bad_id(h, h->end)
        || vocab_bad_id(h, h->pad) || vocab_bad_id(h, h->unknown))
        return "vocabulary: a special token is out of range";
    if (h->append_end < 0 || h->append_end > 1)
        return "vocabulary: append_end is neither 0 nor 1";
    if (h->append_end && h->end < 0)
        return "vocabulary: an end token is to be added, and there is none";
    return NULL;
}

static const char *vocab_check_tables(const struct attn_vocab *v, int64_t bytes)
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

/* In order of text, each once. */
static const char *vocab_check_order(const void *block, int32_t size,
                                     const uint32_t *sorted)
{
    for (int32_t i = 1; i < size; i++) {
        int64_t a_bytes, b_bytes;
        const char *a = attn_vocab_token(block, (int32_t)sorted[i - 1],
                                         &a_bytes);
        const char *b = attn_vocab_token(block, (int32_t)sorted[i], &b_bytes);
        if (vocab_compare(a, a_bytes, b, b_bytes) >= 0)
            return "vocabulary: not in order, or a token twice";
    }
    return NULL;
}

ATTN_API const char *attn_vocab_check(const void *block, int64_t bytes)
{
    struct attn_vocab v;
    if ((uintptr_t)block % 8 != 0)
        return "vocabulary: not at a multiple of 8 bytes";
    if (bytes < (int64_t)sizeof(struct attn_vocab_header))
        return "vocabulary: shorter than its head";
    const char *wrong = vocab_check_head(block, bytes);
    if (wrong)
        return wrong;
    attn_vocab_open(&v, block);
    wrong = vocab_check_tables(&v, bytes);
    if (wrong)
        return wrong;
    if (vocab_kinds[v.head->kind].check) {
        wrong = vocab_kinds[v.head->kind].check(&v);
        if (wrong)
            return wrong;
    }
    return vocab_check_order(block, v.head->size, v.sorted);
}

/* ----------------------------------------------------- pieces of merges --- */

static int vocab_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

ATTN_API int attn_vocab_byte(const char *text, int64_t bytes)
{
    if (bytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    int high = vocab_digit(text[3]), low = vocab_digit(text[4]);
    if (high < 0 || low < 0)
        return -1;
    return high * 16 + low;
}

/* The table of bytes names a byte piece for every byte, or for none. */
static const char *vocab_check_bytes(const struct attn_vocab *v, int64_t pieces)
{
    if (pieces != 0 && pieces != 256)
        return "vocabulary: byte pieces for some bytes only";
    for (int32_t i = 0; i < 256; i++) {
        int32_t id = v->byte[i];
        int64_t n;
        if (pieces == 0 && id == -1)
            continue;
        if (id < 0 || id >= v->head->size || v->piece[id] != ATTN_PIECE_BYTE)
            return "vocabulary: a byte has no byte piece";
        const char *text = attn_vocab_token(v->head, id, &n);
        if (attn_vocab_byte(text, n) != i)
            return "vocabulary: a byte piece of another byte";
    }
    return NULL;
}

static const char *vocab_check_merges(const struct attn_vocab *v)
{
    int64_t pieces = 0;
    for (int32_t i = 0; i < v->head->size; i++) {
        if (v->piece[i] > ATTN_PIECE_UNKNOWN)
            return "vocabulary: a piece of unknown kind";
        if (v->piece[i] == ATTN_PIECE_BYTE)
            pieces++;
        if (!(v->score[i] - v->score[i] == 0.0f))
            return "vocabulary: a score is not finite";
    }
    return vocab_check_bytes(v, pieces);
}
