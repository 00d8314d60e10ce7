/* diag.c: messages in clang's format, with the source line and a caret, and the
 * two functions that end the process. Untrusted bytes are made safe for a
 * terminal before they are shown. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/terminal.h"
#include "runtime/options/settings.h"

enum {
    ShownErrors = 20,
    HeldErrors = 200,    /* maximum errors held; later ones are only counted */
    MessageBytes = 2048, /* maximum bytes of a message with its source line */
    WindowBytes = 100,   /* bytes shown of a long source line */
    WindowBefore = 50,   /* bytes shown before the caret of a long line */
};

typedef struct {
    char at[MessageBytes];
    size_t n;
} Text;

typedef struct Pending Pending;
struct Pending { /* a held error and its notes */
    Pos pos;
    char *text; /* from malloc(), because arena.c builds on diag.c */
};

/* Messages shown and pending; global, because stderr is global too. */
static struct {
    int errors;    /* number of errors shown or counted */
    bool shown;    /* the last error was shown, so its notes are shown too */
    bool holds;    /* errors are collected, not shown yet */
    bool mute;     /* errors are counted, nothing is shown */
    bool no_notes; /* note_once() is silent */
    int unheard;   /* errors counted while mute */
    const Source *made;       /* generated text whose positions have origins */
    const TextOrigin *origin; /* array of `origins` elements */
    int origins;
    Pending pending[HeldErrors]; /* held errors, in source order */
    int n;                       /* number of held errors */
    int newest;                  /* index of the latest error, or -1 */
    int unheld;                  /* number of errors beyond HeldErrors */
    char once[8][MessageBytes];  /* last texts of warning_once(), note_once() */
    int n_once;
} messages;

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

static void add_format(Text *t, const char *fmt, va_list ap)
{
    size_t room = sizeof t->at - t->n;
    int n = vsnprintf(t->at + t->n, room, fmt, ap);
    if (n > 0)
        t->n += (size_t)n < room ? (size_t)n : room - 1;
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

static void add_source_line(Text *t, Pos pos)
{
    size_t n, caret = (size_t)pos.col - 1;
    const char *line = find_line(pos.src, pos.line, &n);

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

typedef struct {
    const char *word;
    Paint role;
    bool bold; /* print the text in bold */
} Level;
static const Level error = { "error", PaintError, true };
static const Level internal = { "internal error", PaintError, true };
static const Level warning = { "warning", PaintWarning, true };
static const Level note = { "note", PaintNote, false };

static void add_heading(Text *t, Pos pos, const Level *level)
{
    add_paint(t, PaintText);
    if (pos.src) {
        add_safe(t, pos.src->name, strlen(pos.src->name));
        add(t, ":");
        add_int(t, pos.line);
        add(t, ":");
        add_int(t, pos.col);
    } else {
        add(t, "attnc");
    }
    add(t, ": ");
    add_paint(t, level->role);
    add(t, level->word);
    add(t, ": ");
    add_paint(t, PaintEnd);
    if (level->bold)
        add_paint(t, PaintText);
}

static Pos origin_of(Pos pos)
{
    for (int i = 0; pos.src && pos.src == messages.made && i < messages.origins;
         i++)
        if (!messages.origin[i].line
            || (messages.origin[i].line == pos.line
                && messages.origin[i].col == pos.col))
            return messages.origin[i].from;
    return pos;
}

static void compose(Text *t, Pos pos, const Level *level, const char *fmt,
                    va_list ap)
{
    pos = origin_of(pos);
    t->n = 0;
    add_heading(t, pos, level);
    add_format(t, fmt, ap);
    if (t->n > sizeof t->at - 512) /* leave room for source line and caret */
        t->n = sizeof t->at - 512;
    add_paint(t, PaintEnd);
    add(t, "\n");
    if (pos.src)
        add_source_line(t, pos);
}

/* ---- messages ---- */
static void put_message(const char *text)
{
    terminal_clear();
    fputs(text, stderr);
}

static void show_error(const char *text)
{
    messages.shown = messages.errors++ < ShownErrors;
    if (messages.shown)
        put_message(text);
    else if (messages.errors == ShownErrors + 1) {
        terminal_clear();
        fprintf(stderr, "attnc: %snote:%s more errors follow, not shown\n",
                paint(stderr, PaintNote), paint(stderr, PaintEnd));
    }
}

static bool before(Pos a, Pos b)
{
    int x = a.src ? a.src->rank : -1, y = b.src ? b.src->rank : -1;
    if (x != y)
        return x < y;
    return a.line != b.line ? a.line < b.line : a.col < b.col;
}

bool same_place(Pos a, Pos b)
{
    return a.src == b.src && a.line == b.line && a.col == b.col;
}

/* Returns `text`, reallocated, with `more` appended. Calls fail() if out of
 * memory. */
static char *joined(char *text, const char *more)
{
    const size_t old = text ? strlen(text) : 0, n = strlen(more) + 1;
    char *grown = realloc(text, old + n);

    if (!grown)
        fail(ExitResource, "out of memory (%zu bytes wanted)", old + n);
    memcpy(grown + old, more, n);
    return grown;
}

/* Inserts an error into pending[] in source order. Drops a message that is
 * already held for the same place, along with its notes. */
static void keep(Pos pos, const char *text)
{
    int i = messages.n;

    for (messages.newest = i - 1; messages.newest >= 0; messages.newest--) {
        const Pending *h = &messages.pending[messages.newest];
        if (same_place(h->pos, pos) && !strncmp(h->text, text, strlen(text))) {
            messages.newest = -1;
            return;
        }
    }
    char *copy = joined(NULL, text);
    for (messages.n++; i > 0 && before(pos, messages.pending[i - 1].pos); i--)
        messages.pending[i] = messages.pending[i - 1];
    messages.pending[i] = (Pending){ pos, copy };
    messages.newest = i;
}

void errors_hold(void)
{
    messages.holds = true;
    messages.newest = -1;
}

void errors_release(void)
{
    messages.holds = false;
    for (int i = 0; i < messages.n; i++) {
        show_error(messages.pending[i].text);
        free(messages.pending[i].text);
    }
    messages.errors += messages.unheld;
    messages.n = messages.unheld = 0;
}

/* Reports an error. Returns early if it will not be shown, because composing
 * 40,000 messages takes too long. */
static void report(Pos pos, const char *fmt, va_list ap)
{
    Text t;
    if (messages.mute) {
        messages.unheard++;
        return;
    }
    if (messages.holds && messages.n == HeldErrors) {
        messages.unheld++;
        messages.newest = -1;
        return;
    }
    compose(&t, pos, &error, fmt, ap);
    if (messages.holds)
        keep(pos, t.at);
    else
        show_error(t.at);
}

void error_at(Pos pos, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(pos, fmt, ap);
    va_end(ap);
}

void error_fault(Pos pos, const Fault *why)
{
    if (why->code == ExitResource)
        fail(why->code, "%s", why->text);
    error_at(pos, "%s", why->text);
}

void warning_at(Pos pos, const char *fmt, ...)
{
    Text t;
    va_list ap;

    if (messages.mute)
        return;
    va_start(ap, fmt);
    compose(&t, pos, &warning, fmt, ap);
    va_end(ap);
    put_message(t.at);
}

static void print_once(const Level *level, const char *fmt, va_list ap)
{
    Text t;

    if (messages.mute)
        return;
    compose(&t, (Pos){ 0 }, level, fmt, ap);
    for (int i = 0; i < messages.n_once && i < 8; i++)
        if (strcmp(messages.once[i], t.at) == 0)
            return;
    strcpy(messages.once[messages.n_once++ % 8], t.at);
    put_message(t.at);
}

void warning_once(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_once(&warning, fmt, ap);
    va_end(ap);
}

void notes_off(void)
{
    messages.no_notes = true;
}

void note_once(const char *fmt, ...)
{
    va_list ap;
    if (messages.no_notes)
        return;
    va_start(ap, fmt);
    print_once(&note, fmt, ap);
    va_end(ap);
}

void note_at(Pos pos, const char *fmt, ...)
{
    Text t;
    va_list ap;

    if (messages.mute
        || (messages.holds ? messages.newest < 0 : !messages.shown))
        return;
    va_start(ap, fmt);
    compose(&t, pos, &note, fmt, ap);
    va_end(ap);
    if (messages.holds)
        messages.pending[messages.newest].text =
            joined(messages.pending[messages.newest].text, t.at);
    else
        put_message(t.at);
}

void messages_origins(const Source *of, const TextOrigin *at, int n)
{
    messages.made = of;
    messages.origin = at;
    messages.origins = n;
}

bool messages_muted(void)
{
    return messages.mute;
}

void messages_mute(bool mute)
{
    messages.mute = mute;
    messages.unheard = 0;
}

int error_count(void)
{
    return messages.errors + messages.n + messages.unheld + messages.unheard;
}

void error_reset(void)
{
    messages.errors = 0;
    messages.shown = false;
}

void fail(int code, const char *fmt, ...)
{
    Text t;
    va_list ap;

    errors_release();
    va_start(ap, fmt);
    compose(&t, (Pos){ 0 }, &error, fmt, ap);
    va_end(ap);
    put_message(t.at);
    exit(code);
}

void die_at(const char *file, int line, const char *fmt, ...)
{
    Text t;
    va_list ap;

    va_start(ap, fmt);
    compose(&t, (Pos){ 0 }, &internal, fmt, ap);
    va_end(ap);
    terminal_clear();
    fprintf(stderr,
            "%sattnc: %snote:%s broken at %s:%d in version %s; "
            "please report this with the spec\n",
            t.at, paint(stderr, PaintNote), paint(stderr, PaintEnd), file, line,
            ATTNC_VERSION);
    exit(ExitInternal);
}

/* ---- words ---- */
const char *quote_n(const char *s, size_t n)
{
    static char buffers[8][ATTN_QUOTED];
    static int next;
    char *out = buffers[next++ % 8];

    attn_quote(s, (int64_t)n, out);
    return out;
}

const char *quote(const char *s)
{
    return quote_n(s, strlen(s));
}
