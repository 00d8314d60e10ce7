/* lint_c.h: checks rules of emitted C that avoid bugs of compilers, mainly
 * libtcc: no goto; no constant operand of && || ?; ++, -- and assignments only
 * as statements or in the head of a for. */
#ifndef ATTNC_LINT_C_H
#define ATTNC_LINT_C_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
    const char *at;
    int n, line;
} Token;

/* Returns the next token after comments and directives; n is 0 at the end. */
static inline Token next_token(const char **at, int *line)
{
    static const char *const long_ones[] = {
        "<<=", ">>=", "...", "&&", "||", "==", "!=", "<=", ">=", "++", "--",
        "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "<<", ">>", "->"
    };
    const char *s = *at;
    for (bool start = s[-1] == '\n'; *s; s++) {
        if (s[0] == '/' && s[1] == '*')
            while (strncmp(s, "*/", 2))
                *line += *s++ == '\n';
        else if (*s == '#' && start)
            while (s[1] != '\n')
                s++;
        else if (!isspace((unsigned char)*s))
            break;
        if (*s == '/')
            s++;
        *line += *s == '\n';
        start = *s == '\n' || (start && *s == ' ');
    }
    Token t = { s, *s != '\0', *line };
    if (isalnum((unsigned char)*s) || *s == '_')
        while (isalnum((unsigned char)s[t.n]) || s[t.n] == '_' || s[t.n] == '.')
            t.n++;
    else if (*s == '"' || *s == '\'')
        while (s[t.n++] != *s)
            t.n += s[t.n - 1] == '\\';
    else
        for (size_t i = 0; i < sizeof long_ones / sizeof *long_ones; i++)
            if (!strncmp(s, long_ones[i], strlen(long_ones[i]))) {
                t.n = (int)strlen(long_ones[i]);
                break;
            }
    *at = s + t.n;
    return t;
}

/* True if the token is one of these words. */
static inline bool is(Token t, const char *words)
{
    for (const char *at = words; t.n > 0 && at; at = strchr(at, ' ')) {
        at++;
        if (!strncmp(at, t.at, (size_t)t.n)
            && (at[t.n] == ' ' || at[t.n] == '\0'))
            return true;
    }
    return false;
}

static inline bool is_assignment(Token t)
{
    return is(t, " = += -= *= /= %= &= |= ^= <<= >>=");
}

/* True for a number that is a complete operand: (1 && x), x || 0. */
static inline bool lone_number(Token before, Token t, Token after)
{
    return isdigit((unsigned char)*t.at)
        && is(before, " ( && || ? : , = return !")
        && is(after, " ) && || ? : ; ,");
}

/* Returns the rule that the middle of five tokens breaks, or NULL. `depth`:
 * open parentheses, except those of a `for`. */
static inline const char *broken_rule(const Token t[5], int depth, bool in_for)
{
    if (is(t[2], " goto"))
        return "goto";
    if (is(t[2], " && ||")
        && (lone_number(t[0], t[1], t[2]) || lone_number(t[2], t[3], t[4])))
        return "a constant operand";
    if (is(t[2], " ?") && lone_number(t[0], t[1], t[2]))
        return "a constant condition";
    if (is_assignment(t[2]) && depth > 0)
        return "an assignment inside an expression";
    if (is(t[2], " ++ --") && !is(t[3], in_for ? " ) , ;" : " ;"))
        return "++ or -- inside an expression";
    return NULL;
}

/* Returns the first rule that `text` breaks, and its line, or NULL. */
static inline const char *lint_c(const char *text, int *where)
{
    Token t[5] = { { 0 } };
    const char *at = text;
    int line = 1, depth = 0, for_depth = 0, ended = 0;
    for (int i = 0; i < 5; i++)
        t[i].at = "";
    for (at += *at == '\n'; ended < 3;) {
        memmove(t, t + 1, 4 * sizeof *t);
        t[4] = next_token(&at, &line);
        ended += t[4].n == 0;
        if (is(t[2], " ("))
            depth++;
        if (is(t[2], " (") && is(t[1], " for"))
            for_depth = depth;
        const char *broken = broken_rule(t, depth - (for_depth > 0),
                                         for_depth > 0);
        *where = t[2].line;
        if (broken)
            return broken;
        if (is(t[2], " )")) {
            for_depth = depth == for_depth ? 0 : for_depth;
            depth--;
        }
    }
    return NULL;
}

#endif
