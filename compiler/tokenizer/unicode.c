/* unicode.c: builds a block's table of character classes from utf8proc's data:
 * 256 characters per page, with equal pages stored once. */
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "tokenizer/block.h"

/* True for the Unicode property White_Space. */
static bool is_space(uint32_t c)
{
    return (c >= 0x9 && c <= 0xd) || c == 0x20 || c == 0x85 || c == 0xa0
        || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028
        || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* True for characters in \w that are not letters, marks, numbers or connectors:
 * Join_Control, and symbols that are Other_Alphabetic. */
static bool is_word_property(uint32_t c)
{
    return c == 0x200c || c == 0x200d || (c >= 0x24b6 && c <= 0x24e9)
        || (c >= 0x1f130 && c <= 0x1f149) || (c >= 0x1f150 && c <= 0x1f169)
        || (c >= 0x1f170 && c <= 0x1f189);
}

static unsigned char class_of(uint32_t c)
{
    const unsigned category = (unsigned)utf8proc_category((int32_t)c);
    return (unsigned char)(category | (is_space(c) ? ATTN_CLASS_SPACE : 0u)
                           | (is_word_property(c) ? ATTN_CLASS_WORD : 0u));
}

static void make_classes(Bytes *out)
{
    unsigned char block[256];
    bytes_add(out, NULL, ATTN_CLASS_INDEX);
    for (uint32_t i = 0; i < ATTN_CLASS_INDEX && !out->full; i++) {
        size_t k = 0;
        for (uint32_t c = 0; c < 256; c++)
            block[c] = class_of(i * 256 + c);
        const size_t have = (out->n - ATTN_CLASS_INDEX) / 256;
        while (k < have
               && memcmp(out->at + ATTN_CLASS_INDEX + 256 * k, block, 256) != 0)
            k++;
        if (k == have)
            bytes_add(out, block, 256);
        if (!out->full)
            out->at[i] = (char)k;
    }
}

/* Appends the table, which is built only once per process. */
void unicode_classes(Bytes *out)
{
    static Bytes made;
    if (!made.n)
        make_classes(&made);
    out->full |= made.full;
    if (!made.full) {
        bytes_add(out, made.at, made.n);
        return;
    }
    free(made.at);
    made = (Bytes){ 0 };
}
