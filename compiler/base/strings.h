/* strings.h: text that may come from anywhere, made safe for a terminal, XML
 * and JSON; and seconds as people write them. */
#ifndef ATTNC_STRINGS_H
#define ATTNC_STRINGS_H

#include "base/base.h"

/* A token of n bytes as text that people, XML and JSON can read: control
 * characters, and bytes that are not UTF-8, are \xHH.                       */
const char *attention_label(Arena *a, const char *token, int64_t n);
/* The same of a whole text. */
const char *plain_text(Arena *a, const char *text);
/* Returns the columns of a terminal that a text takes. */
int text_columns(const char *s);
/* Text as a JSON string, in quotes: bytes that are not UTF-8 are U+FFFD. n -1:
 * up to its end.                                                            */
void json_quote(Buffer *b, const char *s, int64_t n);
/* The shortest of up to so many digits; null where it is not finite. */
void json_number(Buffer *b, double x, int digits);
/* The shortest text that reads back the same; of a whole number, its digits. */
const char *number_text(Arena *a, double x);
char *seconds_text(Arena *a, double seconds); /* "1.93 ms"; "-": none */
/* The text of a spec, n bytes that end a line, with the mark of looks.h. */
const char *marked_spec(Arena *a, const char *text, size_t n);
/* Words on lines of 80 columns; the first line goes on where `column` is, the
 * others begin at `indent`. Ends the line.                                   */
void put_wrapped(FILE *out, int column, int indent, const char *words);
/* Does `text` end in `end`, which is not all of it? */
bool ends_in(const char *text, const char *end);
/* Does the text fit a pattern? A * in it stands for any text. */
bool glob_fits(const char *pattern, const char *text);

#endif
