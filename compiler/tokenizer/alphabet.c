/* alphabet.c: the characters that stand for bytes in byte-level vocabularies: a
 * printable Latin-1 character for its own byte, U+0100 and above for the
 * others. */
#include "tokenizer/block.h"

/* Returns the byte that a character stands for, or -1 if there is none. */
static int byte_of(uint32_t c)
{
    uint32_t next = 0x100;
    if ((c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac)
        || (c >= 0xae && c <= 0xff))
        return (int)c;
    for (int byte = 0; byte < 256; byte++) {
        if ((byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad))
            continue;
        if (next++ == c)
            return byte;
    }
    return -1;
}

size_t tokenizer_alphabet(const char *text, size_t n, char *out)
{
    size_t made = 0;
    for (size_t at = 0; at < n;) {
        int64_t bytes = attn_character(text + at, (int64_t)(n - at));
        if (bytes == 0)
            return SIZE_MAX;
        const int byte = byte_of(attn_code_point(text + at, &bytes));
        if (byte < 0)
            return SIZE_MAX;
        out[made++] = (char)byte;
        at += (size_t)bytes;
    }
    return made;
}
