/* report_file.c: reports of commands in files and in memory. -o of most
 * commands redirects stdout to a file, which appears when the command has ended
 * and the file is complete. A pipe is written immediately. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/console.h"
#include "cli/options/options.h"

static int report_begin(Output *o, const char *path)
{
    Fault why;
    if (!output_open(o, path, &why))
        return report_fault(&why);
    if (fflush(stdout) != 0 || dup2(o->fd, STDOUT_FILENO) < 0) {
        fault(&why, ExitIO, "%s: cannot write: %s", path, strerror(errno));
        output_cancel(o);
        return report_fault(&why);
    }
    return ExitDone;
}

int report_end(Output *o, bool well, int code)
{
    Fault why;
    const bool some = lseek(o->fd, 0, SEEK_CUR) > 0; /* the answers to valid
                                                      * lines */
    if (!well)
        fault(&why, ExitIO, "%s: cannot write: %s", o->path, strerror(errno));
    if (!well || (code > ExitNegative && !(code == ExitInput && some)))
        output_cancel(o);
    else if (output_commit_changed(o, &why))
        return code;
    return code > ExitNegative ? code : report_fault(&why);
}

int report_print(const char *path, int print(const void *options),
                 const void *options)
{
    Output to;
    int code = path ? report_begin(&to, path) : ExitDone;
    if (code)
        return code;
    code = print(options);
    if (!path)
        return code;
    const bool well = fflush(stdout) == 0 && !ferror(stdout);
    clearerr(stdout);
    return report_end(&to, well, code);
}

/* ---- in memory ---- */
typedef struct {
    PrintReport *print;
    const Options *o;
    FILE *out;
} Printing;

static void print_report_of(void *with)
{
    const Printing *p = with;
    const int code = p->print(p->o, p->out);
    if (code)
        end_attempt(code);
}

int report_text(char **text, PrintReport *print, const Options *o)
{
    size_t n;
    Printing p = { print, o, open_memstream(text, &n) };
    int code = p.out ? attempt(print_report_of, &p) : ExitDone;
    const bool whole = p.out && !ferror(p.out);
    /* without memory for its last byte, fclose() sets *text to NULL */
    if ((!p.out || fclose(p.out) != 0 || !whole || !*text) && !code)
        code = report_fault(&(Fault){ ExitResource, "out of memory" });
    if (code && p.out)
        free(*text);
    if (code)
        *text = NULL;
    return code;
}

int report_to_file(PrintReport *print, const Options *o, const char *path)
{
    char *text;
    Fault why;
    if (!path || is_stdout(path))
        return print(o, console_out());
    int code = report_text(&text, print, o);
    if (!code && !write_file(path, text, strlen(text), &why))
        code = report_fault(&why);
    free(text);
    return code;
}
