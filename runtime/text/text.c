/* text.c: converts ids to text, token by token. The output never ends within a
 * character or in what may begin a stop string: such bytes are held back until
 * later ones decide. */
#include "runtime/core.h"

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
    t->open = t->lead = t->trail = t->gap = t->broken = 0;
    int wrong = attn_check_block(block);
    if (wrong == 0)
        wrong = text_stops(stop, stops);
    if (wrong == 0)
        t->block = block;
    return wrong;
}

/* Checks that the text is open and that the output is valid. */
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

static void text_bytes(struct attn_text_out *o, const char *text, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        attn_text_byte(o, text[i]);
}

/* Returns the text of a piece. A byte piece has its byte as text; begin and end
 * marks have no text; the first space of a text is dropped. */
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

static void text_token(struct attn_text_out *o, const struct attn_vocab *v,
                       int32_t id)
{
    struct attn_text *t = o->t;
    int64_t bytes;
    char byte;
    const int merges = v->head->kind == ATTN_MERGES;
    const char *text = attn_vocab_token(t->block, id, &bytes);
    if (merges)
        text = text_of_piece(t, v, id, &byte, &bytes);
    if (v->head->kind == ATTN_SPACES && t->begun)
        attn_text_byte(o, ' ');
    text_bytes(o, text, bytes);
    t->begun = 1;
    if (merges && (v->piece[id] & ATTN_PIECE_KIND) == ATTN_PIECE_BEGIN)
        t->begun = 0;
}

ATTN_API void attn_text_step(struct attn_text_out *o,
                             const struct attn_vocab *v, int32_t id)
{
    const int decodes = v->steps[ATTN_DECODE - ATTN_NORMAL] > 0;
    if (id >= 0 && decodes)
        attn_decode_token(o, v, id);
    else if (id >= 0)
        text_token(o, v, id);
    else if (decodes)
        attn_decode_end(o, v);
    if (id < 0)
        attn_text_release(o, o->t->held);
}

/* Runs the step twice, the first time only to count the bytes, so that nothing
 * changes if the output is too small. */
static int64_t text_out(struct attn_text *t, const struct attn_vocab *v,
                        int32_t id, char *out, int64_t cap)
{
    struct attn_text copy = *t;
    struct attn_text_out need, o;
    memset(&need, 0, sizeof need);
    memset(&o, 0, sizeof o);
    need.t = &copy;
    attn_text_step(&need, v, id);
    if (need.n > cap)
        return ATTN_ERROR_ROOM;
    o.t = t;
    o.out = out;
    attn_text_step(&o, v, id);
    return o.n;
}

ATTN_API int64_t attn_text_add(struct attn_text *t, int32_t id, char *out,
                               int64_t cap)
{
    struct attn_vocab v;
    int wrong = text_check(t, out, cap);
    if (wrong)
        return wrong;
    attn_vocab_open(&v, t->block);
    if (t->stopped)
        return 0;
    if (id < 0 || id >= v.head->size)
        return ATTN_ERROR_ID;
    return text_out(t, &v, id, out, cap);
}

ATTN_API int64_t attn_text_end(struct attn_text *t, char *out, int64_t cap)
{
    struct attn_vocab v;
    int wrong = text_check(t, out, cap);
    if (wrong)
        return wrong;
    attn_vocab_open(&v, t->block);
    return text_out(t, &v, -1, out, cap);
}

/* True if the run of byte pieces at `at` forms no characters. Computed at the
 * start of a run; later pieces get the result as `broken`. */
static int64_t text_breaks(const struct attn_vocab *v, const int32_t *ids,
                           int64_t n, int64_t at, int64_t broken)
{
    if (v->steps[ATTN_DECODE - ATTN_NORMAL] == 0 || ids[at] < 0
        || ids[at] >= v->head->size)
        return 0;
    if (at > 0 && attn_decode_is_byte(v, ids[at - 1]))
        return broken;
    return attn_decode_breaks(v, ids + at, n - at);
}

ATTN_API int64_t attn_vocab_decode(const void *block, const int32_t *ids,
                                   int64_t n, char *out, int64_t cap)
{
    struct attn_text t;
    struct attn_vocab v;
    int64_t at = 0;
    int wrong = attn_text_open(&t, block, NULL, 0, 0);
    if (wrong == 0)
        wrong = attn_check_ids(ids, n, INT32_MAX);
    if (wrong)
        return wrong;
    if (!out)
        return ATTN_ERROR_NULL;
    attn_vocab_open(&v, block);
    for (int64_t i = 0; i < n; i++) {
        t.broken = text_breaks(&v, ids, n, i, t.broken);
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
