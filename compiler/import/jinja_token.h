/* jinja_token.h: splits the tags of a chat template into tokens. */
#ifndef ATTNC_IMPORT_JINJA_TOKEN_H
#define ATTNC_IMPORT_JINJA_TOKEN_H

#include "import/jinja.h"

typedef struct {
    Arena *arena;
    const char *at;    /* the template after the current token */
    const char *close; /* end of the current tag: "%}" or "}}" */
    /* The current token: a letter for its kind, 0 after an error or at the end;
     * `word` is its text, or the value of a string. */
    enum {
        TokenNone,
        TokenEnd,
        TokenName,
        TokenInt,
        TokenReal,
        TokenString,
        TokenOperator
    } kind;
    const char *start, *word;
    int line; /* of the token */
    int nest; /* open brackets */
    int depth, nodes;
    bool begins_line; /* true if the text so far ends with a line */
    JinjaFault *why;
} JinjaParser;

extern const char jinja_blanks[]; /* white space in templates */

/* Records the first fault; from then on there are no tokens. */
void token_refuse(JinjaParser *p, const char *why);
/* Starts a token here, and counts the lines before it. */
void token_start(JinjaParser *p);
/* Skips what the end of a tag removes: all blanks, or the end of the line. */
void token_skip_after(JinjaParser *p, bool all, bool line);
void token_next(JinjaParser *p); /* reads a token, or the end of the tag */
/* Returns true if the current token is this name or operator. */
bool token_is(const JinjaParser *p, const char *word);
bool token_take(JinjaParser *p,
                const char *word); /* skips it if it is this one */
void token_expect(JinjaParser *p, const char *word); /* refuses another token */
const char *
token_name(JinjaParser *p); /* takes a name; refuses another token */

#endif
