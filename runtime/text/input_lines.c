/* input_lines.c: reads lines of stdin, and the token ids of a line. */
#include "runtime/base/system.h"
#include "runtime/core.h"
#include "runtime/text/input_lines.h"

static int64_t line_read(const struct attn_lines *l, char *to, int64_t most)
{
    if (l->read)
        return l->read(to, most);
    return read(STDIN_FILENO, to, (size_t)most);
}

/* True if reading would not block. */
static bool line_ready(const struct attn_lines *l)
{
    struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
    return !l->read && poll(&in, 1, 0) == 1;
}

/* Reads input once and appends it to the buffer. */
static void line_fill(struct attn_lines *l)
{
    int64_t n;

    memmove(l->buffer, l->buffer + l->begin, (size_t)(l->end - l->begin));
    l->end -= l->begin;
    l->begin = 0;
    do
        n = line_read(l, l->buffer + l->end, ATTN_LINE + 1 - l->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        l->error = errno;
    if (n > 0)
        l->end += n;
    l->over = n <= 0;
}

/* Skips the rest of a line that is too long. Returns the length of the line. */
static int64_t line_drop(struct attn_lines *l)
{
    int64_t dropped = 0;

    while (1) {
        const char *at = l->buffer + l->begin;
        const char *eol = memchr(at, l->ending, (size_t)(l->end - l->begin));
        const int64_t n = eol ? eol - at : l->end - l->begin;
        dropped += n;
        l->begin += n + (eol != NULL);
        if (eol || l->over)
            return dropped;
        line_fill(l);
    }
}

/* Reads the next line and removes the newline and a carriage return before it.
 * *text is valid until the next call. Before the first line, skips the byte
 * order mark that some editors write. Returns LINE_WAIT if reading would block
 * and `wait` is 0, or LINE_LONG, with the length of the line in *n. */
ATTN_API int attn_next_line(struct attn_lines *l, int wait, const char **text,
                            int64_t *n)
{
    while (1) {
        if (l->number == 0 && l->ending && l->end - l->begin >= 3
            && memcmp(l->buffer + l->begin, "\xef\xbb\xbf", 3) == 0)
            l->begin += 3;
        const int64_t have = l->end - l->begin;
        *text = l->buffer + l->begin;
        const char *eol = memchr(*text, l->ending, (size_t)have);
        if (eol || (l->over && have > 0)) {
            *n = eol ? eol - *text : have;
            l->begin += *n + (eol != NULL);
            *n -= eol && l->ending && *n > 0 && (*text)[*n - 1] == '\r';
            l->number++;
            return LINE_READ;
        }
        if (l->over)
            return LINE_END;
        if (have > ATTN_LINE) {
            *n = line_drop(l);
            l->number++;
            return LINE_LONG;
        }
        if (!wait && !line_ready(l))
            return LINE_WAIT;
        line_fill(l);
    }
}

/* ---- tokens ---- */

/* True if a number may end here: at a space, or at the end of the line. */
ATTN_API int attn_number_ends(const char *at, const char *end)
{
    return at == end || *at == ' ' || *at == '\t' || *at == '\r';
}

/* Parses decimal ids. Returns their number, or -1 with *why. */
ATTN_API int64_t attn_line_ids(const struct attn_side *s, const char *text,
                               int64_t bytes, int32_t *ids, char why[ATTN_WHY])
{
    const char *at = text, *const end = text + bytes;
    int64_t n = 0;

    while (at < end) {
        const char *from = at;
        int64_t id = 0;
        while (at < end && *at >= '0' && *at <= '9') {
            id = attn_min(id * 10 + (*at - '0'), INT32_MAX);
            at++;
        }
        if (at == from && attn_number_ends(at, end)) {
            at++;
            continue;
        }
        if (!attn_number_ends(at, end) || id >= s->size) {
            snprintf(why, ATTN_WHY,
                     "byte %lld: a token id from 0 to %lld is expected",
                     (long long)(from - text) + 1, (long long)s->size - 1);
            return -1;
        }
        ids[n] = (int32_t)id;
        n++;
    }
    return n;
}

#if ATTN_HAS_TEXT
/* Returns the length in bytes of the first character or, if the vocabulary
 * splits at spaces, of the first word. */
static int64_t token_bytes(const struct attn_vocab_header *h, const char *at,
                           int64_t n)
{
    int64_t i = n > 0;

    while (i < n
           && (h->kind == ATTN_SPACES ? at[i] != ' ' : (at[i] & 0xc0) == 0x80))
        i++;
    return i;
}

/* Returns n, the result of encoding a text. If n is an error, which occurred at
 * byte `bad`, returns -1 with *why. */
ATTN_API int64_t attn_line_tokens(const struct attn_side *s, const char *text,
                                  int64_t bytes, int64_t n, int64_t bad,
                                  char why[ATTN_WHY])
{
    const long long at = (long long)bad + 1;
    char quoted[ATTN_QUOTED];

    if (n == ATTN_ERROR_UTF8)
        snprintf(why, ATTN_WHY, "byte %lld: this is not UTF-8", at);
    else if (n == ATTN_ERROR_UNKNOWN) {
        attn_quote(text + bad, token_bytes(s->block, text + bad, bytes - bad),
                   quoted);
        snprintf(why, ATTN_WHY,
                 "byte %lld: the vocabulary has no '%s' and names no unknown "
                 "token",
                 at, quoted);
    } else if (n < 0)
        snprintf(why, ATTN_WHY, "the line has too many tokens");
    return n < 0 ? -1 : n;
}
#endif
