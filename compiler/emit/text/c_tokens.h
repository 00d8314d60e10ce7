/* c_tokens.h: reads C text token by token, for what looks for names in it. */
#ifndef ATTNC_C_TOKENS_H
#define ATTNC_C_TOKENS_H

#include <stdbool.h>

enum { TokenEnd = 0, TokenName = 'a', TokenOther = '0', MostName = 128 };

typedef struct {
    const char *at, *end;
    char name[MostName]; /* of a TokenName; types begin with "struct " */
} Scan;

/* Returns the next token: TokenName, TokenOther for a number or quoted text,
 * '.' also for "->", else its first character. Skips comments. */
int next_token(Scan *s);
/* True if this word precedes the name of a type. Enumerations in runtime/ have
 * no names. */
bool is_tag(const char *name);
/* Reads the tag after `struct` or `union`, and sets s->name to "struct TAG" for
 * either. If no name follows, reads nothing and returns false. */
bool take_tag(Scan *s);
bool begins(const char *at, const char *end, const char *with);
/* Returns the end of the comment or quoted text that begins at `at`. */
const char *behind(const char *at, const char *end);

#endif
