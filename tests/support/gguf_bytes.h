/* gguf_bytes.h: functions that write a .gguf file in memory. Included after
 * cmocka.h. A test of larger files defines BYTES_MOST, their maximum size. */
#ifndef ATTNC_GGUF_BYTES_H
#define ATTNC_GGUF_BYTES_H

#include <string.h>

#ifndef BYTES_MOST
#define BYTES_MOST 4096
#endif

typedef struct {
    unsigned char at[BYTES_MOST];
    size_t n;
} Bytes;

static inline void put(Bytes *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->at);
    memcpy(b->at + b->n, data, n);
    b->n += n;
}

static inline void put_number(Bytes *b, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        put(b, &(unsigned char){ (unsigned char)(v >> 8 * i) }, 1);
}

static inline void put_text(Bytes *b, const char *text)
{
    put_number(b, strlen(text), 8);
    put(b, text, strlen(text));
}

static inline Bytes head(uint64_t version, uint64_t tensors, uint64_t pairs)
{
    Bytes b = { .n = 0 };
    put(&b, "GGUF", 4);
    put_number(&b, version, 4);
    put_number(&b, tensors, 8);
    put_number(&b, pairs, 8);
    return b;
}

static inline void put_pair(Bytes *b, const char *key, unsigned type,
                            uint64_t v, int bytes)
{
    put_text(b, key);
    put_number(b, type, 4);
    put_number(b, v, bytes);
}

/* Writes two dimensions, the fastest first, as in the format. */
static inline void put_entry(Bytes *b, const char *name, uint64_t columns,
                             uint64_t rows, unsigned type, uint64_t offset)
{
    put_text(b, name);
    put_number(b, 2, 4);
    put_number(b, columns, 8);
    put_number(b, rows, 8);
    put_number(b, type, 4);
    put_number(b, offset, 8);
}

static inline void align(Bytes *b, size_t to)
{
    while (b->n % to)
        put(b, "", 1);
}

#endif
