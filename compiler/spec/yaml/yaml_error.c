/* yaml_error.c: explains syntax errors in terms of the user's text. libyaml
 * names the token at which it had to stop, which is often not in the line with
 * the mistake. */
#include <string.h>

#include "spec/yaml/yaml.h"

static const Pos nowhere;

typedef struct { /* a line without leading and trailing blanks */
    int number;
    size_t indent;
    const char *at;
    size_t n;
} Line;

/* Returns the line with this number. Its n is 0 if it is blank or past the
 * end. */
static Line line_of(const Source *src, int number)
{
    const char *at = src->text, *end = at + src->size;

    for (int i = 1; at && i < number; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    if (!at)
        return (Line){ .number = number };
    const char *eol = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((eol ? eol : end) - at), indent = 0;
    while (n > 0 && strchr(" \t\r", at[n - 1]))
        n--;
    while (indent < n && at[indent] == ' ')
        indent++;
    return (Line){ number, indent, at + indent, n - indent };
}

static Line line_before(const Source *src, int number)
{
    Line line = line_of(src, --number);

    while (number > 1 && (line.n == 0 || line.at[0] == '#'))
        line = line_of(src, --number);
    return line;
}

static Pos place_of(const Source *src, Line line, size_t n)
{
    return (Pos){ src, line.number, (int)(line.indent + n) + 1 };
}

/* Returns the length of the key that begins the line, including quotes. */
static size_t key_bytes(Line line)
{
    static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                               "uvwxyz0123456789_.-\"'";
    size_t n = 0;

    while (n < line.n && line.at[n] && strchr(word, line.at[n]))
        n++;
    return n;
}

static bool has_colon(Line line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.at[i] == ':' && (i + 1 == line.n || line.at[i + 1] == ' '))
            return true;
    return false;
}

bool yaml_no_colon(const Source *src, int number)
{
    const Line line = line_of(src, number);
    const size_t key = key_bytes(line);
    size_t value = key;

    if (line.n >= 2 && (!memcmp(line.at, "//", 2) || !memcmp(line.at, "--", 2))
        && line.n != 3) {
        error_at(place_of(src, line, 0), "a comment begins with #");
        return true;
    }
    if (key == 0 || has_colon(line))
        return false;
    while (value < line.n && strchr(" \t:=", line.at[value]))
        value++;
    error_at(place_of(src, line, key), "a key is followed by a colon and a "
                                       "space");
    if (value < line.n)
        note_at(nowhere, "write `%s: %s`", quote_n(line.at, key),
                quote_n(line.at + value, line.n - value));
    else
        note_at(nowhere, "a line of a spec is `key: value`");
    return true;
}

/* Reports a colon that cannot follow a key. Returns false if there is none. */
static bool second_colon(const Source *src, Pos at)
{
    const Line line = line_of(src, at.line), above = line_before(src, at.line);
    const size_t column = (size_t)at.col - 1 - line.indent;
    Line first = line;

    first.n = column < line.n ? column : line.n;
    if (has_colon(first)) {
        error_at(at, "a second colon in one line");
        note_at(nowhere, "put several keys into braces, {a: 1, b: 2}, and "
                         "text with a colon into quotes");
        return true;
    }
    if (above.n > 0 && yaml_no_colon(src, above.number))
        return true;
    if (above.n == 0 || line.indent <= above.indent)
        return false;
    error_at(place_of(src, line, 0),
             "the line is indented deeper than line "
             "%d, whose key has a value",
             above.number);
    note_at(nowhere, "keys of one map begin in the same column");
    return true;
}

/* Reports a key that is in a different column from its map's first key, which
 * is at `from`. */
static bool other_column(const Source *src, Pos at, Pos from)
{
    const Line line = line_of(src, at.line);

    if (at.col == from.col || (size_t)at.col != line.indent + 1)
        return false;
    error_at(at, "the line is indented by %zu, the keys above by %d",
             line.indent, from.col - 1);
    note_at(from, "keys of one map begin in the same column; the first is "
                  "here");
    return true;
}

static bool not_closed(const Source *src, Pos at, Pos from)
{
    const Line line = line_of(src, from.line), last = line_of(src, at.line);
    const size_t open = (size_t)from.col - 1 - line.indent;
    const char what[2] = { open < line.n ? line.at[open] : '\0', '\0' };

    if (!*what || !strchr("{[\"'", *what))
        return false;
    if (last.n == 0 || last.at + last.n == src->text + src->size) {
        error_at(from, "the %s here is not closed", what);
        return true;
    }
    if (!strchr("{[", *what))
        return false;
    const bool begins = key_bytes(last) == (size_t)at.col - 1 - last.indent;
    const Line above = line_before(src, at.line);
    error_at(begins ? place_of(src, above, above.n) : at,
             "a comma or %s is expected here", *what == '{' ? "}" : "]");
    note_at(from, "the %s opens here", what);
    return true;
}

void yaml_syntax_error(const Source *src, const char *problem,
                       const char *context, Pos at, Pos from)
{
    const bool colon = strstr(problem, "expected ':'")
                    && yaml_no_colon(src, from.line);
    const bool second = strstr(problem, "mapping values")
                     && second_colon(src, at);
    const bool column = strstr(problem, "expected key")
                     && other_column(src, at, from);
    const bool end = strstr(problem, "<document start>")
                  && yaml_no_colon(src, at.line);
    const bool open = (strstr(problem, "expected ','")
                       || strstr(problem, "end of stream"))
                   && not_closed(src, at, from);

    if (colon || second || column || end || open)
        return;
    error_at(at, "%s%s%s%s", problem, *context ? " (" : "", context,
             *context ? ")" : "");
    const Line line = line_of(src, at.line);
    const size_t column_of = (size_t)at.col - 1;
    const char *here = line.at ? line.at - line.indent + column_of : "";
    if (column_of < line.indent + line.n && *here == '\t')
        note_at(nowhere, "YAML is indented by spaces, not by tabs");
    else if (strstr(problem, "cannot start"))
        note_at(nowhere, "put text that begins with such a character into "
                         "quotes");
    else if (strstr(context, "quoted scalar"))
        note_at(nowhere, "in \"..\" a backslash begins an escape: use '..', "
                         "and / in paths");
}
