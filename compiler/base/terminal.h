/* terminal.h: the width of a terminal, and a line on it that is written over.
 */
#ifndef ATTNC_TERMINAL_H
#define ATTNC_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal that fd is; where it does not say, those of COLUMNS,
 * else 80. 0: it is no terminal.                                             */
int terminal_columns(int fd);
int terminal_lines(int fd);     /* that it shows; 0: not known */
bool terminal_rewrites(int fd); /* can a line be written over? TERM=dumb: no */
bool terminal_is_ours(int fd);  /* false: attnc runs in the background */

/* Writes a line over the one that is there: without its end, and shorter than
 * the terminal is wide. progress.h is who calls this.                        */
void terminal_line(int fd, const char *text);
bool terminal_has_line(void);
/* Takes the line away, before other text is written to the terminal: diag.c
 * does, who prints while a work is open must, and signals that end the process
 * do.                                                                        */
void terminal_clear(void);

#endif
