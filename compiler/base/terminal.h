/* terminal.h: the width of a terminal, and a line that is overwritten. */
#ifndef ATTNC_TERMINAL_H
#define ATTNC_TERMINAL_H

#include <stdbool.h>

/* Returns the terminal's columns; if it does not report them, $COLUMNS or 80.
 * 0: fd is not a terminal. */
int terminal_columns(int fd);
int terminal_lines(int fd);     /* its height in lines; 0: unknown */
bool terminal_rewrites(int fd); /* can overwrite a line; not if TERM=dumb */
bool terminal_is_ours(int fd);  /* false: attnc runs in the background */

/* Overwrites the current line with `text`, which has no newline and is shorter
 * than the terminal is wide. Called by progress.c. */
void terminal_line(int fd, const char *text);
bool terminal_has_line(void);
/* Erases the line before other text is printed. diag.c and the handlers of
 * fatal signals do so; code that prints while a task is open must too. */
void terminal_clear(void);

#endif
