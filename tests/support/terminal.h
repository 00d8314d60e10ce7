/* terminal.h: opens both ends of a terminal. Include it after defining
 * _GNU_SOURCE. */
#ifndef ATTNC_TEST_TERMINAL_H
#define ATTNC_TEST_TERMINAL_H

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Returns the end to read, and the program's in *other; -1: not supported here.
 */
static inline int terminal_open(int columns, int *other)
{
    const struct winsize size = { .ws_row = 24,
                                  .ws_col = (unsigned short)columns };
    const int main_end = posix_openpt(O_RDWR | O_NOCTTY);
    if (main_end < 0 || grantpt(main_end) || unlockpt(main_end))
        return -1;
    *other = open(ptsname(main_end), O_RDWR | O_NOCTTY);
    if (*other < 0 || ioctl(*other, TIOCSWINSZ, &size))
        return -1;
    return main_end;
}

/* Returns all output so far, without waiting. */
static inline const char *terminal_text(int fd)
{
    static char text[1 << 16];
    size_t n = 0;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (poll(&p, 1, 0) > 0 && (p.revents & POLLIN) && n < sizeof text - 1) {
        const ssize_t more = read(fd, text + n, sizeof text - 1 - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    text[n] = '\0';
    return text;
}

#endif
