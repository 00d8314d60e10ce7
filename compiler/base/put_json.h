/* put_json.h: prints JSON: keys and values, and commas between them. The caller
 * adds line breaks: `,\n ` may precede a key. */
#ifndef ATTNC_PUT_JSON_H
#define ATTNC_PUT_JSON_H

#include "base/base.h"

/* Adds n bytes of text in quotes; bytes that are not UTF-8 become U+FFFD. n -1:
 * all of the text. */
void json_quote(Buffer *b, const char *s, int64_t n);
/* Adds a number with the fewest digits that restore it, at most `digits`; null
 * if it is not finite. */
void json_number(Buffer *b, double x, int digits);
/* Adds a comma, except before the first value of a list or object. */
void json_next(Buffer *b);
void json_put_key(Buffer *b, const char *key);
void json_put_text(Buffer *b, const char *key, const char *text); /* text
                                                                     NULL:
                                                                     adds
                                                                     null */
void json_put_count(Buffer *b, const char *key, int64_t n);
void json_put_number(Buffer *b, const char *key, double x, int digits);
/* Adds a number with `places` decimal places; null if it is not finite. */
void json_put_fixed(Buffer *b, const char *key, double x, int places);
void json_put_flag(Buffer *b, const char *key, bool flag);
void json_put_counts(Buffer *b, const char *key, const int64_t *at, int n);

#endif
