/* terminal.c: finds the width of a terminal, and overwrites a line on it. */
#define _POSIX_C_SOURCE 200809L /* for isatty and tcgetpgrp */
#define _DEFAULT_SOURCE /* for TIOCGWINSZ */
#include "base/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DefaultColumns = 80 };
static const char clear_line[] = "\r\033[K";

/* Global, because the signal handler that clears the line gets no argument. */
static volatile sig_atomic_t open_on = -1; /* descriptor of the terminal with
                                              an open line; -1: none */

int terminal_columns(int fd)
{
    struct winsize size;
    if (!isatty(fd))
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    const long n = columns ? strtol(columns, NULL, 10) : 0;
    return n > 0 && n < 10000 ? (int)n : DefaultColumns;
}

int terminal_lines(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool terminal_rewrites(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

/* tcgetpgrp() fails if fd is not the process's controlling terminal. */
bool terminal_is_ours(int fd)
{
    const pid_t group = tcgetpgrp(fd);
    return group < 0 || group == getpgrp();
}

static void put(int fd, const char *text, size_t n)
{
    for (ssize_t done; n > 0; text += done, n -= (size_t)done)
        if ((done = write(fd, text, n)) <= 0)
            return;
}

/* Calls only functions that are safe in signal handlers. */
void terminal_clear(void)
{
    const int fd = open_on;
    open_on = -1;
    if (fd >= 0)
        put(fd, clear_line, sizeof clear_line - 1);
}

bool terminal_has_line(void)
{
    return open_on >= 0;
}

void terminal_line(int fd, const char *text)
{
    fflush(stdout); /* keep earlier output above the line */
    open_on = fd;
    put(fd, clear_line, sizeof clear_line - 1);
    put(fd, text, strlen(text));
}
