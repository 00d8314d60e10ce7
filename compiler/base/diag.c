/* diag.c: prints messages in clang's format, with the source line and a caret.
 * Untrusted bytes are made safe for a terminal before they are shown. */
#include <string.h>

#include "base/base.h"
#include "base/terminal.h"
#include "runtime/options/settings.h"

enum {
    PrintedBytes = 2048, /* maximum bytes of a message with its source line */
    LineRoom = 512,      /* of these for the source line and the caret */
    WindowBytes = 100,   /* bytes shown of a long source line */
    WindowBefore = 50,   /* bytes shown before the caret of a long line */
};

typedef struct {
    char at[PrintedBytes];
    size_t n;
} Text;

/* ---- text ---- */
static void add_bytes(Text *t, const char *s, size_t n)
{
    size_t room = sizeof t->at - 1 - t->n;
    if (n > room)
        n = room;
    memcpy(t->at + t->n, s, n);
    t->n += n;
    t->at[t->n] = '\0';
}

static void add(Text *t, const char *s)
{
    add_bytes(t, s, strlen(s));
}

static void add_paint(Text *t, Paint role)
{
    add(t, paint(stderr, role));
}

static void add_int(Text *t, int i)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%d", i);
    add(t, digits);
}

static bool printable(char c)
{
    return c >= ' ' && c <= '~';
}

/* Adds text, with each unsafe byte replaced by one byte, so that the caret
 * stays aligned. */
static void add_safe(Text *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_bytes(t, printable(s[i]) ? s + i : s[i] == '\t' ? " " : "?", 1);
}

/* ---- places ---- */
static const char *find_line(const Source *src, int line, size_t *n)
{
    const char *at = src->text, *end = src->text + src->size;

    for (int i = 1; i < line; i++) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        if (!eol)
            return NULL;
        at = eol + 1;
    }
    const char *eol = memchr(at, '\n', (size_t)(end - at));
    *n = (size_t)((eol ? eol : end) - at);
    if (*n && at[*n - 1] == '\r')
        --*n;
    return at;
}

static void add_source_line(Text *t, const MessageView *v)
{
    const size_t n = v->source_bytes, caret = (size_t)v->col - 1;
    const char *line = v->source;

    if (!line || !n || caret > n)
        return;
    size_t from = n > WindowBytes && caret > WindowBefore ? caret - WindowBefore
                                                          : 0;
    size_t shows = n - from > WindowBytes ? WindowBytes : n - from;
    add(t, "    ");
    add_safe(t, line + from, shows);
    add(t, "\n    ");
    for (size_t i = from; i < caret; i++)
        add(t, " ");
    add_paint(t, PaintCaret);
    add(t, "^");
    add_paint(t, PaintEnd);
    add(t, "\n");
}

static const struct {
    const char *word;
    Paint role;
    bool bold; /* print the text in bold */
} severities[] = {
    [SeverityError] = { "error", PaintError, true },
    [SeverityInternal] = { "internal error", PaintError, true },
    [SeverityWarning] = { "warning", PaintWarning, true },
    [SeverityNote] = { "note", PaintNote, false },
};

static void add_heading(Text *t, const MessageView *m)
{
    add_paint(t, PaintText);
    if (m->file) {
        add_safe(t, m->file, strlen(m->file));
        add(t, ":");
        add_int(t, m->line);
        add(t, ":");
        add_int(t, m->col);
    } else {
        add(t, "attnc");
    }
    add(t, ": ");
    add_paint(t, severities[m->severity].role);
    add(t, severities[m->severity].word);
    add(t, ": ");
    add_paint(t, PaintEnd);
    if (severities[m->severity].bold)
        add_paint(t, PaintText);
}

MessageView message_view(const Message *m)
{
    const Pos at = m->pos;
    MessageView v = { .severity = m->severity, .text = m->text };

    if (!at.src)
        return v;
    v.file = at.src->name;
    v.line = at.line;
    v.col = at.col;
    v.source = find_line(at.src, at.line, &v.source_bytes);
    return v;
}

void message_print(void *unused, const Message *m)
{
    const MessageView v = message_view(m);

    (void)unused;
    message_view_print(&v);
}

void message_view_print(const MessageView *m)
{
    Text t = { .n = 0 };

    if (m->severity == SeverityLine) {
        fprintf(stderr, "%s\n", m->text);
        return;
    }
    add_heading(&t, m);
    add(&t, m->text);
    if (t.n > sizeof t.at - LineRoom)
        t.n = sizeof t.at - LineRoom;
    add_paint(&t, PaintEnd);
    add(&t, "\n");
    if (m->file)
        add_source_line(&t, m);
    terminal_clear();
    fputs(t.at, stderr);
}

/* ---- words ---- */
const char *quote_n(const char *s, size_t n)
{
    static _Thread_local char buffers[8][ATTN_QUOTED];
    static _Thread_local int next;
    char *out = buffers[next++ % 8];

    attn_quote(s, (int64_t)n, out);
    return out;
}

const char *quote(const char *s)
{
    return quote_n(s, strlen(s));
}
