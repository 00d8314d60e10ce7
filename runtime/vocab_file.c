/* vocab_file.c: reads a vocabulary, one token a line, the line's number from 0
 * its id, and makes the block that the core looks tokens up in (core.h).    */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

enum { VocabLimit = 256 << 20 };           /* bytes of a file */

typedef struct { const char *at; size_t n; int32_t id; } Token;

/* Lines split at \n only: tokens may be any other character. A final newline
 * ends the last token and begins none.                                      */
static int64_t count_lines(const File *f)
{
    int64_t n = 0;
    for (size_t i = 0; i < f->size; i++)
        n += f->at[i] == '\n';
    return n + (f->size > 0 && f->at[f->size - 1] != '\n');
}

static bool check_token(const File *f, const Token *t, Fault *why)
{
    int line = t->id + 1;
    if (t->n == 0)
        return fault(why, ExitInput, "%s:%d:1: an empty line is no token",
                     f->path, line);
    if (t->at[t->n - 1] == '\r')
        return fault(why, ExitInput, "%s:%d:%zu: the line ends in a carriage "
                     "return; lines must end in \\n alone", f->path, line,
                     t->n);
    size_t good = (size_t)attn_utf8(t->at, (int64_t)t->n);
    if (good < t->n)
        return fault(why, ExitInput, "%s:%d:%zu: not valid UTF-8", f->path,
                     line, good + 1);
    const char *nul = memchr(t->at, '\0', t->n);
    if (nul)
        return fault(why, ExitInput, "%s:%d:%d: a token has no NUL", f->path,
                     line, (int)(nul - t->at) + 1);
    return true;
}

static bool split_lines(const File *f, Token *token, int64_t n, Fault *why)
{
    const char *at = (const char *)f->at, *end = at + f->size;
    for (int64_t i = 0; i < n; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        token[i] = (Token){ at, (size_t)(stop - at), (int32_t)i };
        if (!check_token(f, &token[i], why))
            return false;
        at = stop + 1;
    }
    return true;
}

static int same_text(const Token *a, const Token *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* Bytewise; equal texts by id, so that the first line is named first. */
static int by_text(const void *a, const void *b)
{
    const Token *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order ? order : x->id - y->id;
}

/* Of all tokens that are there twice the one whose second line comes first. */
static bool check_distinct(const File *f, const Token *sorted, int64_t n,
                           Fault *why)
{
    const Token *twice = NULL;
    for (int64_t i = 1; i < n; i++)
        if (same_text(&sorted[i - 1], &sorted[i]) &&
            (!twice || sorted[i].id < twice->id))
            twice = &sorted[i];
    if (!twice)
        return true;
    return fault(why, ExitInput, "%s:%d:1: token '%.*s' is on line %d already",
                 f->path, twice->id + 1, (int)(twice->n < 80 ? twice->n : 80),
                 twice->at, twice[-1].id + 1);
}

static bool check_special(const File *f, const char *what, int32_t id,
                          int64_t n, Fault *why)
{
    if (id >= -1 && id < n)
        return true;
    return fault(why, ExitInput, "%s: the %s token has id %d, the file has "
                 "%lld tokens (ids from 0)", f->path, what, id, (long long)n);
}

static bool check_count(const File *f, int64_t n, int64_t expected,
                        const VocabTokens *t, Fault *why)
{
    if (n == 0)
        return fault(why, ExitInput, "%s: has no tokens", f->path);
    if (expected >= 0 && n != expected)
        return fault(why, ExitInput, "%s: has %lld tokens, the spec says %lld",
                     f->path, (long long)n, (long long)expected);
    if (t->append_end && t->end < 0)
        return fault(why, ExitInput, "%s: the end token is to be appended, and "
                     "none is defined", f->path);
    return check_special(f, "start", t->start, n, why) &&
           check_special(f, "end", t->end, n, why) &&
           check_special(f, "pad", t->pad, n, why) &&
           check_special(f, "unknown", t->unknown, n, why);
}

/* The three parts after the header; leaves the tokens in order of text. */
static void fill_block(char *block, Token *token, int64_t n)
{
    uint32_t *offset = (uint32_t *)(block + sizeof(struct attn_vocab_header));
    uint32_t *sorted = offset + n + 1;
    char *text = (char *)(sorted + n);
    uint32_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        offset[i] = at;
        memcpy(text + at, token[i].at, token[i].n);
        at += (uint32_t)token[i].n;
    }
    offset[n] = at;
    qsort(token, (size_t)n, sizeof *token, by_text);
    for (int64_t i = 0; i < n; i++)
        sorted[i] = (uint32_t)token[i].id;
}

static void *make_block(const File *f, Token *token, int64_t n,
                        const VocabTokens *t, int64_t *bytes, Fault *why)
{
    struct attn_vocab_header head = {
        .magic = { 'A', 'T', 'T', 'N', 'V', 'O', 'C', '1' },
        .size = (int32_t)n, .split = t->split, .start = t->start,
        .end = t->end, .pad = t->pad, .unknown = t->unknown,
        .append_end = t->append_end,
    };
    head.bytes = (int64_t)sizeof head + 4 * (2 * n + 1);
    for (int64_t i = 0; i < n; i++)
        head.bytes += (int64_t)token[i].n;
    char *block = malloc((size_t)head.bytes);
    if (!block) {
        fault(why, ExitResource, "%s: out of memory", f->path);
        return NULL;
    }
    memcpy(block, &head, sizeof head);
    fill_block(block, token, n);
    if (!check_distinct(f, token, n, why)) {
        free(block);
        return NULL;
    }
    *bytes = head.bytes;
    return block;
}

void *vocab_load(const char *path, int64_t expected, const VocabTokens *t,
                 int64_t *bytes, Fault *why)
{
    File f;
    if (!file_read(&f, path, VocabLimit, why))
        return NULL;
    void *block = NULL;
    int64_t n = count_lines(&f);
    Token *token = malloc(((size_t)n + 1) * sizeof *token);
    if (!token)
        fault(why, ExitResource, "%s: out of memory", path);
    else if (split_lines(&f, token, n, why) &&
             check_count(&f, n, expected, t, why))
        block = make_block(&f, token, n, t, bytes, why);
    free(token);
    file_close(&f);
    return block;
}
