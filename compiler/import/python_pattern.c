/* python_pattern.c: matches a regular expression of Python with regcomp(). A
 * pattern is translated character by character; a character or a combination
 * that is not listed here makes it unknown. Because complete texts are matched,
 * the order of alternatives and lazy repetition change nothing. */
#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/strings.h"
#include "import/lora.h"

enum { MostPattern = 512, MostDepth = 32 };

typedef struct {
    const char *at;
    Buffer to;
    int depth;
    bool atom;  /* a repetition may follow */
    bool empty; /* nothing has been read of this alternative */
} Translation;

static bool put(Translation *t, const char *text, size_t n, bool atom)
{
    buffer_add(&t->to, text, n);
    t->atom = atom;
    t->empty = false;
    return true;
}

/* Translates an escape: a literal sign, a digit or a letter of a word. */
static bool escape(Translation *t)
{
    const char c = *t->at++;
    if (c == '.')
        return put(t, "\\.", 2, true);
    if (c == '-' || c == '_')
        return put(t, &c, 1, true);
    if (c == 'd')
        return put(t, "[0-9]", 5, true);
    return c == 'w' && put(t, "[A-Za-z0-9_]", 12, true);
}

/* Translates a set of characters, with at most one range. */
static bool read_set(Translation *t)
{
    const char *from = t->at - 1;
    t->at += *t->at == '^';
    const size_t n = strspn(t->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789_.-");
    const char *dash = memchr(t->at, '-', n);
    if (n == 0 || t->at[n] != ']'
        || (dash && memchr(dash + 1, '-', n - (size_t)(dash + 1 - t->at))))
        return false;
    t->at += n + 1;
    return put(t, from, (size_t)(t->at - from), true);
}

static bool open_group(Translation *t)
{
    if (*t->at == '?') {
        if (t->at[1] != ':')
            return false;
        t->at += 2;
    }
    buffer_add(&t->to, "(", 1);
    t->atom = false;
    t->empty = true;
    return ++t->depth <= MostDepth;
}

static bool end_alternative(Translation *t, char c)
{
    if (t->empty || (c == ')' && --t->depth < 0))
        return false;
    put(t, &c, 1, c == ')');
    t->empty = c == '|';
    return true;
}

static bool repeat(Translation *t, char c)
{
    if (!t->atom)
        return false;
    t->at += *t->at == '?'; /* lazy */
    return put(t, &c, 1, false);
}

static bool next_part(Translation *t)
{
    const char c = *t->at++;
    if (c == '(')
        return open_group(t);
    if (c == ')' || c == '|')
        return end_alternative(t, c);
    if (c == '[')
        return read_set(t);
    if (c == '\\')
        return escape(t);
    if (c == '*' || c == '+' || c == '?')
        return repeat(t, c);
    if (c == '^')
        return t->empty && put(t, &c, 1, false);
    if (c == '$')
        return strchr(")|", *t->at) && put(t, &c, 1, false);
    return (isalnum((unsigned char)c) || strchr("._-", c))
        && (unsigned char)c < 128 && put(t, &c, 1, true);
}

/* Returns the pattern in POSIX's extended syntax, or NULL. */
static const char *posix_syntax(Arena *a, const char *pattern)
{
    Translation t = { .at = pattern, .to = { .arena = a }, .empty = true };
    if (strlen(pattern) > MostPattern)
        return NULL;
    while (*t.at)
        if (!next_part(&t))
            return NULL;
    return t.depth || t.empty ? NULL : t.to.at;
}

PatternResult python_pattern(Arena *a, const char *pattern, bool tail,
                             const char *text)
{
    regex_t r;
    const char *posix = posix_syntax(a, pattern);
    if (!posix
        || regcomp(&r,
                   arena_printf(a, "^%s(%s)$", tail ? "(.*\\.)?" : "", posix),
                   REG_EXTENDED | REG_NOSUB))
        return PatternUnknown;
    const int result = regexec(&r, text, 0, NULL, 0);
    regfree(&r);
    return result == 0           ? PatternFits
         : result == REG_NOMATCH ? PatternMissed
                                 : PatternUnknown;
}
