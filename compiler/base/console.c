/* console.c: the streams on which a command prints. */
#define _POSIX_C_SOURCE 200809L /* for fileno */
#include "base/console.h"

#include <unistd.h>

static _Thread_local Console console;

Console console_use(Console to)
{
    const Console before = console;
    console = to;
    return before;
}

FILE *console_out(void)
{
    return console.out ? console.out : stdout;
}

FILE *console_log(void)
{
    return console.log ? console.log : stderr;
}

int console_in(void)
{
    return console.log ? console.in : STDIN_FILENO;
}

int console_shown(FILE *stream)
{
    if (stream == console.out)
        return console.out_shown;
    return stream == console.log ? console.log_shown : fileno(stream);
}
