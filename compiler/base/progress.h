/* progress.h: one terminal line that shows the progress of a long task.
 *
 *     progress_begin("verify");
 *     for (int i = 0; i < n; i++) {
 *         progress_step("libtcc", (double)i / n, (i + 1.0) / n);
 *         work(i);            // may begin a nested task
 *     }
 *     progress_end();
 *
 * The line is drawn on stderr if that is a terminal that can overwrite a line
 * and attnc runs in the foreground; otherwise these functions do nothing. It
 * appears two seconds after the outermost task began, is redrawn at most ten
 * times a second, and disappears when that task ends, when a message is printed
 * and when a signal ends the process. Code that prints while a task is open
 * must call terminal_clear() first. Call all this from the main thread only. */
#ifndef ATTNC_PROGRESS_H
#define ATTNC_PROGRESS_H

#include "base/base.h"
#include "base/terminal.h"

/* Begins a task named `what`; "": a task without a name. A nested task counts
 * as the current step of the task around it; tasks nest to any depth. If the
 * outermost task is NULL, it draws its own line with progress_due() and
 * progress_show(), and nested tasks draw none. The text must outlive the
 * task. */
void progress_begin(const char *what);
void progress_end(void);
/* Names the current step of the innermost task, and the part of the task that
 * the step covers, within 0 .. 1; NAN: unknown. text NULL: the step has no
 * name. */
void progress_step(const char *text, double from, double to);
/* Sets how much of the innermost task is done, 0 .. 1; NAN: unknown. A call is
 * cheap: it reads the clock. */
void progress_at(double done);
void progress_tick(void); /* redraws the line if enough time has passed */
/* Draws no line from now on (--quiet). */
void progress_off(void);
bool progress_is_off(void);
void quiet(void); /* calls progress_off() and notes_off() */

/* For a task that draws its own line. progress_terminal() returns true if there
 * is a terminal for it. progress_due() returns the number of columns to fill
 * now, or 0 if it is too early to redraw. */
bool progress_terminal(void);
int progress_due(void);
void progress_show(const char *line);

/* Returns a bar such as "[####....] ", at most an eighth of `columns` wide. */
char *progress_bar(Arena *a, double done, int columns);
/* Returns a text such as "  12 s left"; "" if the time is unknown. */
const char *progress_left(Arena *a, double seconds);
/* Returns `begin`, `text` and `end` in a line of `columns` columns; `text` is
 * truncated first. */
char *progress_line(Arena *a, const char *begin, const char *text,
                    const char *end, int columns);

/* For tests: replaces stderr and the clock. now() returns seconds. */
void progress_use(int fd, double (*now)(void));

#endif
