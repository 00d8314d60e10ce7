/* put_json.h: appends JSON to a buffer: keys, values, and the commas between
 * them. The caller adds line breaks: a key may begin with `,\n `. */
#ifndef ATTNC_PUT_JSON_H
#define ATTNC_PUT_JSON_H

#include "base/base.h"

/* Adds n bytes of text (-1: all) in quotes. Bytes that are not UTF-8 become
 * U+FFFD. */
void json_quote(Buffer *b, const char *s, int64_t n);
/* Adds a number with the fewest digits, at most `digits`, that read back as the
 * same value. Adds null if the number is not finite. */
void json_number(Buffer *b, double x, int digits);
/* Adds a comma, except before the first value of a list or object. */
void json_next(Buffer *b);
void json_put_key(Buffer *b, const char *key);
/* Adds a text in quotes, or null if `text` is NULL. */
void json_put_text(Buffer *b, const char *key, const char *text);
void json_put_count(Buffer *b, const char *key, int64_t n);
void json_put_number(Buffer *b, const char *key, double x, int digits);
/* Adds a number with `places` decimal places, or null if it is not finite. */
void json_put_fixed(Buffer *b, const char *key, double x, int places);
void json_put_flag(Buffer *b, const char *key, bool flag);
void json_put_counts(Buffer *b, const char *key, const int64_t *at, int n);

#endif
