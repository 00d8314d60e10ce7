/* console.h: the streams on which a command prints: stdin, stdout and stderr,
 * or those that the library's caller gives instead. */
#ifndef ATTNC_CONSOLE_H
#define ATTNC_CONSOLE_H

#include <stdio.h>

typedef struct {
    FILE *out, *log;          /* results, and text beside them; NULL: stdout
                               * and stderr, and stdin is the descriptor 0 */
    int in;                   /* descriptor of stdin; -1: there is none */
    int out_shown, log_shown; /* descriptors on which the streams are shown, to
                               * ask for a terminal; -1: none */
} Console;

/* Sets the streams of this thread. Returns those before. */
Console console_use(Console to);
FILE *console_out(void);
FILE *console_log(void);
int console_in(void);
/* Returns the descriptor on which a stream is shown, or -1. */
int console_shown(FILE *stream);

#endif
