/* messages.c: the errors, warnings and notes of a thread, and the functions
 * that end the process. Errors are counted, and can be held until all are
 * known, to be shown in source order. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum {
    ShownErrors = 20,
    HeldErrors = 200, /* maximum errors held; later ones are only counted */
    TextBytes = 1536, /* maximum bytes of a message */
    KnownTexts = 8    /* so many texts are not shown a second time */
};

typedef struct Held Held;
struct Held { /* a held error, or a note on it */
    Message m;
    Held *note; /* the next note */
    char
        text[]; /* m.text; from malloc(), because arena.c builds on this file */
};

static _Thread_local struct {
    MessageSink *sink; /* NULL: message_print() */
    void *with;
    int errors;    /* number of errors shown or counted */
    bool shown;    /* the last error was shown, so its notes are shown too */
    bool holds;    /* errors are collected, not shown yet */
    int mute;      /* errors are counted, nothing is shown, unless it is 0 */
    bool no_notes; /* note_once() is silent */
    int unheard;   /* errors counted while mute */
    const Source *made;       /* generated text whose positions have origins */
    const TextOrigin *origin; /* array of `origins` elements */
    int origins;
    Held *held[HeldErrors]; /* in source order */
    int n;                  /* number of held errors */
    Held *newest;           /* the latest error, which takes notes; or NULL */
    int unheld;             /* number of errors beyond HeldErrors */
    uint64_t
        known[KnownTexts]; /* hashes of the last texts that are shown once */
    int n_known;
} messages;

static void show(const Message *m)
{
    if (messages.sink)
        messages.sink(messages.with, m);
    else
        message_print(NULL, m);
}

void messages_to(MessageSink *sink, void *with)
{
    messages.sink = sink;
    messages.with = with;
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

void messages_origins(const Source *of, const TextOrigin *at, int n)
{
    messages.made = of;
    messages.origin = at;
    messages.origins = n;
}

/* ---- held errors ---- */
static void show_error(const Message *m)
{
    const Message more = { .severity = SeverityNote,
                           .text = "more errors follow, not shown" };

    messages.shown = messages.errors++ < ShownErrors;
    if (messages.shown)
        show(m);
    else if (messages.errors == ShownErrors + 1)
        show(&more);
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

static Held *held(const Message *m)
{
    const size_t n = strlen(m->text) + 1;
    Held *h = malloc(sizeof *h + n);

    if (!h)
        fail(ExitResource, "out of memory (%zu bytes wanted)", n);
    h->m = *m;
    h->m.text = memcpy(h->text, m->text, n);
    h->note = NULL;
    return h;
}

/* Holds an error in source order. Drops a message that is already held for the
 * same place, along with its notes. */
static void hold(const Message *m)
{
    int i = messages.n;

    messages.newest = NULL;
    for (int k = 0; k < messages.n; k++)
        if (same_place(messages.held[k]->m.pos, m->pos)
            && strcmp(messages.held[k]->text, m->text) == 0)
            return;
    messages.newest = held(m);
    for (messages.n++; i > 0 && before(m->pos, messages.held[i - 1]->m.pos);
         i--)
        messages.held[i] = messages.held[i - 1];
    messages.held[i] = messages.newest;
}

void errors_hold(void)
{
    messages.holds = true;
    messages.newest = NULL;
}

static void release(Held *error)
{
    show_error(&error->m);
    for (Held *h = error, *next; h; h = next) {
        next = h->note;
        if (h != error && messages.shown)
            show(&h->m);
        free(h);
    }
}

void errors_release(void)
{
    messages.holds = false;
    for (int i = 0; i < messages.n; i++)
        release(messages.held[i]);
    messages.errors += messages.unheld;
    messages.n = messages.unheld = 0;
    messages.newest = NULL;
}

/* ---- errors, warnings, notes ---- */
static Message message(char text[TextBytes], Severity severity, Pos pos,
                       const char *fmt, va_list ap)
{
    vsnprintf(text, TextBytes, fmt, ap);
    return (
        Message){ .severity = severity, .pos = origin_of(pos), .text = text };
}

/* Returns early if the error will not be shown, because formatting 40,000
 * messages takes too long. */
void error_at(Pos pos, const char *fmt, ...)
{
    char text[TextBytes];
    va_list ap;

    if (messages.mute) {
        messages.unheard++;
        return;
    }
    if (messages.holds && messages.n == HeldErrors) {
        messages.unheld++;
        messages.newest = NULL;
        return;
    }
    va_start(ap, fmt);
    const Message m = message(text, SeverityError, pos, fmt, ap);
    va_end(ap);
    if (messages.holds)
        hold(&m);
    else
        show_error(&m);
}

void error_fault(Pos pos, const Fault *why)
{
    if (why->code == ExitResource)
        fail(why->code, "%s", why->text);
    error_at(pos, "%s", why->text);
}

void warning_at(Pos pos, const char *fmt, ...)
{
    char text[TextBytes];
    va_list ap;

    if (messages.mute)
        return;
    va_start(ap, fmt);
    const Message m = message(text, SeverityWarning, pos, fmt, ap);
    va_end(ap);
    show(&m);
}

static void show_once(Severity severity, const char *fmt, va_list ap)
{
    char text[TextBytes];

    if (messages.mute)
        return;
    const Message m = message(text, severity, (Pos){ 0 }, fmt, ap);
    const uint64_t hash = attn_hash(text, (int64_t)strlen(text), 0);
    for (int i = 0; i < messages.n_known && i < KnownTexts; i++)
        if (messages.known[i] == hash)
            return;
    messages.known[messages.n_known++ % KnownTexts] = hash;
    show(&m);
}

void warning_once(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    show_once(SeverityWarning, fmt, ap);
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
    show_once(SeverityNote, fmt, ap);
    va_end(ap);
}

void note_at(Pos pos, const char *fmt, ...)
{
    char text[TextBytes];
    va_list ap;

    if (messages.mute || (messages.holds ? !messages.newest : !messages.shown))
        return;
    va_start(ap, fmt);
    const Message m = message(text, SeverityNote, pos, fmt, ap);
    va_end(ap);
    if (messages.holds)
        messages.newest = messages.newest->note = held(&m);
    else
        show(&m);
}

void message_line(const char *line)
{
    static const struct {
        const char *level;
        Severity severity;
    } levels[] = { { "error: ", SeverityError },
                   { "warning: ", SeverityWarning },
                   { "note: ", SeverityNote } };
    for (size_t i = 0; !messages.mute && i < sizeof levels / sizeof *levels;
         i++) {
        const size_t n = strlen(levels[i].level);
        if (strncmp(line, levels[i].level, n) == 0)
            show(
                &(Message){ .severity = levels[i].severity, .text = line + n });
    }
}

void note_line(const char *line)
{
    if (!messages.mute)
        show(&(Message){ .severity = SeverityLine, .text = line });
}

void messages_mute(bool mute)
{
    messages.mute += mute ? 1 : -1;
    messages.unheard = 0;
}

void messages_forget(void)
{
    messages.mute = messages.unheard = 0;
    messages_origins(NULL, NULL, 0);
    messages.n_known = 0;
    messages.no_notes = false;
    error_reset();
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

/* ---- errors that end an attempt ---- */
void fail(int code, const char *fmt, ...)
{
    char text[TextBytes];
    va_list ap;

    errors_release();
    va_start(ap, fmt);
    const Message m = message(text, SeverityError, (Pos){ 0 }, fmt, ap);
    va_end(ap);
    show(&m);
    end_attempt(code);
}

void die_at(const char *file, int line, const char *fmt, ...)
{
    char text[TextBytes];
    va_list ap;

    va_start(ap, fmt);
    Message m = message(text, SeverityInternal, (Pos){ 0 }, fmt, ap);
    va_end(ap);
    show(&m);
    snprintf(text, sizeof text,
             "broken at %s:%d in version %s; please report this with the spec",
             file, line, ATTNC_VERSION);
    m.severity = SeverityNote;
    show(&m);
    end_attempt(ExitInternal);
}
