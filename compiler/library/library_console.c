/* library_console.c: the locale of a call, and its streams, which give their
 * text to the caller's functions. */
#define _GNU_SOURCE /* fopencookie, newlocale, uselocale */
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "base/terminal.h"
#include "library/library.h"

/* ---- locale ---- */

/* locales of the thread outside the call, for the caller's functions, and
 * inside */
static _Thread_local locale_t callers, own;

int library_attempt(void (*what)(void *with), void *with)
{
    /* the C library's own object: nothing is allocated */
    callers = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    const int code = attempt(what, with);
    uselocale(callers);
    return code;
}

void library_leave(void)
{
    own = uselocale(callers);
}

void library_return(void)
{
    uselocale(own);
}

void library_tell(const Call *c, const struct attnc_message *message)
{
    if (!c->tell)
        return;
    library_leave();
    c->tell(c->user, message);
    library_return();
}

/* ---- text beside the results ---- */

/* Without a buffer, so that text and messages come in order. */
static ssize_t tell_text(void *with, const char *text, size_t n)
{
    const Call *c = with;
    char piece[1024];
    for (size_t at = 0, size; at < n; at += size) {
        size = n - at < sizeof piece ? n - at : sizeof piece - 1;
        memcpy(piece, text + at, size);
        piece[size] = '\0';
        library_tell(c, &(struct attnc_message){
                            .severity = ATTNC_SEVERITY_TEXT, .text = piece });
    }
    return (ssize_t)n;
}

bool library_open_log(const Call *c)
{
    FILE *log = fopencookie((void *)(uintptr_t)c, "w",
                            (cookie_io_functions_t){ .write = tell_text });
    if (!log)
        return false;
    setvbuf(log, NULL, _IONBF, 0);
    console_use(
        (Console){ .log = log,
                   .in = c->streams ? c->streams->in : -1,
                   .out_shown = -1,
                   .log_shown = c->streams ? c->streams->log_shown : -1 });
    return true;
}

void library_close_log(void)
{
    const Console was = console_use((Console){ .out = NULL });
    if (was.log)
        fclose(was.log);
}

/* ---- a command's output ---- */
static bool give_output(void *with, const void *text, size_t n, Fault *why)
{
    CommandOutput *o = with;
    const struct attnc_streams *to = o->call->streams;
    if (o->file)
        return output_write(o->file, text, n, why);
    if (!to->out)
        return true;
    library_leave();
    const int ended = to->out(to->taker, text, (int64_t)n);
    library_return();
    errno = ended ? EIO : errno;
    return !ended
        || fault(why, ExitIO, "stdout: the function that takes it returned %d",
                 ended);
}

static ssize_t write_output(void *with, const char *text, size_t n)
{
    CommandOutput *o = with;
    if (o->why.code) /* the function is not called again */
        return 0;
    return give_output(o, text, n, &o->why) ? (ssize_t)n : 0;
}

bool library_open_output(CommandOutput *o)
{
    const struct attnc_streams *to = o->call->streams;
    o->stream = fopencookie(o, "w",
                            (cookie_io_functions_t){ .write = write_output });
    if (!o->stream)
        return fault(&o->why, ExitResource, "out of memory");
    Console now = o->before = console_use((Console){ .out = NULL });
    now.out = o->stream;
    now.out_shown = o->file ? -1 : to->out_shown;
    console_use(now);
    output_stdout_to(give_output, o);
    setvbuf(o->stream, o->buffer,
            now.out_shown >= 0 && terminal_columns(now.out_shown) ? _IOLBF
                                                                  : _IOFBF,
            sizeof o->buffer);
    return true;
}

bool library_close_output(CommandOutput *o)
{
    const bool whole = fflush(o->stream) == 0 && !ferror(o->stream);
    output_stdout_to(NULL, NULL);
    console_use(o->before);
    fclose(o->stream);
    return whole;
}
