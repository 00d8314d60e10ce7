/* encoding.c: the ids that a model finds, with the places of their texts. */
#include "core.h"

/* Offsets without the spaces at a token's ends. */
static void encoding_trim(struct attn_encoding *e, int64_t *from, int64_t *to)
{
    const struct attn_aligned *t = e->text;
    int64_t n;
    while (*from < *to
           && attn_class(&e->vocab, attn_code_point(t->text + *from, &n))
                  & ATTN_CLASS_SPACE)
        *from += n;
    while (*to > *from) {
        int64_t at = *to - 1;
        while (at > *from && (t->text[at] & 0xc0) == 0x80)
            at--;
        if (!(attn_class(&e->vocab, attn_code_point(t->text + at, &n))
              & ATTN_CLASS_SPACE))
            break;
        *to = at;
    }
}

ATTN_API int64_t attn_encode_put(struct attn_encoding *e, int32_t id,
                                 int64_t from, int64_t to)
{
    if (e->n >= e->cap)
        return ATTN_ERROR_ROOM;
    e->ids[e->n] = id < e->vocab.head->size ? id : e->vocab.head->unknown;
    if (e->offsets) {
        from += e->at;
        to += e->at;
        if (e->vocab.head->flags & ATTN_MODEL_TRIM)
            encoding_trim(e, &from, &to);
        attn_place(e->text, from, to - from, &e->offsets[2 * e->n],
                   &e->offsets[2 * e->n + 1]);
    }
    e->n++;
    return 0;
}

ATTN_API int64_t attn_encode_bad(struct attn_encoding *e, int64_t error,
                                 int64_t at)
{
    const struct attn_aligned *t = e->text;
    const int64_t place = attn_min(e->at + at, t->bytes);
    int32_t from = (int32_t)(t->base + place), to;
    if (t->from)
        attn_place(t, place, 0, &from, &to);
    e->bad = from;
    return error;
}
