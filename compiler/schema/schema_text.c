/* schema_text.c: rules for strings, and those that every schema may use. */
#include <stdlib.h>
#include <string.h>

#include "schema/schema_parts.h"

/* Rules whose text names others by $ and their place in the table, a letter. */
static const struct {
    const char *name, *text;
} rules[TextRules] = {
    [TextValue] = { "value", "$b | $c | $g | $e | \"true\" | \"false\" | "
                             "\"null\"" },
    [TextObject] = { "object", "\"{\" ($d (\", \" $d)*)? \"}\"" },
    [TextArray] = { "array", "\"[\" ($a (\", \" $a)*)? \"]\"" },
    [TextMember] = { "member", "$g \": \" $a" },
    [TextNumber] = { "number", "$f (\".\" [0-9]{1,15})? ([eE] [-+]? "
                               "[0-9]{1,2})?" },
    [TextInteger] = { "integer", "\"-\"? (\"0\" | [1-9] [0-9]{0,14})" },
    [TextString] = { "string", "\"\\\"\" $h* \"\\\"\"" },
    [TextCharacter] = { "character",
                        "$i | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" "
                        "([0-9a-cA-CefEF] $l $l $l | [dD] [0-7] $l $l))" },
    [TextPlain] = { "plain", "[^\"\\\\\\x00-\\x1f\\x7f]" },
    [TextDate] = { "date",
                   "[1-9] [0-9]{3} \"-\" ((\"0\" [1-9] | \"1\" [0-2]) "
                   "\"-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8]) | "
                   "(\"0\" [13-9] | \"1\" [0-2]) \"-\" (\"29\" | \"30\") | "
                   "(\"0\" [13578] | \"1\" [02]) \"-31\")" },
    [TextTime] = { "time",
                   "([01] [0-9] | \"2\" [0-3]) (\":\" [0-5] [0-9]){2} "
                   "(\".\" [0-9]{1,9})? (\"Z\" | [-+] ([01] [0-9] | \"2\" "
                   "[0-3]) \":\" [0-5] [0-9])" },
    [TextHex] = { "hex", "[0-9a-fA-F]" },
};

void schema_literal(Buffer *b, const char *text)
{
    buffer_add(b, "\"", 1);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buffer_add(b, "\\", 1);
        if ((unsigned char)*text == 0x7f)
            buffer_add(b, "\\x7f", 4);
        else
            buffer_add(b, text, 1);
    }
    buffer_add(b, "\"", 1);
}

void schema_use(Schema *s, Buffer *b, TextRule rule)
{
    buffer_printf(b, "%s", rules[rule].name);
    s->used[rule] = true;
}

/* Adds a text with the names of rules in it. */
static void put_text(Schema *s, Buffer *b, const char *text)
{
    for (; *text; text++)
        if (*text == '$') {
            text++;
            schema_use(s, b, (TextRule)(*text - 'a'));
        } else {
            buffer_add(b, text, 1);
        }
}

void schema_text_rules(Schema *s)
{
    bool written[TextRules] = { false };
    for (int i = 0; i < TextRules; i++) {
        if (!s->used[i] || written[i])
            continue;
        buffer_printf(s->to, "%s ::= ", rules[i].name);
        put_text(s, s->to, rules[i].text);
        buffer_printf(s->to, "\n");
        written[i] = true;
        i = -1; /* it may use one before it */
    }
}

/* ---- strings ---- */

static const struct {
    const char *name, *text;
} formats[] = {
    { "date", "$j" },
    { "time", "$k" },
    { "date-time", "$j \"T\" $k" },
    { "uuid", "$l{8} \"-\" ($l{4} \"-\"){3} $l{12}" },
};

static bool put_format(Schema *s, const json_t *schema, const char *pointer)
{
    const char *name = json_string_value(json_object_get(schema, "format"));
    const int n = sizeof formats / sizeof *formats;
    int i = 0;
    while (name && i < n && strcmp(formats[i].name, name) != 0)
        i++;
    if (!name || i == n)
        return schema_refuse(s, schema_below(s, pointer, "format"),
                             "a format is date, time, date-time or uuid: "
                             "leave others out");
    if (json_object_get(schema, "minLength")
        || json_object_get(schema, "maxLength"))
        return schema_refuse(s, pointer,
                             "a format can't have minLength or maxLength: "
                             "leave them out");
    buffer_printf(s->to, "\"\\\"\" ");
    put_text(s, s->to, formats[i].text);
    buffer_printf(s->to, " \"\\\"\"");
    return true;
}

bool schema_string(Schema *s, const json_t *schema, const char *pointer)
{
    int64_t least = 0, most = -1;
    if (json_object_get(schema, "format"))
        return put_format(s, schema, pointer);
    if (!schema_count(s, schema, pointer, "minLength", &least)
        || !schema_count(s, schema, pointer, "maxLength", &most))
        return false;
    if (most >= 0 && most < least)
        return schema_refuse(s, pointer,
                             "no string is so long: minLength is greater than "
                             "maxLength");
    if (least == 0 && most < 0) {
        schema_use(s, s->to, TextString);
        return true;
    }
    buffer_printf(s->to, "\"\\\"\" ");
    schema_use(s, s->to, TextCharacter);
    buffer_printf(s->to, "{%lld,", (long long)least);
    if (most >= 0)
        buffer_printf(s->to, "%lld", (long long)most);
    buffer_printf(s->to, "} \"\\\"\"");
    return true;
}

/* ---- other names ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds a character of a class. */
static void put_in_class(Buffer *b, const char *at, size_t n)
{
    if (strchr("]^-", *at))
        buffer_add(b, "\\", 1);
    buffer_add(b, at, n);
}

static size_t character_bytes(const char *at)
{
    size_t n = 1;
    while (((unsigned char)at[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Returns how many of the sorted names have the same character at a place. */
static int alike(const char **names, int n, size_t at, size_t bytes)
{
    int k = 1;
    while (k < n && !strncmp(names[k] + at, names[0] + at, bytes))
        k++;
    return k;
}

/* Adds what follows the first `at` bytes, in which all names are alike. */
static void put_unlike(Schema *s, Buffer *b, const char **names, int n,
                       size_t at)
{
    const bool whole = n > 0 && names[0][at] == 0;
    names += whole;
    n -= whole;
    buffer_printf(b, "([^\"\\\\\\x00-\\x1f\\x7f");
    for (int i = 0, k; i < n; i += k) {
        const size_t bytes = character_bytes(names[i] + at);
        k = alike(names + i, n - i, at, bytes);
        put_in_class(b, names[i] + at, bytes);
    }
    buffer_printf(b, "] ");
    schema_use(s, b, TextPlain);
    buffer_printf(b, "*");
    for (int i = 0, k; i < n; i += k) {
        const size_t bytes = character_bytes(names[i] + at);
        k = alike(names + i, n - i, at, bytes);
        buffer_printf(b, " | ");
        schema_literal(b, arena_strndup(s->arena, names[i] + at, bytes));
        buffer_printf(b, " ");
        put_unlike(s, b, names + i, k, at + bytes);
    }
    buffer_printf(b, whole ? ")" : ")?");
}

/* A name with a quote, a backslash or a control character is never written,
 * because other names have no escapes. */
void schema_other_names(Schema *s, Buffer *b, const char **names, int n)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        const char *c = names[i];
        while (*c && (unsigned char)*c >= 0x20 && *c != '"' && *c != '\\'
               && *c != 0x7f)
            c++;
        if (!*c)
            names[kept++] = names[i];
    }
    qsort(names, (size_t)kept, sizeof *names, by_bytes);
    put_unlike(s, b, names, kept, 0);
}
