/* jinja_token.c: splits the tags of a chat template into tokens: names,
 * numbers, strings, operators, and the ends of tags, with the blanks that these
 * remove. */
#include <stdlib.h>
#include <string.h>

#include "import/jinja_token.h"

const char jinja_blanks[] = " \t\n\r\v\f";
static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

void token_refuse(JinjaParser *p, const char *why)
{
    if (!p->why->why) {
        p->why->why = why;
        p->why->line = p->line;
    }
    p->at += strlen(p->at);
    p->kind = TokenNone;
    p->word = "";
}

/* ---- tokens ---- */

/* Starts a token here, and counts the lines before it. */
void token_start(JinjaParser *p)
{
    for (; p->start < p->at; p->start++)
        p->line += *p->start == '\n';
}

/* Skips the blanks that a tag's end removes. */
void token_skip_after(JinjaParser *p, bool all, bool line)
{
    if (all)
        p->at += strspn(p->at, jinja_blanks);
    else if (line && *p->at == '\n')
        p->at++;
    p->begins_line = p->at[-1] == '\n';
}

static bool read_end(JinjaParser *p)
{
    const int sign = *p->at == '-' || *p->at == '+';
    if (p->nest || strncmp(p->at + sign, p->close, 2) != 0)
        return false;
    const char first = *p->at;
    p->at += sign + 2;
    p->kind = TokenEnd;
    p->word = "";
    token_skip_after(p, first == '-', *p->close == '%' && first != '+');
    return true;
}

/* Appends a code point as UTF-8. */
static void put_point(Buffer *b, unsigned c)
{
    char s[4];
    size_t n = 0;
    if (c >= 0x800)
        s[n++] = (char)(0xe0 | c >> 12);
    if (c >= 0x80)
        s[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xc0 | c >> 6);
    s[n++] = (char)(c >= 0x80 ? 0x80 | (c & 63) : c);
    buffer_add(b, s, n);
}

static void read_escape(JinjaParser *p, Buffer *b)
{
    static const char from[] = "nrtvfab\\'\"", to[] = "\n\r\t\v\f\a\b\\'\"";
    const char *c = strchr(from, *p->at);
    const size_t digits = *p->at == 'x' ? 2 : *p->at == 'u' ? 4 : 0;
    char hex[5] = "", *end = hex;
    if (c && *c) {
        buffer_add(b, &to[c - from], 1);
        p->at++;
    } else if (*p->at == '\n') {
        p->at++;
    } else if (digits) {
        for (size_t i = 0; i < digits && p->at[i + 1]; i++)
            hex[i] = p->at[i + 1];
        const unsigned long code = strtoul(hex, &end, 16);
        if (end != hex + digits || !code || code >> 11 == 27
            || strspn(hex, "+- \t"))
            token_refuse(p, "this escape in a string is not supported");
        else
            put_point(b, (unsigned)code);
        p->at += *p->at ? digits + 1 : 0;
    } else if (*p->at >= '0' && *p->at <= '7') {
        token_refuse(p, "octal escapes are not supported");
    } else {
        buffer_add(b, "\\", 1);
    }
}

static void read_string(JinjaParser *p)
{
    const char mark = *p->at++;
    Buffer b = { .arena = p->arena };
    buffer_add(&b, "", 0);
    while (*p->at && *p->at != mark)
        if (*p->at == '\\') {
            p->at++;
            read_escape(p, &b);
        } else {
            buffer_add(&b, p->at++, 1);
        }
    if (!*p->at) {
        token_refuse(p, "a string does not end");
        return;
    }
    p->at++;
    p->kind = TokenString;
    p->word = b.at ? b.at : "";
}

static void read_operator(JinjaParser *p)
{
    static const char *const two[] = { "==", "!=", "<=", ">=", "//", "**" };
    size_t n = strchr("=!<>/*+-~%()[]{},.:|", *p->at) ? 1 : 0;
    for (int i = 0; i < 6; i++)
        if (!strncmp(p->at, two[i], 2))
            n = 2;
    if (n == 0 || !*p->at) {
        token_refuse(p, *p->at ? "a character that no expression has"
                               : "a tag does not end");
        return;
    }
    p->nest += n == 1 && strchr("([{", *p->at);
    p->nest -= n == 1 && strchr(")]}", *p->at);
    p->kind = TokenOperator;
    p->word = arena_strndup(p->arena, p->at, n);
    p->at += n;
}

void token_next(JinjaParser *p)
{
    if (p->why->why)
        return;
    p->at += strspn(p->at, jinja_blanks);
    token_start(p);
    if (read_end(p))
        return;
    size_t n = strspn(p->at, letters);
    if (*p->at == '\'' || *p->at == '"') {
        read_string(p);
    } else if (n) {
        const bool number = *p->at >= '0' && *p->at <= '9';
        p->kind = number ? TokenInt : TokenName;
        if (number && p->at[n] == '.' && p->at[n + 1] >= '0'
            && p->at[n + 1] <= '9') {
            p->kind = TokenReal;
            n += 1 + strspn(p->at + n + 1, letters);
        }
        p->word = arena_strndup(p->arena, p->at, n);
        p->at += n;
    } else {
        read_operator(p);
    }
}

bool token_is(const JinjaParser *p, const char *word)
{
    return (p->kind == TokenName || p->kind == TokenOperator)
        && !strcmp(p->word, word);
}

bool token_take(JinjaParser *p, const char *word)
{
    const bool is = token_is(p, word);
    if (is)
        token_next(p);
    return is;
}

void token_expect(JinjaParser *p, const char *word)
{
    if (!token_take(p, word))
        token_refuse(p, arena_printf(p->arena, "'%s' is missing", word));
}

const char *token_name(JinjaParser *p)
{
    const char *name = p->word;
    if (p->kind != TokenName)
        token_refuse(p, "a name is missing");
    else
        token_next(p);
    return name;
}
