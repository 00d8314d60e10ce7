/* report_file.c: implements -o for commands that print a report. Redirects
 * stdout to a file, which appears when the command has ended and the file is
 * complete. A pipe is written immediately. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

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

static int report_end(Output *o, int code)
{
    Fault why;
    const bool well = fflush(stdout) == 0 && !ferror(stdout);
    const bool some = lseek(o->fd, 0, SEEK_CUR) > 0; /* the answers to valid
                                                      * lines */
    if (!well)
        fault(&why, ExitIO, "%s: cannot write: %s", o->path, strerror(errno));
    if (!well || (code > ExitNegative && !(code == ExitInput && some)))
        output_cancel(o);
    else if (output_commit_changed(o, &why))
        return code;
    clearerr(stdout);
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
    return path ? report_end(&to, code) : code;
}
