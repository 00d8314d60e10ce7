/* lines.h: reads lines of stdin and converts them to token ids and back. */
#ifndef ATTNC_LINES_H
#define ATTNC_LINES_H

#include "engine/engine.h"

enum { LongestLine = 1 << 20 }; /* bytes; longer lines are rejected */

typedef struct {
    char *buffer;
    size_t begin, end;
    int64_t number; /* number of the last line read, from 1 */
    bool over;      /* end of input: nothing follows the buffer */
    int fd;
    char ending; /* line terminator: '\n' or NUL */
} Lines;

typedef enum { LineText, LineTooLong, LineWait, LineEnd } LineState;

void lines_open(Lines *l, Arena *a, int fd);
/* Reads the next line, without its newline and a carriage return before that.
 * The text is valid until the next call. Returns LineWait if reading would
 * block and `wait` is false; LineTooLong with the line's length in *n. */
LineState lines_next(Lines *l, bool wait, const char **text, size_t *n);
/* Prints `<stdin>:LINE: error: text` on stderr. */
void line_error(int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct {
    const Source *text; /* NULL: none was read */
    bool ended;         /* by a line `...`, after which stdin continues */
} Document;
/* Reads a YAML document from stdin: up to a line `...`, or to the end. */
Document stdin_document(Arena *a);

/* how text and ids are converted */
typedef struct {
    const void *block; /* vocabulary; NULL: none */
    int64_t size;      /* every id is below this */
    bool ids;          /* text is ids separated by spaces */
    int64_t how;       /* bits: ATTN_BEGUN, ATTN_PLAIN, ATTN_STARTED */
} Tokens;
Tokens tokens_with(const void *block, int64_t size, bool ids);

enum { MostTokens = LongestLine + 64 }; /* ids of a line and its template */
/* Returns an upper bound of the number of ids in a text of n bytes. A line of
 * more than MostTokens ids is rejected. */
int64_t tokens_most(const Tokens *t, size_t n);
/* Converts a text to ids. ids[] has room for tokens_most() or MostTokens,
 * whichever is less. Returns their number, or -1 with *why set. */
int64_t tokens_of(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  Fault *why);
/* Does the same for text that is not ids. offsets, if not NULL, gets two
 * entries per id: the first byte and the end. */
int64_t tokens_at(const Tokens *t, const char *text, size_t n, int32_t *ids,
                  int32_t *offsets, Fault *why);
void print_tokens(FILE *out, Arena *a, const Tokens *t, const int32_t *ids,
                  int64_t n);
/* Appends the text of the ids; `t` must not be in ids mode. */
void add_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
/* Appends `"tokens": [3, 2]` and, unless text is ids, `, "text": "AH"`. */
void json_tokens(Buffer *b, const Tokens *t, const int32_t *ids, int64_t n);
void json_ids(Buffer *b, const char *key, const int32_t *ids, int64_t n);
/* Checks that each side of the model that reads or writes text has a
 * vocabulary, unless text is ids. Returns ExitInput after a message if one is
 * missing, or if the source is rows of numbers and `rows` is false. */
int need_vocabularies(const Spec *s, bool ids, bool rows);
/* Returns the stream for text when a command also writes `file`: stdout, or
 * stderr if the file is stdout ("-"). file NULL: there is no file. */
FILE *beside(const char *file);
/* Flushes all output. Ends the program with ExitIO if that fails. */
void flush_answers(FILE *to);

#endif
