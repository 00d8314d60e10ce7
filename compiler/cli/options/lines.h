/* lines.h: lines of stdin, and their tokens. */
#ifndef ATTNC_LINES_H
#define ATTNC_LINES_H

#include "engine/engine.h"

enum { LongestLine = 1 << 20 }; /* bytes; longer ones are refused */

typedef struct {
    char *buffer;
    size_t begin, end;
    int64_t number; /* of the line that was read last, from 1 */
    bool over;      /* nothing comes after the buffer */
    int fd;
    char ending; /* of a line: '\n', or NUL */
} Lines;

typedef enum { LineText, LineTooLong, LineWait, LineEnd } LineState;

void lines_open(Lines *l, Arena *a, int fd);
/* The next line, without its newline and a carriage return before that; it
 * stays until the call after. LineWait:
 * there is none without waiting, and `wait` is false. LineTooLong: *n is its
 * length.                                                                   */
LineState lines_next(Lines *l, bool wait, const char **text, size_t *n);
/* `<stdin>:LINE: error: text` on stderr. */
void line_error(int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct {
    const Source *text; /* NULL: none was read */
    bool ended;         /* by a line `...`, behind which stdin goes on */
} Document;
/* A YAML document of stdin: to a line `...`, else all that there is. */
Document stdin_document(Arena *a);

/* How text and ids turn into each other. */
typedef struct {
    const void *block; /* vocabulary; NULL: none */
    int64_t size;      /* ids are below this */
    bool ids;          /* text is ids, with spaces between */
    int64_t how;       /* ATTN_BEGUN .. */
} Tokens;
Tokens tokens_with(const void *block, int64_t size, bool ids);

enum { MostTokens = LongestLine + 64 }; /* of a line and its template */
/* A text of n bytes has not more ids; a line of more than MostTokens is
 * refused. */
int64_t tokens_most(const Tokens *t, size_t n);
/* Ids of one text into ids[], so many or MostTokens; their number, or -1 and a
 * message.                                                                  */
int64_t tokens_of(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  Fault *why);
/* The same of a text that is no ids, with offsets[2 so many] in it; or NULL. */
int64_t tokens_at(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  int32_t *offsets, Fault *why);
void print_tokens(FILE *out, Arena *a, const Tokens *t, const int32_t *ids,
                  int64_t n);
/* Their text, where text is no ids. */
void add_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
/* `"tokens": [3, 2]`, and behind it `, "text": "AH"` where text is no ids. */
void json_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
void json_ids(Buffer *b, const char *key, const int32_t *ids, int64_t n);
/* Text, where it is no ids, needs a vocabulary on each side that the model has:
 * ExitInput and a message where there is none, or where the source is rows of
 * numbers and `rows` is false.                                              */
int need_vocabularies(const Spec *s, bool ids, bool rows);
/* Where text goes beside an output file: to stdout, or where the file is that
 * ("-"), to stderr. file NULL: there is none.                               */
FILE *beside(const char *file);
/* Everything written so far reaches it, or the program ends (ExitIO). */
void flush_answers(FILE *to);

#endif
