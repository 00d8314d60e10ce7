/* strings.c: formats text and numbers for people, terminals, XML and JSON. */
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/files/looks.h"

static bool is_control(const char *s, int64_t n)
{
    unsigned char c = (unsigned char)*s, next = (unsigned char)s[n - 1];
    return c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0)
        || (n == 3 && memcmp(s, "\xef\xbf", 2) == 0 && next >= 0xbe);
}

const char *attention_label(Arena *a, const char *token, int64_t n)
{
    char *text = arena_alloc(a, (size_t)n * 4 + 1), *to = text;
    for (int64_t i = 0, end; i < n; i = end) {
        int64_t k = attn_character(token + i, n - i);
        bool bad = k < 1 || is_control(token + i, k);
        for (end = i + (k < 1 ? 1 : k); i < end; i++)
            to += snprintf(to, 5, bad ? "\\x%02X" : "%c",
                           (unsigned char)token[i]);
    }
    return text;
}

int text_columns(const char *s)
{
    int columns = 0;
    for (int64_t n; *s; s += n) {
        n = attn_character(s, (int64_t)strlen(s));
        columns += (unsigned char)*s < 0xe3 ? 1 : 2; /* U+3000 and above are
                                                      * wide */
    }
    return columns;
}

const char *plain_text(Arena *a, const char *text)
{
    return attention_label(a, text, (int64_t)strlen(text));
}

const char *shell_word(Arena *a, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./=+,:@%-";
    const bool escapes = strcmp(plain_text(a, text), text) != 0;
    Buffer b = { .arena = a };
    if (*text && !text[strspn(text, plain)])
        return text;
    buffer_printf(&b, escapes ? "$'" : "'");
    for (const char *c = text; *c; c++)
        if (*c == '\'')
            buffer_printf(&b, escapes ? "\\'" : "'\\''");
        else if (escapes && (*c < ' ' || *c > '~' || *c == '\\'))
            buffer_printf(&b, "\\x%02x", (unsigned char)*c);
        else
            buffer_printf(&b, "%c", *c);
    buffer_printf(&b, "'");
    return b.at;
}

const char *number_text(Arena *a, double x)
{
    if (fabs(x) < 1e9 && x == floor(x))
        return arena_printf(a, "%.0f", x);
    for (int digits = 1; digits < 17; digits++) {
        const char *text = arena_printf(a, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            return text;
    }
    return arena_printf(a, "%.17g", x);
}

/* Formats seconds with three digits, in a unit that needs no exponent. */
char *seconds_text(Arena *a, double seconds)
{
    static const char *const units[] = { "s", "ms", "us", "ns" };
    double x = seconds;
    int unit = 0;
    if (!isfinite(x) || x < 0)
        return arena_strdup(a, "-");
    if (x >= 1e6) /* more than three digits in any unit */
        return arena_printf(a, "%.2g s", x);
    for (; unit < 3 && x < 0.9995; unit++)
        x *= 1e3;
    const int places = x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
    return arena_printf(a, "%.*f %s", places, x, units[unit]);
}

char *bytes_text(Arena *a, double bytes, bool binary, int digits)
{
    static const char *const units[][5] = {
        { "B", "kB", "MB", "GB", "TB" },
        { "B", "KiB", "MiB", "GiB", "TiB" },
    };
    int unit = 0;
    for (; bytes >= (binary ? 1023.5 : 999.5) && unit < 4; unit++)
        bytes /= binary ? 1024 : 1000;
    if (!digits)
        return arena_printf(a, "%.4g %s", bytes, units[binary][unit]);
    int places = unit ? digits - 1 : 0;
    for (double x = bytes; x >= 9.995 && places > 0; x /= 10)
        places--;
    return arena_printf(a, "%.*f %s", places, bytes, units[binary][unit]);
}

int longer(int width, const char *text)
{
    const int n = (int)strlen(text);
    return n > width ? n : width;
}

bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

bool glob_fits(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text)
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) { /* the star matches one more byte */
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

const char *marked_spec(Arena *a, const char *text, size_t n)
{
    return arena_printf(a, "%.*s" ATTN_MARK "%016llx\n", (int)n, text,
                        (unsigned long long)attn_hash(text, (int64_t)n, 0));
}

void put_wrapped(FILE *out, int column, int indent, const char *words)
{
    bool first = true;
    for (size_t n; *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (!first && column + 1 + (int)n > 80) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)n, words);
        column += (int)n + !first;
        first = false;
    }
    fputc('\n', out);
}

const char *last_line(Arena *a, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && strchr("\n\r ", text[n - 1]))
        n--;
    size_t from = n;
    while (from > 0 && !strchr("\n\r", text[from - 1]))
        from--;
    return arena_strndup(a, text + from, n - from);
}
