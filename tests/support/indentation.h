/* indentation.h: checks that emitted C is indented by its braces: a statement
 * begins in the column of its block's first statement, which is at most 4
 * columns right of the line that opens the block. */
#ifndef ATTNC_INDENTATION_H
#define ATTNC_INDENTATION_H

#include <stdbool.h>
#include <string.h>

enum { MostBlocks = 64 };

typedef struct {
    int depth;               /* braces that are open */
    int open[MostBlocks];    /* column of the line that opened each block */
    int first[MostBlocks];   /* column of its first line; -1: none yet */
    bool labels[MostBlocks]; /* its first line is a case */
    bool comment, define;    /* the line begins inside one */
    char last;               /* last character of the code before; 0: none */
} Indentation;

static inline bool begins_with(const char *at, const char *word)
{
    return !strncmp(at, word, strlen(word));
}

/* True if the code in column `at` is indented more than its block. */
static inline bool is_too_deep(Indentation *x, const char *code, int at)
{
    const int d = x->depth - (*code == '}' && x->depth > 0);
    if (*code == '}' || begins_with(code, "else") || !strchr("{};", x->last))
        return false;
    if (d == 0)
        return at > 0;
    if (x->first[d] < 0) {
        x->first[d] = at;
        x->labels[d] = begins_with(code, "case ")
                    || begins_with(code, "default:");
        return at > x->open[d] + 4;
    }
    return at > x->first[d] + (x->labels[d] ? 4 : 0);
}

/* Processes the braces and the last character of a line's code. */
static inline void read_code(Indentation *x, const char *s, const char *end,
                             int column)
{
    char quote = 0;
    for (; s < end; s++) {
        if (x->comment) {
            x->comment = strncmp(s, "*/", 2) != 0;
            s += !x->comment;
        } else if (quote) {
            quote = *s == quote ? '\0' : quote;
            s += *s == '\\';
        } else if (begins_with(s, "/*")) {
            x->comment = true;
            s++;
        } else if (*s != ' ') {
            quote = *s == '"' || *s == '\'' ? *s : '\0';
            x->depth -= *s == '}' && x->depth > 0;
            if (*s == '{' && x->depth + 1 < MostBlocks) {
                x->open[++x->depth] = column;
                x->first[x->depth] = -1;
            }
            x->last = *s;
        }
    }
}

/* Returns the number of the first line that is indented too far, or 0. */
static inline int indented_twice(const char *text)
{
    Indentation x = { .last = ';' };
    for (int line = 1; *text; line++) {
        const char *end = text + strcspn(text, "\n");
        const char *code = text + strspn(text, " ");
        const bool skip = x.define || *code == '#' || code == end;
        if (!skip && !x.comment && !begins_with(code, "/*")
            && is_too_deep(&x, code, (int)(code - text)))
            return line;
        if (!skip)
            read_code(&x, code, end, (int)(code - text));
        x.define = (x.define || *code == '#') && end > text && end[-1] == '\\';
        text = end + (*end == '\n');
    }
    return 0;
}

#endif
