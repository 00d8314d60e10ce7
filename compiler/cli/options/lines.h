/* lines.h: converts lines of stdin to token ids and back. */
#ifndef ATTNC_LINES_H
#define ATTNC_LINES_H

#include "engine/engine.h"
#include "runtime/text/input_lines.h"

/* Prints `<stdin>:LINE: error: text` on stderr. */
void line_error(int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

typedef struct {
    const Source *text; /* the document; NULL: none was read */
    bool ended;         /* ended by a line `...`, after which stdin continues */
} Document;
/* Reads a YAML document from stdin, until a line `...` or the end. */
Document stdin_document(Arena *a);

enum {
    MostTokens = ATTN_LINE + 64
}; /* maximum number of ids of a line, including its template */
/* Converts a text to ids. `how` has flags such as ATTN_PLAIN. ids[] must have
 * room for MostTokens ids. If `offsets` is not NULL, it receives two entries
 * per id: the first byte of the token and the byte after its end. Returns the
 * number of ids, or -1 with *why. */
int64_t tokens_of(const struct attn_side *t, int64_t how, const char *text,
                  size_t n, int32_t *ids, int32_t *offsets, Fault *why);
/* Appends the text of the ids. */
void add_tokens(Buffer *b, const void *block, const int32_t *ids, int64_t n);
/* Appends `"tokens": [3, 2]` and, unless the block is NULL, `, "text": "AH"`.
 */
void json_tokens(Buffer *b, const void *block, const int32_t *ids, int64_t n);
void json_ids(Buffer *b, const char *key, const int32_t *ids, int64_t n);
/* Checks that each side of the model that reads or writes text has a
 * vocabulary, unless `ids` is set. Returns ExitInput after a message if one is
 * missing, or if the source is rows of numbers and `rows` is false. */
int need_vocabularies(const Spec *s, bool ids, bool rows);
/* Returns the stream for the text of a command that also writes to `file`
 * (NULL: no file): stderr if the file is stdout ("-"), otherwise `out`. */
FILE *beside(const char *file, FILE *out);
/* Flushes all output. Ends the program with ExitIO if that fails. */
void flush_answers(FILE *to);

#endif
