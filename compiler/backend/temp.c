/* temp.c: temporary directories in TMPDIR. The process that makes a directory
 * holds a lock on it and removes it at the end. If the process is killed, the
 * lock becomes free, and the next process that makes a directory removes the
 * old one. Process ids in the names would not do, because containers may share
 * a TMPDIR. */
#define _GNU_SOURCE /* O_DIRECTORY, flock, nftw */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"

static const char stem[] = "attnc-tmp-", lock_name[] = "lock";

const char *temp_root(void)
{
    const char *in = getenv("TMPDIR");
    return in && *in ? in : "/tmp";
}

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Takes the lock of a directory that attnc made. Returns -1 if the directory is
 * in use, not attnc's, or (ENOENT) has no lock file. */
static int lock_folder(const char *path, int create)
{
    struct stat st;
    const int at = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = -1;
    if (at < 0)
        return -1;
    if (fstat(at, &st) == 0 && st.st_uid == geteuid())
        fd = openat(at, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | create,
                    0600);
    else
        errno = EPERM;
    const int error = errno;
    close(at);
    errno = error;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0) {
        close(fd); /* removed between openat() and flock() */
        errno = ENOENT;
        return -1;
    }
    return fd;
}

/* Removes directories that killed processes left. A process killed before it
 * made its lock file left an empty one. */
static void remove_stale(const char *in)
{
    char path[sizeof((TempFolder *)0)->path];
    DIR *dir = opendir(in);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, stem, strlen(stem)) != 0
            || (size_t)snprintf(path, sizeof path, "%s/%s", in, e->d_name)
                   >= sizeof path)
            continue;
        const int lock = lock_folder(path, 0);
        if (lock >= 0)
            remove_tree(path);
        else if (errno == ENOENT)
            rmdir(path);
        if (lock >= 0)
            close(lock);
    }
    if (dir)
        closedir(dir);
}

/* Makes a directory and locks it. Tries again if another process removed the
 * new directory before its lock file existed. */
static bool make_locked(TempFolder *t, const char *in)
{
    for (int i = 0; i < 100; i++) {
        const int n = snprintf(t->path, sizeof t->path, "%s/%sXXXXXX", in,
                               stem);
        errno = ENAMETOOLONG;
        if ((size_t)n >= sizeof t->path || !mkdtemp(t->path))
            return false;
        t->lock = lock_folder(t->path, O_CREAT | O_EXCL);
        if (t->lock >= 0)
            return true;
        const int error = errno;
        remove_tree(t->path);
        errno = error;
        if (error != ENOENT && error != EWOULDBLOCK)
            return false;
    }
    return false;
}

bool temp_open(TempFolder *t, const char *in)
{
    if (!in)
        remove_stale(temp_root());
    if (make_locked(t, in ? in : temp_root()))
        return true;
    t->path[0] = '\0';
    return false;
}

void temp_close(TempFolder *t)
{
    if (!t->path[0])
        return;
    remove_tree(t->path);
    close(t->lock);
    t->path[0] = '\0';
}
