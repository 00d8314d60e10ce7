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

/* Begins a task named `what`, or without a name if `what` is "". A nested task
 * counts as the current step of the task around it; tasks nest to any depth.
 * The text must outlive the task. */
void progress_begin(const char *what);
void progress_end(void);
/* Names the current step of the innermost task, and gives the part of the task
 * that the step covers, within 0 .. 1; NAN: unknown. `text` NULL: the step has
 * no name. */
void progress_step(const char *text, double from, double to);
/* Sets the completed fraction of the innermost task, 0 .. 1; NAN: unknown. A
 * call is cheap: it only reads the clock. */
void progress_at(double done);
void progress_tick(void); /* redraws the line if it is time to */
/* Stops drawing the line (--quiet). */
void progress_off(void);
void progress_on(void); /* undoes progress_off() */
bool progress_is_off(void);
void quiet(void); /* calls progress_off() and notes_off() */

typedef struct {
    double done;    /* 0 .. 1; NAN: unknown */
    double seconds; /* since the outermost task began */
    double left;    /* estimated seconds until its end; NAN: unknown */
    const char *text;
} ProgressState;
/* Draws the line on a terminal, unless the task has just begun. */
void progress_draw(int fd, const ProgressState *p);
/* Calls a function with the progress of the tasks, at most ten times a second,
 * instead of drawing the line. sink NULL: no longer. */
typedef void ProgressSink(void *with, const ProgressState *p);
void progress_to(ProgressSink *sink, void *with);

bool progress_terminal(void); /* true if a line is shown on a terminal */

/* For tests: replaces stderr and the clock. now() returns seconds. */
void progress_use(int fd, double (*now)(void));

#endif
