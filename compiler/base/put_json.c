/* put_json.c: prints JSON. */
#include "base/put_json.h"

#include <math.h>
#include <string.h>

#include "runtime/files/looks.h"

void json_quote(Buffer *b, const char *s, int64_t n)
{
    if (n < 0)
        n = (int64_t)strlen(s);
    buffer_add(b, "\"", 1);
    for (int64_t i = 0, k; i < n; i += k) {
        k = attn_character(s + i, n - i);
        if (k < 1) {
            k = 1;
            buffer_add(b, "\xef\xbf\xbd", 3);
        } else if (s[i] == '"' || s[i] == '\\') {
            buffer_printf(b, "\\%c", s[i]);
        } else if (k == 1 && ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)) {
            buffer_printf(b, "\\u%04x", (unsigned)s[i]);
        } else {
            buffer_add(b, s + i, (size_t)k);
        }
    }
    buffer_add(b, "\"", 1);
}

void json_number(Buffer *b, double x, int digits)
{
    if (isfinite(x))
        buffer_printf(b, "%.*g", digits, x);
    else
        buffer_add(b, "null", 4);
}

void json_next(Buffer *b)
{
    int n = b->n;
    while (n > 0 && strchr(" \n", b->at[n - 1]))
        n--;
    if (n > 0 && !strchr("{[,", b->at[n - 1]))
        buffer_add(b, ", ", 2);
}

void json_put_key(Buffer *b, const char *key)
{
    json_next(b);
    json_quote(b, key, -1);
    buffer_add(b, ": ", 2);
}

void json_put_text(Buffer *b, const char *key, const char *text)
{
    json_put_key(b, key);
    if (text)
        json_quote(b, text, -1);
    else
        buffer_add(b, "null", 4);
}

void json_put_count(Buffer *b, const char *key, int64_t n)
{
    json_put_key(b, key);
    buffer_printf(b, "%lld", (long long)n);
}

void json_put_number(Buffer *b, const char *key, double x, int digits)
{
    json_put_key(b, key);
    json_number(b, x, digits);
}

void json_put_fixed(Buffer *b, const char *key, double x, int places)
{
    json_put_key(b, key);
    if (isfinite(x))
        buffer_printf(b, "%.*f", places, x);
    else
        buffer_add(b, "null", 4);
}

void json_put_flag(Buffer *b, const char *key, bool flag)
{
    json_put_key(b, key);
    buffer_printf(b, flag ? "true" : "false");
}

void json_put_counts(Buffer *b, const char *key, const int64_t *at, int n)
{
    json_put_key(b, key);
    buffer_add(b, "[", 1);
    for (int i = 0; i < n; i++) {
        json_next(b);
        buffer_printf(b, "%lld", (long long)at[i]);
    }
    buffer_add(b, "]", 1);
}
