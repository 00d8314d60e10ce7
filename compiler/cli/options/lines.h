/* lines.h: reads lines of stdin and converts them to token ids and back. */
#ifndef ATTNC_LINES_H
#define ATTNC_LINES_H

#include "engine/engine.h"

enum {
    LongestLine = 1 << 20
}; /* maximum bytes of a line; longer ones are rejected */

typedef struct {
    char *buffer;
    size_t begin, end;
    int64_t number; /* number of the last line read, from 1 */
    bool over;      /* the input has ended; only the buffer is left */
    int fd;
    char ending; /* line terminator: '\n' or NUL */
} Lines;

typedef enum { LineText, LineTooLong, LineWait, LineEnd } LineState;

void lines_open(Lines *l, Arena *a, int fd);
/* Reads the next line and removes the newline and a carriage return before it.
 * *text is valid until the next call. Returns LineWait if reading would block
 * and `wait` is false; LineTooLong, with the length of the line in *n, if it is
 * too long. */
LineState lines_next(Lines *l, bool wait, const char **text, size_t *n);
/* Prints `<stdin>:LINE: error: text` on stderr. */
void line_error(int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct {
    const Source *text; /* the document; NULL: none was read */
    bool ended;         /* ended by a line `...`, after which stdin continues */
} Document;
/* Reads a YAML document from stdin, up to a line `...` or the end. */
Document stdin_document(Arena *a);

/* how text is converted to ids and back */
typedef struct {
    const void *block; /* vocabulary; NULL: none */
    int64_t size;      /* every id is below this */
    bool ids;          /* text is ids separated by spaces */
    int64_t how;       /* flags of encoding.h: ATTN_BEGUN and so on */
} Tokens;
Tokens tokens_with(const void *block, int64_t size, bool ids);

enum {
    MostTokens = LongestLine + 64
}; /* maximum number of ids of a line with its template */
/* Returns an upper bound of the number of ids in a text of n bytes. */
int64_t tokens_most(const Tokens *t, size_t n);
/* Converts a text to ids. ids[] must have room for tokens_most() or MostTokens
 * ids, whichever is less. Returns the number of ids, or -1 with *why. */
int64_t tokens_of(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  Fault *why);
/* Like tokens_of(), but the text is never read as ids. If `offsets` is not
 * NULL, it gets two entries per id: the first byte of the token and its end. */
int64_t tokens_at(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  int32_t *offsets, Fault *why);
void print_tokens(FILE *out, Arena *a, const Tokens *t, const int32_t *ids,
                  int64_t n);
/* Appends the text of the ids. Must not be called if t->ids. */
void add_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
/* Appends `"tokens": [3, 2]` and, unless t->ids, `, "text": "AH"`. */
void json_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
void json_ids(Buffer *b, const char *key, const int32_t *ids, int64_t n);
/* Checks that each side of the model that reads or writes text has a
 * vocabulary, unless `ids`. Returns ExitInput, after a message, if one is
 * missing, or if the source is rows of numbers and `rows` is false. */
int need_vocabularies(const Spec *s, bool ids, bool rows);
/* Returns the stream for the text of a command that also writes `file`: stderr
 * if the file is stdout ("-"), otherwise stdout. `file` is NULL if there is
 * none. */
FILE *beside(const char *file);
/* Flushes all output. Ends the program with ExitIO if that fails. */
void flush_answers(FILE *to);

#endif
