/* c_tokens.c: reads C text token by token. */
#include "emit/text/c_tokens.h"

#include <string.h>

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool goes_on(char c)
{
    return is_name(c) || (c >= '0' && c <= '9');
}

bool begins(const char *at, const char *end, const char *with)
{
    const size_t n = strlen(with);
    return (size_t)(end - at) >= n && !memcmp(at, with, n);
}

const char *behind(const char *at, const char *end)
{
    const char quote = *at;
    if (quote == '/') {
        for (at += 2; at + 1 < end && (at[0] != '*' || at[1] != '/');)
            at++;
        return at + 2 < end ? at + 2 : end;
    }
    for (at++; at < end && *at != quote; at++)
        at += *at == '\\';
    return at < end ? at + 1 : end;
}

static void take_name(Scan *s)
{
    size_t n = 0;
    for (; s->at < s->end && goes_on(*s->at); s->at++)
        if (n + 1 < MostName)
            s->name[n++] = *s->at;
    s->name[n] = '\0';
}

int next_token(Scan *s)
{
    while (s->at < s->end) {
        const char c = *s->at;
        if (c == '/' && s->at + 1 < s->end && s->at[1] == '*') {
            s->at = behind(s->at, s->end);
        } else if (c == ' ' || c == '\n' || c == '\t' || c == '\\') {
            s->at++;
        } else if (c == '"' || c == '\'') {
            s->at = behind(s->at, s->end);
            return TokenOther;
        } else if (is_name(c)) {
            take_name(s);
            return TokenName;
        } else if (goes_on(c)) {
            take_name(s);
            return TokenOther;
        } else {
            const bool arrow = begins(s->at, s->end, "->");
            s->at += arrow ? 2 : 1;
            return arrow ? '.' : c;
        }
    }
    return TokenEnd;
}

bool is_tag(const char *name)
{
    return !strcmp(name, "struct") || !strcmp(name, "union");
}

bool take_tag(Scan *s)
{
    char tag[MostName];
    const Scan was = *s;
    if (next_token(s) != TokenName) {
        *s = was;
        return false;
    }
    memcpy(tag, s->name, MostName - 8);
    tag[MostName - 8] = '\0';
    memcpy(s->name, "struct ", 7);
    memcpy(s->name + 7, tag, MostName - 7);
    return true;
}
