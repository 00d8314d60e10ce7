/* vocab.c: vocabularies and UTF-8. A vocabulary is one block of bytes (text.h):
 * the tokens by id and by text, and the data of the model and the steps. A
 * block that passed attn_vocab_check() is safe to use. */
#include "runtime/core.h"

#include <string.h>

ATTN_API int attn_check_block(const void *block)
{
    if (!block)
        return ATTN_ERROR_NULL;
    if ((uintptr_t)block % 8 != 0)
        return ATTN_ERROR_ALIGNED;
    if (memcmp(block, "ATTNVOC3", 8) != 0)
        return ATTN_ERROR_OPEN;
    return 0;
}

ATTN_API const void *attn_vocab_section(const void *block, int64_t section,
                                        int64_t *bytes)
{
    const struct attn_vocab_header *h = block;
    const struct attn_section *at = &h->section[section];
    *bytes = at->bytes;
    return at->bytes > 0 ? (const char *)block + at->at : NULL;
}

/* Returns a section, and the number of its items of `size` bytes. */
static const void *vocab_part(const void *block, int64_t section, size_t size,
                              int64_t *n)
{
    const void *part = attn_vocab_section(block, section, n);
    *n /= (int64_t)size;
    return part;
}

ATTN_API void attn_vocab_open(struct attn_vocab *v, const void *block)
{
    int64_t n;
    v->head = block;
    v->offset = attn_vocab_section(block, ATTN_OFFSETS, &n);
    v->text = attn_vocab_section(block, ATTN_TEXTS, &n);
    v->find = vocab_part(block, ATTN_FIND, sizeof *v->find, &v->finds);
    v->piece = attn_vocab_section(block, ATTN_PIECES, &n);
    v->score = attn_vocab_section(block, ATTN_SCORES, &n);
    v->byte = attn_vocab_section(block, ATTN_BYTES, &n);
    v->byte_last = attn_vocab_section(block, ATTN_BYTES_LAST, &n);
    v->pair = vocab_part(block, ATTN_PAIRS, sizeof *v->pair, &v->pairs);
    v->word = vocab_part(block, ATTN_WORDS, sizeof *v->word, &v->words);
    v->strings = attn_vocab_section(block, ATTN_STRINGS, &n);
    for (int64_t i = 0; i < 3; i++)
        v->step[i] = vocab_part(block, ATTN_NORMAL + i, sizeof *v->step[i],
                                &v->steps[i]);
    v->added = vocab_part(block, ATTN_ADDED, sizeof *v->added, &v->addeds);
    v->node = vocab_part(block, ATTN_ADDED_TRIE, sizeof *v->node, &v->nodes);
    v->templates = attn_vocab_section(block, ATTN_TEMPLATE, &n);
    v->classes = attn_vocab_section(block, ATTN_CLASSES, &n);
}

/* ---- UTF-8 ---- */

/* Returns the number of bytes at s that begin a valid character, whose length
 * is *n. Overlong forms, surrogates and code points above 10FFFF are invalid.
 * By the table of RFC 3629, the range of the second byte depends on the first;
 * later bytes are 80 .. BF. */
static int64_t vocab_begun(const unsigned char *s, int64_t left, int64_t *n)
{
    unsigned least = 0x80, most = 0xbf;
    int64_t i = 2;
    *n = 1;
    if (left < 1)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    *n = 2 + (s[0] >= 0xe0) + (s[0] >= 0xf0);
    if (s[0] == 0xe0)
        least = 0xa0;
    if (s[0] == 0xed)
        most = 0x9f;
    if (s[0] == 0xf0)
        least = 0x90;
    if (s[0] == 0xf4)
        most = 0x8f;
    if (left < 2 || s[1] < least || s[1] > most)
        return 1;
    while (i < *n && i < left && s[i] >= 0x80 && s[i] <= 0xbf)
        i++;
    return i;
}

ATTN_API int64_t attn_character(const char *s, int64_t left)
{
    int64_t n, begun = vocab_begun((const unsigned char *)s, left, &n);
    return begun == n ? n : 0;
}

ATTN_API int64_t attn_character_begun(const char *s, int64_t left)
{
    int64_t n;
    return attn_max(vocab_begun((const unsigned char *)s, left, &n), 1);
}

/* Returns the length of a character of two or three bytes whose second byte may
 * be any continuation byte; 0 for other characters. */
static int64_t vocab_two_or_three(const unsigned char *s)
{
    if (s[0] >= 0xc2 && s[0] <= 0xdf && (s[1] & 0xc0) == 0x80)
        return 2;
    if (s[0] > 0xe0 && s[0] < 0xf0 && s[0] != 0xed && (s[1] & 0xc0) == 0x80
        && (s[2] & 0xc0) == 0x80)
        return 3;
    return 0;
}

/* Returns the position of the first byte that is not valid UTF-8, or n. */
ATTN_API int64_t attn_utf8(const char *s, int64_t n)
{
    int64_t i = 0, length;
    while (i < n) {
        uint64_t eight = UINT64_MAX;
        if (n - i >= 8)
            memcpy(&eight, s + i, 8);
        if (!(eight & UINT64_C(0x8080808080808080))) {
            i += 8;
            continue;
        }
        for (; n - i >= 3 && s[i] < 0; i += length) {
            length = vocab_two_or_three((const unsigned char *)s + i);
            if (length == 0)
                break;
        }
        if (i == n)
            break;
        length = attn_character(s + i, n - i);
        if (length == 0)
            return i;
        i += length;
    }
    return n;
}

ATTN_API unsigned attn_class(const struct attn_vocab *v, uint32_t c)
{
    if (!v->classes)
        return 0;
    return v->classes[ATTN_CLASS_INDEX + 256 * (unsigned)v->classes[c >> 8]
                      + (c & 255)];
}

ATTN_API int attn_class_of(unsigned class, uint32_t categories)
{
    return (categories >> (class & ATTN_CLASS_CATEGORY) & 1) != 0;
}

ATTN_API int attn_class_word(unsigned class)
{
    return attn_class_of(class, ATTN_WORDS_OF) || (class & ATTN_CLASS_WORD);
}

/* ---- look-up ---- */

/* Converts up to 8 bytes to a number that is unique among texts of this
 * length. */
static uint64_t vocab_word(const char *s, int64_t n)
{
    uint64_t x = 0;
    uint32_t low, high;
    if (n == 8) {
        memcpy(&x, s, 8);
        return x;
    }
    if (n >= 4) {
        memcpy(&low, s, 4);
        memcpy(&high, s + n - 4, 4);
        return (uint64_t)high << 32 | low;
    }
    for (int64_t i = 0; i < n; i++)
        x = x << 8 | (unsigned char)s[i];
    return x;
}

ATTN_API uint64_t attn_text_hash(const char *s, int64_t n)
{
    uint64_t x = attn_mix((uint64_t)n + 1);
    while (n > 8) {
        x = attn_mix(x ^ vocab_word(s, 8));
        s += 8;
        n -= 8;
    }
    return attn_mix(attn_mix(x ^ vocab_word(s, n)));
}

ATTN_API const char *attn_vocab_token(const void *block, int32_t id,
                                      int64_t *bytes)
{
    int64_t n;
    const uint32_t *offset = attn_vocab_section(block, ATTN_OFFSETS, &n);
    const char *text = attn_vocab_section(block, ATTN_TEXTS, &n);
    *bytes = (int64_t)offset[id + 1] - (int64_t)offset[id];
    return text ? text + offset[id] : "";
}

/* Compares a few bytes, usually one character; faster than memcmp(). */
static int vocab_same(const char *a, const char *b, int64_t n)
{
    if (n > 4)
        return memcmp(a, b, (size_t)n) == 0;
    for (int64_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

ATTN_API int32_t attn_find(const struct attn_vocab *v, const char *token,
                           int64_t bytes)
{
    if (v->finds == 0)
        return -1;
    int64_t at = attn_slot(attn_text_hash(token, bytes), v->finds);
    while (v->find[at] != 0) {
        const uint32_t *offset = v->offset + v->find[at] - 1;
        if ((int64_t)offset[1] - (int64_t)offset[0] == bytes
            && vocab_same(v->text + offset[0], token, bytes))
            return (int32_t)(v->find[at] - 1);
        at++;
        if (at == v->finds)
            at = 0;
    }
    return -1;
}

ATTN_API int32_t attn_vocab_find(const void *block, const char *token,
                                 int64_t bytes)
{
    struct attn_vocab v;
    attn_vocab_open(&v, block);
    return attn_find(&v, token, bytes);
}

/* ---- pieces of merges ---- */

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
