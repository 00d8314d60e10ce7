/* token_list.c: reads a list with one token per line. The index of the line,
 * from 0, is the token's id. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/block.h"

/* Returns the number of lines. Only
 *  ends a line, because other characters may be tokens. A final newline begins
 * no further line. */
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
        return fault(why, ExitInput,
                     "%s:%d:%zu: the line ends in a carriage "
                     "return; lines must end in \\n alone",
                     f->path, line, t->n);
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

/* Returns the start of the first line, after a byte order mark unless the mark
 * is itself the first token. */
static const char *first_line(const File *f)
{
    size_t mark = file_mark(f);
    bool token = mark == f->size || (mark && f->at[mark] == '\n');
    return (const char *)f->at + (token ? 0 : mark);
}

/* Rejects a file of another tool, which its first bytes identify. */
static bool check_form(const File *f, Fault *why)
{
    static const struct {
        const char *begins, *what;
    } forms[] = {
        { "#version:", "a list of merges" },
        { "{\"", "JSON, whose name must end in .json" },
        { "{\n  \"", "JSON, whose name must end in .json" },
        { "\n\x0e\n\x05<unk>", "a model of SentencePiece" },
        { "\n\x0c\n\x05<pad>", "a model of SentencePiece" },
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t n = strlen(forms[i].begins);
        if (f->size > n && !memcmp(f->at, forms[i].begins, n)
            && f->at[n] != '\n')
            return fault(why, ExitInput,
                         "%s: this is %s; needed is a list of tokens, one a "
                         "line in the order of their ids, or pieces with "
                         "scores (docs/generate.md, Tokenizers)",
                         f->path, forms[i].what);
    }
    return true;
}

static bool split_lines(const File *f, Token *token, int64_t n, Fault *why)
{
    const char *at = first_line(f), *end = (const char *)f->at + f->size;
    for (int64_t i = 0; i < n; i++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        token[i] = (Token){ .at = at,
                            .n = (size_t)(stop - at),
                            .id = (int32_t)i };
        if (!check_token(f, &token[i], why))
            return false;
        at = stop + 1;
    }
    return true;
}

bool lines_read(Tokenizer *t, const File *f, Fault *why)
{
    if (!check_form(f, why))
        return false;
    t->kind = t->special.split ? ATTN_SPACES : ATTN_CHARACTERS;
    t->tokens = count_lines(f);
    t->token = malloc(((size_t)t->tokens + 1) * sizeof *t->token);
    if (!t->token)
        return fault(why, ExitResource, "%s: out of memory", f->path);
    return split_lines(f, t->token, t->tokens, why);
}

int64_t lines_count(const File *f, Fault *why)
{
    return check_form(f, why) ? count_lines(f) : -1;
}
