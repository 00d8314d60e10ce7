/* decode.c: converts tokens to text by the steps of a block's decoder. Results
 * depend on the text so far. Bytes that do not form a character become
 * U+FFFD. */
#include "runtime/core.h"

#include <string.h>

struct decode_steps { /* the decoder's steps, by number; NULL: not used */
    const struct attn_step *op[ATTN_STEP_OUT_END - ATTN_STEP_OUT];
    const struct attn_vocab *v;
    int fused; /* Strip applies to the complete text, not to each token */
};

static const struct attn_step *decode_step(const struct decode_steps *d, int op)
{
    return d->op[op - ATTN_STEP_OUT];
}

static struct decode_steps decode_steps_of(const struct attn_vocab *v)
{
    struct decode_steps d;
    const int list = ATTN_DECODE - ATTN_NORMAL;
    memset(&d, 0, sizeof d);
    d.v = v;
    for (int64_t i = 0; i < v->steps[list]; i++) {
        const struct attn_step *s = &v->step[list][i];
        d.op[s->op - ATTN_STEP_OUT] = s;
        if (s->op == ATTN_STEP_FUSE && !decode_step(&d, ATTN_STEP_STRIP_OUT))
            d.fused = 1;
    }
    return d;
}

/* ---- characters ---- */

/* Appends bytes to the pending ones, and writes those that can no longer
 * change. */
static void decode_bytes(struct attn_text_out *o, const char *text, int64_t n)
{
    for (int64_t i = 0; i < n && !o->t->stopped; i++)
        attn_text_byte(o, text[i]);
}

/* Writes a character, unless Strip removes it at the start or the end of the
 * text. */
static void decode_character(struct attn_text_out *o,
                             const struct decode_steps *d, const char *text,
                             int64_t n)
{
    const struct attn_step *s = decode_step(d, ATTN_STEP_STRIP_OUT);
    struct attn_text *t = o->t;
    if (!s) {
        decode_bytes(o, text, n);
        return;
    }
    const char *content = d->v->strings + s->text.at;
    const int same = n == (int64_t)s->text.bytes
                  && memcmp(text, content, (size_t)n) == 0;
    if (same && t->lead >= 0 && t->lead < s->flags % 256) {
        t->lead++;
        return;
    }
    t->lead = -1;
    if (same && t->trail < s->flags / 256) {
        t->trail++;
        return;
    }
    for (; !same && t->trail > 0; t->trail--)
        decode_bytes(o, content, s->text.bytes);
    decode_bytes(o, text, n);
}

static void decode_text(struct attn_text_out *o, const struct decode_steps *d,
                        const char *text, int64_t n)
{
    int64_t length;
    for (int64_t i = 0; i < n; i += length) {
        length = attn_max(attn_character(text + i, n - i), 1);
        decode_character(o, d, text + i, length);
    }
}

/* Writes U+FFFD for the pending incomplete character, either once or once per
 * byte. */
static void decode_broken(struct attn_text_out *o, const struct decode_steps *d)
{
    struct attn_text *t = o->t;
    int64_t n = attn_min(t->open, 1);
    if (!decode_step(d, ATTN_STEP_BYTE_LEVEL_OUT))
        n = t->open;
    t->open = 0;
    for (; n > 0; n--)
        decode_character(o, d, "\xef\xbf\xbd", 3);
}

/* True if these bytes could begin a character. Tries the smallest and the
 * largest bytes as continuation. */
static int decode_begins(const char *bytes, int64_t n)
{
    char whole[8];
    memset(whole, 0x80, 4);
    memset(whole + 4, 0xbf, 4);
    memcpy(whole, bytes, (size_t)n);
    memcpy(whole + 4, bytes, (size_t)n);
    return attn_character(whole, 4) > n || attn_character(whole + 4, 4) > n;
}

static void decode_byte(struct attn_text_out *o, const struct decode_steps *d,
                        char c)
{
    struct attn_text *t = o->t;
    t->part[t->open] = c;
    t->open++;
    const int64_t n = t->broken ? 0 : attn_character(t->part, t->open);
    if (n > 0) {
        t->open = 0;
        decode_character(o, d, t->part, n);
    } else if (t->broken || !decode_begins(t->part, t->open)) {
        const int64_t before = t->open - 1;
        t->open = attn_max(before, 1);
        decode_broken(o, d);
        if (before > 0)
            decode_byte(o, d, c);
    }
}

/* ---- tokens ---- */

static int decode_at(const struct decode_steps *d, const struct attn_step *s,
                     const char *text, int64_t n)
{
    return s && n >= (int64_t)s->text.bytes
        && memcmp(text, d->v->strings + s->text.at, s->text.bytes) == 0;
}

/* Cleans up English spacing, e.g. " ." to ".". Returns the number of bytes to
 * replace at `text`, and their replacement in *instead; 0: none. */
static int64_t decode_clean(const char *text, int64_t n, const char **instead)
{
    static const char *const rows[][2] = {
        { " .", "." },     { " ?", "?" },           { " !", "!" },
        { " ,", "," },     { " ' ", "'" },          { " n't", "n't" },
        { " 'm", "'m" },   { " do not", " don't" }, { " 's", "'s" },
        { " 've", "'ve" }, { " 're", "'re" },
    };
    for (int64_t i = 0; i < 11; i++) {
        const int64_t bytes = (int64_t)strlen(rows[i][0]);
        *instead = rows[i][1];
        if (bytes <= n && memcmp(text, rows[i][0], (size_t)bytes) == 0)
            return bytes;
    }
    return 0;
}

/* Writes the token's text unchanged. */
static void decode_own(struct attn_text_out *o, const struct decode_steps *d,
                       int kind, const char *text, int64_t n)
{
    (void)kind;
    decode_text(o, d, text, n);
}

/* Writes a token whose text is bytes, which may be parts of characters. */
static void decode_level(struct attn_text_out *o, const struct decode_steps *d,
                         int kind, const char *text, int64_t n)
{
    (void)kind;
    for (int64_t i = 0; i < n; i++)
        decode_byte(o, d, text[i]);
}

/* Writes a WordPiece token. A token with the prefix continues a word; any other
 * begins a word, after a space. */
static void decode_word(struct attn_text_out *o, const struct decode_steps *d,
                        int kind, const char *text, int64_t n)
{
    const struct attn_step *s = decode_step(d, ATTN_STEP_WORDPIECE_OUT);
    const char *instead;
    char start[8] = " ";
    (void)kind;
    if (o->t->begun && decode_at(d, s, text, n)) {
        text += s->text.bytes;
        n -= s->text.bytes;
    } else if (o->t->begun) {
        const int64_t first = attn_min(n, 7);
        memcpy(start + 1, text, (size_t)first);
        const int64_t cut = s->flags ? decode_clean(start, first + 1, &instead)
                                     : 0;
        if (cut > 0) {
            decode_text(o, d, instead, (int64_t)strlen(instead));
            text += cut - 1;
            n -= cut - 1;
        } else {
            decode_text(o, d, " ", 1);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t cut = s->flags ? decode_clean(text + i, n - i, &instead) : 0;
        if (cut > 0)
            decode_text(o, d, instead, (int64_t)strlen(instead));
        else
            decode_bytes(o, text + i, 1);
        i += attn_max(cut, 1) - 1;
    }
}

/* Writes a SentencePiece token. Its marks become spaces, except at the start of
 * the text. */
static void decode_piece(struct attn_text_out *o, const struct decode_steps *d,
                         int kind, const char *text, int64_t n)
{
    const struct attn_step *s = decode_step(d, ATTN_STEP_PIECES_OUT);
    struct attn_text *t = o->t;
    int64_t i = 0;
    if (kind == ATTN_PIECE_UNKNOWN) {
        text = d->v->strings + s->other.at;
        n = s->other.bytes;
    } else if (t->lead == 0 && s->flags && decode_at(d, s, text, n)) {
        i = s->text.bytes;
        t->lead = s->flags & 2 ? 0 : -1;
    }
    if (i < n)
        t->lead = -1;
    while (i < n) {
        const int mark = decode_at(d, s, text + i, n - i);
        decode_bytes(o, mark ? " " : text + i, 1);
        i += mark ? s->text.bytes : 1;
    }
}

/* Writes a token, with the marks in its text replaced. */
static void decode_marks(struct attn_text_out *o, const struct decode_steps *d,
                         int kind, const char *text, int64_t n)
{
    const struct attn_step *replace = decode_step(d, ATTN_STEP_REPLACE_OUT);
    const struct attn_step *space = decode_step(d, ATTN_STEP_METASPACE_OUT);
    const struct attn_step *suffix = decode_step(d, ATTN_STEP_SUFFIX_OUT);
    int64_t i = 0, length;
    (void)kind;
    for (; i < n; i += length) {
        if (o->t->gap)
            decode_text(o, d, " ", 1);
        o->t->gap = 0;
        if (decode_at(d, replace, text + i, n - i)) {
            length = replace->text.bytes;
            decode_text(o, d, d->v->strings + replace->other.at,
                        replace->other.bytes);
        } else if (decode_at(d, space, text + i, n - i)) {
            length = space->text.bytes;
            if (o->t->begun || !space->flags)
                decode_text(o, d, " ", 1);
        } else if (decode_at(d, suffix, text + i, n - i)) {
            length = suffix->text.bytes;
            o->t->gap = 1;
        } else {
            length = attn_max(attn_character(text + i, n - i), 1);
            decode_character(o, d, text + i, length);
        }
    }
}

/* Returns the byte of a piece such as <0x0A> if the decoder uses such pieces,
 * otherwise -1. */
static int decode_byte_of(const struct decode_steps *d, const char *text,
                          int64_t n)
{
    if (!decode_step(d, ATTN_STEP_BYTE_FALLBACK_OUT))
        return -1;
    return attn_vocab_byte(text, n);
}

typedef void decode_write(struct attn_text_out *o, const struct decode_steps *d,
                          int kind, const char *text, int64_t n);

#define STEP(op, ...) [op] = { __VA_ARGS__ },
static const struct {
    decode_write *write;
} decode_writers[ATTN_STEP_OUT_END] = {
#include "writers.h"
};

/* Returns the function of the first step that writes a token's text;
 * decode_own() if there is none. */
static decode_write *decode_writer(const struct decode_steps *d)
{
    for (int op = ATTN_STEP_OUT; op < ATTN_STEP_OUT_END; op++)
        if (decode_step(d, op) && decode_writers[op].write)
            return decode_writers[op].write;
    return decode_own;
}

ATTN_API void attn_decode_token(struct attn_text_out *o,
                                const struct attn_vocab *v, int32_t id)
{
    const struct decode_steps d = decode_steps_of(v);
    struct attn_text *t = o->t;
    int64_t n;
    const int piece = v->piece ? v->piece[id] : 0;
    const int kind = piece & ATTN_PIECE_KIND;
    const char *text = attn_vocab_token(t->block, id, &n);
    if (piece & ATTN_PIECE_SPECIAL || kind == ATTN_PIECE_BEGIN
        || kind == ATTN_PIECE_END)
        return;
    const int byte = decode_byte_of(&d, text, n);
    if (!d.fused && decode_step(&d, ATTN_STEP_STRIP_OUT))
        t->lead = t->trail = 0;
    if (byte < 0 && !decode_step(&d, ATTN_STEP_BYTE_LEVEL_OUT))
        decode_broken(o, &d);
    if (t->begun && decode_step(&d, ATTN_STEP_JOIN_OUT))
        decode_text(o, &d, " ", 1);
    if (byte >= 0) {
        t->lead = decode_step(&d, ATTN_STEP_PIECES_OUT) ? -1 : t->lead;
        decode_byte(o, &d, (char)byte);
    } else {
        decode_writer (&d)(o, &d, kind, text, n);
    }
    t->begun = 1;
}

ATTN_API void attn_decode_end(struct attn_text_out *o,
                              const struct attn_vocab *v)
{
    const struct decode_steps d = decode_steps_of(v);
    decode_broken(o, &d);
    o->t->trail = 0;
}

ATTN_API int attn_decode_is_byte(const struct attn_vocab *v, int32_t id)
{
    const struct decode_steps d = decode_steps_of(v);
    int64_t n;
    const char *text = attn_vocab_token(v->head, id, &n);
    return decode_byte_of(&d, text, n) >= 0;
}

/* True if the byte pieces at the start of ids do not all form characters. All
 * of them then become U+FFFD. */
ATTN_API int attn_decode_breaks(const struct attn_vocab *v, const int32_t *ids,
                                int64_t n)
{
    const struct decode_steps d = decode_steps_of(v);
    char bytes[4];
    int64_t at = 0, length;
    if (!decode_step(&d, ATTN_STEP_BYTE_FALLBACK_OUT)
        || decode_step(&d, ATTN_STEP_PIECES_OUT))
        return 0;
    while (at < n) {
        int64_t have = 0;
        for (; have < 4 && at + have < n; have++) {
            if (ids[at + have] < 0 || ids[at + have] >= v->head->size)
                break;
            const char *text = attn_vocab_token(v->head, ids[at + have],
                                                &length);
            const int byte = attn_vocab_byte(text, length);
            if (byte < 0)
                break;
            bytes[have] = (char)byte;
        }
        length = attn_character(bytes, have);
        if (length == 0)
            return have > 0;
        at += length;
    }
    return 0;
}
