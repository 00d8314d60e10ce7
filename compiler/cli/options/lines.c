/* lines.c: converts lines to token ids and back. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/console.h"
#include "base/put_json.h"
#include "cli/options/lines.h"

void line_error(int64_t line, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s<stdin>:%lld: %serror:%s %s%s%s\n",
            paint(stderr, PaintText), (long long)line,
            paint(stderr, PaintError), paint(stderr, PaintEnd),
            paint(stderr, PaintText), text, paint(stderr, PaintEnd));
}

/* ---- document ---- */
/* One more byte is read, so that the YAML parser can reject a longer
 * document. */
enum { LongestDocument = 1 << 20 };

static bool read_byte(char *to)
{
    ssize_t n;
    do
        n = read(console_in(), to, 1);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        fail(ExitIO, "cannot read stdin: %s", strerror(errno));
    return n > 0;
}

/* Reads a document byte by byte, so that the rest of the input remains
 * unread. */
Document stdin_document(Arena *a)
{
    Buffer b = { .arena = a };
    Source *src = arena_alloc(a, sizeof *src);
    Document d = { .text = src };
    int line = 0; /* offset of the current line */
    if (console_in() < 0)
        fail(ExitUsage, "-: the library does not read stdin: give the text of "
                        "the spec");
    for (char c; b.n <= LongestDocument && !d.ended && read_byte(&c);) {
        buffer_add(&b, &c, 1);
        if (c != '\n')
            continue;
        d.ended = strcmp(b.at + line, "...\n") == 0
               || strcmp(b.at + line, "...\r\n") == 0;
        line = d.ended ? line : b.n;
    }
    const int n = d.ended ? line : b.n;
    *src = (Source){ "stdin", n ? arena_strndup(a, b.at, (size_t)n) : "",
                     (size_t)n, 0 };
    return d;
}

/* ---- tokens ---- */

/* Returns an upper bound for the number of ids of a text of n bytes. */
static int64_t tokens_most(const struct attn_side *t, size_t n)
{
    int64_t most = t->block ? attn_vocab_most_ids(t->block, (int64_t)n) : 0;
    return attn_min(attn_max(most, (int64_t)n + 2), MostTokens);
}

int64_t tokens_of(const struct attn_side *t, int64_t how, const char *text,
                  size_t n, int32_t *ids, int32_t *offsets, Fault *why)
{
    int64_t bad = 0, count;
    char at[ATTN_WHY];
    if (!t->block)
        count = attn_line_ids(t, text, (int64_t)n, ids, at);
    else {
        const int64_t bytes = attn_vocab_encode_bytes(t->block, (int64_t)n);
        void *memory = bytes > 0 ? malloc((size_t)bytes) : NULL;
        if (bytes > 0 && !memory)
            fail(ExitResource, "out of memory for a line of %zu bytes", n);
        count = attn_vocab_encode_offsets(t->block, text, (int64_t)n, how, ids,
                                          offsets, tokens_most(t, n), memory,
                                          &bad);
        free(memory);
        count = attn_line_tokens(t, text, (int64_t)n, count, bad, at);
    }
    if (count < 0)
        fault(why, ExitInput, "%s", at);
    return count;
}

enum { ShortText = 4096 }; /* longer texts are allocated in the arena */

/* Returns the text of n ids and sets *size to its length. */
static const char *text_of(Arena *a, const void *block, const int32_t *ids,
                           int64_t n, char room[ShortText], int64_t *size)
{
    char *text = room;
    int64_t cap = ShortText;
    while ((*size = attn_vocab_decode(block, ids, n, text, cap))
           == ATTN_ERROR_ROOM) {
        cap *= 2;
        text = arena_alloc(a, (size_t)cap);
    }
    return text;
}

void add_tokens(Buffer *b, const void *block, const int32_t *ids, int64_t n)
{
    char room[ShortText];
    int64_t size;
    const char *text = text_of(b->arena, block, ids, n, room, &size);
    buffer_add(b, text, (size_t)size);
}

void json_ids(Buffer *b, const char *key, const int32_t *ids, int64_t n)
{
    json_put_key(b, key);
    buffer_add(b, "[", 1);
    for (int64_t i = 0; i < n; i++)
        buffer_printf(b, "%s%d", i ? ", " : "", ids[i]);
    buffer_add(b, "]", 1);
}

void json_tokens(Buffer *b, const void *block, const int32_t *ids, int64_t n)
{
    char room[ShortText];
    int64_t size;
    json_ids(b, "tokens", ids, n);
    if (!block)
        return;
    const char *text = text_of(b->arena, block, ids, n, room, &size);
    json_put_key(b, "text");
    json_quote(b, text, size);
}

static int need_vocabulary(const SpecVocab *v, bool ids, const char *side,
                           const char *key)
{
    if (v->size == 0) {
        error_at((Pos){ 0 },
                 "the %s is rows of numbers: give one row per line of stdin, "
                 "or tensors by --input FILE --output FILE",
                 side);
        return ExitInput;
    }
    if (ids || v->file)
        return ExitDone;
    error_at((Pos){ 0 },
             "the spec names no vocabulary file (%s): give token ids with "
             "--ids",
             key);
    return ExitInput;
}

int need_vocabularies(const Spec *s, bool ids, bool rows)
{
    const bool both = s->kind == KindEncoderDecoder;
    int code = ExitDone;

    if (s->kind != KindDecoder && !(rows && s->source.size == 0))
        code = need_vocabulary(&s->source, ids, "source",
                               both ? "vocab.source.file" : "vocab.file");
    if (!code && (both || s->kind == KindDecoder))
        code = need_vocabulary(&s->target, ids, "target",
                               both ? "vocab.target.file" : "vocab.file");
    return code;
}

FILE *beside(const char *file, FILE *out)
{
    return is_stdout(file) ? console_log() : out;
}

void flush_answers(FILE *to)
{
    Fault why;
    if (!stream_flush(to, &why))
        fail(why.code, "%s", why.text);
}
