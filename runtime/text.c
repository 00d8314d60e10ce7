/* text.c: ids in, text out, token by token. What is given out never ends in the
 * middle of a character, nor in what may become a stop string: such bytes are
 * held back until the next ones tell.                                       */
#include "core.h"

#include <string.h>

static int text_stops(const char *const *stop, int64_t stops)
{
    if (stops < 0 || stops > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (stops > 0 && !stop)
        return ATTN_ERROR_NULL;
    for (int64_t i = 0; i < stops; i++) {
        if (!stop[i])
            return ATTN_ERROR_NULL;
        size_t n = strlen(stop[i]);
        if (n < 1 || n > ATTN_STOP_BYTES)
            return ATTN_ERROR_LENGTH;
    }
    return 0;
}

ATTN_API int attn_text_open(struct attn_text *t, const void *block,
                            const char *const *stop, int64_t stops,
                            int64_t begun)
{
    if (!t)
        return ATTN_ERROR_NULL;
    t->block = NULL; /* not open yet */
    t->stop = stop;
    t->stops = stops;
    t->begun = begun;
    t->stopped = 0;
    t->held = 0;
    int wrong = attn_check_block(block);
    if (wrong == 0)
        wrong = text_stops(stop, stops);
    if (wrong == 0)
        t->block = block;
    return wrong;
}

/* Is it open, with room for what it holds? */
static int text_check(const struct attn_text *t, const char *out, int64_t cap)
{
    if (!t || !out)
        return ATTN_ERROR_NULL;
    if (cap < 0)
        return ATTN_ERROR_COUNT;
    if (!t->block || t->held < 0 || t->held > ATTN_STOP_BYTES)
        return ATTN_ERROR_OPEN;
    if (attn_check_count(t->stops, 0, ATTN_MOST) != 0)
        return ATTN_ERROR_OPEN;
    return attn_check_block(t->block);
}

/* Bytes at the end of the held ones that begin a character and do not end it.
 * Whether bytes are missing is asked by adding the least, the greatest ones. */
static int64_t text_open_character(const struct attn_text *t)
{
    for (int64_t n = 1; n <= 3 && n <= t->held; n++) {
        char whole[8];
        memset(whole, 0x80, 4);
        memset(whole + 4, 0xbf, 4);
        memcpy(whole, t->hold + t->held - n, (size_t)n);
        memcpy(whole + 4, t->hold + t->held - n, (size_t)n);
        if (attn_character(whole, 4) > n || attn_character(whole + 4, 4) > n)
            return n;
    }
    return 0;
}

/* Bytes at the end of the held ones that a stop string begins with. */
static int64_t text_open_stop(const struct attn_text *t, const char *stop)
{
    int64_t n = attn_min((int64_t)strlen(stop) - 1, t->held);
    while (n > 0) {
        if (memcmp(t->hold + t->held - n, stop, (size_t)n) == 0)
            break;
        n--;
    }
    return n;
}

/* Gives out the first n of the held bytes. */
static int64_t text_release(struct attn_text *t, int64_t n, char *out)
{
    memcpy(out, t->hold, (size_t)n);
    t->held -= n;
    memmove(t->hold, t->hold + n, (size_t)t->held);
    return n;
}

static int64_t text_byte(struct attn_text *t, char c, char *out)
{
    t->hold[t->held] = c;
    t->held++;
    int64_t keep = text_open_character(t);
    for (int64_t i = 0; i < t->stops; i++) {
        int64_t n = (int64_t)strlen(t->stop[i]);
        if (n <= t->held
            && memcmp(t->hold + t->held - n, t->stop[i], (size_t)n) == 0) {
            t->stopped = 1;
            n = text_release(t, t->held - n, out);
            t->held = 0;
            return n;
        }
        keep = attn_max(keep, text_open_stop(t, t->stop[i]));
    }
    return text_release(t, t->held - keep, out);
}

static int64_t text_bytes(struct attn_text *t, const char *text, int64_t bytes,
                          char *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < bytes && !t->stopped; i++)
        n += text_byte(t, text[i], out + n);
    return n;
}

/* The text of a piece in a text: that of a byte piece is its byte, the marks of
 * beginning and end have none, and a text's first space is dropped.         */
static const char *text_of_piece(const struct attn_text *t,
                                 const struct attn_vocab *v, int32_t id,
                                 char *byte, int64_t *bytes)
{
    const char *text = attn_vocab_token(t->block, id, bytes);
    const int kind = v->piece[id] & ATTN_PIECE_KIND;
    if (kind == ATTN_PIECE_BYTE) {
        *byte = (char)attn_vocab_byte(text, *bytes);
        text = byte;
        *bytes = 1;
    }
    if (kind == ATTN_PIECE_BEGIN || kind == ATTN_PIECE_END)
        *bytes = 0;
    if (!t->begun && *bytes > 0 && text[0] == ' ') {
        text++;
        *bytes -= 1;
    }
    return text;
}

ATTN_API int64_t attn_text_add(struct attn_text *t, int32_t id, char *out,
                               int64_t cap)
{
    struct attn_vocab v;
    int64_t bytes, n = 0, gap = 0;
    char byte;
    int wrong = text_check(t, out, cap);
    if (wrong)
        return wrong;
    attn_vocab_open(&v, t->block);
    if (t->stopped)
        return 0;
    if (id < 0 || id >= v.head->size)
        return ATTN_ERROR_ID;
    const char *text = attn_vocab_token(t->block, id, &bytes);
    if (v.head->kind == ATTN_MERGES)
        text = text_of_piece(t, &v, id, &byte, &bytes);
    if (v.head->kind == ATTN_SPACES && t->begun)
        gap = 1;
    if (t->held + gap + bytes > cap)
        return ATTN_ERROR_ROOM;
    if (gap == 1)
        n = text_bytes(t, " ", 1, out);
    n += text_bytes(t, text, bytes, out + n);
    t->begun = 1;
    if (v.head->kind == ATTN_MERGES && v.piece[id] == ATTN_PIECE_BEGIN)
        t->begun = 0;
    return n;
}

ATTN_API int64_t attn_text_end(struct attn_text *t, char *out, int64_t cap)
{
    int wrong = text_check(t, out, cap);
    if (wrong)
        return wrong;
    if (t->held > cap)
        return ATTN_ERROR_ROOM;
    return text_release(t, t->held, out);
}

ATTN_API int64_t attn_vocab_decode(const void *block, const int32_t *ids,
                                   int64_t n, char *out, int64_t cap)
{
    struct attn_text t;
    int64_t at = 0;
    int wrong = attn_text_open(&t, block, NULL, 0, 0);
    if (wrong == 0)
        wrong = attn_check_ids(ids, n, INT32_MAX);
    if (wrong)
        return wrong;
    if (!out)
        return ATTN_ERROR_NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t bytes = attn_text_add(&t, ids[i], out + at, cap - at);
        if (bytes < 0)
            return bytes;
        at += bytes;
    }
    int64_t rest = attn_text_end(&t, out + at, cap - at);
    if (rest < 0)
        return rest;
    if (at + rest >= cap)
        return ATTN_ERROR_ROOM;
    out[at + rest] = 0;
    return at + rest;
}
