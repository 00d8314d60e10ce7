/* progress.h: one line on the terminal that says how far a long work is.
 *
 *     progress_begin("verify");
 *     for (int i = 0; i < n; i++) {
 *         progress_step("libtcc", (double)i / n, (i + 1.0) / n);
 *         work(i);            // may begin a work of its own: it is nested
 *     }
 *     progress_end();
 *
 * The line is on stderr, where that is a terminal that can write over a line
 * and attnc is in the foreground. It appears two seconds after the first of the
 * works that are nested began, is written again at most ten times a second, and
 * is gone when that work ends, when a message is written and when a signal ends
 * the process; who prints while a work is open calls terminal_clear(). Where
 * there is no such terminal all of this does nothing. Of one thread: the first.
 */
#ifndef ATTNC_PROGRESS_H
#define ATTNC_PROGRESS_H

#include "base/base.h"
#include "base/terminal.h"

/* A work begins: "compile"; "": it has no name. It is a step of the one that is
 * open, and takes the part of it that progress_step() gave. Pairs nest, to any
 * depth. NULL, of the outermost: it has a line of its own, by progress_due()
 * and progress_show(), and those within it show none. The text must outlive the
 * work.             */
void progress_begin(const char *what);
void progress_end(void);
/* What the innermost work does now, and which part of it that is: 0 .. 1; NAN:
 * not known. text NULL: nothing is added to its name.                        */
void progress_step(const char *text, double from, double to);
/* How much of the innermost work is done, 0 .. 1: as often as is convenient, it
 * costs a look at the clock. NAN: not known.                                 */
void progress_at(double done);
void progress_tick(void); /* nothing is new but the time */
/* None from now on: --quiet. */
void progress_off(void);
void quiet(void); /* nor notes */

/* For a line of its own: is there a terminal for it? The columns that it has;
 * 0: none is to be written now.                                              */
bool progress_terminal(void);
int progress_due(void);
void progress_show(const char *line);

/* The parts of such a line. "[####....] ", at most as `columns` has room. */
char *progress_bar(Arena *a, double done, int columns);
/* "  12 s left"; "": not known. */
const char *progress_left(Arena *a, double seconds);
/* `begin`, `text`, `end` within the columns: text is cut first, then all. */
char *progress_line(Arena *a, const char *begin, const char *text,
                    const char *end, int columns);

/* Another terminal than stderr and another clock, in seconds: for tests. */
void progress_use(int fd, double (*now)(void));

#endif
