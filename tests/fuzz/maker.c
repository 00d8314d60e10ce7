/* maker.c: choices, tokens and mutations of generated inputs (maker.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "maker.h"

/* ---- choices ---- */
int pick(Maker *m, int n)
{
    return m->choice < m->end ? *m->choice++ % n : 0;
}

void put_bytes(Maker *m, const void *bytes, size_t n)
{
    if (m->n + n <= m->most)
        memcpy(m->at + m->n, bytes, n);
    m->n += n;
}

void put_text(Maker *m, const char *text)
{
    put_bytes(m, text, strlen(text));
}

void put(Maker *m, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_bytes(m, text, (size_t)n);
}

void put_part(Maker *m)
{
    put_text(m, "\n%%\n");
}

void put_string(Maker *m, const char *text)
{
    put_text(m, "\"");
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            put(m, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            put(m, "\\u%04x", *text);
        else
            put_bytes(m, text, 1);
    put_text(m, "\"");
}

const char *flag(Maker *m)
{
    return pick(m, 2) ? "false" : "true";
}

/* ---- tokens ---- */
int find(const Maker *m, const char *text)
{
    for (int i = 0; i < m->tokens; i++)
        if (strcmp(m->token[i], text) == 0)
            return i;
    return -1;
}

int add(Maker *m, const char *text)
{
    const int at = find(m, text);
    if (at >= 0 || m->tokens == MostTokens)
        return at < 0 ? 0 : at;
    snprintf(m->token[m->tokens], TokenBytes, "%s", text);
    return m->tokens++;
}

const char *any(Maker *m)
{
    return m->token[pick(m, m->tokens)];
}

void add_characters(Maker *m, Style style)
{
    static const char *const plain[] = { "a",
                                         "b",
                                         "t",
                                         "1",
                                         " ",
                                         ".",
                                         "'",
                                         "e",
                                         "\xc3\xa9",
                                         "\xe6\x97\xa5",
                                         "\xf0\x9f\x98\x80" };
    static const char *const letters[] = { "a",        "b",        "t",
                                           "1",        "\xc4\xa0", ".",
                                           "'",        "s",        "\xc4\x8a",
                                           "\xc3\x83", "\xc2\xa9" };
    static const char *const marked[] = { "a",
                                          "b",
                                          "t",
                                          "1",
                                          "\xe2\x96\x81",
                                          ".",
                                          "'",
                                          "e",
                                          "\xc3\xa9",
                                          "\xe6\x97\xa5",
                                          "\xf0\x9f\x98\x80" };
    static const char *const *const lists[] = { plain, letters, marked };
    const int n = 4 + pick(m, 8);
    for (int i = 0; i < n; i++)
        add(m, lists[style][i]);
}

void add_merges(Maker *m, const char *suffix)
{
    const int n = pick(m, MostMerges);
    for (int i = 0; i < n && m->merges < MostMerges; i++) {
        char whole[2 * TokenBytes];
        const int left = pick(m, m->tokens), right = pick(m, m->tokens);
        const size_t end = strlen(m->token[left]);
        snprintf(whole, sizeof whole, "%s%s", m->token[left], m->token[right]);
        const bool ends = *suffix && end >= strlen(suffix)
                       && !strcmp(m->token[left] + end - strlen(suffix),
                                  suffix);
        if (strlen(whole) >= TokenBytes || ends || *m->token[left] == '<'
            || *m->token[right] == '<' || find(m, whole) >= 0
            || m->tokens == MostTokens)
            continue;
        add(m, whole);
        m->merge[m->merges][0] = left;
        m->merge[m->merges++][1] = right;
    }
}

void add_specials(Maker *m)
{
    static const char *const names[] = { "<unk>", "<s>", "</s>", "<pad>",
                                         "<mask>" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        add(m, names[i]);
}

/* ---- bends ---- */

/* Replaces data[at .. at + old - 1] by another text. */
static void replace(Maker *m, size_t at, size_t old, const char *text, size_t n)
{
    if (m->n - old + n > m->most)
        return;
    memmove(m->at + at + n, m->at + at + old, m->n - at - old);
    memcpy(m->at + at, text, n);
    m->n += n - old;
}

/* Returns the first of these characters from `at` on, or the end. */
static size_t next_of(const Maker *m, size_t at, const char *set)
{
    while (at < m->n && (!m->at[at] || !strchr(set, m->at[at])))
        at++;
    return at;
}

/* Empties brackets. */
static void bend_brackets(Maker *m, size_t at)
{
    const size_t from = next_of(m, at, "{[");
    int depth = 0;
    for (size_t to = from; to < m->n; to++) {
        depth += m->at[to] == '{' || m->at[to] == '[';
        depth -= m->at[to] == '}' || m->at[to] == ']';
        if (depth == 0) {
            replace(m, from + 1, to - from - 1, "", 0);
            return;
        }
    }
}

static void bend_value(Maker *m, size_t at)
{
    static const char *const values[] = {
        "null", "true",  "0",   "-1",         "\"\"",  "[]",
        "{}",   "1e300", "0.5", "2147483648", "\"a\"", "9223372036854775807"
    };
    const char *value = PICK(m, values);
    const size_t from = next_of(m, at, ":");
    if (from < m->n)
        replace(m, from + 1, next_of(m, from, ",}]") - from - 1, value,
                strlen(value));
}

static void bend_number(Maker *m, size_t at)
{
    const size_t from = next_of(m, at, "0123456789");
    size_t to = from;
    char text[8];
    const int n = snprintf(text, sizeof text, "%d", pick(m, 256) - 1);
    while (to < m->n && m->at[to] >= '0' && m->at[to] <= '9')
        to++;
    if (from < m->n)
        replace(m, from, to - from, text, (size_t)n);
}

static void bend_byte(Maker *m, size_t at)
{
    m->at[at] = (uint8_t)pick(m, 256);
}

static void cut(Maker *m, size_t at)
{
    const size_t n = 1 + (size_t)pick(m, 16);
    replace(m, at, n < m->n - at ? n : m->n - at, "", 0);
}

static void twice(Maker *m, size_t at)
{
    char text[16];
    const size_t n = m->n - at < sizeof text ? m->n - at : sizeof text;
    memcpy(text, m->at + at, n);
    replace(m, at, 0, text, n);
}

void bend(Maker *m, size_t from)
{
    static void (*const ways[])(Maker *m, size_t at) = {
        bend_brackets, bend_value, bend_number, bend_byte, cut, twice
    };
    const int high = pick(m, 256), low = pick(m, 256);
    if (m->n > from)
        PICK(m, ways)(m, from + (size_t)(high * 256 + low) % (m->n - from));
}
