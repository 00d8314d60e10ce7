/* input_lines.h: lines of stdin, and the token ids of a line. input_lines.c
 * describes the functions. */
#ifndef ATTN_INPUT_LINES_1
#define ATTN_INPUT_LINES_1

#include "runtime/options/settings.h"

enum {
    ATTN_LINE = 1 << 20, /* maximum bytes of a line; longer ones are skipped */
    ATTN_WHY = 512       /* maximum bytes of a message */
};

struct attn_lines {
    char *buffer; /* [ATTN_LINE + 1] */
    int64_t begin, end;
    int64_t number; /* number of the last line read, from 1 */
    int error;      /* errno of a read that failed; 0: none */
    bool over;      /* the input has ended; only the buffer is left */
    char ending;    /* line terminator: '\n' or NUL */
    int64_t (*read)(char *to, int64_t most); /* instead of read() of stdin;
                                              * NULL: read() */
};

enum { LINE_READ, LINE_LONG, LINE_WAIT, LINE_END };

struct attn_side { /* how source or target tokens are read and written */
#if ATTN_HAS_TEXT
    const void *block; /* vocabulary; NULL: tokens are ids */
#endif
    int64_t size; /* all ids are below this */
};

#if ATTN_IN_ATTNC
int attn_next_line(struct attn_lines *l, int wait, const char **text,
                   int64_t *n);
int attn_number_ends(const char *at, const char *end);
int64_t attn_line_ids(const struct attn_side *s, const char *text,
                      int64_t bytes, int32_t *ids, char why[ATTN_WHY]);
int64_t attn_line_tokens(const struct attn_side *s, const char *text,
                         int64_t bytes, int64_t n, int64_t bad,
                         char why[ATTN_WHY]);
#endif

#endif
