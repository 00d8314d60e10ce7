/* lines.c: reads lines and converts them to token ids and back. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/put_json.h"
#include "cli/options/lines.h"

void lines_open(Lines *l, Arena *a, int fd)
{
    *l = (Lines){ .buffer = arena_alloc(a, LongestLine + 1),
                  .fd = fd,
                  .ending = '\n' };
}

/* Reads input once and appends it to the buffer. Returns false at the end of
 * the input. */
static bool fill(Lines *l)
{
    memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
    l->end -= l->begin;
    l->begin = 0;
    ssize_t n;
    do
        n = read(l->fd, l->buffer + l->end, LongestLine + 1 - l->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        fail(ExitIO, "cannot read stdin: %s", strerror(errno));
    l->end += (size_t)n;
    l->over = n == 0;
    return n > 0;
}

/* Skips the rest of a line that is too long. Returns the length of the complete
 * line. */
static size_t skip_line(Lines *l)
{
    size_t dropped = 0;
    for (;;) {
        char *at = l->buffer + l->begin;
        char *eol = memchr(at, l->ending, l->end - l->begin);
        size_t n = eol ? (size_t)(eol - at) : l->end - l->begin;
        dropped += n;
        l->begin += n + (eol != NULL);
        if (eol || !fill(l))
            return dropped;
    }
}

/* Skips the byte order mark that some editors put before a text. */
static void skip_mark(Lines *l)
{
    if (l->number == 0 && l->ending && l->end - l->begin >= 3
        && !memcmp(l->buffer + l->begin, "\xef\xbb\xbf", 3))
        l->begin += 3;
}

LineState lines_next(Lines *l, bool wait, const char **text, size_t *n)
{
    for (;;) {
        skip_mark(l);
        char *at = l->buffer + l->begin;
        size_t have = l->end - l->begin;
        char *eol = memchr(at, l->ending, have);
        if (eol || (l->over && have > 0)) {
            *text = at;
            *n = eol ? (size_t)(eol - at) : have;
            l->begin += *n + (eol != NULL);
            *n -= eol && l->ending == '\n' && *n > 0 && at[*n - 1] == '\r';
            l->number++;
            return LineText;
        }
        if (l->over)
            return LineEnd;
        if (have > LongestLine) {
            *n = skip_line(l);
            l->number++;
            return LineTooLong;
        }
        if (!wait)
            return LineWait;
        fill(l);
    }
}

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
/* One byte more is read; with it, the YAML parser rejects the document. */
enum { LongestDocument = 1 << 20 };

static bool read_byte(char *to)
{
    ssize_t n;
    do
        n = read(STDIN_FILENO, to, 1);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        fail(ExitIO, "cannot read stdin: %s", strerror(errno));
    return n > 0;
}

/* Reads a document byte by byte, so that the input after it stays unread. */
Document stdin_document(Arena *a)
{
    Buffer b = { .arena = a };
    Source *src = arena_alloc(a, sizeof *src);
    Document d = { .text = src };
    int line = 0; /* offset of the line being read */
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
Tokens tokens_with(const void *block, int64_t size, bool ids)
{
    return (Tokens){ .block = block, .size = size, .ids = ids };
}

static int64_t parse_ids(const Tokens *t, const char *text, size_t n,
                         int32_t *ids, Fault *why)
{
    int64_t count = 0;
    for (size_t i = 0; i < n;) {
        if (text[i] == ' ' || text[i] == '\t' || text[i] == '\r') {
            i++;
            continue;
        }
        size_t from = i;
        int64_t id = 0;
        for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
            id = id < INT32_MAX ? id * 10 + (text[i] - '0') : id;
        bool ends = i == n || text[i] == ' ' || text[i] == '\t'
                 || text[i] == '\r';
        if (!ends || id >= t->size) {
            fault(why, ExitInput,
                  "byte %zu: a token id from 0 to %lld is "
                  "expected",
                  from + 1, (long long)t->size - 1);
            return -1;
        }
        ids[count++] = (int32_t)id;
    }
    return count;
}

/* Returns the first character of the text, or its first word if the vocabulary
 * splits at spaces. */
static const char *first_token(const void *block, const char *at, size_t n)
{
    const struct attn_vocab_header *h = block;
    size_t i = n > 0;
    if (h->kind == ATTN_SPACES)
        while (i < n && at[i] != ' ')
            i++;
    else
        while (i < n && (at[i] & 0xc0) == 0x80)
            i++;
    return quote_n(at, i);
}

int64_t tokens_most(const Tokens *t, size_t n)
{
    int64_t most = t->ids ? 0 : attn_vocab_most_ids(t->block, (int64_t)n);
    return attn_max(most, (int64_t)n + 2);
}

int64_t tokens_of(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  Fault *why)
{
    return t->ids ? parse_ids(t, text, n, ids, why)
                  : tokens_at(t, text, n, ids, NULL, why);
}

/* Returns `count`, the number of ids, or -1 with *why if it is an error. */
static int64_t refuse_id(const Tokens *t, const char *text, size_t n,
                         int64_t count, int64_t bad, Fault *why)
{
    if (count == ATTN_ERROR_UTF8)
        fault(why, ExitInput, "byte %lld: this is not UTF-8",
              (long long)bad + 1);
    else if (count == ATTN_ERROR_UNKNOWN)
        fault(why, ExitInput,
              "byte %lld: the vocabulary has no '%s' and "
              "names no unknown token",
              (long long)bad + 1,
              first_token(t->block, text + bad, n - (size_t)bad));
    else if (count < 0)
        fault(why, ExitInput, "the line has too many tokens");
    return count < 0 ? -1 : count;
}

/* Allocates the memory that encoding n bytes needs; the caller frees it.
 * Returns NULL if none is needed. */
static void *encoding_memory(const Tokens *t, size_t n)
{
    const int64_t bytes = attn_vocab_encode_bytes(t->block, (int64_t)n);
    void *memory = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (bytes > 0 && !memory)
        fail(ExitResource, "out of memory for a line of %zu bytes", n);
    return memory;
}

int64_t tokens_at(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  int32_t *offsets, Fault *why)
{
    int64_t bad = 0;
    void *memory = encoding_memory(t, n);
    int64_t count = attn_vocab_encode_offsets(
        t->block, text, (int64_t)n, t->how, ids, offsets,
        attn_min(tokens_most(t, n), MostTokens), memory, &bad);
    free(memory);
    return refuse_id(t, text, n, count, bad, why);
}

enum {
    ShortText = 4096
}; /* bytes of a buffer; longer texts are allocated in the arena */

/* Returns the text of n ids and sets *size to its length. */
static const char *text_of(Arena *a, const Tokens *t, const int32_t *ids,
                           int64_t n, char room[ShortText], int64_t *size)
{
    char *text = room;
    int64_t cap = ShortText;
    while ((*size = attn_vocab_decode(t->block, ids, n, text, cap))
           == ATTN_ERROR_ROOM) {
        cap *= 2;
        text = arena_alloc(a, (size_t)cap);
    }
    return text;
}

void print_tokens(FILE *out, Arena *a, const Tokens *t, const int32_t *ids,
                  int64_t n)
{
    if (t->ids) {
        for (int64_t i = 0; i < n; i++)
            fprintf(out, "%s%d", i ? " " : "", ids[i]);
        return;
    }
    char room[ShortText];
    int64_t size;
    const char *text = text_of(a, t, ids, n, room, &size);
    fwrite(text, 1, (size_t)size, out);
}

void add_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n)
{
    char room[ShortText];
    int64_t size;
    const char *text = text_of(b->arena, t, ids, n, room, &size);
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

void json_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n)
{
    char room[ShortText];
    int64_t size;
    json_ids(b, "tokens", ids, n);
    if (t->ids)
        return;
    const char *text = text_of(b->arena, t, ids, n, room, &size);
    json_put_key(b, "text");
    json_quote(b, text, size);
}

static int need_vocabulary(const SpecVocab *v, bool ids, const char *side,
                           const char *key)
{
    if (v->size == 0) {
        error_at((Pos){ 0 },
                 "the %s is rows of numbers: lines of stdin have them, a row "
                 "each; --input FILE --output FILE are tensors",
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

FILE *beside(const char *file)
{
    return is_stdout(file) ? stderr : stdout;
}

void flush_answers(FILE *to)
{
    Fault why;
    if (!stream_flush(to, &why))
        fail(why.code, "%s", why.text);
}
