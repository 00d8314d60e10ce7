/* strings.h: makes untrusted text safe for a terminal or XML, and
 * formats numbers for people. */
#ifndef ATTNC_STRINGS_H
#define ATTNC_STRINGS_H

#include "base/base.h"

/* Returns a token of n bytes as printable text: control characters, and bytes
 * that are not UTF-8, become \xHH. */
const char *attention_label(Arena *a, const char *token, int64_t n);
/* Returns `text` in printable form, like attention_label(). */
const char *plain_text(Arena *a, const char *text);
/* Returns a text as one word for a shell, quoted if it must be. Characters that
 * a terminal does not print become escapes of $'..', which bash, ksh and zsh
 * read. */
const char *shell_word(Arena *a, const char *text);
/* Returns `width` or the length of the text in bytes, whichever is greater. */
int longer(int width, const char *text);
/* Returns the number of terminal columns that a text occupies. */
int text_columns(const char *s);
/* Returns the shortest text that reads back as x. */
const char *number_text(Arena *a, double x);
char *seconds_text(Arena *a, double seconds); /* "1.93 ms"; "-" if unknown */
/* Formats a number of bytes: "63.1 KiB" if `binary`, otherwise "63.1 kB". With
 * 2 `digits` that is "63 kB"; with 0 it has only the digits it needs, at most
 * four: "1.25 MiB", "2 MiB". */
char *bytes_text(Arena *a, double bytes, bool binary, int digits);
/* Returns n bytes of a spec, followed by the mark that looks.h defines. */
const char *marked_spec(Arena *a, const char *text, size_t n);
/* Prints words wrapped at 80 columns, then a newline. The first line continues
 * at `column`; the others are indented by `indent`. */
void put_wrapped(FILE *out, int column, int indent, const char *words);
/* Returns the last line that is not empty; "" if there is none. */
const char *last_line(Arena *a, const char *text);
/* True if `text` ends in `end` but is longer. */
bool ends_in(const char *text, const char *end);
/* True if the text matches a pattern. A * in the pattern matches any text. */
bool glob_fits(const char *pattern, const char *text);

#endif
