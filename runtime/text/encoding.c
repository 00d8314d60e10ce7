/* encoding.c: collects the ids of a text as the tokenizer's model (merges,
 * unigram, WordPiece, ...) produces them, with their positions in the text. */
#include "runtime/core.h"

static int64_t encoding_before(const char *s, int64_t at)
{
    at--;
    while (at > 0 && (s[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* True if the character at s is a space or, if `any` is set, any white space.
 * Sets *n to its length. */
static int encoding_is_space(const struct attn_vocab *v, const char *s, int any,
                             int64_t *n)
{
    *n = 1;
    if (!any)
        return *s == ' ';
    return (attn_class(v, attn_code_point(s, n)) & ATTN_CLASS_SPACE) != 0;
}

/* Excludes white space at the ends of a token's text from its offsets,
 * character by character. One space before the first token may stay. */
static void encoding_trim(const struct attn_encoding *e, const char *s,
                          int64_t n, int any, int32_t *from, int32_t *to)
{
    const struct attn_vocab *v = &e->vocab;
    int64_t before = 0, behind = 0, at = 0, bytes, end = *to;
    while (at < n && encoding_is_space(v, s + at, any, &bytes)) {
        at += bytes;
        before++;
    }
    for (at = n; at > 0; behind++) {
        const int64_t last = any ? encoding_before(s, at) : at - 1;
        if (!encoding_is_space(v, s + last, any, &bytes))
            break;
        at = last;
    }
    if (before == 1 && v->head->flags & ATTN_MODEL_KEEP_FIRST
        && (e->n == 0 || *from == 0))
        before = 0;
    for (; before > 0 && *from < *to; before--)
        *from += (int32_t)attn_max(attn_character(e->given + *from,
                                                  *to - *from),
                                   1);
    for (; behind > 0 && end > 0; behind--)
        end = encoding_before(e->given, end);
    if (behind == 0)
        *to = (int32_t)attn_max(end, *from);
}

ATTN_API int64_t attn_encode_put(struct attn_encoding *e, int32_t id,
                                 int64_t from, int64_t to)
{
    if (e->n >= e->cap)
        return ATTN_ERROR_ROOM;
    e->ids[e->n] = id < e->vocab.head->size ? id : e->vocab.head->unknown;
    if (e->offsets) {
        int32_t *place = &e->offsets[2 * e->n];
        attn_place(e->text, e->at + from, to - from, place, place + 1);
        if (e->vocab.head->flags & ATTN_MODEL_TRIM) {
            int64_t n;
            const char *text = attn_vocab_token(e->vocab.head, id, &n);
            encoding_trim(e, text, n, 0, place, place + 1);
        }
    }
    e->n++;
    return 0;
}

ATTN_API int64_t attn_encode_added(struct attn_encoding *e, int32_t id,
                                   const struct attn_aligned *text,
                                   int64_t from, int64_t to)
{
    if (e->n >= e->cap)
        return ATTN_ERROR_ROOM;
    e->ids[e->n] = id;
    if (e->offsets) {
        int32_t *place = &e->offsets[2 * e->n];
        attn_place(text, from, to - from, place, place + 1);
        if (e->vocab.head->flags & ATTN_MODEL_TRIM)
            encoding_trim(e, text->text + from, to - from, 1, place, place + 1);
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
