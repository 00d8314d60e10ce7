/* aligned.c: texts in which each byte knows its position in the caller's
 * text. */
#include "runtime/core.h"

#include <string.h>

static int aligned_inside(const struct attn_aligned *in, int64_t at)
{
    return at > 0 && at < in->bytes && (in->text[at] & 0xc0) == 0x80;
}

ATTN_API void attn_place(const struct attn_aligned *in, int64_t at, int64_t n,
                         int32_t *from, int32_t *to)
{
    int64_t end = at + n;
    if (in->from && n > 0) {
        *from = in->from[at];
        *to = in->to[end - 1];
        return;
    }
    if (in->from) {
        *from = (int32_t)in->base;
        if (at < in->bytes)
            *from = in->from[at];
        else if (in->bytes > 0)
            *from = in->to[in->bytes - 1];
        *to = *from;
        return;
    }
    while (aligned_inside(in, at))
        at--;
    while (aligned_inside(in, end))
        end++;
    *from = (int32_t)(in->base + at);
    *to = (int32_t)(in->base + end);
}

ATTN_API struct attn_aligned attn_part_of(const struct attn_aligned *in,
                                          int64_t at, int64_t n)
{
    struct attn_aligned part = *in;
    part.text = in->text + at;
    part.bytes = n;
    part.cap = n;
    part.begins = at == 0 ? in->begins : 0;
    if (in->from) {
        part.from = in->from + at;
        part.to = in->to + at;
    } else {
        part.base = in->base + at;
    }
    return part;
}

ATTN_API int64_t attn_put_at(struct attn_aligned *out, const char *text,
                             int64_t bytes, int32_t from, int32_t to)
{
    if (bytes > out->cap - out->bytes)
        return ATTN_ERROR_ROOM;
    if (bytes > 0)
        memcpy(out->text + out->bytes, text, (size_t)bytes);
    for (int64_t i = 0; out->from && i < bytes; i++) {
        out->from[out->bytes + i] = from;
        out->to[out->bytes + i] = to;
    }
    out->bytes += bytes;
    return 0;
}

ATTN_API int64_t attn_put(struct attn_aligned *out,
                          const struct attn_aligned *in, int64_t at, int64_t n,
                          const char *text, int64_t bytes)
{
    int32_t from = 0, to = 0;
    if (out->from)
        attn_place(in, at, n, &from, &to);
    return attn_put_at(out, text, bytes, from, to);
}

ATTN_API int64_t attn_put_same(struct attn_aligned *out,
                               const struct attn_aligned *in, int64_t at,
                               int64_t n)
{
    const int64_t was = out->bytes;
    if (n > out->cap - was)
        return ATTN_ERROR_ROOM;
    if (n > 0)
        memcpy(out->text + was, in->text + at, (size_t)n);
    for (int64_t i = 0; out->from && i < n; i++)
        attn_place(in, at + i, 1, &out->from[was + i], &out->to[was + i]);
    out->bytes += n;
    return 0;
}
