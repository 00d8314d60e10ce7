/* overflow.h: makes more changes in a folder than the system's queue for
 * watchers holds. Included after cmocka's headers. */
#ifndef ATTNC_OVERFLOW_H
#define ATTNC_OVERFLOW_H

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Creates and removes a file: three events each time, all different from the
 * one before. Returns false if the system's queue is too long for a test. */
static inline bool overflow(const char *file)
{
    enum { Most = 1 << 20, Each = 3 };
    long n = 0;
    FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (f && fscanf(f, "%ld", &n) != 1)
        n = 0;
    if (f)
        fclose(f);
    for (long i = 0; n <= Most && i <= n / Each; i++) {
        const int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(unlink(file), 0);
    }
    return n > 0 && n <= Most;
}

#endif
