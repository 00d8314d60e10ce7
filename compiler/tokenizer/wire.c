/* wire.c: reads the wire format of protocol buffers: numbered fields, each of
 * which holds a number or bytes. */
#include "tokenizer/wire.h"

static bool cut(Wire *w)
{
    w->wrong = true;
    return false;
}

static bool read_number(Wire *w, uint64_t *to)
{
    *to = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (w->at == w->end)
            return cut(w);
        const unsigned char c = *w->at++;
        *to |= (uint64_t)(c & 127) << shift;
        if (c < 128)
            return true;
    }
    return cut(w);
}

/* Reads a little-endian number of `bytes` bytes. */
static bool read_fixed(Wire *w, int bytes, uint64_t *to)
{
    *to = 0;
    if (w->end - w->at < bytes)
        return cut(w);
    for (int i = 0; i < bytes; i++)
        *to |= (uint64_t)*w->at++ << 8 * i;
    return true;
}

static bool read_wire_bytes(Wire *w, WireField *f)
{
    uint64_t n;
    if (!read_number(w, &n))
        return false;
    if (n > (uint64_t)(w->end - w->at))
        return cut(w);
    f->bytes = (Wire){ w->at, w->at + n, false };
    w->at += n;
    return true;
}

bool wire_next(Wire *w, WireField *f)
{
    uint64_t key;
    *f = (WireField){ 0 };
    if (w->at == w->end || !read_number(w, &key))
        return false;
    f->number = key >> 3 < 1 << 29 ? (int)(key >> 3) : 0;
    f->type = (int)(key & 7);
    if (f->number == 0)
        return cut(w);
    switch (f->type) {
    case WireNumber: return read_number(w, &f->value);
    case WireLong:   return read_fixed(w, 8, &f->value);
    case WireBytes:  return read_wire_bytes(w, f);
    case WireShort:  return read_fixed(w, 4, &f->value);
    default:         return cut(w);
    }
}
