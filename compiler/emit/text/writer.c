/* writer.c: turns blocks of lines with $name holes into indented C text.
 * Nothing else writes the output. */
#include "emit/text/writer.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

typedef struct {
    const char *name, *text;
} Binding;

struct Emit {
    Arena *arena;
    Buffer out, filled; /* `filled`: the current block with its holes filled */
    VEC(Binding) bound; /* bindings; the last one for a name counts */
    int depth;          /* number of open braces */
};

Emit *emit_new(Arena *a)
{
    Emit *e = arena_alloc(a, sizeof *e);
    e->arena = a;
    e->out.arena = e->filled.arena = a;
    return e;
}

Arena *emit_arena(const Emit *e)
{
    return e->arena;
}

Emit *emit_nested(Arena *a)
{
    Emit *e = emit_new(a);
    e->depth = 1;
    return e;
}

void let(Emit *e, const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        die("$%s: bad format", name);

    char *text = arena_alloc(e->arena, (size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    const Binding b = { name, text };
    vec_push(e->arena, &e->bound, b);
}

int emit_depth(const Emit *e)
{
    return e->depth;
}

int emit_mark(const Emit *e)
{
    return e->bound.n;
}

void emit_reset(Emit *e, int mark)
{
    e->bound.n = mark;
}

void emit_raw(Emit *e, const char *text, size_t n)
{
    buffer_add(&e->out, text, n);
}

const char *emit_text(const Emit *e, size_t *n)
{
    *n = (size_t)e->out.n;
    return e->out.at;
}

void emit_add(Emit *e, const Emit *part)
{
    emit_raw(e, part->out.at, (size_t)part->out.n);
}

static const char *bound_text(const Emit *e, const char *name, size_t n)
{
    for (int i = e->bound.n - 1; i >= 0; i--) {
        const Binding *b = &e->bound.at[i];
        if (strlen(b->name) == n && memcmp(b->name, name, n) == 0)
            return b->text;
    }
    die("emit: $%.*s is not bound", (int)n, name);
}

/* Returns the block with its holes filled, valid until the next call. */
static char *fill(Emit *e, const char *block)
{
    e->filled.n = 0;
    for (;;) {
        size_t n = strcspn(block, "$");
        buffer_add(&e->filled, block, n);
        block += n;
        if (!*block)
            return e->filled.at;
        n = 0;
        for (block++; isalnum((unsigned char)block[n]) || block[n] == '_';)
            n++;
        const char *text = bound_text(e, block, n);
        buffer_add(&e->filled, text, strlen(text));
        block += n;
    }
}

/* Returns the number of braces that a line opens, minus those it closes. */
static int opened(const char *line, size_t n)
{
    int depth = 0;
    for (size_t i = 0; i < n; i++)
        depth += (line[i] == '{') - (line[i] == '}');
    return depth;
}

/* Appends a block. Its own indentation is relative to `base`, the depth at its
 * beginning. A line that closes a brace of an earlier block lowers the base. */
void put(Emit *e, const char *block)
{
    const char *line = fill(e, block);
    int base = e->depth;
    while (*line) {
        const char *end = strchr(line, '\n');
        if (!end)
            die("emit: block does not end in a newline: %s", block);
        const size_t n = (size_t)(end - line);
        if (*line == '}' && e->depth - 1 < base)
            base = e->depth - 1;
        if (n > 0 && *line != '#')
            buffer_printf(&e->out, "%*s", 4 * base, "");
        emit_raw(e, line, n + 1);
        e->depth += opened(line, n);
        line = end + 1;
    }
    if (e->depth < 0 || base < 0)
        die("emit: too many closing braces: %s", block);
}

/* Returns the words wrapped at 80 columns, with `end` columns free after the
 * last word. `lead` begins each line except the first. */
static const char *wrapped(Emit *e, const char *text, const char *lead, int end)
{
    Buffer lines = { .arena = e->arena };
    const int width = 80 - 4 * e->depth;
    int column = 0;
    buffer_printf(&lines, "%s", "");
    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = strcspn(text, " ");
        const int after = text[n] ? 0 : end;
        const bool first = column == 0;
        if (!first && column + 1 + (int)n + after > width) {
            buffer_printf(&lines, "\n%s", lead);
            column = (int)strlen(lead);
        } else if (!first) {
            buffer_printf(&lines, " ");
            column++;
        }
        buffer_add(&lines, text, n);
        column += (int)n;
    }
    return lines.at;
}

void put_words(Emit *e, const char *text, const char *lead)
{
    const int mark = emit_mark(e);
    let(e, "words", "%s", wrapped(e, text, lead, 0));
    put(e, "$words\n");
    emit_reset(e, mark);
}

void put_comment(Emit *e, const char *text)
{
    const int mark = emit_mark(e);
    const char *filled = arena_printf(e->arena, "/* %s", fill(e, text));
    let(e, "comment", "%s */", wrapped(e, filled, " * ", 3));
    put(e, "$comment\n");
    emit_reset(e, mark);
}

/* ---- calls and prototypes, which are all that is long in emitted text ---- */

static int longest_argument(const char *args)
{
    int longest = 0;
    while (*args) {
        const char *end = strstr(args, ", ");
        const int n = end ? (int)(end - args) + 1 : (int)strlen(args);
        longest = n > longest ? n : longest;
        args += end ? n + 1 : n;
    }
    return longest;
}

/* Breaks the arguments at commas and aligns them after the head, which ends in
 * the opening character. If one does not fit there, all arguments go on lines
 * of their own. `tail` begins with the closing character. */
static void put_arguments(Emit *e, const char *head, const char *args,
                          const char *tail)
{
    const int width = 80 - 4 * emit_depth(e);
    int indent = (int)strlen(head);
    Buffer s = { .arena = e->arena };
    buffer_printf(&s, "%s", head);
    if (indent + longest_argument(args) > width) {
        indent = 4;
        buffer_printf(&s, "\n    ");
    }
    int col = indent;
    while (*args) {
        const char *end = strstr(args, ", ");
        const int n = end ? (int)(end - args) + 1 : (int)strlen(args);
        const int after = end ? 0 : (int)strlen(tail);
        const bool first = col == indent;
        if (!first && col + 1 + n + after > width) {
            buffer_printf(&s, "\n%*s", indent, "");
            col = indent;
        } else if (!first) {
            buffer_printf(&s, " ");
            col++;
        }
        buffer_add(&s, args, (size_t)n);
        col += n;
        args += end ? n + 1 : n;
    }
    const int mark = emit_mark(e);
    let(e, "call", "%s%s", s.at, tail);
    put(e, "$call\n");
    emit_reset(e, mark);
}

void put_call(Emit *e, const char *head, const char *args, const char *tail)
{
    put_arguments(e, arena_printf(e->arena, "%s(", head), args,
                  arena_printf(e->arena, ")%s", tail));
}

void put_items(Emit *e, const char *head, const char *items, const char *tail)
{
    put_arguments(e, arena_printf(e->arena, "%s{", head), items,
                  arena_printf(e->arena, "}%s", tail));
}

/* ---- literals ---- */

const char *c_float(Arena *a, double x)
{
    if (!isfinite((float)x))
        die("emit: %g has no literal", x);
    return arena_printf(a, signbit(x) ? "(%af)" : "%af", (double)(float)x);
}

/* Returns the text, with each byte that could be special to a compiler written
 * as three octal digits. */
const char *c_string(Arena *a, const char *s, size_t n)
{
    char *text = arena_alloc(a, 4 * n + 3), *t = text;
    *t++ = '"';
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c < 128 && (isalnum(c) || (c && strchr(" _.,-", c)))) {
            *t++ = (char)c;
        } else {
            *t++ = '\\';
            *t++ = (char)('0' + (c >> 6));
            *t++ = (char)('0' + (c >> 3 & 7));
            *t++ = (char)('0' + (c & 7));
        }
    }
    *t = '"';
    return text;
}
