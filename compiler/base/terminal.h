/* terminal.h: the width of a terminal, and a line that is overwritten. */
#ifndef ATTNC_TERMINAL_H
#define ATTNC_TERMINAL_H

#include <stdbool.h>

/* Returns the width of a terminal in columns; if unknown, $COLUMNS or 80.
 * Returns 0 if fd is not a terminal. */
int terminal_columns(int fd);
int terminal_lines(int fd);     /* height of the terminal; 0: unknown */
bool terminal_rewrites(int fd); /* true if a line can be overwritten; false
                                   if TERM=dumb */
bool terminal_is_ours(int fd);  /* false if attnc runs in the background */

/* Overwrites the current line with `text`, which must have no newline and be
 * shorter than the line. Called by progress.c. */
void terminal_line(int fd, const char *text);
bool terminal_has_line(void);
/* Erases the line. Must be called before other text is printed, as diag.c and
 * the handlers of fatal signals do; code that prints while a task is open must
 * call it too. */
void terminal_clear(void);

#endif
